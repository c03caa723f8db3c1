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
        self, batches: Any, *, shuffle: bool, steps: int | None, seed: int, class_weight: Any
    ) -> None:
        super().__init__(_Ordered(batches, steps))
        self.steps = self._x.num_batches
        self.seed = seed
        self._shuffle, self._class_weight = shuffle, class_weight
        self._given = batches, steps
        self._enqueuer: Any = None  # Keras's, if workers load the batches

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns the batches in Keras's own adapter: only this way can workers be stopped."""
        self._x = _Ordered(*self._given)
        if get_data_adapter is None:
            return {"x": self._x, "class_weight": self._class_weight, **self._more}
        adapter = get_data_adapter(self._x, class_weight=self._class_weight)
        self._enqueuer = adapter.enqueuer
        return {"x": adapter, **self._more}

    def first(self) -> Any:
        """Returns the first batch, without class weights."""
        return self._x[0]

    def vary(self, number: int) -> bool:
        """Takes another order of the batches, unless they are not shuffled; tells if it did."""
        self.seed += number
        return bool(self._shuffle)

    def begin(self, epoch: int, batch: int) -> None:
        """Puts the batches into the order of this epoch."""
        self._x.begin(epoch, batch, self.seed if self._shuffle else None)

    def leave(self) -> None:
        """Stops the workers in a separate thread, as this waits for batches in progress."""
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

    def __init__(self, batches: Any, steps: int | None) -> None:
        super().__init__(
            workers=batches.workers,
            use_multiprocessing=batches.use_multiprocessing,
            max_queue_size=batches.max_queue_size,
        )
        self._batches, self._steps = batches, steps
        self.left = False
        self.begin(0, 0, None)

    def begin(self, epoch: int, batch: int, seed: int | None) -> None:
        self._origin, self._skipped = epoch * (self.num_batches or 0), batch
        self._seed, self._passed = seed, None
        self._orders: dict[int, Any] = {}

    @property
    def num_batches(self) -> int | None:
        return self._steps or self._count

    def __getitem__(self, index: int) -> Any:
        if self.left:
            return None
        if index >= self._skipped:
            return self._batches[self._number(index)]
        if self._passed is None:  # any batch will do for the skipped ones
            self._passed = self._batches[self._number(self._skipped)]
        return self._passed

    def on_epoch_begin(self) -> None:
        self._batches.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._batches.on_epoch_end()

    @property
    def _count(self) -> int | None:
        found: int | None = self._batches.num_batches
        return found

    def _number(self, index: int) -> int:
        """The number in the other dataset of the epoch's batch `index`."""
        number, count = self._origin + index, self._count
        if not count:
            return number
        turn, place = divmod(number, count)
        if self._seed is None:
            return place
        if turn not in self._orders:
            self._orders[turn] = np.random.default_rng((self._seed, turn)).permutation(count)
        return int(self._orders[turn][place])
