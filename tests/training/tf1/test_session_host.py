"""A Supervisor of the user's own in the training thread of a run: it trains under that run."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.gate import SOON, Gate, eventually
from tests.models import applied, reached
from tests.supervised import in_background, kinds, services

v1 = tf.compat.v1


class Program:
    """A program of TensorFlow's documentation: a graph that counts, and its Supervisor."""

    def __init__(self, gate: Gate | None = None, **arguments: Any) -> None:
        self.gate = gate
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.global_step = v1.train.get_or_create_global_step()
            self.weight = v1.get_variable("weight", initializer=0.0)
            v1.summary.scalar("weight_seen", self.weight)
            counts = [self.weight.assign_add(1.0), self.global_step.assign_add(1)]
            self.train_op = tf.group(*counts)
            self.supervisor = nbtrain.Supervisor(logdir="supervised", **arguments)

    def __call__(self, run: Run) -> None:
        """The documented loop, its names unchanged."""
        sv = self.supervisor
        with sv.managed_session() as sess:
            self.loop(sess)

    def loop(self, sess: Any) -> None:
        """Until it is told to stop."""
        while not self.supervisor.should_stop():
            if self.gate is not None:
                self.gate()
            sess.run(self.train_op)


class Unmanaged(Program):
    """The same without the context manager."""

    sess: Any = None

    def __call__(self, run: Run) -> None:
        """The documented loop, its session stopped by hand."""
        self.sess = self.supervisor.prepare_or_wait_for_session()
        self.loop(self.sess)
        self.supervisor.stop()


class LeftOpen(Unmanaged):
    """The same, and nobody stops it."""

    def __call__(self, run: Run) -> None:
        """The loop alone."""
        self.sess = self.supervisor.prepare_or_wait_for_session()
        self.loop(self.sess)


both_ways = pytest.mark.parametrize("program", [Program, Unmanaged])


@both_ways
def test_the_loop_of_a_supervisor_is_the_runs(program: type[Program], gate: Gate) -> None:
    run = nbtrain.background(program(gate))
    gate.allow(3)
    gate.wait_for_arrivals(4)
    assert run.status.phase is Phase.RUNNING
    assert run.status.step == 3
    run.request_stop()
    gate.allow()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.status.step == 4


@both_ways
def test_the_session_saves_the_checkpoints_of_the_run_and_a_last_one(
    program: type[Program],
) -> None:
    run = nbtrain.background(program(save_model_steps=100, save_model_secs=0), start=False)
    run.on_tick(lambda: run.request_stop() if run.status.step > 250 else None)
    run.start().wait(SOON)
    steps = [checkpoint.step for checkpoint in listed(Path("supervised"))]
    assert all(step % 100 == 0 for step in steps[:-1])
    assert steps[-1] == run.status.step
    reader = tf.train.load_checkpoint("supervised")
    assert reader.get_tensor("weight") == reader.get_tensor("global_step") == run.status.step


def written(folder: Path) -> tuple[list[str], list[str]]:
    """The files of a Supervisor's folder, and what its event file tells."""
    names = {path.name for path in folder.iterdir() if path.is_file()} - {"run.lock"}
    return sorted(name for name in names if not name.startswith("events.")), kinds(folder)


@both_ways
def test_a_supervisor_writes_the_same_under_a_run_as_outside_one(program: type[Program]) -> None:
    def loop(self: Any, sess: Any) -> None:
        for _ in range(5):
            assert not self.supervisor.should_stop()
            eventually(lambda: listed(Path("supervised")))  # the first comes at once
            sess.run(self.train_op)

    ended = type("Ended", (program,), {"loop": loop})
    arguments: dict[str, Any] = {"save_model_steps": 2, "save_summaries_secs": 0}
    found = []
    for under_a_run in (True, False):
        training = ended(**arguments)
        if under_a_run:
            nbtrain.background(training).wait(SOON)
        else:
            in_background(functools.partial(training, None))
        found.append(written(Path("supervised")))
        shutil.rmtree("supervised")
    (files, events), outside = found
    assert (files, events) == outside
    steps = [0, 2, 4, 5]
    assert {f"model.ckpt-{step}.meta" for step in steps} < set(files)
    assert events.count("CHECKPOINT") == len(steps)


