"""Describes the results of a trial of several values for the panel."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbtrain.core.values.arms import ArmResult
from nbtrain.panel.wording import cut, number

Fields = dict[str, object]

# The most rows besides that of the kept arm, and characters of a name and of a note: the journal
# has the whole result.
ROWS, CHARS = 20, 100

# In the text of an outcome, remarks on values that could not be paired follow the results.
_NOTES = re.compile("; (?=not paired: |the repeats had )")
_RESULTS = re.compile(r"(?: \(the others: |(?<=the choice is yours): |(?<=none was better): ).*")


def trial_of(arms: Sequence[ArmResult]) -> Fields | None:
    """Returns the results of the arms of a trial as a table; None without arms.

    It has the compared tag, the rows of trained arms, the number of the row that was kept, and how
    many arms have no row. A row has the name, the value before and after, the difference, the
    spread and a remark.
    """
    if not arms:
        return None
    trained = [arm for arm in arms if arm.after]
    shown = trained[:ROWS]
    shown += [arm for arm in trained[ROWS:] if arm.kept]
    rows = [
        [
            cut(arm.name, CHARS),
            number(arm.before),
            number(arm.mean),
            number(arm.difference),
            None if arm.spread is None else number(arm.spread),
            cut(arm.remark, CHARS),
        ]
        for arm in shown
    ]
    kept = next((at for at, arm in enumerate(shown) if arm.kept), None)
    more = len(trained) - len(shown)
    return {"tag": cut(arms[0].tag, CHARS), "rows": rows, "kept": kept, "more": more}


def without_results(text: str) -> str:
    """Returns the text of an outcome without the results that the table shows."""
    done, *notes = _NOTES.split(text)
    return "; ".join([_RESULTS.sub("", done), *notes])
