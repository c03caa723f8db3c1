"""Titles of the charts in a picture: a name that is too long for its chart is cut in its middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

TITLE = 36  # characters of a tag that fit over half a figure
_LEAST = 18  # characters of a name that share a row with another entry
_INCH = 72.0  # points
_PADS = 8.0  # points between a chart, with its labels, and the next one
_HINTED = 1.04  # so much wider than outlines some letters are that are drawn in pixels
_ALONE, _TOGETHER = 9.0, 8.5  # sizes of the letters, in points
_SAMPLE, _BESIDE, _APART = 1.1, 0.4, 0.9  # of an entry: its line, and the gaps; in letters' sizes


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a chart in its title.

    Attributes:
        name: The name of the line; it may be shortened.
        value: What follows it, in any case whole.
        colour, marker: The look of the line.
    """

    name: str
    value: str
    colour: str
    marker: str

    def shortened(self, most: int) -> str:
        """Returns the words of the entry with at most so many characters of its name."""
        return middle(self.name, most) + self.value

    def fitting(self, room: float, size: float) -> str:
        """Returns the words of the entry, with as much of its name as fits the room in points."""
        wanted = (self.shortened(most) for most in range(TITLE, 1, -1))
        return next((text for text in wanted if width_of(text, size) <= room), self.shortened(1))


def room_over(each_axes: Sequence[Axes]) -> float:
    """Returns the width in points that each of the charts of a figure will have."""
    if not each_axes:
        return 0.0
    figure = each_axes[0].figure
    columns = min(2, len(each_axes))
    boxes = [(axes.bbox, axes.yaxis.get_tightbbox()) for axes in each_axes]
    labels = max(outer.x0 - box.x0 if box else 0.0 for outer, box in boxes)
    return float(figure.bbox.width / columns - labels) * _INCH / figure.dpi - _PADS


def entitle(axes: Axes, entries: Sequence[Entry], room: float, *, pad: float, ink: str) -> None:
    """Writes the entries above a chart; if there are several, each beside its colour.

    Those that do not fit beside each other are below each other.

    Args:
        room: The width of the chart in points.
        pad: The distance from the chart in points.
    """
    if len(entries) == 1:
        said = entries[0].fitting(room, _ALONE)
        # A tag is not a formula.
        axes.set_title(said, fontsize=_ALONE, loc="left", parse_math=False, pad=pad, color=ink)
        return
    words = _beside(entries, room)
    rows = 1 if words else len(entries)
    room -= (_SAMPLE + _BESIDE) * _TOGETHER
    words = words or [entry.fitting(room, _TOGETHER) for entry in entries]
    # A blank title reserves the space for a legend, which needs a little more.
    blank = "\n".join([" "] * rows)
    above = axes.set_title(blank, fontsize=_ALONE, loc="left", pad=pad, va="bottom", color=ink)
    _list(axes, entries, words, above, columns=len(entries) // rows)


def middle(name: str, most: int) -> str:
    """Shortens a name to `most` characters: to its beginning and its end."""
    if len(name) <= most:
        return name
    end = most // 2
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def width_of(text: str, size: float) -> float:
    """Returns the width in points of a text in letters of a size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    wide, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    return float(wide) * _HINTED


def _beside(entries: Sequence[Entry], room: float) -> list[str]:
    """Returns the words of entries that fit into one row; none if they do not."""
    first, *others = entries
    words = [entry.shortened(TITLE) for entry in others]
    taken = sum(width_of(text, _TOGETHER) for text in words)
    taken += _TOGETHER * ((_SAMPLE + _BESIDE) * len(entries) + _APART * len(others))
    if width_of(first.shortened(_LEAST), _TOGETHER) > room - taken:
        return []
    return [first.fitting(room - taken, _TOGETHER), *words]


def _list(
    axes: Axes, entries: Sequence[Entry], words: Sequence[str], above: Text, *, columns: int
) -> None:
    """Draws the entries where the title is; constrained layout shall not make room twice."""
    from matplotlib.lines import Line2D

    told = axes.legend(
        [Line2D([], [], color=entry.colour, marker=entry.marker) for entry in entries],
        words,
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=above.get_transform(),
        borderaxespad=0,
        borderpad=0,
        columnspacing=_APART,
        handlelength=_SAMPLE,
        handletextpad=_BESIDE,
        labelspacing=0.2,
        fontsize=_TOGETHER,
        frameon=False,
        labelcolor=above.get_color(),
    )
    told.set_in_layout(False)
    for text in told.get_texts():
        text.set_parse_math(False)
