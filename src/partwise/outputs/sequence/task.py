"""The task `tag`: column files, tag sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.sequence.layout import (
    Layout,
    find_column,
    read_tables,
    split_label,
)
from partwise.outputs.task import Answers, Data, Details, FileOptions, Listing, Task

if TYPE_CHECKING:
    from partwise.objective import Formulation, Objective
    from partwise.protocol import Cuts, Floats, Ints, Problem
    from partwise.report import Report

UNKNOWN = "_"  # a token without a known label in the column of --given
ABSENT = "-"  # a sentence has fewer than k labellings


class TagTask(Task):
    """Learn a tagger from column files, one token per line.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train tag train.txt --model chunks.model --dev dev.txt`
    """

    title: ClassVar[str] = "Tagger"
    has_plain_check: ClassVar[bool] = True
    file_options: ClassVar[tuple[str, ...]] = (
        "label", "columns", "separator", "comment",
    )  # fmt: skip

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the layout that the options describe."""
        return cls(Layout.create(*options[:4]))

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Templates of tokens."""
        from partwise.features.templates import PRESETS, parse_templates

        return PRESETS, parse_templates

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With the layout of the training files where the user says nothing else."""
        from partwise.model_file import ModelFileError

        if model.takes != "columns":
            raise ModelFileError(
                f"{path}: the model ({model.kind}) takes {model.takes}, not "
                "column files; use it from Python with partwise.load"
            )
        options.refuse("max_length")
        return cls(Layout.create(*options[:4], default=Layout.of_model(model)))

    @classmethod
    def written_labels(cls, model: Any) -> list[str]:
        """The labels."""
        return list(map(str, model.labels))

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Columns, and labels if asked; the layout learns the names it lacks."""
        table = read_tables(paths, self.layout)
        if not truth:
            return Data(table, None, table.n_tokens, table)
        label = find_column(table, self.layout.label, paths)
        X, y = split_label(table, label, paths)
        self.layout = Layout(
            list(table.columns), label, self.layout.separator, self.layout.comment
        )
        return Data(X, y, table.n_tokens, table)

    def describe(self, data: Data) -> str:
        """Sentences, tokens, labels."""
        n_labels = len({label for row in data.y for label in row})
        return f"{len(data.X):,} sentences, {data.n_tokens:,} tokens, {n_labels} labels"

    def reader_info(self) -> dict[str, Any]:
        """The layout."""
        return self.layout.to_dict()

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """All columns, then those of the predicted labels."""
        from partwise.readers import Table, write_columns
        from partwise.readers.table import encode

        columns = dict(data.source.columns)
        labels = answers.best
        for k in range(topk - 1):  # the last of the K goes the way of a single one
            flat = [label for row in _rank(answers, k) for label in row]
            columns[f"rank {k + 1}"] = encode(map(str, flat))
        if topk > 1:
            labels = _rank(answers, topk - 1)
        table = Table(columns, data.source.offset)
        write_columns(output, table, labels, separator=self.layout.separator or " ")

    # -------------------------------------------------------------- predictions

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Labels; `given` is a column with those that must be kept."""
        if topk > 1:
            ranked = model.predict_topk(data.X, topk, n_jobs=n_jobs)
            return Answers([found[0][0] for found in ranked], ranked)
        known = None
        if given is not None:
            column = find_column(data.source, given, ["the data"])
            names: dict[str, Any] = {str(label): label for label in model.labels}
            names.setdefault(UNKNOWN, None)
            known = [
                [names.get(text, text) for text in row]
                for row in data.source.strings(column)
            ]
        return Answers(model.predict(data.X, given=known, n_jobs=n_jobs))

    def json_outputs(self, answers: Answers) -> dict[str, Any]:
        """Labels of each sentence."""
        told: dict[str, Any] = {"labels": answers.best}
        if answers.ranked:
            told["topk"] = [
                [{"labels": names, "score": score} for names, score in found]
                for found in answers.ranked
            ]
        return told

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """All metrics that these labels have."""
        from partwise.outputs.sequence.report import measure

        return measure(data.y, _as_strings(answers.best))

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Labels the model has never seen; precision and recall of each label."""
        from partwise.metrics import label_report, span_report
        from partwise.outputs.sequence.report import as_span_tags

        known = {str(name) for name in model.labels}
        unseen: dict[str, int] = {}
        for row in data.y:
            for name in row:
                if name not in known:
                    unseen[name] = unseen.get(name, 0) + 1
        warnings = []
        if unseen:
            listed = ", ".join(f"{n} ({k})" for n, k in sorted(unseen.items())[:10])
            warnings = [f"labels unknown to the model, counted as errors: {listed}"]
        predicted = _as_strings(answers.best)
        spans = as_span_tags(data.y, predicted)
        labels = label_report(data.y, predicted)
        rows = labels if spans is None else span_report(*spans)
        what = "label" if spans is None else "span"
        shown = Listing("", (what, "precision", "recall", "f1", "n"), _shares(rows))
        told = {
            "n_tokens": data.n_tokens,
            "unseen_labels": unseen,
            "labels": [row._asdict() for row in labels],
            "spans": [] if spans is None else [row._asdict() for row in rows],
        }
        return Details(warnings, told, [shown])

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """Tables, confusion, telling features, worst errors."""
        from partwise.outputs.sequence.report import sequence_report

        return sequence_report(
            model,
            tokens=data.X.strings(next(iter(data.X.columns))),
            y=data.y,
            y_pred=_as_strings(answers.best),
            **common,
        )

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Number of labels, and what the scoring says of itself."""
        return [("Labels", str(len(model.labels))), *model.scoring.report_facts()]

    # ------------------------------------------------------------ inside a model

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Labels, scoring, chain, and what is kept of the training."""
        chain = model.chain
        return {
            "labels": model.labels,
            **model.scoring.facts(),
            "chain": {
                "order": chain.order,
                "boundary": chain.boundary,
                "cost": chain.cost if isinstance(chain.cost, str) else "matrix",
                "constrained": chain.transitions is not None,
            },
            "support": 0 if model.support is None else len(model.support.alpha),
            "reader": model.info.get("reader", {}),
        }

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """Features of each label, and transitions."""
        from partwise.outputs.sequence.report import telling_features

        bigram = model.parts().bigram
        groups = telling_features(model, top) if top else []
        told = {
            "transitions": bigram.tolist(),
            "features": {
                g.name: {"for": list(g.positive), "against": list(g.negative)}
                for g in groups
            },
        }
        listings = []
        for group in groups:
            pairs = [*group.positive, *group.negative]
            heaviest = sorted(pairs, key=lambda pair: -abs(pair[1]))[:top]
            rows = [(f"{weight:+.4f}", feature) for feature, weight in heaviest]
            listings.append(Listing(group.name, (), rows))
        if top and bigram.size:
            table = [
                (str(label), *(f"{w:.2f}" for w in row))
                for label, row in zip(model.labels, bigram, strict=True)
            ]
            header = ["", *map(str, model.labels)]
            listings.append(Listing("transitions, from row to column", header, table))
        return told, listings

    def explain(
        self, model: Any, data: Data, row: int, top: int
    ) -> tuple[dict[str, Any], str]:
        """Winner against runner-up."""
        one = data.X[row]
        tokens = one.strings(next(iter(one.columns)))[0]
        explanation = model.explain(one, tokens=tokens, top=top)
        return explanation.to_dict(), str(explanation)

    # ------------------------------------------------------------------- verify

    def foreign(self, model: Any, data: Data) -> str | None:
        """A label that the model does not know."""
        known = {str(name) for name in model.labels}
        unknown = sorted({name for row in data.y for name in row} - known)
        return f"unknown label {unknown[0]}" if unknown else None

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The chain's problem; that of a kernel model has all its Gram matrix again."""
        codes = self._codes(model, data)
        return model.training_problem(data.X, codes, formulation, n_jobs)

    def _codes(self, model: Any, data: Data) -> Ints:
        import numpy as np

        number = {str(name): k for k, name in enumerate(model.labels)}
        return np.array([number[name] for row in data.y for name in row], np.int32)

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By `Chain.loss` and the masks."""
        import numpy as np

        chain, offset, truth = model.chain, problem.blocks.offset, problem.blocks.y
        edges, starts, ends = chain.masks()
        losses, n_impossible = np.empty(len(rows)), 0
        for k, output in enumerate(problem.outputs(cuts)):
            y = truth[offset[rows[k]] : offset[rows[k] + 1]]
            losses[k] = chain.loss(y, output)
            n_impossible += bool(
                starts[output[0]]
                or ends[output[-1]]
                or edges[output[:-1], output[1:]].any()
            )
        return losses, n_impossible

    def plain_primal(
        self, model: Any, data: Data, settings: dict[str, Any], objective: Objective
    ) -> float:
        """Sentence by sentence, by the reference methods of the chain."""
        from partwise.outputs.sequence.plain_check import plain_primal

        return plain_primal(
            model, data.X, self._codes(model, data), settings, objective
        )


def _as_strings(rows: list[Any]) -> list[list[str]]:
    return [[str(label) for label in row] for row in rows]


def _rank(answers: Answers, k: int) -> list[list[Any]]:
    """The labelling of rank k of each sentence, or as many marks of absence."""
    return [
        found[k][0] if k < len(found) else [ABSENT] * len(found[0][0])
        for found in answers.ranked
    ]


def _shares(rows: list[Any]) -> list[list[str]]:
    return [
        [str(name), *(f"{rate:.4f}" for rate in rates), f"{support:,}"]
        for name, *rates, support in rows
    ]
