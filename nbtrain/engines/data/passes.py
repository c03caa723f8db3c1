"""The data of a run, pass after pass, with a position that is saved and restored.

passes = Passes(data, epochs=3)
    passes.restore(read)                # restores the position that was read from a checkpoint
    batches = passes.begin(run.handle)  # before the loop
    element = next(batches)             # the next element; StopIteration when the epochs are over
    passes.saved()                      # the saved position, at a step boundary
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import tensorflow as tf

from nbtrain.core.epoch import Epoch
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.whole import whole
from nbtrain.engines.data.as_read import AsRead, as_json
from nbtrain.engines.data.iterators import DISTRIBUTED, NAMES, OTHER_PIPELINE, Iterators
from nbtrain.engines.data.position import ONE_WAY, Position
from nbtrain.run.beside.time_usage import DrawTimes
from nbtrain.run.handle import LoopHandle

# The names of the position and of elements in a checkpoint, in all versions.
_POSITION, _UNDONE = "place", "undone"

# The attributes of the present place in the data.
_PLACE = (
    *("_iterators", "_epoch", "_number", "_size", "_single", "_began"),
    *("_behind", "_ahead", "_at_hand", "_note"),
)

_GIVE = (
    "give a tf.data.Dataset of batches, such as "
    "tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)."
)


class Passes(Iterator[Any], Position):
    """The elements of data, pass after pass; training thread only.

    For a `tf.data` pipeline, the states of its iterators are saved. For other data, or if these
    states cannot be saved, the position is a number, and elements are drawn again up to it.

    Args:
        data: A `tf.data.Dataset`, a `tf.distribute.DistributedDataset`, another iterable, or a
            function that returns an iterator; these can be repeated. An iterator, from `tf.data` or
            another, can be used once.
        epochs: Passes over the data; None repeats without end.

    Attributes:
        data: The data.
        elements: The iterator to draw from, within a loop.
        steps: The elements of all passes; None if endless, or unknown from the beginning.
        specs: The spec of an element, as in `tf.data.Dataset.element_spec`, in a tuple; None if
            unknown.
    """

    names: ClassVar[Sequence[str]] = (_POSITION, _UNDONE, *NAMES)

    def __init__(self, data: Any, epochs: int | None) -> None:
        self.data = data
        self.elements: Iterator[Any] = iter(())
        begin, again = _beginning(data)
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
        self.steps = epochs * size if epochs and size > 0 else None
        self._passes = epochs or (sys.maxsize if again else 1)
        self._epoch = self._number = 0  # completed passes, and elements drawn from the next
        self._size = size if size > 0 else None  # elements of a pass; None while unknown
        self._single = True  # whether each step has drawn one element
        self._began: int | None = None  # the completed steps when the pass began
        self._iterators = Iterators(
            begin,
            again,
            endless=size == tf.data.INFINITE_CARDINALITY,
            lost=None if isinstance(data, (tf.data.Dataset, tf.data.Iterator)) else DISTRIBUTED,
        )
        self._behind = 0  # elements to draw again before the next
        self._ahead: list[Any] = []  # elements already drawn, which come first
        self._at_hand: tuple[int, list[Any]] = 0, []  # the current step and its elements
        self._loop: LoopHandle | None = None
        self._note: str | None = None
        self._apart: int | None = None  # the pass, while other elements are drawn; see `apart`

    @property
    def epoch(self) -> Epoch | None:
        """The current pass, or the last one; None if a pass has no end. Any thread."""
        if self._iterators.endless:
            return None
        count = None if self._passes == sys.maxsize else self._passes
        number = min(self._epoch + 1, self._passes)
        return Epoch(number, count, self._began, self.size)

    @property
    def size(self) -> int | None:
        """The steps of a pass, from the data or the last complete pass; None if unknown."""
        return self._size if self._single else None

    @property
    def passes(self) -> int:
        """The passes that have ended."""
        return self._epoch

    # --- the loop -------------------------------------------------------------------

    def begin(self, loop: LoopHandle) -> Iterator[Any]:
        """Begins a loop in this start of the run; returns the iterator for it to draw from."""
        self._ahead, self._at_hand = self._undone(), (loop.step, [])
        self._loop, self._began = loop, None
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
        self.elements = loop.time_usage.waits = draws = DrawTimes(self)
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
            self._single = False
        if self._began is None and self._single:
            self._began = step - self._number + len(self._ahead)
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
                self._on_pass_end()
            else:
                self._number += 1
                return element

    def _catch_up(self) -> None:
        """Draws the elements that were trained before, up to the position."""
        assert self._loop is not None, "begin() comes first"
        while self._behind:
            if self._loop.host.asked_to_stop():
                raise StopIteration
            self._behind -= 1
            if next(self._iterators.at_hand, self) is self:  # the data has become shorter
                self._behind = 0

    def _on_pass_end(self) -> None:
        """Ends the pass."""
        if not self._number:
            raise ArgumentError(
                f"data has no element in pass {self._epoch + 1:,}: give a "
                "tf.data.Dataset or a list, which iter() begins again each time, or a function "
                "that returns a new iterator at each call."
            )
        self._size = self._number
        if self._epoch + 1 < self._passes:
            self._began = None if self._loop is None else self._loop.step
        self._epoch, self._number = self._epoch + 1, 0
        if self._iterators.again:
            self._iterators.advance()
        if self._epoch >= self._passes:
            raise StopIteration

    def _undone(self) -> list[Any]:
        """Returns the elements that were drawn for a step that was not completed."""
        step, elements = self._at_hand
        at_step = self._loop is not None and self._loop.step == step
        return [*(elements if at_step else ()), *self._ahead]

    # --- the position ---------------------------------------------------------------

    @property
    def iterators(self) -> Iterators | None:
        """The iterators whose states are saved; None if the position is only a number."""
        return None if self._behind or self._iterators.lost else self._iterators

    @property
    def one_way(self) -> str | None:
        """Why elements that were drawn cannot be drawn again; None if they can."""
        iterators = self._iterators
        return ONE_WAY if iterators.lost and not iterators.again else None

    def apart(self) -> AbstractContextManager[None] | None:
        """Returns a context that draws from passes of its own; None if none is needed.

        Passes whose states cannot be saved may have another order each time.
        """
        iterators = self._iterators
        return self._drawing_apart() if iterators.lost and iterators.again else None

    @contextlib.contextmanager
    def _drawing_apart(self) -> Iterator[None]:
        kept = {name: vars(self)[name] for name in _PLACE}
        self._iterators, self._apart = self._iterators.apart(), self._epoch
        self._begin_apart(self._epoch)
        try:
            yield
        finally:
            vars(self).update(kept)
            self._apart = None

    def _begin_apart(self, epoch: int) -> None:
        self._iterators.start()
        self._ahead, self._at_hand = [], (self._at_hand[0], [])
        self._epoch, self._number, self._behind = epoch, 0, 0

    def vary(self, repeat: int, steps: int) -> bool:
        """Skips the elements of earlier repeats; returns False if the data might end before."""
        if self._epoch + 1 >= self._passes:
            return False
        count = repeat * steps
        ahead = min(count, len(self._ahead))
        del self._ahead[:ahead]
        self._behind += count - ahead
        return True

    def saved(self) -> dict[str, Any]:
        """Returns the objects that save the position, by name."""
        undone = self._undone()
        found: dict[str, Any] = {}
        if self.iterators is not None:
            found = self.iterators.saved(drawn=bool(self._epoch or self._number))
            parts = tf.nest.flatten(undone, expand_composites=True)
            found[_UNDONE] = [tf.Variable(part, trainable=False) for part in parts]
        number = max(0, self._number - len(undone))
        # Earlier versions read from `kept` whether the states were saved.
        held = {"epoch": self._epoch, "number": number, "kept": "iterator" in found}
        found[_POSITION] = as_json(held)
        return found

    def restore(self, read: AsRead) -> None:
        """Restores the position that was read from a checkpoint."""
        if self._apart is not None:
            self._begin_apart(self._apart)
            return
        undone, self._note, self._began = self._undone(), None, None
        self._ahead, self._at_hand = [], (self._at_hand[0], [])
        if (held := read.json(_POSITION)) is None:
            self._ahead = undone
            self._say(
                "The checkpoint holds no position in the data: the data go on where they were."
            )
            return
        epoch, number = held["epoch"], held["number"]
        try:
            ahead = self._packed(read)
        except ValueError:
            why: str | None = OTHER_PIPELINE
        else:
            why = self._iterators.restore(read)
        if why is not None:
            self._seek(epoch, number, undone, why)
            return
        self._ahead, self._behind = ahead, 0
        self._epoch, self._number = epoch, number + len(ahead)
        self._say(None)

    def _seek(self, epoch: int, number: int, undone: list[Any], why: str) -> None:
        """Moves to an element of a pass by drawing again; `undone` was drawn last."""
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
        """Returns the elements that were saved with a checkpoint.

        Raises:
            ValueError: The saved elements have another structure than those of the data.
        """
        parts, specs = [*read.values(_UNDONE).values()], self.specs or ()
        size = len(tf.nest.flatten(specs, expand_composites=True))
        return [
            tf.nest.pack_sequence_as(specs, parts[at : at + size], expand_composites=True)[0]
            for at in range(0, len(parts), size)
        ]

    def _say(self, note: str | None) -> None:
        self._note = note
        # The loop of an earlier start may be of another run; `begin` notes it for the next loop.
        if self._loop is not None and self._loop.is_own_thread():
            self._loop.note("position", note)


class TrackedPasses(Passes):
    """The elements of data; each pass ends with StopIteration. Training thread only.

    The next element is then the first of the next pass.

    Args:
        data: A `tf.data.Dataset` or a `tf.distribute.DistributedDataset`, or an iterator of one.

    Attributes:
        failed: Whether an error has ended the loop over them.
    """

    def __init__(self, data: Any) -> None:
        super().__init__(data, None)
        self.failed = False

    @property
    def number(self) -> int:
        """The number of elements of the present pass that the loop has drawn."""
        return self._number - len(self._ahead)

    @property
    def is_behind(self) -> bool:
        """True if elements must be drawn again before the next."""
        return self._behind > 0

    def seek(self, number: int) -> None:
        """Moves to the position after `number` elements of the present pass, by drawing again."""
        if number != self.number:
            self._seek(self._epoch, number, self._undone(), "only their number is known")

    def skip_passes(self, passes: int) -> None:
        """Skips passes that an earlier start has drawn; each may have an order of its own."""
        while self._epoch < passes:
            self.end_pass()

    def end_pass(self) -> None:
        """Ends the present pass before its end."""
        self._ahead, self._at_hand, self._behind = [], (self._at_hand[0], []), 0
        self._epoch, self._number, self._began = self._epoch + 1, 0, None
        if self._iterators.at_hand is None:
            self._iterators.start()
        if self._iterators.again:
            self._iterators.advance()

    def _on_pass_end(self) -> None:
        super()._on_pass_end()
        raise StopIteration


def passes_over(data: Any, epochs: int | None) -> Passes | None:
    """Returns the passes over data; None if no data is given.

    Raises:
        ArgumentError: The data cannot be drawn from, or not for so many epochs.
    """
    if data is None:
        if epochs is not None:
            raise ArgumentError(f"epochs={epochs!r} without data=: give data= too, or steps=.")
        return None
    return Passes(data, None if epochs is None else whole("epochs", epochs))


def _beginning(data: Any) -> tuple[Callable[[], Any], bool]:
    """Returns a function that begins a pass over data, and whether it can be repeated.

    Raises:
        ArgumentError: `data` cannot be drawn from, or is not in batches.
    """
    if hasattr(data, "shape") or isinstance(data, (tuple, Mapping, str, bytes)):
        raise ArgumentError(f"data={type(data).__name__} object is no sequence of batches: {_GIVE}")
    if isinstance(data, Iterator):
        return lambda: data, False
    if isinstance(data, Iterable):
        return lambda: iter(data), True
    if callable(data):
        return lambda: iter(data()), True
    raise ArgumentError(f"data={data!r} cannot be drawn from: {_GIVE}")
