"""The legend of a board's picture: whatever the runs are called, it fits into the picture."""

from __future__ import annotations

import pytest

from nbtrain.panel.figure import framed
from nbtrain.panel.legend import Legend


@pytest.mark.parametrize(
    "name", ["r", "rate=0.001,momentum=0.9,width=64", "MOMENTUM_" * 5, "W" * 90, "損失" * 40]
)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_names_of_the_runs_fit_into_the_picture(name: str, count: int) -> None:
    legend = Legend.of([f"{number}{name}{number}" for number in range(count)], str)
    figure, _ = framed(2, 1.0, legend.height)
    legend.draw(figure, more_tags=0)
    figure.draw_without_rendering()
    (drawn,) = figure.legends
    assert drawn.get_window_extent().x1 <= figure.bbox.x1
    texts = [text.get_text() for text in drawn.get_texts()]
    assert [(text[0], text[-1]) for text in texts] == [(str(n), str(n)) for n in range(count)]


def test_short_names_take_fewer_lines_than_they_are() -> None:
    few, many = (Legend.of([f"run-{n}" for n in range(count)], str) for count in (1, 3))
    assert few.height < many.height < few.height + 0.2
