"""Measures `nbtrain.fit` and others beside bare `model.fit(verbose=0)`.

Executed by `run.py`, each way in a real kernel of its own: peers leave threads behind. Short
trainings, a bare one and one of the way, take turns; a pair is a second apart at most, for on
a machine that others use whole trainings differ by more than this is about. CPU of the thread
that calls `fit` is what the way adds to it, and less shaken. The panel is shown, and no page
looks at it. One model for each of the two, compiled once: tracing is no part of it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.logdir.scalars import scalars
from nbtrain.notebook.display import display_of

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
        way: One of `WAYS`.
        rounds: Turns of a bare training and one of the way.

    Raises:
        ImportError: What the way needs is not installed.
    """

    def __init__(self, way: str, *, rounds: int) -> None:
        draw = np.random.default_rng(0)
        x = draw.normal(size=(_ROWS, _COLUMNS)).astype("float32")
        y = draw.integers(0, 10, _ROWS)
        self._data = tf.data.Dataset.from_tensor_slices((x, y)).batch(_SIZE).cache().prefetch(8)
        self._bare, self._model = model(), model()
        made = WAYS[way]
        self._own: Callable[[], Timed] = (
            self._nbtrain if made is None else functools.partial(self._fit, **made())
        )
        self._rounds = rounds
        self._recorded: int | None = None

    def figures(self) -> dict[str, Any]:
        """Microseconds of a bare batch; quartiles of the ratios to it, and of the CPU added."""
        bare: list[Timed] = []
        own: list[Timed] = []
        plain: Callable[[], Timed] = functools.partial(self._fit, bare=True)
        for turn in range(self._rounds + 1):
            pair = [(bare, plain), (own, self._own)]
            for taken, train in pair if turn % 2 else reversed(pair):
                timed = train()
                if turn:  # the first one warms up
                    taken.append(timed)
        ratios = [each.seconds / other.seconds for each, other in zip(own, bare, strict=True)]
        added = [each.cpu - other.cpu for each, other in zip(own, bare, strict=True)]
        return {
            "batch_us": statistics.median(each.seconds for each in bare) / _BATCHES * 1e6,
            "ratios": statistics.quantiles(ratios),
            "cpu_us": [each / _BATCHES * 1e6 for each in statistics.quantiles(added)],
            "recorded": self._recorded,
            "batches": 2 * _BATCHES,
        }

    def _fit(self, *, bare: bool = False, verbose: int = 0, callbacks: Sequence[Any] = ()) -> Timed:
        timed = Timed()
        trained = self._bare if bare else self._model
        with contextlib.redirect_stderr(io.StringIO()):
            trained.fit(self._data, epochs=2, verbose=verbose, callbacks=[*callbacks, timed])
        return timed

    def _nbtrain(self) -> Timed:
        timed = Timed()
        run = nbtrain.fit(self._model, self._data, epochs=2, callbacks=[timed], start=False)
        display_of(run).show()
        run.start().wait()
        found = {tag: points for (_, tag), points in scalars(run.logdir).items()}
        self._recorded = min(len(run.scalars["batch_loss"]), len(found["batch_loss"]))
        return timed


def _board() -> dict[str, Any]:
    folder = tempfile.mkdtemp(dir=".")
    board = keras.callbacks.TensorBoard(folder, update_freq="batch", write_graph=False)
    return {"callbacks": [board]}


def _tqdm() -> dict[str, Any]:
    return {"callbacks": [importlib.import_module("tqdm.keras").TqdmCallback(verbose=2)]}


def _trackio() -> dict[str, Any]:
    os.environ["TRACKIO_DIR"] = tempfile.mkdtemp(dir=".")  # read at its import
    trackio = importlib.import_module("trackio")
    trackio.init(project="bench", embed=False)
    logged = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: trackio.log({"loss": logs["loss"]})
    )
    return {"callbacks": [logged]}


def _livelossplot() -> dict[str, Any]:
    return {"callbacks": [importlib.import_module("livelossplot").PlotLossesKeras()]}


def _wandb() -> dict[str, Any]:
    logger = importlib.import_module("wandb.integration.keras").WandbMetricsLogger
    importlib.import_module("wandb").init(mode="offline", dir=tempfile.mkdtemp(dir="."))
    return {"callbacks": [logger(log_freq="batch")]}


# Functions that make the arguments of each way's `fit`; None is ours. Peers are no dependencies.
WAYS: dict[str, Callable[[], dict[str, Any]] | None] = {
    "bare again": dict,
    "nbtrain.fit": None,
    "progress bar": lambda: {"verbose": 1},
    "tqdm's callback": _tqdm,
    "trackio per batch": _trackio,
    "livelossplot per epoch": _livelossplot,
    "wandb per batch, offline": _wandb,
    "TensorBoard per batch": _board,
}
