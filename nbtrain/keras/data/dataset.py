"""A `tf.data.Dataset` as training data, whose iterators are saved with the position."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import NO_STATE, Iterators
from nbtrain.keras.data.data import Data


class Dataset(Data):
    """A `tf.data.Dataset`, whose iterators are kept here and saved with the checkpoint.

    Keras gets a dataset of numbers of the same length instead. With `steps_per_epoch`, one iterator
    is used from epoch to epoch until the pass ends. A state saved shortly before that end does not
    determine the order of the next pass.
    """

    iterators: Iterators

    def __init__(self, dataset: Any, steps: int | None, size: int) -> None:
        cardinality = int(dataset.cardinality())
        super().__init__(dataset, steps, size, cardinality if cardinality > 0 else None)
        endless = cardinality == tf.data.INFINITE_CARDINALITY
        # Keras makes an iterator at the end of each epoch, and another for the next.
        spare = steps is None and cardinality > 0
        self.iterators = Iterators(lambda: iter(self._x), not endless, endless=endless, spare=spare)
        self._over = False  # the pass has ended before its epoch
        self._drawn = self._restored = False
        self._skips = False  # the batches that were trained before come again, and are dropped
        self._is_apart = False
        # Why the checkpoint that was restored does not fit; None once the training has continued.
        self._misfit: str | None = None

    @property
    def one_way(self) -> str | None:  # type: ignore[override]  # read only
        """Why batches that were drawn cannot be drawn again; None if they can."""
        return self.iterators.lost or self._misfit

    @property
    def inexact(self) -> str | None:  # type: ignore[override]  # read only
        """Why the position to continue from is not exact; None if it is."""
        return self.one_way if self._skips else None

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a dataset of numbers for Keras, and prepares restored or new iterators."""
        if not self._restored:
            self.iterators.start()
        self._skips = not self._restored and not self._is_apart
        self._restored = self._over = False
        arguments = super().arguments(epoch, batch)
        if self._count is not None:
            numbers = tf.data.Dataset.range(self._count - self._left)
        elif self._steps:  # the iterator kept here ends the pass
            numbers = tf.data.Dataset.range(self._steps)
        else:
            numbers = tf.data.Dataset.range(1).repeat()
        return {**arguments, "x": numbers}

    def must_renew(self, epoch: int) -> bool:
        """Returns whether a new call of `fit` must train this epoch, with the present iterator."""
        renews = super().must_renew(epoch)
        self._restored = self._restored or renews
        return renews

    def restore(self, read: AsRead, *, held: bool) -> None:
        """Restores a checkpoint's iterators; `held`: whether it contains those of this epoch."""
        self._drawn = read.step != 0
        why = self.iterators.restore(read) if held else NO_STATE
        self._restored = why is None
        self._misfit = why if held or self._drawn else None

    def saved(self) -> dict[str, Any]:
        """Returns the iterators to save by name, once they have reached the position."""
        return {} if self._misfit else self.iterators.saved(drawn=self._drawn)

    def spec(self) -> Any:
        """Returns the types of its elements."""
        return self._x.element_spec

    def run_out(self) -> None:
        """Notes that the pass has ended before its epoch."""
        self._over = True

    def end_epoch(self, epoch: int) -> None:
        """Advances to the iterator of the next pass, if this one is over."""
        if self._over or self.place(epoch)[1] == 0:
            self.iterators.advance()
        self._over = False

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Returns the iterator kept here instead of Keras's."""
        self._drawn, self._misfit = True, None
        return self.iterators.at_hand

    def skip(self, iterator: Any) -> None:
        """Does nothing if the iterator at hand is where the position is."""
        if self._skips:
            next(self.iterators.at_hand)

    def apart(self) -> AbstractContextManager[None] | None:
        """Returns a context that draws from passes of its own; None if none is needed."""
        return None if self.one_way is None else self._drawing_apart()

    @contextlib.contextmanager
    def _drawing_apart(self) -> Iterator[None]:
        kept, drawn, misfit = self.iterators, self._drawn, self._misfit
        self.iterators = kept.apart()
        self._is_apart, self._restored = True, False
        try:
            yield
        finally:
            self.iterators, self._drawn, self._misfit = kept, drawn, misfit
            self._is_apart, self._restored = False, kept.at_hand is not None
