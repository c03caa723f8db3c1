"""The checkpoints of a Supervisor: what TensorFlow's writes beside the variables."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.engines.graph.saver import GraphSaver, Saved

# What a saver of several files writes behind the path of a checkpoint; no .meta file has it.
_SHARDS = re.compile(r"-[\d?]+-of-\d+$")


class Writing(Protocol):
    """What the writer knows of its Supervisor."""

    saver: Any
    save_path: str
    summary_writer: Any


class CheckpointWriter:
    """Writes a Supervisor's checkpoints: the variables, the graph, and an event.

    The graph is finalized, and takes longer to serialize than small variables to save: it is
    serialized once, and the later checkpoints have links to that file.

    Args:
        supervisor: Whose saver and summary writer these are.
    """

    def __init__(self, supervisor: Writing) -> None:
        self._supervisor = supervisor
        self._meta: Path | None = None  # the file written last

    def write(self, sess: tf.compat.v1.Session, prefix: str, step: int | None) -> str:
        """Write a checkpoint, and return its path.

        Args:
            sess: The session.
            prefix: What its path begins with.
            step: The global step, which its name ends with; None where there is none.
        """
        supervisor, log = self._supervisor, tf.compat.v1.SessionLog
        saver = supervisor.saver
        usual = isinstance(saver, tf.compat.v1.train.Saver)  # one of another kind is let alone
        with sess.graph.as_default():  # the thread whose turn it is may be an eager one
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


class SupervisorSaver(GraphSaver):
    """Saves under a run what a Supervisor saves outside one.

    Args:
        supervisor: The Supervisor.
        directory: The folder of the checkpoints.
        origin: Path of the checkpoint to begin at while the folder has none; or None.
    """

    def __init__(self, supervisor: Any, directory: Path, origin: str | None = None) -> None:
        super().__init__(Saved.by(supervisor), directory, origin)
        self._writer = CheckpointWriter(supervisor)

    def write(self, step: int) -> None:
        """Write the files of a checkpoint, the graph beside them, and an event."""
        self._writer.write(self.sess, self.prefix, step)
