"""The state of the cell's thread in TensorFlow, Keras and NumPy holds in a run's threads too."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import nbtrain
from nbtrain.run.run import Run
from nbtrain.run.thread.thread_state import ThreadState
from tests.gate import SOON

v1 = tf.compat.v1
ASKED: contextvars.ContextVar[str] = contextvars.ContextVar("ASKED", default="")


class Own(keras.layers.Layer):
    """A custom layer."""


def _policy() -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    yield
    keras.config.set_dtype_policy(before)


def _numerics() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def _filters() -> Iterator[None]:
    tf.debugging.disable_traceback_filtering()
    yield
    tf.debugging.enable_traceback_filtering()


def _variable() -> Iterator[None]:
    token = ASKED.set("by the cell")
    yield
    ASKED.reset(token)


def _has_checked() -> bool:
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        tf.math.log(tf.constant(-1.0))
        return False
    return True


def _device_name() -> str:
    return str(context.context().device_name)[-5:]


GRAPH = tf.Graph()
LEFT_OPEN = tf.Graph().as_default()  # never freed: that would leave it in the thread of that time
STRATEGY = tf.distribute.OneDeviceStrategy("/CPU:0")

# A function that sets a state, one that reads it in the code of a run, and the expected value.
STATES: dict[str, tuple[Callable[[], Any], Callable[[], object], object]] = {
    "dtype policy": (
        contextlib.contextmanager(_policy),
        lambda: keras.layers.Dense(1).compute_dtype,
        "float16",
    ),
    "custom objects": (
        lambda: keras.saving.custom_object_scope({"Mine": Own}),
        lambda: keras.saving.get_registered_object("Mine"),
        Own,
    ),
    "Keras's name scope": (
        lambda: keras.name_scope("cell"),
        lambda: keras.Variable(0.0, name="w").path,
        "cell/w",
    ),
    "name scope": (lambda: tf.name_scope("cell"), tf.get_current_name_scope, "cell"),
    "device": (lambda: tf.device("/CPU:0"), _device_name, "CPU:0"),
    "strategy": (STRATEGY.scope, tf.distribute.get_strategy, STRATEGY),
    "graph": (GRAPH.as_default, v1.get_default_graph, GRAPH),
    "session": (
        lambda: v1.Session(graph=GRAPH),
        lambda: tf.constant(2.0).eval(),
        2.0,
    ),
    "numerics": (contextlib.contextmanager(_numerics), _has_checked, True),
    "tracebacks": (
        contextlib.contextmanager(_filters),
        tf.debugging.is_traceback_filtering_enabled,
        False,
    ),
    "NumPy's errors": (lambda: np.errstate(all="raise"), lambda: np.geterr()["divide"], "raise"),
    "context variable": (contextlib.contextmanager(_variable), ASKED.get, "by the cell"),
}


class Seen:
    """Keeps what the code of a run sees."""

    def __init__(self, look: Callable[[], object]) -> None:
        self.values: list[object] = []
        self.seen = threading.Event()
        self._look = look

    def __call__(self) -> None:
        try:
            self.values.append(self._look())
        except Exception as error:
            self.values.append(error)
        self.seen.set()


def by_loop(seen: Seen) -> Run:
    @nbtrain.background(name="run", system=False)
    def run(_run: Run) -> None:
        seen()

    assert isinstance(run, Run)
    return run


def by_train(seen: Seen) -> Run:
    def step() -> dict[str, float]:
        seen()
        return {"loss": 0.5}

    return nbtrain.train(step, steps=1, name="run", system=False)


def by_looper(seen: Seen) -> Run:
    began = threading.Event()

    @nbtrain.background(name="run", system=False)
    def run(_run: Run) -> None:
        assert began.wait(SOON)
        assert seen.seen.wait(SOON)

    assert isinstance(run, Run)
    run.loop(None, seen)
    began.set()
    return run


@pytest.mark.parametrize("start", [by_loop, by_train, by_looper])
@pytest.mark.parametrize("state", STATES)
def test_the_code_of_a_run_sees_the_state_of_the_cell(
    state: str, start: Callable[[Seen], Run]
) -> None:
    enter, look, expected = STATES[state]
    seen = Seen(look)
    with enter():
        run = start(seen)
        run.wait(SOON)
    assert seen.values[0] == expected


def test_a_scope_that_the_program_leaves_open_is_no_error() -> None:
    errors: list[BaseException] = []
    with GRAPH.as_default():
        state = ThreadState()

    def leave_open() -> None:
        try:
            with state.entered():
                LEFT_OPEN.__enter__()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=leave_open)
    thread.start()
    thread.join(SOON)
    assert errors == []


def test_the_state_of_the_cell_is_that_of_the_start() -> None:
    seen = Seen(lambda: keras.config.dtype_policy().name)

    @nbtrain.background(name="run", system=False, start=False)
    def run(_run: Run) -> None:
        seen()

    assert isinstance(run, Run)
    with contextlib.contextmanager(_policy)():
        run.start().wait(SOON)
    run.start().wait(SOON)
    assert seen.values == ["mixed_float16", "float32"]
