"""The iterators of a `tf.data` pipeline: that of the pass at hand, and that of the next."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

# How often, and how long, the end of an iterator waits for whoever is dropping it; and the
# references that remain then, the list's and that of the call which counts them.
_LOOK_SECS, _MOST_SECS = 0.1, 60.0
_OWN = 2

_NEXT = "besides/next/.ATTRIBUTES/ITERATOR_STATE"


class Iterators:
    """Iterators whose states are saved, and restored, beside a model; training thread only.

    The state of an iterator tells the order of its pass, and, as long as it has not come to the
    end of what it shuffles, that of the passes after it. So at a save the iterator of the next
    pass is there already, and is saved as well; not before, for a pipeline with a `cache()`
    decides then whether it has one, and so not before the first element either.

    Args:
        begin: Gives the iterator of a new pass.
        again: Whether there is a further pass after each.

    Attributes:
        at_hand: The iterator to draw from, once there is one.
    """

    def __init__(self, begin: Callable[[], Any], *, again: bool) -> None:
        self.at_hand: Any = None
        self._next: Any = None
        self._begin, self._again = begin, again

    def start(self) -> None:
        """Begin a pass, whatever is left of the one at hand."""
        self.at_hand, self._next = self._new(), None

    def turn(self) -> None:
        """The pass is over: have the iterator of the next."""
        self.at_hand, self._next = self._next or self._new(), None

    def _new(self) -> Any:
        return ended_apart(self._begin())

    def saved(self, *, begun: bool = True) -> dict[str, Any]:
        """What is to be saved, by its names; nothing where there is no pass yet.

        Args:
            begun: Whether an element has been drawn.
        """
        if not self._again or not begun or self.at_hand is None:
            return {} if self.at_hand is None else {"iterator": self.at_hand}
        self._next = self._next or self._new()
        return {"iterator": self.at_hand, "next": self._next}

    def restore(self, path: str) -> None:
        """Be where they were when a checkpoint was written, which holds them as `besides`.

        Raises:
            tf.errors.OpError: Their states are those of another pipeline.
        """
        self.start()
        begun = tf.train.load_checkpoint(path).has_tensor(_NEXT)
        # One by one: the last knows the order of the passes to come.
        for name, iterator in self.saved(begun=begun).items():
            besides = tf.train.Checkpoint(**{name: iterator})
            tf.train.Checkpoint(besides=besides).restore(path).expect_partial()


def ended_apart(iterator: Any) -> Any:
    """The iterator of a `tf.data` pipeline, which will be ended on a thread of its own.

    To end one is to wait for the thread that tunes the pipeline. That is not always woken then,
    and sleeps on for as long as the iterator has lived, up to a minute (TensorFlow 2.21). So would
    whoever drops it last, be it the garbage collector in the midst of a step.

    Args:
        iterator: It; what is none, or is distributed, stays as it is.
    """
    resource = getattr(iterator, "_iterator_resource", None)
    if resource is not None:
        weakref.finalize(iterator, _end_later, [resource]).atexit = False
    return iterator


def _end_later(resources: list[Any]) -> None:
    thread = threading.Thread(target=_end, args=(resources,), daemon=True)
    thread.name = "nbtrain: ending an iterator"
    with contextlib.suppress(RuntimeError):  # at the interpreter's end no thread begins any more
        thread.start()


def _end(resources: list[Any]) -> None:
    """Drop what an iterator held, once nobody else does: it is just being dropped elsewhere."""
    looks = int(_MOST_SECS / _LOOK_SECS)
    while looks and sys.getrefcount(resources[0]) > _OWN:
        looks -= 1
        time.sleep(_LOOK_SECS)
    resources.clear()
