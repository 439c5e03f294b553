"""Trees as users see them: what treebank readers return and parsers predict."""

from typing import Any, NamedTuple


class DependencyTree(NamedTuple):
    """Head and relation of every token of a sentence.

    Parameters
    ----------
    heads : list of int
        0 for the root, else the number of the head token from 1.
    labels : list of str
        Relation of each token to its head.

    Examples
    --------
    >>> tree = DependencyTree([2, 0], ["nsubj", "root"])
    >>> tree.heads[0]
    2
    """

    heads: list[int]
    labels: list[str]


# Phrase structure is a pair (label, children). A part-of-speech tag has its word as only
# child: ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),)))).
PhraseTree = tuple[str, tuple[Any, ...]]