def test_the_latest_checkpoint_of_a_run_is_loaded_with_its_graph() -> None:
    program = Program(save_model_secs=600)
    run = nbtrain.supervise(program.train_op, supervisor=program.supervisor, steps=3).wait(SOON)
    latest = run.checkpoints[-1].path
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.train.import_meta_graph(f"{latest}.meta").restore(sess, latest)
        assert sess.run("weight/Read/ReadVariableOp:0") == 3.0
    assert "CHECKPOINT" in kinds(Path("supervised"))
    assert not list(Path("supervised").glob("last_good/*.meta")), "copies are the run's own"


@both_ways
def test_buttons_save_and_restore_its_session(program: type[Program], gate: Gate) -> None:
    run = nbtrain.background(program(gate))
    gate.allow(2)
    gate.wait_for_arrivals(3)
    receipt = run.save()
    gate.allow()
    assert applied(receipt).text == "saved model.ckpt-3"
    gate.allow(2)
    receipt = run.restore(3)
    gate.allow()
    assert applied(receipt).text.startswith("restored model.ckpt-3")
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_two_runs_do_not_save_into_the_folder_of_one_supervisor(gate: Gate) -> None:
    first = nbtrain.background(Program(gate))
    gate.wait_for_arrivals()
    with pytest.raises(BusyError, match=f"supervised is held by the run {first.name!r}"):
        nbtrain.background(Program()).wait(SOON)
    gate.open()
    first.request_stop()
    first.wait(SOON)
    assert stopped_after(first.status.step).checkpoints


def test_a_graph_whose_supervisor_saves_where_another_run_does_is_refused(gate: Gate) -> None:
    first = nbtrain.background(Program(gate))
    gate.wait_for_arrivals()
    program = Program()
    with pytest.raises(BusyError, match=f"supervised is held by the run {first.name!r}"):
        nbtrain.supervise(program.train_op, supervisor=program.supervisor, logdir="other")
    assert not Path("other").exists()
    gate.open()
    first.request_stop()
    first.wait(SOON)


def stopped_after(step: int) -> Run:
    """A run of the program in the same folder, stopped beyond a step."""
    run = nbtrain.background(Program(), start=False)
    run.on_tick(lambda: run.request_stop() if run.status.step > step else None)
    ended: Run = run.start().wait(SOON)
    return ended


def test_a_run_goes_on_from_where_its_supervisor_restored() -> None:
    first = stopped_after(50)
    second = stopped_after(first.status.step)
    resumed = f'"event": "resume", "step": {first.status.step}'
    assert resumed in (second.logdir / "steering.jsonl").read_text(encoding="utf-8")
    assert second.status.step > first.status.step


def test_summaries_become_curves_of_the_run() -> None:
    run = nbtrain.background(Program(save_summaries_steps=10, save_summaries_secs=0), start=False)
    run.on_tick(lambda: run.request_stop() if run.status.step > 100 else None)
    run.start().wait(SOON)
    tag = next(tag for tag in run.scalars if "weight_seen" in tag)
    points = run.scalars[tag]
    assert points.steps[:3].tolist() == [10, 20, 30]
    assert points.values.tolist() == points.steps.tolist()


def test_summaries_of_a_supervisor_whose_graph_is_trained_become_curves_too() -> None:
    program = Program(save_summaries_steps=10, save_summaries_secs=0)
    run = nbtrain.supervise(program.train_op, supervisor=program.supervisor, steps=35).wait(SOON)
    points = run.scalars["weight_seen"]
    assert points.steps.tolist() == points.values.tolist() == [10, 20, 30, 35]


def test_scalars_recorded_at_every_step_are_not_recorded_again_from_a_summary() -> None:
    program = Program(save_summaries_steps=10, save_summaries_secs=0)
    run = nbtrain.supervise(
        program.train_op,
        scalars={"weight_seen": program.supervisor.global_step},
        supervisor=program.supervisor,
        steps=35,
    ).wait(SOON)
    assert run.scalars["weight_seen"].steps.tolist() == list(range(1, 36))


@both_ways
def test_a_stop_of_the_supervisor_stops_the_run(program: type[Program], gate: Gate) -> None:
    training = program(gate)
    run = nbtrain.background(training)
    gate.wait_for_arrivals()
    training.supervisor.request_stop()
    gate.open()
    assert run.wait(SOON).status.phase is Phase.STOPPED


