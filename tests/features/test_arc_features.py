"""Arc features against the strings that templates name."""

import numpy as np
import pytest

from partwise.features.arc_reference import arc_rows, label_rows
from partwise.features.arc_templates import (
    ARC_PRESETS,
    check_arc_templates,
    chosen_arc_templates,
    chosen_label_templates,
    default_arc_templates,
    default_label_templates,
    default_pruner_templates,
    parse_arc_templates,
    second_order_templates,
)
from partwise.features.arcs import ArcFeaturizer
from partwise.features.sentences import sentence_table
from partwise.features.templates import TemplateError
from partwise.readers import Table
from tree_reference import grandparent_rows, sibling_rows

WORDS = [
    [("the", "DET"), ("Cat", "NOUN"), ("saw", "VERB"), ("the", "DET"), ("dog", "NOUN")],
    [("go", "VERB"), ("now", "ADV")],
]
HEADS = [[2, 3, 0, 5, 3], [0, 1]]
TEMPLATES = """
head.form|dep.upos[-1]
lower(head.form)
dep.upos|dep.upos[1]
head.upos|count.upos|dep.upos
head.upos|between.upos|dep.upos
head.upos|sib.upos|dep.upos
grand.form|head.upos|dep.form
bias
"""


def make(hash_bits=None, **settings):
    table = sentence_table(WORDS)
    featurizer = ArcFeaturizer(TEMPLATES, "dep.form\nhead.upos|dep.upos", **settings)
    return table, featurizer.fit(table, HEADS)


def value(sentence, position, column, function=str):
    """The string that a term has at a position; 0 is the root."""
    if position == 0:
        return "<root>"
    if not 0 < position <= len(sentence):
        return "<s>"
    return function(sentence[position - 1][column])


def expected_names(sentence, h, d):
    """What the templates say of an arc, written by hand."""
    form, upos = 0, 1
    names = [
        f"head.form[0]|dep.upos[-1]={value(sentence, h, form)}|"
        f"{value(sentence, d - 1, upos)}",
        f"lower(head.form)[0]={value(sentence, h, form, str.lower)}",
        f"dep.upos[0]|dep.upos[1]={value(sentence, d, upos)}|"
        f"{value(sentence, d + 1, upos)}",
        "bias",
    ]
    ends = value(sentence, h, upos), value(sentence, d, upos)
    kinds = [value(sentence, b, upos) for b in range(min(h, d) + 1, max(h, d))]
    for role, own in (("between", set(kinds)), ("count", kinds)):
        template = f"head.upos[0]|{role}.upos[0]|dep.upos[0]"
        names += [f"{template}={ends[0]}|{kind}|{ends[1]}" for kind in own]
    return names


def test_features_of_true_arcs_are_those_of_the_templates():
    table, featurizer = make()
    shown = featurizer.feature_names_
    for s, sentence in enumerate(WORDS):
        x = featurizer.transform(table[s])
        for d, h in enumerate(HEADS[s], 1):
            actual = [shown[row] for row, _ in arc_rows(x, h, d)]
            assert sorted(actual) == sorted(expected_names(sentence, h, d))


def test_features_of_other_arcs_are_those_seen_on_true_ones():
    table, featurizer = make()
    known = set(featurizer.feature_names_)
    x = featurizer.transform(table[0])
    for h in range(6):
        for d in range(1, 6):
            if h != d:
                actual = [
                    featurizer.feature_names_[row] for row, _ in arc_rows(x, h, d)
                ]
                names = [n for n in expected_names(WORDS[0], h, d) if n in known]
                assert sorted(actual) == sorted(names)


def test_tags_that_come_back_are_counted_by_their_templates_alone():
    words = [[(tag.lower(), tag) for tag in "ANDNDNV"]]
    heads = [[7, 7, 7, 7, 7, 7, 0]]
    table = sentence_table(words)
    for templates in (TEMPLATES, TEMPLATES.replace("count.", "x.").replace(
        "between.", "count.").replace("x.", "between.")):  # fmt: skip
        featurizer = ArcFeaturizer(templates).fit(table, heads)
        x = featurizer.transform(table)
        actual = [featurizer.feature_names_[row] for row, _ in arc_rows(x, 7, 1)]
        assert sorted(actual) == sorted(expected_names(words[0], 7, 1))
        counted = "head.upos[0]|count.upos[0]|dep.upos[0]=V|N|A"
        assert actual.count(counted) == 3
        assert actual.count(counted.replace("count", "between")) == 1


