"""The task `motif`: sequences with classes, from FASTA files or tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, FileOptions


class MotifTask(RowTask):
    """Learn to classify sequences as having a motif or not.

    Tables have lines `class<TAB>…<TAB>sequence`; of FASTA files give two, whose names
    without endings are the classes.

    Example: `partwise train motif probes.tsv --length 8 --model box.model`
    """

    title: ClassVar[str] = "Motif"
    examples_name: ClassVar[str] = "sequences"
    tokens_name: ClassVar[str] = "letters"
    json_names: ClassVar[tuple[str, str]] = ("sites", "site")
    file_options: ClassVar[tuple[str, ...]] = ("background",)
    other_formats: ClassVar[tuple[str, ...]] = ("meme", "jaspar")
    measures: ClassVar[tuple[str, ...]] = (
        "accuracy", "error_rate", "balanced_accuracy",
    )  # fmt: skip

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the file of the background."""
        from partwise.outputs.motif.estimator import MotifClassifier
        from partwise.parameters import ParameterError

        task, weight = cls(), settings["background_weight"]
        if options.background is not None:
            task.more_files = [options.background]
        elif weight != MotifClassifier.background_weight:
            remedy = "it weighs sequences of a file, give <background=>"
            raise ParameterError("background_weight", weight, remedy)
        return task

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Sequences, their classes if asked, and their names."""
        import numpy as np

        from partwise.readers.sequences import read_sequences

        files = [read_sequences(path, truth=truth) for path in paths]
        X = [x for file in files for x in file.X]
        names = [name for file in files for name in file.names]
        y = np.array([label for file in files for label in file.y or ()])
        return Data(X, y if truth else None, sum(map(len, X)), names)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The background."""
        from partwise.readers.sequences import read_sequences

        files = [read_sequences(path, truth=False) for path in self.more_files]
        return {"background": [x for file in files for x in file.X]}

    def describe(self, data: Data) -> str:
        """Sequences, letters, classes."""
        classes = ", ".join(sorted(set(data.y.tolist())))
        return (
            f"{data.n_examples:,} sequences, {data.n_tokens:,} letters, "
            f"classes {classes}"
        )

    def reader_info(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {"format": "sequences"}

    def predictions(self, model: Any, data: Data, n_jobs: int) -> Answers:
        """Classes, with the best window of each sequence."""
        sites, scores = model.sites(data.X, n_jobs)
        labels = [model.labels[score > 0] for score in scores.tolist()]
        return Answers(labels, scores=list(zip(sites, scores.tolist(), strict=True)))

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """Lines with name, class, place from 0, strand and score of the window."""
        from partwise.readers.sequences import write_sites

        write_sites(output, data.source, answers.best, answers.scores)

    def json_outputs(self, answers: Answers) -> dict[str, Any]:
        """Class, place, strand and score of each sequence."""
        rows = zip(answers.best, answers.scores, strict=True)
        sites = [
            {"label": label, "position": site.position, "strand": site.strand,
             "score": None if site.position is None else score}
            for label, (site, score) in rows
        ]  # fmt: skip
        return {"sites": sites}

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """The letters of the best window of one sequence."""
        return model.explain(data.X[row], top=top)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """The logo, beside the table by class."""
        from partwise.report.logos import logo_sections

        tables = super().report_sections(model, data, answers)
        return tables | logo_sections(model.pwm)

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Strands, and the motif in its most frequent letters."""
        from partwise.structures.motif.sequences import LETTERS

        consensus = "".join(LETTERS[k] for k in model.pwm.argmax(axis=1).tolist())
        return {"both_strands": model.structure.both_strands, "consensus": consensus}

    def truths(self, model: Any, data: Data) -> Any:
        """1 with the motif, 0 without."""
        return (data.y == str(model.labels[1])).astype("int32")
