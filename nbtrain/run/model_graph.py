"""Writes the graph of a run's model, or of several, to its event file, beside the training.

    training thread ── set ──▶ ModelGraph ── tick ──▶ event file

A start whose graph equals the newest graph in the folder does not write it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nbtrain.core.text.tracebacks import named
from nbtrain.logdir.run_media import RunMedia
from nbtrain.run.context import Context

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

# The most bytes of a graph. A board would take seconds to read a larger one.
MOST_BYTES = 32 << 20

# The most seconds of reading the folder at the end of a run, because a signal leaves little time.
# If that is not enough, the next start writes the graph.
LAST_SECS = 1.0

# Returns an event with the graph; a ValueError says why there is none.
Describe = Callable[[], "Event"]


class ModelGraph:
    """The graph of one start of a run."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._describes: tuple[Describe, ...] | None = None  # before `set`
        self._lock = threading.Lock()  # one writes at a time, and the end waits for it

    def set(self, *describes: Describe) -> None:
        """Sets the functions that describe the graphs; training thread only.

        Each is called once. Later calls are ignored: a start writes its graph once.
        """
        if describes and self._describes is None:
            self._describes = describes

    def tick(self, *, ends: bool = False) -> None:
        """Describes and writes the graph, after the first step has built the model.

        Called by the thread that encodes, and once more by the training thread at the end.

        Args:
            ends: Whether the run ends, so that there will be no later tick.
        """
        with self._lock:
            describes = self._describes or ()
            is_time = bool(describes) and self._is_time(ends=ends)
            if is_time or ends:  # nothing is written after the end
                self._describes = ()
            for describe in describes if is_time else ():
                self._write(describe)

    def _is_time(self, *, ends: bool) -> bool:
        """Returns whether a step was taken and the folder was read, with the file of this start."""
        context = self._context
        if ends:
            context.media.tick(to_end=True, secs=LAST_SECS)
        path = context.recorder.event_file
        is_read = path is not None and context.media.has_read(path)
        return is_read and (ends or context.steps.steps_done > 0)

    def _write(self, describe: Describe) -> None:
        """Writes the graph if it is new; informs the user if there is none."""
        context = self._context
        try:
            event = describe()
            if (size := event.ByteSize()) > MOST_BYTES:
                raise ValueError(f"it has {size:,} bytes, and at most {MOST_BYTES:,} are written")
        except Exception as error:  # noqa: BLE001 - the model is the user's own
            why = str(error) if isinstance(error, ValueError) else named(error)
            context.monitor.notices.inform_too(f"The boards show no graph of this model: {why}.")
            return
        if not _is_newest(context.media, event):
            event.wall_time = time.time()
            context.recorder.add_event(context.steps.step, event.SerializeToString())


def _is_newest(media: RunMedia, event: Event) -> bool:
    """Returns whether the newest graph of the folder is the same."""
    if event.summary.value:
        return bool(media.newest_graph(event.summary.value[0].tag) == event.summary.value[0])
    newest = media.newest_graph("graph")
    return newest is not None and newest.graph_def == event.graph_def
