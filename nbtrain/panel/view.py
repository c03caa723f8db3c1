"""What to show of a status, in words: the same for the panel, its picture and a magic."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from nbtrain.core.commands import Receipt
from nbtrain.core.states import TRANSITIONS, Event, Phase, Status, Usage
from nbtrain.panel.validations import charts_of
from nbtrain.rundir.folder import ASIDE

Fields = dict[str, object]

# Receipts that the panel lists: the last few clicks.
SHOWN_RECEIPTS = 4

# Checkpoints that it offers, the newest: with keep=None there may be thousands.
SHOWN_CHECKPOINTS = 20

# Hyperparameters that have a row; `run.set` reaches the others too.
SHOWN_HYPERPARAMETERS = 8

# Characters of a message and of a receipt: they travel within one update, and are to be read.
# The status and the receipt themselves have the whole text.
MESSAGE_CHARS = 1200
RECEIPT_CHARS = 300
LOG_CHARS = 800


def answers(receipts: Sequence[Receipt], clicks: Mapping[int, str] | None = None) -> list[Fields]:
    """What became of the latest commands.

    Args:
        receipts: Their receipts, the newest last.
        clicks: The front end's own id of a click, by the number of its receipt.
    """
    return [
        _receipt(receipt, (clicks or {}).get(receipt.number))
        for receipt in list(receipts)[-SHOWN_RECEIPTS:]
    ]


def fields(status: Status, receipts: Sequence[Fields] = ()) -> Fields:
    """Everything the front end shows besides the curves.

    Args:
        status: How the run stands.
        receipts: The answers to its latest commands, taken before the status: so what they
            say was done, the status shows.
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
            [_named(checkpoint.path), checkpoint.step, round(checkpoint.wall_time, 1)]
            for checkpoint in reversed(status.checkpoints[-SHOWN_CHECKPOINTS:])
        ],
        "unlisted": len(status.checkpoints[:-SHOWN_CHECKPOINTS]),  # older ones
        "controls": controls(status),
        "receipts": list(receipts),
        "hyperparameters": [
            [each.name, each.lowest, each.highest, str(each.scale)] for each in tuned
        ],
        "values": [plain(each.value) for each in tuned],  # of these, in this order
        "rates": [None if each.rate is None else number(each.rate) for each in tuned],
        "message": status.message and cut(status.message, MESSAGE_CHARS),
        "notice": status.notice and cut(status.notice, RECEIPT_CHARS),
        "error": status.error,
        "failure": status.failure and cut(status.failure, RECEIPT_CHARS),
        "log": _newest(status.log),
        "usage": status.usage and used(status.usage),
    }


def _newest(lines: Sequence[str]) -> str:
    """The newest lines of a log, as many as fit."""
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
    """Which buttons can do something in this phase; of some, only where the run has such."""
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
    """Where the time goes, in whole percents, and what the process takes."""
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
    """A size: "1.2 GB", or "1.2 of 8.0 GB"."""
    if limit is not None:
        return f"{count / 1e9:.1f} of {limit / 1e9:.1f} GB"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def headline(status: Status) -> str:
    """Name, phase and numbers in one line of text."""
    numbers = [f"{label} {text}" for label, text in line(status)]
    return " · ".join([status.name, str(status.phase), *numbers])


def number(value: float) -> str:
    """A value with four digits; what is not finite by its name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4g}"


def last_value(status: Status, tag: str) -> str:
    """The last value of a tag; with its step where it is from before the latest start."""
    at = status.values_at.get(tag)
    return number(status.values[tag]) + ("" if at is None else f" (step {at:,})")


def plain(value: float) -> float | str:
    """The value as JSON has it: what is not finite by its name."""
    return value if math.isfinite(value) else number(value)


def speed(steps_per_s: float) -> str:
    """A speed, turned over where a step takes longer than a second."""
    if 0 < steps_per_s < 1:
        return f"{1 / steps_per_s:.1f} s/step"
    return f"{steps_per_s:,.0f} steps/s" if steps_per_s >= 10 else f"{steps_per_s:.1f} steps/s"


def duration(seconds: float) -> str:
    """Seconds as `1:02:03`, or `2:03` below an hour."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def cut(text: str, limit: int) -> str:
    """The text; where it has more than `limit` characters, its beginning and its end.

    Both in whole words, but for very long ones. The end is the longer part: in a stack or a
    traceback it is what happened last.
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


def short(path: str) -> str:
    """A checkpoint's own name, without its folder."""
    return Path(path).name


def _named(path: str) -> str:
    """A checkpoint's own name; that of a copy with its folder before it."""
    folder = Path(path).parent.name
    return f"{folder}/{short(path)}" if folder in ASIDE else short(path)
