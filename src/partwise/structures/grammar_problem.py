"""Packed sentences: a grammar's `Problem`, in numba behind the common contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats
from partwise.structures._cky_programs import Chart
from partwise.structures._grammar_kernels import PLAIN, GrammarBlocks, GrammarWork
from partwise.structures.packed import PackedProblem


class GrammarProblem(PackedProblem):
    """Sentences with their trees under one grammar."""

    def __init__(
        self,
        grammar: Any,
        sentences: list[Any],
        blocks: GrammarBlocks,
        formulation: Formulation,
        n_jobs: int,
    ) -> None:
        longest = int(np.diff(blocks.offset).max())
        cells = (longest + 1) ** 2
        tables = blocks.tables
        n_all = tables.n_symbols + tables.n_tags
        n_states = len(tables.is_open)

        def new_work() -> GrammarWork:
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
            )
            return GrammarWork(
                weight=np.zeros(tables.n_weights + 1),
                chain=np.zeros(len(tables.chain_top)),
                plain=np.zeros((cells, tables.n_labels)),
                span=np.zeros((cells, tables.n_labels)),
                begin=np.zeros((longest, tables.n_labels)),
                end=np.zeros((longest, tables.n_labels)),
                chart=chart,
            )

        super().__init__(
            blocks,
            blocks._replace(oracle=PLAIN),
            blocks,
            n_blocks=len(sentences),
            n_weights=grammar.n_psi_,
            n_local=grammar.n_psi_,
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
        )
        self.grammar = grammar
        self.sentences = sentences

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Trees of the cuts."""
        codes = np.split(cuts.code, cuts.indptr[1:-1])
        return [
            self.grammar.tree(code, self.sentences[block])
            for block, code in zip(cuts.block, codes, strict=True)
        ]

    def generative_model(self, smoothing: float) -> Floats:
        """Probabilistic grammar: log of smoothed relative frequencies.

        Without smoothing it is the maximum-likelihood PCFG of the trees that the
        grammar was read from. Features of spans have no part in it.
        """
        grammar = self.grammar
        counts = grammar.seen_ + smoothing
        groups: dict[Any, int] = {}
        group = np.array(
            [
                groups.setdefault(_chosen_by(name), len(groups))
                for name in grammar.number_
            ]
        )
        total = np.bincount(group, counts)
        model = self.zero()
        with np.errstate(divide="ignore"):
            model[: len(counts)] = np.log(counts / total[group])
        return model


def _chosen_by(name: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a rule is one of several choices of: its parent, state or tag."""
    kind, *rest = name
    if kind in ("unary", "rule", "first"):
        return ("symbol", rest[0])
    if kind in ("step", "done"):
        return ("state", rest[0])
    return ("root",) if kind == "root" else ("tag", rest[0])
