"""The task `constparse`: bracket files, phrase-structure trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.listings import listing, telling_features, unseen_warning
from partwise.outputs.task import (
    Answers,
    Data,
    Details,
    FileOptions,
    Listing,
    Task,
)

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints
    from partwise.report import Report


class PhraseTask(Task):
    """Learn a phrase-structure parser from files of Penn brackets.

    Traces, functions and indices are removed from the trees. Ctrl-C ends training
    early: the best model so far is written with its gap, and the exit code is 130.

    Example: `partwise train constparse train.mrg --model wsj.model --dev dev.mrg`
    """

    title: ClassVar[str] = "Phrase-structure parser"
    json_names: ClassVar[tuple[str, str]] = ("trees", "tree")
    aliases: ClassVar[dict[str, str]] = {"lexical": "--words"}

    def __init__(
        self,
        *,
        max_length: int | None = None,
        separator: str | None = None,
        comment: str | None = None,
        need_tags: bool = True,
    ) -> None:
        self.max_length = max_length
        self.separator = separator
        self.comment = comment
        self.need_tags = need_tags
        self._trained: Any = None  # the model whose training is repeated

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """Of all trees, whatever their length."""
        return cls()

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
        return [*_known_labels(model), *model.grammar.tags_]

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Tagged words, and trees if asked; longer sentences are left out."""
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
        """Sentences, words, labels."""
        from partwise.readers.trees import phrase_labels

        n_labels = len({label for tree in data.y for label in phrase_labels(tree)})
        return f"{len(data.X):,} trees, {data.n_tokens:,} words, {n_labels} labels"

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
        n_failures = int((~is_parse).sum())
        if topk == 1:
            return Answers(trees, n_failures=n_failures)
        ranked = model.predict_topk(data.X, topk, n_jobs=n_jobs)
        return Answers(trees, ranked, n_failures)

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """EVALB's figures; the flat tree of a failure counts as it is."""
        from partwise.metrics import measure_phrases

        return measure_phrases(data.y, answers.best) | {"failures": answers.n_failures}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """By label and length; failures; labels never seen."""
        from partwise.metrics import bracket_length_report, bracket_report
        from partwise.readers.trees import phrase_labels

        labels = [label for tree in data.y for label in phrase_labels(tree)]
        unseen, warnings = unseen_warning("labels", labels, _known_labels(model))
        if answers.n_failures:
            warnings.append(
                f"{answers.n_failures} sentences without a parse got a flat tree"
            )
        n_unknown = model.n_unknown_tags(data.X)
        if n_unknown:
            warnings.append(
                f"{n_unknown} words have tags that training never showed; each stands "
                "for any other"
            )
        rows = bracket_report(data.y, answers.best)
        lengths = bracket_length_report(data.y, answers.best)
        json = {
            "n_tokens": data.n_tokens,
            "unseen_labels": unseen,
            "unknown_tags": n_unknown,
            "labels": [row._asdict() for row in rows],
            "sentence_lengths": [row._asdict() for row in lengths],
        }
        header = ("f1", "exact", "crossing", "sentences")
        listings = [
            listing("label", ("precision", "recall", "f1", "n"), rows),
            listing("words", header, lengths),
        ]
        return Details(warnings, json, listings)

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """Scores by label and length, confusions, worst errors drawn."""
        from partwise.report.phrases import phrase_report

        return phrase_report(
            y=data.y,
            y_pred=answers.best,
            n_failures=answers.n_failures,
            features=telling_features(model, 15),
            **common,
        )

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Size of the grammar."""
        return [
            ("Rules", f"{len(model.grammar.rules()):,}"),
            ("Labels", f"{len(model.grammar.labels_):,}"),
            *model.scoring.report_facts(),
        ]

    # ------------------------------------------------------------ inside a model

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Labels, rules, settings of the grammar."""
        return {
            "labels": list(model.grammar.labels_),
            **model.scoring.facts(),
            "n_rules": len(model.grammar.rules()),
            "tags": list(model.grammar.tags_),
            "grammar": model.grammar.get_params(),
            "support": 0 if model.support is None else len(model.support.alpha),
            "reader": model.info.get("reader", {}),
        }

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The heaviest rules and features, or the sentences behind each key."""
        groups = telling_features(model, top) if top else []
        if len(groups) > 1:
            return super().telling_parts(model, top)
        pairs = [pair for g in groups for pair in (*g.positive, *reversed(g.negative))]
        rows = [(f"{weight:+.4f}", name) for name, weight in pairs]
        listings = [Listing("rules and features", (), rows)] if rows else []
        return {"features": pairs}, listings

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up, rule by rule."""
        return model.explain([data.X[row]], top=top)

    # ------------------------------------------------------------------- verify

    def as_in_training(self, model: Any) -> None:
        """Without long sentences, and trees that the grammar does not derive."""
        self._trained = model

    def foreign(self, model: Any, data: Data) -> str | None:
        """Not a single tree of the grammar."""
        return None if data.X else "no tree is one of the grammar"

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By `Grammar.loss`, and by whether the grammar derives the tree."""
        import numpy as np

        grammar = model.grammar
        losses, n_impossible = np.zeros(len(rows)), 0
        codes = np.split(cuts.code, cuts.indptr[1:-1])
        for k, (row, code) in enumerate(zip(rows.tolist(), codes, strict=True)):
            try:
                output = grammar.tree(code, problem.sentences[row])
            except (IndexError, RecursionError):  # brackets that do not nest
                output = None
            if output is None or not grammar.is_derivation(output, code):
                n_impossible += 1  # not the derivation of any tree
                continue
            losses[k] = grammar.loss(data.y[row], output)
        return losses, n_impossible


def _known_labels(model: Any) -> list[str]:
    return [*model.grammar.labels_, *([model.wrapper] if model.wrapper else [])]
