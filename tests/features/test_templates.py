"""The template language: what it means, and what it says when it is misspelt."""

import pytest

from partwise.features.templates import (
    PRESETS,
    TemplateError,
    View,
    parse_templates,
)


def spelt(text):
    return [str(template) for template in parse_templates(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word", ["word[0]"]),
        ("word[-1..1]", ["word[-1]", "word[0]", "word[1]"]),
        ("word[+1]", ["word[1]"]),
        ("pos[-2]|pos[-1]", ["pos[-2]|pos[-1]"]),
        (" lower( word ) [ 0 ] # note", ["lower(word)[0]"]),
        ("prefix(word,1..2)", ["prefix(word,1)[0]", "prefix(word,2)[0]"]),
        ("suffix(lower(word),3)[-1]", ["suffix(lower(word),3)[-1]"]),
        ("shape(word)|pos", ["shape(word)[0]|pos[0]"]),
        ('match(word,"^[#|]\\"")', ['match(word,"^[#|]\\"")[0]']),
        ("bias", ["bias"]),
        ("# only this\n\nword\nword[0]\nword[-1..0]", ["word[0]", "word[-1]"]),
        ("a[0..1]|b[0..1]", ["a[0]|b[0]", "a[0]|b[1]", "a[1]|b[0]", "a[1]|b[1]"]),
        ("lower", ["lower[0]"]),
        ("mot-clé.2", ["mot-clé.2[0]"]),
        (["word", "pos"], ["word[0]", "pos[0]"]),
    ],
)
def test_ranges_expand_and_names_are_canonical(text, expected):
    assert spelt(text) == expected
    assert parse_templates(spelt(text)) == parse_templates(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no template; write at least one line, such as word[-1..1]"),
        ("# nothing", "no template"),
        ("word\nupper(word)", "template line 2 (upper(word)): no function 'upper'; "
         "there are lower, prefix, suffix, shape, short_shape, match"),
        ("word[", "found 'end of line'; write a number or a range such as -2..2"),
        ("word[1", "found 'end of line'; write ']' there"),
        ("word[2..1]", "empty range 2..1; write the smaller number first"),
        ("word[1..]", "found ']'; write the end of the range"),
        ("word pos", "found 'pos'; join terms by |, one template per line"),
        ("word|", "found 'end of line'; write a column or a function there"),
        ("prefix(word)", "found ')'; write ',' there"),
        ("prefix(word,0..2)", "prefix of length 0; lengths begin at 1"),
        ("match(word,abc)", "found 'abc'; write the expression in quotes"),
        ('match(word,"(")', "bad regular expression"),
        ("bias[0]", "bias stands alone; write it on a line of its own"),
        ("word|bias", "bias stands alone; write it on a line of its own"),
        ("word = 3", "cannot read '= 3'; see the template language"),
        ("word[2000]", "2000 is far away; use at most 1000 in size"),
        ("word[" + "9" * 5000 + "]", "is far away"),
        ("lower(" * 5000 + "word", "functions nest too deep; at most 16 are allowed"),
        ("|".join(["w[-99..99]"] * 3), "7880599 templates in one line"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_the_remedy(text, message):
    with pytest.raises(TemplateError) as error:
        parse_templates(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("view", "value", "expected"),
    [
        ("lower(word)", "McÉ", "mcé"),
        ("prefix(word,2)", "abc", "ab"),
        ("prefix(word,4)", "abc", None),
        ("suffix(word,3)", "abc", "abc"),
        ("suffix(word,1)", "", None),
        ("shape(word)", "Mcé-1970", "Xxx-9999"),
        ("short_shape(word)", "McDonald's--1970", "XxXx'x-9"),
        ('match(word,"[0-9]")', "a1", "1"),
        ('match(word,"^[0-9]+$")', "a1", None),
        ('attribute(word,"Case")', "Case=Nom|Number=Sing", "Case=Nom"),
        ('attribute(word,"Case")', "InCase=Nom|_", None),
        ("lower(prefix(word,4))", "ABC", None),
        ("suffix(lower(word),2)", "ABC", "bc"),
    ],
)
def test_functions_of_strings(view, value, expected):
    parsed: View = parse_templates(view)[0].terms[0].view
    assert parsed.column == "word"
    assert parsed.apply([value]) == [expected]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_templates_of_words_and_tags(name):
    templates = parse_templates(PRESETS[name])
    columns = {term.view.column for t in templates for term in t.terms}
    assert columns == ({"word"} if name == "pos" else {"word", "pos"})
