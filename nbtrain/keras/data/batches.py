"""A `keras.utils.PyDataset` as training data, with batches addressed by number.

The dataset may change with each epoch, for example if it shuffles its rows in `on_epoch_end`. Keras
calls its methods in this order: `on_epoch_end` when `fit` begins, and `on_epoch_begin` and
`on_epoch_end` around each epoch. The number of these calls is kept in an attribute of the dataset.
When the training continues, a dataset with fewer calls gets the missing ones, and none twice.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import keras
import numpy as np

from nbtrain.inner.keras import adapter_of
from nbtrain.keras.data.data import Data, DataSample


class Batches(Data):
    """A `keras.utils.PyDataset`, in an order determined by the seed and the epoch's number."""

    inexact = None
    sample: DataSample
    repeats = (
        "nbtrain repeats the epochs of a new PyDataset that makes its generator from a fixed seed, "
        "such as self.random = np.random.default_rng(1); or leave the order to fit(shuffle=True)."
    )

    def __init__(
        self,
        batches: Any,
        *,
        shuffle: bool,
        steps: int | None,
        size: int,
        seed: int,
        class_weight: Any,
    ) -> None:
        super().__init__(None, steps, size, batches.num_batches)
        self.seed = seed
        self.sample = DataSample()
        self._batches = batches
        self._shuffle, self._class_weight = shuffle, class_weight
        self._adapter: Any = None  # made, and given to no `fit` yet
        self._enqueuer: Any = None  # Keras's, if workers load the batches

    @property
    def one_way(self) -> str | None:  # type: ignore[override]  # read only
        """Why batches that were drawn cannot be drawn again; None if they can."""
        if type(self._batches).on_epoch_end is keras.utils.PyDataset.on_epoch_end:
            return None
        return f"nobody can undo what {type(self._batches).__name__}.on_epoch_end has changed"

    @property
    def origin(self) -> Any:
        """The user's own dataset."""
        return self._batches

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns the batches in Keras's own adapter, so that its workers can be stopped."""
        arguments = super().arguments(epoch, batch)
        if self._adapter is None:
            self._adapt()
        adapter, self._adapter = self._adapter, None
        self._x.left_out = self._left
        self._x.prepare(epoch - self.first_epoch, begins=epoch == self.first_epoch and batch == 0)
        if adapter is None:
            return {**arguments, "x": self._x, "class_weight": self._class_weight}
        self._enqueuer = adapter.enqueuer
        return {**arguments, "x": adapter}

    def spec(self) -> Any:
        """Returns the types of the batches, which Keras derives from two batches."""
        self._adapt()
        return None if self._adapter is None else self._adapter.get_tf_dataset().element_spec

    def _adapt(self) -> None:
        self._x = _Ordered(self._batches, self.sample)
        self._adapter = adapter_of(self._x, self._class_weight)

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the batches into the order of this epoch's pass."""
        super().begin(epoch, batch)
        turn, first = self.place(epoch)
        seed = self.seed if self._shuffle else None
        self._x.begin(turn, first + batch, seed, epoch=epoch - self.first_epoch)

    def enter_epoch(self) -> None:
        """Notes that this epoch has begun, so that the next `on_epoch_end` is its end."""
        self._x.is_within = True

    def end_fit(self) -> None:
        """Stops the workers in a separate thread, as this waits for batches in progress."""
        super().end_fit()
        self._x.left = True
        enqueuer, self._enqueuer = self._enqueuer, None
        if enqueuer is not None and enqueuer.is_running():
            name = "nbtrain: stopping the workers of a PyDataset"
            threading.Thread(target=_stop, args=(enqueuer,), name=name, daemon=True).start()


# An attribute of the user's dataset: the number of its calls.
_CALLS = "_nbtrain_calls"


def _calls_within(epoch: int) -> int:
    """Returns the number of calls that a dataset has had once an epoch has begun."""
    return 2 * epoch + 2


