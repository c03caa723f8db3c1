"""What `nbtrain.fit` costs beside bare `model.fit(verbose=0)`, and what others cost.

Executed inside a real kernel by `run.py`. Short trainings take turns, in an order drawn anew
for every round. Wall time is that of the way's quickest quarter over that of the bare one's:
on a machine that others use, whole trainings differ by more than this is about. CPU of the
thread that calls `fit` is what the way adds to it, and less shaken. The panel is shown, and no
page looks at it. One model for each way, compiled once: tracing is no part of it.
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

_ROWS, _COLUMNS, _SIZE = 8_192, 256, 32
_BATCHES = _ROWS // _SIZE


class Timed(keras.callbacks.Callback):
    """Clocks each epoch; the last one counts: the first may trace."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = self.cpu = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin."""
        self._began = time.perf_counter(), time.thread_time()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """End."""
        self.seconds = time.perf_counter() - self._began[0]
        self.cpu = time.thread_time() - self._began[1]


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
        """Microseconds of a bare batch; of each way the ratio to it, and the CPU added."""
        ways = self._ways()
        taken: dict[str, list[Timed]] = {name: [] for name in ways}
        for turn in range(self._rounds + 1):
            order = [*ways]
            random.shuffle(order)
            for name in order:
                timed = ways[name]()
                if turn:  # the first one warms up
                    taken[name].append(timed)
        wall = {name: _quick([each.seconds for each in taken[name]]) for name in taken}
        cpu = {name: statistics.median(each.cpu for each in taken[name]) for name in taken}
        bare = "bare model.fit"
        return {
            "batch_us": wall[bare] / _BATCHES * 1e6,
            "ratios": {name: wall[name] / wall[bare] for name in wall},
            "cpu_us": {name: (cpu[name] - cpu[bare]) / _BATCHES * 1e6 for name in cpu},
            "recorded": self._recorded,
            "batches": 2 * _BATCHES,
        }

    def _ways(self) -> dict[str, Callable[[], Timed]]:
        folder = tempfile.mkdtemp(dir=".")
        board = keras.callbacks.TensorBoard(folder, update_freq="batch", write_graph=False)
        ways: dict[str, Callable[[], Timed]] = {
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

    def _fit(self, name: str, callbacks: list[Any], verbose: int = 0) -> Timed:
        timed = Timed()
        with contextlib.redirect_stderr(io.StringIO()):
            self._model(name).fit(
                self._data, epochs=2, verbose=verbose, callbacks=[*callbacks, timed]
            )
        return timed

    def _nbtrain(self) -> Timed:
        timed = Timed()
        run = nbtrain.fit(
            self._model("nbtrain"), self._data, epochs=2, callbacks=[timed], start=False
        )
        display_of(run).show()
        run.start().wait()
        found = {tag: points for (_, tag), points in scalars(run.logdir).items()}
        self._recorded = min(len(run.scalars["batch_loss"]), len(found["batch_loss"]))
        return timed


def _quick(seconds: list[float]) -> float:
    """The quickest quarter's upper end."""
    return statistics.quantiles(seconds)[0]
