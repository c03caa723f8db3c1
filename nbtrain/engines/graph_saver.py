"""Saving and restoring the variables of a graph's session."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.checkpoints import (
    Restored,
    listed,
    mend_state,
    misfit,
    reading,
    step_in_name,
    writing,
)
from nbtrain.engines.fit import saved_ops, saved_shapes
from nbtrain.engines.global_step import step_of
from nbtrain.engines.hush import hushed

v1 = tf.compat.v1

_BETA_POWER = re.compile(r"beta[12]_power(_\d+)?")


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
        directory: The folder of the checkpoints.

    Attributes:
        sess: The session, once it is open.
    """

    def __init__(self, supervisor: Saved, directory: Path) -> None:
        self.directory = directory
        self.sess: tf.compat.v1.Session | None = None
        self._supervisor = supervisor
        self._prefix = str(directory / Path(supervisor.save_path).name)
        self._restored: Restored | None = None

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Open the session, into which the Supervisor restores the latest checkpoint.

        Raises:
            CheckpointError: That cannot be read, lacks variables, or has other shapes, which
                TensorFlow does not look at.
        """
        mend_state(self.directory)
        latest = [checkpoint.path for checkpoint in listed(self.directory)[-1:]]
        for path in latest:
            self._fitting(path)
        try:
            yield
        except Exception:  # of a file that was cut short TensorFlow says: the input is exhausted
            for path in latest:
                _read_all(path)
            raise

    def resume(self) -> Restored | None:
        """The proof of what the Supervisor restored when it prepared the session."""
        checkpoints = listed(self.directory)
        if checkpoints:
            self._restored = self._counted(self._fitting(checkpoints[-1].path))
        return self._restored

    def save(self, step: int) -> int:
        """Write `model.ckpt-<global step>`, the step read from the session at this moment.

        Raises:
            CheckpointError: It cannot be written.
        """
        step = self.global_step(step)
        with writing(self.directory), self._supervisor.graph.as_default():
            self._supervisor.saver.save(
                self.sess,
                self._prefix,
                global_step=step,
                # Every checkpoint is of the graph that the Supervisor wrote at its start.
                write_meta_graph=False,
            )
        return step

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint.

        Raises:
            CheckpointError: It cannot be read, lacks variables of the graph, or has them in
                other shapes; nothing was restored.
        """
        proof = self._fitting(path)
        with hushed(), reading(path), self._supervisor.graph.as_default():
            self._supervisor.saver.restore(self.sess, path)
        self._restored = self._counted(proof)
        return self._restored

    def proof(self) -> Restored | None:
        """The proof of the latest restore: a graph gets no variables later."""
        return self._restored

    def global_step(self, otherwise: int) -> int:
        """The global step now; `otherwise` where the graph has none."""
        assert self.sess is not None, "the session is open"
        step = step_of(self.sess, self._supervisor.global_step)
        return otherwise if step is None else step

    def _fitting(self, path: str) -> Restored:
        """The proof of a checkpoint that has a value for every variable of the saver."""
        with reading(path):
            held = tf.train.load_checkpoint(path).get_variable_to_shape_map()
        proof = self._proof(path, held)
        if proof.missing:
            raise misfit(path, f"missing there, or of another shape: {', '.join(proof.missing)}")
        return proof

    def _proof(self, path: str, held: Mapping[str, Any]) -> Restored:
        shapes = saved_shapes(self._supervisor.saver)
        matched = tuple(
            name
            for name, shape in shapes.items()
            if name in held and shape.is_compatible_with(held[name])
        )
        return Restored(
            step=step_in_name(path) or 0,
            path=path,
            matched=matched,
            slots=self._slots(matched),
            missing=tuple(sorted(set(shapes) - set(matched))),
            unused=tuple(sorted(set(held) - set(shapes))),
        )

    def _counted(self, proof: Restored) -> Restored:
        """The proof with the step that the session is at."""
        return replace(proof, step=self.global_step(proof.step))

    def _slots(self, matched: Sequence[str]) -> int:
        """How many are an optimizer's: named after a trainable variable, or powers of Adam's betas.

        Named so too, but no slots, are moving averages.
        """
        variables = self._supervisor.graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)
        trained = {variable.op.name for variable in variables}
        ops = saved_ops(self._supervisor.saver)

        def is_slot(name: str) -> bool:
            *scopes, last = name.split("/")
            if _BETA_POWER.fullmatch(last):
                return True
            # Made inside a variable scope, a slot has that before the variable's name.
            owners = ("/".join(scopes[start:]) for start in range(len(scopes)))
            return (
                name not in trained
                and "MovingAverage" not in last
                and any(owner in trained for owner in owners)
            )

        return sum(is_slot(ops[name]) for name in matched)


def _read_all(path: str) -> None:
    """Raise a CheckpointError unless every tensor of a checkpoint can be read."""
    with reading(path):
        reader = tf.train.load_checkpoint(path)
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
