"""The data of a run: drawn pass after pass, and taken up with the very element that comes next."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Save
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.engines import steps
from tests.fitted import Late, assert_same, classifier, ended, started
from tests.fitted import dataset as fitted_on
from tests.gate import SOON, Gate, eventually
from tests.models import applied
from tests.on_disk import copy_of

ROWS, BATCH = 42, 8
BATCHES = 6  # of a pass; the last has 2 rows


def dataset() -> Any:
    """Shuffled anew in every pass, batched and drawn ahead."""
    rows = tf.data.Dataset.range(ROWS)
    return rows.shuffle(12, seed=7, reshuffle_each_iteration=True).batch(BATCH).prefetch(2)


def of_unknown_length() -> Any:
    """The same, of which TensorFlow does not know the length."""
    return dataset().filter(lambda _rows: True)


def without_a_seed() -> Any:
    """Shuffled in another order by every program."""
    return tf.data.Dataset.range(ROWS).shuffle(12).batch(BATCH).prefetch(2)


def cached() -> Any:
    """Read once."""
    return tf.data.Dataset.range(ROWS).cache().shuffle(12, seed=7).batch(BATCH)


def calling_python() -> Any:
    """The same, of which no state can be saved."""
    return dataset().map(lambda rows: tf.py_function(lambda each: each, [rows], tf.int64))


def distributed() -> Any:
    """The same, for the replicas of a strategy."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    return strategy.experimental_distribute_dataset(dataset())


def listed() -> list[Any]:
    """Batches that are no pipeline."""
    return [np.arange(at, min(at + BATCH, ROWS)) for at in range(0, ROWS, BATCH)]


