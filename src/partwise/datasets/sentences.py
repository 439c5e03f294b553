"""Sentences of a toy grammar, with all annotations that it makes."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from partwise.datasets._grammar import ENTITIES, RULES, START, UNIVERSAL, WORDS
from partwise.datasets._seed import RandomState, generator
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree, PhraseTree


class Sentence(NamedTuple):
    """A sentence and its annotations; lists hold one item per word.

    Parameters
    ----------
    words : list of str
        The words.
    tags : list of str
        Part-of-speech tags (Penn Treebank style).
    entities : list of str
        Entity tags in BIO form: PER, LOC and ORG.
    heads : list of int
        Dependency heads: 0 for the root, else the number of the head word from 1.
    relations : list of str
        Relation of each word to its head (Universal Dependencies style).
    tree : tuple
        Phrase structure (label, children); a tag has its word as only child.
    """

    words: list[str]
    tags: list[str]
    entities: list[str]
    heads: list[int]
    relations: list[str]
    tree: PhraseTree


def toy_sentences(n: int = 300, *, random_state: RandomState = 0) -> list[Sentence]:
    """Draw sentences from a small weighted grammar of English news.

    Many names (Jordan, Washington, Ford, ...) may be a person, a place or a firm:
    the words around them decide. Heads, relations and trees come from the same
    derivation, so they agree, and every dependency tree is projective.

    Parameters
    ----------
    n : int, default=300
        Number of sentences.
    random_state : int, numpy Generator or None, default=0
        Seed.

    Returns
    -------
    list of Sentence
        (words, tags, entities, heads, relations, tree).

    Examples
    --------
    >>> sentence = toy_sentences(1)[0]
    >>> " ".join(sentence.words)
    'Siemens bought Austin Motors .'
    >>> sentence.entities
    ['B-ORG', 'O', 'B-ORG', 'I-ORG', 'O']
    >>> sentence.heads
    [2, 0, 2, 3, 2]
    """
    rng = generator(random_state)
    return [_Derivation(rng).sentence() for _ in range(n)]


def toy_entities(
    n: int = 300, *, random_state: RandomState = 0
) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Draw tagged sentences of the toy grammar, labelled with their named entities.

    The sentences are those of `toy_sentences` with the same `n` and `random_state`.

    Returns
    -------
    X : list of list of (word, tag)
        The sentences.
    y : list of list of str
        BIO labels of PER, LOC and ORG.

    Examples
    --------
    >>> X, y = toy_entities(1)
    >>> X[0][:2], y[0][:2]
    ([('Siemens', 'NNP'), ('bought', 'VBD')], ['B-ORG', 'O'])
    """
    sentences = toy_sentences(n, random_state=random_state)
    X = [list(zip(s.words, s.tags, strict=True)) for s in sentences]
    return X, [s.entities for s in sentences]


def toy_dependencies(
    n: int = 300, *, random_state: RandomState = 0
) -> tuple[Table, list[DependencyTree]]:
    """Draw sentences of the toy grammar with their dependency trees.

    The sentences are those of `toy_sentences` with the same `n` and `random_state`.

    Returns
    -------
    X : Table
        Columns form, upos and xpos.
    y : list of DependencyTree
        All projective, with one root.

    Examples
    --------
    >>> X, y = toy_dependencies(1)
    >>> X.strings("form")[0][:2], X.strings("upos")[0][:2]
    (['Siemens', 'bought'], ['PROPN', 'VERB'])
    >>> y[0].heads, y[0].labels
    ([2, 0, 2, 3, 2], ['nsubj', 'root', 'obj', 'flat', 'punct'])
    """
    sentences = toy_sentences(n, random_state=random_state)
    rows = [
        [(w, UNIVERSAL[t], t) for w, t in zip(s.words, s.tags, strict=True)]
        for s in sentences
    ]
    X = Table.from_sequences(rows, ["form", "upos", "xpos"])
    return X, [DependencyTree(s.heads, s.relations) for s in sentences]


def toy_treebank(
    n: int = 300, *, random_state: RandomState = 0
) -> tuple[list[list[tuple[str, str]]], list[PhraseTree]]:
    """Draw tagged sentences of the toy grammar with their phrase structure.

    The sentences are those of `toy_sentences` with the same `n` and `random_state`.

    Returns
    -------
    X : list of list of (word, tag)
    y : list of PhraseTree
        Pairs (label, children); a tag has its word as only child.

    Examples
    --------
    >>> X, y = toy_treebank(1)
    >>> X[0][:2]
    [('Siemens', 'NNP'), ('bought', 'VBD')]
    >>> y[0][1][0]
    ('NP', (('NNP', ('Siemens',)),))
    """
    sentences = toy_sentences(n, random_state=random_state)
    X = [list(zip(s.words, s.tags, strict=True)) for s in sentences]
    return X, [s.tree for s in sentences]


@dataclass
class _Derivation:
    """One random derivation; the annotations grow with the words, left to right."""

    rng: np.random.Generator
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)

    def sentence(self) -> Sentence:
        """Derive a sentence from the start symbol."""
        tree, _ = self.grow(START)
        return Sentence(
            self.words, self.tags, self.entities, self.heads, self.relations, tree
        )

    def grow(self, symbol: str) -> tuple[PhraseTree, int]:
        """Expand a symbol; return its tree and the position of its head word."""
        label = symbol.partition(".")[0]
        if symbol in WORDS:
            self.words.append(str(self.rng.choice(WORDS[symbol])))
            self.tags.append(label)
            self.entities.append("O")
            self.heads.append(0)
            self.relations.append("root")
            return (label, (self.words[-1],)), len(self.words) - 1

        start = len(self.words)
        trees, dependents, head = [], [], -1
        for item in self.draw(RULES[symbol]).split():
            child, _, relation = item.partition(":")
            tree, position = self.grow(child.removesuffix("*"))
            trees.append(tree)
            if relation:
                dependents.append((position, relation))
            else:
                head = position
        for position, relation in dependents:
            self.heads[position] = head + 1
            self.relations[position] = relation
        if symbol in ENTITIES:
            n_inside = len(self.words) - start - 1
            type_ = ENTITIES[symbol]
            self.entities[start:] = [f"B-{type_}"] + [f"I-{type_}"] * n_inside
        # NP over NP alone is a choice of words, not a phrase: keep the lower one.
        is_chain = len(trees) == 1 and trees[0][0] == label
        return (trees[0] if is_chain else (label, tuple(trees))), head

    def draw(self, rules: dict[str, float]) -> str:
        """Choose a right-hand side by its weight."""
        total = sum(rules.values())
        weights = [weight / total for weight in rules.values()]
        return str(self.rng.choice(list(rules), p=weights))
