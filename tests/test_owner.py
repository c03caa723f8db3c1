"""A Supervisor of the user's own in the training thread of a run: it trains under that run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints import listed
from nbtrain.errors import BusyError
from nbtrain.run import Run
from nbtrain.states import Phase
from tests.gate import SOON, Gate
from tests.models import applied, reached

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
            while not sv.should_stop():
                if self.gate is not None:
                    self.gate()
                sess.run(self.train_op)


def test_the_loop_of_a_supervisor_is_the_runs(gate: Gate) -> None:
    run = nbtrain.background(Program(gate))
    gate.allow(3)
    gate.wait_for_arrivals(4)
    assert run.status.phase is Phase.RUNNING
    assert run.status.step == 3
    run.request_stop()
    gate.allow()
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.status.step == 4


def test_its_checkpoints_are_the_runs_and_the_last_is_saved() -> None:
    run = nbtrain.background(Program(save_model_steps=100, save_model_secs=0), start=False)
    run.on_tick(lambda: run.request_stop() if run.status.step > 250 else None)
    run.start().wait(SOON)
    steps = [checkpoint.step for checkpoint in listed(Path("supervised"))]
    assert all(step % 100 == 0 for step in steps[:-1])
    assert steps[-1] == run.status.step
    reader = tf.train.load_checkpoint("supervised")
    assert reader.get_tensor("weight") == reader.get_tensor("global_step") == run.status.step


def test_buttons_save_and_restore_its_session(gate: Gate) -> None:
    program = Program(gate)
    run = nbtrain.background(program)
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


def test_what_the_run_records_at_every_step_is_not_recorded_again_from_a_summary() -> None:
    program = Program(save_summaries_steps=10, save_summaries_secs=0)
    run = nbtrain.supervise(
        program.train_op,
        scalars={"weight_seen": program.supervisor.global_step},
        supervisor=program.supervisor,
        steps=35,
    ).wait(SOON)
    assert run.scalars["weight_seen"].steps.tolist() == list(range(1, 36))


def test_a_stop_of_the_supervisor_stops_the_run(gate: Gate) -> None:
    program = Program(gate)
    run = nbtrain.background(program)
    gate.wait_for_arrivals()
    program.supervisor.request_stop()
    gate.open()
    assert run.wait(SOON).status.phase is Phase.STOPPED


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
