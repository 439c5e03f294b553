"""Trees as EVALB counts them: brackets, words and tags.

A tree is a pair (label, children) or an `nltk.Tree`. Its brackets are the phrases above
the tags: (label, first word, end).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from partwise.readers.brackets import without_functions
from partwise.readers.trees import PhraseTree, as_phrase_tree

Trees = Sequence[Any]
Bracket = tuple[str, int, int]


class EvalbParameters(NamedTuple):
    """What is left out of the count, and which labels are the same.

    Parameters
    ----------
    deleted : frozenset of str
        Words with these tags are removed before positions are counted, and phrases
        with these labels are not counted.
    equal : tuple of (str, str)
        The second label counts as the first.
    has_functions : bool
        Whether labels are compared whole; otherwise NP-SBJ counts as NP.
    traces : frozenset of str
        Tags of words that are none: they do not count in the length of a sentence.
    """

    deleted: frozenset[str] = frozenset(["TOP", "-NONE-", ",", ":", "``", "''", "."])
    equal: tuple[tuple[str, str], ...] = (("ADVP", "PRT"),)
    has_functions: bool = False
    traces: frozenset[str] = frozenset(["-NONE-"])


# the file COLLINS.prm of EVALB
COLLINS = EvalbParameters()
# every phrase and every word counts, punctuation too
EVERYTHING = EvalbParameters(frozenset(["TOP", "-NONE-"]), ())


class Bracketing(NamedTuple):
    """A tree as the scores see it.

    Parameters
    ----------
    brackets : Counter of (label, start, end)
    words, tags : lists of str
        Those that are counted.
    length : int
        Number of words, traces aside.
    is_counted : list of bool
        Of each of these words.
    """

    brackets: Counter[Bracket]
    words: list[str]
    tags: list[str]
    length: int
    is_counted: list[bool]


def bracketing(
    tree: Any,
    parameters: EvalbParameters = COLLINS,
    *,
    is_counted: Sequence[bool] | None = None,
) -> Bracketing:
    """Brackets, words and tags of a tree that are counted.

    Parameters
    ----------
    tree : (label, children) or nltk.Tree
    parameters : EvalbParameters, default=COLLINS
    is_counted : sequence of bool, optional
        Which words count, traces aside; by default their tags decide. Given those of
        the true tree, a comma that was tagged as something else does no harm.

    Returns
    -------
    Bracketing

    Examples
    --------
    >>> it, works = ("NP-SBJ", (("PRP", ("it",)),)), ("VBZ", ("works",))
    >>> dict(bracketing(("S", (it, works, (".", (".",))))).brackets)
    {('NP', 0, 1): 1, ('S', 0, 2): 1}
    """
    same: dict[str, str] = {}
    for first, second in parameters.equal:
        same[second] = same.get(first, first)
    result = Bracketing(Counter(), [], [], 0, [])

    def visit(node: PhraseTree) -> None:
        label, children = node
        if isinstance(children[0], str):
            if label in parameters.traces:
                return
            counts = label not in parameters.deleted
            at = len(result.is_counted)
            if is_counted is not None and at < len(is_counted):
                counts = is_counted[at]
            result.is_counted.append(counts)
            if counts:
                result.words.append(children[0])
                result.tags.append(same.get(label, label))
            return
        start = len(result.words)
        for child in children:
            visit(child)
        if not parameters.has_functions:
            label = without_functions(label)
        if len(result.words) > start and label not in parameters.deleted:
            result.brackets[same.get(label, label), start, len(result.words)] += 1

    visit(as_phrase_tree(tree))
    return result._replace(length=len(result.is_counted))


def bracketing_pairs(
    y_true: Trees, y_pred: Trees, parameters: EvalbParameters = COLLINS
) -> Iterator[tuple[Bracketing, Bracketing | None]]:
    """Yield (true, predicted) trees, refusing the first that do not fit.

    The prediction is None where parsing failed.
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} trees but y_pred has {len(y_pred)}")
    for s, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        try:
            gold = bracketing(true, parameters)
            if predicted is None:
                yield gold, None
                continue
            parse = bracketing(predicted, parameters, is_counted=gold.is_counted)
        except ValueError as error:
            raise ValueError(f"tree {s} (counting from 0): {error}") from None
        if gold.length != parse.length or gold.words != parse.words:
            raise ValueError(
                f"tree {s} (counting from 0): {gold.length} true words, "
                f"{' '.join(gold.words)[:60]!r}, but {parse.length} predicted ones, "
                f"{' '.join(parse.words)[:60]!r}; compare parses of the same sentences"
            )
        yield gold, parse
