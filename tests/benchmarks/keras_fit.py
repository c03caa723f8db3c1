"""What `nbtrain.fit` costs beside bare `model.fit(verbose=0)`, and what others cost.

Executed inside a real kernel by `run.py`. Whole trainings of a second each take turns, in an
order drawn anew for every round; wall time over that of the bare one of the same round,
medians over rounds. The panel is shown, and no page looks at it. One model for each way,
compiled once: tracing is no part of it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.events.scalars import scalars
from nbtrain.notebook import display_of

_ROWS, _COLUMNS, _SIZE = 32_768, 256, 32
_BATCHES = _ROWS // _SIZE


class Timed(keras.callbacks.Callback):
    """Clocks each epoch; the last one counts: the first may trace."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin."""
        self._began = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """End."""
        self.seconds = time.perf_counter() - self._began


def model() -> Any:
    """A model whose batch takes somewhat less than a millisecond."""
    layers = [keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu")]
    made = keras.Sequential([keras.Input((_COLUMNS,)), *layers, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile("adam", loss, metrics=["accuracy"])
    return made


class Fits:
    """The trainings, in the calling cell and in the background.

    Args:
        rounds: Turns of all ways.
    """

    def __init__(self, *, rounds: int) -> None:
        draw = np.random.default_rng(0)
        x = draw.normal(size=(_ROWS, _COLUMNS)).astype("float32")
        y = draw.integers(0, 10, _ROWS)
        self._data = tf.data.Dataset.from_tensor_slices((x, y)).batch(_SIZE).cache().prefetch(8)
        self._models: dict[str, Any] = {}
        self._rounds = rounds
        self._recorded = 0

    def figures(self) -> dict[str, Any]:
        """Seconds of the bare way a batch, and ratios to it."""
        ways = self._ways()
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(self._rounds + 1):
            order = [*ways]
            random.shuffle(order)
            for name in order:
                seconds = ways[name]()
                if turn:  # the first one warms up
                    taken[name].append(seconds)
        bare = taken["bare model.fit"]
        ratios = {
            name: [own / other for own, other in zip(taken[name], bare, strict=True)]
            for name in taken
        }
        return {
            "batch_us": statistics.median(bare) / _BATCHES * 1e6,
            "ratios": {name: statistics.median(found) for name, found in ratios.items()},
            "quartiles": {name: statistics.quantiles(found) for name, found in ratios.items()},
            "recorded": self._recorded,
            "batches": 2 * _BATCHES,
        }

    def _ways(self) -> dict[str, Callable[[], float]]:
        folder = tempfile.mkdtemp(dir=".")
        board = keras.callbacks.TensorBoard(folder, update_freq="batch", write_graph=False)
        ways: dict[str, Callable[[], float]] = {
            "bare model.fit": lambda: self._fit("bare", []),
            "bare again": lambda: self._fit("again", []),
            "nbtrain.fit": self._nbtrain,
            "progress bar": lambda: self._fit("bar", [], verbose=1),
            "TensorBoard callback per batch": lambda: self._fit("board", [board]),
        }
        with contextlib.suppress(ImportError):  # no dependency: a peer
            tqdm = importlib.import_module("tqdm.keras").TqdmCallback
            ways["tqdm's callback"] = lambda: self._fit("tqdm", [tqdm(verbose=2)])
        return ways

    def _model(self, name: str) -> Any:
        return self._models.setdefault(name, model())

    def _fit(self, name: str, callbacks: list[Any], verbose: int = 0) -> float:
        timed = Timed()
        with contextlib.redirect_stderr(io.StringIO()):
            self._model(name).fit(
                self._data, epochs=2, verbose=verbose, callbacks=[*callbacks, timed]
            )
        return timed.seconds

    def _nbtrain(self) -> float:
        timed = Timed()
        run = nbtrain.fit(
            self._model("nbtrain"), self._data, epochs=2, callbacks=[timed], start=False
        )
        display_of(run).show()
        run.start().wait()
        found = {tag: points for (_, tag), points in scalars(run.logdir).items()}
        self._recorded = min(len(run.scalars["batch_loss"]), len(found["batch_loss"]))
        return timed.seconds
