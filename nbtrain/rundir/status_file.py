"""Reads and writes the status of a run in its folder, for other processes: `status.json`.

The run replaces the file about once a second and at each change of its phase. The file has the
fields of `Status`, and those of its writer:

{"nbtrain": 1, "attempt": "9f6c02d1", "host": "lab-3", "process": 4711,
 "process_started": 1790000000.25, "alive": 1790000321.5,
 "name": "digits", "phase": "running", "step": 1240, "total_steps": 10000, ...}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from nbtrain.core.states import Status
from nbtrain.core.values.direction import read as read_directions
from nbtrain.rundir import files
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.schema import WORDS, Misfit, made

FILE = "status.json"

# Seconds between two signs of life.
ALIVE_SECS = 1.0

# The beginning of the attempt of a process that was launched and has not started its run yet.
LAUNCH = "launch-"

# The most checkpoints in the file, the newest. The folder and the journal have all of them.
CHECKPOINTS = 100

# A time of a sign of life is below this many seconds since the epoch: until the year 36,812.
_LATEST = 2.0**40


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that trains.

    Attributes:
        attempt: Identifies this start of the run.
        host: The name of its machine.
        process: Its number there.
        process_started: When the process started, in seconds since the epoch: a number may be
            used again by another process.
    """

    attempt: str
    host: str
    process: int
    process_started: float

    @property
    def launched(self) -> bool:
        """True if the process was launched and has not started its run yet."""
        return self.attempt.startswith(LAUNCH)

    def __str__(self) -> str:
        """Names the process: `process 4711 on lab-3`."""
        return f"process {self.process} on {self.host}"


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """The contents of `status.json`.

    Attributes:
        writer: The process that wrote it.
        alive: When it wrote it, in seconds since the epoch, by the clock of its machine.
        status: The status of the run.
    """

    writer: Writer
    alive: float
    status: Status


def write(folder: Path, sign: SignOfLife) -> None:
    """Replaces the file.

    Raises:
        OSError: The file cannot be written.
    """
    files.replace(folder / FILE, fields_of(sign, folder), sync=False)


def fields_of(sign: SignOfLife, folder: Path) -> dict[str, Any]:
    """Returns the fields of the file."""
    newest = sign.status.checkpoints[-CHECKPOINTS:]
    held = tuple(replace(each, path=_relative(each.path, folder)) for each in newest)
    status = plain(replace(sign.status, checkpoints=held))
    return {"nbtrain": 1, **plain(sign.writer), "alive": round(sign.alive, 3), **status}


def read(folder: Path) -> SignOfLife:
    """Returns the contents of the file.

    Raises:
        OSError: The file does not exist, or cannot be read.
        Untrusted: The file is not the status of a run.
    """
    found = files.read(f"{folder}/{FILE}")
    try:
        writer, status = made(Writer, found), made(Status, found)
        alive = made(float, found.get("alive"))
    except Misfit as error:
        raise Untrusted(f"it is not the status of a run: {error}") from None
    if not (0 <= alive < _LATEST and 0 <= writer.process_started < _LATEST):
        raise Untrusted("it is not the status of a run: its time is out of range")
    held = tuple(replace(each, path=str(folder / each.path)) for each in status.checkpoints)
    directions = read_directions(status.directions).told
    return SignOfLife(writer, alive, replace(status, checkpoints=held, directions=directions))


def alive(folder: Path) -> float | None:
    """Returns the time of the last sign of life in a folder; None if it cannot be read now."""
    try:
        return read(folder).alive
    except (OSError, Untrusted):
        return None


def _relative(path: str, folder: Path) -> str:
    """Returns the path as seen from the folder, which may be mounted elsewhere."""
    return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else path


def plain(value: Any) -> Any:
    """Returns a value for JSON: a dataclass as an object of its fields.

    JSON lacks some numbers, which become words: "NaN", "Infinity".
    """
    match value:
        case str() | bool() | None:
            return str(value) if isinstance(value, str) else value
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case Integral():  # also a number of NumPy, which JSON cannot encode
            return int(value)
        case Real() if not isinstance(value, float):
            return plain(float(value))
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case Sequence():
            return [plain(each) for each in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def number(value: Any) -> Any:
    """Returns the number for a word of `plain`; returns any other value unchanged."""
    return WORDS.get(value, value) if isinstance(value, str) else value
