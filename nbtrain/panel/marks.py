"""Marks in words and signs, as the picture has them; js/panel/marks.js has them on the page.

What came by cadence gives way: of the checkpoints near to another mark none moves it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nbtrain.rundir.journal import Mark

# The most telling first: what a sign that stands for several marks looks like.
GLYPHS = {
    "nan": "×",
    "failed": "⊗",
    "recovery": "✚",
    "restore": "◀",
    "reverted": "↺",
    "kept": "✓",
    "try": "◇",
    "undone": "≠",
    "set": "◆",
    "evaluate": "□",
    "pause": "❚❚",
    "resume": "▶",
    "save": "●",
    "checkpoint": "○",
}
_OTHER = "▪"
_JOINING = "\N{NO-BREAK SPACE}"
_ORDER = tuple(GLYPHS)
_BY_CADENCE = frozenset({"checkpoint"})


@dataclass(slots=True)
class Sign:
    """One or several marks at a place of the axis.

    Attributes:
        first, last: Steps of the leftmost mark, and of the rightmost.
        kinds: What they are: event and whether it is abandoned.
    """

    first: float
    last: float
    kinds: list[tuple[bool, str]] = field(default_factory=list)

    @property
    def place(self) -> float:
        """The step at which it stands."""
        return (self.first + self.last) / 2

    @property
    def abandoned(self) -> bool:
        """Whether the run went back behind all of them."""
        return all(abandoned for abandoned, _ in self.kinds)

    @property
    def text(self) -> str:
        """The glyph of the most telling, and how many there are."""
        _, kind = min(self.kinds, key=lambda each: (each[0], _rank(each[1])))
        count = sum(kind not in _BY_CADENCE for _, kind in self.kinds) or len(self.kinds)
        return glyph(kind) + (str(count) if count > 1 else "")


def beginning(marks: Sequence[Mark], first: float, last: float) -> float:
    """Where an axis begins whose points lie between two steps: where something was done before.

    But for what lies further off than the points are apart, as the curve would be small.
    """
    far = max(1.0, last - first)
    return min([first, *(place for place, _ in _places(marks) if place >= first - far)])


def signs(marks: Sequence[Mark], low: float, high: float, apart: float) -> list[Sign]:
    """The signs between two steps, no two closer than `apart`, in the order of their places."""
    events: list[tuple[float, tuple[bool, str]]] = []
    others: list[tuple[float, tuple[bool, str]]] = []
    for (place, abandoned), mark in zip(_places(marks), marks, strict=True):
        if low <= place <= high:
            kind = kind_of(mark)
            (others if kind in _BY_CADENCE else events).append((place, (abandoned, kind)))
    fixed = _joined(events, apart)
    free: list[list[tuple[float, tuple[bool, str]]]] = [[] for _ in range(len(fixed) + 1)]
    for place, kind_there in sorted(others):
        near = next((sign for sign in fixed if abs(sign.place - place) < apart), None)
        if near is not None:
            near.kinds.append(kind_there)
        else:
            free[sum(sign.place < place for sign in fixed)].append((place, kind_there))
    found = fixed + [sign for between in free for sign in _joined(between, apart)]
    return sorted(found, key=lambda sign: sign.place)


def legend(marks: Iterable[Mark]) -> str:
    """Which signs there are, and how many of each; where it is wrapped, these stay together."""
    counts = Counter(map(kind_of, marks))
    told = sorted(counts, key=lambda kind: (_rank(kind), kind))
    many = {kind: f" ({count})" if count > 1 else "" for kind, count in counts.items()}
    parts = [f"{glyph(kind)} {kind}{many[kind]}".replace(" ", _JOINING) for kind in told]
    return "Marks: " + f"{_JOINING}· ".join(parts)


def glyph(kind: str) -> str:
    """The sign of a kind of mark."""
    return GLYPHS.get(kind, _OTHER)


def kind_of(mark: Mark) -> str:
    """What a mark is: its event, but for the end of a trial, which is a "try" as well."""
    if mark.kept is None:
        return mark.event
    return "kept" if mark.kept else "reverted"


def _places(marks: Sequence[Mark]) -> Iterator[tuple[float, bool]]:
    """Where each stands, which is where the run went on; and whether it went back since."""
    low = float("inf")
    found = []
    for mark in reversed(marks):
        place = float(mark.step if mark.to is None else mark.to)
        found.append((place, place > low))
        low = min(low, place)
    return reversed(found)


def _joined(marks: list[tuple[float, tuple[bool, str]]], apart: float) -> list[Sign]:
    found: list[Sign] = []
    for place, kind in sorted(marks):
        if found and place - found[-1].place < apart:
            found[-1].last = place
        else:
            found.append(Sign(place, place))
        found[-1].kinds.append(kind)
    return found


def _rank(kind: str) -> int:
    return _ORDER.index(kind) if kind in GLYPHS else len(_ORDER)
