"""The fits that the picture of a board draws, and the legend with their names and colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbtrain.panel.figure import INK, writable
from nbtrain.panel.titles import width_of
from nbtrain.panel.validations import fits_of, folder_of, name_of
from nbtrain.panel.wording import cut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    *("#1a6fb0", "#c75300", "#187a4c", "#7d4bb3", "#8a6100", "#b3144f"),
    *("#00808f", "#d0309f", "#5f6f00", "#6d4126", "#52616b", "#e0483c"),
)  # those of the page on white
RUNS = len(COLOURS)  # the first fits are drawn; each has a colour of its own
_VALIDATION = (0, (3.5, 2))  # dashes, as in tags.js
_PALE = 0.5  # the opacity of a validation, if the dashes tell tags
_NAME = 90  # characters of a run's name
_ACROSS = 536.0  # points of a line of the legend
_SAMPLE, _APART = 23.0, 16.0  # points of a fit's line, and between two columns
_SIZE = 8.0  # of the letters, in points
_TITLE = 100  # characters of the legend's title
_LINE = 0.2  # inches


@dataclass(frozen=True, slots=True)
class Legend:
    """The first fits of a board.

    Attributes:
        fits: The runs of each, first the one that names it.
        names: Their names, without the folder that all are in.
        folder: That folder; empty if there is none.
        more: The number of fits that are not drawn.
    """

    fits: Sequence[Sequence[str]]
    names: Sequence[str]
    folder: str
    more: int

    @classmethod
    def of(cls, runs: Sequence[str], title: Callable[[str], str]) -> Legend:
        """Returns the legend of some runs; `title` returns the name of a run to its reader."""
        fits = fits_of(runs)
        names = [title(name_of(lead, members, fits)) for lead, members in fits.items()]
        folder = folder_of(names)
        named = [_fitting(name.removeprefix(folder)) for name in names[:RUNS]]
        drawn = [*islice(fits.values(), RUNS)]
        return cls(drawn, named, folder, len(fits) - len(drawn))

    @property
    def height(self) -> float:
        """The height of the legend in inches."""
        return _LINE * (2 + len(self.names) / self._columns)

    def styles(self, dash: Any = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields each run that is drawn with the style of its line, the same as on the page.

        Args:
            dash: Tells the tag of the lines; a validation is then pale. None dashes validations.
        """
        for number, runs in enumerate(self.fits):
            for place, run in enumerate(runs):
                yield run, _style(number, validates=place > 0, dash=dash)

    def draw(self, figure: Figure, more_tags: int, validation: str = "dashed") -> None:
        """Draws it below the charts of a figure; says what the picture leaves out.

        Args:
            validation: The look of a validation, in words.
        """
        from matplotlib.lines import Line2D

        told = figure.legend(
            [Line2D([], [], **_style(number)) for number in range(len(self.names))],
            [writable(name) or " " for name in self.names],
            loc="outside lower left",
            ncols=self._columns,
            fontsize=_SIZE,
            frameon=False,
            columnspacing=_APART / _SIZE,
            title=writable(cut(self._title(more_tags, validation), _TITLE)) or None,
            title_fontsize=_SIZE,
            labelcolor=INK,
        )
        told.get_title().set_color(INK)
        for text in (told.get_title(), *told.get_texts()):
            text.set_parse_math(False)  # a name is not a formula

    @property
    def _columns(self) -> int:
        widest = max((_width(name) for name in self.names), default=_ACROSS)
        return min(3, max(1, int((_ACROSS + _APART) // (widest + _SAMPLE + _APART))))

    def _title(self, more_tags: int, validation: str) -> str:
        left_out = [f"{n} {what}" for n, what in ((more_tags, "tags"), (self.more, "runs")) if n]
        parts = [
            *([f"in {self.folder}"] if self.folder else []),
            *([f"{validation}: validation"] if any(len(runs) > 1 for runs in self.fits) else []),
            *([f"not shown: {', '.join(left_out)}"] if left_out else []),
        ]
        return "; ".join(parts)


def _fitting(name: str) -> str:
    """Shortens a name until it fits into a line of the legend."""
    wanted = (cut(name, most) for most in range(_NAME, 0, -1))
    return next(text for text in wanted if _width(text) <= _ACROSS - _SAMPLE)


def _width(name: str) -> float:
    return width_of(writable(name), _SIZE)


def _style(number: int, *, validates: bool = False, dash: Any = None) -> dict[str, Any]:
    look = {"color": COLOURS[number], "lw": 1.3}
    if dash is None:
        return look | {"linestyle": _VALIDATION if validates else "-"}
    return look | {"linestyle": dash, "alpha": _PALE if validates else 1.0}
