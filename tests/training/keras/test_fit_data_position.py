"""A Keras fit that was stopped, or went back, goes on with the very batch that comes next."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause, Save
from nbtrain.keras.fit import FitRun
from tests.fitted import (
    BATCH,
    COLUMNS,
    KINDS,
    STEPS,
    Back,
    Late,
    Pieces,
    StopAt,
    X,
    Y,
    assert_same,
    batches,
    classifier,
    dataset,
    ended,
    of_unknown_length,
    partly,
    started,
)
from tests.gate import SOON, Gate
from tests.models import applied, reached

EPOCHS = 2
VALIDATED: dict[str, Any] = {"validation_data": (X[:40], Y[:40])}

# The words of Keras at the first end of a pipeline whose length nobody knows.
pytestmark = pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")


def given(kind: str, *, validated: bool = False) -> dict[str, Any]:
    """The arguments of a fit; of data that are drawn on over several epochs, two passes."""
    epochs = EPOCHS + 1 if kind.endswith("drawn on") else EPOCHS
    return {**KINDS[kind](), "epochs": epochs, **(VALIDATED if validated else {})}


@functools.cache
def fitted(kind: str, *, validated: bool = False) -> tuple[Any, FitRun]:
    """A model that was fitted without a break, and its run; made once for all tests."""
    model = classifier()
    return model, ended(model, "whole", **given(kind, validated=validated))


# Of three kinds before the last batch of an epoch, and at its end; of the others in an epoch.
LIVES = {
    "arrays": [STEPS - 1, 1],
    "dataset": [STEPS - 1, 1, 2],  # a pipeline has another order in the second epoch
    "dataset of unknown length": [STEPS, 2],
    "PyDataset": [STEPS - 1, 1],
    # In the second of two epochs of one pass.
    "arrays drawn on": [9],
    "PyDataset drawn on": [9],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_stopped_and_goes_on_ends_as_an_unbroken_one(kind: str) -> None:
    whole, unbroken = fitted(kind)
    for seed, batches_of_life in enumerate(LIVES.get(kind, [5]), 3):
        ended(classifier(), "broken", StopAt(batches_of_life), seed=seed, **given(kind))
    again = classifier()
    run = ended(again, "broken", seed=8, **given(kind))
    assert run.status.message is None
    assert_same(again, whole)
    assert run.history == unbroken.history
    assert run.status.step == unbroken.status.step
    assert run.status.step == (7 + 5 + 7 if kind.endswith("drawn on") else EPOCHS * STEPS)


@pytest.mark.parametrize("kind", ["arrays", "dataset", "generator"])
def test_a_run_is_started_again_where_it_stopped(kind: str) -> None:
    broken, (whole, _) = classifier(), fitted(kind)
    run = ended(broken, "broken", StopAt(17), **given(kind))
    run.start().wait()
    assert_same(broken, whole)


@pytest.mark.parametrize("case", ["executions of 4", "eager", "unbuilt", "mirrored"])
def test_a_model_goes_on_however_it_is_made(case: str) -> None:
    def model() -> Any:
        if case == "mirrored":
            with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
                return classifier(late=True)
        size = 4 if case == "executions of 4" else 1
        return classifier(per_execution=size, eagerly=case == "eager", built=case != "unbuilt")

    whole, again = model(), model()
    unbroken = ended(whole, "whole", **given("arrays"))
    ended(model(), "broken", StopAt(4), **given("arrays"))
    run = ended(again, "broken", **given("arrays"))
    assert_same(again, whole)
    assert run.history == unbroken.history
    assert run.status.step == 2 * STEPS


def test_a_run_of_mixed_precision_goes_on() -> None:
    def model() -> Any:
        keras.mixed_precision.set_dtype_policy("mixed_float16")
        return classifier()

    try:
        whole, again = model(), model()
        ended(whole, "whole", **KINDS["arrays"](), epochs=2)
        ended(model(), "broken", StopAt(5), **KINDS["arrays"](), epochs=2)
        ended(again, "broken", **KINDS["arrays"](), epochs=2)
    finally:
        keras.mixed_precision.set_dtype_policy("float32")
    assert_same(again, whole)
    assert isinstance(again.optimizer, keras.optimizers.LossScaleOptimizer)


class SaveAtOnce(Late):
    """Saves before the first batch, and stops the run there."""

    def __init__(self) -> None:
        super().__init__()
        self.receipts: list[Any] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.receipts.append(self.run.save())
        self.run.request_stop()


def test_a_save_before_the_first_batch_holds_the_metrics_of_the_epoch() -> None:
    """Although the first batch creates their variables."""
    unbroken = ended(classifier(late=True), "whole", **given("dataset"))
    ended(classifier(late=True), "broken", StopAt(STEPS + 5), **given("dataset"))
    saves = SaveAtOnce()
    ended(classifier(late=True), "broken", saves, **given("dataset"))
    assert applied(saves.receipts[0]).step == STEPS + 5
    run = ended(classifier(late=True), "broken", **given("dataset"))
    assert run.history == unbroken.history


def message_of(run: FitRun) -> str:
    """Returns the warning of the panel."""
    return run.status.message or ""


class GoesBack(Late):
    """Saves at a step, and restores that from a later one; one pair of steps after the other."""

    def __init__(self, *pairs: tuple[int, int]) -> None:
        super().__init__()
        self._pairs, self._step = [*pairs, (-1, -1)], 0
        self.receipts: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        saved, left = self._pairs[0]
        if self._step == saved:
            self.receipts.append(self.run.save())
        if self._step == left:
            self.receipts.append(self.run.restore(saved))
            self._pairs.pop(0)
            self._step = saved


# To the first copy, and then within an epoch, over its end and to its end; of one kind to the
# first copy only, as TensorFlow saves no order of a further pass.
PAIRS = [(0, 5), (3, 8), (9, STEPS + 2), (STEPS, STEPS + 3)]
GOING_BACK = {
    "arrays": PAIRS,
    "dataset": PAIRS,
    "dataset of unknown length": PAIRS,
    "PyDataset": PAIRS,
    "dataset drawn on": [(0, STEPS + 1)],
}


@pytest.mark.parametrize("kind", GOING_BACK)
def test_a_restore_goes_back_in_the_data_too(kind: str) -> None:
    model, back = classifier(), GoesBack(*GOING_BACK[kind])
    whole, unbroken = fitted(kind)
    run = ended(model, "back", back, **given(kind))
    steps = [step for pair in GOING_BACK[kind] for step in pair]
    assert [applied(receipt).step for receipt in back.receipts] == steps[1:]
    assert_same(model, whole)
    assert run.history == unbroken.history
    assert run.status.message is None


def test_a_checkpoint_of_the_model_alone_leaves_the_place_where_it_is(tmp_path: Path) -> None:
    model = classifier()
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "own" / "ckpt"))
    run = nbtrain.fit(model, **KINDS["arrays"](), epochs=10**6, start=False)
    run.post(Save(), at=STEPS + 8)
    pause = run.post(Pause(), at=2 * STEPS + 7)
    run.start()
    applied(pause)
    position = run._engine.position
    before = position.epoch, position.batch, run.history
    applied(run.restore(path))
    assert (position.epoch, position.batch, run.history) == before
    run.request_stop()
    run.wait(SOON)


def test_a_generator_that_cannot_go_back_says_so() -> None:
    model, back = classifier(), Back(5, 20)
    run = ended(model, "back", back, **KINDS["generator"](), epochs=2)
    assert "a generator cannot go back: its batches go on where they were" in message_of(run)
    assert run.status.step == 2 * STEPS == int(model.optimizer.iterations)


def test_a_pipeline_that_cannot_be_saved_is_drawn_up_to_the_batch_and_says_so() -> None:
    def rows() -> Iterator[Any]:
        yield from zip(X, Y, strict=True)

    def pipeline() -> Any:
        kind = (tf.TensorSpec((COLUMNS,), tf.float32), tf.TensorSpec((), tf.int64))
        return tf.data.Dataset.from_generator(rows, output_signature=kind).batch(BATCH)

    whole, again = classifier(), classifier()
    ended(whole, "whole", x=pipeline(), epochs=2)
    ended(classifier(), "broken", StopAt(17), x=pipeline(), epochs=2)
    run = ended(again, "broken", x=pipeline(), epochs=2)
    assert "Goes on after batch 5 of epoch 2, but" in message_of(run)
    assert_same(again, whole)  # this one is in order


def test_a_pipeline_that_cannot_be_saved_says_so_at_the_first_copy_too() -> None:
    def same(x: Any, y: Any) -> Any:
        return tf.py_function(lambda *both: both, [x, y], [tf.float32, tf.int64])

    def shaped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(x, [None, COLUMNS]), tf.ensure_shape(y, [None])

    run = ended(classifier(), "back", Back(0, 5), x=dataset().map(same).map(shaped), epochs=1)
    assert "Goes on after batch 0 of epoch 1, but the state of this tf.data" in message_of(run)
    assert run.status.step == STEPS


class BackTo(Late):
    """Saves after three batches, and after five restores the checkpoints of these steps; once."""

    def __init__(self, *steps: int) -> None:
        super().__init__()
        self._steps, self._count = steps, 0
        self.receipts: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._count += 1
        if self._count == 3:
            self.receipts.append(self.run.save())
        if self._count == 5:
            self.receipts += [self.run.restore(step) for step in self._steps]


def in_order_after_arrays(*steps: int) -> tuple[Any, FitRun]:
    """A pipeline's run from a checkpoint of arrays at step 5, which goes back at step 10."""
    model, back = classifier(), BackTo(*steps)
    name = "_".join(map(str, ("back", *steps)))
    arrays = {**KINDS["arrays in order"](), "epochs": 2}
    ended(classifier(), name, StopAt(5), **arrays)
    pipeline = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    run = ended(model, name, back, x=pipeline, epochs=2)
    assert [applied(receipt).step for receipt in back.receipts] == [8, 10, *steps[:-1]]
    return model, run


