"""Finds the last step of a run by reading only the end of its event file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nbtrain.core import own_files
from nbtrain.tfevents import messages
from nbtrain.tfevents.framing import frames_in, next_frame
from nbtrain.tfevents.names import ENDING

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

# Bytes that are read from the end; the next larger number if they contain no step. Enough for a
# hundred steps of a loss, or for a large histogram.
_ENDS = (1 << 13, 1 << 18, 1 << 22)


def last_step(folder: Path) -> int:
    """Returns the last step in a run's newest event file, without abandoned steps; 0 without one.

    A long run has gigabytes of events, and a folder may contain hundreds of runs.
    """
    for path in sorted(folder.glob(f"*{ENDING}"), reverse=True):
        for size in _ENDS:
            with contextlib.suppress(OSError):
                step = _last(_events(path, size))
                if step is not None:
                    return step
    return 0


def _events(path: Path, size: int) -> Iterator[Event]:
    """Yields the complete events among the last bytes of a file."""
    with own_files.opened(path) as file:
        begin = max(0, os.fstat(file.fileno()).st_size - size)
        file.seek(begin)
        data = np.frombuffer(file.read(size), np.uint8)
    if begin:  # which may be within a record
        first = next_frame(data)
        data = data[len(data) if first is None else first :]
    frames = frames_in(data)
    for start, length in zip(frames.starts.tolist(), frames.lengths.tolist(), strict=True):
        with contextlib.suppress(ValueError):
            yield messages.event(data[start : start + length].tobytes())


def _last(events: Iterator[Event]) -> int | None:
    """Returns the step after these events."""
    last = None
    for event in events:
        if event.session_log.status == event.session_log.START:
            last = event.step - 1  # the mark has the next step
        elif event.step and event.HasField("summary"):
            last = event.step if last is None else max(last, event.step)
    return last
