import numpy as np
import pytest

from partwise.features.pair_presets import expand, preset_names
from partwise.features.pairs import PairFeaturizer
from partwise.features.templates import TemplateError

A = {"residue": "MKV", "structure": "HHE", "profile": np.ones((3, 2))}
B = {"residue": "MV", "letters": np.eye(2)}


def test_sides_have_columns_of_their_own():
    made = PairFeaturizer("residue ~ residue\nstructure ~ residue\nextend: structure")
    made.fit([A], [B])
    # M K V and one more; b has no structure, so gaps of b have one score
    assert made.settings()["sizes"] == ((4, 3), (4, 1))
    assert made.settings()["gap_open"] == ()
    assert made.transform(A, 0).tolist() == [[1, 1], [0, 1], [2, 0]]
    assert made.transform(B, 1).tolist() == [[1, 0], [2, 0]]
    with pytest.raises(ValueError, match="x has no column 'structure'"):
        made.transform("MKV", 0, "x")
    assert made.names_of(made.extend[0], 0) == [
        "structure=E",
        "structure=H",
        "structure=?",
    ]
    assert made.names_of(made.extend[0], 1) == [""]


def test_windows_views_and_products():
    made = PairFeaturizer(
        'structure[-1..1]  # three\nmatch(residue,"[~#V]") ~ bias\nprofile * letters'
    ).fit([A], [A | {"letters": np.ones((3, 2))}])
    assert [str(t) for t, _ in made.match] == [
        "structure[-1]", "structure[0]", "structure[1]", 'match(residue,"[~#V]")[0]',
    ]  # fmt: skip
    codes, values = made.transform(A, 0)
    assert made.values[made.terms[0].view] == ["<s>", "E", "H"]
    assert codes[:, :3].tolist() == [[0, 2, 2], [2, 2, 1], [2, 1, 0]]
    assert codes[:, 3].tolist() == [0, 0, 1]  # no value is a value
    assert values.shape == (3, 2) and made.settings()["products"] == (2,)
    assert made.settings()["match"][-1] == ((3,), ())


def test_unknown_values_share_a_code():
    made = PairFeaturizer("residue").fit(["AC"], ["A"], letters="D")
    assert made.transform("ACDEX", 0).ravel().tolist() == [0, 1, 2, 3, 3]
    assert made.transform({"residue": ["C", "long"]}, 1).ravel().tolist() == [1, 3]


def test_names_stand_for_templates():
    x = {"r": "MK", "s": "HE", "a": "01"}
    assert len(expand("simple", x, x)) == 9 and len(expand("anova2", x, x)) == 9
    assert expand("tensor", x, x) == ["r|s|a ~ r|s|a"]
    assert expand("simple+window", "MK", "MK")[1:] == [
        "residue[-2..-1]",
        "residue[1..2]",
    ]
    assert expand("tensor+window", x, x)[1:3] == ["s[-2..-1]", "s[1..2]"]
    assert expand("simple+profile", A, B)[-1] == "profile * letters"
    both = expand("simple+window+profile", A, B)
    assert both == [
        "residue ~ residue", "structure ~ residue", "residue[-2..-1]", "residue[1..2]",
        "profile * letters",
    ]  # fmt: skip
    assert "tensor+window+profile" in preset_names()
    for name, x, message in (
        ("simpel", "M", "choose simple"),
        ("simple+windows", "M", "choose simple"),
        ("anova2", "M", "2 columns or more"),
        ("simple+profile", "M", "real columns"),
    ):
        with pytest.raises(ValueError, match=message):
            expand(name, x, x)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ("", "no template of matches"),
        ("open: bias", "no template of matches"),
        ("a ~ b ~ c", "write ~ once"),
        ("residue ~", "a side is empty"),
        ("residue\nopen: residue ~ residue", r"line 2 .* a gap has one side"),
        ("residue\nresidue ~ [", r"line 2"),
    ],
)
def test_bad_templates_are_refused(templates, message):
    with pytest.raises(TemplateError, match=message):
        PairFeaturizer(templates)


def test_bad_sequences_are_refused():
    made = PairFeaturizer("residue")
    for x, message in (
        (3, "is of type int"),
        ("", "no tokens"),
        ({}, "is of type dict"),
        ({"residue": "MK", "s": "H"}, "different lengths: residue 2, s 1"),
        ({"residue": np.ones((2, 2))}, "holds numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            made.fit([x], [x])
    with pytest.raises(ValueError, match="needs the column 'structure'"):
        PairFeaturizer("structure").fit(["MK"], ["MK"])
    with pytest.raises(ValueError, match="no real column"):
        PairFeaturizer("residue\nresidue * residue").fit(["MK"], ["MK"])
    with pytest.raises(ValueError, match="3 numbers per token where 2"):
        PairFeaturizer("profile * letters").fit([A], [B]).transform(
            {"residue": "M", "letters": np.ones((1, 3))}, 1
        )


def test_state_is_checked():
    made = PairFeaturizer("structure[-1..1]\nprofile * letters").fit(
        [A], [A | {"letters": np.ones((3, 2))}]
    )
    state, arrays = made.state()
    again = PairFeaturizer.from_state(state)
    assert not arrays and again.settings() == made.settings()
    assert all(
        np.array_equal(x, y)
        for x, y in zip(again.transform(A, 0), made.transform(A, 0), strict=True)
    )
    for change in (
        {"kind": "x"}, {"templates": "x"}, {"templates": [1]}, {"columns": [[], []]},
        {"columns": [["structure"]]}, {"values": []}, {"values": [["H", "H"]]},
        {"values": [["H", "E"]]}, {"widths": [0]}, {"widths": []}, {"widths": [True]},
        {"columns": [["residue"], ["structure"]]},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            PairFeaturizer.from_state(state | change)


def test_every_sequence_has_positions():
    made = PairFeaturizer("residue\nopen: position\nextend: position[1]").fit(
        ["MK", "M"], ["MKV"]
    )
    assert made.sides == (["residue"], ["residue"])
    assert made.values[made.open[0].terms[0].view] == ["<s>", "begin", "end", "middle"]
    assert made.transform("MKVM", 0)[:, 1:].tolist() == [
        [1, 3], [3, 3], [3, 2], [2, 0],
    ]  # fmt: skip
    assert made.transform("M", 1)[:, 1:].tolist() == [[1, 0]]
    again = PairFeaturizer.from_state(made.state()[0])
    assert again.settings() == made.settings()
    # a column of this name counts instead
    x = {"residue": "MK", "position": ["buried", "open"]}
    made = PairFeaturizer("residue\nopen: position").fit([x], ["MK"])
    codes = made.transform(x, 0)[:, 1]
    values = made.values[made.open[0].terms[0].view]
    assert [values[code] for code in codes] == ["buried", "open"]
    with pytest.raises(ValueError, match="no column 'position'"):
        made.transform("MK", 0)
