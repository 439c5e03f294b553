from collections import Counter, defaultdict

import pytest

from partwise.datasets import (
    toy_dependencies,
    toy_entities,
    toy_sentences,
    toy_treebank,
)
from partwise.datasets._grammar import ENTITIES, RULES, START, WORDS
from partwise.metrics import spans
from partwise.readers import read_conllu, tagged_words, write_conllu

SENTENCES = toy_sentences(300)


def leaves(tree):
    """The (tag, word) pairs of a tree, left to right."""
    label, children = tree
    if isinstance(children[0], str):
        return [(label, *children)]
    return [leaf for child in children for leaf in leaves(child)]


def constituents(tree, start=0):
    """(start, end) of each phrase, tags included."""
    _, children = tree
    if isinstance(children[0], str):
        return [(start, start + 1)]
    actual, position = [], start
    for child in children:
        actual += constituents(child, position)
        position += len(leaves(child))
    return [*actual, (start, position)]


@pytest.mark.parametrize("sentence", SENTENCES[:100], ids=lambda s: " ".join(s.words))
def test_annotations_agree(sentence):
    n = len(sentence.words)
    assert {len(column) for column in sentence[:5]} == {n}
    pairs = list(zip(sentence.tags, sentence.words, strict=True))
    assert leaves(sentence.tree) == pairs
    assert sentence.heads.count(0) == 1
    assert [r == "root" for r in sentence.relations] == [h == 0 for h in sentence.heads]

    for word in range(1, n + 1):
        path, head = {word}, sentence.heads[word - 1]
        while head:
            assert head not in path, "a cycle"
            path.add(head)
            head = sentence.heads[head - 1]

    arcs = [sorted((head, d)) for d, head in enumerate(sentence.heads, start=1)]
    for a, b in arcs:
        for c, d in arcs:
            assert not a < c < b < d, "crossing arcs"

    for start, end in constituents(sentence.tree):
        outside = [
            head for head in sentence.heads[start:end] if not start < head <= end
        ]
        assert len(outside) == 1, "a phrase has one head word"

    phrases = set(constituents(sentence.tree))
    for span in spans(sentence.entities):
        assert (span.start, span.end) in phrases
        assert set(sentence.tags[span.start : span.end]) == {"NNP"}


def test_no_phrase_is_alone_in_one_of_its_own_label():
    def check(tree):
        label, children = tree
        if not isinstance(children[0], str):
            assert len(children) > 1 or children[0][0] != label
            for child in children:
                check(child)

    for sentence in SENTENCES:
        check(sentence.tree)


def test_names_need_their_context():
    types = defaultdict(Counter)
    for sentence in SENTENCES:
        for span in spans(sentence.entities):
            for word in sentence.words[span.start : span.end]:
                types[word][span.type] += 1
    assert {t for counts in types.values() for t in counts} == {"PER", "LOC", "ORG"}
    n_names = sum(counts.total() for counts in types.values())
    n_guessed = sum(max(counts.values()) for counts in types.values())
    # The most frequent type of each name is wrong for a good part of them.
    assert n_guessed / n_names < 0.75


def test_the_context_decides():
    for sentence in SENTENCES:
        for span in spans(sentence.entities):
            before = sentence.words[span.start - 1] if span.start else None
            if before in ("in", "near", "from"):
                assert span.type == "LOC"
            if before in ("of", "at"):
                assert span.type == "ORG"


def test_seeds_decide():
    assert toy_sentences(300) == SENTENCES
    assert toy_sentences(10) == SENTENCES[:10]
    assert toy_sentences(10, random_state=1) != SENTENCES[:10]


def test_entities_are_those_of_the_sentences():
    X, y = toy_entities(20)
    assert [[word for word, _ in x] for x in X] == [s.words for s in SENTENCES[:20]]
    assert [[tag for _, tag in x] for x in X] == [s.tags for s in SENTENCES[:20]]
    assert y == [s.entities for s in SENTENCES[:20]]


def test_treebanks_are_those_of_the_sentences(tmp_path):
    X, y = toy_dependencies(20)
    assert X.strings("form") == [s.words for s in SENTENCES[:20]]
    assert X.strings("xpos") == [s.tags for s in SENTENCES[:20]]
    assert [tuple(tree) for tree in y] == [
        (s.heads, s.relations) for s in SENTENCES[:20]
    ]
    write_conllu(tmp_path / "toy.conllu", X, y)
    table, trees = read_conllu(tmp_path / "toy.conllu")
    assert trees == y and table.select(list(X.columns)) == X
    X, y = toy_treebank(20)
    assert y == [s.tree for s in SENTENCES[:20]]
    assert X == [tagged_words(tree) for tree in y]


def test_every_rule_is_well_formed_and_used():
    used = {START, *ENTITIES}
    for rules in RULES.values():
        for rule, weight in rules.items():
            items = rule.split()
            symbols = [item.partition(":")[0].removesuffix("*") for item in items]
            assert weight > 0
            assert all(symbol in RULES or symbol in WORDS for symbol in symbols)
            assert [item.endswith("*") for item in items].count(True) == 1
            assert [":" in item for item in items].count(False) == 1
            used.update(symbols)
    assert used == RULES.keys() | WORDS.keys()
