"""Sessions that do not close, and threads that do not end: left after a limit, and told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from nbtrain.tf1.servers import limit_closing
from tests.gate import SOON
from tests.models import Count
from tests.supervised import Counting, in_background
from tests.training.aborting import Aborting
from tests.training.monitored import value_of

v1 = tf.compat.v1

NOT_CLOSED = "The session has not closed within 0.05 s, and is left to itself"


class Stuck:
    """Makes a session's close block until it is let go, as that of a dead server does."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked = 0

    def hold(self, session: Any) -> None:
        """From now on its close blocks."""
        close = session.close

        def blocking() -> None:
            self.asked += 1
            assert self.let_go.wait(SOON)
            close()

        session.close = blocking

    def creator(self) -> Any:
        """Makes sessions that do not close."""
        hold = self.hold

        class Creator(tf.compat.v1.train.ChiefSessionCreator):
            def create_session(self) -> Any:
                session = super().create_session()
                hold(session)
                return session

        return Creator()


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    """Sessions that do not close until the test is over; nobody waits for them for long."""
    monkeypatch.setattr("nbtrain.tf1.servers.SERVER_SECS", 0.05)
    stuck = Stuck()
    yield stuck
    stuck.let_go.set()


def test_a_monitored_session_that_does_not_close_is_left_and_told(stuck: Stuck) -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op,
        session=lambda hooks: v1.train.MonitoredSession(stuck.creator(), hooks),
        steps=3,
    ).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert NOT_CLOSED in str(run.status.message)
    assert stuck.asked == 1
    assert value_of(run, "global_step") == 3
    assert nbtrain.monitor(count.train_op, steps=5, name=run.name).wait(SOON).status.step == 5


def test_a_stuck_session_of_the_users_own_loop_is_left_too(stuck: Stuck) -> None:
    count = Count()

    def loop(run: Run) -> None:
        with (
            count.graph.as_default(),
            v1.train.MonitoredSession(stuck.creator(), [nbtrain.RunHook(run)]) as sess,
        ):
            while not sess.should_stop():
                sess.run(count.train_op)

    run = nbtrain.background(loop, steps=3).wait(SOON)
    assert NOT_CLOSED in str(run.status.message)
    assert value_of(run, "global_step") == 3


def test_a_lost_session_that_does_not_close_holds_up_no_recovery(stuck: Stuck) -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op,
        session=lambda hooks: v1.train.MonitoredSession(stuck.creator(), hooks),
        hooks=[Aborting({4})],
        steps=6,
        save_steps=2,
    ).wait(SOON)
    assert "lost at step 3 and made again; the training continues from step 2" in str(
        run.status.message
    )
    assert NOT_CLOSED in str(run.status.message)
    assert value_of(run, "global_step") == 6


def test_an_error_is_raised_although_its_session_does_not_close(stuck: Stuck) -> None:
    count = Count()
    run = nbtrain.monitor(
        count.train_op,
        session=lambda hooks: v1.train.MonitoredSession(stuck.creator(), hooks),
        hooks=[Aborting({2}, tf.errors.InternalError)],
    )
    with pytest.raises(tf.errors.InternalError, match="preempted"):
        run.wait(SOON)
    assert NOT_CLOSED in str(run.status.message)


def test_a_session_under_a_supervisor_that_does_not_close_is_left_and_logged(
    stuck: Stuck, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, init_fn=stuck.hold)
    in_background(lambda: count.trained(sv, 2))
    assert caplog.text.count(NOT_CLOSED) == 1, "told once"
    assert stuck.asked == 1


def test_a_supervisor_in_the_users_own_loop_is_reported_only_in_the_panel(
    stuck: Stuck, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor("own", init_fn=stuck.hold)
    run = nbtrain.background(lambda _run: count.trained(sv, 2)).wait(SOON)
    assert str(run.status.message).count(NOT_CLOSED) == 1
    assert NOT_CLOSED not in caplog.text


def test_the_program_of_a_prepared_session_is_not_held_up_either(
    stuck: Stuck, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor(None, init_fn=stuck.hold)
    with sv.prepare_or_wait_for_session() as sess:
        sess.run(count.train_op)
        sv.stop()
    assert NOT_CLOSED in caplog.text


def test_a_session_is_closed_once_and_nobody_waits_a_second_time(stuck: Stuck) -> None:
    told: list[str | None] = []
    with tf.Graph().as_default():
        session = v1.Session()
    stuck.hold(session)
    limit_closing(session, lambda _topic, text: told.append(text))
    session.close()
    session.close()
    assert (stuck.asked, len(told)) == (1, 1)
