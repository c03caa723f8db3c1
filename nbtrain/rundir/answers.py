"""Converts the answer to a command to plain data, for the mailbox and the command line.

fields_of("set", outcome)     # {"command": "set", "state": "applied", "step": 300, "text": "..."}
fields_of_entry(entry)        # the same, from the line in the journal
outcome_of(fields)            # the outcome; None if it is still awaited
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nbtrain.core.command_states import APPLIED, REFUSED
from nbtrain.core.receipts import Outcome
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.rundir.entries import Entry, arms_in, edits_of, numbers_of
from nbtrain.rundir.status_file import number, plain


def fields_of(command: str, outcome: Outcome) -> dict[str, Any]:
    """Returns the answer to a command of this name."""
    edits = {edit.name: [plain(edit.old), plain(edit.new)] for edit in outcome.edits}
    return {
        "command": command,
        "state": outcome.state,
        "step": outcome.step,
        "text": outcome.text,
        **({"edits": edits} if edits else {}),
        **({} if outcome.kept is None else {"kept": outcome.kept}),
        **({"arms": [*map(fields_of_arm, outcome.arms)]} if outcome.arms else {}),
        **({"curve": [[*point] for point in outcome.curve]} if outcome.curve else {}),
        **({"answer": dict(outcome.answer)} if outcome.answer else {}),
    }


def fields_of_arm(arm: ArmResult) -> dict[str, Any]:
    """Returns the result of one arm of a trial."""
    return {
        "name": arm.name,
        "values": {name: plain(value) for name, value in arm.values.items()},
        "tag": arm.tag,
        "before": plain(arm.before),
        "after": [*map(plain, arm.after)],
        **({"note": arm.note} if arm.note else {}),
        **({"kept": True} if arm.kept else {}),
    }


def fields_of_entry(entry: Entry) -> dict[str, Any]:
    """Returns the answer to a command from its line in the journal."""
    state = APPLIED if entry.get("applied", True) else REFUSED
    return fields_of(entry["event"], _outcome({**entry, "state": state}))


def outcome_of(fields: Mapping[str, Any]) -> Outcome | None:
    """Returns the outcome in an answer; None if it is still awaited."""
    return _outcome(fields) if fields.get("state") in (APPLIED, REFUSED) else None


def _outcome(fields: Mapping[str, Any]) -> Outcome:
    step, kept, edits = fields.get("step"), fields.get("kept"), fields.get("edits")
    if isinstance(edits, dict):
        edits = {name: [*map(number, pair)] for name, pair in edits.items() if type(pair) is list}
    return Outcome(
        applied=fields["state"] == APPLIED,
        step=step if type(step) is int else 0,
        text=str(fields.get("text", "")),
        edits=tuple(Edit(*edit) for edit in edits_of({"edits": edits})),
        kept=kept if isinstance(kept, bool) else None,
        arms=results_in(fields),
        curve=_curve(fields.get("curve")),
        answer=answer if isinstance(answer := fields.get("answer"), dict) else {},
    )


def results_in(fields: Mapping[str, Any]) -> tuple[ArmResult, ...]:
    """Returns the results of the arms of a trial in an answer or an entry; empty for others."""
    return tuple(_arm(each) for each in arms_in(fields))


def _curve(points: object) -> tuple[tuple[float, float], ...]:
    pairs = [pair for pair in points if type(pair) is list] if isinstance(points, list) else []
    return tuple((_float(pair[0]), _float(pair[1])) for pair in pairs if len(pair) == 2)


def _arm(fields: Mapping[str, Any]) -> ArmResult:
    after = fields.get("after")
    return ArmResult(
        name=str(fields.get("name", "")),
        values=numbers_of({name: number(each) for name, each in fields["values"].items()}),
        tag=str(fields.get("tag", "")),
        before=_float(fields.get("before")),
        after=tuple(map(_float, after)) if isinstance(after, list) else (),
        note=str(fields.get("note", "")),
        kept=fields.get("kept") is True,
    )


def _float(value: object) -> float:
    return numbers_of({"": number(value)}).get("", math.nan)
