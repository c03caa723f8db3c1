"""The best state of a run beside its checkpoints, and the end of a run that no longer improves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Checkpoint, Phase
from nbtrain.core.values.direction import Direction
from nbtrain.engines.loops import LoopRun
from nbtrain.engines.tracked_run import TrackedRun
from nbtrain.run.run import Run
from tests.gate import SOON
from tests.models import Count, Counter, applied, refused


def best_of(run: Run) -> list[Checkpoint]:
    """The best states that the run lists."""
    return [held for held in run.checkpoints if Path(held.path).parent.name == "best"]


def evaluated(counter: Counter, values: Sequence[float], **options: Any) -> Run:
    """A run that is evaluated every ten steps, with these values one after the other."""
    left = iter(values)
    return nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"loss": next(left)},
        evaluate_steps=10,
        **options,
    )


def test_the_state_with_the_best_evaluation_is_kept_beside_the_checkpoints() -> None:
    counter = Counter()
    values = [3.0, 1.0, 2.0, 4.0]
    run = evaluated(counter, values, steps=40, keep=1, save_steps=15, keep_best="val_loss")
    run.wait(SOON)
    (best,) = best_of(run)
    assert best.step == 20
    assert int(tf.train.load_variable(best.path, "count/.ATTRIBUTES/VARIABLE_VALUE")) == 20
    assert [held.step for held in run.checkpoints] == [20, 40], "keep=1 does not count it"
    (*_, mark) = [mark for mark in run.marks if mark.event == "best"]
    assert (mark.step, mark.text) == (20, "best val_loss 1 at step 20, the lowest")
    assert run.status.message is None


@pytest.mark.parametrize("wanted", ["best", "best/ckpt-20"])
def test_a_run_goes_back_to_its_best_state(wanted: str) -> None:
    counter = Counter()
    run = evaluated(counter, [3.0, 1.0, 2.0, 4.0, 5.0], keep_best="val_loss", start=False, steps=50)
    pause = run.post(Pause(), at=35)
    run.start()
    applied(pause)
    outcome = applied(run.restore(wanted))
    assert outcome.text.startswith("restored ckpt-20: ")
    assert int(counter.count.numpy()) == run.status.step == 20
    applied(run.resume())
    run.wait(SOON)


def test_the_latest_checkpoint_is_not_the_best_one() -> None:
    counter = Counter()
    run = evaluated(counter, [3.0, 1.0], keep_best="val_loss", steps=30, save_steps=15, start=False)
    pause = run.post(Pause(), at=25)
    run.start()
    applied(pause)
    assert applied(run.restore()).text.startswith("restored ckpt-15: ")
    run.request_stop()
    run.wait(SOON)


def test_a_run_without_a_best_state_says_how_to_get_one() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint)
    answer = refused(run.restore("best"))
    assert answer.text.endswith(
        "There is no best checkpoint: start the run with keep_best=, such as keep_best='val_loss'."
    )
    run.request_stop()
    run.wait(SOON)


def test_a_run_that_goes_on_keeps_the_best_of_all_its_starts() -> None:
    counter = Counter()
    evaluated(counter, [3.0, 1.0], steps=20, name="a", keep_best="val_loss").wait(SOON)
    again = evaluated(Counter(), [2.0, 0.5, 0.7], steps=50, name="a", keep_best="val_loss")
    again.wait(SOON)
    assert [held.step for held in best_of(again)] == [40]
    assert [mark.step for mark in again.marks if mark.event == "best"] == [10, 20, 40]


def test_the_best_of_another_scalar_does_not_count() -> None:
    evaluated(Counter(), [3.0, 1.0], steps=20, name="a", keep_best="val_loss").wait(SOON)
    left = iter([0.2])
    counter = Counter()
    again = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"accuracy": next(left)},
        evaluate_steps=10,
        steps=30,
        name="a",
        keep_best="val_accuracy",
    ).wait(SOON)
    assert [held.step for held in best_of(again)] == [30]


def test_a_run_that_no_longer_improves_finishes_and_says_why() -> None:
    counter = Counter()
    values = [3.0, 1.0, 2.0, 1.0, 1.5, 9.0]
    run = evaluated(counter, values, steps=1000, keep_best="val_loss", patience=3).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 50)
    told = (
        "val_loss was no lower in 3 values (2, 1, 1.5); its lowest is 1 at step 20. The run ends."
    )
    assert told in str(run.status.notice)
    assert [mark.text for mark in run.marks if mark.event == "patience"] == [told]
    assert [held.step for held in run.checkpoints] == [20, 50], "its last state is saved"


def test_a_run_that_is_started_again_after_it_had_finished_counts_again() -> None:
    counter = Counter()
    options: Any = {"keep_best": "val_loss", "patience": 2, "name": "a", "steps": 1000}
    evaluated(counter, [1.0, 2.0, 2.0], **options).wait(SOON)
    again = evaluated(Counter(), [3.0, 0.5, 2.0, 2.0], **options).wait(SOON)
    assert again.status.step == 70
    assert [held.step for held in best_of(again)] == [50]


def test_a_fit_keeps_the_state_at_the_end_of_its_best_epoch() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(96, 3)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.7), "mse")  # oscillates
    run = nbtrain.fit(
        *(model, x, y),
        batch_size=16,
        epochs=40,
        validation_split=0.5,
        keep_best="val_loss",
        patience=4,
    ).wait(SOON)
    losses = run.scalars["epoch_val_loss"]
    lowest = int(np.argmin(losses.values))
    assert [held.step for held in best_of(run)] == [losses.steps[lowest]]
    assert run.status.step in (losses.steps[lowest] + 4 * 3, 40 * 3)
    applied_to = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    tf.train.Checkpoint(model=applied_to).restore(best_of(run)[0].path).expect_partial()
    applied_to.compile(loss="mse")
    found = applied_to.evaluate(x[48:], y[48:], verbose=0)
    assert found == pytest.approx(losses.values[lowest], rel=1e-4)


@pytest.mark.parametrize("tracked", [False, True])
def test_a_loop_of_ones_own_keeps_the_state_of_the_step_that_recorded_its_best(
    tracked: bool,
) -> None:
    counter = Counter()

    def validated(run: Run, step: int) -> None:
        counter.step()
        run.record(loss=1.0)
        if step % 5 == 0:
            run.record(val_loss=abs(step - 15.0))

    @nbtrain.background(checkpoint=counter.checkpoint, keep_best="val_loss", patience=3)
    def loop(run: LoopRun) -> None:
        if tracked:
            for step in run.track(range(1, 100)):
                validated(run, step)
            return
        step = 0
        while not run.should_stop():
            step += 1
            validated(run, step)

    run: Run = loop
    run.wait(SOON)
    (best,) = best_of(run)
    assert best.step == 15
    assert int(tf.train.load_variable(best.path, "count/.ATTRIBUTES/VARIABLE_VALUE")) == 15
    assert run.status.step == 30


def validated(run: Any, values: Sequence[float]) -> None:
    """Epochs of four steps, each with a value after them."""
    for value in run if isinstance(run, TrackedRun) else run.track(values):
        for _ in run.track(range(4)):
            run.record(loss=1.0)
        run.record(val_loss=value)


def in_background(values: Sequence[float], checkpoint: Any, **options: Any) -> Run:
    @nbtrain.background(checkpoint=checkpoint, keep_best="val_loss", **options)
    def run(run: Any) -> None:
        validated(run, values)

    return run.wait(SOON)  # type: ignore[no-any-return]


def in_foreground(values: Sequence[float], checkpoint: Any, **options: Any) -> Run:
    run = nbtrain.track(values, checkpoint=checkpoint, keep_best="val_loss", **options)
    validated(run, values)
    return run  # type: ignore[no-any-return]


@pytest.mark.parametrize("way", [in_background, in_foreground])
@pytest.mark.parametrize(("values", "best"), [([3.0, 1.0, 2.0], 8), ([3.0, 2.0, 1.0], 12)])
def test_tracked_epochs_keep_the_best_even_if_it_is_the_last(
    way: Any, values: list[float], best: int
) -> None:
    run = way(values, tf.train.Checkpoint(weight=tf.Variable(0.0)))
    assert [held.step for held in best_of(run)] == [best]


@pytest.mark.parametrize("way", [in_background, in_foreground])
def test_tracked_epochs_end_when_they_no_longer_improve(way: Any) -> None:
    checkpoint = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = way([3.0, 1.0, 2.0, 4.0, 5.0, 6.0], checkpoint, patience=2)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 16)
    assert "val_loss was no lower in 2 values (2, 4); its lowest is 1" in str(run.status.notice)


def test_a_supervised_graph_keeps_its_best_state() -> None:
    count = Count()
    left = iter([3.0, 1.0, 2.0, 2.0])
    run = nbtrain.supervise(
        count.train_op,
        evaluate=lambda _sess: {"loss": next(left)},
        evaluate_steps=5,
        keep_best="val_loss",
        patience=2,
    ).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 20)
    (best,) = best_of(run)
    assert tf.train.load_variable(best.path, "global_step") == best.step == 10


def test_a_monitored_session_ends_when_the_mean_of_its_loss_no_longer_improves() -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op, scalars={"loss": count.loss}, keep_best="loss", patience=2, steps=10**6
    ).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.step < 10**6
    assert "loss was no lower in 2 means of 100 values" in str(run.status.notice)
    (best,) = best_of(run)
    assert tf.train.load_variable(best.path, "global_step") == best.step


def test_values_of_a_trial_of_several_rates_are_not_the_best() -> None:
    counter, rate = Counter(), tf.Variable(1.0)
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        hyperparameters={"rate": rate},
        evaluate=lambda: {"loss": 100.0 if rate.numpy() == 1.0 else 1.0},
        evaluate_steps=10,
        keep_best="val_loss",
        start=False,
    )
    pause = run.post(Pause(), at=25)
    run.start()
    applied(pause)
    trial = run.trial(rate=[2.0, 3.0], steps=30)
    applied(run.resume())
    assert applied(trial).text.startswith("back to step 25, rate 1 again")
    run.request_stop()
    run.wait(SOON)
    assert 1.0 in run.scalars["val_loss"].values
    assert [held.step for held in best_of(run)] == [10]


def test_an_evaluation_on_request_keeps_the_state_that_it_is_of() -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"loss": 3.0},
        keep_best="val_loss",
    )
    step = applied(run.evaluate()).step
    run.request_stop()
    run.wait(SOON)
    (best,) = best_of(run)
    assert best.step == step == run.scalars["val_loss"].steps[0]


def test_an_evaluation_while_paused_keeps_the_state_that_it_is_of() -> None:
    counter = Counter()
    left = iter([3.0, 1.0])
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"loss": next(left)},
        keep_best="val_loss",
        steps=20,
        start=False,
    )
    pause = run.post(Pause(), at=7)
    run.start()
    applied(pause)
    applied(run.evaluate())
    (best,) = best_of(run)
    assert best.step == 7
    assert int(tf.train.load_variable(best.path, "count/.ATTRIBUTES/VARIABLE_VALUE")) == 7
    applied(run.resume())
    run.wait(SOON)
    assert [held.step for held in best_of(run)] == [7]


def test_a_restore_does_not_make_the_kept_best_a_scalar_that_is_missing() -> None:
    counter = Counter()
    options: Any = {"keep_best": "val_loss", "steps": 20}
    run = evaluated(counter, [3.0, 1.0], start=False, **options)
    pause = run.post(Pause(), at=15)
    run.start()
    applied(pause)
    applied(run.restore("best"))
    run.request_stop()
    run.wait(SOON)
    assert run.status.message is None
    assert [held.step for held in best_of(run)] == [10]


@pytest.mark.parametrize(("keep_best", "best"), [("max:val_elbo", 20), ("min:val_elbo", 10)])
def test_the_user_says_which_value_of_an_unknown_scalar_is_the_best(
    keep_best: str, best: int
) -> None:
    counter, left = Counter(), iter([-3.0, -1.0, -2.0])
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        evaluate=lambda: {"elbo": next(left)},
        evaluate_steps=10,
        steps=30,
        keep_best=keep_best,
    ).wait(SOON)
    assert [held.step for held in best_of(run)] == [best]
    assert run.status.directions == {"val_elbo": keep_best[:3]}


def test_what_the_user_says_comes_before_the_name_of_a_scalar() -> None:
    run = evaluated(
        Counter(), [3.0, 5.0, 4.0, 4.5], steps=1000, keep_best="max:val_loss", patience=2
    ).wait(SOON)
    assert best_of(run)[0].step == 20
    told = "val_loss was no higher in 2 values (4, 4.5); its highest is 5 at step 20. The run ends."
    assert told in str(run.status.notice)


def test_a_start_that_judges_the_other_way_round_begins_with_no_best() -> None:
    counter, again = Counter(), Counter()
    evaluated(counter, [3.0, 5.0], steps=20, name="a", keep_best="max:val_loss").wait(SOON)
    run = evaluated(again, [4.0], steps=30, name="a", keep_best="min:val_loss").wait(SOON)
    assert [held.step for held in best_of(run)] == [30]


def rising(*metrics: Any, **options: Any) -> Run:
    """A fit of twenty epochs whose metrics rise."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(300, 8)).astype("float32")
    y = (x @ generator.normal(size=(8, 10))).argmax(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.05), loss, metrics=list(metrics))
    arguments = {"epochs": 20, "validation_split": 0.3, "start": False}
    return nbtrain.fit(model, x, y, **(arguments | options))


