"""Weights of aligners in words: tables by template, substitution matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.features.pairs import PairFeaturizer
from partwise.features.templates import View
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Ints
from partwise.readers.substitution import SubstitutionMatrix, as_text
from partwise.structures.alignment.layout import Layout


class WeightTable(NamedTuple):
    """The weights of one template."""

    title: str
    base: int  # where they begin
    names: list[str]


class NamedWeights:
    """What the weights of a model mean: tables by template, and a matrix."""

    featurizer: Any  # PairFeaturizer
    layout: Layout
    weights: Floats
    start: Floats | None

    def tables(self) -> list[WeightTable]:
        """Each list of weights: title, where it begins, names of its entries."""
        return weight_tables(self.featurizer, self.layout)

    @property
    def feature_names(self) -> list[str]:
        """Names of the rows of all tables."""
        return [name for table in self.tables() for name in table.names]

    def feature_counts(self) -> dict[str, int]:
        """Number of weights of each template."""
        return {title: len(names) for title, _, names in self.tables()}

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each template its features and weights."""
        for title, base, names in self.tables():
            yield title, names, self.weights[base : base + len(names)]

    def matrix(self, weights: Floats | None = None) -> SubstitutionMatrix:
        """Learned scores of substitutions, or those of other weights."""
        weights = self.weights if weights is None else weights
        return substitution_matrix(self.featurizer, self.layout, weights)

    def matrices(self) -> dict[str, SubstitutionMatrix]:
        """The learned matrix, and that of the start; none without such a template.

        Beside a start without letters of which training changed no score: it saw none,
        and the large scores of a start would hide the others.
        """
        try:
            learned = self.matrix()
        except ValueError:  # no template compares letters alone
            return {}
        if self.start is None:
            return {"Learned": learned}
        start = self.matrix(self.start)
        changed = learned.scores != start.scores
        shown = np.flatnonzero(changed.any(axis=0) | changed.any(axis=1))
        shown = shown if len(shown) else np.arange(len(changed))
        return {"Learned": _part_of(learned, shown), "Start": _part_of(start, shown)}

    def at_start(self) -> Self:
        """The model of the weights that training started from."""
        if self.start is None:
            raise ValueError("training did not start from the scores of a matrix")
        model = copy(self)
        model.weights = self.start
        return model

    def as_text(self, layout: str) -> str:
        """The learned matrix for other programs, in the format of NCBI."""
        return as_text(self.matrix(), "learned by partwise")


def _part_of(matrix: SubstitutionMatrix, shown: Ints) -> SubstitutionMatrix:
    letters = "".join(matrix.rows[k] for k in shown.tolist())
    return SubstitutionMatrix(letters, letters, matrix.scores[np.ix_(shown, shown)])


def weight_tables(featurizer: PairFeaturizer, layout: Layout) -> list[WeightTable]:
    """The weights of each template, in the order of a model.

    Parameters
    ----------
    featurizer : PairFeaturizer
        Fitted; its settings are those of the layout.
    layout : Layout

    Examples
    --------
    >>> featurizer = PairFeaturizer("residue").fit(["MK"], ["MV"])
    >>> layout = Layout.create(**featurizer.settings(), tie_gaps=True)
    >>> [(table.title, len(table.names)) for table in weight_tables(featurizer, layout)]
    [('residue ~ residue', 16), ('gap, open: bias', 1), ('gap, extend: bias', 1)]
    """
    tables = []
    for (left, right), table in zip(featurizer.match, layout.match, strict=True):
        names = [
            f"{one} ~ {other}"
            for one in featurizer.names_of(left, 0)
            for other in featurizer.names_of(right, 1)
        ]
        title = f"{left} ~ {right}".replace("[0]", "")
        tables.append(WeightTable(title, table.base, names))
    for k, columns in enumerate(featurizer.products):
        name = " * ".join(columns)
        tables.append(WeightTable(name, layout.product_base + k, [name]))
    sides = [("a", layout.a_open, layout.a_extend)]
    if layout.a_extend != layout.b_extend or layout.a_open != layout.b_open:
        sides.append(("b", layout.b_open, layout.b_extend))
    for side, *kinds in sides:
        gap = f"gap of {side}" if len(sides) == 2 else "gap"
        for kind, templates, places in zip(
            ("open", "extend"), (featurizer.open, featurizer.extend), kinds, strict=True
        ):
            for template, table in zip(templates, places, strict=True):
                names = featurizer.names_of(template, "ab".index(side))
                names = [f"{gap}, {kind} {name}".strip() for name in names]
                title = f"{gap}, {kind}: {template}".replace("[0]", "")
                tables.append(WeightTable(title, table.base, names))
    return tables


def substitution_matrix(
    featurizer: PairFeaturizer, layout: Layout, weights: Floats
) -> SubstitutionMatrix:
    """The scores of substitutions of the first column, as other aligners read them.

    With several templates this is the table of these substitutions alone.
    """
    number = featurizer.substitutions()
    if number is None:
        raise ValueError("no template compares the first columns alone: no matrix")
    table = layout.match[number]
    letters = featurizer.values[featurizer.match[number][0].terms[0].view]
    if any(len(letter) != 1 for letter in letters):
        raise ValueError("tokens are no single letters, as a matrix needs them")
    scores = weights[table.base : table.base + table.size]
    scores = scores.reshape(table.size_a, table.size_b)[:-1, :-1]
    return SubstitutionMatrix("".join(letters), "".join(letters), scores)


def identity_matrix(featurizer: PairFeaturizer) -> SubstitutionMatrix:
    """2 for equal letters of the first columns and −1 for others."""
    known: Sequence[Any] = featurizer.values.get(View(featurizer.sides[0][0]), [])
    letters = "".join(letter for letter in known if len(letter) == 1)
    return SubstitutionMatrix(letters, letters, 3.0 * np.eye(len(letters)) - 1.0)


def plain_weights(featurizer: PairFeaturizer, layout: Layout) -> Floats | None:
    """Equal letters 2, others and gaps −1; None where no template compares letters."""
    if featurizer.substitutions() is None:
        return None
    return start_weights(featurizer, layout, identity_matrix(featurizer), -1.0, -1.0)


def start_weights(
    featurizer: PairFeaturizer,
    layout: Layout,
    matrix: SubstitutionMatrix,
    gap_open: float,
    gap_extend: float,
) -> Floats:
    """The matrix as scores of substitutions, gap scores in the first gap templates."""
    plain = featurizer.substitutions()
    numbers = range(len(featurizer.match)) if plain is None else [plain]
    weights = np.zeros(layout.n_weights)
    for number in numbers:
        codes = [
            featurizer.first_values(t, k)
            for k, t in enumerate(featurizer.match[number])
        ]
        if codes[0] is not None and codes[1] is not None:
            break
    else:
        raise SettingsError(
            "<start=> needs a template that compares the first columns, such as "
            "residue ~ residue"
        )
    letters = [[*featurizer.values[View(side[0])], ""] for side in featurizer.sides]
    scores = np.array([[matrix.score(a, b) for b in letters[1]] for a in letters[0]])
    table = layout.match[number]
    here = slice(table.base, table.base + table.size)
    weights[here] = scores[np.ix_(codes[0], codes[1])].ravel()
    for value, sides in (
        (gap_open, (layout.a_open, layout.b_open)),
        (gap_extend, (layout.a_extend, layout.b_extend)),
    ):
        for gap in (side[0] for side in sides if side):
            weights[gap.base : gap.base + gap.size] = value
    return weights