@both_ways
@pytest.mark.parametrize("by", ["the loop", "a thread of its own"])
def test_a_program_that_ends_itself_has_finished(program: type[Program], by: str) -> None:
    def loop(self: Any, sess: Any) -> None:
        sv = self.supervisor
        if by == "a thread of its own":
            sv.loop(None, sv.request_stop)
        while not sv.should_stop():
            sess.run(self.train_op)
            if by == "the loop" and sv.step_of(sess) == 5:
                sv.request_stop()

    run = nbtrain.background(type("Ending", (program,), {"loop": loop})()).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert held_by_the_last(run) == run.status.step
    assert by != "the loop" or run.status.step == 5


def test_a_program_that_ends_itself_while_it_waits_for_a_queue_has_finished() -> None:
    def train(run: Run) -> None:
        with tf.Graph().as_default():
            x = tf.queue.FIFOQueue(1, [tf.int32], [[]]).dequeue()
            sv = nbtrain.Supervisor(logdir="supervised")
            with sv.managed_session() as sess:
                sv.loop(None, sv.request_stop)
                while not sv.should_stop():
                    sess.run(x)

    assert nbtrain.background(train).wait(SOON).status.phase is Phase.FINISHED


def test_a_record_after_the_stop_has_the_last_step() -> None:
    program = Unmanaged()

    @nbtrain.background
    def run(run: Run) -> None:
        sv = program.supervisor
        sess = sv.prepare_or_wait_for_session()
        while not sv.should_stop():
            sess.run(program.train_op)
            run.record(weight=1.0)
            if sv.step_of(sess) == 3:
                sv.request_stop()
        sv.Stop()
        run.record(accuracy=0.5)

    run.wait(SOON)
    assert held_by_the_last(run) == run.status.step == 3
    assert run.scalars["weight"].steps.tolist() == [1, 2, 3]
    assert run.scalars["accuracy"].steps.tolist() == [3]


def test_a_loop_after_the_stop_counts_on() -> None:
    program = Unmanaged()

    @nbtrain.background
    def run(run: Run) -> None:
        sess = program.supervisor.prepare_or_wait_for_session()
        for _ in range(3):
            program.supervisor.should_stop()
            sess.run(program.train_op)
        program.supervisor.stop()
        for number in range(2):
            assert not run.should_stop()
            run.record(number=number)

    assert run.wait(SOON).status.step == 5
    assert run.scalars["number"].steps.tolist() == [4, 5]


def test_an_error_of_a_service_fails_the_run() -> None:
    program = Program()

    def service() -> None:
        raise ValueError("the service's own mistake")

    def loop(run: Run) -> None:
        with program.supervisor.managed_session():
            program.supervisor.loop(None, service)
            while not program.supervisor.should_stop():
                pass

    run = nbtrain.background(loop)
    with pytest.raises(ValueError, match="the service's own mistake"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED


def test_a_supervisor_whose_session_could_not_be_prepared_is_nobodys_again() -> None:
    failures = [ValueError("not yet")]

    def init_fn(_sess: Any) -> None:
        if failures:
            raise failures.pop()

    program = Program(init_fn=init_fn)
    with pytest.raises(ValueError, match="not yet"):
        nbtrain.background(program).wait(SOON)
    sv = program.supervisor
    sess = sv.prepare_or_wait_for_session()
    assert not sv.should_stop()
    sess.run(program.train_op)
    sv.stop()
    sess.close()


def test_a_supervisor_outside_a_run_is_nobodys(gate: Gate) -> None:
    @nbtrain.background
    def run(run: Run) -> None:
        while not run.should_stop():
            gate()

    gate.wait_for_arrivals()
    program = Program()
    sv = program.supervisor
    with sv.managed_session() as sess:
        sess.run(program.train_op)
        assert not sv.should_stop()
    assert run.status.step == 0
    gate.open()
    run.request_stop()
    reached(run, lambda run: run.status.phase.ended)


# --- without the context manager ----------------------------------------------------


def held_by_the_last(run: Run) -> int:
    """The global step that the run's last checkpoint holds."""
    return int(tf.train.load_checkpoint(run.checkpoints[-1].path).get_tensor("global_step"))


def test_a_loop_that_ends_by_itself_and_stops_its_supervisor_has_finished() -> None:
    program = Unmanaged()

    def loop(sess: Any) -> None:
        for _ in range(5):
            assert not program.supervisor.should_stop()
            sess.run(program.train_op)

    program.loop = loop  # type: ignore[method-assign]
    run = nbtrain.background(program).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.step == held_by_the_last(run) == 5


def test_a_session_that_the_loop_leaves_open_is_saved_closed_and_said(gate: Gate) -> None:
    program = LeftOpen(gate)
    run = nbtrain.background(program)
    gate.allow(3)
    gate.wait_for_arrivals(4)
    run.request_stop()
    gate.allow()
    run.wait(SOON)
    assert held_by_the_last(run) == run.status.step == 4
    assert "The loop has ended without sv.stop()" in str(run.status.message)
    assert services() == []
    with pytest.raises(RuntimeError, match="closed Session"):
        program.sess.run(program.train_op)


def test_a_session_that_an_error_leaves_open_is_closed_and_the_next_run_works() -> None:
    program = LeftOpen()

    def loop(sess: Any) -> None:
        sess.run(program.train_op)
        raise ValueError("of the loop")

    program.loop = loop  # type: ignore[method-assign]
    run = nbtrain.background(program)
    with pytest.raises(ValueError, match="of the loop"):
        run.wait(SOON)
    assert services() == []
    assert held_by_the_last(run) == 1
    del program.loop
    run.on_tick(lambda: run.request_stop() if run.status.step > 20 else None)
    assert run.start().wait(SOON).status.phase is Phase.STOPPED


def test_an_error_of_a_service_of_a_session_left_open_fails_the_run() -> None:
    program = LeftOpen()

    def service() -> None:
        raise ValueError("the service's own mistake")

    def loop(sess: Any) -> None:
        sess.run(program.train_op)
        program.supervisor.loop(None, service)
        while not program.supervisor.should_stop():
            pass

    program.loop = loop  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="the service's own mistake"):
        nbtrain.background(program).wait(SOON)


