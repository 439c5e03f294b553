"""Templates of CRF++ become templates of ours, with the same features."""

import pytest

from partwise.features import Featurizer, TemplateError, convert_crfpp
from partwise.readers import Table

TEMPLATES = """\
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U05:%x[-1,0]/%x[0,0]
U20:%x[-2,1]/%x[-1,1]/%x[ 0 , 1 ]
U

# Bigram
B
"""


def test_macros_conjunctions_bias_and_bigram():
    actual = convert_crfpp(TEMPLATES)
    assert actual.templates.splitlines() == [
        "word[-2]", "word[-1]", "word[0]", "word[-1]|word[0]",
        "pos[-2]|pos[-1]|pos[0]", "bias",
    ]  # fmt: skip
    assert actual.order == 1
    assert convert_crfpp("U:%x[0,0]\r\n").order == 0


def test_features_are_the_expanded_macros():
    """As in the documentation of CRF++: values of the columns at these places."""
    table = Table.from_sequences([[("He", "PRP"), ("reckons", "VBZ"), ("the", "DT")]])
    templates = convert_crfpp("U01:%x[-1,0]/%x[0,1]\nU02:%x[1,1]\n").templates
    featurizer = Featurizer(templates).fit(table)
    assert sorted(featurizer.feature_names_) == [
        "pos[1]=<s>", "pos[1]=DT", "pos[1]=VBZ", "word[-1]|pos[0]=<s>|PRP",
        "word[-1]|pos[0]=He|VBZ", "word[-1]|pos[0]=reckons|DT",
    ]  # fmt: skip


def test_columns_have_the_names_given():
    assert convert_crfpp("U:%x[0,2]", ["a", "b", "c"]).templates == "c[0]\n"
    assert convert_crfpp("U:%x[0,3]").templates == "c3[0]\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("B01:%x[0,0]", "line 1 .*one weight here"),
        ("U00:%x[0,0]\nX", "line 2 .*neither with U nor with B"),
        ("U00:%x[0]", "macros are %x"),
        ("U00:%t[0,0,'a']", "macros are %x"),
        ("U00:%x[9999,0]", "far away"),
        ("U00:%x[0,2]", "column 2, but there are word, pos"),
        ("B", "no template"),
    ],
)
def test_what_has_no_equal_is_refused(text, what):
    columns = ["word", "pos"] if "column 2" in what else None
    with pytest.raises(TemplateError, match=what):
        convert_crfpp(text, columns)