class Pieces(keras.utils.PyDataset):
    """Batches by number, which Keras's `fit` would take."""

    @property
    def num_batches(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> Any:
        return listed()[index]


def numbers() -> Any:
    """A pipeline of one pass, as long as two of the others."""
    batches = tf.data.Dataset.range(2 * BATCHES).shuffle(5, seed=7)
    return batches.map(lambda number: [number, number + 1]).prefetch(2)


AGAIN: dict[str, Callable[[], Any]] = {
    "dataset": dataset,
    "dataset of unknown length": of_unknown_length,
    "dataset that calls Python": calling_python,
    "distributed dataset": distributed,
    "list": listed,
    "PyDataset": Pieces,
    "function": lambda: lambda: iter(listed()),
}
ONCE: dict[str, Callable[[], Any]] = {
    "iterator of a dataset": lambda: iter(numbers()),
    "generator": lambda: (batch for _ in range(2) for batch in listed()),
}
KINDS = {**AGAIN, **ONCE}
EXACT = [kind for kind in KINDS if kind not in ("dataset that calls Python", "distributed dataset")]


class Training:
    """A sum that tells every row and its step, and which rows each step was given."""

    def __init__(self, at_step: Callable[[int], object] = lambda _count: None) -> None:
        self.sum = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(sum=self.sum)
        self.rows: list[tuple[int, ...]] = []
        self._at_step = at_step

    def step(self, batch: Any) -> dict[str, Any]:
        """Train; `at_step` may wait, raise, or ask the run for something."""
        rows = tuple(int(row) for row in batch)
        self._at_step(len(self.rows) + 1)
        self.sum.assign(31 * self.sum % 1_000_003 + sum(rows))
        self.rows.append(rows)
        return {"sum": self.sum.read_value()}

    def train(self, data: Any, name: str, **options: Any) -> nbtrain.Run:
        """A run."""
        return nbtrain.train(self.step, data=data, name=name, checkpoint=self.checkpoint, **options)

    def ended(self, data: Any, name: str, **options: Any) -> nbtrain.Run:
        """A run, once it has ended."""
        return self.train(data, name, **options).wait(SOON)


def options_of(kind: str) -> dict[str, Any]:
    """Two passes, or as many as there are."""
    return {"epochs": 2} if kind in AGAIN else {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [3, BATCHES - 1, BATCHES, BATCHES + 2])
def test_a_run_that_was_stopped_goes_on_with_the_element_that_comes_next(
    kind: str, at: int
) -> None:
    whole, broken, again = Training(), Training(), Training()
    whole.ended(KINDS[kind](), "whole", **options_of(kind))
    broken.ended(KINDS[kind](), "broken", steps=at, **options_of(kind))
    run = again.ended(KINDS[kind](), "broken", **options_of(kind))
    assert broken.rows + again.rows == whole.rows
    assert again.sum.numpy() == whole.sum.numpy()
    assert (run.status.phase, run.status.step) == ("finished", 2 * BATCHES)
    assert ("drawn again up to there" in (run.status.message or "")) == (kind not in EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_started_again_where_it_stopped(kind: str) -> None:
    whole = Training()
    whole.ended(KINDS[kind](), "whole", **options_of(kind))
    broken = Training(lambda step: run.request_stop() if step == 4 else None)
    run = broken.train(KINDS[kind](), "broken", start=False, **options_of(kind))
    run.start().wait(SOON)
    assert run.status.step == 4
    run.start().wait(SOON)
    assert broken.rows == whole.rows
    assert run.status.message is None


@pytest.mark.parametrize("kind", [kind for kind in EXACT if kind != "generator"])
@pytest.mark.parametrize(("saved", "left"), [(3, 5), (BATCHES, BATCHES + 1), (4, BATCHES + 3)])
def test_a_restore_goes_back_in_the_data_too(kind: str, saved: int, left: int) -> None:
    def steer(step: int) -> None:
        if step == saved:
            receipts.append(run.save())
        if step == left:
            receipts.append(run.restore(saved))

    receipts: list[Any] = []
    whole, back = Training(), Training(steer)
    whole.ended(KINDS[kind](), "whole", **options_of(kind))
    run = back.train(KINDS[kind](), "back", start=False, **options_of(kind))
    run.start().wait(SOON)
    assert [applied(receipt).step for receipt in receipts] == [saved, left]
    assert back.rows == whole.rows[:left] + whole.rows[saved:]
    assert back.sum.numpy() == whole.sum.numpy()
    assert run.status.message is None


@pytest.mark.parametrize(
    "make",
    [*(KINDS[kind] for kind in EXACT if kind != "generator"), without_a_seed, cached],
    ids=[*(kind for kind in EXACT if kind != "generator"), "without a seed", "cached"],
)
def test_a_restore_of_the_first_copy_gives_all_passes_again(make: Callable[[], Any]) -> None:
    def steer(step: int) -> None:
        if step == left:
            receipts.append(run.restore(0))

    receipts: list[Any] = []
    left, back = BATCHES + 3, Training(steer)
    data = make()
    run = back.train(data, "back", start=False, epochs=None if isinstance(data, Iterator) else 2)
    run.start().wait(SOON)
    assert applied(receipts[0]).step == left
    assert back.rows[left : 2 * left] == back.rows[:left]
    assert run.status.step == 2 * BATCHES == len(back.rows) - left
    assert run.status.message is None


def test_the_first_copy_gives_all_passes_again_in_another_run() -> None:
    gate = Gate(passes=3)
    whole, again = Training(), Training()
    whole.ended(dataset(), "whole", epochs=2)
    run = Training(gate).train(dataset(), "run", epochs=2)
    gate.wait_for_arrivals(4)
    shutil.copytree("runs/run/checkpoints/last_good", "runs/copied/checkpoints")
    run.request_stop()
    gate.open()
    run.wait(SOON)
    data = dataset()
    next(iter(data))  # to be shuffled otherwise
    assert "Continues from ckpt-0" in str(again.ended(data, "copied", epochs=2).status.notice)
    assert again.rows == whole.rows


def test_a_generator_that_cannot_go_back_says_so_and_goes_on() -> None:
    def steer(step: int) -> None:
        if step == 3:
            run.save()
        if step == 5:
            run.restore(3)

    back = Training(steer)
    run = back.train(KINDS["generator"](), "back", start=False)
    run.start().wait(SOON)
    assert run.status.message == "An iterator cannot go back: the data go on where they were."
    assert back.rows == [tuple(batch) for batch in listed() * 2]
    assert run.status.step == 2 * BATCHES - 2


@pytest.mark.parametrize("kind", ["dataset", "list"])
def test_a_save_after_a_restore_holds_the_restored_position_in_the_data(kind: str) -> None:
    gate = Gate(passes=4)
    whole, left, again = Training(), Training(gate), Training()
    whole.ended(KINDS[kind](), "whole", epochs=2)
    run = left.train(KINDS[kind](), "run", epochs=2, save_steps=2)
    gate.wait_for_arrivals(5)
    receipts = [run.pause(), run.restore(2), run.save()]
    gate.open()
    for receipt in receipts:
        applied(receipt)
    run.request_stop()
    run.wait(SOON)
    assert run.status.step == 2
    again.ended(KINDS[kind](), "run", epochs=2)
    assert again.rows == whole.rows[2:]


@pytest.mark.parametrize("kind", ["dataset", "dataset that calls Python", "list", "generator"])
@pytest.mark.parametrize("anew", [True, False])
def test_the_element_of_a_step_that_raised_is_given_again(kind: str, anew: bool) -> None:
    def fail(step: int) -> None:
        if step == 4 and not errors:
            errors.append(ValueError("a bad batch"))
            raise errors[0]

    errors: list[ValueError] = []
    whole, broken = Training(), Training(fail)
    whole.ended(KINDS[kind](), "whole", **options_of(kind))
    run = broken.train(KINDS[kind](), "broken", **options_of(kind))
    with pytest.raises(ValueError, match="a bad batch"):
        run.wait(SOON)
    assert run.status.step == 3
    if anew:
        run = broken.ended(KINDS[kind](), "broken", **options_of(kind))
    else:
        run.start().wait(SOON)
    assert broken.rows == whole.rows
    assert run.status.step == 2 * BATCHES


def test_an_element_of_any_kind_is_given_again() -> None:
    def parts(rows: Any) -> dict[str, Any]:
        ragged = tf.RaggedTensor.from_row_lengths(rows, [1, tf.size(rows) - 1])
        return {"ragged": ragged, "text": tf.strings.as_string(rows), "one": (rows[0],)}

    def step(element: Any) -> dict[str, float]:
        seen.append(str(element))
        if len(seen) == 3:
            raise ValueError("a bad batch")
        return {"loss": 1.0}

    def run() -> nbtrain.Run:
        checkpoint = tf.train.Checkpoint(v=tf.Variable(0))
        data = dataset().map(parts)
        return nbtrain.train(step, data=data, epochs=1, checkpoint=checkpoint, name="run")

    seen: list[str] = []
    with pytest.raises(ValueError, match="a bad batch"):
        run().wait(SOON)
    assert run().wait(SOON).status.step == BATCHES
    assert seen[2] == seen[3]
    assert len({*seen}) == BATCHES


def test_without_epochs_the_data_begin_again_until_steps() -> None:
    training = Training()
    run = training.ended(listed(), "run", steps=2 * BATCHES + 1)
    assert training.rows == [tuple(batch) for batch in (listed() * 3)[: 2 * BATCHES + 1]]
    assert run.status.phase is Phase.FINISHED


def test_the_end_of_a_run_is_known_by_steps_or_by_epochs_whatever_comes_first() -> None:
    def total(**options: Any) -> int | None:
        return Training().train(start=False, name="run", **options).total_steps

    assert total(data=dataset(), epochs=3) == 3 * BATCHES
    assert total(data=dataset(), epochs=3, steps=4) == 4
    assert total(data=dataset(), epochs=1, steps=99) == BATCHES
    assert total(data=dataset(), steps=99) == 99
    assert total(data=dataset()) is None
    assert total(data=of_unknown_length(), epochs=3) is None
    assert total(data=dataset().repeat(), epochs=3) is None


def test_steps_beyond_the_data_end_with_the_data() -> None:
    run = Training().ended(dataset(), "run", epochs=1, steps=99)
    assert (run.status.phase, run.status.step) == ("finished", BATCHES)


def test_a_run_whose_epochs_are_over_says_what_to_give_and_goes_on_with_more() -> None:
    whole, ended, more = Training(), Training(), Training()
    whole.ended(dataset(), "whole", epochs=3)
    ended.ended(dataset(), "run", epochs=2)
    run = more.ended(dataset(), "run", epochs=2)
    assert "2 of 2 epochs are over: there is nothing left to train. Give more epochs=" in (
        run.status.message or ""
    )
    assert (run.status.phase, run.status.step, more.rows) == ("finished", 2 * BATCHES, [])
    more.ended(dataset(), "run", epochs=3)
    assert ended.rows + more.rows == whole.rows


def test_a_cached_pipeline_is_read_once_although_its_run_saves_at_pass_ends() -> None:
    read: list[int] = []

    def noted(row: Any) -> Any:
        read.append(int(row))
        return row

    def reading(row: Any) -> Any:
        return tf.numpy_function(noted, [row], tf.int64)

    data = tf.data.Dataset.range(ROWS).map(reading).cache().batch(BATCH)
    Training().ended(data, "run", epochs=3)
    assert read == [*range(ROWS)]


def test_another_pipeline_is_drawn_up_to_the_place_and_says_so() -> None:
    Training().ended(dataset(), "run", steps=4)
    again = Training()
    run = again.ended(tf.data.Dataset.range(ROWS).batch(BATCH), "run", epochs=1)
    assert "after element 4 of pass 1, but the checkpoint holds the state of another tf.data" in (
        run.status.message or ""
    )
    assert again.rows == [tuple(batch) for batch in listed()[4:]]


def test_a_checkpoint_without_a_place_says_so_and_the_data_begin() -> None:
    training = Training()
    nbtrain.train(
        lambda: training.step([1]), steps=2, name="run", checkpoint=training.checkpoint
    ).wait(SOON)
    again = Training()
    run = again.ended(listed(), "run", epochs=1)
    assert "holds no position in the data: the data go on where they were" in (
        run.status.message or ""
    )
    assert (run.status.step, len(again.rows)) == (2 + BATCHES, BATCHES)


def test_a_checkpoint_with_a_place_is_read_by_tensorflow_alone() -> None:
    training = Training()
    run = training.ended(dataset(), "run", steps=4)
    for made in (tf.train.Checkpoint, lambda **held: tf.train.Checkpoint(root=Holder(**held))):
        total = tf.Variable(0, dtype=tf.int64)
        made(sum=total).restore(run.checkpoints[-1].path).assert_existing_objects_matched()
        assert total.numpy() == training.sum.numpy()


class Holder(tf.Module):
    """A root for a checkpoint."""

    def __init__(self, sum: Any) -> None:  # noqa: A002 - the name in the checkpoint
        super().__init__()
        self.sum = sum


def test_a_checkpoint_made_of_a_root_keeps_its_form() -> None:
    total = tf.Variable(5, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(root=Holder(total), more=tf.Variable(7))
    run = nbtrain.train(
        lambda batch: {"sum": total.assign_add(batch[0])},
        data=listed(),
        steps=2,
        checkpoint=checkpoint,
    ).wait(SOON)
    total.assign(0)
    checkpoint.restore(run.checkpoints[-1].path).assert_existing_objects_matched()
    assert total.numpy() == 5 + 0 + BATCH


def test_the_proof_of_a_restore_is_of_variables_alone() -> None:
    Training().ended(dataset(), "run", steps=4)
    run = Training().ended(dataset(), "run", steps=5)
    notice = run.status.notice or ""
    assert notice == "Continues from ckpt-4: 1 variable matched, 0 optimizer slots among them."


@pytest.mark.parametrize("once", [True, False])
def test_a_stop_is_heard_while_the_data_are_drawn_again(once: bool) -> None:
    def slowly() -> Iterator[Any]:
        for batch in listed():
            gate()
            yield batch

    Training().ended(listed(), "run", steps=4)
    gate, again = Gate(passes=1), Training()
    run = again.train(slowly() if once else slowly, "run", epochs=1)
    gate.wait_for_arrivals(2)
    run.request_stop()
    gate.allow()
    run.wait(SOON)
    assert (run.status.phase, run.status.step, again.rows) == ("stopped", 4, [])
    gate.open()
    run.start().wait(SOON)
    assert again.rows == [tuple(batch) for batch in listed()[4:]]


def test_data_need_no_checkpoint() -> None:
    training = Training()
    run = nbtrain.train(training.step, data=dataset(), epochs=1).wait(SOON)
    assert (run.status.step, run.checkpoints) == (BATCHES, ())


def test_a_dataset_may_be_drawn_from_elsewhere_too() -> None:
    data = tf.data.Dataset.range(ROWS).batch(BATCH)
    other = iter(data)
    training = Training(lambda _step: next(other))
    training.ended(data, "run", epochs=1)
    assert training.rows == [tuple(batch) for batch in listed()]


def test_a_compiled_step_is_traced_once_and_by_the_element_before_it_runs() -> None:
    @tf.function
    def step(batch: Any) -> dict[str, Any]:
        return {"loss": tf.reduce_sum(batch)}

    run = nbtrain.train(step, data=dataset(), epochs=2, start=False)
    assert step.experimental_get_tracing_count() == 1
    run.start().wait(SOON)
    assert step.experimental_get_tracing_count() == 1, "for the smaller last batch as well"


def test_a_tuple_is_one_argument() -> None:
    @tf.function
    def step(batch: Any) -> dict[str, Any]:
        rows, _more = batch
        return {"loss": tf.reduce_sum(rows)}

    data = tf.data.Dataset.zip((dataset(), dataset()))
    assert nbtrain.train(step, data=data, epochs=1).wait(SOON).status.step == BATCHES


@pytest.mark.parametrize("make", [dataset, listed])
def test_the_users_own_loop_draws_from_data_and_continues_with_the_next_element(make: Any) -> None:
    def run(training: Training, name: str, **options: Any) -> nbtrain.Run:
        @nbtrain.background(
            data=make(), epochs=2, checkpoint=training.checkpoint, name=name, **options
        )
        def loop(run: nbtrain.Run, batches: Iterator[Any]) -> None:
            while not run.should_stop():  # two batches a step
                training.step(next(batches))
                run.record(training.step(next(batches)))

        loop.wait(SOON)
        return loop  # type: ignore[no-any-return]

    whole, broken, again = Training(), Training(), Training()
    run(whole, "whole")
    assert run(broken, "broken", steps=2).status.step == 2
    assert run(again, "broken").status.step == BATCHES
    assert broken.rows + again.rows == whole.rows
    assert len(whole.rows) == 2 * BATCHES


def test_an_iterator_that_is_named_in_the_checkpoint_goes_on_and_back_too() -> None:
    def run(training: Training, **options: Any) -> nbtrain.Run:
        batches = iter(numbers())
        checkpoint = tf.train.Checkpoint(sum=training.sum, batches=batches)

        @nbtrain.background(checkpoint=checkpoint, name="run", **options)
        def loop(run: nbtrain.Run) -> None:
            while not run.should_stop():
                if options.get("steps") == 7 and len(training.rows) == 2:
                    run.restore(3)
                training.step(next(batches))

        return loop.wait(SOON)  # type: ignore[no-any-return]

    whole = [tuple(int(row) for row in batch) for batch in numbers()]
    first, second, third = Training(), Training(), Training()
    run(first, steps=3)
    run(second, steps=7)
    run(third)
    assert first.rows == whole[:3]
    assert second.rows == [*whole[3:6], *whole[3:7]]
    assert third.rows == whole[7:]


def test_elements_drawn_by_an_unfinished_step_are_given_again() -> None:
    def run(**options: Any) -> list[int]:
        rows: list[int] = []

        @nbtrain.background(data=dataset(), checkpoint=checkpoint, name="run", **options)
        def loop(run: nbtrain.Run, batches: Iterator[Any]) -> None:
            while not run.should_stop():
                four = [next(batches) for _ in range(4)]
                rows.extend(int(row) for batch in four for row in batch)

        loop.wait(SOON)
        return rows

    checkpoint = tf.train.Checkpoint(v=tf.Variable(0))
    first = run(epochs=1)  # of 6 batches; 2 are left for the next life
    assert len(first) == 4 * BATCH
    assert sorted(first + run(epochs=2)[: ROWS - 4 * BATCH]) == [*range(ROWS)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((9, 2)), r"data=ndarray object is no sequence of batches: give a tf\.data\.Dat"),
        ((np.zeros(9), np.zeros(9)), r"data=tuple object is no .*\.from_tensor_slices\(\(x, y\)\)"),
        ({"x": np.zeros(9)}, "data=dict object is no sequence of batches"),
        (tf.zeros([9]), "data=EagerTensor object is no sequence of batches"),
        ("digits", "data=str object is no sequence of batches"),
        (3, "data=3 cannot be drawn from: give a"),
        (tf.data.Dataset.range(0), "data is a dataset without an element"),
    ],
)
def test_invalid_data_raise_before_anything_starts(data: Any, message: str) -> None:
    for start in (
        lambda: nbtrain.train(lambda batch: {"loss": 1.0}, data=data),
        lambda: nbtrain.background(lambda run, batches: None, data=data),
    ):
        with pytest.raises(ArgumentError, match=message):
            start()
    assert nbtrain.runs() == {}


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        (lambda: {"loss": 1.0}, {}, "takes other arguments .*: give a function of one argument"),
        (lambda x, y: {"loss": 1.0}, {}, r"missing .*'y'.*train_step\(\*batch\)"),
        (lambda x: {"loss": 1.0}, {"epochs": 0}, "epochs=0: give a whole number of at least 1"),
        (lambda x: {"loss": 1.0}, {"epochs": 1.5}, r"epochs=1\.5: give a whole number"),
        (lambda x: {"loss": 1.0}, {"epochs": 2, "data": iter([1])}, "which ends once: give what"),
        (lambda: {"loss": 1.0}, {"epochs": 2, "data": None}, "epochs=2 without data="),
        (tf.function(lambda x: [x]), {}, r"step\(\) returns a .*: give a dict of scalars"),
        (
            tf.function(lambda x: {"loss": tf.reduce_sum(x)}, [tf.TensorSpec([], tf.float32)]),
            {},
            "Can not cast TensorSpec|signature",
        ),
    ],
)
def test_a_step_that_cannot_take_the_data_is_refused_before_anything_starts(
    step: Any, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_TRACE_SECS", SOON)  # on a busy machine a trace takes its time
    with pytest.raises((ArgumentError, TypeError), match=message):
        nbtrain.train(step, **{"data": dataset(), **options})
    assert nbtrain.runs() == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "data has no element in pass 1"),
        (itertools.repeat(iter([1, 2])).__next__, "no element in pass 2: .*a new iterator"),
    ],
)
def test_a_pass_without_an_element_fails_the_run(data: Any, message: str) -> None:
    run = nbtrain.train(lambda batch: {"loss": 1.0}, data=data)
    with pytest.raises(ArgumentError, match=message):
        run.wait(SOON)


