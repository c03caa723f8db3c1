"""Chooses the signs of marks on the page and in the picture, and their places in the picture.

Periodic checkpoints have the lowest priority: they never move the sign of a nearby mark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nbtrain.rundir.journal import Mark

# In order of importance; a sign for several marks shows the first.
GLYPHS = {
    "nan": "×",
    "failed": "⊗",
    "recovery": "✚",
    "stage": "⚑",
    "restore": "◀",
    "reverted": "↺",
    "kept": "✓",
    "try": "◇",
    "lost": "⊖",
    "returned": "⊕",
    "undone": "≠",
    "set": "◆",
    "evaluate": "□",
    "why_nan": "?",
    "why_slow": "◷",
    "look_inside": "◎",
    "pause": "❚❚",
    "resume": "▶",
    "best": "★",
    "patience": "◌",
    "note": "✎",
    "save": "●",
    "checkpoint": "○",
}
_OTHER = "▪"
_JOINING = "\N{NO-BREAK SPACE}"
_ORDER = tuple(GLYPHS)
_BY_CADENCE = frozenset({"checkpoint"})


@dataclass(slots=True)
class Sign:
    """One or several marks at one position on the axis.

    Attributes:
        first, last: The steps of the leftmost and the rightmost mark.
        kinds: The event of each mark, and whether it was abandoned.
    """

    first: float
    last: float
    kinds: list[tuple[bool, str]] = field(default_factory=list)

    @property
    def place(self) -> float:
        """The step at which the sign is drawn."""
        return (self.first + self.last) / 2

    @property
    def abandoned(self) -> bool:
        """True if all marks of the sign were abandoned."""
        return all(abandoned for abandoned, _ in self.kinds)

    @property
    def text(self) -> str:
        """The glyph of the most important mark, and the number of marks.

        As on the page, periodic checkpoints count only if the sign has no other marks: a reader
        would understand ◆6 as six edits.
        """
        _, kind = min(self.kinds, key=lambda each: (each[0], rank(each[1])))
        count = sum(kind not in _BY_CADENCE for _, kind in self.kinds) or len(self.kinds)
        return glyph(kind) + (str(count) if count > 1 else "")


def beginning(marks: Sequence[Mark], first: float, last: float) -> float:
    """Returns the step at which an axis begins: the first mark or the first point.

    A mark that is further from the points than their own range is ignored, because it would shrink
    the curve.
    """
    far = max(1.0, last - first)
    return min([first, *(mark.place for mark in marks if mark.place >= first - far)])


def signs(marks: Sequence[Mark], low: float, high: float, apart: float) -> list[Sign]:
    """Returns the signs between two steps from left to right, no two closer than `apart`."""
    events: list[tuple[float, tuple[bool, str]]] = []
    others: list[tuple[float, tuple[bool, str]]] = []
    for mark in marks:
        if low <= mark.place <= high:
            kind = kind_of(mark)
            placed = (mark.place, (mark.abandoned, kind))
            (others if kind in _BY_CADENCE else events).append(placed)
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
    """Lists the signs with their counts; no sign is separated from its count by a line break.

    The counts include all marks, unlike the counts at the signs: see `Sign.text`.
    """
    counts = Counter(map(kind_of, marks))
    kinds = sorted(counts, key=lambda kind: (rank(kind), kind))
    many = {kind: f" ({count})" if count > 1 else "" for kind, count in counts.items()}
    parts = [f"{glyph(kind)} {kind}{many[kind]}".replace(" ", _JOINING) for kind in kinds]
    more = ". The number at a sign leaves out checkpoints beside it."
    mixed = _BY_CADENCE & counts.keys() and counts.keys() - _BY_CADENCE
    return "Marks: " + f"{_JOINING}· ".join(parts) + (more if mixed else "")


def glyph(kind: str) -> str:
    """Returns the sign of a kind of mark."""
    return GLYPHS.get(kind, _OTHER)


def kind_of(mark: Mark) -> str:
    """Returns the kind of a mark: its event, or "kept" or "reverted" for the end of a trial."""
    if mark.kept is None:
        return mark.event
    return "kept" if mark.kept else "reverted"


def _joined(marks: list[tuple[float, tuple[bool, str]]], apart: float) -> list[Sign]:
    found: list[Sign] = []
    for place, kind in sorted(marks):
        if found and place - found[-1].place < apart:
            found[-1].last = place
        else:
            found.append(Sign(place, place))
        found[-1].kinds.append(kind)
    return found


def rank(kind: str) -> int:
    """Returns the rank of a kind of mark; a sign for several marks shows the lowest rank."""
    return _ORDER.index(kind) if kind in GLYPHS else len(_ORDER)
