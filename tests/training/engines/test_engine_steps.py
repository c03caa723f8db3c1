"""Training by a step function or a loop: what cannot work is refused before anything starts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.engines import steps
from tests.gate import SOON, Gate
from tests.models import Counter, Line, applied


def assert_nothing_started() -> None:
    """No run, no folder."""
    assert nbtrain.runs() == {}
    assert not Path("runs").exists()


def background(step: Any, **options: Any) -> Any:
    """`nbtrain.background` with a loop around a step function."""
    return nbtrain.background(lambda run: run.drive(step), **options)


def test_a_compiled_step_trains_a_keras_model() -> None:
    line = Line(compiled=True)
    run = nbtrain.train(line.step, steps=200, checkpoint=line.checkpoint).wait(SOON)
    losses = run.scalars["loss"].values
    assert len(losses) == 200
    assert losses[-1] < losses[0] / 2
    assert run.status.engine == "step function"


def test_a_compiled_step_is_traced_but_not_run_before_the_start() -> None:
    count = tf.Variable(0)

    @tf.function
    def step() -> dict[str, Any]:
        count.assign_add(1)
        return {"count": count}

    run = nbtrain.train(step, steps=3, start=False)
    assert int(count.numpy()) == 0
    run.start().wait(SOON)
    assert int(count.numpy()) == 3


def test_a_step_that_is_slow_to_trace_holds_up_no_cell(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_TRACE_SECS", 0.0)
    counter = Counter()

    @tf.function
    def step() -> dict[str, Any]:
        gate()  # Python's own, so at tracing alone
        return {"count": counter.count.assign_add(1)}

    run = nbtrain.train(step, steps=3)
    assert run.status.phase is Phase.PREPARING
    gate.open()
    assert run.wait(SOON).status.phase is Phase.FINISHED
    assert run.scalars["count"].values.tolist() == [1, 2, 3]


def test_a_problem_found_by_a_late_trace_fails_the_run_before_a_step(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_TRACE_SECS", 0.0)
    counter = Counter()

    @tf.function
    def step() -> Any:
        gate()
        return [counter.count.assign_add(1)]

    run = nbtrain.train(step, steps=3)
    gate.open()
    with pytest.raises(ArgumentError, match="give a dict of scalars"):
        run.wait(SOON)
    assert counter.count.numpy() == 0


def test_a_step_that_was_mended_after_a_late_trace_failed_starts_again(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_TRACE_SECS", 0.0)
    counter = Counter()
    losses: dict[str, float] = {}

    @tf.function
    def step() -> dict[str, Any]:
        gate()
        counter.count.assign_add(1)
        return {"loss": tf.constant(losses["mine"])}

    run = nbtrain.train(step, steps=3)
    gate.open()
    with pytest.raises(KeyError, match="mine"):
        run.wait(SOON)
    losses["mine"] = 0.5
    run.start().wait(SOON)
    assert counter.count.numpy() == 3


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda: tf.zeros([2]), r"step\(\) returns a \w+ of shape \(2,\): give a dict of scal"),
        (lambda: None, r"step\(\) returns None: give a dict of scalars"),
        (lambda: (tf.constant(1.0), tf.constant(2.0)), r"step\(\) returns a tuple: give a dict"),
        (lambda: {"loss": tf.zeros([3])}, r"of shape \(3,\) as 'loss': return scalars by name"),
        (lambda: {"loss": None}, r"step\(\) returns None as 'loss'"),
        (lambda: {1: tf.constant(1.0)}, r" as 1: return scalars by name"),
        (lambda: {"loss": tf.constant(1 + 2j)}, r"'loss' is a complex128 number"),
        (lambda: {"loss": {"deep": tf.constant(1.0)}}, r"a dict as 'loss'"),
    ],
)
def test_a_compiled_step_that_returns_no_scalars_is_refused_before_anything_starts(
    result: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_TRACE_SECS", SOON)  # on a busy machine a trace takes its time
    with pytest.raises(ArgumentError, match=message):
        nbtrain.train(tf.function(result))
    assert_nothing_started()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"step\(\) returns None: give a dict of scalars"),
        ("0.5", r"step\(\) returns a str: give a dict"),
        ({"loss": [1.0]}, r"'loss' is \[1\.0\], and a scalar was expected"),
        ({"loss": np.zeros(2)}, r"'loss' has the shape \(2,\)"),
        ({2: 1.0}, r"The tag 2 is no name"),
    ],
)
def test_the_first_result_of_a_python_step_is_checked(result: Any, message: str) -> None:
    calls: list[int] = []

    def step() -> Any:
        calls.append(1)
        return result

    run = nbtrain.train(step)
    with pytest.raises(ArgumentError, match=message):
        run.wait(SOON)
    assert len(calls) == 1
    assert run.status.phase is Phase.FAILED
    assert len(run.scalars) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": -1}, "steps=-1: give a whole number of at least 1"),
        ({"save_secs": -1}, "save_secs=-1"),
        ({"save_steps": 0}, "save_steps=0"),
        ({"keep": 0}, "keep=0"),
        ({"checkpoint": "runs/a"}, r"checkpoint=str object: give tf\.train\.Checkpoint\("),
        ({"name": "a/b"}, "name='a/b' cannot name a folder"),
        ({"logdir": "/proc/self/runs"}, "The folder /proc/self/runs cannot be written"),
    ],
)
@pytest.mark.parametrize("way", [nbtrain.train, background])
def test_a_bad_argument_is_refused_before_anything_starts(
    way: Any, options: dict[str, Any], message: str
) -> None:
    counter = Counter()
    with pytest.raises(ArgumentError, match=message):
        way(counter.step, **options)
    assert int(counter.count.numpy()) == 0
    assert_nothing_started()


@pytest.mark.parametrize("step", [None, 3, {"loss": 1.0}])
def test_a_step_that_cannot_be_called_is_refused(step: Any) -> None:
    with pytest.raises(ArgumentError, match="cannot be called: give a function without arguments"):
        nbtrain.train(step)
    assert_nothing_started()


async def coroutine() -> dict[str, float]:
    """An async function, which would have to be awaited."""
    return {"loss": 1.0}


async def async_generator() -> AsyncIterator[dict[str, float]]:
    """An async generator of steps."""
    yield {"loss": 1.0}


class Asynchronous:
    """An object that is called, and would have to be awaited."""

    async def __call__(self) -> dict[str, float]:
        return {"loss": 1.0}


def generator() -> Iterator[dict[str, float]]:
    """Yields steps."""
    yield {"loss": 1.0}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda batch: {"loss": batch}, r"takes arguments \(missing .*'batch'\): give a function"),
        (tf.function(lambda batch: {"loss": batch}), "takes arguments .*'batch'"),
        (coroutine, r"returns a coroutine, which no .* awaits: give a function.*asyncio\.run\("),
        (Asynchronous(), "returns a coroutine, which no training thread awaits: give a function"),
        (async_generator, "returns an async generator, which no training thread awaits: give"),
        (generator, "returns a generator: give a function without arguments"),
    ],
)
def test_a_step_that_gives_no_scalars_by_a_mere_call_is_refused(step: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        nbtrain.train(step)
    assert_nothing_started()


def test_a_loop_that_does_not_take_its_run_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"takes other arguments \(too many .*: decorate a function"
    ):
        nbtrain.background(lambda: None)
    assert_nothing_started()


def test_a_decorator_without_options_starts_the_loop_and_gives_the_run() -> None:
    @nbtrain.background
    def digits(run: nbtrain.Run) -> None:
        while not run.should_stop():
            run.record(loss=1.0)

    assert isinstance(digits, nbtrain.Run)
    assert digits.name == "digits-1"
    assert digits.status.engine == "own loop"
    applied(digits.request_stop())
    digits.wait(SOON)


def test_a_decorator_with_options_leaves_the_start_to_the_user() -> None:
    @nbtrain.background(steps=2, name="mine", start=False)
    def digits(run: nbtrain.Run) -> None:
        while not run.should_stop():
            run.record(loss=1.0)

    assert digits.status.phase is Phase.CREATED
    assert nbtrain.runs() == {}
    digits.start().wait(SOON)
    assert digits.status.step == 2
    assert nbtrain.runs() == {"mine": digits}


def test_something_else_than_a_function_cannot_be_decorated() -> None:
    with pytest.raises(ArgumentError, match="cannot be called: decorate a function that takes run"):
        nbtrain.background(steps=2)(3)
    assert_nothing_started()


def test_a_loop_that_forgets_to_ask_whether_to_stop_still_ends_when_it_returns() -> None:
    @nbtrain.background
    def once(run: nbtrain.Run) -> None:
        run.record(loss=1.0)

    once.wait(SOON)
    assert once.status.phase is Phase.FINISHED
    assert once.scalars["loss"].values.tolist() == [1.0]


def test_a_run_saves_the_users_loop_with_its_checkpoint() -> None:
    line = Line()

    @nbtrain.background(steps=4, checkpoint=line.checkpoint)
    def fit(run: nbtrain.Run) -> None:
        while not run.should_stop():
            run.record(line.step())

    fit.wait(SOON)
    assert [checkpoint.step for checkpoint in fit.checkpoints] == [4]


class Metrics(NamedTuple):
    """One of the results that a step may return."""

    loss: Any
    accuracy: Any


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda number: number, {"loss": [1.0, 2.0, 3.0]}),
        (
            lambda number: Metrics(number, number / 2),
            {"loss": [1, 2, 3], "accuracy": [0.5, 1, 1.5]},
        ),
    ],
)
def test_a_step_may_return_one_scalar_or_a_named_tuple(
    made: Callable[[Any], Any], expected: dict[str, list[float]], traced: bool
) -> None:
    counter = Counter()

    def step() -> Any:
        return made(tf.cast(counter.count.assign_add(1), tf.float32))

    run = nbtrain.train(tf.function(step) if traced else step, steps=3).wait(SOON)
    assert {tag: run.scalars[tag].values.tolist() for tag in run.scalars} == expected


@pytest.mark.parametrize("value", [0.5, 3, np.float32(0.5), np.array(0.5), tf.constant(0.5)])
def test_one_recorded_scalar_is_the_loss(value: Any) -> None:
    @nbtrain.background(steps=1)
    def run(run: Any) -> None:
        while not run.should_stop():
            run.record(value)

    run.wait(SOON)
    assert run.scalars["loss"].values.tolist() == [float(value)]
