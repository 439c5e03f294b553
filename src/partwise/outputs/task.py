"""Outputs at the command line: commands are shared, and each output is one `Task`.

Help pages load tasks, so tasks import numpy, readers and reports where they use them.
All that a task may override stands in this one class, which is why the file is longer
than others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from unicodedata import category

from partwise.outputs.as_json import plain
from partwise.outputs.registry import task_class

if TYPE_CHECKING:
    from partwise.objective import Formulation, Objective
    from partwise.protocol import Cuts, Floats, Ints, Problem
    from partwise.report import FeatureGroup, Report


class FileOptions(NamedTuple):
    """Options that describe the files; None where the user gave none."""

    columns: str | None = None
    label: str | None = None
    separator: str | None = None
    comment: str | None = None
    max_length: int | None = None
    unknown: str | None = None  # what stands for a label that is not known
    background: str | None = None  # more examples of one class
    window: int | None = None  # items between two that may be linked
    templates: str | None = None  # of features, names between commas

    def refuse(self, *names: str) -> None:
        """Raise when the user gave an option that the task has no use for."""
        for name in names:
            if getattr(self, name) is not None:
                option = "--" + name.replace("_", "-")
                raise ValueError(f"{option} does not go with this model; drop it")


class Data(NamedTuple):
    """The content of a file, as the estimator of the task takes it."""

    X: Any
    y: Any  # None without the truth
    n_tokens: int
    source: Any  # the whole file, to write it again with predictions

    @property
    def n_examples(self) -> int:
        """Sentences, or rows of a matrix."""
        return self.X.shape[0] if hasattr(self.X, "tocsr") else len(self.X)


class Answers(NamedTuple):
    """Predictions: the best output of each example, and the k best with --topk."""

    best: list[Any]
    ranked: Sequence[list[tuple[Any, float]]] = ()
    n_failures: int = 0  # examples without an output
    n_too_long: int = 0  # those of them that are longer than the model allows
    scores: Any = None  # (n,) where outputs follow from a score per example
    positive: Any = None  # the label of high scores
    structure: Any = None  # of the model, where metrics depend on its settings
    # of --confidence and --marginals, for JSON
    probabilities: Mapping[str, Any] = MappingProxyType({})
    more_columns: Sequence[list[list[str]]] = ()  # of tokens, behind their labels
    warnings: Sequence[str] = ()


class Listing(NamedTuple):
    """A table to print."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Details(NamedTuple):
    """What an evaluation shows besides its metrics."""

    warnings: list[str]
    json: dict[str, Any]
    listings: list[Listing]