def test_a_fit_that_saves_where_it_went_back_to_saves_the_place_there() -> None:
    class Gated(Late):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            gate()

    gate = Gate(passes=7)
    whole, again = classifier(), classifier()
    ended(whole, "whole", x=fitted_on(), epochs=2)
    run = started(classifier(), "back", Gated(), x=fitted_on(), epochs=2, save_steps=4)
    gate.wait_for_arrivals(8)
    receipts = [run.pause(), run.restore(4), run.save()]
    gate.open()
    assert [applied(receipt).step for receipt in receipts] == [8, 8, 4]
    copy_of(run.logdir, "runs/copied")
    run.request_stop()
    run.wait(SOON)
    ended(again, "copied", x=fitted_on(), epochs=2)
    assert_same(again, whole)


def test_a_branch_goes_on_with_the_element_that_comes_next() -> None:
    whole = Training()
    whole.ended(dataset(), "whole", steps=14)
    parent = Training()
    run = parent.train(dataset(), "parent", steps=14, start=False)
    run.post(Save(), at=8)
    run.start().wait(SOON)
    done = len(parent.rows)
    run.branch(8, name="child").wait(SOON)
    assert parent.rows[done:] == whole.rows[8:]


def test_a_branch_tells_of_its_position_and_not_its_parent() -> None:
    parent = Training().train(calling_python(), "parent", steps=4, start=False)
    parent.post(Save(), at=2)
    parent.start().wait(SOON)
    child = parent.branch(2, name="child").wait(SOON)
    assert "Goes on after element 2 of pass 1" in (child.status.message or "")
    assert parent.status.message is None


