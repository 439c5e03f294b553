"""Operations on blocks whose outputs are sets: of labels, or of nodes of a tree.

Ψ(x, S) has Φ(x) for each label in S, and a 1 for each pair of labels in S. A model is a
matrix (n_features, width), a column of weights for each label, padded to whole vectors,
and behind it a weight for each pair. A code has a 0 or 1 for each label.

Tags with these operations have the fields `rows` (of any scorer), `y` (n_blocks, K),
`pairs` (E, 2) and `width`; their buffers have `parts` and `spare`, both (1, width), and
`pair` (E,).
"""

from partwise.compiled import add_row, dot_row, kernel, score_rows, wipe_row


@kernel
def score_labels(blocks, w, i, out):
    """Scores of all labels for row i, (1, width)."""
    n_features, width = blocks.rows.n_features, blocks.width
    weights = w[: n_features * width].reshape(n_features, width)
    score_rows(blocks.rows, weights, i, i + 1, out)


@kernel
def pair_change(blocks, i, e, code):
    """1 where only the true set has both labels of a pair, −1 where only the other."""
    a, b = blocks.pairs[e, 0], blocks.pairs[e, 1]
    return blocks.y[i, a] * blocks.y[i, b] - code[a] * code[b]


@kernel
def set_margin(blocks, i, score, pair, code):
    """Score of the true set of row i less that of a set."""
    total = 0.0
    for k in range(code.shape[0]):
        if code[k] != blocks.y[i, k]:
            total += (blocks.y[i, k] - code[k]) * score[0, k]
    for e in range(blocks.pairs.shape[0]):
        total += pair_change(blocks, i, e, code) * pair[e]
    return total


# ------------------------------------------- operations that all such tags have alike


def code_length(blocks, i):
    """Labels, in a set or not."""
    return blocks.y.shape[1]


def recall_margin(blocks, work, i, code):
    """<w, δ> of a set, from the scores in `work`."""
    return set_margin(blocks, i, work.parts, work.pair, code)


def margin(blocks, w, i, code):
    """<w, δ> of a set."""
    total = 0.0
    for k in range(code.shape[0]):
        if code[k] != blocks.y[i, k]:
            score = dot_row(blocks.rows, w, blocks.width, i, k)
            total += (blocks.y[i, k] - code[k]) * score
    begin = blocks.rows.n_features * blocks.width
    for e in range(blocks.pairs.shape[0]):
        total += pair_change(blocks, i, e, code) * w[begin + e]
    return total


def margins(blocks, work, w, i, codes, at, n, out):
    """Those of several sets; scores of labels are computed once."""
    if n == 0:
        return
    score_labels(blocks, w, i, work.spare)
    size, begin = blocks.y.shape[1], blocks.rows.n_features * blocks.width
    pair = w[begin : begin + blocks.pairs.shape[0]]
    for p in range(n):
        code = codes[at + p * size : at + (p + 1) * size]
        out[p] = set_margin(blocks, i, work.spare, pair, code)


def push(blocks, w, i, code, coef):
    """Add coef·δ to a model."""
    for k in range(code.shape[0]):
        if code[k] != blocks.y[i, k]:
            change = coef * (blocks.y[i, k] - code[k])
            add_row(blocks.rows, w, blocks.width, i, k, change)
    begin = blocks.rows.n_features * blocks.width
    for e in range(blocks.pairs.shape[0]):
        w[begin + e] += coef * pair_change(blocks, i, e, code)


def push_sum(blocks, work, w, i, codes, at, n, coef):
    """Add the δ of several sets; each row is added once."""
    size, begin = blocks.y.shape[1], blocks.rows.n_features * blocks.width
    for k in range(size):
        change = 0.0
        for p in range(n):
            change += coef[p] * (blocks.y[i, k] - codes[at + p * size + k])
        if change != 0.0:
            add_row(blocks.rows, w, blocks.width, i, k, change)
    if blocks.pairs.shape[0] > 0:
        for p in range(n):
            if coef[p] != 0.0:
                code = codes[at + p * size : at + (p + 1) * size]
                for e in range(blocks.pairs.shape[0]):
                    w[begin + e] += coef[p] * pair_change(blocks, i, e, code)


def wipe(blocks, w, i, code):
    """Set to zero what `push` touches."""
    for k in range(code.shape[0]):
        if code[k] != blocks.y[i, k]:
            wipe_row(blocks.rows, w, blocks.width, i, k)
    begin = blocks.rows.n_features * blocks.width
    for e in range(blocks.pairs.shape[0]):
        w[begin + e] = 0.0


def set_operations(tag):
    """Give a tag of sets the operations above; it has its own search and loss."""
    shared = (code_length, recall_margin, margin, margins, push, push_sum, wipe)
    for one in shared:
        setattr(tag, one.__name__, one)
    return tag