class Task(ABC):
    """An output at the command line: its files, metrics and report.

    Commands do what is common: options, order of work, messages, exit codes. Reading
    refuses bad files with an error that names file and line.
    """

    title: ClassVar[str]  # of the report, as in "Tagger"
    examples_name: ClassVar[str] = "sentences"
    tokens_name: ClassVar[str] = "tokens"  # what `Data.n_tokens` counts
    label_name: ClassVar[str] = "label"
    # in JSON: the predictions of all examples, and one of several of an example
    json_names: ClassVar[tuple[str, str]] = ("labels", "labels")
    measures: ClassVar[tuple[str, ...]] = ()  # metrics by name, see `measure`
    fact_names: ClassVar[tuple[str, ...]] = ()  # parameters of structures, for `facts`
    n_features_shown: ClassVar[int] = 10  # on each side of a label, in reports
    file_format: ClassVar[str] = ""
    max_length: int | None = None  # longer examples of files are left out
    more_files: Sequence[str] = ()  # that training reads besides its data
    writes_probabilities: ClassVar[bool] = False  # besides in JSON

    other_formats: ClassVar[tuple[str, ...]] = ()  # of models, see `in_format`

    # Options of `partwise train` besides those made from the estimator's parameters
    file_options: ClassVar[tuple[str, ...]] = ()  # those of `FileOptions` that it has
    # options named otherwise than their parameters; "--on/--off" for flags
    aliases: ClassVar[dict[str, str]] = {}
    # options that are no parameters, for `settings`: metavar and help
    extra_options: ClassVar[dict[str, tuple[str, str]]] = {}

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """The task that reads training files, with the estimator's settings."""
        return cls().limited_to(options.max_length)

    def limited_to(self, max_length: int | None) -> Self:
        """Leave out longer examples of files."""
        if max_length is not None and max_length < 1:
            raise ValueError(f"--max-length {max_length}: give a positive whole number")
        self.max_length = max_length
        return self

    @classmethod
    def settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Parameters of the estimator from the values of its options."""
        return values

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Presets by name, and the function that parses templates."""
        raise NotImplementedError

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """The task of a trained model, or a refusal of options that it cannot use."""
        options.refuse(*(n for n in options._fields if n not in cls.file_options))
        return cls().limited_to(options.max_length)

    @classmethod
    def written_labels(cls, model: Any) -> list[str]:
        """Labels that predictions of the model may write into a file."""
        return list(map(str, model.labels))

    @abstractmethod
    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Read files as one data set; with `truth`, also the true outputs."""

    def read_dev(self, path: str) -> Data:
        """A file to evaluate on after training, read like the training files."""
        return self.read([path], truth=True)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """What `fit` takes besides X and y."""
        return {}

    @abstractmethod
    def describe(self, data: Data) -> str:
        """Sizes of training data in a line."""

    def reader_info(self) -> dict[str, Any]:
        """How the training files were read, for the model file and later reading."""
        info: dict[str, Any] = {"format": self.file_format}
        has_limit = "max_length" in self.file_options
        return info | ({"max_length": self.max_length} if has_limit else {})

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Predictions; `given` names known parts, see `known_parts`."""
        if empty := self.empty_rows(data):
            options = {"topk": topk, "given": given, "n_jobs": n_jobs}
            return self._answer_others(model, data, empty, options)
        if topk > 1:
            if not hasattr(model, "predict_topk"):
                raise ValueError(
                    f"--topk {topk}: the model has one output for an example; drop it"
                )
            ranked = model.predict_topk(data.X, topk, n_jobs=n_jobs)
            for row, outputs in enumerate(ranked):
                if not outputs:
                    raise ValueError(
                        f"example {row}: no output is possible under the constraints"
                    )
            return Answers([outputs[0][0] for outputs in ranked], ranked)
        if given is None:
            return self.predictions(model, data, n_jobs)
        known = self.known_parts(model, data, given)
        return Answers(list(model.predict(data.X, given=known, n_jobs=n_jobs)))

    def empty_rows(self, data: Data) -> set[int]:
        """Examples without parts, whose outputs are empty lists."""
        return set()

    def _answer_others(
        self, model: Any, data: Data, empty: set[int], options: dict[str, Any]
    ) -> Answers:
        """`answer` for all rows but those."""
        rows = [i for i in range(len(data.X)) if i not in empty]
        best: list[Any] = [[] for _ in data.X]
        ranked: list[list[tuple[Any, float]]] = [[([], 0.0)] for _ in data.X]
        if rows:
            X, source = ([each[i] for i in rows] for each in (data.X, data.source))
            some = self.answer(model, data._replace(X=X, source=source), **options)
            for k, i in enumerate(rows):
                best[i] = some.best[k]
                ranked[i] = some.ranked[k] if options["topk"] > 1 else []
        return Answers(best, ranked if options["topk"] > 1 else ())

    def predictions(self, model: Any, data: Data, n_jobs: int) -> Answers:
        """The best output of each example."""
        return Answers(list(model.predict(data.X, n_jobs=n_jobs)))

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """The parts of outputs that a file gives, as `model.predict` takes them."""
        raise ValueError("--given does not go with this model; drop it")

    def check_probabilities(self, option: str, model: Any, *, is_json: bool) -> None:
        """Refuse ``--confidence`` or ``--marginals`` before any prediction."""
        if not hasattr(model, "marginals"):
            raise ValueError(f"{option}: this model has no probabilities; drop it")
        if not self.writes_probabilities and not is_json:
            raise ValueError(
                f"{option}: files of this model have no place for it; add --json, "
                "without --output"
            )

    def with_probabilities(
        self, option: str, model: Any, data: Data, answers: Answers, n_jobs: int
    ) -> Answers:
        """Answers with the probabilities of ``--confidence`` or ``--marginals``."""
        name = option.removeprefix("--")
        if option == "--confidence":
            values = model.confidence(data.X, n_jobs=n_jobs).tolist()
        else:
            tables = model.marginals(data.X, n_jobs=n_jobs)
            values = [table.tolist() for table in tables]
        return answers._replace(probabilities={**answers.probabilities, name: values})

    @abstractmethod
    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The file of `data` with predictions; ``-`` is standard output."""

    def json_outputs(self, answers: Answers) -> dict[str, Any]:
        """Predictions for ``--json``."""
        everyone, one = self.json_names
        outputs: dict[str, Any] = {everyone: plain(answers.best)}
        if answers.ranked:
            outputs["topk"] = [
                [self._ranked_json(one, y, score) for y, score in ranked]
                for ranked in answers.ranked
            ]
        return outputs | dict(answers.probabilities)

    def _ranked_json(self, name: str, output: Any, score: float) -> dict[str, Any]:
        value = plain(output)
        return (value if isinstance(value, dict) else {name: value}) | {"score": score}

    def reference(self, data: Data) -> Any:
        """The true outputs, as metrics compare them with predictions."""
        return list(data.y)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """All metrics of the task, by the names of the field."""
        from partwise.metrics import metric

        y, names = self.reference(data), self.measures_of(data)
        return {n: float(metric(n).function(y, answers.best)) for n in names}

    def measures_of(self, data: Data) -> Sequence[str]:
        """Names of the metrics of these data."""
        return self.measures

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Warnings and tables of an evaluation."""
        return Details([], {}, [])

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """The report of a training; `common` goes to the report's constructor."""
        from partwise.report import MetricTable, Report

        features = self.telling_features(model, self.n_features_shown)
        overall = MetricTable(common.pop("caption"), self.overall(data, answers))
        sections = self.report_sections(model, data, answers)
        metrics = [overall, *sections.pop("metrics", [])]
        return Report(metrics=metrics, features=features, **sections, **common)

    def overall(self, data: Data, answers: Answers) -> dict[str, Any]:
        """The first figures of a report."""
        return dict(self.measure(data, answers))

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Sections of the report besides measures and features; more ``metrics``."""
        return {}

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Facts on the first lines of the report that only this task has."""
        name = f"{cls.label_name.capitalize()}s"
        return [(name, str(len(model.labels))), *model.scoring.report_facts()]

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Facts for `inspect`, as text and in JSON."""
        return {
            "labels": model.labels,
            **model.scoring.facts(),
            **cls.structure_facts(model),
            "support": 0 if model.support is None else len(model.support.alpha),
            "reader": model.info.get("reader", {}),
        }

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Facts of the structure for `inspect`."""
        return {name: getattr(model.structure, name) for name in cls.fact_names}

    @classmethod
    def in_format(cls, model: Any, name: str) -> str:
        """The model as text for other programs, in one of `other_formats`."""
        return str(model.as_text(name))

    @classmethod
    def telling_features(cls, model: Any, top: int) -> list[FeatureGroup]:
        """The heaviest features for and against each label, or kernel keys."""
        from partwise.outputs.listings import telling_features

        return telling_features(model, top)

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The heaviest weights: for JSON, and as tables."""
        groups = cls.telling_features(model, top) if top else []
        listings = []
        for group in groups:
            pairs = [*group.positive, *group.negative]
            heaviest = sorted(pairs, key=lambda pair: -abs(pair[1]))[:top]
            rows = [(f"{weight:+.4f}", feature) for feature, weight in heaviest]
            listings.append(Listing(group.name, (), rows))
        features = {
            g.name: {"for": list(g.positive), "against": list(g.negative)}
            for g in groups
        }
        return {"features": features}, listings

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Why the prediction of an example won, with `to_dict`."""
        if not hasattr(model, "explain"):
            raise ValueError("explain does not go with this model")
        return model.explain(data.X[row], top=top)

    def query_explanation(self, model: Any, data: Data, query: str, top: int) -> Any:
        """Why the best row of a query won, of rankings."""
        raise ValueError("--query is for rankings; drop it")

    def explain(
        self, model: Any, data: Data, row: int, top: int, query: str | None = None
    ) -> tuple[dict[str, Any], str]:
        """Why the prediction of an example won: for JSON, and as text."""
        if query is None:
            explanation = self.explanation(model, data, row, top)
        else:
            explanation = self.query_explanation(model, data, query, top)
        return explanation.to_dict(), str(explanation)

    # ------------------------------------------------------- what `verify` needs

    def as_in_training(self, model: Any) -> None:
        """Read files from now on as the training files were read."""
        if "max_length" in self.file_options:
            self.max_length = model.info.get("reader", {}).get("max_length")

    def n_blocks(self, data: Data) -> int:
        """Examples of the training problem."""
        return data.n_examples

    def labels_in(self, data: Data) -> Iterable[str]:
        """All labels of the true outputs, as strings."""
        return ()

    def foreign(self, model: Any, data: Data) -> str | None:
        """Why these data cannot be those the model was trained on, if so."""
        if not model.labels:
            return None
        unknown = sorted(set(self.labels_in(data)) - set(map(str, model.labels)))
        return f"unknown {self.label_name} {unknown[0]}" if unknown else None

    def truths(self, model: Any, data: Data) -> Any:
        """The true outputs, as `model.training_problem` takes them."""
        return data.y

    def label_numbers(self, model: Any, data: Data) -> Ints:
        """The numbers of all true labels, for `truths`."""
        import numpy as np

        number = {str(label): k for k, label in enumerate(model.labels)}
        return np.array([number[label] for label in self.labels_in(data)], np.int32)

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The training problem of a model, from its file and the data."""
        truths = self.truths(model, data)
        return model.training_problem(data.X, truths, formulation, n_jobs)

    def is_possible(self, structure: Any, output: Any) -> bool:
        """Whether the structure allows an output, by plain methods."""
        return True

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """Loss of each output, by the plain methods, and how many are impossible."""
        import numpy as np

        structure, blocks = problem.structure, problem.blocks
        outputs, truths = problem.outputs(cuts), blocks.y
        if hasattr(blocks, "offset"):  # one array for the parts of all truths
            truths = np.split(truths, blocks.offset[1:-1])
        losses = [
            self.plain_loss(structure, data, row, truths[row], output)
            for row, output in zip(rows.tolist(), outputs, strict=True)
        ]
        is_possible = [self.is_possible(structure, output) for output in outputs]
        return np.array(losses), is_possible.count(False)

    def plain_loss(
        self, structure: Any, data: Data, row: int, truth: Any, output: Any
    ) -> float:
        """Loss of an output of an example by the plain method."""
        return float(structure.loss(truth, output))

    def plain_primal(
        self, model: Any, data: Data, settings: dict[str, Any], objective: Objective
    ) -> float:
        """The objective by plain Python, of models that have it."""
        truths = self.truths(model, data)
        return model.plain_primal(data.X, truths, settings, objective)


def open_model(path: str, options: FileOptions) -> tuple[Any, Task]:
    """A trained model and its task, or a clear refusal."""
    from partwise.model_file import ModelFileError, load_model

    model = load_model(path)
    task: type[Task] | None = task_class(model)
    if task is None:
        raise ModelFileError(
            f"{path}: the model ({type(model).__name__}) has no files of its own; use "
            "it from Python with partwise.load"
        )
    for label in task.written_labels(model):
        if any(category(c) == "Cc" for c in label):
            raise ModelFileError(
                f"{path}: label {label[:40]!r} has control characters, which have no "
                "place in files; use the model from Python with partwise.load"
            )
    return model, task.of_model(model, path, options)