@pytest.mark.parametrize("steps", [(8, 5), (5, 8)])
def test_a_checkpoint_that_does_not_fit_spoils_no_other(steps: tuple[int, ...]) -> None:
    model, run = in_order_after_arrays(*steps)
    assert_same(model, fitted("arrays in order")[0])
    says = "after batch 5 of epoch 1, but the checkpoint holds no state of this tf.data pipeline"
    if steps[-1] == 5:
        assert says in message_of(run)
    else:
        assert run.status.message is None


def test_an_epoch_of_another_length_begins_again_and_says_so() -> None:
    ended(classifier(), "run", StopAt(17), x=X, y=Y, batch_size=BATCH, epochs=2)
    model = classifier()
    run = ended(model, "run", x=X, y=Y, batch_size=30, epochs=2)
    assert "of batch 5 of an epoch of 12, where now an epoch has 3 batches" in message_of(run)
    assert "epoch 2 begins again" in message_of(run)
    assert run.status.step == 17 + 3
    assert len(run.history["loss"]) == 2


def test_an_execution_of_another_size_begins_the_epoch_again() -> None:
    ended(classifier(), "run", StopAt(5), **KINDS["arrays"](), epochs=1)
    run = ended(classifier(per_execution=4), "run", **KINDS["arrays"](), epochs=1)
    assert "epoch 1 begins again" in message_of(run)
    assert run.status.step == 5 + STEPS


