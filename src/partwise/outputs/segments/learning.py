"""How a tagger with segments begins: its parameters, structure and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.features import kind_of
from partwise.features.columnar import as_table
from partwise.features.segments import SegmentFeaturizer
from partwise.outputs.kernel_fit import uses_keys
from partwise.outputs.scoring import FeatureFit
from partwise.outputs.segments.model import SegmentScoring
from partwise.parameters import ParameterError, SettingsError, check_choice, check_whole
from partwise.protocol import Ints
from partwise.readers.phrases import read_phrases
from partwise.structures.segments.segment_losses import LOSSES
from partwise.structures.segments.structure import Segments
from partwise.structures.segments.tags import tag_segments, tag_types

# parameters of chains that segments do not have
CHAIN = {
    "order": 1, "boundary": False, "scheme": None, "forbidden": None,
}  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class SegmentParameters:
    """
    Parameters of a tagger that may score whole segments.

    Parameters
    ----------
    segments : bool
        Score the segments of BIO tags as wholes: a semi-Markov chain.
        A token I-X that goes on with nothing begins a segment, as conlleval counts.
        A segment has, besides weights of its first, inner and last token, weights of
        its length, of `spans` and of `gazetteers`. Costs are then ``"hamming"``,
        ``"segments"`` (segments of one side alone) and ``"overlap"`` (the same with
        credit for overlap).
    longest : int or None
        With segments: their most tokens; by default those of the longest in training.
    spans : str, list of str or None
        With segments: templates of whole segments, separated by ``;`` or in lines.
        Offset 0 stands for all their tokens; see `partwise.features.segments`. By
        default words in lower case and shapes; ``""`` for none.
    gazetteers : str, dict or None
        With segments: lists of phrases, as ``"city=cities.txt,name=names.txt"``.
        Or a dict from names to phrases. A segment in a list has a feature of it; case
        does not count.
    """

    segments: bool = False
    longest: int | None = None
    spans: Any = None
    gazetteers: Any = None

    def check_segments(self) -> None:
        """Refuse what segments, or chains, cannot have."""
        tagger: Any = self
        if not self.segments:
            for name in ("longest", "spans", "gazetteers"):
                if getattr(self, name) is not None:
                    raise SettingsError(f"<{name}=> needs <segments=True>")
            return
        if uses_keys(tagger):
            raise SettingsError(
                "<segments=True> needs features; leave <kernel=> and <match=> out"
            )
        for name, default in CHAIN.items():
            if getattr(tagger, name) != default:
                raise SettingsError(
                    f"<segments=True> has no <{name}={getattr(tagger, name)!r}>, which "
                    "is one of chains; leave it out"
                )
        if not isinstance(tagger.cost, str):
            raise SettingsError(
                f"<segments=True> has no costs of labels; choose {', '.join(LOSSES)}"
            )
        check_choice("cost", tagger.cost, LOSSES)
        check_whole("longest", self.longest, 1)

    def begin_segments(
        self, fit: Any, X: Any, labels: list[Any], codes: Ints, last: Any
    ) -> tuple[FeatureFit, Segments]:
        """
        The fit with features of segments, and the structure.

        Parameters
        ----------
        fit : FeatureFit
            Of tokens.
        X : sequences
        labels : list
        codes : int array (n_tokens,)
            Numbers of the labels.
        last : SegmentModel or None
            The model that a warm start goes on with.
        """
        if last is not None:
            scoring = last.scoring
            return scoring.fit_to(scoring.with_spans(fit.parts, X), X), last.structure
        types = tag_types(labels)
        structure = tag_segments(labels, 1, self.cost)  # type: ignore[attr-defined]
        label_of, begins = structure.meanings()
        codes = structure.repaired(codes, fit.offset)
        first = np.flatnonzero(begins[codes])
        length = np.diff(np.append(first, len(codes)))
        kind = label_of[codes[first]]
        longest = np.ones(structure.n_labels, np.int64)
        np.maximum.at(longest, kind, length)
        if self.longest is not None:
            longest = np.minimum(longest, self.longest)
        longest[types.inside < 0] = 1
        structure.longest = longest
        spans = self._span_featurizer(X)
        if spans is not None:
            is_inside = kind != (-1 if structure.outside is None else structure.outside)
            spans.fit(as_table(X), first[is_inside], length[is_inside])
        scoring = SegmentScoring(fit.scoring.featurizer, spans, structure, types.types)
        return scoring.fit_to(scoring.with_spans(fit.parts, X), X), structure

    def _span_featurizer(self, X: Any) -> SegmentFeaturizer | None:
        """Features of segments, not yet fitted; None for none."""
        if kind_of(X) != "columns":
            if self.spans or self.gazetteers:
                raise SettingsError(
                    "<spans=> and <gazetteers=> need columns; give tokens as strings "
                    "or tuples of strings, or a Table"
                )
            return None
        column = next(iter(as_table(X).columns))
        templates = self.spans
        if templates is None:
            templates = [f"lower({column})", f"short_shape({column})"]
        if isinstance(templates, str):
            templates = templates.replace(";", "\n").splitlines()
        count = self.min_count  # type: ignore[attr-defined]
        lists = read_gazetteers(self.gazetteers)
        if not lists and not any(map(str.strip, templates)):
            return None
        return SegmentFeaturizer(templates, lists, column, count)


def read_gazetteers(given: Any) -> dict[str, Any]:
    """Lists of phrases by name, from files where the parameter names these."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name, phrases in given.items():
            if isinstance(phrases, str) or not isinstance(name, str):
                raise ParameterError(
                    "gazetteers", given, "give a list of phrases for each name"
                )
        return {name: list(phrases) for name, phrases in given.items()}
    lists = {}
    for pair in str(given).split(","):
        name, sign, path = (piece.strip() for piece in pair.partition("="))
        if not (name and sign and path):
            raise ParameterError("gazetteers", given, "write NAME=FILE,NAME=FILE")
        lists[name] = read_phrases(path)
    return lists
