"""Trees as codes: a derivation as integers, for kernels and files.

A code lists pairs (part, cell), in the order of `trace`. It is shorter than a list of
features, and determines the brackets and the tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Ints
from partwise.readers.trees import as_phrase_tree
from partwise.structures.phrase._lexicon import Lexicon
from partwise.structures.phrase._rules import (
    Node,
    RuleCounts,
    derivation,
    nest,
    nodes,
    path_of,
    unwrap,
)
from partwise.structures.phrase._tables import GrammarTables

Sentence = Sequence[tuple[str, str]]


class GrammarCodes:
    """The methods of a `Grammar` on codes."""

    horizontal: int | None
    vertical: int
    lexical: bool
    counts_: RuleCounts
    lexicon_: Lexicon
    tables_: GrammarTables
    number_: dict[Any, int]
    labels_: list[str]
    _chain_number: dict[Any, int]
    loss: Callable[[Any, Any], float]

    def encode(self, tree: Any) -> Ints | None:
        """The code of a tree (see `trace`), or None where the grammar lacks a rule."""
        root, _ = derivation(unwrap(as_phrase_tree(tree)), self.vertical)
        try:
            return np.array(self._parts(root), np.int32).reshape(-1)
        except KeyError:
            return None

    def differences(self, tree: Any, other: Any) -> tuple[list[str], list[str]]:
        """Brackets of each of two trees that the other lacks, as in ``NP[0:2]``."""
        counts = []
        for code in map(self.encode, (tree, other)):
            assert code is not None
            n = int(code[1])  # the root's cell is [0, n)
            names = (f"{label}[{i}:{j}]" for label, i, j in self.brackets(code, n))
            counts.append(Counter(names))
        one, two = counts
        return list((one - two).elements()), list((two - one).elements())

    def is_derivation(self, tree: Any, code: Ints) -> bool:
        """Whether a code, which may have room at its end, derives exactly this tree."""
        again = self.encode(tree)
        return again is not None and np.array_equal(again, code[: len(again)])

    def judge(
        self, cuts: Cuts, sentences: Sequence[Sentence], truths: Sequence[Any]
    ) -> tuple[Floats, int]:
        """Loss of the output of each cut, and how many derive no tree.

        Parameters
        ----------
        cuts : Cuts
        sentences, truths : lists of as many sentences and true trees
        """
        losses, n_impossible = np.zeros(len(truths)), 0
        rows = zip(sentences, truths, cuts.codes, strict=True)
        for k, (x, y, code) in enumerate(rows):
            try:
                output = self.tree(code, x)
            except (IndexError, RecursionError):  # brackets that do not nest
                output = None
            if output is None or not self.is_derivation(output, code):
                n_impossible += 1  # not the derivation of any tree
                continue
            losses[k] = self.loss(y, output)
        return losses, n_impossible

    def fits(self, tree: Any) -> bool:
        """Whether the grammar derives a tree."""
        return self.encode(tree) is not None

    def _parts(self, root: Node) -> list[tuple[int, int]]:
        n = root.end
        n_chains = len(self._chain_number)
        parts = [(n_chains + self.number_["root", root.top], n)]
        words = self.lexicon_
        for node in nodes(root):
            cell = node.begin * (n + 1) + node.end
            if node.chain:
                chain = (*node.chain, node.bottom)
                parts.append((self._chain_number[chain], cell))
            if isinstance(node.bottom, str):
                if node.bottom not in self.counts_.tags:
                    raise KeyError(node.bottom)
                if self.lexical:
                    name = words.name(node.word)
                    parts.append(
                        (n_chains + self.number_["word", node.bottom, name], cell)
                    )
                continue
            events = list(
                path_of(node.bottom, [c.top for c in node.children], self.horizontal)
            )
            for k, (_, event) in zip(
                range(len(events) - 1, -1, -1), reversed(events), strict=True
            ):
                if event[-1] is None:
                    continue
                child = node.children[min(k, len(node.children) - 1)]
                place = (
                    cell if k == len(events) - 1 else child.begin * (n + 1) + child.end
                )
                parts.append((n_chains + self.number_[event[-1]], place))
        return parts

    def code_room(self) -> int:
        """Parts of a code per word, at most."""
        return 3 + 2 * (self.horizontal is not None) + bool(self.lexical)

    def parts(self, code: Ints, n: int) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Numbers of the rules, and brackets (label's number, begin, end), of a code.

        Parents first; the code is one of n words.
        """
        tables = self.tables_
        n_chains = len(tables.chain_top)
        rules, brackets = [], []
        for part, cell in code.reshape(-1, 2).tolist():
            if part < 0:
                break
            i, j = divmod(cell, n + 1)
            if part < n_chains:
                steps = slice(tables.chain_step[part], tables.chain_step[part + 1])
                rules += tables.chain_rule[steps].tolist()
            else:
                rules.append(part - n_chains)
            labels = slice(tables.part_ptr[part], tables.part_ptr[part + 1])
            brackets += [(a, i, j) for a in tables.part_label[labels].tolist()]
        return rules, brackets

    def brackets(self, code: Ints, n: int) -> list[tuple[str, int, int]]:
        """Brackets (label, begin, end) of a code for n words, parents first."""
        return [(self.labels_[a], i, j) for a, i, j in self.parts(code, n)[1]]

    def tree(self, code: Ints, x: Sentence) -> tuple[str, tuple[Any, ...]]:
        """The tree of a code; an empty code gives the flat tree of a failed parse.

        Flat means all words under the most frequent root label.
        """
        words = list(x)
        if self.lexical:
            lexicon, names = self.lexicon_, list(self.number_)
            words = [(w, lexicon.tags[lexicon.name(w)][0]) for w, _ in words]
            for part, cell in code.reshape(-1, 2).tolist():
                name = names[part - len(self._chain_number)]
                if part >= len(self._chain_number) and name[0] == "word":
                    i = cell // (len(x) + 1)
                    words[i] = (words[i][0], name[1])
        brackets = self.brackets(code, len(x))
        if not brackets:
            label = self.counts_.roots.most_common(1)[0][0][0]
            return label, tuple((tag, (word,)) for word, tag in words)
        return nest(brackets, words)
