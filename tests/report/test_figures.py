"""The drawings and the words of numbers."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from partwise import Certificate
from partwise.report import HistoryPoint, draw_digits
from partwise.report.convergence import _named, convergence
from partwise.report.embedding import embed
from partwise.report.svg import Scale, clip_line, decades, linear_ticks
from partwise.report.verdict import verdict
from partwise.report.wording import at_most_percent, bracket, column, number

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "none"),
        (math.nan, "not a number"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinity"),
        (1234567, "1,234,567"),
        (-3, "−3"),
        (0.0, "0"),
        (0.94123, "0.9412"),
        (0.5, "0.5"),
        (1234.5678, "1,235"),
        (8.67e-4, "8.67 × 10⁻⁴"),
        (1e100, "1 × 10¹⁰⁰"),
        (np.float64(0.25), "0.25"),
        (np.int64(1000), "1,000"),
        ("text", "text"),
    ],
)
def test_number(value, words):
    assert number(value) == words


def test_column_aligns_decimals():
    assert column([0.5, 0.12345, 0.0]) == ["0.5000", "0.1235", "0.0000"]
    assert column([1.0, 0.12345]) == ["1.0000", "0.1235"]  # as in the next column
    assert column([12.5, math.nan, None, 3]) == ["12.50", "not a number", "none", "3"]
    assert column([0.5, 1e-7]) == ["0.5000", "1 × 10⁻⁷"]


def test_percentage_is_rounded_up():
    assert at_most_percent(0.000861) == "0.087\u00a0%"
    assert at_most_percent(0.01) == "1\u00a0%"
    assert at_most_percent(0.0101) == "1.1\u00a0%"
    assert at_most_percent(1e307) == at_most_percent(float("inf")) == "infinite"
    assert at_most_percent(5e-324).endswith("10⁻³²²\u00a0%")


def test_bracket_marks_the_digits_both_bounds_share():
    lower, upper = bracket(1233.4208, 1234.4912)
    assert lower == ("1,23", "3.42")
    assert upper == ("1,23", "4.49")
    assert bracket(9.9, 10.1)[0].certain == ""
    assert bracket(2.0, 2.0)[0] == ("2", "")


def stated(primal, **known):
    return Certificate(primal, primal, **{"stopped": "converged", **known})


def test_verdict_of_a_gap_bounds_the_distance_to_the_optimum():
    v = verdict(stated(100.0, dual=99.0, oracle_calls=7))
    assert v.headline == "No other weights lower the objective by more than 1\u00a0%"
    assert v.is_converged
    assert (v.lower_name, v.upper_name) == ("dual", "primal")
    assert ("Relative gap", "1\u00a0%") in v.details
    assert "<svg" in v.figure


def test_verdict_says_what_was_asked_for():
    rough = stated(24.0, dual=20.0)
    assert rough.relative_gap == pytest.approx(1 / 6)
    v = verdict(rough, tolerance=0.2)
    assert v.stopped == "Converged to a relative gap of 20\u00a0%, as asked for"
    assert v.headline == "No other weights lower the objective by more than 17\u00a0%"
    late = verdict(stated(24.0, dual=20.0, stopped="time limit"), tolerance=0.01)
    assert late.stopped == (
        "Stopped by the time limit; asked for was a relative gap of 1\u00a0%"
    )
    assert not late.is_converged
    assert verdict(rough).stopped == "Converged"


def test_verdict_of_a_generative_model_shows_no_objective():
    v = verdict(stated(2e6, data_bound=1e6, stopped="estimated"), tolerance=0.1)
    assert v.headline == "A generative model: nothing was minimised"
    assert v.upper is None
    assert not v.details


def test_verdict_without_dual_uses_the_bound_from_the_data():
    v = verdict(stated(100.0, data_bound=10.0, stopped="time limit"))
    assert v.headline == "No other weights lower the objective by more than 10\u00a0%"
    assert "data" in v.lower_meaning
    assert ("Dual", "no dual bound") in v.details
    assert not v.is_converged
    assert v.stopped == "Stopped by the time limit"


def test_verdict_takes_the_better_of_both_lower_bounds():
    v = verdict(stated(100.0, dual=50.0, data_bound=10.0))
    assert v.headline == "No other weights lower the objective by more than 10\u00a0%"
    assert ("Dual", "50") in v.details


@pytest.mark.parametrize(
    ("certificate", "headline"),
    [
        (stated(5.0), "Distance to the optimum unknown"),
        (stated(math.inf, dual=-math.inf), "No finite objective was reached"),
        (
            Certificate(5.0, None, dual=4.0, exact_oracle=False),
            "The objective is at least 5",
        ),
        (stated(5.0, dual=5.0), "Optimal to working precision"),
        (stated(0.0, dual=0.0), "Optimal to working precision"),
        (stated(5.0, dual=5.0 + 1e-15), "Optimal to working precision"),
        (stated(5.0, dual=6.0), "The bounds contradict each other"),
        (
            stated(9.0, dual=2.0),
            "No other weights lower the objective by more than 78\u00a0%",
        ),
        (stated(5.0, dual=-1.0), "Distance to the optimum unknown"),
    ],
)
def test_verdict_claims_no_more_than_is_known(certificate, headline):
    assert verdict(certificate).headline == headline


def test_inexact_oracle_draws_no_interval_unless_a_relaxation_gives_a_gap():
    assert not verdict(Certificate(5.0, None, dual=4.0, exact_oracle=False)).figure
    assert verdict(Certificate(4.5, 5.0, dual=4.0, exact_oracle=False)).figure


def points(n):
    return [HistoryPoint(k, 10 * k, 5 + 4 / k, 5 - 4 / k) for k in range(1, n + 1)]


def test_convergence_has_objective_and_gap_over_both_axes():
    figure = convergence(points(50), tolerance=0.01)
    assert [p.title for p in figure.panels] == [
        "Objective over time",
        "Relative gap over time",
        "Objective over oracle calls",
        "Relative gap over oracle calls",
    ]
    assert "tolerance 0.01" in figure.panels[1].svg
    assert len(figure.rows) == 25
    for panel in figure.panels:
        ElementTree.fromstring(panel.svg)


def test_one_point_is_drawn_as_dots():
    figure = convergence(points(1))
    assert figure.panels[0].svg.count("<circle") == 2
    assert "<path" not in figure.panels[0].svg
    assert "The history has a single point." in figure.notes


def test_missing_dual_is_said_and_no_gap_drawn():
    history = [HistoryPoint(k, k, 9 - k) for k in range(3)]
    figure = convergence(history, dual_note="Pegasos keeps none.")
    assert [p.title for p in figure.panels] == [
        "Objective over time",
        "Objective over oracle calls",
    ]
    assert "No dual bound: Pegasos keeps none." in figure.notes


def test_line_passes_over_points_where_the_primal_was_not_evaluated():
    primal = [math.inf, 9.0, math.nan, 7.0, math.nan, 6.0]
    history = [HistoryPoint(k, k, p, 5.0) for k, p in enumerate(primal)]
    figure = convergence(history)
    assert figure.panels[0].svg.count('class="primal"') == 1
    assert "No finite primal at 3 of 6 points: lines pass over them." in figure.notes


def test_the_gap_is_relative_to_the_primal():
    figure = convergence([HistoryPoint(k, k, 10.0, 5.0 + k) for k in range(3)])
    assert "gap from 0.5 to 0.3" in figure.panels[1].svg
    assert figure.rows[0][-1] == "0.5"


def test_inexact_oracle_draws_no_gap():
    figure = convergence(points(9), is_exact=False)
    assert len(figure.panels) == 2
    assert "band" not in figure.panels[0].svg


def test_history_without_a_finite_value_has_no_panel():
    figure = convergence([HistoryPoint(0.0, 0, math.inf, -math.inf)])
    assert not figure.panels
    assert "No finite primal value was recorded." in figure.notes


def test_overshoot_runs_out_of_the_chart_and_is_said():
    history = [HistoryPoint(0.0, 0, 1e9, 0.0), *points(9)]
    figure = convergence(history)
    assert any("run out of the objective chart" in note for note in figure.notes)
    ys = re.findall(r"[ML][\d.]+ (-?[\d.]+)", figure.panels[0].svg)
    assert all(0 <= float(y) <= 250 for y in ys)


def test_long_history_is_thinned():
    short, long = convergence(points(400)), convergence(points(20_000))
    assert len(long.panels[0].svg) < 1.5 * len(short.panels[0].svg)


def test_ticks_are_round_and_inside():
    assert linear_ticks(0, 41.7) == [0, 10, 20, 30, 40]
    assert linear_ticks(3, 3) == [3]
    assert decades(1e-4, 10) == [-4, -3, -2, -1, 0, 1]
    assert len(decades(1e-30, 1)) <= 7


def test_scale_is_linear_or_logarithmic():
    assert Scale(0, 10, 0, 100)(5) == 50
    assert Scale(1, 100, 0, 100, is_log=True)(10) == 50
    assert Scale(3, 3, 0, 100)(3) == 50


def test_lines_are_cut_at_the_bounds():
    assert clip_line([(0, 0), (2, 4), (4, 0)], 0, 2) == [
        [(0, 0), (1, 2)],
        [(3, 2), (4, 0)],
    ]


def test_digit_string_marks_the_wrong_ones():
    images = np.random.default_rng(0).random((3, 8, 8))
    picture = draw_digits(images, [1, 2, 3], [1, 7, 3])
    root = ElementTree.fromstring(picture)
    assert "truth 1 2 3, predicted 1 7 3: 1 of 3 wrong" in root.get("aria-label")
    wrong = [node for node in root.iter() if node.get("class") == "wrong"]
    assert [node.text for node in wrong] == ["7"]
    assert picture.count("wrong-frame") == 1


def test_digit_string_keeps_the_ink():
    images = np.zeros((1, 8, 8))
    images[0, 2, 3:6] = 1.0
    picture = draw_digits(images, [1], [1])
    assert picture.count("<path") == 1
    assert 'fill-opacity="1"' in picture
    assert re.search(r'd="M\d+ \d+h15v5h-15z"', picture)


def test_digit_string_wraps():
    one = draw_digits(np.zeros((6, 8, 8)), "123456", "123456")
    two = draw_digits(np.zeros((6, 8, 8)), "123456", "123456", per_row=3)
    heights = [float(ElementTree.fromstring(p).get("height")) for p in (one, two)]
    assert heights[1] > 1.8 * heights[0]


def test_digit_string_refuses_labels_that_do_not_fit():
    with pytest.raises(ValueError, match="one label of each kind per position"):
        draw_digits(np.zeros((2, 8, 8)), [1], [1, 2])


def test_own_drawing_becomes_part_of_the_page():
    markup = embed(draw_digits(np.ones((1, 8, 8)), [1], [2]), "alt")
    assert markup.startswith("<svg")
    assert "http" not in markup


@pytest.mark.parametrize(
    "drawing",
    [
        '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="url(#x)"/></svg>',
        '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="u\\72l(#x)"/></svg>',
        f'<svg xmlns="http://www.w3.org/2000/svg">{"<g>" * 5000}{"</g>" * 5000}</svg>',
        '<svg xmlns="http://www.w3.org/2000/svg"><a href="x"><text>y</text></a></svg>',
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>',
        "<svg><rect></svg>",
    ],
)
def test_drawing_of_others_becomes_an_image(drawing):
    markup = embed(drawing, 'say "hi"')
    assert markup.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="say &quot;hi&quot;"' in markup


def test_png_becomes_an_image_and_other_bytes_are_refused():
    assert embed(PNG, "x").startswith('<img src="data:image/png;base64,')
    with pytest.raises(ValueError, match="neither SVG nor PNG"):
        embed(b"GIF89a", "x")


def test_estimated_objectives_are_said_to_be_estimates():
    history = [
        HistoryPoint(0.5, 1, 9.0, 1.0, is_estimate=True),
        HistoryPoint(1.0, 2, 6.0, 5.0),
    ]
    assert any("estimates" in note for note in convergence(history).notes)
    assert not any("estimates" in note for note in convergence(history[1:]).notes)


def test_the_objective_is_drawn_by_round():
    """Figure 3 of the paper on hidden parts, for one C."""
    history = [HistoryPoint(0.1 * k, 40 * k, 9.0 / k, 2.0) for k in (1, 2, 3)]
    drawn = convergence(history, in_rounds=True)
    assert drawn.panels[0].title == "Objective by round"
    picture = ElementTree.fromstring(drawn.panels[0].svg)
    texts = [node.text for node in picture.iter() if node.text]
    assert "rounds" in texts and "3" in texts
    titles = [panel.title for panel in convergence(history).panels]
    assert "Objective by round" not in titles


def test_ticks_have_the_digits_that_tell_them_apart():
    words = [name for _, name in _named(linear_ticks(1.0, 1.011))]
    assert words == ["1", "1.0025", "1.005", "1.0075", "1.01"]
    assert [name for _, name in _named([0.0, 5e3, 1e4])] == ["0", "5k", "10k"]
    assert [name for _, name in _named([-5e5, 1e6])] == ["−0.5M", "1M"]
    assert [name for _, name in _named([0.0, 500.0])] == ["0", "500"]


def test_rounds_and_oracle_calls_are_whole():
    history = [HistoryPoint(0.1, 1, 70.0, 50.0), HistoryPoint(0.2, 2, 60.0, 50.0)]
    charts = {
        panel.title: re.findall(r">([^<>\n]+)<", panel.svg)
        for panel in convergence(history, in_rounds=True).panels
    }
    assert "0.05" in charts["Objective over time"]
    for title in ("Objective by round", "Objective over oracle calls"):
        assert {"1", "2"} <= set(charts[title])
        assert not {"0.5", "1.5"} & set(charts[title])
