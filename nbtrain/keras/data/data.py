"""The training data of a Keras model, with a position that can be saved and restored.

Keras draws a new order for every epoch, from a state that is lost with the kernel. Here the order
is determined by a seed and the epoch's number, or kept in the state of a `tf.data` iterator.
Therefore a training that is resumed in the middle of an epoch continues with the next batch.

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
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import Iterators


class Data:
    """Data of an unknown kind, such as a torch DataLoader; training thread only.

    With `steps_per_epoch`, a pass over the data contains several epochs, as in Keras: each
    continues where the last one ended. The last epoch is shorter if the pass ends in it, and the
    next epoch begins another pass.

    Args:
        steps: The `steps_per_epoch`.
        size: Batches of an execution; Keras makes only whole executions while data last.
        count: Batches of a pass; None if it is unknown or has no end.
        more: Further arguments of `fit`.

    Attributes:
        given: The steps of an epoch that Keras passes to its callbacks.
        steps: Batches of the current epoch; None while unknown.
        first_epoch: The epoch with which the first pass begins.
        began: The completed steps when the current epoch began; None before the first.
        seed: The seed of the order, if it is drawn here; saved with the position.
        batch_size: Rows of a batch; None if unknown.
        inexact: Why the position in the data is not exact; None if it is.
        one_way: Why batches that were drawn cannot be drawn again in this process; None if they
            can, or if `inexact` says it.
        iterators: The `tf.data` iterators to save with the position; None if Keras has its own.
        sample: A batch to compare, if the user's own code makes the batches: see `DataSample`.
        repeats: What the user can do so that the same batches come after a restart.
    """

    inexact: str | None = "the position of such an object cannot be saved"
    one_way: str | None = None
    batch_size: int | None = None
    iterators: Iterators | None = None
    sample: DataSample | None = None
    repeats = ""
    _shuffle: bool | str = False  # whether the order is drawn here, from the seed

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

    @property
    def origin(self) -> Any:
        """The object that the batches are drawn from."""
        return self._x

    def place(self, epoch: int) -> tuple[int, int]:
        """Returns the number of the pass that contains an epoch, and the epoch's first batch."""
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
        """Returns the number of batches of an epoch; None while unknown."""
        if self._steps is None or self._count is None:
            return self._steps or self._count
        return min(self._steps, self._count - self.place(epoch)[1])

    def steps_before(self, epoch: int) -> int | None:
        """Returns the number of batches of all epochs before this one; None while unknown."""
        turn, batch = self.place(epoch)
        if self._count is None:
            return batch if self._steps else None
        return turn * self._count + batch

    def must_renew(self, epoch: int) -> bool:
        """Returns whether a new call of `fit` must train this epoch.

        Keras was given the rest of a pass, and would assume that the next pass has its length.
        """
        return self._left > 0 and self.place(epoch)[1] == 0

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns the arguments of a `fit` that continues at this epoch and batch, both from 0."""
        self._left = 0 if self._count is None else self.place(epoch)[1]
        return {"x": self._x, **self._more}

    def vary(self, number: int) -> bool:
        """Changes the order, if it is drawn here; returns whether it is."""
        self.seed += number
        return bool(self._shuffle)

    def saved(self) -> dict[str, Any]:
        """Returns the iterators to save by name, once they have reached the position."""
        return {}

    def restore(self, read: AsRead, *, held: bool) -> None:
        """Restores a checkpoint's iterators; `held`: whether it contains those of this epoch."""

    def spec(self) -> Any:
        """Returns objects with the shapes and types of a batch; None if these cannot be known.

        Draws no other batches than those that Keras draws for the same purpose.
        """
        return None

    def begin(self, epoch: int, batch: int) -> None:
        """Sets the next batch to train."""
        self.steps = self.steps_of(epoch)

    def enter_epoch(self) -> None:
        """Notes that from now on Keras draws batches to train, and not to find their types."""

    def run_out(self) -> None:
        """Notes that the pass has ended before its epoch."""

    def end_epoch(self, epoch: int) -> None:
        """Ends the epoch before `epoch`."""

    def end_fit(self) -> None:
        """Ends the call of `fit`, perhaps in the middle of an epoch."""
        self._left = 0

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator for the next `count` batches; by default Keras's own."""
        return iterator

    def skip(self, iterator: Any) -> None:
        """Draws a batch that was trained before."""
        next(iterator)

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other batches of the same data; None if there are none.

        Afterwards the position must be restored, and the next batch is the one that it was.
        """
        return None


class DataSample:
    """A batch of data that the user's own code makes, compared after a restart.

    The order and the random numbers of such data may come from a state that no checkpoint contains.

    Attributes:
        differs: Whether the batch with the number of the saved one differs from it.
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
        """Notes the batch of this number, and compares it if it is the expected one.

        The thread that has loaded the batch may call it.
        """
        self._taken = [number, _fingerprint(batch)]
        if self.expected == number:
            self.differs, self._expected = self._taken != self._expected, None

    def drop(self) -> None:
        """Drops the batch, because it is not of the current epoch."""
        self._taken = self._expected = None

    def saved(self) -> list[int] | None:
        """Returns the batch's number and fingerprint, for a checkpoint; None if there is none."""
        return self._expected or self._taken

    def restore(self, saved: list[int] | None) -> None:
        """Expects the batch that was saved with a checkpoint; None for none."""
        self.differs, self._taken, self._expected = False, None, saved


def _fingerprint(batch: Any) -> int:
    """Returns a checksum of a batch; parts that are not arrays of numbers are ignored."""
    found = 0
    for leaf in keras.tree.flatten(batch):
        with contextlib.suppress(Exception):  # the user's own, and Keras says what is wrong
            array = np.asarray(leaf.toarray() if hasattr(leaf, "toarray") else leaf)
            if not array.dtype.hasobject:  # else its bytes are addresses
                found = zlib.crc32(np.ascontiguousarray(array).tobytes(), found)
    return found
