"""Sessions that are lost, and made again: from the checkpoint, or loudly from the start."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Try
from nbtrain.core.states import Phase
from nbtrain.tf1.servers import wait_secs
from tests.diverging import GraphRegression
from tests.gate import SOON
from tests.models import Count, reached, refused
from tests.training.aborting import Aborting
from tests.training.monitored import value_of

v1 = tf.compat.v1


@pytest.mark.parametrize("error", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_is_made_again_from_the_checkpoint(error: type[Any]) -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op,
        scalars={"loss": count.loss},
        hooks=[Aborting({9}, error)],
        steps=12,
        save_steps=5,
    ).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert "lost at step 8 and made again; the training continues from step 5" in str(
        run.status.message
    )
    assert run.scalars["loss"].steps.tolist() == [*range(1, 9), *range(6, 13)]
    assert run.scalars["loss"].abandoned.tolist() == [False] * 5 + [True] * 3 + [False] * 7
    assert value_of(run, "global_step") == 12


def test_a_trial_is_left_where_a_lost_session_goes_back_to_its_begin() -> None:
    line = GraphRegression(0.01)
    run = nbtrain.monitor(
        line.train_op,
        scalars={"loss": line.loss},
        hyperparameters={"learning_rate": line.rate},
        hooks=[Aborting({9})],
        steps=20,
        start=False,
    )
    trial = run.post(Try({"learning_rate": 0.005}, 10, "loss"), at=7)
    run.start().wait(SOON)
    refused(trial)
    assert run.scalars["loss"].steps.tolist() == [*range(1, 9), *range(8, 21)]
    assert run.hyperparameters["learning_rate"] == pytest.approx(0.01)


def test_a_session_whose_input_thread_is_preempted_is_made_again() -> None:
    count = Count()

    class Preempted(tf.compat.v1.train.SessionRunHook):
        coord: Any = None

        def after_create_session(self, session: Any, coord: Any) -> None:
            self.first, self.coord = self.coord is None, coord

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if self.first and run_context.session.run(count.global_step) == 6:
                thread = threading.Thread(target=self._fail)
                thread.start()
                thread.join(SOON)

        def _fail(self) -> None:
            with self.coord.stop_on_exception():
                raise tf.errors.AbortedError(None, None, "preempted")

    run = nbtrain.monitor(count.train_op, hooks=[Preempted()], steps=10, save_steps=4).wait(SOON)
    assert "lost at step 6 and made again; the training continues from step 4" in str(
        run.status.message
    )
    assert value_of(run, "global_step") == 10


def test_a_recovery_without_a_checkpoint_says_loudly_that_all_starts_over() -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op, scalars={"loss": count.loss}, hooks=[Aborting({4})], steps=5
    ).wait(SOON)
    assert "lost at step 3" in str(run.status.message)
    assert "none of its steps was saved: THE TRAINING STARTS ALL OVER, from step 0. Give" in str(
        run.status.message
    )
    assert run.scalars["loss"].steps.tolist() == [1, 2, 3, 1, 2, 3, 4, 5]
    assert run.scalars["loss"].abandoned.tolist() == [True] * 3 + [False] * 5


def test_recoveries_without_a_step_between_wait_longer_and_longer() -> None:
    waits = [wait_secs(number) for number in range(10)]
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == wait_secs(2_000) == 30.0


def test_a_stop_ends_the_wait_for_a_session_that_is_lost_for_ever() -> None:
    count, lost = Count(), threading.Event()

    class Lost(tf.compat.v1.train.SessionRunHook):
        calls = 0

        def before_run(self, run_context: Any) -> None:
            self.calls += 1
            if self.calls > 5:
                lost.set()
            if self.calls > 2:
                raise tf.errors.UnavailableError(None, None, "no server")

    run = nbtrain.monitor(count.train_op, hooks=[Lost()], save_steps=1)
    assert lost.wait(SOON)
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert value_of(run, "global_step") == 2


# --- a session that cannot be made ----------------------------------------------------


class Unavailable:
    """An init_fn of a server that does not answer, but for a while."""

    def __init__(self, times: float) -> None:
        self.left = times

    def __call__(self, scaffold: Any, session: Any) -> None:
        self.left -= 1
        if self.left >= 0:
            raise tf.errors.UnavailableError(None, None, "no server")


def monitored(count: Count, init: Unavailable, **kwargs: Any) -> nbtrain.Run:
    """A run whose session is made when that does not raise."""
    with count.graph.as_default():
        scaffold = v1.train.Scaffold(init_fn=init)
    return nbtrain.monitor(count.train_op, scaffold=scaffold, **kwargs)


def told(run: nbtrain.Run, text: str) -> None:
    """Until the panel says so."""
    reached(run, lambda run: text in str(run.status.message))


def test_a_session_that_is_not_made_at_once_is_attempted_again() -> None:
    init = Unavailable(2)
    run = monitored(Count(), init, steps=3).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert init.left == -1
    assert run.status.message is None, "there is nothing left to warn of"


def test_the_panel_reports_failed_attempts_and_a_stop_ends_them() -> None:
    count, init = Count(), Unavailable(float("inf"))
    run = monitored(count, init)
    told(run, "Attempt 2 to make a session has failed: a server of its cluster does not answer")
    told(run, "The next attempt is made in 0.2 s; a stop ends them")
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert not count.graph.finalized
    assert nbtrain.monitor(count.train_op, steps=2).wait(SOON).status.step == 2


def test_a_stop_ends_the_attempts_to_make_a_lost_session_again() -> None:
    count, init, ended = Count(), Unavailable(0), []

    class Losing(Aborting):
        def before_run(self, run_context: Any) -> None:
            init.left = float("inf")
            super().before_run(run_context)

        def end(self, session: Any) -> None:
            ended.append(session)

    run = monitored(count, init, hooks=[Losing({4})])
    told(run, "Attempt 2 to make a session has failed")
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert "The steps since the latest checkpoint are lost." in str(run.status.message)
    assert ended == [], "there was no session to end with"
    assert not count.graph.finalized


def test_a_stop_ends_the_attempts_of_the_users_own_loop() -> None:
    count = Count()
    with count.graph.as_default():
        scaffold = v1.train.Scaffold(init_fn=Unavailable(float("inf")))

    def loop(run: nbtrain.Run) -> None:
        with (
            count.graph.as_default(),
            v1.train.MonitoredSession(
                nbtrain.tf1.ChiefSessionCreator(scaffold), [nbtrain.RunHook(run)]
            ),
        ):
            pytest.fail("there is no session")

    run = nbtrain.background(loop)
    told(run, "Attempt 2 to make a session has failed")
    run.request_stop()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert not count.graph.finalized
