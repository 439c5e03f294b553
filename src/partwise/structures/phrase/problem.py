"""Packed sentences: a grammar's `Problem`, in numba behind the common contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.compiled import Reference
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints, offsets_of, unit_cuts
from partwise.structures.digests import digests
from partwise.structures.k_best import BestOutputs, KBestRows
from partwise.structures.losses import PLAIN
from partwise.structures.packed import ScoredProblem
from partwise.structures.phrase import _batch as batch
from partwise.structures.phrase._cky_programs import Chart
from partwise.structures.phrase._compiled import (
    GrammarBlocks,
    GrammarData,
    GrammarWork,
    compile_search,
)
from partwise.threads import shard_size


def new_work(data: Reference[GrammarData]) -> Reference[GrammarWork]:
    """Buffers of one thread for these sentences."""
    tables, longest = data.tables, int(np.diff(data.offset).max())
    cells = (longest + 1) ** 2
    n_all = tables.n_symbols + tables.n_tags
    n_states = len(tables.is_open)
    chart = Chart(
        symbol=np.zeros((cells, tables.n_symbols)),
        base=np.full(n_all, -np.inf),
        live=np.zeros(n_all, np.int32),
        sum=np.full(n_states, -np.inf),
        touched=np.zeros(n_states, np.int32),
        begin=np.zeros(cells, np.int64),
        grows=np.zeros(cells, np.int64),
        end=np.zeros(cells, np.int64),
        links=np.zeros(longest + 2, np.int64),
        room=np.zeros(2, np.int64),
    )
    sums = chart._replace(base=np.zeros(n_all), sum=np.zeros(n_states))
    work = GrammarWork(
        weight=np.zeros(tables.n_weights + 2),
        chain=np.zeros(len(tables.chain_top)),
        plain=np.zeros((cells, tables.n_labels)),
        span=np.zeros((cells, tables.n_labels)),
        node=np.zeros(cells if len(data.bare) else 0),
        none=np.zeros(0),
        begin=np.zeros((longest, tables.n_labels)),
        end=np.zeros((longest, tables.n_labels)),
        chart=Reference(chart),
        sums=Reference(sums),
        stack=np.zeros((2 * longest + 2, 3), np.int64),
    )
    return Reference(work)


class GrammarProblem(KBestRows, ScoredProblem):
    """Sentences with their trees under one grammar."""

    def __init__(
        self,
        grammar: Any,
        sentences: list[Any],
        rows: Any,
        data: Reference[GrammarData],
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
    ) -> None:
        work = new_work(data)
        plain_data = data.replace(oracle=PLAIN)
        plain = GrammarBlocks(rows, plain_data, compile_search(plain_data, work))
        blocks = plain
        if len(data.truth):  # without true trees no search with their loss is compiled
            blocks = GrammarBlocks(rows, data, compile_search(data, work))

        super().__init__(
            grammar,
            blocks,
            plain,
            offset=data.offset,
            length=scorer.n_weights,
            new_work=lambda: new_work(data),
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
        )
        self.sentences = sentences

    def keys(self) -> list[bytes] | None:
        """Digests of sentences and true derivations."""
        if not self.is_euclidean:
            return None  # keys of a kernel's parts are numbered by each fit
        data = self.blocks.data
        truth = digests([(data.truth, data.truth_ptr)], self.n_blocks)
        words = [repr(sentence).encode() for sentence in self.sentences]
        return [key + word for key, word in zip(truth, words, strict=True)]

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Trees of the cuts."""
        return [
            self.structure.tree(code, self.sentences[block])
            for block, code in zip(cuts.block, cuts.codes, strict=True)
        ]

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Any, float]]]:
        """The k derivations of highest score, as trees with their scores.

        Where a tag that training never showed stands for several others, one tree may
        have several derivations.
        """
        pairs = zip(self.sentences, self.k_best_codes(model, k), strict=True)
        return [
            [(self.structure.tree(code, x), score) for code, score in ranked]
            for x, ranked in pairs
        ]

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best derivations of rows [first, last), without losses."""
        assert not with_loss
        k = best.k
        for r in range(first, last):
            begin, end = best.indptr[r] * k, best.indptr[r + 1] * k
            codes = best.code[begin:end].reshape(k, -1)
            i = int(rows[r])
            batch.score_row(self.blocks, work, model, i)
            best.n_found[r] = batch.k_best_row(
                self.blocks.data, work, i, k, codes, best.value[r]
            )

    def features_of(self, row: int, code: Ints) -> Floats:
        """φ(x, ŷ) of a derivation of a sentence that has no true tree, (n_psi,)."""
        cuts = unit_cuts(np.array([row]), offsets_of([len(code)]), code)
        return np.negative(self.combine(cuts, np.ones(1)))

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(bracket) under exp(score), and log Z of each sentence.

        A table (n + 1, n + 1, n_labels) for each sentence of n words; the entry
        [i, j, a] is the probability of label a over the words i … j − 1.
        """
        tables = []
        size = self.blocks.data.tables.n_labels
        for sentence in self.sentences:
            tables.append(np.zeros(((len(sentence) + 1) ** 2, size)))
        log_z, _ = self._sums(model, np.ones(self.n_blocks), None, tables)
        shaped = []
        for table in tables:
            n = int(np.sqrt(len(table)))
            shaped.append(table.reshape(n, n, size))
        return shaped, log_z

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each row, and Σ c_i (E[φ] − φ(y_i))."""
        shards = -(-self.n_blocks // shard_size(self.n_blocks))
        gradient = np.zeros((shards, self.n_weights))  # never one per thread
        log_z, truth = self._sums(model, weight, gradient, [])
        return log_z - truth, gradient.sum(0)

    def _sums(
        self, model: Floats, weight: Floats, gradient: Any, tables: list[Floats]
    ) -> tuple[Floats, Floats]:
        log_z, truth = np.empty(self.n_blocks), np.empty(self.n_blocks)
        cuts = self.predict_codes(model)
        is_parse = cuts.code[cuts.indptr[:-1]] >= 0
        lead = np.where(is_parse, cuts.violation, -np.inf)
        shard = shard_size(self.n_blocks)
        grammar = self.blocks.data.tables
        cells = (int(np.diff(self.blocks.data.offset).max()) + 1) ** 2

        def visit(work: Any, first: int, last: int) -> None:
            rule = np.zeros(0 if gradient is None else grammar.n_weights)
            table = np.zeros((0 if gradient is None else cells, grammar.n_labels))
            for i in range(first, last):
                batch.score_row(self.blocks, work, model, i)
                log_z[i], truth[i] = batch.sum_row(
                    self.blocks.data, work, i, lead[i], weight[i], rule,
                    tables[i] if tables else table,
                )  # fmt: skip
                if gradient is not None and log_z[i] > -np.inf:
                    into = gradient[first // shard]
                    batch.add_likelihood(self.blocks, into, i, weight[i], rule, table)

        self.visit_shards(self.n_blocks, visit)
        if not np.isfinite(log_z).all():
            row = int(np.flatnonzero(~np.isfinite(log_z))[0])
            raise ValueError(
                f"sentence {row} has no tree under the grammar, or scores too large to "
                "add up; leave it out, or use a smaller C"
            )
        return log_z, truth

    def generative_model(self, smoothing: float) -> Floats:
        """Probabilistic grammar: log of smoothed relative frequencies.

        Without smoothing it is the maximum-likelihood PCFG of the trees that the
        grammar was read from. Features of spans have no part in it.
        """
        if not self.is_euclidean:
            raise CapabilityError(
                "<solver='pcfg'> counts rules, which have no kernel; leave <kernel=> "
                "and <match=> out"
            )
        grammar = self.structure
        counts = grammar.seen_ + smoothing
        groups: dict[Any, int] = {}
        group = np.array(
            [
                groups.setdefault(_chosen_by(name), len(groups))
                for name in grammar.number_
            ]
        )
        total = np.maximum(np.bincount(group, counts), 1e-3)
        model = self.zero()
        # words whose class was never seen with a tag keep a small chance
        model[: len(counts)] = np.log(np.maximum(counts, 1e-3) / total[group])
        return model


def _chosen_by(name: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a rule is one of several choices of: its parent, state or tag."""
    kind, *rest = name
    if kind in ("unary", "rule", "first"):
        return ("symbol", rest[0])
    if kind in ("step", "done"):
        return ("state", rest[0])
    return ("root",) if kind == "root" else ("tag", rest[0])
