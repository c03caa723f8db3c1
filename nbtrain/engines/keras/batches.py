"""A `keras.utils.PyDataset` as training data, with batches addressed by number."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import keras
import numpy as np

from nbtrain.engines.keras.data import Data

try:
    from keras.src.trainers.data_adapters import get_data_adapter
except ImportError:  # an older Keras, whose fit takes no adapter: workers cannot be stopped
    get_data_adapter = None


class Batches(Data):
    """A `keras.utils.PyDataset`, in an order determined by the seed and the epoch's number."""

    kept = True

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
        self._batches = batches
        self._shuffle, self._class_weight = shuffle, class_weight
        self._adapter: Any = None  # made, and given to no `fit` yet
        self._enqueuer: Any = None  # Keras's, if workers load the batches

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns the batches in Keras's own adapter: only this way can workers be stopped."""
        arguments = super().arguments(epoch, batch)
        if self._adapter is None:
            self._adapt()
        adapter, self._adapter = self._adapter, None
        self._x.left_out = self._left
        if adapter is None:
            return {**arguments, "x": self._x, "class_weight": self._class_weight}
        self._enqueuer = adapter.enqueuer
        return {**arguments, "x": adapter}

    def spec(self) -> Any:
        """Returns the types of its batches, which Keras takes from two of them."""
        self._adapt()
        return None if self._adapter is None else self._adapter.get_tf_dataset().element_spec

    def _adapt(self) -> None:
        self._x = _Ordered(self._batches)
        if get_data_adapter is not None:
            self._adapter = get_data_adapter(self._x, class_weight=self._class_weight)

    def vary(self, number: int) -> bool:
        """Takes another order of the batches, unless they are not shuffled; tells if it did."""
        self.seed += number
        return bool(self._shuffle)

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the batches into the order of this epoch's pass."""
        super().begin(epoch, batch)
        turn, first = self.place(epoch)
        self._x.begin(turn, first + batch, self.seed if self._shuffle else None)

    def leave(self) -> None:
        """Stops the workers in a separate thread, as this waits for batches in progress."""
        super().leave()
        self._x.left = True
        enqueuer, self._enqueuer = self._enqueuer, None
        if enqueuer is not None and enqueuer.is_running():
            name = "nbtrain: stopping the workers of a PyDataset"
            threading.Thread(target=_stop, args=(enqueuer,), name=name, daemon=True).start()


def _stop(enqueuer: Any) -> None:
    with contextlib.suppress(Exception):  # from a batch that will not be trained
        enqueuer.stop()


class _Ordered(keras.utils.PyDataset):
    """The batches of another dataset, in an order of its own.

    Attributes:
        left: Whether no more batches are wanted: then each is None, which Keras skips.
    """

    def __init__(self, batches: Any) -> None:
        super().__init__(
            workers=batches.workers,
            use_multiprocessing=batches.use_multiprocessing,
            max_queue_size=batches.max_queue_size,
        )
        self._batches = batches
        self.left, self.left_out = False, 0
        self.begin(0, 0, None)

    def begin(self, turn: int, first: int, seed: int | None) -> None:
        """Begins an epoch of the pass `turn`, whose batches before `first` are passed over."""
        self._turn, self._first, self._seed = turn, first, seed
        self._passed: Any = None
        self._order: Any = None

    @property
    def num_batches(self) -> int | None:
        count = self._count
        return None if count is None else count - self.left_out

    def __getitem__(self, index: int) -> Any:
        if self.left:
            return None
        number = index + self.left_out
        if number >= self._first:
            return self._batches[self._number(number)]
        if self._passed is None:  # any batch will do for the skipped ones
            self._passed = self._batches[self._number(self._first)]
        return self._passed

    def on_epoch_begin(self) -> None:
        self._batches.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._batches.on_epoch_end()

    @property
    def _count(self) -> int | None:
        found: int | None = self._batches.num_batches
        return found

    def _number(self, number: int) -> int:
        """The number in the other dataset of the pass's batch `number`."""
        if self._seed is None or (count := self._count) is None:
            return number
        if self._order is None:
            self._order = np.random.default_rng((self._seed, self._turn)).permutation(count)
        return int(self._order[number])