def test_second_order_and_label_features_have_names():
    table, featurizer = make()
    names = featurizer.feature_names_
    x = featurizer.transform(table[0])
    siblings = {names[row] for row, _ in sibling_rows(x, 3, 5, 3)}
    assert siblings == {"head.upos[0]|sib.upos[0]|dep.upos[0]=VERB|<root>|NOUN"}
    above = {names[row] for row, _ in grandparent_rows(x, 2, 1, 3)}
    assert above == {"grand.form[0]|head.upos[0]|dep.form[0]=saw|NOUN|the"}
    labels = {names[featurizer.n_rows_ - 1 + row] for row in label_rows(x, 2, 1)}
    assert labels == {"dep.form[0]=the", "head.upos[0]|dep.upos[0]=NOUN|DET"}


def test_hashing_gives_every_arc_all_features():
    table = sentence_table(WORDS)
    featurizer = ArcFeaturizer(TEMPLATES, "dep.form", hash_bits=12)
    x = featurizer.transform(table[0])
    for h, d in [(0, 3), (5, 1), (2, 4)]:
        rows = [row for row, _ in arc_rows(x, h, d)]
        assert len(rows) == len(expected_names(WORDS[0], h, d))
        assert 0 < min(rows) and max(rows) < featurizer.n_rows_
    again = ArcFeaturizer(TEMPLATES, "dep.form", hash_bits=12).transform(table[0])
    np.testing.assert_array_equal(x.shares, again.shares)


def test_hashed_features_of_no_true_arc_lead_nowhere():
    """The features of a wrong arc are those that some true arc has, too."""
    table = sentence_table(WORDS)
    heads = [[0] + [1] * (len(words) - 1) for words in WORDS]
    exact = ArcFeaturizer(TEMPLATES).fit(table, heads)
    hashed = ArcFeaturizer(TEMPLATES, hash_bits=16).fit(table, heads)
    counts = {True: [], False: []}
    for h, d in [(0, 1), (1, 2), (3, 2), (5, 1), (2, 4)]:
        rows = [list(arc_rows(f.transform(table[0]), h, d)) for f in (exact, hashed)]
        assert len(rows[0]) == len(rows[1])
        counts[h == heads[0][d - 1]].append(len(rows[1]))
    assert min(counts[True]) > max(counts[False])
    again = ArcFeaturizer.from_state(*hashed.state())
    slots = [f.transform(table[0]).slots for f in (hashed, again)]
    np.testing.assert_array_equal(*slots)
    meta, arrays = hashed.state()
    with pytest.raises(ValueError, match="array 'seen'"):
        ArcFeaturizer.from_state(meta, {"seen": arrays["seen"][:-4]})


def test_rare_features_are_left_out():
    _, every = make()
    _, frequent = make(min_count=2)
    assert frequent.n_rows_ < every.n_rows_
    assert set(frequent.feature_names_) < set(every.feature_names_)


def test_state_comes_back():
    table, featurizer = make()
    meta, arrays = featurizer.state()
    twin = ArcFeaturizer.from_state(meta, arrays)
    assert twin.feature_names_ == featurizer.feature_names_
    ours, theirs = featurizer.transform(table), twin.transform(table)
    np.testing.assert_array_equal(ours.single, theirs.single)
    np.testing.assert_array_equal(ours.shares, theirs.shares)


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("key", lambda a: a + 10**12, "without strings"),
        ("key", lambda a: -a, "without strings"),
        ("key", lambda a: np.append(a, a[:1]), "twice"),
        ("label_key", lambda a: a[:0].reshape(0, 1), r"not int64 \(any\)"),
        ("view_offset", lambda a: a[:-1], "views"),
        ("text_offset", lambda a: a[::-1].copy(), "strings"),
    ],
)
def test_damaged_states_are_refused(name, change, text):
    meta, arrays = make()[1].state()
    with pytest.raises(ValueError, match=text):
        ArcFeaturizer.from_state(meta, arrays | {name: change(arrays[name])})


def test_keys_of_labels_among_those_of_arcs_are_refused():
    meta, arrays = make()[1].state()
    mixed = {"key": arrays["label_key"], "label_key": arrays["key"]}
    with pytest.raises(ValueError, match="wrong place"):
        ArcFeaturizer.from_state(meta, arrays | mixed)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("form|dep.form", "needs a role"),
        ("head", "needs a role"),
        ("child.form", "roles are head"),
        ("sib.upos|between.upos", "split it"),
        ("count.upos|between.upos", "split it"),
    ],
)
def test_template_errors_name_the_remedy(template, text):
    with pytest.raises(TemplateError, match=text):
        parse_arc_templates(template)