def _stop(enqueuer: Any) -> None:
    with contextlib.suppress(Exception):  # from a batch that will not be trained
        enqueuer.stop()


class _Ordered(keras.utils.PyDataset):
    """The batches of another dataset, in an order of its own.

    Attributes:
        left: Whether no more batches are needed: then the last one comes again, as Keras, in a
            thread of TensorFlow, prints an error for anything else.
        is_within: Whether an epoch has begun that has not ended.
    """

    def __init__(self, batches: Any, sample: DataSample) -> None:
        super().__init__(
            workers=batches.workers,
            use_multiprocessing=batches.use_multiprocessing,
            max_queue_size=batches.max_queue_size,
        )
        self._batches, self._sample = batches, sample
        self.left, self.left_out = False, 0
        self.is_within, self._begins = False, True
        self._last: Any = None
        self._sampled: object = None  # an object for the epoch whose first batch is still to come
        self.begin(0, 0, None, epoch=0)

    def prepare(self, epoch: int, *, begins: bool) -> None:
        """Makes the calls that the dataset has missed before an epoch.

        Args:
            epoch: The number of the epoch, from the first one.
            begins: Whether the training begins, so that Keras makes all calls.
        """
        self._epoch, self.is_within, self._begins = epoch, False, begins
        if begins:
            return
        if self._calls > _calls_within(epoch):  # the dataset is further on, and cannot go back
            self._calls = _calls_within(epoch) - 2
        for number in range(self._calls, _calls_within(epoch)):
            self._call(begins=number % 2 == 1)

    def begin(self, turn: int, first: int, seed: int | None, *, epoch: int) -> None:
        """Begins an epoch in the pass `turn`, whose batches before `first` are skipped."""
        self._epoch, self._turn, self._first, self._seed = epoch, turn, first, seed
        self._passed: Any = None
        self._order: Any = None

    @property
    def num_batches(self) -> int | None:
        count: int | None = self._batches.num_batches
        return None if count is None else count - self.left_out

    def __getitem__(self, index: int) -> Any:
        if self.left:
            return self._last
        number = index + self.left_out
        if number >= self._first:
            return self._loaded(number)
        if self._passed is None:  # any batch will do for the skipped ones
            expected = self._sample.expected
            self._passed = self._loaded(self._first if expected is None else expected)
        return self._passed

    def _loaded(self, number: int) -> Any:
        sampled = self._sampled
        batch = self._last = self._batches[self._number(number)]
        is_first = sampled is not None and sampled is self._sampled  # else it was loaded for before
        if is_first or number == self._sample.expected:
            self._sampled = None
            self._sample.observe(number, batch)
        return batch

    def on_epoch_begin(self) -> None:
        if self._calls != _calls_within(self._epoch):
            self._calls = _calls_within(self._epoch) - 1
            self._call(begins=True)
        self._sampled = object()

    def on_epoch_end(self) -> None:
        if self.is_within or self._begins:
            self._calls = _calls_within(self._epoch) - (0 if self.is_within else 2)
            self._call(begins=False)
        if self.is_within:
            self._sample.drop()
        self.is_within = self._begins = False

    @property
    def _calls(self) -> int:
        """The number of calls that the dataset has had, by this or another run."""
        return int(getattr(self._batches, _CALLS, 0))

    @_calls.setter
    def _calls(self, count: int) -> None:
        setattr(self._batches, _CALLS, count)

    def _call(self, *, begins: bool) -> None:
        self._calls += 1
        if begins:
            self._batches.on_epoch_begin()
        else:
            self._batches.on_epoch_end()

    def _number(self, number: int) -> int:
        """Returns the number, in the other dataset, of the pass's batch `number`."""
        if self._seed is None or (count := self._batches.num_batches) is None:
            return number
        if self._order is None:
            self._order = np.random.default_rng((self._seed, self._turn)).permutation(count)
        return int(self._order[number])
