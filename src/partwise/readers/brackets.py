"""Penn brackets: trees such as ``(S (NP (PRP it)) (VP (VBZ works)))``.

A tree may stand on one line or on many. The bracket without a label that the Penn
Treebank puts around each tree is taken off. Between trees a line may begin with ``#``
for a comment, and a name and a tab may stand before a tree.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from partwise.readers.columns import read_columns
from partwise.readers.limits import SENTENCE_TOKENS, TOKEN_BYTES, check_limit
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes
from partwise.readers.trees import (
    MOST_LEVELS,
    DrawnTree,
    PhraseTree,
    TaggedSentence,
    as_phrase_tree,
    tagged_words,
)

TRACE = "-NONE-"
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}

# (tag word), an opening bracket with its label, a closing one, or a word without a tag
_TOKEN = re.compile(
    r"\s*(?:\(\s*([^\s()]+)\s+([^\s()]+)\s*\)|(\()\s*([^\s()]*)|(\))|([^\s()]+))"
)
_LEAF, _OPEN, _CLOSE = 2, 4, 5  # last group of each
_LABEL = re.compile(r"[-=].*|[^-=]*", re.DOTALL)
# white space, comments, and names before a tree
_BETWEEN = re.compile(r"(?:\s+|#[^\n]*|[^\s()#][^\s()]*\t[ \t]*(?=\())*")


def read_brackets(
    path: Source, *, traces: bool = False, functions: bool = False
) -> tuple[list[TaggedSentence], list[PhraseTree]]:
    """
    Read a file of trees as scikit-learn's pair X, y.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard input; gzip is recognised by its content. The text is UTF-8.
    traces : bool, default=False
        Keep traces, the words with the tag -NONE-. Otherwise they are removed with all
        nodes that have no other words, as is usual; a tree of nothing else is left out.
    functions : bool, default=False
        Keep functions and indices of labels, as in NP-SBJ-1 and NP=2; otherwise the
        label is NP, as EVALB counts it. Tags stay as they are.

    Returns
    -------
    X : list of lists of (word, tag)
    y : list of PhraseTree
        Pairs (label, children); a tag has its word as only child.

    Raises
    ------
    ReaderError
        The text names the file, the line and the remedy.

    Examples
    --------
    >>> import io
    >>> text = b"( (S (NP-SBJ (PRP it)) (VP (VBZ works) (NP (-NONE- *)))))"
    >>> X, y = read_brackets(io.BytesIO(text))
    >>> X
    [[('it', 'PRP'), ('works', 'VBZ')]]
    >>> format_tree(y[0])
    '(S (NP (PRP it)) (VP (VBZ works)))'
    """
    name, data = read_text_bytes(path)
    trees: list[PhraseTree] = []
    n_trees = 0
    for tree in _parse(name, data.decode()):
        n_trees += 1
        simple = simplify(tree, traces=traces, functions=functions)
        if simple is not None:
            trees.append(DrawnTree(simple))
    if not n_trees:
        raise ReaderError(f"{name}: no tree in the file; it needs trees in brackets")
    if not trees:
        raise ReaderError(
            f"{name}: every word is a trace ({TRACE}); read it with traces=True"
        )
    sentences = [tagged_words(tree) for tree in trees]
    for number, sentence in enumerate(sentences, 1):
        place = f"{name}: tree {number}"
        check_limit(len(sentence), SENTENCE_TOKENS, place, "{} words")
        longest = max(len(text) for pair in sentence for text in pair)
        check_limit(longest, TOKEN_BYTES, place, "a word of {} letters")
    return sentences, trees


def write_brackets(path: Source, trees: Iterable[Any]) -> None:
    r"""
    Write trees, one on a line; a file appears whole or not at all.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard output; a name that ends in ``.gz`` is compressed.
    trees : iterable of PhraseTree or nltk.Tree

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_brackets(file, [("NP", (("DT", ("the",)), ("NN", ("cat",))))])
    >>> file.getvalue()
    b'(NP (DT the) (NN cat))\n'
    """
    lines = [format_tree(tree) + "\n" for tree in trees]
    write_bytes(path, "".join(lines).encode())


def read_sentences(
    path: Source,
    *,
    trees: bool,
    need_tags: bool = True,
    separator: str | None = None,
    comment: str | None = None,
) -> tuple[list[TaggedSentence], list[PhraseTree]]:
    """
    Read trees in brackets, or words with their tags, one to a line.

    Parameters
    ----------
    path : path, "-" or open binary file
    trees : bool
        Whether trees are asked for; the file must then hold some.
    need_tags : bool
        Whether words need tags.
    separator, comment : str, optional
        Of files of words, see `read_columns`.

    Returns
    -------
    X : list of lists of (word, tag)
    y : list of PhraseTree
        Empty for words alone.
    """
    name, data = read_text_bytes(path)
    file = io.BytesIO(data)
    file.name = name  # for messages
    first = _BETWEEN.match(data.decode())
    if trees or data[len(first[0].encode()) :].startswith(b"("):  # type: ignore[index]
        return read_brackets(file)
    table, _ = read_columns(file, label=None, separator=separator, comment=comment)
    names = list(table.columns)
    if len(names) < 2 and need_tags:
        raise ReaderError(
            f"{name}: one column; give words with their tags, one to a line, or trees "
            "in brackets"
        )
    words, tags = (table.strings(column) for column in (names[0], names[:2][-1]))
    pairs = zip(words, tags, strict=True)
    return [list(zip(w, t, strict=True)) for w, t in pairs], []


def parse_tree(text: str) -> PhraseTree:
    """
    Read one tree from its text, with everything in it.

    Parameters
    ----------
    text : str

    Returns
    -------
    PhraseTree

    Examples
    --------
    >>> parse_tree("(NP (DT the) (NN cat))")
    ('NP', (('DT', ('the',)), ('NN', ('cat',))))
    """
    trees = list(_parse("<text>", text))
    if len(trees) != 1:
        raise ReaderError(f"{len(trees)} trees in the text where one is needed")
    return DrawnTree(trees[0])


def format_tree(tree: Any, *, width: int | None = None) -> str:
    """
    Write one tree in brackets.

    Round brackets in words and labels become -LRB- and -RRB-.

    Parameters
    ----------
    tree : PhraseTree or nltk.Tree
    width : int, optional
        Put the phrases below each other where they take more characters than this;
        by default all is on one line.

    Returns
    -------
    str

    Examples
    --------
    >>> print(format_tree(parse_tree("(S (NP (PRP it)) (VP (VBZ works)))"), width=20))
    (S
      (NP (PRP it))
      (VP (VBZ works)))
    """
    return _formatted(as_phrase_tree(tree), width, 0)


def simplify(
    tree: PhraseTree, *, traces: bool = False, functions: bool = False
) -> PhraseTree | None:
    """
    Remove traces, functions and indices from a tree.

    Parameters
    ----------
    tree : PhraseTree
    traces, functions : bool, default=False
        What to keep; see `read_brackets`.

    Returns
    -------
    PhraseTree or None
        None when all words are traces.

    Examples
    --------
    >>> format_tree(simplify(parse_tree("(S=1 (NP-SBJ (-NONE- *)) (VP-PRD (VB go)))")))
    '(S (VP (VB go)))'
    """
    label, children = tree
    if isinstance(children[0], str):
        return tree if traces or label != TRACE else None
    remaining = []
    for child in children:
        simple = simplify(child, traces=traces, functions=functions)
        if simple is not None:
            remaining.append(simple)
    if not remaining:
        return None
    return (label if functions else without_functions(label)), tuple(remaining)


def without_functions(label: str) -> str:
    """
    Cut a label at its first hyphen or equals sign, unless it begins with that.

    Examples
    --------
    >>> [without_functions(label) for label in ("NP-SBJ-1", "NP=2", "-LRB-")]
    ['NP', 'NP', '-LRB-']
    """
    return _LABEL.match(label)[0]  # type: ignore[index]


def _parse(name: str, text: str) -> Iterator[PhraseTree]:
    at = 0
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return
        if text[at] != "(":
            what = "a closing bracket without an opening one"
            if text[at] != ")":
                what = f"{text[at : at + 40].split()[0]!r} outside of a tree"
            raise ReaderError(
                f"{name}:{_line(text, at)}: {what}; the brackets of each tree must "
                "balance"
            )
        tree, at = _parse_one(name, text, at)
        yield tree


def _parse_one(name: str, text: str, begin: int) -> tuple[PhraseTree, int]:
    """Read the tree that begins here; returns it and where it ends."""
    labels: list[str] = []  # of the brackets that are open
    inside: list[list[PhraseTree]] = [[]]  # children of each, below those of no one
    at = begin
    while token := _TOKEN.match(text, at):
        at = token.end()
        kind = token.lastindex
        if kind == _LEAF:
            inside[-1].append((token[1], (token[2],)))
        elif kind == _OPEN:
            if not token[4] and labels:
                raise _error(name, text, token, begin, "a bracket without a label")
            labels.append(token[4])
            inside.append([])
            if len(labels) > MOST_LEVELS:
                what = f"more than {MOST_LEVELS} open brackets"
                raise _error(name, text, token, begin, what)
        elif kind == _CLOSE:
            label, children = labels.pop(), inside.pop()
            if not children:
                what = f"a bracket with neither word nor phrase in it ({label!r})"
                raise _error(name, text, token, begin, what)
            inside[-1].append((label, tuple(children)))
        else:
            what = f"the word {token[6][:40]!r} has no tag of its own"
            raise _error(name, text, token, begin, what)
        if not labels:
            label, outer = inside[0][0]
            if label:
                return (label, outer), at
            # the Penn Treebank's outer bracket, which has no label
            return (outer[0] if len(outer) == 1 else ("TOP", outer)), at
    raise ReaderError(
        f"{name}:{_line(text, begin)}: the tree that begins here is not closed: "
        f"{len(labels)} closing bracket{'s'[: len(labels) > 1]} missing at the end of "
        "the file"
    )


def _error(
    name: str, text: str, token: re.Match[str], begin: int, what: str
) -> ReaderError:
    line, first = _line(text, token.start(token.lastindex or 0)), _line(text, begin)
    place = "" if line == first else f" (in the tree that begins on line {first})"
    return ReaderError(
        f"{name}:{line}: {what}{place}; write (label children…) with (tag word) at the "
        "leaves, and close every bracket"
    )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _formatted(tree: PhraseTree, width: int | None, indent: int) -> str:
    label, children = tree
    if isinstance(children[0], str):
        return f"({_escaped(label)} {_escaped(children[0])})"
    flat = " ".join([_escaped(label), *(_formatted(c, None, 0) for c in children)])
    if width is None or indent + len(flat) + 2 <= width:
        return f"({flat})"
    gap = "\n" + " " * (indent + 2)
    inner: Sequence[str] = [_formatted(c, width, indent + 2) for c in children]
    return f"({_escaped(label)}{gap}{gap.join(inner)})"


def _escaped(word: str) -> str:
    for bracket, escape in ESCAPES.items():
        word = word.replace(bracket, escape)
    if word.split() != [word]:
        raise ValueError(
            f"{word!r} cannot stand in brackets: it is empty or holds white space; "
            "replace that, for example by an underscore"
        )
    return word