@pytest.mark.parametrize("way", ["step", "loop"])
def test_time_spent_drawing_data_is_counted_as_input(way: str) -> None:
    training = Training()
    if way == "step":
        run = training.ended(dataset(), "run", epochs=2)
    else:

        @nbtrain.background(data=dataset(), epochs=2)
        def run(run: nbtrain.Run, batches: Iterator[Any]) -> None:
            while not run.should_stop():
                run.record(training.step(next(batches)))

        run.wait(SOON)
    assert run.status.usage is not None
    assert {"input", "step"} <= run.status.usage.seconds.keys()


def test_the_status_tells_the_pass_over_the_data() -> None:
    seen: list[int | None] = []

    def loop(run: nbtrain.Run, batches: Iterator[Any]) -> None:
        for _ in batches:
            seen.append(run.status.epoch)
            if run.should_stop():
                break

    run = nbtrain.background(loop, data=dataset(), epochs=2).wait(SOON)
    assert seen == [1] * BATCHES + [2] * BATCHES
    assert (run.status.epoch, run.status.epochs) == (2, 2)
    assert nbtrain.background(lambda _run: None).wait(SOON).status.epoch is None


def epoch_of(run: nbtrain.Run) -> tuple[int | None, ...]:
    """The number of the epoch, the step at which it began, and its steps."""
    status = run.status
    return status.epoch, status.epoch_began, status.epoch_steps


