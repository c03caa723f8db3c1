"""The training data of a Keras model, with a position that can be saved and restored.

Keras draws a new order for every epoch, from a state that is lost with the kernel. Here the order
is determined by a seed and the epoch's number, or kept in the state of a `tf.data` iterator. So a
training resumed in the middle of an epoch continues with the next batch.

arguments = data.arguments(epoch, batch)  # for each call of `fit`
    data.begin(epoch, batch)              # after that, and at the start of each epoch
    data.enter_epoch()                    # at the start of each epoch
    data.skip(iterator)                   # for each batch that was trained before
    data.draw_from(iterator, count)       # before each execution; Keras's own, or another
    data.end_epoch(epoch + 1)
data.end_fit()                            # after each call
"""

from __future__ import annotations

import contextlib
import zlib
from typing import Any

import keras
import numpy as np

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import Iterators


class Data:
    """Data of an unknown kind, such as a torch DataLoader; training thread only.

    With `steps_per_epoch`, a pass over the data holds several epochs, as in Keras: each continues
    where the last one ended. The last is shorter if the pass ends in it, and the next one begins
    another pass.

    Args:
        steps: The `steps_per_epoch`.
        size: Batches of an execution; Keras makes only whole executions while data last.
        count: Batches of a pass; None if it is unknown or has no end.
        more: Further arguments of `fit`.

    Attributes:
        given: The steps of an epoch that Keras tells its callbacks.
        steps: Batches of the current epoch; None while unknown.
        first_epoch: The epoch with which the first pass begins.
        began: The completed steps when the epoch began that is trained; None before the first.
        seed: The seed of the order, if it is drawn here; saved with the position.
        inexact: Why the position in the data is not exact; None if it is.
        iterators: The `tf.data` iterators to save with the position; None if Keras has its own.
        sample: A batch that the user's own code has made, if it makes them: see `DataSample`.
        repeats: What the user can do so that the same batches come after a restart.
    """

    inexact: str | None = "the position of such an object cannot be saved"
    iterators: Iterators | None = None
    sample: DataSample | None = None
    repeats = ""

    def __init__(
        self,
        x: Any,
        steps: int | None = None,
        size: int = 1,
        count: int | None = None,
        **more: Any,
    ) -> None:
        self.given = steps or count
        self.first_epoch = 0
        self._count, self._steps = count, -(-steps // size) * size if steps else None
        self._left = 0  # batches of the pass that came before the call of `fit`
        self.steps = self.steps_of(0)
        self.began: int | None = None
        self.seed = 0
        self._x, self._more = x, {"shuffle": False, "steps_per_epoch": steps, **more}

    def place(self, epoch: int) -> tuple[int, int]:
        """Returns the number of the pass that holds an epoch, and the epoch's first batch in it."""
        epoch -= self.first_epoch
        if self._steps is None:
            return epoch, 0
        if self._count is None:
            return 0, epoch * self._steps
        turn, epoch = divmod(epoch, -(-self._count // self._steps))
        return turn, epoch * self._steps

    @property
    def has_known_end(self) -> bool:
        """True if the batches of a pass are known."""
        return self._count is not None

    def steps_of(self, epoch: int) -> int | None:
        """Returns the batches of an epoch; None while unknown."""
        if self._steps is None or self._count is None:
            return self._steps or self._count
        return min(self._steps, self._count - self.place(epoch)[1])

    def steps_before(self, epoch: int) -> int | None:
        """Returns the batches of all epochs before this one; None while unknown."""
        turn, batch = self.place(epoch)
        if self._count is None:
            return batch if self._steps else None
        return turn * self._count + batch

    def must_renew(self, epoch: int) -> bool:
        """Returns whether a new call of `fit` must train this epoch.

        Keras was given the rest of a pass, and would take it for the length of the next one.
        """
        return self._left > 0 and self.place(epoch)[1] == 0

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """The arguments of a `fit` that continues at this epoch and batch, both counted from 0."""
        self._left = 0 if self._count is None else self.place(epoch)[1]
        return {"x": self._x, **self._more}

    def vary(self, _number: int) -> bool:
        """Takes another order, if it is drawn here; returns whether it did."""
        return False

    def saved(self) -> dict[str, Any]:
        """Returns the iterators to save by name, once they have reached the position."""
        return {}

    def restore(self, read: AsRead, *, held: bool) -> None:
        """Restores the iterators of a checkpoint; `held`: whether it has those of this epoch."""

    def spec(self) -> Any:
        """Returns what has the shapes and types of a batch; None if it cannot be known.

        No batch is drawn for it but those that Keras draws to learn the same.
        """
        return None

    def begin(self, epoch: int, batch: int) -> None:
        """Sets the next batch to train."""
        self.steps = self.steps_of(epoch)

    def enter_epoch(self) -> None:
        """Notes that Keras draws batches to train from now on, and not to learn their kind."""

    def run_out(self) -> None:
        """Notes that the pass has ended before its epoch."""

    def end_epoch(self, epoch: int) -> None:
        """Ends the epoch before this one."""

    def end_fit(self) -> None:
        """Ends the call of `fit`, perhaps in the middle of an epoch."""
        self._left = 0

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator for the next `count` batches; by default Keras's own."""
        return iterator

    def skip(self, iterator: Any) -> None:
        """Draws a batch that was trained before."""
        next(iterator)


class DataSample:
    """A batch of data that the user's own code makes, compared after a restart.

    Their order and their random numbers may come from a state that no checkpoint holds.

    Attributes:
        differs: Whether the batch of the same number was another one when it was saved.
    """

    def __init__(self) -> None:
        self.differs = False
        self._taken: list[int] | None = None  # its number and its fingerprint
        self._expected: list[int] | None = None

    @property
    def expected(self) -> int | None:
        """The number of the batch to compare; None if there is none."""
        expected = self._expected
        return None if expected is None else expected[0]

    def observe(self, number: int, batch: Any) -> None:
        """Takes the batch of this number, and compares it if it is the one that is expected.

        The thread that has loaded the batch may call it.
        """
        self._taken = [number, _fingerprint(batch)]
        if self.expected == number:
            self.differs, self._expected = self._taken != self._expected, None

    def drop(self) -> None:
        """Drops the batch, which is none of the epoch at hand."""
        self._taken = self._expected = None

    def saved(self) -> list[int] | None:
        """Returns its number and its fingerprint, for a checkpoint; None if there is none."""
        return self._expected or self._taken

    def restore(self, saved: list[int] | None) -> None:
        """Expects a batch of a checkpoint."""
        self.differs, self._taken, self._expected = False, None, saved


def _fingerprint(batch: Any) -> int:
    """A number that tells a batch from others, as far as it consists of arrays of numbers."""
    found = 0
    for leaf in keras.tree.flatten(batch):
        with contextlib.suppress(Exception):  # the user's own, and Keras says what is wrong
            array = np.asarray(leaf.toarray() if hasattr(leaf, "toarray") else leaf)
            if not array.dtype.hasobject:  # else its bytes are addresses
                found = zlib.crc32(np.ascontiguousarray(array).tobytes(), found)
    return found
