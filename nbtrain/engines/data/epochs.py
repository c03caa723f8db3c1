"""The data of a run, pass after pass, with a position that is saved and restored.

passes = EpochIterator(data, epochs=3)
    passes.take(path)           # restores the position of a checkpoint
    batches = passes.begin(run.handle)     # before the loop
    element = next(batches)     # the next element; StopIteration when the epochs are over
    passes.besides()            # the saved position, at a step boundary
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbtrain.core.epoch import Epoch
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.whole import whole
from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.beginning import beginning
from nbtrain.engines.data.iterators import NAMES, Iterators
from nbtrain.engines.data.pass_length import PassLength
from nbtrain.run.beside.time_usage import DrawTimes
from nbtrain.run.handle import LoopHandle

# The names of the position and of elements in a checkpoint, in all versions.
_POSITION, _UNDONE = "place", "undone"


class EpochIterator(Iterator[Any]):
    """The elements of data, pass after pass; training thread only.

    For a `tf.data` pipeline, the states of its iterators are saved. For other data, or if these
    states cannot be saved, the position is a number, and elements are drawn again up to it.

    Args:
        data: A `tf.data.Dataset`, a `tf.distribute.DistributedDataset`, another iterable, or a
            function that returns an iterator; these can be repeated. An iterator, from `tf.data` or
            another, can be used once.
        epochs: Passes over the data; None repeats without end.

    Attributes:
        specs: The spec of an element, as in `tf.data.Dataset.element_spec`, in a tuple; None if
            unknown.
    """

    def __init__(self, data: Any, epochs: int | None) -> None:
        begin, again = beginning(data)
        if epochs and epochs > 1 and not again:
            raise ArgumentError(
                f"epochs={epochs} with data={type(data).__name__} object, which ends once: give "
                "what each pass begins with, such as the tf.data.Dataset itself."
            )
        size = int(data.cardinality()) if isinstance(data, tf.data.Dataset) else -1
        if size == 0:
            raise ArgumentError("data is a dataset without an element: give one that has some.")
        spec = getattr(data, "element_spec", None)
        self.specs = None if spec is None else (spec,)
        self._length = PassLength(size if size > 0 else None, epochs)
        self._passes = epochs or (sys.maxsize if again else 1)
        self._epoch = self._number = 0  # passes that are over, elements drawn of the next
        self._iterators = Iterators(begin, again, endless=size == tf.data.INFINITE_CARDINALITY)
        # Why the states of the iterators cannot be saved; None if they can.
        self._lost: str | None = "the state of a distributed tf.data pipeline cannot be saved"
        if isinstance(data, (tf.data.Dataset, tf.data.Iterator)):
            self._lost = None
        self._behind = 0  # elements to draw again before the next
        self._ahead: list[Any] = []  # elements already drawn, which come first
        self._at_hand: tuple[int, list[Any]] = 0, []  # the current step and its elements
        self._loop: LoopHandle | None = None
        self._note: str | None = None

    @property
    def steps(self) -> int | None:
        """The elements of all passes; None if endless or unknown."""
        return self._length.total

    @property
    def epoch(self) -> Epoch | None:
        """The pass that it is in, or the last one; None if a pass has no end. Any thread."""
        if self._iterators.endless:
            return None
        count = None if self._passes == sys.maxsize else self._passes
        length, number = self._length, min(self._epoch + 1, self._passes)
        return Epoch(number, count, length.began, length.steps)

    # --- the loop -------------------------------------------------------------------

    def begin(self, loop: LoopHandle) -> Iterator[Any]:
        """Begins a loop in this start of the run; returns the iterator that it draws from."""
        self._ahead, self._at_hand = self._undone(), (loop.step, [])
        self._loop, self._length.began = loop, None
        if self._iterators.at_hand is None:
            self._iterators.start()
        loop.note("position", self._note)
        if self._epoch >= self._passes:
            ended, more = "The data have ended", "data"
            if self._iterators.again:
                ended, more = f"{self._epoch:,} of {self._passes:,} epochs are over", "epochs"
            loop.note(
                "epochs",
                f"{ended}: there is nothing left to train. Give more {more}=, or another name= to "
                "start from scratch.",
            )
        draws = DrawTimes(self)
        loop.time_usage.waits = draws
        return draws

    def __next__(self) -> Any:
        """Returns the next element.

        Raises:
            StopIteration: The epochs are over, or a stop came before the position was reached.
            ArgumentError: A pass has no elements.
        """
        assert self._loop is not None, "begin() comes first"
        step = self._loop.step
        at, elements = self._at_hand
        if at != step:
            elements = []
            self._at_hand = step, elements
        elif elements:
            self._length.single = False
        if self._length.began is None:
            self._length.begin(step - self._number + len(self._ahead))
        element = self._ahead.pop(0) if self._ahead else self._draw()
        elements.append(element)
        return element

    def _draw(self) -> Any:
        if self._epoch >= self._passes:
            raise StopIteration
        if self._behind:
            self._catch_up()
        while True:
            try:
                element = next(self._iterators.at_hand)
            except StopIteration:
                self._turn()
            else:
                self._number += 1
                return element

    def _catch_up(self) -> None:
        """Draws the elements that were trained before."""
        assert self._loop is not None, "begin() comes first"
        while self._behind:
            if self._loop.host.asked_to_stop():
                raise StopIteration
            self._behind -= 1
            if next(self._iterators.at_hand, self) is self:  # the data has become shorter
                self._behind = 0

    def _turn(self) -> None:
        """Ends the pass."""
        if not self._number:
            raise ArgumentError(
                f"data has no element in pass {self._epoch + 1:,}: give a "
                "tf.data.Dataset or a list, which iter() begins again each time, or a function "
                "that returns a new iterator at each call."
            )
        self._length.end(self._number)
        if self._epoch + 1 < self._passes:
            self._length.began = None if self._loop is None else self._loop.step
        self._epoch, self._number = self._epoch + 1, 0
        if self._iterators.again:
            self._iterators.turn()
        if self._epoch >= self._passes:
            raise StopIteration

    def _undone(self) -> list[Any]:
        """Elements that were drawn for a step that was not completed."""
        step, elements = self._at_hand
        at_step = self._loop is not None and self._loop.step == step
        return [*(elements if at_step else ()), *self._ahead]

    # --- the position ---------------------------------------------------------------

    @property
    def kept(self) -> bool:
        """True if the states of the iterators are saved."""
        return self._lost is None and not self._behind

    def lose(self, why: str) -> None:
        """Notes that they cannot be saved: from now on the position is a number."""
        self._lost = why

    def vary(self, repeat: int, steps: int) -> bool:
        """Moves on by the elements of earlier repeats, unless the data might end; if so, False."""
        if self._epoch + 1 >= self._passes:
            return False
        count = repeat * steps
        ahead = min(count, len(self._ahead))
        del self._ahead[:ahead]
        self._behind += count - ahead
        return True

    def besides(self) -> tf.train.Checkpoint:
        """Returns the objects that save the position."""
        undone = self._undone()
        found: dict[str, Any] = {}
        if self.kept:
            found = self._iterators.saved(drawn=bool(self._epoch or self._number))
            parts = tf.nest.flatten(undone, expand_composites=True)
            found[_UNDONE] = [tf.Variable(part, trainable=False) for part in parts]
        number = max(0, self._number - len(undone))
        held = {"epoch": self._epoch, "number": number, "kept": "iterator" in found}
        found[_POSITION] = tf.Variable(json.dumps(held), trainable=False)
        return tf.train.Checkpoint(**found)

    def take(self, path: str) -> None:
        """Restores the position of a checkpoint."""
        self.restore(position_in(path))

    def restore(self, read: AsRead) -> None:
        """Restores the position that was read from a checkpoint."""
        undone, self._note, self._length.began = self._undone(), None, None
        self._ahead, self._at_hand = [], (self._at_hand[0], [])
        if (position := read.value(_POSITION)) is None:
            self._ahead = undone
            self._say(
                "The checkpoint holds no position in the data: the data go on where they were."
            )
            return
        held = json.loads(position.numpy())
        epoch, number, why = held["epoch"], held["number"], self._lost
        if why is None and held["kept"]:
            try:
                self._iterators.restore(read)
                self._ahead = self._packed(read)
            except (tf.errors.OpError, ValueError):
                if self._iterators.again:  # otherwise there is no other
                    self._iterators.at_hand = None
                why = "the checkpoint holds the state of another tf.data pipeline"
            else:
                self._epoch, self._number = epoch, number + len(self._ahead)
                self._behind = 0
                self._say(None)
                return
        why = why or "the checkpoint holds no state of this tf.data pipeline"
        self._go_to(epoch, number, undone, why)

    def _go_to(self, epoch: int, number: int, undone: list[Any], why: str) -> None:
        """Goes to this element of this pass by drawing again; `undone` was drawn last."""
        drawn = self._number - self._behind
        here, there = (self._epoch, drawn - len(undone)), (epoch, number)
        iterators = self._iterators
        if not iterators.again and there < here:
            self._ahead = undone
            self._say("An iterator cannot go back: the data go on where they were.")
            return
        if iterators.again and (iterators.at_hand is None or epoch != here[0] or there < here):
            iterators.start()
            while iterators.begun <= epoch:  # each may have its own order
                iterators.start()
            self._behind = number
        else:
            self._ahead = undone[number - here[1] :] if epoch == here[0] else []
            self._behind = max(0, number - drawn)
        self._epoch, self._number = epoch, number + len(self._ahead)
        self._say(
            f"Goes on after element {number:,} of pass {epoch + 1:,}, but {why}: it was drawn "
            "again up to there, and gives the same elements only where its order is the same."
            if self.specs and there != here
            else None
        )

    def _packed(self, read: AsRead) -> list[Any]:
        """The elements that were saved with a checkpoint."""
        parts: list[Any] = []
        while (part := read.value(f"{_UNDONE}/{len(parts)}")) is not None:
            parts.append(part)
        specs = self.specs or ()
        size = len(tf.nest.flatten(specs, expand_composites=True))
        return [
            tf.nest.pack_sequence_as(specs, parts[at : at + size], expand_composites=True)[0]
            for at in range(0, len(parts), size)
        ]

    def _say(self, note: str | None) -> None:
        self._note = note
        # The loop of an earlier start may be of another run; `begin` tells the next one.
        if self._loop is not None and self._loop.is_own_thread():
            self._loop.note("position", note)


def position_in(path: str) -> AsRead:
    """Reads the position of a checkpoint."""
    return AsRead(path, _POSITION, _UNDONE, *NAMES)


def epochs_over(data: Any, epochs: int | None) -> EpochIterator | None:
    """Returns the passes over data; None if no data is given.

    Raises:
        ArgumentError: The data cannot be drawn from, or not that often.
    """
    if data is None:
        if epochs is not None:
            raise ArgumentError(f"epochs={epochs!r} without data=: give data= too, or steps=.")
        return None
    return EpochIterator(data, None if epochs is None else whole("epochs", epochs))