def test_a_fit_judges_a_metric_of_keras_as_keras_does() -> None:
    top3 = keras.metrics.SparseTopKCategoricalAccuracy(3, name="top3")
    run = rising(top3, keep_best="val_top3", patience=3)
    run.start().wait(SOON)
    values = run.scalars["epoch_val_top3"].values
    assert len(values) > 5, "it rises, and must not end"
    assert best_of(run)[0].step == run.scalars["epoch_val_top3"].steps[int(values.argmax())]
    assert run.status.directions == {"top3": "max"}
    assert nbtrain.compare("runs").directions["epoch_val_top3"] is Direction.HIGHEST


class Own(keras.metrics.Metric):
    """A metric of the user's, which tells no direction."""

    def __init__(self) -> None:
        super().__init__(name="own")

    def update_state(self, *_: Any, **__: Any) -> None:
        """Counts nothing."""

    def result(self) -> Any:
        """Returns the same always."""
        return keras.ops.ones(())


def test_a_fit_asks_for_the_direction_of_a_metric_that_tells_none_before_anything_is_written() -> (
    None
):
    for metric in (Own(), keras.metrics.Mean(name="own")):
        with pytest.raises(ArgumentError, match=r'Give keep_best="max:val_own" if a higher one is'):
            rising(metric, keep_best="val_own", patience=2)
    assert not Path("runs").exists()
    run = rising(Own(), keep_best="max:val_own", patience=2)
    run.start().wait(SOON)
    assert "val_own was no higher in 2 values (1, 1); its highest is 1" in str(run.status.notice)


