"""Programs of TensorFlow's documentation of its Supervisor: only the import is another.

Each is run as in a notebook: in a thread, with eager execution on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain import Supervisor
from nbtrain.core.errors import ArgumentError
from tests.gate import SOON
from tests.models import applied, refused
from tests.replicas import Member, serve_alone
from tests.supervised import (
    Background,
    Counting,
    checkpoints,
    held,
    in_background,
    kinds,
    points,
)

v1 = tf.compat.v1


def model() -> Any:
    """A line that is fitted, in the default graph; its train op and loss."""
    step = v1.train.get_or_create_global_step()
    weight = v1.get_variable("weight", initializer=5.0)
    loss = tf.square(weight - 1.0, name="loss")
    v1.summary.scalar("squared", loss)
    return v1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step), loss


def test_a_single_program(tmp_path: Path) -> None:
    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path))
            with sv.managed_session("") as sess:
                while not sv.should_stop():
                    if sess.run(my_train_op) is None and sv.step_of(sess) == 50:
                        sv.request_stop()

    in_background(program)
    assert checkpoints(tmp_path)[-1] == 50
    assert points(tmp_path, "squared")[-1][0] == 50


def test_a_program_that_crashes_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    steps = []

    def program(crash: bool) -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path))
            with sv.managed_session("") as sess:
                steps.append(sv.step_of(sess))
                for _ in range(5):
                    if sv.should_stop():
                        break
                    sess.run(my_train_op)
                if crash:
                    raise RuntimeError("crashed")

    with pytest.raises(RuntimeError, match="crashed"):
        in_background(lambda: program(True))
    in_background(lambda: program(False))
    assert steps == [0, 5]
    assert checkpoints(tmp_path)[-1] == 10


def test_a_loop_that_prints_losses(tmp_path: Path) -> None:
    printed: list[float] = []

    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()

            def print_loss(sess: Any) -> None:
                assert v1.get_default_session() is None
                printed.append(float(sess.run(v1.get_default_graph().get_tensor_by_name("loss:0"))))

            sv = Supervisor(logdir=str(tmp_path))
            with sv.managed_session("") as sess:
                sv.loop(60, print_loss, (sess,))
                while not sv.should_stop():
                    sess.run(my_train_op)
                    if printed:
                        sv.request_stop()

    in_background(program)
    assert len(printed) == 1
    assert 0.0 <= printed[0] <= 16.0


def test_a_loop_that_writes_summaries_of_its_own(tmp_path: Path) -> None:
    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, loss = model()
            my_additional_summary_op = v1.summary.scalar("additional", loss, collections=[])

            def my_additional_summaries(sv: Supervisor, sess: Any) -> None:
                sv.summary_computed(sess, summary=sess.run(my_additional_summary_op))

            sv = Supervisor(logdir=str(tmp_path))
            with sv.managed_session() as sess:
                sv.loop(1200, my_additional_summaries, args=(sv, sess))
                while not points(tmp_path, "additional"):
                    sess.run(my_train_op)

    in_background(program)
    assert len(points(tmp_path, "additional")) == 1


def test_a_loop_without_a_timer_runs_again_at_once(tmp_path: Path) -> None:
    told: list[int] = []
    with tf.Graph().as_default():
        my_train_op, _ = model()
        sv = Supervisor(logdir=str(tmp_path))
        with sv.managed_session() as sess:
            sv.loop(None, told.append, kwargs=None, args=(1,))
            while len(told) < 100:
                sess.run(my_train_op)


@pytest.mark.parametrize("is_chief", [True])
def test_summaries_computed_by_the_program_every_100_steps(is_chief: bool, tmp_path: Path) -> None:
    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            my_summary_op = v1.summary.merge_all()
            sv = Supervisor(logdir=str(tmp_path), is_chief=is_chief, summary_op=None)
            with sv.managed_session("") as sess:
                for step in range(1000):
                    if sv.should_stop() or step > 350:
                        break
                    if is_chief and step % 100 == 0:
                        sv.summary_computed(sess, sess.run(my_summary_op))
                    else:
                        sess.run(my_train_op)

    in_background(program)
    # A round that summarizes does not train, so each hundred has 99 steps.
    assert [step for step, _ in points(tmp_path, "squared")] == [0, 99, 198, 297]


def test_an_init_fn_that_loads_what_was_trained_before(tmp_path: Path) -> None:
    pre, logdir = str(tmp_path / "pre"), tmp_path / "logdir"
    before = Counting()
    before.trained(before.supervisor(pre, save_model_steps=1000), 4)
    weights: list[float] = []

    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            weight = v1.get_collection(v1.GraphKeys.GLOBAL_VARIABLES, "weight")
            pre_train_saver = v1.train.Saver(weight)

            def load_pretrain(sess: Any) -> None:
                pre_train_saver.restore(sess, tf.train.latest_checkpoint(pre))

            sv = Supervisor(logdir=str(logdir), init_fn=load_pretrain)
            with sv.managed_session() as sess:
                weights.append(float(sess.run(weight[0])))
                sess.run(my_train_op)

    in_background(program)
    assert weights == [8.0]
    in_background(program)
    assert 1.0 < weights[1] < 8.0, "the second time its own checkpoint is restored"
    assert checkpoints(logdir)[-1] == 2


def test_a_local_init_op_of_ones_own(tmp_path: Path) -> None:
    def program() -> float:
        with tf.Graph().as_default():
            model()
            v1.add_to_collection(v1.GraphKeys.LOCAL_INIT_OP, tf.no_op())
            mine = v1.get_variable(
                "mine", initializer=0.0, collections=[v1.GraphKeys.LOCAL_VARIABLES]
            )
            sv = Supervisor(logdir=str(tmp_path), local_init_op=v1.assign(mine, 3.0))
            with sv.managed_session() as sess:
                return float(sess.run(mine))

    assert in_background(program) == 3.0
    assert in_background(program) == 3.0


def test_a_session_without_the_context_manager(tmp_path: Path) -> None:
    def program() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path))
            sess = sv.prepare_or_wait_for_session("")
            for _ in range(3):
                sess.run(my_train_op)
            sv.stop()
            sess.close()

    in_background(program)
    assert checkpoints(tmp_path)[-1] == 3
    assert kinds(tmp_path)[-1] == "STOP"


def test_a_training_that_is_tried_again_when_it_was_aborted(tmp_path: Path) -> None:
    tries: list[int] = []

    def train() -> None:
        with tf.Graph().as_default():
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path), save_model_steps=2)
            with sv.managed_session("") as sess:
                step = sv.step_of(sess)
                assert step is not None
                tries.append(step)
                for _ in range(4):
                    sess.run(my_train_op)
                if len(tries) == 1:
                    raise tf.errors.AbortedError(None, None, "preempted")

    def main() -> None:
        while True:
            try:
                train()
            except tf.errors.AbortedError:
                continue
            return

    in_background(main)
    assert tries[0] == 0
    assert tries[1] > 0


# --- a cluster -------------------------------------------------------------------


class Server(Member):
    """A TensorFlow server in a process of its own, which holds the variables and is the master."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__(serve_alone)
        self.target: str = self.answer()
        self._patch = patch

    def die(self) -> None:
        """Ends it; from now on its answers are awaited for a second."""
        self._patch.setattr("nbtrain.tf1.servers.SERVER_SECS", 1.0)
        self.kill()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server; killed when the test is over."""
    server = Server(monkeypatch)
    yield server
    server.kill()


def test_replicas_with_a_chief(cluster: Server, tmp_path: Path) -> None:
    def program(is_chief: bool) -> int:
        with tf.Graph().as_default(), v1.device("/cpu:0"):
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path), is_chief=is_chief, recovery_wait_secs=0.05)
            done = 0
            with sv.managed_session(cluster.target) as sess:
                while not sv.should_stop():
                    sess.run(my_train_op)
                    done += 1
                    if (step := sv.step_of(sess)) is not None and step >= 200:
                        sv.request_stop()
            return done

    worker, chief = Background(lambda: program(False)), Background(lambda: program(True))
    done = chief.result(), worker.result()
    assert sum(done) >= 200
    last = checkpoints(tmp_path)[-1]
    assert held(tmp_path, last) == last >= 200


def test_a_server_that_dies_holds_nothing_up(cluster: Server, tmp_path: Path) -> None:
    def program() -> None:
        with tf.Graph().as_default(), v1.device("/cpu:0"):
            my_train_op, _ = model()
            sv = Supervisor(logdir=str(tmp_path), save_model_steps=10)
            with sv.managed_session(cluster.target) as sess:
                for _ in range(20):
                    sess.run(my_train_op)
                cluster.die()

    with pytest.raises(tf.errors.UnavailableError):
        in_background(program)
    assert checkpoints(tmp_path)[-1] >= 10
    assert kinds(tmp_path)[-1] == "STOP"
    again = Counting()
    again.trained(again.supervisor(tmp_path / "again", save_model_steps=5), 5)
    assert checkpoints(tmp_path / "again") == [5]


def supervised(cluster: Server, logdir: Path) -> None:
    with tf.Graph().as_default(), v1.device("/cpu:0"):
        my_train_op, _ = model()
        with Supervisor(logdir=str(logdir)).managed_session(cluster.target) as sess:
            sess.run(my_train_op)
            cluster.die()


def hooked(cluster: Server, run: nbtrain.Run) -> None:
    with tf.Graph().as_default(), v1.device("/cpu:0"):
        my_train_op, _ = model()
        creator = nbtrain.tf1.ChiefSessionCreator(master=cluster.target)
        with v1.train.MonitoredSession(creator, [nbtrain.RunHook(run)]) as sess:
            sess.run(my_train_op)
            cluster.die()


@pytest.mark.parametrize("by", ["a Supervisor", "a hook"])
def test_the_last_checkpoint_of_a_run_whose_server_died_is_given_up(
    by: str, cluster: Server, tmp_path: Path
) -> None:
    def loop(run: nbtrain.Run) -> None:
        if by == "a hook":
            hooked(cluster, run)
        else:
            supervised(cluster, tmp_path / "supervised")

    run = nbtrain.background(loop)
    with contextlib.suppress(tf.errors.UnavailableError):  # which a Supervisor raises at its stop
        run.wait(SOON)
    assert "No checkpoint at step" in str(run.status.message)
    assert "has not answered within 1 s" in str(run.status.message)


def test_a_session_of_tensorflows_own_creator_on_a_cluster_is_refused(cluster: Server) -> None:
    def loop(run: nbtrain.Run) -> None:
        with tf.Graph().as_default(), v1.device("/cpu:0"):
            model()
            v1.train.MonitoredTrainingSession(cluster.target, hooks=[nbtrain.RunHook(run)])

    run = nbtrain.background(loop)
    with pytest.raises(ArgumentError, match=r"nbtrain\.tf1\.ChiefSessionCreator"):
        run.wait(SOON)
    assert run.checkpoints == ()


@pytest.mark.parametrize("by", ["a Supervisor", "a hook"])
def test_a_restore_whose_server_died_is_refused_and_no_checkpoint_blamed(
    by: str, cluster: Server, tmp_path: Path
) -> None:
    def loop(run: nbtrain.Run) -> None:
        with tf.Graph().as_default(), v1.device("/cpu:0"), contextlib.ExitStack() as stack:
            my_train_op, _ = model()
            if by == "a hook":
                creator = nbtrain.tf1.ChiefSessionCreator(master=cluster.target)
                session = v1.train.MonitoredSession(creator, [nbtrain.RunHook(run)])
            else:
                sv = Supervisor(logdir=str(tmp_path / "supervised"), save_summaries_secs=0)
                session = sv.managed_session(cluster.target)
            sess = stack.enter_context(session)
            while not run.should_stop():
                sess.run(my_train_op)

    run = nbtrain.background(loop)
    applied(run.pause())
    step = applied(run.save()).step
    cluster.die()
    text = refused(run.restore()).text
    assert "has not answered within 1 s. Once it has been started again" in text
    assert [checkpoint.step for checkpoint in run.checkpoints] == [step]
    run.request_stop()
    with contextlib.suppress(tf.errors.UnavailableError):  # which a Supervisor raises at its stop
        run.wait(SOON)
    assert run.status.phase.ended