class Aborting(Program):
    """Tried again when it was aborted, as documented, at a step of its own."""

    def __init__(self, at: int, steps: int, **arguments: Any) -> None:
        super().__init__(save_model_secs=0, **arguments)
        self.at, self.steps = at, steps
        self.counted: list[int] = []

    def __call__(self, run: Run) -> None:
        """Prepare, train, and again."""
        while True:
            sess = self.supervisor.prepare_or_wait_for_session()
            try:
                while not self.supervisor.should_stop():
                    self.counted.append(run.status.step)
                    if self.supervisor.step_of(sess) == self.steps:
                        break
                    if len(self.counted) == self.at:
                        raise tf.errors.AbortedError(None, None, "a server was restarted")
                    sess.run(self.train_op)
                self.supervisor.stop()
                break
            except tf.errors.AbortedError:
                continue


def test_a_session_prepared_again_goes_on_from_the_checkpoint_and_says_so() -> None:
    program = Aborting(at=4, steps=5, save_model_steps=2)
    run = nbtrain.background(program).wait(SOON)
    assert program.counted == [0, 1, 2, 3, 2, 3, 4, 5]
    message = str(run.status.message)
    assert "lost at step 3 and made again; the training continues from step 2" in message
    assert held_by_the_last(run) == run.status.step == 5
    assert "left" not in message


def test_a_session_prepared_again_without_a_checkpoint_says_that_all_is_lost() -> None:
    program = Aborting(at=4, steps=5)
    run = nbtrain.background(program).wait(SOON)
    assert program.counted == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5]
    assert "STARTS ALL OVER, from step 0. Give save_model_steps=" in str(run.status.message)
    assert held_by_the_last(run) == run.status.step == 5


def test_the_first_of_two_sessions_stays_lost_and_is_not_saved_over_the_second() -> None:
    program = Aborting(at=4, steps=3, save_model_steps=2)
    run = nbtrain.background(program).wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [2, 3]
    assert not (run.logdir / "checkpoints").exists()


def test_a_session_prepared_after_a_stop_goes_on_without_a_word() -> None:
    steps: list[int] = []

    @nbtrain.background
    def run(run: Run) -> None:
        program = Program(save_model_secs=0)
        sv = program.supervisor
        for _ in range(2):
            sess = sv.prepare_or_wait_for_session()
            for _ in range(3):
                assert not sv.should_stop()
                steps.append(run.status.step)
                sess.run(program.train_op)
            sv.stop()
            sess.close()

    assert run.wait(SOON).status.message is None
    assert steps == [0, 1, 2, 3, 4, 5]
    assert held_by_the_last(run) == run.status.step == 6


