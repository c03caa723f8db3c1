"""A run's own checkpoints of a session with hooks, beside those of TensorFlow's hooks."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from nbtrain.checkpoints.files import Restored, listed
from nbtrain.checkpoints.listing import latest
from nbtrain.core.errors import CheckpointError
from nbtrain.engines.graph.saver import GraphSaver, Saved
from nbtrain.rundir.timeline import RunTimeline


class SessionSaver(GraphSaver):
    """Saves and restores the variables of a session that is opened and closed elsewhere.

    Attributes:
        restored: Path of the checkpoint that its variables were initialized from, or None.
    """

    restored: str | None = None

    def save(self, step: int) -> int:
        """Writes a checkpoint.

        Raises:
            CheckpointError: It cannot be written, or an error has closed the session.
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
        if held.path == self.restored:  # workers may have trained on since
            return self._counted(self._fitting(held.path))
        left = [each.step for each in listed(self.directory)[-1:] if each != held]
        if step < held.step or step in left:  # TensorFlow does not know about abandoned ones
            return self.restore(held.path)
        return self._fitting(held.path) if step == held.step else None


def session_saver(
    saved: Saved, sess: tf.compat.v1.Session, *, restored: str | None = None
) -> SessionSaver:
    """Returns the saver of a session, initialized from the checkpoint `restored` if given."""
    directory = Path(saved.save_path).parent
    directory.mkdir(parents=True, exist_ok=True)
    session_saver = SessionSaver(saved, directory)
    session_saver.sess, session_saver.restored = sess, restored
    return session_saver
