"""Support structures over their sentence, as in Figure 2 of paper 002.

The words stand on top, the true labels below, then a line for each wrong labelling that
carries dual weight: its labels where they differ from the truth, and its α.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.report import svg
from partwise.report.arcs import draw_dependency_tree
from partwise.report.content import Picture
from partwise.report.wording import visible

if TYPE_CHECKING:
    from partwise.outputs.dependency.model import DependencyModel
    from partwise.outputs.sequence.model import SequenceModel

_SIZE = 13  # of the type
_LINE = 20.0
_GAP = 12.0
_MARGIN = 8.0
_LONGEST = 20  # tokens of a sentence that is drawn: longer ones are too small to read
_WRONG = svg.COLOURS["wrong"]

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

TITLE = "Support structures"
NOTE = (
    "Training examples that hold the model in place, those with the largest α first: "
    "wrong outputs that carry weight α in the dual, drawn where they differ from the "
    "truth."
)


def support_sections(pictures: list[Picture]) -> dict[str, Any]:
    """Sections of a report: these pictures, and how to read them."""
    return {"pictures": pictures, "pictures_title": TITLE, "pictures_note": NOTE}


def support_fact(model: Any, n_examples: int) -> list[tuple[str, str]]:
    """The number of training examples without support structures."""
    if model.support is None:
        return []
    n_without = n_examples - len(model.support.rows)
    return [("Examples without support structures", f"{n_without:,}")]


def count_words(count: int) -> str:
    """A number of outputs, which may be huge, in a few characters.

    Examples
    --------
    >>> count_words(2187), count_words(16**9)
    ('2,187', '6.9·10¹⁰')
    """
    if count < 1_000_000:
        return f"{count:,}"
    # a float would overflow
    digits, _, exponent = f"{Decimal(count):.1e}".partition("e+")
    return f"{digits}·10{exponent.translate(_RAISED)}"


def draw_support(
    tokens: Sequence[str],
    truth: Sequence[Any],
    outputs: Sequence[tuple[Sequence[Any], float]],
) -> str:
    """Draw a sentence with its labels and its support structures.

    Parameters
    ----------
    tokens : list of str
    truth : list of labels
    outputs : list of (labels, α)
        Wrong labellings, in the order of the lines.

    Returns
    -------
    str
        SVG.

    Examples
    --------
    >>> drawn = draw_support(["Rome"], ["LOC"], [(["PER"], 0.25)])
    >>> drawn.startswith("<svg") and "PER" in drawn and "0.25" in drawn
    True
    """
    columns = [[visible(str(t), 40), visible(str(y), 40)]
               for t, y in zip(tokens, truth, strict=True)]  # fmt: skip
    for labels, _ in outputs:
        for column, label, true in zip(columns, labels, truth, strict=True):
            column.append("" if label == true else visible(str(label), 40))
    x, shapes = _MARGIN, []
    for column in columns:
        width = max(svg.text_width(words, _SIZE) for words in column)
        for line, words in enumerate(column):
            if words:
                style: dict[str, object] = {"font-weight": 600} if line == 1 else {}
                if line > 1:
                    style = {"fill": _WRONG, "class": "wrong"}
                shapes.append(_text(x + width / 2, line, words, style))
        x += width + _GAP
    widest = 0.0
    for line, (_, alpha) in enumerate(outputs, 2):
        words = f"α = {alpha:.3g}"
        widest = max(widest, svg.text_width(words, _SIZE))
        shapes.append(_text(x, line, words, {"text-anchor": "start"}))
    height = _LINE * (2 + len(outputs)) + _MARGIN
    label = f"Support structures of: {' '.join(map(str, tokens))}"
    return svg.drawing(
        x + widest + _MARGIN, height, visible(label, 400), shapes, standalone=True
    )


def _text(x: float, line: int, words: str, style: dict[str, object]) -> str:
    return svg.styled_text(x, _LINE * (line + 1) - 5, words, _SIZE, style)


def heaviest(
    block: np.ndarray, alpha: np.ndarray, is_shown: np.ndarray, n: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The n examples with the largest α, each with its planes.

    Parameters
    ----------
    block : int array (m,)
        Example of each plane.
    alpha : array (m,)
    is_shown : bool array (n_examples,)
        Which examples may be shown.
    n : int

    Yields
    ------
    example, planes
        Planes by falling α.
    """
    # many examples reach the largest possible mass, their weight in the objective, so
    # they are ranked by their largest α
    largest = np.zeros(len(is_shown))
    np.maximum.at(largest, block, alpha)
    largest *= is_shown
    for i in np.argsort(-largest, kind="stable")[:n].tolist():
        if largest[i] > 0:
            planes = np.flatnonzero(block == i)
            yield i, planes[np.argsort(-alpha[planes], kind="stable")]


def heaviest_examples(support: Any, n: int) -> Iterator[tuple[int, np.ndarray]]:
    """The n short examples of a `SupportSet` with the largest α, with their planes."""
    if support is not None and len(support.alpha):
        is_short = np.diff(support.offset) <= _LONGEST
        yield from heaviest(support.cuts.block, support.alpha, is_short, n)


def support_pictures(
    model: SequenceModel, n_sequences: int = 5, n_outputs: int = 8
) -> list[Picture]:
    """Draw the training sentences with the largest α.

    Parameters
    ----------
    model : SequenceModel
    n_sequences, n_outputs : int
        How many sentences, and how many wrong labellings of each.

    Returns
    -------
    list of Picture
        Empty for a model without its dual.
    """
    support: Any = model.support
    pictures = []
    for i, planes in heaviest_examples(support, n_sequences):
        shown = []
        for p in planes[:n_outputs]:
            labels = [model.labels[c] for c in support.output(p)]
            shown.append((labels, float(support.alpha[p])))
        truth = [model.labels[c] for c in support.truth(i)]
        row, n = int(support.rows[i]), len(planes)
        lines = f"{n} support structures" if n > 1 else "one support structure"
        lines += f" among {count_words(model.structure.n_outputs(len(truth)))} outputs"
        if n > n_outputs:
            lines += f", the {n_outputs} heaviest shown"
        pictures.append(
            Picture(
                f"Training sequence {row}: {lines}",
                draw_support(support.tokens[i], truth, shown),
            )
        )
    return pictures


def support_tree_pictures(
    model: DependencyModel, n_sentences: int = 5, n_trees: int = 2
) -> list[Picture]:
    """Draw training sentences and some wrong trees of each, as `support_pictures`."""
    support: Any = model.support
    names, pictures = model.joint_labels, []

    def tree(codes: np.ndarray) -> tuple[list[int], list[str]]:
        heads, labels = np.divmod(codes, max(len(names), 1))
        return heads.tolist(), [names[k] if names else "" for k in labels.tolist()]

    for i, planes in heaviest_examples(support, n_sentences):
        tokens, truth = support.tokens[i], tree(support.truth(i))
        n_outputs = count_words(model.structure.n_outputs(len(tokens)))
        for rank, p in enumerate(planes[:n_trees].tolist(), 1):
            caption = (
                f"Training sentence {int(support.rows[i])}: support structure {rank} "
                f"of {len(planes)} among {n_outputs} trees, "
                f"α = {float(support.alpha[p]):.3g}"
            )
            drawn = draw_dependency_tree(tokens, tree(support.output(p)), truth=truth)
            pictures.append(Picture(caption, drawn))
    return pictures
