"""`run.why_slow`: the time of the input and of the step, and the line to change.

The runs that are asked and compared with others are asked `run.look_inside` too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause, WhySlow
from nbtrain.core.states import Phase
from nbtrain.inner.tensorflow import traces_of
from nbtrain.run.run import Run
from tests.gate import SOON
from tests.models import Counter, applied, reached, refused
from tests.training import faulty, slow
from tests.training.faulty import Faulty, line_of
from tests.training.slow import Small

PAUSED_AT, LAST = 30, 90
STEPS = 6


def ended(run: Run) -> None:
    run.request_stop()
    run.wait(SOON)


def asked(run: Run, steps: int = STEPS) -> dict[str, Any]:
    """The answer of a run that has trained some steps."""
    reached(run, lambda run: run.status.step > 2)
    outcome = applied(run.why_slow(steps))
    ended(run)
    return {"text": outcome.text, **outcome.answer}


def causes(answer: dict[str, Any], part: str) -> list[dict[str, Any]]:
    return [cause for cause in answer["causes"] if part in cause["text"]]


def test_python_in_the_pipeline_is_named_with_the_line_of_its_map() -> None:
    small = Small()
    answer = asked(small.start(slow.by_python()))
    assert answer["text"].startswith("input ")
    (cause,) = causes(answer, "map(load) calls Python")
    assert (cause["file"], cause["line"]) == (slow.__file__, line_of(slow.by_python, ".map(load"))
    assert "map(load" in cause["code"]
    assert answer["input"]["least"] <= answer["input"]["ms"] <= answer["input"]["most"]
    assert answer["input"]["count"] == answer["together"]["count"] == STEPS
    (part,) = (each for each in answer["profile"]["parts"] if "assign_add" in each.get("code", ""))
    assert part["line"] == line_of(Small, "self.weight.assign_add(tf.reduce_mean(element)")
    assert Path(answer["profile"]["trace"]).is_file()


def test_a_step_that_is_traced_again_and_again_is_named_with_its_argument() -> None:
    answer = asked(Small(retraced=True).start([tf.ones([4])] * 20))
    assert answer["bound"] == "tracing"
    (cause,) = causes(answer, f"traced_step was traced {STEPS} times in {STEPS} steps")
    assert "its argument number is another Python value each time (Literal[" in cause["text"]
    assert "give it as tf.constant(number)" in cause["change"]
    assert cause["line"] == line_of(Small, "@tf.function")


def test_a_step_that_makes_a_function_each_time_is_named() -> None:
    weight = tf.Variable(1.0)

    def step(element: Any) -> Any:
        return tf.function(lambda: weight.assign_add(element))()

    run = nbtrain.train(
        step, data=[tf.constant(1.0)] * 9, checkpoint=tf.train.Checkpoint(weight=weight)
    )
    assert causes(asked(run), "as a new tf.function each time")


def test_batches_of_other_shapes_are_named() -> None:
    weight = tf.Variable(1.0)

    @tf.function
    def step(batch: Any) -> Any:
        return weight.assign_add(tf.reduce_mean(batch))

    data = [tf.ones([size]) for size in range(1, 200)]
    checkpoint = tf.train.Checkpoint(weight=weight)
    answer = asked(nbtrain.train(step, data=data, checkpoint=checkpoint))
    assert answer["bound"] == "tracing"
    (cause,) = causes(answer, f"step was traced {STEPS} times in {STEPS} steps")
    assert "its argument batch has other shapes or types (TensorSpec(shape=" in cause["text"]
    assert "drop_remainder=True" in cause["change"]


def test_operations_that_are_executed_one_by_one_are_counted() -> None:
    answer = asked(Small(eager=True).start([tf.ones([4])] * 20))
    (cause,) = causes(answer, "operations of each step are executed one by one")
    assert "@tf.function" in cause["change"]
    assert cause["file"] == slow.__file__


def test_half_of_a_batch_is_tried_and_leaves_no_trace() -> None:
    small = Small()
    answer = asked(small.start(tf.data.Dataset.from_tensors(tf.ones([4])).repeat()))
    assert answer["half"]["count"] == STEPS
    assert len(traces_of(small.traced_step)) == 1


def test_a_step_that_xla_compiles_keeps_its_one_trace() -> None:
    weight = tf.Variable(1.0)

    @tf.function(jit_compile=True)
    def step(batch: Any) -> Any:
        return weight.assign_add(tf.reduce_mean(batch) * 1e-3)

    data = tf.data.Dataset.from_tensors(tf.ones([4])).repeat()
    answer = asked(nbtrain.train(step, data=data, checkpoint=tf.train.Checkpoint(weight=weight)))
    assert step.experimental_get_tracing_count() == 1
    assert "half" not in answer
    assert "Operations run for" not in answer["text"]


def test_another_profiler_is_said() -> None:
    small = Small()
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            answer = asked(small.start([tf.ones([4])] * 20))
        finally:
            tf.profiler.experimental.stop(save=False)
    assert answer["text"].endswith("The step was not profiled: another profiler is running")


def test_a_step_for_batches_of_one_size_is_measured_with_these() -> None:
    weight = tf.Variable(1.0)

    @tf.function(input_signature=[tf.TensorSpec([4])])
    def step(batch: Any) -> Any:
        return weight.assign_add(tf.reduce_mean(batch) * 1e-3)

    data = [tf.ones([4])] * 20
    answer = asked(nbtrain.train(step, data=data, checkpoint=tf.train.Checkpoint(weight=weight)))
    assert answer["step"]["count"] == STEPS
    assert "half" not in answer


def test_a_fit_for_batches_of_one_size_is_measured_with_these() -> None:
    class OfEight(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            tf.debugging.assert_equal(tf.shape(data[0])[0], 8)
            return super().train_step(data)

    model = OfEight([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    run = nbtrain.fit(
        model, np.ones((96, 3), "f"), np.ones((96, 1), "f"), batch_size=8, epochs=10**6
    )
    answer = asked(run)
    assert answer["step"]["count"] == STEPS
    assert "half" not in answer
    assert run.status.phase is Phase.STOPPED


def test_a_step_that_draws_its_data_itself_is_measured_as_a_whole() -> None:
    small = Small()
    answer = asked(nbtrain.train(lambda: small.step(tf.ones([4])), checkpoint=small.checkpoint))
    assert "input" not in answer
    assert answer["together"]["count"] == STEPS
    assert "and draws its data itself: give them as data=" in answer["text"]


def tracked(training: Faulty, **options: Any) -> Run:
    """A run of two tracked loops, one in the other."""

    @nbtrain.background(checkpoint=training.checkpoint, **options)
    def loops(run: Any) -> None:
        for _ in run.track(range(10**6)):
            for batch in run.track(training.data):
                run.record(training.step(batch))

    made: Run = loops
    return made


def at(run: Run, step: int) -> None:
    """Starts a run that pauses at a step, and waits for it."""
    run.post(Pause(), at=step)
    run.start()
    reached(run, lambda run: run.status.phase is Phase.PAUSED)


@pytest.mark.parametrize("how", ["step function", "tracked loops"])
def test_a_run_that_was_asked_ends_as_one_that_was_not(how: str) -> None:
    """Weights, slots, metrics, position in the data and random draws are as before."""
    found: list[tuple[Any, ...]] = []
    for asks in (False, True):
        training = Faulty(faulty.log_of, 1.0, guarded=True)
        options = {"steps": LAST, "name": f"{how[:4]}-{asks}", "start": False}
        run = (training.start if how == "step function" else partial(tracked, training))(**options)
        at(run, PAUSED_AT)
        if asks:
            before = training.state()
            outcome = applied(run.why_slow(STEPS))
            assert outcome.step == run.status.step == PAUSED_AT
            assert outcome.answer.keys() >= {"input", "step", "together", "bound"}
            for was, now in zip(before, training.state(), strict=True):
                np.testing.assert_array_equal(was, now)
            look = applied(run.look_inside())
            assert look.step == run.status.step == PAUSED_AT
            assert look.answer["parts"]
            for was, now in zip(before, training.state(), strict=True):
                np.testing.assert_array_equal(was, now)
        applied(run.resume())
        run.wait(SOON)
        assert run.status.step == LAST
        found.append((training.state(), run.scalars["loss"]))
    (states, losses), (others, other) = found
    for was, now in zip(states, others, strict=True):
        np.testing.assert_array_equal(was, now)
    np.testing.assert_array_equal(losses.values, other.values)
    np.testing.assert_array_equal(losses.steps, other.steps)


def noisy(x: Any, y: Any) -> Any:
    """Draws random numbers from a state that no checkpoint holds, and uses none of them."""
    return x + 0.0 * tf.random.normal(tf.shape(x)), y


def elements_of(run: Any, seen: list[int], *, asks: bool) -> list[int]:
    """The elements that a run over 40 elements trains, without those of a question."""
    at(run, 25)
    if asks:
        before = len(seen)
        applied(run.why_slow(STEPS))
        del seen[before:]
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    return seen


@pytest.mark.parametrize("how", ["step function", "tracked loops"])
@pytest.mark.parametrize("kind", ["shuffled", "random"])
def test_a_run_over_data_that_cannot_come_again_trains_each_element_once(
    how: str, kind: str
) -> None:
    found = []
    for asks in (False, True):
        generator = tf.random.Generator.from_seed(1)

        def as_it_is(number: Any) -> Any:
            read = tf.numpy_function(lambda number: number, [number], tf.int64)
            return tf.ensure_shape(read, [])

        def drawn(number: Any, generator: Any = generator) -> Any:
            return number + 1000 * generator.uniform([], 0, 1000, tf.int64)

        data = tf.data.Dataset.range(40)
        data = data.shuffle(40).map(as_it_is) if kind == "shuffled" else data.map(drawn)
        seen: list[int] = []

        def step(number: Any, seen: list[int] = seen) -> Any:
            seen.append(int(number))
            return {"loss": 0.0}

        checkpoint = tf.train.Checkpoint(weight=tf.Variable(1.0))
        options: dict[str, Any] = {
            "checkpoint": checkpoint,
            "name": f"{how[:4]}-{kind}-{asks}",
            "start": False,
        }
        if how == "step function":
            run = nbtrain.train(step, data=data, epochs=3, **options)
        else:

            @nbtrain.background(**options)
            def run(run: Any, data: Any = data, step: Any = step) -> None:
                for _ in run.track(range(3)):
                    for number in run.track(data):
                        run.record(step(number))

        found.append(elements_of(run, seen, asks=asks))
    plain, asked_too = found
    if kind == "random":
        assert asked_too == plain
    for each in found:
        assert [sorted(number % 1000 for number in each[at : at + 40]) for at in (0, 40, 80)] == [
            [*range(40)]
        ] * 3


def test_a_cache_in_a_file_is_filled_first(tmp_path: Path) -> None:
    size = 3000  # many more than TensorFlow prepares in advance
    data = tf.data.Dataset.range(size).cache(str(tmp_path / "held"))
    seen: list[int] = []

    def step(number: Any) -> Any:
        seen.append(int(number))
        return {"loss": 0.0}

    checkpoint = tf.train.Checkpoint(weight=tf.Variable(1.0))
    run = nbtrain.train(step, data=data, epochs=3, checkpoint=checkpoint, start=False)
    at(run, 25)
    assert "fills the cache" in refused(run.why_slow(STEPS)).text
    run.post(Pause(), at=size + 60)
    applied(run.resume())
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    applied(run.why_slow(STEPS))
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED


FITS: dict[str, tuple[dict[str, Any], Callable[[Any, Any], dict[str, Any]]]] = {
    "arrays": ({}, lambda x, y: {"x": x, "y": y}),
    "a dataset": (
        {},
        lambda x, y: {"x": tf.data.Dataset.from_tensor_slices((x, y)).shuffle(99, seed=1).batch(8)},
    ),
    "a dataset whose state cannot be saved": (
        {},
        lambda x, y: {"x": tf.data.Dataset.from_tensor_slices((x, y)).map(noisy).batch(8)},
    ),
    "batches of one size": (
        {},
        lambda x, y: {
            "x": tf.data.Dataset.from_tensor_slices((x, y)).batch(8, drop_remainder=True)
        },
    ),
    "several batches of an execution": ({"steps_per_execution": 3}, lambda x, y: {"x": x, "y": y}),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_fit_that_was_asked_ends_as_one_that_was_not(kind: str) -> None:
    compiled, data = FITS[kind]
    random = np.random.default_rng(3)
    x, y = random.normal(size=(100, 3)).astype("f"), random.normal(size=(100, 1)).astype("f")
    found: list[Any] = []
    for asks in (False, True):
        keras.utils.set_random_seed(1)
        layers = keras.layers
        model = keras.Sequential(
            [
                keras.Input((3,)),
                layers.Dense(8, "relu"),
                layers.Dropout(0.2, seed=2),
                layers.BatchNormalization(),
                layers.Dense(1),
            ]
        )
        model.compile("adam", "mse", metrics=["mae"], **compiled)
        given = data(x, y)
        options = {"batch_size": 8 if "y" in given else None, "epochs": 7, "start": False}
        run = nbtrain.fit(model, **{**given, **options, "name": f"asks-{asks}"})
        at(run, PAUSED_AT)
        for _ in range(2 * asks):
            step = run.status.step
            answer = applied(run.why_slow(STEPS)).answer
            assert run.status.step == step
            assert answer.keys() >= {"input", "step", "together", "bound"}
            parts = {part["name"] for part in answer["profile"]["parts"]}
            assert parts >= {"the optimizer", "the loss"}
            applied(run.look_inside())
            assert run.status.step == step
        applied(run.resume())
        run.wait(SOON)
        found.append(
            (
                [each.numpy() for each in (*model.variables, *model.optimizer.variables)],
                run.scalars["batch_loss"].values,
                run.history,
            )
        )
    (weights, losses, history), (others, other, also) = found
    for was, now in zip(weights, others, strict=True):
        np.testing.assert_array_equal(was, now)
    np.testing.assert_array_equal(losses, other)
    assert history == also


def test_a_fit_that_draws_from_a_generator_is_refused() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = ((np.ones((8, 3), "f"), np.ones((8, 1), "f")) for _ in range(10**6))
    run = nbtrain.fit(model, batches, steps_per_epoch=100, epochs=10**4)
    reached(run, lambda run: run.status.step > 2)
    assert "could not come back: a generator cannot go back" in refused(run.why_slow()).text
    ended(run)


def test_a_pass_that_begins_within_the_data_of_a_step_function_is_put_aside() -> None:
    small = Small()
    answer = asked(small.start(tf.data.Dataset.from_tensors(tf.ones([4])).repeat(7)), 10)
    assert answer["first"]["count"] >= 1
    assert answer["together"]["count"] == 10


def test_a_held_batch_does_not_trace_the_step_of_a_fit_again() -> None:
    traces: list[object] = []

    class Traced(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            traces.append(data)
            return super().train_step(data)

    model = Traced([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((99, 3), "f"), np.ones((99, 1), "f")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(10)  # the last batch is smaller
    run = nbtrain.fit(model, data, epochs=10**6)
    reached(run, lambda run: run.status.step > 20)
    before = len(traces)
    applied(run.why_slow(20))
    assert len(traces) == before + 2, "for half of the rows and the profile alone"
    ended(run)


def test_a_loop_goes_on_to_its_end_however_few_elements_are_left() -> None:
    counter = Counter()

    @nbtrain.background(checkpoint=counter.checkpoint, start=False)
    def loop(run: Any) -> None:
        for _ in run.track(range(40)):
            run.record(loss=float(counter.step()["count"]))

    at(loop, 38)
    outcome = applied(loop.why_slow(20))
    assert outcome.step == loop.status.step == int(counter.count.numpy()) == 38
    applied(loop.resume())
    loop.wait(SOON)
    assert loop.status.step == int(counter.count.numpy()) == 40
    assert loop.scalars["loss"].steps[-1] == 40


def test_the_last_elements_of_a_step_function_come_again() -> None:
    counter = Counter()
    run = nbtrain.train(
        lambda _element: counter.step(),
        data=range(40),
        epochs=1,
        checkpoint=counter.checkpoint,
        start=False,
    )
    at(run, 38)
    applied(run.why_slow(20))
    applied(run.resume())
    run.wait(SOON)
    assert run.status.step == int(counter.count.numpy()) == 40


def test_the_end_of_a_pass_is_refused_and_the_loops_around_it_stay_where_they_are() -> None:
    counter = Counter()

    @nbtrain.background(checkpoint=counter.checkpoint, start=False)
    def loops(run: Any) -> None:
        for epoch in run.track(range(4)):
            for _ in run.track(range(20)):
                run.record(loss=float(counter.step()["count"]))
            run.record(per_epoch=float(epoch))

    at(loops, 40)
    assert "ends too soon after this step" in refused(loops.why_slow(6)).text
    applied(loops.resume())
    loops.wait(SOON)
    assert list(loops.scalars["per_epoch"].values) == [0, 1, 2, 3]
    assert list(loops.scalars["per_epoch"].steps) == [20, 40, 60, 80]


def test_a_step_may_change_its_element() -> None:
    weight = tf.Variable(0.0)

    def step(batch: dict[str, Any]) -> Any:
        return weight.assign_add(batch.pop("x") * 1e-6)

    data = tf.data.Dataset.range(10**6).map(lambda at: {"x": tf.cast(at, tf.float32)})
    run = nbtrain.train(step, data=data, checkpoint=tf.train.Checkpoint(weight=weight))
    assert asked(run)["step"]["count"] == STEPS


@pytest.mark.parametrize("steps", [0, 4, 2.5, "many"])
def test_too_few_steps_are_refused(steps: Any) -> None:
    run = Small().start([tf.ones([4])] * 20)
    assert refused(run.why_slow(steps)).text == (
        f"steps={steps!r}: give a whole number of at least 5."
    )
    ended(run)


def test_a_run_that_saves_nothing_says_what_it_needs() -> None:
    small = Small()
    run = nbtrain.train(small.step, data=[tf.ones([4])] * 20)
    assert "start it with checkpoint=" in refused(run.why_slow()).text
    ended(run)


def test_data_that_come_once_are_refused() -> None:
    small = Small()
    run = nbtrain.train(
        small.step, data=(tf.ones([4]) for _ in range(10**9)), checkpoint=small.checkpoint
    )
    assert "an iterator cannot go back" in refused(run.why_slow()).text
    ended(run)


def test_a_loop_that_asks_whether_to_stop_is_refused() -> None:
    small = Small()

    @nbtrain.background(checkpoint=small.checkpoint)
    def loop(run: Any) -> None:
        while not run.should_stop():
            run.record(small.step(tf.ones([4])))

    assert "why_slow needs a step function" in refused(loop.why_slow()).text
    ended(loop)


def test_a_stop_ends_the_measurement_and_the_run_is_where_it_was() -> None:
    counter = Counter(lambda _count: time.sleep(0.01))
    run = nbtrain.train(
        lambda _element: counter.step(), data=range(10**6), checkpoint=counter.checkpoint
    )
    reached(run, lambda run: run.status.step > 2)
    receipt = run.why_slow(10**4)
    reached(run, lambda run: int(counter.count.numpy()) > run.status.step + 3)
    ended(run)
    assert "asked to stop before the answer was found" in refused(receipt).text
    assert int(counter.count.numpy()) == run.status.step


def test_it_is_planned_for_a_step_and_leaves_a_mark() -> None:
    small = Small()
    run = small.start([tf.ones([4])] * 20, start=False)
    receipt = run.post(WhySlow(5), at=12)
    run.start()
    assert applied(receipt).step == 12
    ended(run)
    (mark,) = [mark for mark in run.marks if mark.event == "why_slow"]
    assert mark.step == 12
    assert mark.text.startswith("input ")
