"""A run's own checkpoints of sessions with hooks, beside those of TensorFlow's hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, listed
from nbtrain.checkpoints.listing import latest
from nbtrain.checkpoints.mending import mend_states
from nbtrain.core.errors import CheckpointError
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tf1.saving.compatibility import check_fit
from nbtrain.tf1.saving.saver import GraphSaver, Saved
from nbtrain.tf1.saving.savers import find_saver, own_saver

v1 = tf.compat.v1


class SessionSaver(GraphSaver):
    """Saves and restores the variables of a session that is opened and closed elsewhere."""

    initial: str | None = None  # the checkpoint that its variables were initialized from

    def save(self, step: int) -> int:
        """Writes a checkpoint.

        Raises:
            CheckpointError: The checkpoint cannot be written, or an error has closed the session.
        """
        try:
            return super().save(step)
        except CheckpointError:
            raise
        except RuntimeError as error:
            raise CheckpointError(f"its session is closed already ({error})") from error

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Restores the latest checkpoint, unless the session is at the same or a later step."""
        held, step = latest(self.directory, timeline), self.global_step(0)
        if held is None:
            return None
        if held.path == self.initial:  # workers may have trained since
            return self._checked(self._fitting(held.path))
        left = [each.step for each in listed(self.directory)[-1:] if each != held]
        if step < held.step or step in left:  # TensorFlow does not know about abandoned ones
            return self.restore(held.path)
        return self._checked(self._fitting(held.path)) if step == held.step else None


class SessionSavers:
    """The savers of the sessions that a graph's hook gets one after the other.

    Raises:
        CheckpointError: The folder contains checkpoints of another model.
    """

    def __init__(self, graph: tf.Graph, scaffold: Any, folder: Path, keep: int | None) -> None:
        self._graph = graph
        self._scaffold = scaffold
        self._directory = folder / "checkpoints"
        self._keep = keep
        self._own: Any = None
        saver = find_saver(graph, scaffold)
        self._mended = mend_states(self._directory)
        if isinstance(saver, v1.train.Saver) and (checkpoints := listed(self._directory)):
            check_fit(saver, checkpoints[-1].path)

    def of(
        self, session: tf.compat.v1.Session, global_step: Any, restored: str | None
    ) -> SessionSaver | None:
        """Returns the saver of a session, initialized from the checkpoint `restored` if given."""
        saver = find_saver(self._graph, self._scaffold)
        if saver is None:
            return None
        self._own = self._own or own_saver(saver, self._directory, self._keep)
        path = str(self._directory / "model.ckpt")
        ready_op = next(iter(self._graph.get_collection(v1.GraphKeys.READY_OP)), None)
        saved = Saved(self._graph, self._own, path, global_step, ready_op)
        self._directory.mkdir(parents=True, exist_ok=True)
        made = SessionSaver(saved, self._directory)
        made.sess, made.initial = session, restored
        made.mended, self._mended = self._mended, None
        return made

    def latest(self, saver: Any) -> str | None:
        """Returns the latest checkpoint, if `saver` can initialize all variables from it."""
        checkpoints = listed(self._directory)
        if not checkpoints or not isinstance(saver, v1.train.Saver):
            return None
        path = checkpoints[-1].path
        fitting = check_fit(saver, path)
        variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        whole = fitting and {each.op.name for each in variables} <= set(fitting.matched)
        return path if whole else None
