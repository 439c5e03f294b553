"""Trees as users see them: what treebank readers return and parsers predict."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class DependencyTree(NamedTuple):
    """Head and relation of every token of a sentence.

    Parameters
    ----------
    heads : list of int
        0 for the root, else the number of the head token from 1; None where it is not
        known.
    labels : list of str
        Relation of each token to its head; None where it is not known.

    Examples
    --------
    >>> tree = DependencyTree([2, 0], ["nsubj", "root"])
    >>> tree.heads[0]
    2
    """

    heads: list[int]
    labels: list[str]

    def _repr_html_(self) -> str:
        from partwise.report import draw_dependency_tree

        numbers = list(map(str, range(1, len(self.heads) + 1)))
        return draw_dependency_tree(numbers, self)._repr_html_()


# Phrase structure is a pair (label, children). A part-of-speech tag has its word as
# only child: ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),)))).
PhraseTree = tuple[str, tuple[Any, ...]]


class DrawnTree(tuple[str, tuple[Any, ...]]):
    """A tree that notebooks draw; it equals the plain pair (label, children).

    Examples
    --------
    >>> DrawnTree(("NP", (("NN", ("cats",)),)))
    ('NP', (('NN', ('cats',)),))
    """

    def _repr_html_(self) -> str | None:
        from partwise.report import draw_phrase_tree

        if not self[1]:  # of a sentence without words; shown as text
            return None
        return draw_phrase_tree(self)._repr_html_()


TaggedSentence = list[tuple[str, str]]

# real trees have fifty levels at most; what is deeper is not a tree of a sentence, and
# would exhaust the stack of recursive functions
MOST_LEVELS = 250


def as_phrase_tree(tree: Any) -> PhraseTree:
    """Turn a tree of another make into pairs (label, children).

    Parameters
    ----------
    tree : (label, children) or nltk.Tree
        Or anything else with `label()` that is a sequence of its children. Leaves are
        words; a node above a word has no other child.

    Returns
    -------
    PhraseTree
        Tuples throughout, so that trees can be compared and hashed.

    Raises
    ------
    ValueError
        The text names the node and what is wrong with it.

    Examples
    --------
    >>> as_phrase_tree(["NP", [["DT", ["the"]], ["NN", ["cat"]]]])
    ('NP', (('DT', ('the',)), ('NN', ('cat',))))
    """
    return _converted(tree, MOST_LEVELS)


def _converted(tree: Any, levels: int) -> PhraseTree:
    label, children = _node(tree)
    if not levels:
        raise ValueError(f"a tree of more than {MOST_LEVELS} levels, at {label!r}")
    if not children:
        raise ValueError(f"node {label!r} has no children; it needs a word or phrases")
    words = [child for child in children if isinstance(child, str)]
    if not words:
        return label, tuple(_converted(child, levels - 1) for child in children)
    if len(children) > 1:
        raise ValueError(
            f"node {label!r} has the word {words[0]!r} among {len(children)} children; "
            "give each word a tag of its own"
        )
    return label, (str(words[0]),)


def _node(tree: Any) -> tuple[str, Sequence[Any]]:
    if callable(getattr(tree, "label", None)):
        label, children = tree.label(), list(tree)
    else:
        try:
            label, children = tree
        except (TypeError, ValueError):
            label = children = None
    if not isinstance(label, str) or not isinstance(children, list | tuple):
        raise ValueError(
            f"{str(tree)[:80]!r} is no tree: expected (label, children) or nltk.Tree; "
            "partwise.readers.parse_tree reads strings in brackets"
        )
    return label, children


def tagged_words(tree: PhraseTree) -> list[tuple[str, str]]:
    """Words of a tree with their tags, from left to right.

    Parameters
    ----------
    tree : PhraseTree

    Returns
    -------
    list of (word, tag)

    Examples
    --------
    >>> tagged_words(("NP", (("DT", ("the",)), ("NN", ("cat",)))))
    [('the', 'DT'), ('cat', 'NN')]
    """
    return [(tag_node[1][0], tag_node[0]) for tag_node in _tag_nodes(tree)]


def _tag_nodes(tree: PhraseTree) -> Iterator[PhraseTree]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node[1][0], str):
            yield node
        else:
            stack.extend(reversed(node[1]))


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs of a dependency tree cross.

    The arc of the root comes from 0, left of all words.

    Parameters
    ----------
    heads : sequence of int
        0 for the root, else the number of the head token from 1.

    Examples
    --------
    >>> is_projective([2, 0, 2]), is_projective([3, 4, 0, 3])
    (True, False)
    """
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, start=1)]
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_ends: list[int] = []
    for left, right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and right > open_ends[-1]:
            return False
        open_ends.append(right)
    return True


def n_crossing(trees: Sequence[Any]) -> int:
    """How many dependency trees, of those that are wholly known, have crossing arcs."""
    return sum(None not in heads and not is_projective(heads) for heads, _ in trees)


def phrase_labels(tree: PhraseTree) -> set[str]:
    """Labels of the phrases of a tree, without its tags."""
    label, children = tree
    if isinstance(children[0], str):
        return set()
    return {label}.union(*map(phrase_labels, children))


def as_sentences(
    X: Any, *, need_tags: bool = True, may_be_empty: bool = False
) -> list[TaggedSentence]:
    """Sentences as lists of (word, tag).

    Parameters
    ----------
    X : list of lists of (word, tag)
        Words alone will do where no tags are needed.
    need_tags : bool
    may_be_empty : bool
        Whether sentences may have no words.
    """
    if not len(X):
        raise ValueError("X has no sentence")
    is_word = isinstance(X, str) or isinstance(X[0], str)
    is_token = isinstance(X[0], tuple) and all(isinstance(part, str) for part in X[0])
    if is_word or (need_tags and is_token and X[0]):
        raise ValueError("X is one sentence; give a list of sentences: [X]")
    sentences = []
    for i, x in enumerate(X):
        tokens: TaggedSentence = []
        for token in x:
            if isinstance(token, str) and not need_tags:
                tokens.append((token, ""))
                continue
            is_pair = isinstance(token, tuple | list) and len(token) == 2
            if not is_pair or not all(isinstance(part, str) for part in token):
                raise ValueError(f"sentence {i}: {token!r:.60} is no (word, tag)")
            tokens.append((token[0], token[1]))
        if not (tokens or may_be_empty):
            raise ValueError(f"sentence {i} has no words; leave it out")
        sentences.append(tokens)
    return sentences
