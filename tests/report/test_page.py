"""The page as a whole: sections, escaping, determinism, the file."""

import dataclasses
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from partwise import Certificate
from partwise.report import (
    Confusion,
    ErrorExample,
    FeatureGroup,
    HistoryPoint,
    MetricTable,
    Picture,
    Report,
    ReportPathError,
    draw_digits,
    render,
    write,
)

HOSTILE = "<script>alert('x')</script>\"&"
VOID = {"meta", "br", "img", "wbr"}


class Page(HTMLParser):
    """Elements, ids, text and attributes of a page; fails on wrong nesting."""

    def __init__(self, html):
        super().__init__()
        self.open, self.names, self.ids, self.attributes = [], [], [], []
        self.words = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def full_report():
    images = [
        [[((r * c + t) % 9) / 8 for c in range(8)] for r in range(8)] for t in (0, 1)
    ]
    return Report(
        "Chunking",
        "first order",
        facts=[("C", "10"), ("Solver", "bcfw")],
        certificate=Certificate(
            12.5, 12.5, 12.4, 3.0, 4000, stopped="converged", note="A note."
        ),
        history=[HistoryPoint(k, 100 * k, 20 - k, 5 + k) for k in range(1, 7)],
        tolerance=0.01,
        metrics=[
            MetricTable("Test file", {"span_f1": 0.94}, ["Type", "F1"], [["NP", 0.951]])
        ],
        confusion=Confusion(["A", "B"], [[5, 1], [2, 7]]),
        features=[FeatureGroup("NP", [("w=the", 1.5)], [("w=of", -0.7)])],
        errors=[ErrorExample(["a", "b"], ["X", "Y"], ["X", "Z"], 1.0, "line 3")],
        pictures=[Picture("two digits", draw_digits(images, [1, 2], [1, 3]))],
    )


SECTIONS = {
    "certificate": "certificate",
    "metrics": "metrics",
    "history": "convergence",
    "confusion": "confusion",
    "features": "features",
    "errors": "errors",
    "pictures": "pictures",
    "facts": "facts",
}


def test_every_section_is_present_when_its_data_is():
    page = Page(render(full_report()))
    assert set(SECTIONS.values()) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert page.names.count("h1") == 1
    targets = [
        v[1:] for tag, name, v in page.attributes if (tag, name) == ("a", "href")
    ]
    assert set(targets) == set(SECTIONS.values())


@pytest.mark.parametrize("field", SECTIONS)
def test_a_section_is_absent_when_its_data_is(field):
    empty = None if field in ("certificate", "confusion") else []
    report = dataclasses.replace(full_report(), **{field: empty})
    page = Page(render(report))
    assert set(page.ids) & set(SECTIONS.values()) == (
        set(SECTIONS.values()) - {SECTIONS[field]}
    )


def test_title_alone_is_a_page():
    page = Page(render(Report("Only a title")))
    assert "Only a title" in page.text
    assert not page.ids


def test_every_table_has_a_caption_and_every_figure_a_label():
    html = render(full_report())
    page = Page(html)
    assert page.names.count("table") == page.names.count("caption")
    for drawing in re.findall(r"<svg[^>]*>", html):
        assert "aria-label=" in drawing or "aria-hidden=" in drawing


def hostile_report():
    return Report(
        HOSTILE,
        HOSTILE,
        facts=[(HOSTILE, HOSTILE)],
        certificate=Certificate(1.0, 1.0, note=HOSTILE, stopped=HOSTILE),
        history=[HistoryPoint(1.0, 1, 1.0)],
        metrics=[MetricTable(HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE], [[HOSTILE]])],
        confusion=Confusion([HOSTILE, "B"], [[1, 1], [1, 1]]),
        features=[FeatureGroup(HOSTILE, [(HOSTILE, 1.0)], [(HOSTILE + "|a", -1.0)])],
        errors=[ErrorExample([HOSTILE], [HOSTILE], ["O"], 1.0, HOSTILE)],
        pictures=[Picture(HOSTILE, draw_digits([[[1.0]]], [HOSTILE], [HOSTILE]))],
    )


def test_text_of_the_data_is_escaped():
    page = Page(render(hostile_report()))
    assert "script" not in page.names
    assert page.text.count("<script>alert('x')</script>") > 10
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_controls_and_lone_surrogates_are_shown_and_encodable():
    html = render(Report("a\x00b", facts=[("token", "x\ud800y")]))
    assert "\x00" not in html
    assert "a␀b" in html
    html.encode("utf-8")


def test_non_finite_numbers_are_words():
    inf, nan = math.inf, math.nan
    report = Report(
        "x",
        certificate=Certificate(inf, inf, -inf, nan, 5, stopped="interrupted"),
        history=[HistoryPoint(0.1, 1, inf, -inf, nan), HistoryPoint(nan, 2, nan, None)],
        tolerance=nan,
        metrics=[MetricTable("m", {"f1": nan}, ["a", "b"], [["r", inf], ["s", 0.5]])],
        features=[FeatureGroup("A", [("f", inf)], [("g", nan)])],
        errors=[ErrorExample(["a"], ["X"], ["Y"], inf)],
    )
    page = Page(render(report))
    assert not re.search(r"\b(nan|inf)\b", page.text, re.IGNORECASE)
    assert "not a number" in page.text
    assert "infinite" in page.text
    assert "minus infinity" in page.text
    for _, name, value in page.attributes:
        if name in ("d", "x", "y", "cx", "cy", "x1", "y1", "style"):
            assert "nan" not in value
            assert "inf" not in value


def test_same_content_gives_the_same_bytes():
    assert render(full_report()) == render(full_report())


