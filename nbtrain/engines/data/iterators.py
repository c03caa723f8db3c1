"""The iterators of a `tf.data` pipeline: one for the current pass, and one for the next."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbtrain.engines.data.as_read import AsRead
from nbtrain.inner.tensorflow import resource_of

# Seconds between two checks, and their number, whether an iterator being dropped has only the
# references of the list and of the call that counts them.
_POLL_SECS, _POLLS = 0.1, 600
_OWN = 2

# The names of their states in a checkpoint.
NAMES = _AT_HAND, _NEXT = "iterator", "next"

# Why states cannot be saved, and why those of a checkpoint cannot be restored.
DISTRIBUTED = "the state of a distributed tf.data pipeline cannot be saved"
NO_STATE = "the checkpoint holds no state of this tf.data pipeline"
OTHER_PIPELINE = "the checkpoint holds the state of another tf.data pipeline"


class Iterators:
    """Iterators whose states are saved and restored with a model; training thread only.

    The state of an iterator determines the order of its pass. Until it reaches the end of the data
    that it shuffles, it also determines the order of later passes. So at a save, the iterator of
    the next pass is created and saved too. It must not be created earlier, nor before the first
    element: when an iterator is created, a pipeline with a `cache()` decides whether the cache is
    filled.

    Args:
        begin: Returns the iterator of a new pass.
        again: Whether passes can be repeated; also an attribute.
        endless: Whether a pass has no end, so that no other follows; also an attribute.
        spare: Whether to begin and drop a pass before each pass except the first. The order in
            which a pipeline shuffles depends on how many of its passes were begun.
        lost: Why their states cannot be saved, if that is known from the start.

    Attributes:
        at_hand: The iterator to draw from, once there is one.
        begun: Passes that were begun.
        lost: Why their states cannot be saved; None if they can.
    """

    def __init__(
        self,
        begin: Callable[[], Any],
        again: bool,
        *,
        endless: bool = False,
        spare: bool = False,
        lost: str | None = None,
    ) -> None:
        self.at_hand: Any = None
        self.lost = lost
        self._spare = spare
        self.again, self.begun = again, 0
        self._next: Any = None
        self._begin, self.endless = begin, endless

    def apart(self) -> Iterators:
        """Returns other iterators of the same data, none of which has begun."""
        return Iterators(
            self._begin, self.again, endless=self.endless, spare=self._spare, lost=self.lost
        )

    def start(self) -> None:
        """Begins a pass and drops the rest of the current one."""
        self.at_hand, self._next = self._new(), None

    def advance(self) -> None:
        """Ends the pass and moves on to the next iterator."""
        self.at_hand, self._next = self._next or self._new(), None

    def _new(self) -> Any:
        if self._spare and self.begun:
            ended_apart(self._begin())
        self.begun += 1
        return ended_apart(self._begin())

    def saved(self, *, drawn: bool) -> dict[str, Any]:
        """Returns the objects to save; empty if there is no pass yet, or if they cannot be saved.

        Args:
            drawn: Whether an element has been drawn.
        """
        if self.at_hand is None or self.lost is not None:
            return {}
        if self.endless or not self.again or not drawn:
            return {_AT_HAND: self.at_hand}
        self._next = self._next or self._new()
        return {_AT_HAND: self.at_hand, _NEXT: self._next}

    def lose(self, error: tf.errors.OpError) -> None:
        """Saves the states no longer, because of TensorFlow's error at a save."""
        reason = error.message.partition("}} ")[2].partition(" [Op:")[0] or error.message
        self.lost = f"the state of this tf.data pipeline cannot be saved ({reason.rstrip('. ')})"

    def restore(self, read: AsRead) -> str | None:
        """Restores the states that were read from a checkpoint; returns why it could not, or None.

        If the states are those of another pipeline, the next pass starts at its beginning.
        """
        if self.lost is not None:
            return self.lost
        if read.state(_AT_HAND) is None:
            return NO_STATE
        self.start()
        drawn = read.state(_NEXT) is not None
        try:
            # One by one: the last determines the order of later passes.
            for name, iterator in self.saved(drawn=drawn).items():
                tf.raw_ops.DeserializeIterator(
                    resource_handle=resource_of(iterator), serialized=read.state(name)
                )
        except tf.errors.OpError:
            if self.again:  # otherwise there is no other iterator
                self.at_hand = None
            return OTHER_PIPELINE
        return None


def ended_apart(iterator: Any) -> Any:
    """Returns an iterator, which will be destroyed in its own thread if it is of `tf.data`.

    Destroying an iterator waits for the thread that tunes the pipeline. That thread is not always
    woken then, and sleeps for as long as the iterator has lived, up to a minute (TensorFlow 2.21).
    The code that drops the last reference would wait too, even the garbage collector in the middle
    of a step.
    """
    resource = resource_of(iterator)
    if resource is not None:
        weakref.finalize(iterator, _end_later, [resource]).atexit = False
    return iterator


def _end_later(resources: list[Any]) -> None:
    name = "nbtrain: ending an iterator"
    thread = threading.Thread(target=_end, args=(resources,), name=name, daemon=True)
    with contextlib.suppress(RuntimeError):  # no thread can start at shutdown
        thread.start()


def _end(resources: list[Any]) -> None:
    """Drops an iterator's resources once nobody else is dropping it."""
    for _ in range(_POLLS):
        if sys.getrefcount(resources[0]) <= _OWN:
            break
        time.sleep(_POLL_SECS)
    resources.clear()
