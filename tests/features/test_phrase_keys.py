"""Keys of rules and brackets agree exactly when what they name agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.features.keys import MatchError
from partwise.features.phrase_keys import PhraseHasher

RULES, LABELS = ["S → p q", "→ S", "N → p"], ["S", "N"]
WORDS = st.tuples(st.sampled_from("ab"), st.sampled_from("pq"))
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=3)


def at(words, t, column):
    return words[t][column] if 0 <= t < len(words) else "<s>"


# what must agree, in plain Python, of a sentence and a bracket
REFERENCE = {
    "label": lambda x, label, i, j: label,
    "label+word": lambda x, label, i, j: (label, x[i][0], x[j - 1][0]),
    "first.tag[-1]+label+last.word": lambda x, label, i, j: (
        label, at(x, i - 1, 1), x[j - 1][0]
    ),
    "label + length": lambda x, label, i, j: (label, j - i),
    "label+last.tag[1]+bucket": lambda x, label, i, j: (label, at(x, j, 1), j - i),
}  # fmt: skip


@given(sentences=SENTENCES, match=st.sampled_from(sorted(REFERENCE)))
def test_keys_are_equal_when_the_named_things_are(sentences, match):
    keys = PhraseHasher(match, RULES, LABELS).transform(sentences)
    numbers, n_brackets = {}, 0
    for s, x in enumerate(sentences):
        assert (keys.key[keys.first[s] : keys.first[s] + len(RULES)] == -1).all()
        for i in range(len(x)):
            for j in range(i + 1, len(x) + 1):
                for k, label in enumerate(LABELS):
                    actual = keys.key[keys.bracket(s, i, j, k), 0]
                    what = REFERENCE[match](x, label, i, j)
                    assert numbers.setdefault(what, actual) == actual
                    n_brackets += 1
    assert len(set(numbers.values())) == len(numbers)
    assert min(numbers.values()) >= 0
    assert len(keys.key) == n_brackets + len(RULES) * len(sentences)


@given(sentences=SENTENCES)
def test_rules_without_their_tags_have_no_key(sentences):
    needs = [{"p", "q"}, (), {"p"}]
    keys = PhraseHasher("rule", RULES, LABELS, needs).transform(sentences)
    for s, x in enumerate(sentences):
        own = keys.key[keys.first[s] : keys.first[s + 1], 0]
        tags = {tag for _, tag in x}
        assert [key >= 0 for key in own[:3]] == [set(n) <= tags for n in needs]
        assert (own[3:] == -1).all()


def test_an_unknown_tag_may_stand_for_any():
    hasher = PhraseHasher("rule", RULES, LABELS, [{"p", "q"}, (), {"p"}])
    keys = hasher.transform([[("a", "r")], [("a", "q")]])
    own = [keys.key[f : f + 3, 0] >= 0 for f in keys.first[:2]]
    assert own[0].all() and own[1].tolist() == [False, True, False]


@pytest.mark.parametrize("match", ["", "label+", "label, label", "label+length+bucket"])
def test_bad_names_are_refused(match):
    with pytest.raises(MatchError):
        PhraseHasher(match, RULES, LABELS)
