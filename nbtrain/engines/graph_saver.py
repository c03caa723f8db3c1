"""Saving and restoring the variables of a graph's session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from nbtrain.checkpoints import Restored, listed
from nbtrain.errors import CheckpointError

v1 = tf.compat.v1


class Saved(Protocol):
    """What it knows of a Supervisor."""

    @property
    def graph(self) -> tf.Graph:
        """The graph."""

    @property
    def saver(self) -> Any:
        """Its `tf.compat.v1.train.Saver`."""

    @property
    def save_path(self) -> str:
        """Prefix of its checkpoints."""

    @property
    def global_step(self) -> Any:
        """Its global step, or None."""


class GraphSaver:
    """Saves and restores the variables of one session, between two steps.

    Args:
        supervisor: Whose saver, graph and global step these are.
        sess: The session.
        directory: The folder of the checkpoints.
    """

    def __init__(self, supervisor: Saved, sess: tf.compat.v1.Session, directory: Path) -> None:
        self.directory = directory
        self._supervisor = supervisor
        self._sess = sess
        self._prefix = str(directory / Path(supervisor.save_path).name)

    def resume(self) -> Restored | None:
        """The proof of what the Supervisor restored when it prepared the session.

        Raises:
            CheckpointError: It had other shapes, which TensorFlow does not look at.
        """
        checkpoints = listed(self.directory)
        return self._fitting(checkpoints[-1].path) if checkpoints else None

    def save(self, step: int) -> int:
        """Write `model.ckpt-<global step>`, the step read from the session at this moment."""
        step = self.global_step(step)
        with self._supervisor.graph.as_default():
            self._supervisor.saver.save(
                self._sess,
                self._prefix,
                global_step=step,
                # Every checkpoint is of the graph that the Supervisor wrote at its start.
                write_meta_graph=False,
            )
        return step

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint.

        Raises:
            CheckpointError: It lacks variables of the graph, or has them in other shapes.
        """
        self._fitting(path)
        with self._supervisor.graph.as_default():
            self._supervisor.saver.restore(self._sess, path)
        return self._proof(path)

    def global_step(self, otherwise: int) -> int:
        """The global step now; `otherwise` where the graph has none."""
        variable = self._supervisor.global_step
        return otherwise if variable is None else int(np.ravel(self._sess.run(variable))[0])

    def _fitting(self, path: str) -> Restored:
        """The proof of a checkpoint that has a value for every variable of the saver."""
        proof = self._proof(path)
        if proof.missing:
            raise CheckpointError(
                f"{path} does not fit this graph; missing there, or of another shape: "
                f"{', '.join(proof.missing)}. Nothing was restored."
            )
        return proof

    def _saved(self) -> dict[str, Any]:
        """The variables that the saver saves, by their names in a checkpoint."""
        items = self._supervisor.saver._var_list  # named by nothing public
        if not isinstance(items, dict):
            items = {item.op.name: item for item in items}
        return {name: item for name, item in items.items() if hasattr(item, "shape")}

    def _proof(self, path: str) -> Restored:
        graph = self._supervisor.graph
        held = tf.train.load_checkpoint(path).get_variable_to_shape_map()
        shapes = {name: item.shape.as_list() for name, item in self._saved().items()}
        trained = {
            variable.op.name for variable in graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)
        }
        matched = tuple(name for name, shape in shapes.items() if held.get(name) == shape)
        slots = [
            name
            for name in matched
            if name not in trained and any(name.startswith(other + "/") for other in trained)
        ]
        return Restored(
            step=self.global_step(int(path.rpartition("-")[2])),
            path=path,
            matched=matched,
            slots=len(slots),
            missing=tuple(sorted(set(shapes) - set(matched))),
            unused=tuple(sorted(set(held) - set(shapes))),
        )
