"""Measures what `nbtrain.fit` adds to a batch, in turns with plain Keras in one process.

Executed by `run.py` in a kernel. Plain Keras, plain Keras again as the control, and each way train
models of their own, each in a thread, and take turns of some batches: the others wait meanwhile. So
a machine that others use too slows all of them alike. A turn gives the wall time and the CPU time
of its thread for a batch. The first batches and the first of each turn are not measured.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.core.values.arrays import FloatArray

_UNITS, _ROWS = 128, 32
_SKIPPED, _TURN = 20, 10  # batches

Arguments = Callable[[], dict[str, Any]]


class Turns(keras.callbacks.Callback):
    """Waits for its turn between two batches, and clocks its turns.

    A callback without a method for a batch, so that nobody reads the logs of one.

    Args:
        own: Released if it is the turn of this training.
        following: That of the next training.
        over: Set once one training has ended: the others go on without turns.
    """

    def __init__(
        self, own: threading.Semaphore, following: threading.Semaphore, over: threading.Event
    ) -> None:
        super().__init__()
        self.found: list[tuple[float, float]] = []
        self._own, self._following, self._over = own, following, over
        self._count, self._began = 0, (0.0, 0.0)

    def on_train_begin(self, logs: Any = None) -> None:
        """Clock the calls of the train function."""
        train, size = self.model.train_function, self.model.steps_per_execution
        calls = max(2, _TURN // size)

        def clocked(iterator: Any) -> Any:
            count, self._count = self._count, self._count + 1
            if count % calls == 0 and count * size >= _SKIPPED and not self._over.is_set():
                self._take_turns((calls - 1) * size)
            elif count % calls == 1:
                self._began = time.perf_counter(), time.thread_time()
            return train(iterator)

        self.model.train_function = clocked

    def _take_turns(self, batches: int) -> None:
        wall, cpu = time.perf_counter() - self._began[0], time.thread_time() - self._began[1]
        self.found.append((wall / batches * 1e6, cpu / batches * 1e6))
        self._following.release()
        self._own.acquire()


class Looks(keras.callbacks.Callback):
    """A callback of a user's that reads the loss after each batch."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Read."""
        self.loss = logs["loss"]


def _board() -> dict[str, Any]:
    folder = tempfile.mkdtemp(dir=".")
    return {"callbacks": [keras.callbacks.TensorBoard(folder, write_graph=False)]}


# The arguments of the plain fit and of the way's, and whether the way is of nbtrain.
WAYS: dict[str, tuple[Arguments, Arguments, bool]] = {
    "nbtrain.fit": (dict, dict, True),
    "nbtrain.fit, both with a callback": (
        lambda: {"callbacks": [Looks()]},
        lambda: {"callbacks": [Looks()]},
        True,
    ),
    "progress bar": (dict, lambda: {"verbose": 1}, False),
    "TensorBoard callback": (dict, _board, False),
}


def measure(way: str, batches: int, *, size: int = 1) -> dict[str, Any]:
    """Returns the µs of a plain batch, wall and CPU, and those added, by name: medians of turns.

    Args:
        way: One of `WAYS`.
        batches: Batches of each training.
        size: `steps_per_execution`.
    """
    plain, own, ours = WAYS[way]
    ways = {"plain": (plain(), False), "again": (plain(), False), "own": (own(), ours)}
    gates = [threading.Semaphore(number == 0) for number in range(len(ways))]
    over = threading.Event()
    turns = [Turns(gate, gates[(n + 1) % len(gates)], over) for n, gate in enumerate(gates)]
    threads = [
        threading.Thread(target=_train, args=(gate, gates, over, turn, batches, size, *how))
        for gate, turn, how in zip(gates, turns, ways.values(), strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    count = min(len(turn.found) for turn in turns)
    first, *others = (np.array(turn.found[1:count]) for turn in turns)
    figures = {"plain": _pair(np.median(first, 0)), "turns": count - 1}
    for name, found in zip([*ways][1:], others, strict=True):
        figures[name] = {
            "ratio": _pair(np.median(found, 0) / np.median(first, 0)),
            "quiet": _pair(np.percentile(found, 25, 0) / np.percentile(first, 25, 0)),
            "added": _pair(np.median(found - first, 0)),
        }
    return figures


def _pair(values: FloatArray) -> list[float]:
    """Wall and CPU time."""
    return [float(value) for value in values]


def _train(
    own: threading.Semaphore,
    gates: list[threading.Semaphore],
    over: threading.Event,
    turns: Turns,
    batches: int,
    size: int,
    arguments: dict[str, Any],
    ours: bool,
) -> None:
    """Train one model, with others in turn."""
    given = {**arguments, "callbacks": [*arguments.get("callbacks", ()), turns]}
    own.acquire()
    try:
        model, data = _model(size), _data(batches)
        if ours:
            nbtrain.fit(model, data, **given).wait()
        else:
            model.fit(data, **{"verbose": 0, **given})
    finally:
        over.set()
        for gate in gates:
            gate.release()


def _model(size: int) -> Any:
    """A dense model whose batch takes half a millisecond on a quiet machine."""
    layers = [keras.layers.Dense(_UNITS, "relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((_UNITS,)), *layers, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], steps_per_execution=size)
    return model


def _data(batches: int) -> Any:
    """Batches without a thread that tunes the pipeline."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(_ROWS, _UNITS)).astype("float32")
    options = tf.data.Options()
    options.autotune.enabled = False
    pipeline = tf.data.Dataset.from_tensors((x, draw.integers(0, 10, _ROWS))).repeat(batches)
    return pipeline.with_options(options)
