"""A restore of a graph's session is proved by the values that its trained variables hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.tf1.saving.saver import GraphSaver, Saved
from nbtrain.tf1.saving.session_savers import SessionSaver
from tests.gate import SOON
from tests.models import applied, reached

v1 = tf.compat.v1


class Line:
    """A graph with a partitioned variable, one of bfloat16, and momenta."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.step = v1.train.get_or_create_global_step()
            thirds = v1.fixed_size_partitioner(3)
            ones = v1.ones_initializer()
            self.parted = v1.get_variable("parted", (6, 4), partitioner=thirds, initializer=ones)
            self.half = v1.get_variable("half", (3,), tf.bfloat16, initializer=ones)
            halves = tf.cast(tf.reduce_sum(self.half), tf.float32)
            self.loss = tf.reduce_sum(tf.convert_to_tensor(self.parted) ** 2) + halves
            optimizer = v1.train.MomentumOptimizer(0.01, 0.9)
            self.train_op = optimizer.minimize(self.loss, self.step)


SAVERS: dict[str, Callable[[Line], Any]] = {
    "of all": lambda _line: v1.train.Saver(),
    "by other names": lambda line: v1.train.Saver(
        {"step": line.step, "whole": line.parted, "short": line.half}
    ),
    "of a list": lambda line: v1.train.Saver([line.step, *line.parted, line.half]),
    "imported": lambda _line: v1.train.Saver(saver_def=v1.train.Saver().as_saver_def()),
}


@pytest.mark.parametrize("kind", SAVERS)
def test_each_trained_variable_is_compared_with_its_value_in_the_file(
    kind: str, tmp_path: Path
) -> None:
    line = Line()
    with line.graph.as_default():
        saver = SAVERS[kind](line)
        spoil = [line.half.assign([2, 2, 2]), next(iter(line.parted)).assign(tf.zeros((2, 4)))]
        reset = v1.global_variables_initializer()
    with v1.Session(graph=line.graph) as session:
        session.run(reset)
        session.run(line.train_op)
        prefix = str(tmp_path / "model.ckpt")
        held = GraphSaver(Saved(line.graph, saver, prefix, line.step, None), tmp_path)
        held.sess = session
        held.save(1)
        restored = held.restore(f"{prefix}-1")
        assert restored.differing == ()
        assert "matched" in str(restored)
        session.run(spoil)  # as if a session that was restored elsewhere had not received them
        restored = held.resume() or restored
        assert sorted(restored.differing) == ["half", "parted/part_0"]
        assert "matched" not in str(restored)
        assert "other values than in it" in str(restored)


def test_a_variable_that_an_imported_saver_does_not_restore_has_no_value(tmp_path: Path) -> None:
    line, prefix = Line(), str(tmp_path / "model.ckpt")
    with line.graph.as_default():
        saver = v1.train.Saver(saver_def=v1.train.Saver().as_saver_def())
        head = v1.get_variable("head", (2,))
        tune = head.assign_add([1.0, 1.0])
        reset = v1.global_variables_initializer()
    with v1.Session(graph=line.graph) as session:
        session.run(reset)
        session.run(tune)
        held = GraphSaver(Saved(line.graph, saver, prefix, line.step, None), tmp_path)
        held.sess = session
        held.save(0)
        assert held.restore(f"{prefix}-0").valueless == ("head",)


@pytest.mark.parametrize("restored_by_tensorflow", [True, False])
def test_a_monitored_session_at_the_step_of_a_checkpoint_is_compared_with_it(
    tmp_path: Path, *, restored_by_tensorflow: bool
) -> None:
    line, prefix = Line(), str(tmp_path / "model.ckpt")
    with line.graph.as_default():
        saver, reset = v1.train.Saver(), v1.global_variables_initializer()
    with v1.Session(graph=line.graph) as session:
        session.run(reset)
        held = SessionSaver(Saved(line.graph, saver, prefix, line.step, None), tmp_path)
        held.sess = session
        held.save(0)
        held.initial = f"{prefix}-0" if restored_by_tensorflow else None
        restored = held.resume()
        assert restored is not None
        assert restored.differing == ()
        with line.graph.as_default():
            session.run(line.half.assign([2, 2, 2]))
        restored = held.resume()
        assert restored is not None
        assert restored.differing == ("half",)


def supervised(line: Line, spoil: Any, **options: Any) -> nbtrain.Run:
    """A run under a Supervisor that does something to each session after it was restored."""
    with line.graph.as_default():
        supervisor = nbtrain.tf1.Supervisor(logdir="logs", local_init_op=spoil)
    return nbtrain.tf1.supervise(line.train_op, supervisor=supervisor, name="run", **options)


def test_a_run_whose_session_holds_other_values_pauses_and_saves_nothing() -> None:
    line = Line()
    with line.graph.as_default():
        nothing = tf.no_op()
    supervised(line, nothing, steps=3).wait(SOON)
    line = Line()
    with line.graph.as_default():
        spoil = line.half.assign([2, 2, 2])
    run = supervised(line, spoil, steps=6)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = str(run.status.message)
    assert "Paused at step 3: model.ckpt-3 has another value for half" in message
    assert "matched" not in str(run.status.notice)
    outcome = run.save().wait(SOON)
    assert not outcome.applied
    assert [held.step for held in run.checkpoints] == [3]
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert [held.step for held in run.checkpoints][-1] == 6