@partly
def test_executions_of_data_of_unknown_length_go_on() -> None:
    """After a stop in an epoch, and after one in its validation."""

    class StopInValidation(Late):
        def on_test_begin(self, logs: Any = None) -> None:
            self.run.request_stop()

    def fit(name: str, *callbacks: Any) -> tuple[Any, FitRun]:
        model = classifier(per_execution=5)
        data: Any = {"x": of_unknown_length(), "validation_data": (X[:20], Y[:20])}
        return model, ended(model, name, *callbacks, **data, epochs=2)

    whole, unbroken = fit("whole")
    assert fit("broken", StopAt(2))[1].status.step == 10
    assert fit("broken", StopInValidation())[1].status.step == STEPS
    again, run = fit("broken")
    assert run.status.message is None
    assert_same(again, whole)
    assert run.history == unbroken.history
    assert run.status.step == 2 * STEPS


def test_batches_that_were_trained_before_are_no_batches_of_a_callback() -> None:
    class Seen(Late):
        def __init__(self) -> None:
            super().__init__()
            self.batches: list[int] = []

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.batches.append(batch)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            assert logs is not None
            assert set(logs) == {"loss", "accuracy"}
            assert self.batches[-1] == batch

    ended(classifier(), "run", StopAt(8), **KINDS["arrays"](), epochs=1)
    seen = Seen()
    ended(classifier(), "run", seen, **KINDS["arrays"](), epochs=1)
    assert seen.batches == [8, 9, 10, 11]


