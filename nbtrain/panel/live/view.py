"""Formats a status for display, in the same words for the panel, its picture and a magic."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import cast

from nbtrain.core.command_states import REQUESTED
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import TRANSITIONS, Checkpoint, Event, Phase, Status, Usage
from nbtrain.core.text.log_lines import LogLines
from nbtrain.core.values.config import Config, word_of
from nbtrain.core.values.direction import is_highest, read
from nbtrain.core.values.side_tags import metrics
from nbtrain.logdir.run_media import RunMedia
from nbtrain.panel.live import media_wire
from nbtrain.panel.live.epochs import Point
from nbtrain.panel.live.log_wire import extent
from nbtrain.panel.live.server import path_below_root
from nbtrain.panel.live.task_table import table_of
from nbtrain.panel.live.trial_table import without_results
from nbtrain.panel.validations import charts_of
from nbtrain.panel.wording import cut, duration, number, plain, speed
from nbtrain.rundir.mailbox import Address
from nbtrain.rundir.timeline import is_copy, name_of, on_the_way
from nbtrain.steer.learning_rate import rate_of

Fields = dict[str, object]

# Receipts that the panel lists: the last few clicks.
SHOWN_RECEIPTS = 4

# The newest checkpoints that the panel lists: with keep=None there may be thousands.
SHOWN_CHECKPOINTS = 20

# Hyperparameters that have a row; `run.set` reaches the others too.
SHOWN_HYPERPARAMETERS = 8

# The most entries of the config that are sent to the page.
SHOWN_CONFIG = 100

# The most characters of a message or receipt sent in one update. The status and the receipt
# themselves have the whole text.
MESSAGE_CHARS = 1200
RECEIPT_CHARS = 300
_BY_CHARS = 60


def answers(receipts: Sequence[Receipt]) -> list[Fields]:
    """Describes the results of the latest commands.

    Args:
        receipts: The receipts of the commands, the newest last.
    """
    return [_receipt(receipt) for receipt in list(receipts)[-SHOWN_RECEIPTS:]]


def fields(
    status: Status,
    receipts: Sequence[Fields] = (),
    mailbox: Address | None = None,
    *,
    trained_by: str | None = None,
    log: LogLines | None = None,
    epochs: Sequence[Point] = (),
    media: RunMedia | None = None,
    open_nan: int | None = None,
) -> Fields:
    """Returns everything that the front end shows besides the curves.

    Args:
        status: The status of the run.
        receipts: The answers to the latest commands. Read them before the status, so that the
            status shows their effects.
        mailbox: The run's mailbox, which a page may reach without the kernel.
        trained_by: The process that trains; None for this process.
        log: The lines of the run's log.
        epochs: The run's epochs: see `Epochs.points`.
        media: The run's pictures and media.
        open_nan: The number of the mark that the status's message is about: see `MarkActions`.
    """
    total = status.total_steps
    tuned = status.hyperparameters[:SHOWN_HYPERPARAMETERS]
    latest = _latest(status.checkpoints)
    return {
        "name": status.name,
        "engine": status.engine,
        "trained_by": trained_by,
        "phase": str(status.phase),
        "step": status.step,
        "total": total,
        "progress": min(1.0, status.step / total) if total else None,
        "epochs": [*epochs],
        "line": line(status),
        "last": {tag: last_value(status, tag) for tag in status.values},
        "validations": charts_of(status.values),
        "higher": _higher(tuple(status.values), tuple(status.directions.items())),
        "checkpoints": [
            [name_of(each.path), each.step, round(each.wall_time, 1), each.abandoned]
            for each in _listed(status.checkpoints)
        ],
        "latest": latest and name_of(latest.path),
        "controls": controls(status),
        "receipts": list(receipts),
        "hyperparameters": [
            [each.name, each.lowest, each.highest, str(each.scale)] for each in tuned
        ],
        "values": [plain(each.value) for each in tuned],  # in the order of these
        "rate": rate_of(each.name for each in tuned),
        "rates": [None if each.rate is None else number(each.rate) for each in tuned],
        "open_nan": open_nan,
        "message": status.message and cut(status.message, MESSAGE_CHARS),
        "notice": status.notice and cut(status.notice, RECEIPT_CHARS),
        "error": status.error,
        "failure": status.failure and cut(status.failure, RECEIPT_CHARS),
        "log": None if log is None else extent(log),
        "media": None if media is None else media_wire.extent(media),
        "usage": status.usage and used(status.usage),
        "tasks": table_of(status.tasks),
        "tags": list(status.tags),
        "config": _config(status.config) if status.config else None,
        "mailbox": mailbox and _place(mailbox),
    }


def _config(config: Config) -> Fields:
    entries = [
        [name, word_of(value)] for name, value in itertools.islice(config.items(), SHOWN_CONFIG)
    ]
    return {"entries": entries, "more": len(config) - len(entries)}


@functools.lru_cache(64)
def _place(mailbox: Address) -> Fields:
    """Describes a mailbox for a page, which writes to it without the kernel.

    A page of JupyterLab knows the root of its server, as a path or as `~/work`, with symbolic links
    or without, so the description contains all forms. Pages of Notebook and nbclassic do not.
    """
    folder = os.path.normpath(mailbox.folder)
    home = os.path.expanduser("~")  # noqa: PTH111 - Path's raises for a user without a home
    return {
        "folders": list(dict.fromkeys((folder, os.path.realpath(folder)))),
        "homes": list(dict.fromkeys((home, os.path.realpath(home)))),
        "path": path_below_root(folder),
        "attempt": mailbox.attempt,
    }


@functools.lru_cache(16)
def _higher(tags: tuple[str, ...], known: tuple[tuple[str, str], ...]) -> dict[str, bool]:
    """Returns for each metric whether its best value is the highest; unknown ones are left out."""
    directions = read(dict(known))
    found = {tag: is_highest(directions.of(tag)) for tag in metrics(tags)}
    return {tag: higher for tag, higher in found.items() if higher is not None}


def _listed(held: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Returns the newest checkpoints first, and always the one that a plain restore uses."""
    newest = list(reversed(held[-SHOWN_CHECKPOINTS:]))
    latest = _latest(held)
    return newest if latest is None or latest in newest else [*newest, latest]


