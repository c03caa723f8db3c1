"""Describes the results of a trial of several values for the panel."""

from __future__ import annotations

from collections.abc import Sequence

from nbtrain.core.arms import ArmResult
from nbtrain.panel.wording import cut, number

Fields = dict[str, object]

# The most rows, and the characters of a name and of a note: the journal has all of it.
ROWS, CHARS = 20, 100


def trial_of(arms: Sequence[ArmResult]) -> Fields | None:
    """Returns the tag that was compared, a row for each arm, and how many have none; or None.

    A row has the name, the value before and after, the difference, its spread and a note.
    """
    if not arms:
        return None
    rows = [
        [
            cut(arm.name, CHARS),
            number(arm.before),
            number(arm.mean),
            number(arm.difference),
            None if arm.spread is None else number(arm.spread),
            cut(arm.note, CHARS),
        ]
        for arm in arms[:ROWS]
    ]
    return {"tag": cut(arms[0].tag, CHARS), "rows": rows, "more": max(0, len(arms) - ROWS)}