@pytest.mark.parametrize("rate", [0.1, [0.1, 0.2]])
def test_a_trial_asks_for_the_direction_of_its_scalar_and_changes_nothing(rate: Any) -> None:
    run = rising(Own())
    pause = run.post(Pause(), at=12)
    run.start()
    applied(pause)
    answer = refused(run.trial(learning_rate=rate, steps=2, keep_if="val_own"))
    assert answer.text.endswith(
        'keep_if="max:val_own" if a higher one is, or keep_if="min:val_own".'
    )
    assert run.status.hyperparameters[0].value == pytest.approx(0.05)
    assert "val_own" not in run.scalars, "it has not been evaluated"
    trial = run.trial(learning_rate=rate, steps=2, keep_if="max:val_own")
    applied(run.resume())
    assert applied(trial).kept
    run.request_stop()
    run.wait(SOON)


def test_a_metric_that_is_an_array_is_named() -> None:
    by_class = keras.metrics.MeanMetricWrapper(lambda y, p: y, name="by_class")
    by_class.result = lambda: keras.ops.ones((4,))
    run = rising(by_class, epochs=2, keep_best="max:val_by_class")
    run.start().wait(SOON)
    told = str(run.status.message)
    assert "no curve, and cannot be judged: 'by_class' of shape (4,), 'val_by_class' of" in told
    assert "keep_best='val_by_class': no scalar was recorded under this name" in told


