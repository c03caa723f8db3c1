"""Writes checkpoints of a Supervisor, with the graph and the event that TensorFlow's class adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.tf1.saving.saver import GraphSaver, Saved


def write_checkpoint(
    supervisor: Any, sess: tf.compat.v1.Session, prefix: str, step: int | None
) -> None:
    """Writes a checkpoint, named by its step if there is one, with the graph, and an event."""
    log = tf.compat.v1.SessionLog
    with sess.graph.as_default():  # the calling thread may be eager
        supervisor.saver.save(sess, prefix, global_step=step)
    if supervisor.summary_writer and step is not None:
        event = log(status=log.CHECKPOINT, checkpoint_path=supervisor.save_path)
        supervisor.summary_writer.add_session_log(event, step)


class Checkpoints:
    """The checkpoints of a Supervisor's session."""

    def __init__(self, supervisor: Any, sess: tf.compat.v1.Session) -> None:
        self._supervisor = supervisor
        self._sess = sess
        self._saved_step: int | None = None
        self._warned = False

    def save(self) -> None:
        """Saves a checkpoint; warns once if other threads have trained meanwhile.

        No warning in a cluster: other processes may always train, and no checkpoint is of a single
        step.
        """
        step = self._supervisor.step_of(self._sess)
        write_checkpoint(self._supervisor, self._sess, self._supervisor.save_path, step)
        self._saved_step = step
        if self._warned or self._sess.sess_str or step == self._supervisor.step_of(self._sess):
            return
        self._warned = True
        tf.compat.v1.logging.warning(
            "The session was trained while it was saved, by another thread than the one that "
            "prepared it: its checkpoints may mix two steps, as those of TensorFlow's Supervisor "
            "do, and nothing is saved or summarized by steps. Train in the thread that prepares "
            "the session."
        )

    def save_last(self) -> None:
        """Saves a checkpoint unless the current step is saved."""
        if self._saved_step is None or self._saved_step != self._supervisor.step_of(self._sess):
            self.save()


class SupervisorSaver(GraphSaver):
    """Saves, in a run, the same files that a Supervisor saves without one; see `GraphSaver`."""

    def __init__(self, supervisor: Any, directory: Path, origin: str | None = None) -> None:
        super().__init__(Saved.by(supervisor), directory, origin)
        self._supervisor = supervisor

    def write(self, step: int) -> None:
        """Writes the variables, the graph beside them, and an event."""
        assert self.sess is not None, "the session is open"
        write_checkpoint(self._supervisor, self.sess, self.prefix, step)