@pytest.mark.parametrize(
    "off",
    [
        {},
        {"save_model_secs": 0, "save_summaries_secs": 0},
        {"summary_op": None, "summary_writer": None},
        {"saver": None},
        {"global_step": None},
    ],
)
def test_a_session_without_the_context_manager_is_steered_whichever_services_are_off(
    off: dict[str, Any], gate: Gate
) -> None:
    run = nbtrain.background(Unmanaged(gate, **off))
    gate.wait_for_arrivals()
    receipt = run.pause()
    gate.open()
    assert applied(receipt).text == "paused"
    assert bool(run.save().wait(SOON).applied) is ("saver" not in off)
    applied(run.request_stop())
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.status.message is None


def test_standard_services_that_are_not_started_leave_the_run_its_checkpoints() -> None:
    program = Unmanaged(save_model_steps=2, save_model_secs=0)
    prepare = program.supervisor.prepare_or_wait_for_session

    @nbtrain.background
    def run(_run: Run) -> None:
        sess = prepare(start_standard_services=False)
        assert services() == []
        for _ in range(5):
            program.supervisor.should_stop()
            sess.run(program.train_op)
        program.supervisor.stop()

    run.wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [2, 4, 5]


def test_a_worker_is_steered_and_saves_nothing(gate: Gate) -> None:
    server = tf.distribute.Server.create_local_server()
    with tf.Graph().as_default(), v1.container("worker under a run"), tf.device("/cpu:0"):
        step = v1.train.get_or_create_global_step()
        counts = step.assign_add(1)
        chief = nbtrain.Supervisor(logdir=None)
        worker = nbtrain.Supervisor(is_chief=False, recovery_wait_secs=0.02)

    @nbtrain.background
    def run(_run: Run) -> None:
        sess = worker.prepare_or_wait_for_session(server.target)
        while not worker.should_stop():
            gate()
            sess.run(counts)
        worker.stop()
        sess.close()

    with chief.managed_session(server.target):
        gate.allow(2)
        gate.wait_for_arrivals(3)
        receipt = run.pause()
        gate.open()
        assert applied(receipt).step == 3
        assert not run.save().wait(SOON).applied
        applied(run.request_stop())
        assert run.wait(SOON).checkpoints == ()


def test_a_supervisor_whose_services_do_not_start_is_nobodys_again() -> None:
    with tf.Graph().as_default():
        fed = v1.placeholder(tf.float32, [], name="fed")
        counts = v1.train.get_or_create_global_step().assign_add(1)
        v1.summary.scalar("fed", fed)
        sv = nbtrain.Supervisor(logdir="supervised")
    tried: list[str] = []

    @nbtrain.background
    def run(_run: Run) -> None:
        try:
            sv.prepare_or_wait_for_session()
        except ArgumentError as error:
            tried.append(str(error))
        sess = sv.prepare_or_wait_for_session(start_standard_services=False)
        while not sv.should_stop():
            sess.run(counts)
        sv.stop()

    run.on_tick(lambda: run.request_stop() if run.status.step > 3 else None)
    assert run.wait(SOON).status.message is None
    assert "'fed'" in tried[0]
    assert held_by_the_last(run) == run.status.step


def test_a_step_after_the_last_boundary_is_in_the_last_checkpoint() -> None:
    program = Program(save_model_steps=2, save_model_secs=0)

    @nbtrain.background
    def run(run: Run) -> None:
        with program.supervisor.managed_session() as sess:
            while not program.supervisor.should_stop():
                sess.run(program.train_op)
                run.record(weight=1.0)
                if program.supervisor.step_of(sess) == 3:
                    break

    run.wait(SOON)
    assert held_by_the_last(run) == run.status.step == 3
    assert run.scalars["weight"].steps.tolist() == [1, 2, 3]


@pytest.mark.parametrize("program", [Program, Unmanaged, LeftOpen])
def test_a_loop_that_never_asks_loses_no_step_when_it_goes_on(program: type[Program]) -> None:
    training = program()

    def loop(sess: Any) -> None:
        for _ in range(3):
            sess.run(training.train_op)

    training.loop = loop  # type: ignore[method-assign]
    run = nbtrain.background(training).wait(SOON)
    assert held_by_the_last(run) == run.status.step == 3
    run.start().wait(SOON)
    assert held_by_the_last(run) == run.status.step == 6


