import numpy as np

from partwise.report.alignments import draw_alignment, draw_heat_map
from partwise.report.embedding import embed


def test_matches_are_coloured_and_reference_pairs_marked():
    drawn = draw_alignment(
        list("MKVL"), list("MVL<"), [(0, 0), (1, 1), (3, 2)], [(0, 0), (2, 1)]
    )
    assert drawn.count("<line") == 3 and drawn.count("<circle") == 4
    assert drawn.count('fill="none"') == 2  # (2, 1) was missed: hollow on both sides
    assert "1 of 2 reference pairs" in drawn and "&lt;" in drawn
    assert embed(drawn, "x").startswith("<svg")  # plain shapes: part of the page


def test_long_and_empty_alignments_are_drawn():
    drawn = draw_alignment("M" * 130, "K" * 130, np.zeros((0, 2), int))
    assert drawn.count("<text") == 520 and "<line" not in drawn


def test_heat_maps():
    drawn = draw_heat_map("AC", "ACD", np.zeros((2, 3)), "Learned")
    assert drawn.count("<rect") == 6 and "Learned" in drawn
    assert embed(drawn, "x").startswith("<svg")
