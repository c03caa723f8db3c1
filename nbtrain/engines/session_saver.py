"""A run's own checkpoints of a session that hooks watch, beside those of TensorFlow's hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf.saver_pb2 import SaverDef

from nbtrain.checkpoints import Restored, listed
from nbtrain.engines.graph_saver import GraphSaver, Saved
from nbtrain.errors import CheckpointError

v1 = tf.compat.v1

# With TensorFlow's 0 for "all", its `checkpoint` file would name the latest alone.
_ALL = 2**31 - 1


class SessionSaver(GraphSaver):
    """Saves and restores the variables of a session that somebody else opens and closes."""

    def save(self, step: int) -> int:
        """Write a checkpoint.

        Raises:
            CheckpointError: It cannot be written, or the session is closed: an error ended it.
        """
        try:
            return super().save(step)
        except CheckpointError:
            raise
        except RuntimeError as error:
            raise CheckpointError(f"its session is closed already ({error})") from error

    def resume(self) -> Restored | None:
        """Go on from the latest checkpoint, unless the session has as many steps behind it."""
        checkpoints = listed(self.directory)
        if not checkpoints:
            return None
        latest, step = checkpoints[-1], self.global_step(0)
        if step < latest.step:
            return self.restore(latest.path)
        return self._fitting(latest.path) if step == latest.step else None


def find_saver(graph: tf.Graph, scaffold: Any) -> Any:
    """The saver of a scaffold or a graph; made where there is none and can be one.

    Returns:
        None for a graph without variables, or one that is finalized and has no saver.
    """
    saver = scaffold.saver if scaffold is not None else None
    known = graph.get_collection(v1.GraphKeys.SAVERS)
    if saver is not None or known:
        return known[0] if saver is None else saver
    if graph.finalized or not graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES):
        return None
    saver = v1.train.Saver()
    # Where a Scaffold looks for it, and a cell that is run again.
    graph.add_to_collection(v1.GraphKeys.SAVERS, saver)
    return saver


def own_saver(saver: Any, directory: Path, keep: int | None) -> Any:
    """A saver that runs the operations of another, and keeps the checkpoints of one folder.

    One saver in two folders deletes in each what it wrote in the other.
    """
    saver.build()
    definition = SaverDef.FromString(saver.as_saver_def().SerializeToString())
    definition.max_to_keep = keep or _ALL
    variables = saver._var_list  # named by nothing public
    own = v1.train.Saver(
        variables, reshape=saver._reshape, saver_def=definition, save_relative_paths=True
    )
    own.set_last_checkpoints_with_time([(held.path, held.wall_time) for held in listed(directory)])
    return own


def session_saver(saved: Saved, sess: tf.compat.v1.Session) -> SessionSaver:
    """The saver of one session."""
    directory = Path(saved.save_path).parent
    directory.mkdir(parents=True, exist_ok=True)
    session_saver = SessionSaver(saved, directory)
    session_saver.sess = sess
    return session_saver
