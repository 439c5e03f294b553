"""The task `constparse`: bracket files, phrase-structure trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.listings import weight_listings
from partwise.outputs.task import Answers, Data, Details, FileOptions, Listing
from partwise.outputs.tree_task import TreeTask

if TYPE_CHECKING:
    from partwise.metrics.measures import Breakdown
    from partwise.protocol import Cuts, Floats, Ints


class PhraseTask(TreeTask):
    """Learn a phrase-structure parser from files of Penn brackets.

    Traces, functions and indices are removed from the trees. Ctrl-C ends training
    early: the best model so far is written with its gap, and the exit code is 130.

    Example: `partwise train constparse train.mrg --model wsj.model --dev dev.mrg`
    """

    title: ClassVar[str] = "Phrase-structure parser"
    truths_name: ClassVar[str] = "trees"
    aliases: ClassVar[dict[str, str]] = {"lexical": "--words"}

    def __init__(
        self,
        *,
        max_length: int | None = None,
        separator: str | None = None,
        comment: str | None = None,
        need_tags: bool = True,
        dev_length: int | None = None,
    ) -> None:
        self.max_length = max_length
        self.dev_length = dev_length
        self.separator = separator
        self.comment = comment
        self.need_tags = need_tags
        self._trained: Any = None  # the model whose training is repeated

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """Of trees of any length: long ones give rules."""
        return cls(dev_length=settings["max_length"])

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """Trees as in training: without traces and functions."""
        options.refuse("columns", "label")
        separator = "\t" if options.separator in ("tab", "\\t") else options.separator
        return cls(
            max_length=options.max_length,
            separator=separator,
            comment=options.comment,
            need_tags=not model.grammar.lexical,
        )

    @classmethod
    def written_labels(cls, model: Any) -> list[str]:
        """Labels of brackets, and tags."""
        return [*cls.known_labels(model), *model.grammar.tags_]

    @classmethod
    def known_labels(cls, model: Any) -> list[str]:
        """Labels of the grammar, and that around whole trees."""
        return [*model.labels, *([model.wrapper] if model.wrapper else [])]

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Tagged words; with `truth`, also trees. Longer sentences are left out."""
        from partwise.readers.brackets import read_sentences
        from partwise.readers.treebank import short_rows

        X: list[list[tuple[str, str]]] = []
        y: list[Any] = []
        for path in paths:
            sentences, trees = read_sentences(
                path, trees=truth, need_tags=self.need_tags, separator=self.separator,
                comment=self.comment,
            )  # fmt: skip
            X += sentences
            y += trees
        rows = short_rows(map(len, X), self.max_length, paths[0])
        if self._trained is not None:
            rows = [s for s in rows if self._trained.is_usable(X[s], y[s])]
        X, y = [X[s] for s in rows], [y[s] for s in rows] if truth else y
        return Data(X, y if truth else None, sum(map(len, X)), None)

    def describe(self, data: Data) -> str:
        """Sizes, and how many trees are short enough."""
        sizes = super().describe(data)
        if self.dev_length is None:
            return sizes
        n_short = sum(len(x) <= self.dev_length for x in data.X)
        return (
            f"{sizes}; {n_short:,} trees have at most {self.dev_length} words and are "
            "trained on, the others give rules"
        )

    def read_dev(self, path: str) -> Data:
        """Development data, without sentences longer than the parser is trained on."""
        return type(self)(max_length=self.dev_length).read([path], truth=True)

    def reader_info(self) -> dict[str, Any]:
        """The format."""
        return {"format": "brackets"}

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """One tree on a line; of several, the best first, then a blank line."""
        from partwise.readers import format_tree, write_brackets
        from partwise.readers.sink import write_bytes

        if topk == 1:
            write_brackets(output, answers.best)
            return
        blocks = [
            "".join(format_tree(tree) + "\n" for tree, _ in ranked or [(flat, 0.0)])
            for ranked, flat in zip(answers.ranked, answers.best, strict=True)
        ]
        write_bytes(output, "\n".join(blocks).encode())

    # -------------------------------------------------------------- predictions

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Trees; nothing can be given."""
        if given is not None:
            raise ValueError("--given does not go with this model; drop it")
        trees, is_parse = model.parse(data.X, n_jobs=n_jobs)
        n_too_long = sum(map(model.is_too_long, data.X))
        failures = {"n_failures": int((~is_parse).sum()), "n_too_long": n_too_long}
        if topk == 1:
            return Answers(trees, **failures)
        ranked = model.predict_topk(data.X, topk, n_jobs=n_jobs)
        return Answers(trees, ranked, **failures)

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """EVALB's figures; the flat tree of a failure counts as it is."""
        from partwise.metrics import measure_phrases

        measures = measure_phrases(data.y, answers.best)
        return measures | {
            "failures": answers.n_failures,
            "too_long": answers.n_too_long,
        }

    def breakdowns(self, y: Sequence[Any], y_pred: Sequence[Any]) -> list[Breakdown]:
        """By label and length."""
        from partwise.metrics.measures import break_down_phrases

        return break_down_phrases(y, y_pred)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Also failures, and tags never seen."""
        details = super().details(model, data, answers)
        n_unparsed = answers.n_failures - answers.n_too_long
        if n_unparsed:
            details.warnings.append(
                f"{n_unparsed} sentences without a parse got a flat tree"
            )
        if answers.n_too_long:
            details.warnings.append(
                f"{answers.n_too_long} sentences of more than {model.max_length} words "
                "were not parsed and got a flat tree; leave them out by --max-length "
                f"{model.max_length}"
            )
        n_unknown = details.json["unknown_tags"] = model.n_unknown_tags(data.X)
        if n_unknown:
            details.warnings.append(
                f"{n_unknown} words have tags that training never showed; each stands "
                "for any other"
            )
        return details

    def overall(self, data: Data, answers: Answers) -> dict[str, Any]:
        """EVALB's figures, and failures, as far as there are any that are too long."""
        figures = super().overall(data, answers)
        n_too_long = figures.pop("too_long")
        return figures | ({"failures, too long": n_too_long} if n_too_long else {})

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Scores by label and length, confusions, worst errors drawn."""
        from partwise.metrics import bracket_confusion
        from partwise.report import Confusion
        from partwise.report.errors import phrase_errors

        pairs = data.y, answers.best
        sections = super().report_sections(model, data, answers)
        confusion = Confusion(*bracket_confusion(*pairs))
        return sections | {"confusion": confusion} | phrase_errors(*pairs)

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Size of the grammar."""
        n_rules = f"{len(model.grammar.rules()):,}"
        return [("Rules", n_rules), *super().report_facts(model)]

    # ------------------------------------------------------------ inside a model

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Rules, tags and settings of the grammar."""
        return {
            "n_rules": len(model.grammar.rules()),
            "tags": list(model.grammar.tags_),
            "grammar": model.grammar.get_params(),
        }

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The heaviest rules and features, or the sentences behind each key."""
        groups = cls.telling_features(model, top) if top else []
        if len(groups) > 1:
            return super().telling_parts(model, top)
        pairs = [pair for g in groups for pair in (*g.positive, *reversed(g.negative))]
        return {"features": pairs}, weight_listings("rules and features", pairs)

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up, rule by rule."""
        return model.explain([data.X[row]], top=top)

    # ------------------------------------------------------------------- verify

    def as_in_training(self, model: Any) -> None:
        """Without long sentences, and trees that the grammar does not derive."""
        self._trained = model

    def labels_in(self, data: Data) -> list[str]:
        """Labels of the phrases of each tree."""
        from partwise.readers.trees import phrase_labels

        return [label for tree in data.y for label in phrase_labels(tree)]

    def foreign(self, model: Any, data: Data) -> str | None:
        """Not a single tree of the grammar."""
        return None if data.X else "no tree is one of the grammar"

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By `Grammar.loss`, and by whether the grammar derives the tree."""
        return model.grammar.judge(
            cuts,
            [problem.sentences[row] for row in rows],
            [data.y[row] for row in rows],
        )
