"""Titles of charts in the picture: whatever they say, they fit over their chart."""

from __future__ import annotations

import pytest
from matplotlib.artist import Artist
from matplotlib.text import Text

from nbtrain.panel.figure import DPI, INK, frame, framed
from nbtrain.panel.titles import Entry, entitle, middle, room_over

LONG = "sparse_categorical_crossentropy"
STEP = "  0.2986 (step 451)"
MUCH = "  -1.235e-05 (step 1,234,567) abandoned"


def titled(charts: int, *said: tuple[str, str]) -> list[str]:
    """What the last chart says of each of its lines, once it is seen to fit."""
    figure, each_axes = framed(charts, 2.2)
    figure.set_dpi(DPI)
    axes = each_axes[-1]
    axes.plot([0, 1], [-0.0001, 0.0002])
    frame(axes)
    entries = [Entry(*each, "#000000", "") for each in said]
    entitle(axes, entries, room_over(each_axes), pad=6, ink=INK)
    figure.draw_without_rendering()
    if legend := axes.get_legend():
        box, words = legend.get_window_extent(), [text.get_text() for text in legend.get_texts()]
    else:
        words = [axes.get_title("left")]
        (box,) = (text.get_window_extent() for text in axes.findobj(Text) if said_by(text, words))
    assert box.x1 <= axes.bbox.x1
    assert box.y0 >= axes.bbox.y1
    return words


def said_by(text: Artist, words: list[str]) -> bool:
    return isinstance(text, Text) and text.get_text() in words


@pytest.mark.parametrize("charts", [1, 2, 3])
@pytest.mark.parametrize("value", ["", STEP, MUCH])
@pytest.mark.parametrize("name", ["loss", "epoch_accuracy", LONG, "W" * 90])
def test_a_title_fits_over_its_chart_and_its_values_are_whole(
    name: str, value: str, charts: int
) -> None:
    for said in [(name, value)], [(name, value), ("val", value)]:
        words = titled(charts, *said)
        assert len(words) == len(said)
        assert all(text.endswith(value) and text != value for text in words)


def test_a_name_is_shortened_in_its_middle_and_only_where_it_must_be() -> None:
    assert titled(1, (LONG, STEP), ("val", STEP)) == [LONG + STEP, f"val{STEP}"]
    assert titled(2, ("loss", STEP), ("val", STEP)) == [f"loss{STEP}", f"val{STEP}"]
    first, _ = titled(2, (LONG, STEP), ("val", STEP))
    assert first.startswith("sparse_")
    assert first.endswith(f"entropy{STEP}")
    assert [middle("loss_of_it", most) for most in (10, 9, 4, 1)] == [
        "loss_of_it",
        "loss…f_it",
        "l…it",
        "…",
    ]