@pytest.mark.parametrize("known", [True, False])
def test_the_status_tells_where_the_pass_began_and_its_steps(*, known: bool) -> None:
    seen: list[tuple[int | None, ...]] = []
    data = dataset() if known else dataset().filter(lambda *_: True)
    training = Training()

    def step(element: Any) -> Any:
        seen.append(epoch_of(nbtrain.runs()["passes"]))
        return training.step(element)

    run = nbtrain.train(step, data=data, epochs=3, name="passes").wait(SOON)
    first = (1, 0, BATCHES if known else None)
    later = [(number + 1, number * BATCHES, BATCHES) for number in (1, 2)]
    assert seen[1:] == [each for each in (first, *later) for _ in range(BATCHES)][1:]
    assert epoch_of(run) == later[-1]


def test_a_pass_that_a_restore_goes_back_to_began_where_it_did() -> None:
    training = Training()
    run = nbtrain.train(
        training.step, data=dataset(), epochs=9, checkpoint=training.checkpoint, name="back"
    )
    eventually(lambda: run.status.step >= BATCHES + 2)
    run.pause().wait(SOON)
    run.save().wait(SOON)
    saved = run.status.step
    run.resume()
    eventually(lambda: run.status.step >= saved + 2 * BATCHES)
    run.pause().wait(SOON)
    run.restore(saved).wait(SOON)
    run.resume()
    eventually(lambda: run.status.step >= saved + 2)
    run.pause().wait(SOON)
    number, began, steps = epoch_of(run)
    assert number is not None
    assert (began, steps) == ((number - 1) * BATCHES, BATCHES)
    run.request_stop()
    run.wait(SOON)