def test_the_last_record_of_a_loop_is_kept_once_however_its_session_counts() -> None:
    program = LeftOpen()

    @nbtrain.background
    def run(run: Run) -> None:
        sess = program.supervisor.prepare_or_wait_for_session()
        while not program.supervisor.should_stop():
            sess.run(program.train_op)
            sess.run(program.train_op)
            run.record(weight=1.0)
            if program.supervisor.step_of(sess) == 6:
                break

    assert run.wait(SOON).scalars["weight"].steps.tolist() == [1, 2, 3]
    assert held_by_the_last(run) == run.status.step == 6


def test_an_error_like_that_of_a_stop_fails_a_run_that_nobody_stopped() -> None:
    program = Program()

    def loop(sess: Any) -> None:
        sess.run(program.train_op)
        raise tf.errors.CancelledError(None, None, "of the program's own")

    program.loop = loop  # type: ignore[method-assign]
    run = nbtrain.background(program)
    with pytest.raises(tf.errors.CancelledError, match="of the program's own"):
        run.wait(SOON)


# --- one Supervisor, two runs -------------------------------------------------------


@both_ways
def test_a_supervisor_that_trains_under_a_run_refuses_a_second_and_the_first_goes_on(
    program: type[Program], gate: Gate
) -> None:
    program_of_both = program(gate)
    first = nbtrain.background(program_of_both, name="first")
    gate.wait_for_arrivals()
    second = nbtrain.background(program_of_both, name="second")
    with pytest.raises(BusyError, match="trains under the run 'first', which has not ended: stop"):
        second.wait(SOON)
    assert first.status.phase is Phase.RUNNING
    with (
        pytest.raises(BusyError, match="under the run 'first'"),
        program_of_both.supervisor.managed_session(),
    ):
        pytest.fail("it trains already")
    gate.open()
    reached(first, lambda run: run.status.step > 3)
    first.request_stop()
    first.wait(SOON)
    assert first.status.phase is Phase.STOPPED
    assert listed(Path("supervised"))[-1].step == first.status.step
    third = nbtrain.background(program_of_both)
    reached(third, lambda run: run.status.step > first.status.step)
    third.request_stop()
    assert third.wait(SOON).status.phase is Phase.STOPPED


# --- loops that never ask -----------------------------------------------------------


class NeverAsks(Program):
    """A loop of a fixed length that records each step."""

    steps = 40

    def __call__(self, run: Run) -> None:
        """So many steps, whatever is asked for."""
        with self.supervisor.managed_session() as sess:
            for _ in range(self.steps):
                if self.gate is not None:
                    self.gate()
                sess.run(self.train_op)
                run.record(weight=sess.run(self.weight))


def test_a_loop_that_never_asks_is_recorded_and_saved_at_its_end_also_when_it_goes_on() -> None:
    program = NeverAsks()
    for lives in (1, 2):
        run = nbtrain.background(program).wait(SOON)
        assert run.status.step == 40 * lives
        assert listed(Path("supervised"))[-1].step == 40 * lives
        weights = run.scalars["weight"].values
        assert weights.tolist() == [40 * (lives - 1) + step for step in range(1, 41)]
        assert run.scalars["weight"].steps.tolist() == weights.tolist()


def test_a_loop_that_never_asks_is_saved_by_steps() -> None:
    by_steps = NeverAsks(save_model_steps=10)
    nbtrain.background(by_steps).wait(SOON)
    assert {10, 20, 30, 40} <= {checkpoint.step for checkpoint in listed(Path("supervised"))}


def test_a_loop_that_never_asks_is_saved_by_time_between_two_calls() -> None:
    program = NeverAsks(save_model_secs=0.01)
    program.steps = 3_000
    run = nbtrain.background(program).wait(SOON)
    saved = listed(Path("supervised"))
    assert len(saved) > 1
    for checkpoint in saved:
        reader = tf.train.load_checkpoint(checkpoint.path)
        assert reader.get_tensor("weight") == reader.get_tensor("global_step") == checkpoint.step
    assert saved[-1].step == run.status.step == 3_000


def test_a_loop_that_never_asks_is_paused_saved_and_restored_between_two_calls(gate: Gate) -> None:
    program = NeverAsks(gate)
    run = nbtrain.background(program)
    gate.allow(2)
    gate.wait_for_arrivals(3)
    assert run.status.phase is Phase.RUNNING
    paused = run.pause()
    gate.allow(1)
    step = applied(paused).step
    saved = applied(run.save())
    assert saved.text == f"saved model.ckpt-{step}"
    applied(run.resume())
    gate.open()
    assert run.wait(SOON).status.step == 40