def test_labels_look_at_both_ends_only():
    with pytest.raises(ValueError, match="head and dep only"):
        ArcFeaturizer("bias", "head.upos|between.upos")


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match="a column 'lemma'"):
        ArcFeaturizer("head.lemma", hash_bits=4).transform(sentence_table(WORDS))


@pytest.mark.parametrize(
    "columns",
    [
        ("form", "lemma", "upos", "xpos", "feats"),
        ("form", "upos"),
        ("word", "pos"),
        ("form",),
        ("x", "y"),
    ],
)
def test_default_templates_need_only_the_columns_there_are(columns):
    row = tuple(f"{name}-value" for name in columns)
    table = Table.from_sequences([[row, row]], columns)
    templates = default_arc_templates(columns) + second_order_templates(columns)
    labels = default_label_templates(columns)
    ArcFeaturizer(templates, labels).fit(table, [[2, 0]]).transform(table)
    ArcFeaturizer(default_pruner_templates(columns)).fit(table, [[2, 0]])


ROWS = [
    [
        ("der", "der", "DET", "_", "Case=Nom|Gender=Masc"),
        ("Hund", "Hund", "NOUN", "_", "Case=Nom|Gender=Masc"),
        ("bellt", "bellen", "VERB", "_", "Number=Sing"),
    ]
]


def columns_of(templates):
    return {
        term.view.column
        for template in parse_arc_templates(templates)
        for _, terms in template.parts
        for term in terms
    }


def test_features_stand_for_tags_that_a_treebank_lacks():
    table = Table.from_sequences(ROWS, ["form", "lemma", "upos", "xpos", "feats"])
    arcs, labels = (
        chosen_arc_templates(None, table, 2),
        chosen_label_templates(None, table),
    )
    assert columns_of(arcs) == {"form", "lemma", "upos", "feats"}
    assert "head.feats|dep.feats" in arcs
    assert 'attribute(dep.feats, "Case")|dep.upos|head.upos' in labels
    assert columns_of(labels) == {"form", "lemma", "upos", "feats"}
    full = [[(*row[:3], f"{row[2]}X", row[4]) for row in ROWS[0]]]
    table = Table.from_sequences(full, ["form", "lemma", "upos", "xpos", "feats"])
    assert columns_of(chosen_arc_templates(None, table, 1)) == {
        "form", "lemma", "upos", "xpos",
    }  # fmt: skip
    featurizer = ArcFeaturizer(arcs, labels).fit(table, [[2, 3, 0]])
    again = ArcFeaturizer.from_state(*featurizer.state())
    assert again.n_features_ == featurizer.n_features_


@pytest.mark.parametrize("given", ["default\nhead.misc", ["default", "head.misc"]])
def test_templates_may_be_added_to_the_default_ones(given):
    table = Table.from_sequences(ROWS, ["form", "lemma", "upos", "xpos", "feats"])
    for choose in (lambda t: chosen_arc_templates(t, table, 1), label_templates(table)):
        assert choose(given) == [*choose(None), "head.misc"]
    assert chosen_arc_templates("mcdonald", table, 1) == chosen_arc_templates(
        ["mcdonald"], table, 1
    )
    check_arc_templates("default\nmcdonald\nhead.misc")
    with pytest.raises(TemplateError, match="line 3"):
        check_arc_templates("default\nhead.misc\nword[")
    with pytest.raises(ValueError, match="mcdonald"):
        chosen_arc_templates("mcdonalds", table, 1)


def label_templates(table):
    return lambda templates: chosen_label_templates(templates, table)


def test_the_preset_has_every_family_of_the_thesis():
    families = {t.family for t in parse_arc_templates(ARC_PRESETS["mcdonald"])}
    assert families == {"head", "dep", "pair", "between"}


def test_sentences_in_any_form():
    tuples = sentence_table(WORDS)
    dicts = [[{"form": f, "upos": t} for f, t in sentence] for sentence in WORDS]
    assert sentence_table(dicts) == tuples
    assert sentence_table([tuples[0], tuples[1]]) == tuples
    with pytest.raises(ValueError, match="one sentence"):
        sentence_table(dicts[0])
    with pytest.raises(ValueError, match="no sentence"):
        sentence_table([])
    with pytest.raises(ValueError, match="sentence 1"):
        sentence_table([dicts[0], [{"form": "x"}]])