def test_a_scalar_that_is_never_recorded_is_named_with_those_that_are() -> None:
    counter = Counter()
    run = evaluated(counter, [1.0], steps=15, keep_best="min:val_los").wait(SOON)
    assert run.status.message == (
        "keep_best='val_los': no scalar was recorded under this name, so no best checkpoint is "
        "kept. There are: 'count', 'val_loss'."
    )


def test_a_loop_that_saves_nothing_says_so_and_still_has_patience() -> None:
    @nbtrain.background(keep_best="val_loss", patience=2)
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(val_loss=1.0)

    run: Run = loop
    run.wait(SOON)
    words = "No best checkpoint at step 1 (best val_loss 1 at step 1, the lowest): this run saves"
    assert words in str(run.status.message)
    assert run.status.phase is Phase.FINISHED


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"keep_best": 3}, r"keep_best=3: give the name of a recorded scalar, such as 'val_loss'"),
        ({"keep_best": ""}, r"keep_best='': give the name of a recorded scalar"),
        ({"keep_best": "max:"}, r"keep_best='max:': give the name of a recorded scalar"),
        ({"keep_best": "val_auc"}, r'Give keep_best="max:val_auc" if a higher one is'),
        ({"patience": 3}, r"patience=3 without keep_best=: give the scalar that must improve too"),
        ({"keep_best": "loss", "patience": 0}, r"patience=0: give a whole number of at least 1"),
        ({"keep_best": "loss", "patience": "x"}, r"patience='x': give a whole number"),
        ({"keep_best": "loss"}, r"keep_best='loss' without checkpoint=: add the objects to save"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        nbtrain.train(Counter().step, **options)
    assert not Path("runs").exists()