def test_batches_that_are_passed_over_are_not_loaded_again() -> None:
    ended(classifier(), "run", StopAt(8), x=Pieces(), epochs=1, shuffle=False)
    pieces = Pieces()
    ended(classifier(), "run", x=pieces, epochs=1, shuffle=False)
    assert set(pieces.asked) - {0, 1} == {8, 9, 10, 11}  # Keras looks at the first two


def test_every_row_comes_once_an_epoch_in_an_order_of_its_own() -> None:
    class Order(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.weight = self.add_weight(shape=(), name="weight")
            self.rows: list[int] = []

        def train_step(self, data: Any) -> Any:
            self.rows += [int(row) for row in data[:, 0]]
            return {"rows": tf.size(data)}

    orders = []
    for name in "ab":
        keras.utils.set_random_seed(ord(name))
        model = Order()
        model.compile(run_eagerly=True)
        ended(model, name, seed=ord(name), x=np.arange(50)[:, np.newaxis], batch_size=7, epochs=2)
        first, second = model.rows[:50], model.rows[50:]
        assert sorted(first) == sorted(second) == [*range(50)]
        orders += [tuple(first), tuple(second)]
    assert len({*orders, tuple(range(50))}) == 5


def test_a_finished_run_goes_on_with_further_epochs() -> None:
    again = classifier()
    whole, unbroken = fitted("dataset")
    ended(classifier(), "broken", **KINDS["dataset"](), epochs=1)
    run = ended(again, "broken", **given("dataset"))
    assert_same(again, whole)
    assert run.history == unbroken.history


def test_an_initial_epoch_that_the_run_has_reached_changes_no_order() -> None:
    again = classifier()
    ended(classifier(), "broken", **KINDS["arrays"](), epochs=1)
    ended(again, "broken", **KINDS["arrays"](), initial_epoch=1, epochs=2)
    assert_same(again, fitted("arrays")[0])


def test_a_run_whose_epochs_are_over_says_what_to_give() -> None:
    ended(classifier(), "run", **KINDS["arrays"](), epochs=2)
    run = ended(classifier(), "run", **KINDS["arrays"](), epochs=2)
    assert "2 of 2 epochs are over" in message_of(run)
    assert "Give more epochs=" in message_of(run)
    assert (run.status.phase, run.status.step) == ("finished", 2 * STEPS)


class Evaluating(Late):
    """Asks to stop in a validation."""

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.run.request_stop()


def test_a_validation_that_a_stop_has_ended_begins_again() -> None:
    again, (whole, unbroken) = classifier(), fitted("dataset", validated=True)
    run = ended(classifier(), "run", Evaluating(), **given("dataset", validated=True))
    assert (run.status.phase, run.status.step) == ("stopped", STEPS)
    assert "epoch_loss" not in run.scalars
    run = ended(again, "run", **given("dataset", validated=True))
    assert_same(again, whole)
    assert run.history == unbroken.history
    assert run.scalars["epoch_val_loss"].steps.tolist() == [STEPS, 2 * STEPS]


class Torn(keras.callbacks.Callback):
    """Raises an error in one of its methods: at the end of an epoch, or its second batch."""

    def __init__(self, method: str, epoch: int) -> None:
        super().__init__()
        self._epoch, self._torn = -1, (epoch, epoch if method == "on_epoch_end" else 1)
        setattr(self, method, self._raise)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def _raise(self, number: int, logs: Any = None) -> None:
        if (self._epoch, number) == self._torn:
            raise OSError("torn")


@pytest.mark.parametrize(
    ("kind", "method", "epoch", "trained"),
    [
        ("arrays", "on_epoch_end", 0, STEPS),
        ("arrays", "on_train_batch_end", 1, STEPS + 2),
        ("dataset", "on_train_batch_end", 1, STEPS + 2),
        ("dataset", "on_test_batch_end", 0, STEPS),
    ],
)
def test_a_batch_that_was_trained_before_an_error_counts(
    kind: str, method: str, epoch: int, trained: int
) -> None:
    validated = method == "on_test_batch_end"
    again, (whole, unbroken) = classifier(), fitted(kind, validated=validated)
    run = started(classifier(), "run", Torn(method, epoch), **given(kind, validated=validated))
    with pytest.raises(OSError, match="torn"):
        run.wait()
    assert run.status.step == trained
    assert run.scalars["batch_loss"].steps.tolist() == [*range(1, trained + 1)]
    assert [held.step for held in run.checkpoints] == [trained]
    run = ended(again, "run", **given(kind, validated=validated))
    assert_same(again, whole)
    assert run.history == unbroken.history
    assert run.status.step == 2 * STEPS


def test_a_validation_that_begins_again_can_be_stopped_again() -> None:
    def validated(gate: Gate) -> Any:
        def slow(x: Any, y: Any) -> Any:
            tf.py_function(gate, [], [])
            return x, y

        return tf.data.Dataset.from_tensor_slices((X, Y)).batch(1).map(slow)

    more: Any = {**KINDS["arrays"](), "epochs": 2}
    for _ in range(2):
        gate = Gate()
        run = started(classifier(), "run", **more, validation_data=validated(gate))
        gate.wait_for_arrivals()
        run.request_stop()
        gate.open()
        assert run.wait(SOON).status.phase == "stopped"
        assert (run.status.step, run.history) == (STEPS, {})
    run = ended(classifier(), "run", **more, validation_data=(X, Y))
    assert (run.status.phase, run.status.step) == ("finished", 2 * STEPS)
    assert [len(values) for values in run.history.values()] == [2, 2, 2, 2]


def test_a_validation_on_a_generator_that_a_stop_has_ended_is_left_out() -> None:
    more: Any = {**KINDS["arrays"](), "epochs": 2, "validation_steps": 2}
    ended(classifier(), "run", Evaluating(), **more, validation_data=batches())
    run = ended(classifier(), "run", **more, validation_data=batches())
    assert (run.status.phase, run.status.step) == ("finished", 2 * STEPS)
    assert (len(run.history["loss"]), len(run.history["val_loss"])) == (2, 1)
    assert "Epoch 1 has no validation" in str(run.status.message)


def test_a_generator_of_another_kernel_is_drawn_from_up_to_the_place() -> None:
    drawn: list[int] = []

    def counted() -> Iterator[Any]:
        for number, batch in enumerate(batches()):
            drawn.append(number)
            yield batch

    ended(classifier(), "run", StopAt(5), x=counted(), steps_per_epoch=8, epochs=1)
    drawn.clear()
    run = ended(classifier(), "run", x=counted(), steps_per_epoch=8, epochs=1)
    assert run.status.step == 8
    assert drawn[:8] == [*range(8)]


@pytest.mark.parametrize("end", ["a restore", "a stop"])
def test_a_fit_that_is_left_leaves_no_worker_of_a_pydataset(end: str) -> None:
    before = {*threading.enumerate()}
    pieces = Pieces(workers=2, max_queue_size=2)
    run = nbtrain.fit(classifier(), x=pieces, epochs=10**6, start=False)
    run.post(Save(), at=3)
    held = run.post(Pause(), at=5)
    run.start()
    applied(held)
    first = [each for each in threading.enumerate() if each.name.startswith("Worker_")]
    first = [each for each in first if each not in before]
    assert first  # it waits for room in its queue
    if end == "a restore":
        applied(run.restore(3))
        run.resume()
        reached(run, lambda run: run.status.step >= 5)
    else:
        run.request_stop()
        run.wait(SOON)
    for each in first:
        each.join(SOON)
    assert not [each for each in first if each.is_alive()]
    run.request_stop()
    run.wait(SOON)