def test_page_loads_nothing():
    html = render(full_report())
    assert "http:" not in html
    assert "https:" not in html
    assert "//" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    assert "url(" not in html
    assert "@import" not in html
    page = Page(html)
    assert not {"script", "link", "iframe", "object"} & set(page.names)


def test_large_confusion_shows_the_labels_with_most_errors():
    n = 30
    matrix = [[100 if i == j else 0 for j in range(n)] for i in range(n)]
    for i in range(0, 22):
        matrix[i][(i + 1) % 22] = i + 1
    report = Report("x", confusion=Confusion([f"L{i:02}" for i in range(n)], matrix))
    page = Page(render(report))
    assert "the 20 labels with the most errors" in page.text
    assert "253 errors among 3,253 predictions of 30 labels" in page.text
    assert "L25" not in page.text
    assert "L21" in page.text


def test_long_error_keeps_the_difference_and_leaves_out_the_rest():
    n = 5000
    tokens = [f"t{k}." for k in range(n)]
    predicted = ["O"] * n
    predicted[3000] = "B"
    page = Page(
        render(Report("x", errors=[ErrorExample(tokens, ["O"] * n, predicted)]))
    )
    assert "t3000." in page.text
    assert "t2992." in page.text
    assert "t2991." not in page.text
    assert "… 2,992 tokens …" in page.text
    assert "1 of 5,000 tokens wrong" in page.text
    assert page.names.count("li") < 80


def test_long_error_with_differences_everywhere_is_cut():
    n = 3000
    example = ErrorExample(["a"] * n, ["O"] * n, ["B"] * n)
    page = Page(render(Report("x", errors=[example])))
    assert page.names.count("li") == 61
    assert "… 2,940 tokens …" in page.text


def test_long_token_is_cut():
    page = Page(render(Report("x", errors=[ErrorExample(["w" * 9999], ["O"], ["B"])])))
    assert "w" * 79 + "…" in page.text
    assert "w" * 80 not in page.text


def test_many_feature_groups_are_folded():
    groups = [FeatureGroup(f"G{k}", [("f", 1.0)]) for k in range(40)]
    page = Page(render(Report("x", features=groups)))
    assert "28 more labels" in page.text
    assert "G39" in page.text


@pytest.mark.parametrize(
    "make",
    [
        lambda: ErrorExample(["a", "b"], ["X"], ["X", "Y"]),
        lambda: Confusion(["A", "B"], [[1, 2]]),
        lambda: MetricTable("t", {}, ["a", "b"], [["only one"]]),
    ],
)
def test_content_that_does_not_fit_together_is_refused(make):
    with pytest.raises(ValueError, match=r"; (give|count)"):
        make()


def test_write_replaces_whole_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write(full_report(), path) == path
    assert path.read_bytes() == render(full_report()).encode()
    assert os.listdir(tmp_path) == ["report.html"]


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ReportPathError, match="No space left"):
        write(full_report(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("name", ["missing/report.html", "", "a\0b.html"])
def test_unwritable_path_is_named_with_a_remedy(tmp_path, name):
    path = f"{tmp_path}/{name}"
    with pytest.raises(ValueError, match="cannot write the report") as caught:
        write(full_report(), path)
    assert repr(path.rstrip("/")) in str(caught.value)
    assert re.search("choose a file|give a file name", str(caught.value))


def test_import_is_cheap():
    code = (
        "import sys, partwise.report; "
        "print([m for m in ('jinja2', 'numpy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_no_errors_are_counted_among_predictions():
    page = Page(render(Report("x", confusion=Confusion(["a", "b"], [[5, 0], [0, 6]]))))
    assert "No errors among 11 predictions of 2 labels" in page.text


def test_shares_of_one_evaluation_have_as_many_decimals():
    values = {"token_accuracy": 0.9910913, "token_error": 0.0089087, "n": 12}
    page = Page(render(Report("x", metrics=[MetricTable("Test file", values)])))
    assert "0.9911" in page.text and "0.0089" in page.text
    assert "0.0089087" not in page.text and "0.008909" not in page.text


def test_short_cells_stay_on_one_line():
    table = MetricTable("by length", {}, ["length", "f1"], [["11-20", 0.5]])
    long = MetricTable("by word", {}, ["word", "f1"], [["w" * 40, 0.5]])
    html = render(Report("x", metrics=[table, long]))
    assert '<th scope="row" class="whole">11-20</th>' in html
    assert f'<th scope="row">{"w" * 40}</th>' in html
    assert re.search(r"\.whole \{[^}]*white-space: nowrap", html)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_tables"), [(19, 3, 1), (41, 3, 2), (41, 7, 1)]
)
def test_long_narrow_tables_stand_in_two_halves(n_rows, n_columns, n_tables):
    rows = [[f"row {i}", *range(1, n_columns)] for i in range(n_rows)]
    header = [f"column {k}" for k in range(n_columns)]
    page = Page(
        render(Report("t", metrics=[MetricTable("c", header=header, rows=rows)]))
    )
    assert page.names.count("table") == n_tables
    shown = [word for word in page.words if word.startswith("row ")]
    assert shown == [row[0] for row in rows]


def test_wide_pictures_scroll_and_keep_their_size():
    wide = '<svg xmlns="http://www.w3.org/2000/svg" width="4000" height="8"></svg>'
    html = render(Report("t", pictures=[Picture("wide", wide)]))
    assert re.search(
        r'class="scroll"[^>]*aria-label="wide"><svg[^>]*width="4000"', html
    )
    assert '<figure class="wide">' in html
    assert re.search(r"\.pictures svg \{[^}]*max-width: none", html)
