"""A MonitoredSession in a loop of one's own, under the run by its RunHook."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import Counter, applied, reached, refused
from tests.training.hooked import Loop, Open, in_training_session, v1
from tests.training.monitored import METHODS, Raising, Watching, value_of


@pytest.mark.parametrize(
    "open_session",
    [
        in_training_session,
        lambda hooks: v1.train.SingularMonitoredSession(hooks),
        lambda hooks: v1.train.MonitoredSession(hooks=hooks),
    ],
    ids=["training", "singular", "monitored"],
)
def test_the_loop_of_any_monitored_session_is_the_runs(open_session: Open) -> None:
    run = nbtrain.background(Loop(open_session), steps=20).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["loss"].steps.tolist() == list(range(1, 21))
    assert [checkpoint.step for checkpoint in run.checkpoints] == [20]
    assert value_of(run, "global_step") == 20


def test_pause_save_restore_and_stop_reach_the_session(gate: Gate) -> None:
    run = nbtrain.background(Loop(gate=gate), keep=None)
    gate.open()
    step = applied(run.save()).step
    reached(run, lambda run: run.status.step > step + 2)
    applied(run.pause())
    assert run.status.phase is Phase.PAUSED
    assert "matched" in applied(run.restore(step)).text
    assert run.status.step == step
    applied(run.resume())
    reached(run, lambda run: run.status.step > step + 2)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert value_of(run, "global_step") == run.status.step


def test_a_run_that_is_paused_before_its_session_takes_no_step(gate: Gate) -> None:
    run = nbtrain.background(Loop(gate=gate), start=False)
    run.start()
    receipt = run.pause()
    gate.open()
    applied(receipt)
    step = run.status.step
    applied(run.save())
    assert value_of(run, "global_step") == step
    applied(run.resume())
    run.request_stop()
    run.wait(SOON)


def test_a_session_continues_from_the_latest_checkpoint_of_the_run() -> None:
    loop = Loop()
    run = nbtrain.background(loop, steps=6, name="here").wait(SOON)
    again = nbtrain.background(loop, steps=9, name="here").wait(SOON)
    assert "Continues from model.ckpt-6" in str(again.status.notice)
    columns = again.scalars["loss"]
    assert columns.steps[columns.segments == 0].tolist() == [7, 8, 9]
    assert run.logdir == again.logdir


def test_a_run_call_that_does_not_train_is_no_step() -> None:
    class Evaluating(Loop):
        def step(self, sess: Any) -> None:
            sess.run([self.count.train_op, self.count.loss])
            sess.run(self.count.loss)
            sess.run({"weight": self.count.weight})

    run = nbtrain.background(Evaluating(), steps=10).wait(SOON)
    assert run.status.step == 10
    assert run.scalars["loss"].steps.tolist() == list(range(1, 11))


def test_a_call_without_the_feed_of_the_scalars_is_run_without_them() -> None:
    def train(run: Run) -> None:
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [], name="x")
            step = v1.train.get_or_create_global_step()
            moved = step.assign_add(10)
            train_op = tf.group(step.assign_add(1), tf.identity(x))
            hook = nbtrain.RunHook(run, {"twice": 2.0 * x})
            with in_training_session([hook]) as sess:
                assert sess.run(step) == 0
                assert sess.run(moved) == sess.run(moved) - 10 == 10
                sess.run(train_op, {x: 1.5})
                sess.run([train_op], {"x:0": 2.5})
                sess.run(train_op, {x: 3.5})

    run = nbtrain.background(train).wait(SOON)
    assert run.scalars["twice"].steps.tolist() == [21, 22, 23]
    assert run.scalars["twice"].values.tolist() == [3.0, 5.0, 7.0]


def test_a_step_function_of_the_session_is_counted() -> None:
    class Stepping(Loop):
        def step(self, sess: Any) -> None:
            def once(step_context: Any) -> None:
                step_context.session.run(self.count.loss)
                step_context.run_with_hooks(self.count.train_op)

            sess.run_step_fn(once)

    run = nbtrain.background(Stepping(), steps=5).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4, 5]


def test_fetches_that_count_several_steps_are_counted_so() -> None:
    class Thrice(Loop):
        def __init__(self) -> None:
            super().__init__()
            with self.count.graph.as_default():
                self.thrice = self.count.global_step.assign_add(3)

        def step(self, sess: Any) -> None:
            sess.run(self.thrice)

    run = nbtrain.background(Thrice(), steps=9).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [3, 6, 9]


def test_steps_that_count_unevenly_are_put_right(gate: Gate) -> None:
    class Uneven(Loop):
        def __init__(self) -> None:
            super().__init__()
            with self.count.graph.as_default():
                self.by = v1.placeholder(tf.int64, [])
                self.train = self.count.global_step.assign_add(self.by)
            self.given = iter([1, 1, 5, 0, 2])

        def step(self, sess: Any) -> None:
            sess.run(self.train, {self.by: next(self.given)})

    run = nbtrain.background(Uneven()).wait(SOON)
    assert run.status.step == value_of(run, "global_step") == 9


def test_a_nested_fetch_is_counted_each_time() -> None:
    class Nested(Loop):
        def step(self, sess: Any) -> None:
            sess.run([[self.count.train_op], (self.count.loss,)])

    run = nbtrain.background(Nested(), steps=200).wait(SOON)
    assert run.status.step == value_of(run, "global_step") == 200


def test_records_of_the_loop_have_its_step() -> None:
    class Recording(Loop):
        run: Any = None

        def __call__(self, run: Run) -> None:
            self.run = run
            super().__call__(run)

        def step(self, sess: Any) -> None:
            sess.run(self.count.train_op)
            self.run.record(twice=2 * self.run.status.step)

    run = nbtrain.background(Recording(), steps=3).wait(SOON)
    assert run.scalars["twice"].steps.tolist() == [1, 2, 3]
    assert run.scalars["twice"].values.tolist() == [2.0, 4.0, 6.0]


def test_a_loop_that_asks_the_run_as_well_counts_no_step_twice() -> None:
    class Asking(Loop):
        def __call__(self, run: Run) -> None:
            count = self.count
            with count.graph.as_default():
                hook = nbtrain.RunHook(run, {"loss": count.loss})
                with in_training_session([hook]) as sess:
                    while not run.should_stop():
                        sess.run(count.train_op)

    run = nbtrain.background(Asking(), steps=5).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4, 5]


def test_two_sessions_after_each_other_are_one_training() -> None:
    class Twice(Loop):
        def __call__(self, run: Run) -> None:
            for last in (3, 6):
                self.hooks = [v1.train.StopAtStepHook(last_step=last)]
                super().__call__(run)

    run = nbtrain.background(Twice()).wait(SOON)
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [3, 6]


def test_after_its_session_there_is_nothing_to_save(gate: Gate) -> None:
    loop = Loop()

    def train(run: Run) -> None:
        loop.hooks = [v1.train.StopAtStepHook(last_step=2)]
        loop(run)
        gate()
        run.should_stop()

    run = nbtrain.background(train)
    gate.wait_for_arrivals()
    receipt = run.save()
    gate.open()
    assert "nothing to save" in refused(receipt).text
    run.wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [2]


def test_an_error_of_the_loop_is_raised_and_says_what_was_not_saved() -> None:
    class Failing(Loop):
        def step(self, sess: Any) -> None:
            super().step(sess)
            raise ZeroDivisionError("the loop is broken")

    run = nbtrain.background(Failing())
    with pytest.raises(ZeroDivisionError, match="the loop is broken"):
        run.wait(SOON)
    assert "No checkpoint at step 1: its session is closed already" in str(run.status.message)
    assert nbtrain.background(Loop(), steps=2, name=run.name).wait(SOON).status.step == 2


@pytest.mark.parametrize("method", METHODS)
def test_a_hook_that_raises_fails_the_run_and_leaves_nothing_open(method: str) -> None:
    loop, seen = Loop(), Watching()
    loop.hooks = [seen, Raising(method)]
    run = nbtrain.background(loop, steps=2)
    with pytest.raises(LookupError, match="the hook is broken"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert "LookupError: the hook is broken" in str(run.status.error), "in the panel"
    for session in seen.sessions:
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(loop.count.loss)
    assert len(seen.sessions) == (method != "begin")
    assert not loop.count.graph.finalized
    assert not list(run.logdir.glob("checkpoints/*temp*"))
    for checkpoint in run.checkpoints:
        held = tf.train.load_checkpoint(checkpoint.path)
        assert held.get_tensor("global_step") == checkpoint.step
    loop.hooks = []
    again = nbtrain.background(loop, name=run.name, steps=4).wait(SOON)
    assert value_of(again, "global_step") == 4


def test_a_lost_session_goes_on_from_the_checkpoint_of_the_run() -> None:
    class Losing(Loop):
        lost = False

        def step(self, sess: Any) -> None:
            def once(step_context: Any) -> None:
                if not self.lost and step_context.session.run(self.count.global_step) == 5:
                    self.lost = True
                    raise tf.errors.AbortedError(None, None, "preempted")
                step_context.run_with_hooks(self.count.train_op)

            sess.run_step_fn(once)

    run = nbtrain.background(Losing(), steps=8, save_steps=2).wait(SOON)
    assert "lost at step 5 and made again; the training continues from step 4" in str(
        run.status.message
    )
    assert value_of(run, "global_step") == 8


# --- asked at the wrong moment ------------------------------------------------------


def test_outside_the_training_thread_it_says_where_it_belongs() -> None:
    loop = Loop()
    run = nbtrain.background(loop, start=False)
    with pytest.raises(ArgumentError, match="outside that run's training thread: make the session"):
        loop(run)
    assert not loop.count.graph.finalized


def test_something_that_is_no_run_is_refused() -> None:
    with pytest.raises(ArgumentError, match="run=str object: give the run"):
        nbtrain.RunHook("mine")  # type: ignore[arg-type]


def test_the_speed_of_a_run_covers_all_its_sessions() -> None:
    loop = Loop()

    def twice(run: Run) -> None:
        for last in (4, 6):
            with loop.count.graph.as_default():
                loop.hooks = [v1.train.StopAtStepHook(last_step=last)]
            loop(run)

    status = nbtrain.background(twice).wait(SOON).status
    assert status.step == 6
    assert status.steps_per_s == pytest.approx(6 / status.elapsed_s)


def test_a_loop_that_mends_what_its_hook_refused_goes_on() -> None:
    loop = Loop()

    def mending(run: Run) -> None:
        with loop.count.graph.as_default(), pytest.raises(ArgumentError, match="no tensor of the"):
            in_training_session([nbtrain.RunHook(run, {"loss": "nothing:0"})])
        loop(run)

    run = nbtrain.background(mending, steps=3).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3]


def test_a_run_that_saves_something_else_refuses_it() -> None:
    run = nbtrain.background(Loop(), checkpoint=Counter().checkpoint, start=False)
    with pytest.raises(ArgumentError, match="leave checkpoint= out"):
        run.start().wait(SOON)


def test_a_finalized_graph_without_a_saver_is_trained_and_saves_nothing() -> None:
    loop = Loop()
    with loop.count.graph.as_default():
        scaffold = v1.train.Scaffold(saver=v1.train.Saver()).finalize()

    def open_session(hooks: list[Any]) -> Any:
        return v1.train.MonitoredTrainingSession(scaffold=scaffold, hooks=hooks)

    loop._open = open_session
    run = nbtrain.background(loop, steps=3).wait(SOON)
    assert run.status.step == 3
    assert run.checkpoints == ()


def test_a_finalized_graph_that_the_session_has_to_add_to_is_refused_in_words() -> None:
    loop = Loop(lambda hooks: v1.train.MonitoredSession(nbtrain.tf1.ChiefSessionCreator(), hooks))
    with loop.count.graph.as_default():
        loop.count.graph.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver())
    loop.count.graph.finalize()
    run = nbtrain.background(loop)
    with pytest.raises(ArgumentError, match=r"finalized, and the session has to add to it: build"):
        run.wait(SOON)
    with loop.count.graph.as_default(), pytest.raises(RuntimeError, match="cannot be modified"):
        tf.constant(1)


def test_a_loop_that_does_not_ask_takes_one_step_more_and_is_then_refused() -> None:
    class Deaf(Loop):
        def step(self, sess: Any) -> None:
            while True:
                sess.run(self.count.train_op)

    run = nbtrain.background(Deaf(), steps=5)
    with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
        run.wait(SOON)
    assert run.status.step == 6


def test_a_session_outside_its_graph_is_refused_with_what_to_do() -> None:
    def loop(run: Run) -> None:
        with in_training_session([nbtrain.RunHook(run)]):
            pytest.fail("there is nothing to train")

    run = nbtrain.background(loop)
    with pytest.raises(ArgumentError, match=r"default graph is empty: .*`with graph\.as_default"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
