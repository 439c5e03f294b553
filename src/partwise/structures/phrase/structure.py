"""Phrase-structure trees of a weighted grammar read off a treebank.

An output is a tree; its parts are the rules over spans that derive it. Rules are read
off the training trees (`_rules.py`), so the output space is every tree whose
branchings, chains of unary rules and root occur in the treebank, in any combination. A
tree has one derivation.

    <w, φ(x, y)> = Σ_rules w[rule] + Σ_{brackets (A, i, j)} Σ_f w[A, f(x, i, j)]

The second sum is there with ``features="spans"`` (`partwise.features.spans`); the
paper's model has the first alone (Tsochantaridis et al., ICML 2004, section 5.5).
`Grammar` holds the settings and the plain-Python reference of its methods;
`GrammarProblem` runs whole batches in numba behind the same contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from partwise.compiled import Reference
from partwise.features.spans import PhraseFeatures, SpanFeatures
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Ints, Scorer, offsets_of
from partwise.readers.trees import as_phrase_tree, tagged_words
from partwise.scorers.spans import SpanScorer
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.losses import TWO_BEST, BracketF1, Brackets, Loss
from partwise.structures.losses.brackets import bracket_loss
from partwise.structures.packed import PackedStructure
from partwise.structures.phrase._cky_reference import GrammarReference
from partwise.structures.phrase._codes import GrammarCodes
from partwise.structures.phrase._compiled import GrammarData
from partwise.structures.phrase._lexicon import UNKNOWN, Lexicon
from partwise.structures.phrase._names import show_weight
from partwise.structures.phrase._rules import RuleCounts, unwrap
from partwise.structures.phrase._tables import build_tables
from partwise.structures.phrase.partly_known import (
    LatentGrammarProblem,
    bracket_parts,
    check_spans,
    is_partial,
)
from partwise.structures.phrase.problem import GrammarProblem

Sentence = Sequence[tuple[str, str]]


class Grammar(GrammarReference, GrammarCodes, PackedStructure):
    """Trees of a weighted context-free grammar.

    Parameters
    ----------
    horizontal : int or None
        None: a weight for each whole rule ``A → X₁ … X_m``, rules as seen. An integer
        h: children follow each other as a Markov chain of that order, so that unseen
        rules are possible; binarised from the left.
    vertical : int
        1: labels as they are; v: labels together with those of v − 1 ancestors.
    unary_steps : int
        The longest chain of unary rules over one span. No chain names a label twice.
    lexical : bool
        Start from words, whose tags are then part of the tree, instead of given tags.
    features : {"rules", "spans"}
        The paper's model, or features of spans as well.
    min_count : int
        Rarer words are one word (features), or stand for their class (lexical).
    cost : {"f1", "brackets", "zero_one"} or Loss
        The loss: 1 − F1 of the brackets; brackets missed plus brackets made up; or 1
        for any wrong tree. `partwise.structures.losses.Brackets` has costs of its own
        for the two kinds of errors.
    exact_words : int
        Slack rescaling and L2 penalties with a cost of brackets need charts over two
        counts; they are used for sentences up to this length. Beyond it the oracle is
        not exact and the certificate says so. L1 margin rescaling is always exact.

    Examples
    --------
    >>> tree = ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))))
    >>> grammar = Grammar().setup([[("it", "PRP"), ("works", "VBZ")]], [tree])
    >>> [" ".join(map(str, rule)) for rule in grammar.rules()]
    ['NP → PRP', 'VP → VBZ', 'S → NP VP', '→ S']
    >>> grammar.decode([[("she", "PRP"), ("sleeps", "VBZ")]], np.ones(4))[0][0]
    'S'
    """

    def __init__(
        self,
        horizontal: int | None = None,
        vertical: int = 1,
        unary_steps: int = 3,
        lexical: bool = False,
        features: str = "rules",
        min_count: int = 2,
        cost: Any = "f1",
        exact_words: int = 15,
    ) -> None:
        self.horizontal = horizontal
        self.vertical = vertical
        self.unary_steps = unary_steps
        self.lexical = lexical
        self.features = features
        self.min_count = min_count
        self.cost = cost
        self.exact_words = exact_words

    # ------------------------------------------------------------------- reading

    def setup(self, X: Sequence[Sentence] | None, Y: Sequence[Any]) -> Self:
        """Read the rules of the trees Y, and the features of their words.

        Trees that do not fit (a chain of unary rules above `unary_steps`, a bare tag)
        add nothing; see `fits`.
        """
        self.validate()
        trees = [unwrap(as_phrase_tree(tree)) for tree in Y]
        counts, roots = RuleCounts.read(
            trees, vertical=self.vertical, unary_steps=self.unary_steps
        )
        fitting = [t for t, root in zip(trees, roots, strict=True) if root is not None]
        if not counts.branching and not counts.unary:
            raise ValueError("the trees have no rule; give trees with brackets")
        sentences = [tagged_words(tree) for tree in fitting]
        lexicon = Lexicon.read(sentences, self.min_count) if self.lexical else Lexicon()
        self.restore(counts, lexicon)
        for sentence in sentences if self.lexical else ():
            for word, tag in sentence:
                name = lexicon.name(word)
                self.seen_[self.number_["word", tag, name]] += 1
                if word not in lexicon.words:
                    self.seen_[self.number_["word", tag, UNKNOWN]] += 1
        if self.features == "spans":
            self.spans_ = SpanFeatures(self.min_count).fit(self.columns_of(sentences))
        self.set_size()
        return self

    def restore(self, counts: RuleCounts, lexicon: Lexicon) -> None:
        """Take over rules that were read before, for instance from a model file."""
        self.counts_ = counts
        self.lexicon_ = lexicon
        self.tables_, names, self.seen_ = build_tables(
            counts,
            horizontal=self.horizontal,
            unary_steps=self.unary_steps,
            lexicon=lexicon.pairs,
        )
        self.number_ = {name: k for k, name in enumerate(names)}
        self.labels_ = list(dict.fromkeys(label for label, _ in counts.symbols))
        self.tags_ = list(counts.tags)
        self.spans_: SpanFeatures | None = None
        tables = self.tables_
        self._chain_number = {}
        symbols = [*counts.symbols, *counts.tags]
        for c in range(len(tables.chain_top)):
            begin, end = tables.chain_step[c], tables.chain_step[c + 1]
            chain = tuple(names[r][1] for r in tables.chain_rule[begin:end])
            self._chain_number[(*chain, symbols[tables.chain_bottom[c]])] = c

    def set_size(self) -> None:
        """Set `n_psi_` from the rules and the features of spans."""
        tables = self.tables_
        rows = self.spans_.n_rows_ if self.spans_ is not None else 0
        self.n_psi_ = tables.n_weights + rows * tables.n_labels

    def validate(self) -> None:
        """Refuse parameters that cannot be used."""
        self._bracket_costs()
        if self.features not in ("rules", "spans"):
            raise SettingsError(
                f"<features={self.features!r}>: choose 'rules' or 'spans'"
            )
        for name, least in (("vertical", 1), ("unary_steps", 1), ("min_count", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name}={value!r}: give a whole number ≥ {least}")
        h = self.horizontal
        if h is not None and (not isinstance(h, int | np.integer) or h < 0):
            raise SettingsError(f"<horizontal={h!r}>: give None or a whole number ≥ 0")

    @property
    def delta(self) -> Loss:  # type: ignore[override]
        """The loss Δ that `cost` stands for."""
        return bracket_loss(self.cost)

    def columns_of(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """(word, tag) for features; over words, a class stands for the tag."""
        if not self.lexical:
            return sentences
        name = self.lexicon_.name
        return [[(word, name(word)) for word, _ in s] for s in sentences]

    def rules(self) -> list[tuple[str, ...]]:
        """The weights by name: rules, events of the Markov process, roots, words."""
        return [show_weight(name) for name in self.number_]

    def needs(self) -> list[set[str]]:
        """Tags, or over words their names, that each rule cannot do without."""
        tags_of_rules = []
        for kind, *rest in self.number_:
            if kind == "word" or self.lexical:
                tags_of_rules.append({rest[1]} if kind == "word" else set())
                continue
            children = [*rest[1:]]
            if kind == "rule":
                children = [*rest[1]]
            elif kind in ("step", "done"):
                children += rest[0][2]
            tags_of_rules.append({c for c in children if isinstance(c, str)})
        return tags_of_rules

    def feature_names(self) -> list[str]:
        """Name of each coordinate of a model."""
        names = [" ".join(rule) for rule in self.rules()]
        if self.spans_ is not None:
            names += [f"{a}: {f}" for f in self.spans_.names() for a in self.labels_]
        return names

    # ------------------------------------------------------------------- packing

    def pack(
        self,
        X: Sequence[Sentence],
        Y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        parts: Any = None,
        scorer: Scorer | None = None,
    ) -> GrammarProblem:
        """Lay sentences out for a solver.

        Parameters
        ----------
        X : list of lists of (word, tag)
        Y : list of trees, or None to predict only
            Each must be a tree of the grammar; see `fits`. Or the brackets that are
            known of it, or None; the problem is then `Latent`, see `partly_known`.
        formulation : Formulation
        n_jobs : int
        parts : PhraseFeatures, or PhraseKeys with a `KernelScorer`, optional
            Features or keys of the sentences; by default their `phrases`.
        scorer : Scorer, optional
            How rules and brackets are scored; `SpanScorer` by default.
        """
        formulation = (formulation or Formulation()).validate()
        self.validate()
        sentences = [[(str(w), str(t)) for w, t in x] for x in X]
        sizes = np.array([len(x) for x in sentences], np.int64)
        if not len(sizes) or not sizes.min():
            where = f"sentence {int(np.argmin(sizes))}" if len(sizes) else "X"
            raise ValueError(f"{where} has no words")
        codes: list[Ints] = []
        known: dict[int, Ints] = {}  # brackets of trees that are partly known
        bare: dict[int, list[int]] = {}  # those of unknown label
        truths = [] if Y is None else zip(sentences, Y, strict=True)
        for i, (x, y) in enumerate(truths):
            if is_partial(y):
                brackets, bare[i] = bracket_parts(self, y, len(x), i)
                known[i] = np.array(brackets, np.int32).reshape(-1)
                codes.append(np.full(2 * self.code_room() * len(x), -1, np.int32))
            else:
                codes.append(self._code_of_truth(x, y, i))
        data = self._data(sentences, sizes, codes, known, bare, formulation)
        scorer = scorer or SpanScorer()
        rows: Any = scorer.bind(self.phrases(sentences) if parts is None else parts)
        settings = self, sentences, rows, data, formulation, n_jobs, scorer
        if known and Y is not None:
            return LatentGrammarProblem(*settings).begin(Y)
        return with_kernel(GrammarProblem, scorer)(*settings)

    def _code_of_truth(self, x: Sentence, y: Any, i: int) -> Ints:
        """The code of the tree of sentence i; refuses one that the grammar lacks."""
        tree = unwrap(as_phrase_tree(y))
        if [w for w, _ in tagged_words(tree)] != [w for w, _ in x]:
            raise ValueError(f"tree {i} has other words than sentence {i}")
        code = self.encode(tree)
        if code is None:
            raise ValueError(
                f"tree {i} is not one of the grammar; leave it out (see `fits`)"
            )
        return code

    def derives(self, x: Sentence, y: Any, i: int = 0) -> bool:
        """Whether a sentence has this tree, or one with these known brackets.

        Brackets that are not within the sentence raise ValueError, naming tree i.
        """
        if not is_partial(y):
            return self.fits(y)
        check_spans(y, len(x), i)
        try:
            self.pack([x], [y])
        except ValueError:
            return False
        return True

    def phrases(self, X: Sequence[Sentence]) -> PhraseFeatures:
        """Features of the phrases that sentences may have, for a linear scorer."""
        spans, rows, n_rows = self.spans_, None, 0
        if spans is not None:
            rows, n_rows = spans.transform(self.columns_of(X)), spans.n_rows_
        offset = offsets_of([len(x) for x in X])
        tables = self.tables_
        return PhraseFeatures(offset, tables.n_weights, tables.n_labels, rows, n_rows)

    def _data(
        self,
        sentences: list[Any],
        sizes: Ints,
        codes: list[Ints],
        known: dict[int, Ints],
        bare: dict[int, list[int]],
        formulation: Formulation,
    ) -> Reference[GrammarData]:
        leaf_ptr, leaf_tag, leaf_weight = self._leaves(sentences)
        nothing: Ints = np.zeros(0, np.int32)
        missed, spurious = self._bracket_costs()
        codes = codes or [nothing] * len(sizes)
        gold = [known.get(i, code) for i, code in enumerate(codes)]
        is_known = np.ones(len(sizes), bool)
        is_known[list(known)] = False
        n = sizes.tolist()
        cells = [bare.get(i, []) for i in range(len(n))]
        data = GrammarData(
            tables=Reference(self.tables_),
            offset=offsets_of(sizes),
            leaf_ptr=leaf_ptr,
            leaf_tag=leaf_tag,
            leaf_weight=leaf_weight,
            truth_ptr=offsets_of([len(code) for code in codes]),
            truth=np.ascontiguousarray(np.concatenate(codes), np.int32),
            gold_ptr=offsets_of([len(code) for code in gold]),
            gold=np.ascontiguousarray(np.concatenate(gold), np.int32),
            bare_ptr=offsets_of([len(row) for row in cells]),
            bare=np.array([cell for row in cells for cell in row], np.int32),
            n_gold=np.array(
                [
                    len(self.brackets(c, m)) + len(row)
                    for c, m, row in zip(gold, n, cells, strict=True)
                ],
                np.int64,
            ),
            is_partial=(~is_known).astype(np.uint8),
            room=self.code_room(),
            zero_one=int(self.delta.search == TWO_BEST),
            is_f1=int(isinstance(self.delta, BracketF1)),
            missed=missed,
            spurious=spurious,
            oracle=self._oracle(formulation),
            rule=formulation.rule,
            exact_words=self.exact_words,
        )
        return Reference(data)

    def _leaves(self, sentences: list[Any]) -> tuple[Ints, Ints, Ints]:
        """Tags that each token may have, with the weight of the word, if any."""
        none = self.tables_.n_weights + 1
        number = self.counts_.tags
        ptr, tags, weights = [0], [], []
        everything = list(number.values())
        for sentence in sentences:
            for word, tag in sentence:
                if self.lexical:
                    name = self.lexicon_.name(word)
                    for one in self.lexicon_.tags[name]:
                        tags.append(number[one])
                        weights.append(self.number_["word", one, name])
                else:
                    # a tag that training did not show may stand for any other
                    known = [number[tag]] if tag in number else everything
                    tags += known
                    weights += [none] * len(known)
                ptr.append(len(tags))
        return (
            np.array(ptr, np.int64), np.array(tags, np.int32),
            np.array(weights, np.int32),
        )  # fmt: skip

    def _bracket_costs(self) -> tuple[float, float]:
        delta = self.delta
        return delta.prices() if isinstance(delta, Brackets) else (1.0, 1.0)

    def _oracle(self, formulation: Formulation) -> int:
        is_strict = self.delta.search == TWO_BEST  # wrong tags make a tree wrong
        if formulation.rescaling == "hard" and self.lexical and not is_strict:
            raise CapabilityError(
                "a hard margin over words separates trees that differ in a tag alone, "
                "which only <cost='zero_one'> calls wrong; choose it, or "
                "<formulation='slack'>, which needs a `frontier` instead"
            )
        return self.delta.search_under(formulation)
