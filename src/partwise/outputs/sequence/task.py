"""The task `tag`: column files, tag sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from partwise.outputs.hidden_truths import n_unknown
from partwise.outputs.label_task import LabelTask
from partwise.outputs.listings import (
    heaviest_transitions,
    label_details,
    unseen_warning,
)
from partwise.outputs.task import Answers, Data, Details, FileOptions, Listing
from partwise.readers.layout import Layout, find_column, read_tables, split_label

ABSENT = "-"  # a sentence has fewer than k labellings

MOST_COLUMNS = 10  # of a table of transitions that fits on a terminal


class TagTask(LabelTask):
    """Learn a tagger from column files, one token per line.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train tag train.txt --model chunks.model --dev dev.txt`
    """

    title: ClassVar[str] = "Tagger"
    writes_probabilities: ClassVar[bool] = True
    file_options: ClassVar[tuple[str, ...]] = (
        "label", "columns", "separator", "comment", "unknown",
    )  # fmt: skip

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the layout that the options describe."""
        return cls(Layout.create(*options[:4], options.unknown))

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Templates of tokens."""
        from partwise.features.templates import PRESETS, parse_templates

        return PRESETS, parse_templates

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With the layout of the training files, changed by the options."""
        from partwise.model_file import ModelFileError

        if model.takes == "dicts":
            from partwise.outputs.crfsuite import ItemTask

            options.refuse(*options._fields)
            return ItemTask(Layout())  # type: ignore[return-value]
        if model.takes != "columns":
            raise ModelFileError(
                f"{path}: the model ({model.kind}) takes {model.takes}, not "
                "column files; use it from Python with partwise.load"
            )
        options.refuse("max_length")
        trained = Layout.of_model(model)
        return cls(Layout.create(*options[:4], options.unknown, trained))

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Columns; with `truth`, also labels. The layout gets the names it lacks."""
        table = read_tables(paths, self.layout)
        if not truth:
            return Data(table, None, table.n_tokens, table)
        label = find_column(table, self.layout.label, paths)
        X, texts = split_label(table, label, paths)
        self.layout = replace(self.layout, columns=list(table.columns), label=label)
        unknown = self.layout.unknown
        y = [[None if text == unknown else text for text in row] for row in texts]
        return Data(X, y, table.n_tokens, table)

    def shown_tokens(self, X: Any) -> list[list[str]]:
        """The first column of each sentence."""
        return X.strings(next(iter(X.columns)))

    def describe(self, data: Data) -> str:
        """Sentences, tokens, labels."""
        n, n_hidden = len(set(self.labels_in(data))), n_unknown(data.y)
        hidden = f", {n_hidden:,} tokens without one ({self.layout.unknown})"
        sizes = f"{len(data.X):,} sentences, {data.n_tokens:,} tokens, {n} labels"
        return sizes + hidden * (n_hidden > 0)

    def reader_info(self) -> dict[str, Any]:
        """The layout."""
        return self.layout.to_dict()

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """All columns, then those of the predicted labels, then probabilities."""
        from partwise.readers import Table, write_columns
        from partwise.readers.table import encode

        columns = dict(data.source.columns)
        *others, last = self.new_columns(answers, topk)
        for k, rows in enumerate(others):
            flat = [text for row in rows for text in row]
            columns[f"prediction {k}"] = encode(map(str, flat))
        table = Table(columns, data.source.offset)
        write_columns(output, table, last, separator=self.layout.separator or " ")

    @staticmethod
    def new_columns(answers: Answers, topk: int) -> list[Any]:
        """Labels of each rank, or marks of absence, and probabilities, by sentence."""
        columns = [answers.best]
        if topk > 1:
            columns = [
                [
                    ranked[k][0] if k < len(ranked) else [ABSENT] * len(ranked[0][0])
                    for ranked in answers.ranked
                ]
                for k in range(topk)
            ]
        return [*columns, *answers.more_columns]

    # -------------------------------------------------------------- predictions

    def with_probabilities(
        self, option: str, model: Any, data: Data, answers: Answers, n_jobs: int
    ) -> Answers:
        """Of each token, sentence and span; or of all labels at each token."""
        from partwise.readers.span_tags import is_span_tag

        answers = super().with_probabilities(option, model, data, answers, n_jobs)
        document, columns = dict(answers.probabilities), list(answers.more_columns)
        if option == "--marginals":
            document["label_names"] = names = list(map(str, model.labels))
            for k, name in enumerate(names):
                tables = document["marginals"]
                columns.append([[f"{name}/{p[k]:.4f}" for p in t] for t in tables])
        else:
            tokens = model.confidence(data.X, of="tokens", n_jobs=n_jobs)
            pairs = zip(document["confidence"], tokens, strict=True)
            outputs = [[p] * len(row) for p, row in pairs]
            for rows in (tokens, outputs):
                columns.append([[f"{p:.4f}" for p in row] for row in rows])
            document["token_confidence"] = [row.tolist() for row in tokens]
            if all(map(is_span_tag, model.labels)):
                document["spans"] = [
                    [span._asdict() | {"probability": p} for span, p in row.items()]
                    for row in model.confidence(data.X, of="spans", n_jobs=n_jobs)
                ]
        return answers._replace(probabilities=document, more_columns=columns)

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """`given` is a column with labels that must be kept."""
        column = find_column(data.source, given, ["the data"])
        rows = data.source.strings(column)
        names: dict[str, Any] = {self.layout.unknown: None}
        names |= {str(label): label for label in model.labels}
        return [[names.get(text, text) for text in row] for row in rows]

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """All metrics that these labels have; of known ones alone, without spans."""
        from partwise.metrics import measure_labels

        has_spans = not n_unknown(data.y)
        return measure_labels(*self.known(data, answers), with_spans=has_spans)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Labels the model has never seen; precision and recall of each label."""
        from partwise.metrics import as_span_tags, label_report, span_report

        unseen = unseen_warning(
            "labels", self.labels_in(data), model.labels, ", counted as errors"
        )
        pairs = self.known(data, answers)
        labels = label_report(*pairs)
        spans = None if n_unknown(data.y) else as_span_tags(*pairs)
        details = label_details("label", labels, unseen, n_tokens=data.n_tokens)
        by_span = label_details("span", [] if spans is None else span_report(*spans))
        details.json["spans"] = by_span.json["labels"]
        return details if spans is None else details._replace(listings=by_span.listings)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Tables, confusion, worst errors, support structures."""
        from partwise.outputs.sequence.report import sequence_sections

        predicted = [[str(label) for label in row] for row in answers.best]
        return sequence_sections(model, self.shown_tokens(data.X), data.y, predicted)

    # ------------------------------------------------------------ inside a model

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The chain, or segments."""
        return model.structure.facts()

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """Features of each label, and transitions."""
        parts, listings = super().telling_parts(model, top)
        weights = model.transitions()
        if top and len(weights) > MOST_COLUMNS:
            listings.append(heaviest_transitions(model.states, weights, top))
        elif top and weights:
            table = [
                (str(label), *("×" if w is None else f"{w:.2f}" for w in row))
                for label, row in zip(model.states, weights, strict=True)
            ]
            title = "transitions, from row to column"
            if any(None in row for row in weights):
                title += "; × is forbidden"
            listings.append(Listing(title, ["", *map(str, model.states)], table))
        return {"transitions": weights, **parts}, listings

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        (tokens,) = self.shown_tokens(data.X[row : row + 1])
        return model.explain(data.X[row : row + 1], tokens=tokens, top=top)

    # ------------------------------------------------------------------- verify

    def is_possible(self, structure: Any, output: Any) -> bool:
        """By the masks, or the lengths of segments."""
        return structure.allows(output)
