"""Formats a status for display, in the same words for the panel, its picture and a magic."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

from nbtrain.core.commands import Receipt
from nbtrain.core.states import TRANSITIONS, Event, Phase, Status, Usage
from nbtrain.panel.validations import charts_of
from nbtrain.rundir.timeline import name_of

Fields = dict[str, object]

# Receipts that the panel lists: the last few clicks.
SHOWN_RECEIPTS = 4

# The newest checkpoints that the panel offers: with keep=None there may be thousands.
SHOWN_CHECKPOINTS = 20

# Hyperparameters that have a row; `run.set` reaches the others too.
SHOWN_HYPERPARAMETERS = 8

# The most characters of a message or receipt sent in one update. The status and the receipt
# themselves have the whole text.
MESSAGE_CHARS = 1200
RECEIPT_CHARS = 300
LOG_CHARS = 800


def answers(receipts: Sequence[Receipt], clicks: Mapping[int, str] | None = None) -> list[Fields]:
    """Describes the results of the latest commands.

    Args:
        receipts: Their receipts, the newest last.
        clicks: The front end's own id of each click, by the number of its receipt.
    """
    return [
        _receipt(receipt, (clicks or {}).get(receipt.number))
        for receipt in list(receipts)[-SHOWN_RECEIPTS:]
    ]


def fields(status: Status, receipts: Sequence[Fields] = ()) -> Fields:
    """Returns everything that the front end shows besides the curves.

    Args:
        status: The status of the run.
        receipts: The answers to its latest commands. Take them before the status, so that the
            status shows their effects.
    """
    total = status.total_steps
    tuned = status.hyperparameters[:SHOWN_HYPERPARAMETERS]
    return {
        "name": status.name,
        "engine": status.engine,
        "phase": str(status.phase),
        "step": status.step,
        "total": total,
        "progress": min(1.0, status.step / total) if total else None,
        "line": line(status),
        "last": {tag: last_value(status, tag) for tag in status.values},
        "validations": charts_of(status.values),
        "checkpoints": [
            [name_of(each.path), each.step, round(each.wall_time, 1), each.abandoned]
            for each in reversed(status.checkpoints[-SHOWN_CHECKPOINTS:])
        ],
        "controls": controls(status),
        "receipts": list(receipts),
        "hyperparameters": [
            [each.name, each.lowest, each.highest, str(each.scale)] for each in tuned
        ],
        "values": [plain(each.value) for each in tuned],  # in the order of these
        "rates": [None if each.rate is None else number(each.rate) for each in tuned],
        "message": status.message and cut(status.message, MESSAGE_CHARS),
        "notice": status.notice and cut(status.notice, RECEIPT_CHARS),
        "error": status.error,
        "failure": status.failure and cut(status.failure, RECEIPT_CHARS),
        "log": _newest(status.log),
        "usage": status.usage and used(status.usage),
    }


def _newest(lines: Sequence[str]) -> str:
    """The newest lines of a log that fit."""
    shown: list[str] = []
    room = LOG_CHARS
    for text in reversed(lines):
        room -= len(text) + 1
        if room < 0 and shown:
            break
        shown.append(cut(text, LOG_CHARS))
    return "\n".join(reversed(shown))


def line(status: Status) -> list[tuple[str, str]]:
    """The numbers of the head line: label and text."""
    total = status.total_steps
    pairs = [("step", f"{status.step:,}" + (f" of {total:,}" if total else ""))]
    if status.steps_per_s is not None:
        pairs.append(("speed", speed(status.steps_per_s)))
    if status.eta_s is not None:
        pairs.append(("left", duration(status.eta_s)))
    pairs.append(("elapsed", duration(status.elapsed_s)))
    if status.threads:
        pairs.append(("threads", str(len(status.threads))))
    return pairs


def controls(status: Status) -> dict[str, bool]:
    """Tells which buttons have an effect in this phase."""
    allowed = TRANSITIONS[status.phase]
    at_boundaries = status.phase in (Phase.PREPARING, Phase.RUNNING, Phase.PAUSED)
    return {
        "pause": Event.PAUSE in allowed,
        "resume": Event.RESUME in allowed,
        "stop": Event.STOP in allowed,
        "save": at_boundaries,
        "restore": at_boundaries and bool(status.checkpoints),
        "set": at_boundaries and bool(status.hyperparameters),
        **({"try": at_boundaries} if status.hyperparameters else {}),
        **({"evaluate": at_boundaries} if status.evaluates else {}),
    }


def used(usage: Usage) -> Fields:
    """The use of time, in whole percents, and of resources."""
    process = [f"CPU {usage.cpu:.0%}", f"memory {_bytes(usage.memory, usage.memory_limit)}"]
    if usage.gpu_memory is not None:
        process.append(f"GPU memory {_bytes(usage.gpu_memory)}")
    return {
        "shares": [
            [kind, percent]
            for kind, share in usage.shares.items()
            if (percent := round(100 * share)) > 0
        ],
        "beside": f"display {usage.display:.0%}" if usage.display >= 0.005 else "display <1%",
        "process": " · ".join(process),
    }


def _bytes(count: int, limit: int | None = None) -> str:
    """Formats a size: "1.2 GB", or "1.2 of 8.0 GB"."""
    if limit is not None:
        return f"{count / 1e9:.1f} of {limit / 1e9:.1f} GB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def headline(status: Status) -> str:
    """Formats name, phase and numbers as one line of text."""
    numbers = [f"{label} {text}" for label, text in line(status)]
    return " · ".join([status.name, str(status.phase), *numbers])


def number(value: float) -> str:
    """Formats a value with four digits; NaN and infinities by name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4g}"


def last_value(status: Status, tag: str) -> str:
    """The last value of a tag, with its step if it is from before the latest start."""
    at = status.values_at.get(tag)
    return number(status.values[tag]) + ("" if at is None else f" (step {at:,})")


def plain(value: float) -> float | str:
    """Converts a value for JSON; NaN and infinities by name."""
    return value if math.isfinite(value) else number(value)


def speed(steps_per_s: float) -> str:
    """Formats a speed, as seconds per step if a step takes longer than a second."""
    if 0 < steps_per_s < 1:
        return f"{1 / steps_per_s:.1f} s/step"
    return f"{steps_per_s:,.0f} steps/s" if steps_per_s >= 10 else f"{steps_per_s:.1f} steps/s"


def duration(seconds: float) -> str:
    """Formats seconds as `1:02:03`, or `2:03` below an hour."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def cut(text: str, limit: int) -> str:
    """Shortens a text of more than `limit` characters to its beginning and its end.

    Cuts between words unless they are very long. The end is the longer part: in a stack or
    traceback it says what happened last.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    first = re.sub(r"\s\S{0,20}$", "", text[: head + 1])[:head]
    last = re.sub(r"^\S{0,20}\s", "", text[head + 2 - limit :])[head + 3 - limit :]
    return f"{first} … {last}"


def last_of(fields: Fields) -> Mapping[str, str]:
    """The last value of every tag, as text."""
    return cast("Mapping[str, str]", fields.get("last", {}))


def _receipt(receipt: Receipt, click: str | None) -> Fields:
    outcome = receipt.outcome
    if outcome is None:
        return {"id": click, "command": receipt.name, "state": "requested", "text": "requested"}
    state = "applied" if outcome.applied else "refused"
    text = f"{cut(outcome.text, RECEIPT_CHARS)} (step {outcome.step:,})"
    return {"id": click, "command": receipt.name, "state": state, "text": text}