def test_elements_that_are_drawn_several_at_a_step_have_no_steps() -> None:
    def loop(run: nbtrain.Run, batches: Iterator[Any]) -> None:
        for _ in batches:
            next(batches)
            if run.should_stop():
                break

    run = nbtrain.background(loop, data=dataset(), epochs=2).wait(SOON)
    assert run.status.epoch_steps is None


def test_the_passes_of_repeated_data_have_no_number() -> None:
    run = nbtrain.train(Training().step, data=dataset(), steps=BATCHES + 1).wait(SOON)
    assert (run.status.epoch, run.status.epochs) == (2, None)


def test_data_without_an_end_have_no_epochs() -> None:
    run = nbtrain.train(Training().step, data=dataset().repeat(), steps=BATCHES + 1).wait(SOON)
    assert (run.status.epoch, run.status.epochs) == (None, None)


def test_the_status_of_a_fit_tells_its_epoch() -> None:
    seen: list[int | None] = []
    model = classifier()
    see = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda _epoch, _logs: seen.append(nbtrain.runs()["fit-1"].status.epoch)
    )
    run = nbtrain.fit(model, fitted_on(), epochs=3, verbose=0, callbacks=[see]).wait(SOON)
    assert seen == [1, 2, 3]
    assert (run.status.epoch, run.status.epochs) == (3, 3)