def _latest(held: Sequence[Checkpoint]) -> Checkpoint | None:
    """Returns the checkpoint that a plain restore uses; None if there are only copies."""
    own = on_the_way([each for each in held if not is_copy(each.path)])
    return own[-1] if own else None


def line(status: Status) -> list[tuple[str, str]]:
    """Returns the numbers of the head line: label and text."""
    total = status.total_steps
    pairs = [("step", _of(status.step, total))]
    if status.epoch is not None and status.epochs != 1:
        pairs.insert(0, ("epoch", _of(status.epoch, status.epochs)))
    if status.steps_per_s is not None:
        pairs.append(("speed", speed(status.steps_per_s)))
    if status.eta_s is not None:
        pairs.append(("left", duration(status.eta_s)))
    pairs.append(("elapsed", duration(status.elapsed_s)))
    if status.threads:
        pairs.append(("threads", str(len(status.threads))))
    if status.mirror:
        pairs.append(("mirror", status.mirror))
    if status.tasks:
        pairs.append(("tasks", str(len(status.tasks))))
    return pairs


def _of(number: int, total: int | None) -> str:
    """Formats a count: "1,240", or "1,240 of 10,000"."""
    return f"{number:,} of {total:,}" if total else f"{number:,}"


def controls(status: Status) -> dict[str, bool]:
    """Returns which buttons have an effect in this phase."""
    allowed = TRANSITIONS[status.phase]
    at_boundaries = status.phase in (Phase.PREPARING, Phase.RUNNING, Phase.PAUSED)
    return {
        "pause": Event.PAUSE in allowed,
        "resume": Event.RESUME in allowed,
        "stop": Event.STOP in allowed,
        "save": at_boundaries,
        "restore": at_boundaries and bool(status.checkpoints),
        "set": at_boundaries and bool(status.hyperparameters),
        **dict.fromkeys(("why_slow", "look_inside"), status.phase in (Phase.RUNNING, Phase.PAUSED)),
        "note": status.phase is not Phase.CREATED,
        **({"try": at_boundaries} if status.hyperparameters else {}),
        **({"evaluate": at_boundaries} if status.evaluates else {}),
    }


def used(usage: Usage) -> Fields:
    """Describes the use of time, in whole percents, and of resources."""
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


def last_value(status: Status, tag: str) -> str:
    """Returns the last value of a tag, with its step if it is from before the latest start."""
    at = status.values_at.get(tag)
    return number(status.values[tag]) + ("" if at is None else f" (step {at:,})")


def last_of(fields: Fields) -> Mapping[str, str]:
    """Returns the last value of every tag, as text."""
    return cast("Mapping[str, str]", fields.get("last", {}))


def _receipt(receipt: Receipt) -> Fields:
    outcome, key = receipt.outcome, receipt.sender.id or None
    if outcome is None:
        return {"id": key, "command": receipt.name, "state": REQUESTED, "text": "requested"}
    by = f", asked by {cut(receipt.sender.by, _BY_CHARS)}" if receipt.sender.by else ""
    # The panel shows the results of a trial of several values, and remarks, below the receipts.
    result = without_results(outcome.text).partition("; ")[0] if outcome.arms else outcome.text
    text = f"{cut(result, RECEIPT_CHARS)} (step {outcome.step:,}{by})"
    return {"id": key, "command": receipt.name, "state": outcome.state, "text": text}
