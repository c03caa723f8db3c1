"""Writes the checkpoints of a Supervisor with the files that TensorFlow's adds to the variables."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.engines.graph.saver import GraphSaver, Saved

# A sharded saver appends this to the path of a checkpoint; .meta files do not have it.
_SHARDS = re.compile(r"-[\d?]+-of-\d+$")


class CheckpointWriter:
    """Writes a Supervisor's checkpoints: the variables, the graph, and an event.

    Serializing the graph takes longer than saving small variables. As it is finalized, it is
    serialized once, and later checkpoints link to that file.
    """

    def __init__(self, supervisor: Any) -> None:
        self._supervisor = supervisor
        self._meta: Path | None = None  # the file written last

    def write(self, sess: tf.compat.v1.Session, prefix: str, step: int | None) -> str:
        """Writes a checkpoint, named by its step if there is one, and returns its path."""
        supervisor, log = self._supervisor, tf.compat.v1.SessionLog
        saver = supervisor.saver
        usual = isinstance(saver, tf.compat.v1.train.Saver)  # other kinds of savers are left alone
        with sess.graph.as_default():  # the calling thread may be eager
            path: str = saver.save(sess, prefix, global_step=step, write_meta_graph=not usual)
            if usual:
                self._write_graph(Path(f"{_SHARDS.sub('', path)}.meta"))
        if supervisor.summary_writer and step is not None:
            event = log(status=log.CHECKPOINT, checkpoint_path=supervisor.save_path)
            supervisor.summary_writer.add_session_log(event, step)
        return path

    def _write_graph(self, meta: Path) -> None:
        before, self._meta = self._meta, meta
        if before is None or not before.exists():
            self._supervisor.saver.export_meta_graph(str(meta))
        elif before != meta:
            meta.unlink(missing_ok=True)
            try:
                os.link(before, meta)
            except OSError:  # a file system without links
                shutil.copyfile(before, meta)


class Checkpoints:
    """The checkpoints of a Supervisor's session."""

    def __init__(self, supervisor: Any, sess: tf.compat.v1.Session) -> None:
        self._supervisor = supervisor
        self._sess = sess
        self._writer = CheckpointWriter(supervisor)
        self._saved_step: int | None = None
        self._warned = False

    def save(self) -> None:
        """Saves a checkpoint; warns once if other threads have trained meanwhile.

        In a cluster other processes may always train, and no checkpoint is of a single step.
        """
        step = self._supervisor.step_of(self._sess)
        self._writer.write(self._sess, self._supervisor.save_path, step)
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
    """Saves under a run the same files that a Supervisor saves without one; see `GraphSaver`."""

    def __init__(self, supervisor: Any, directory: Path, origin: str | None = None) -> None:
        super().__init__(Saved.by(supervisor), directory, origin)
        self._writer = CheckpointWriter(supervisor)

    def write(self, step: int) -> None:
        """Writes the variables, the graph beside them, and an event."""
        self._writer.write(self.sess, self.prefix, step)