def test_a_fit_that_ends_early_tells_the_last_epoch_that_it_trained() -> None:
    model = classifier()

    def fit(**options: Any) -> nbtrain.Run:
        stop = keras.callbacks.EarlyStopping("loss", min_delta=99, patience=1)
        run: nbtrain.Run = nbtrain.fit(
            model, fitted_on(), epochs=9, verbose=0, callbacks=[stop], name="early", **options
        )
        return run.wait(SOON)

    run = fit()
    steps = run.status.step // 2
    assert epoch_of(run) == (2, steps, steps)
    assert epoch_of(fit()) == (2, steps, steps), "it has nothing left to train"


def test_a_fit_that_is_stopped_between_two_epochs_tells_the_one_before() -> None:
    asked: list[str] = []

    def stop(epoch: int, _logs: Any) -> None:
        if epoch == 1:
            run = nbtrain.runs()["fit-1"]
            asked.append(f"epoch {run.status.epoch}")
            run.request_stop()

    see = keras.callbacks.LambdaCallback(on_epoch_end=stop)
    run = nbtrain.fit(classifier(), fitted_on(), epochs=9, verbose=0, callbacks=[see]).wait(SOON)
    steps = run.status.step // 2
    assert asked == ["epoch 2"]
    assert epoch_of(run) == (2, steps, steps)


def test_tracked_loops_that_are_stopped_between_two_turns_tell_the_one_before() -> None:
    def loop(run: Any) -> None:
        for epoch in run.track(range(9)):
            for _ in run.track(range(5)):
                pass
            if epoch == 1:
                run.request_stop()

    run = nbtrain.background(loop).wait(SOON)
    assert (run.status.step, epoch_of(run)) == (10, (2, 5, 5))


def test_the_status_of_a_fit_tells_where_its_epoch_began() -> None:
    seen: list[tuple[int | None, ...]] = []
    see = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda _epoch, _logs: seen.append(epoch_of(nbtrain.runs()["fit-1"]))
    )
    run = nbtrain.fit(classifier(), fitted_on(), epochs=3, verbose=0, callbacks=[see]).wait(SOON)
    steps = run.status.step // 3
    assert seen == [(number + 1, number * steps, steps) for number in range(3)]
