"""Saves and restores the variables of a graph's session."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from nbtrain.checkpoints.files import Lacking, Restored, listed, misfit, reading, writing
from nbtrain.checkpoints.listing import latest
from nbtrain.checkpoints.mending import mend_states
from nbtrain.core.errors import CheckpointError
from nbtrain.run.output.tensorflow_log import hushed
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tf1.graphs import step_of
from nbtrain.tf1.saving.compatibility import (
    Bound,
    bound,
    check_fit,
    lacking,
    restoring,
    saved_variables,
    trained_variables,
)
from nbtrain.tf1.saving.savers import own_saver
from nbtrain.tf1.servers import LOST, REMEDY, lost, unanswered

_Item = TypeVar("_Item")

# Numbers that are read at a time.
_MOST_NUMBERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Saved:
    """The variables of a graph and how they are saved.

    Attributes:
        graph: The graph.
        saver: Its `tf.compat.v1.train.Saver`, which writes and reads the checkpoints.
        save_path: Prefix of the files of the checkpoints.
        global_step: The graph's global step, or None.
        ready_op: Names of the variables that are not initialized, or None.
    """

    graph: tf.Graph
    saver: Any
    save_path: str
    global_step: Any
    ready_op: Any

    @classmethod
    def by(cls, supervisor: Any) -> Saved:
        """Returns the variables that a Supervisor saves."""
        step, ready_op = supervisor.global_step, supervisor.ready_op
        return cls(supervisor.graph, supervisor.saver, supervisor.save_path, step, ready_op)


class GraphSaver:
    """Saves and restores the variables of one session, between two steps.

    Args:
        origin: Path of the checkpoint to start from while the folder has none; or None.

    Attributes:
        prefix: The prefix of its checkpoints' paths.
        mended: As in `Saver`.
    """

    outlives_session = False

    def __init__(self, saved: Saved, directory: Path, origin: str | None = None) -> None:
        self.directory = directory
        self.mended: str | None = None
        self._origin = origin
        self.sess: tf.compat.v1.Session | None = None
        self._saved = saved
        self.prefix = str(directory / Path(saved.save_path).name)
        self._restored: Restored | None = None

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Opens the session, into which the Supervisor restores the latest checkpoint.

        Raises:
            CheckpointError: The checkpoint cannot be read, lacks variables, or has them in other
                shapes, which TensorFlow does not check.
        """
        self.mended = mend_states(self.directory)
        with contextlib.ExitStack() as stack:
            for checkpoint in listed(self.directory)[-1:]:
                self._fitting(checkpoint.path)
                stack.enter_context(restoring(checkpoint.path))
            yield

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Returns the result of the Supervisor's restore when it prepared the session.

        If that checkpoint was abandoned, or a copy is newer, restores the right one instead.

        Raises:
            CheckpointError: There was nothing to restore, and the origin cannot be restored.
        """
        held = latest(self.directory, timeline)
        if held is not None and held in listed(self.directory)[-1:]:
            self._restored = self._checked(self._fitting(held.path))
        elif held is not None or self._origin is not None:
            self.restore(str(self._origin) if held is None else held.path)
        return self._restored

    def save(self, step: int) -> int:
        """Writes `model.ckpt-<global step>`, with the current step of the session.

        Raises:
            CheckpointError: The checkpoint cannot be written, or a server with variables is lost.
        """
        saved = self._saved
        with self._answering():
            step = self.global_step(step)
            name = f"{Path(self.prefix).name}-{step}"
            with writing(self.directory, name), saved.graph.as_default():
                self.write(step)
            return step

    def write(self, step: int) -> None:
        """Writes the files of a checkpoint."""
        # No graph: every checkpoint uses the one written at the start.
        self._saved.saver.save(self.sess, self.prefix, global_step=step, write_meta_graph=False)

    def restore(self, path: str) -> Restored:
        """Sets the variables from a checkpoint.

        Raises:
            CheckpointError: The checkpoint cannot be read, lacks variables of the graph, has them
                in other shapes, or a server with variables is lost; nothing was restored.
        """
        fitting = self._fitting(path)
        with self._answering():
            with hushed(), reading(path), self._saved.graph.as_default():
                self._saved.saver.restore(self.sess, path)
            self._restored = self._checked(fitting)
        return self._restored

    def restore_objects(self, path: str) -> Restored:
        """Sets the variables from a checkpoint, which contains nothing else."""
        return self.restore(path)

    def restored(self) -> Restored | None:
        """Returns the result of the latest restore: a graph gets no variables later."""
        return self._restored

    def non_finite(self) -> tuple[str, ...]:
        """Returns the names of variables that hold NaN or Inf; not checked in a cluster."""
        assert self.sess is not None, "the session is open"
        if self.sess.sess_str:  # all values would be sent here
            return ()
        return tuple(
            variable.op.name
            for few in _batches(saved_variables(self._saved.saver), lambda each: each)
            for variable, value in zip(few, self.sess.run(few), strict=True)
            # A sum is finite only if all numbers are; it needs no extra array.
            if not np.isfinite(value.sum()) and not np.isfinite(value.astype(np.float64)).all()
        )

    def largest(self) -> tuple[str, float]:
        """Returns nothing: no experiment is made with a graph."""
        return "", 0.0

    def weights(self) -> Sequence[Any]:
        """Returns nothing: no experiment is made with a graph."""
        return ()

    def lacking(self) -> Lacking | None:
        """Names the variables that the training assigns to and the saver does not save."""
        owners = lacking(self._saved.graph, self._saved.saver)
        remedy = "nbtrain.tf1.Saver() without var_list= saves all variables of the graph."
        return Lacking(owners, remedy) if owners else None

    def random_states(self) -> Sequence[tf.Variable]:
        """Returns nothing: the random operations of a graph have no states to save."""
        return ()

    def besides(self) -> list[tf.Variable]:
        """Returns nothing: a graph's saver has all variables that were given to it."""
        return []

    @property
    def one_way(self) -> str | None:
        """Why a restore cannot go back in the data: no checkpoint has them."""
        return "a graph draws its data itself"

    def apart(self) -> None:
        """Returns nothing: a graph draws its data itself."""

    def vary_data(self, _repeat: int, _steps: int) -> bool:
        """Does nothing: a graph draws its own data."""
        return False

    def side_saver(self, name: str, keep: int) -> GraphSaver | None:
        """Returns the saver of copies, as in `Saver`; None in a cluster or for another kind."""
        assert self.sess is not None, "the session is open"
        saved, directory = self._saved, self.directory / name
        if self.sess.sess_str or not isinstance(saved.saver, tf.compat.v1.train.Saver):
            return None
        path = str(directory / Path(saved.save_path).name)
        with saved.graph.as_default():
            saver = own_saver(saved.saver, directory, keep)
        side = GraphSaver(replace(saved, saver=saver, save_path=path), directory)
        side.sess = self.sess
        return side

    def global_step(self, otherwise: int) -> int:
        """Returns the current global step; `otherwise` if the graph has none."""
        assert self.sess is not None, "the session is open"
        step = step_of(self.sess, self._saved.global_step)
        return otherwise if step is None else step

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Avoids waiting forever for a server, and translates errors of a lost one.

        Raises:
            CheckpointError: A server with variables is lost; the files are not the cause.
        """
        assert self.sess is not None, "the session is open"
        saved = self._saved
        if why := unanswered(self.sess, saved.ready_op, saved.global_step):
            raise CheckpointError(f"{why}. {REMEDY}")
        try:
            yield
        except (CheckpointError, *LOST) as error:
            cause = error.__cause__ if isinstance(error, CheckpointError) else error
            if why := lost(self.sess, cause):
                raise CheckpointError(f"{why}. {REMEDY}") from cause
            raise

    def _fitting(self, path: str) -> Restored:
        """Returns the result of a restore to come, with a value for every variable of the saver."""
        fitting = check_fit(self._saved.saver, path)
        if fitting is None:
            raise misfit(path, "a tf.train.Checkpoint wrote it, of objects")
        return fitting

    def _checked(self, fitting: Restored) -> Restored:
        """Returns a result with the step of the session, after a check of its trained variables.

        If other workers have trained since, the values are of a later step and are not compared.
        """
        assert self.sess is not None, "the session is open"
        saved, step = self._saved, self.global_step(fitting.step)
        if step != fitting.step:
            return replace(fitting, step=step)
        names = {variable.op.name for variable in trained_variables(saved.graph)}
        known = [each for each in bound(saved.saver, saved.graph) if each.variable.op.name in names]
        with reading(fitting.path):
            held = tf.compat.v1.train.NewCheckpointReader(fitting.path).get_variable_to_shape_map()
        there = [each for each in known if each.key in held]
        differing = list(_differing(self.sess, fitting.path, there))
        if differing and self.global_step(step) != step:
            return replace(fitting, step=self.global_step(step))
        wrong = {each.key for each in differing}
        valueless = tuple(each.variable.op.name for each in known if each.key not in held)
        return replace(
            fitting,
            matched=tuple(
                key
                for key in fitting.matched or dict.fromkeys(each.key for each in there)
                if key not in wrong
            ),
            missing=valueless,
            valueless=valueless,
            differing=tuple(each.variable.op.name for each in differing),
        )


def _differing(sess: Any, path: str, known: Iterable[Bound]) -> Iterator[Bound]:
    """Yields the variables whose values differ from those of a checkpoint in any bit."""
    for few in _batches(known, lambda each: each.variable):
        live = sess.run([each.variable for each in few])
        with tf.__internal__.eager_context.eager_mode(), reading(path):
            held = tf.raw_ops.RestoreV2(
                prefix=path,
                tensor_names=[each.key for each in few],
                shape_and_slices=[each.part for each in few],
                dtypes=[each.variable.dtype.base_dtype for each in few],
            )
            for each, one, other in zip(few, live, held, strict=True):
                if not _same_bits(one, other.numpy()):
                    yield each


def _same_bits(one: Any, other: Any) -> bool:
    one, other = (np.ascontiguousarray(each).reshape(-1) for each in (one, other))
    if one.dtype != object:
        one, other = one.view(np.uint8), other.view(np.uint8)
    return bool(np.array_equal(one, other))


def _batches(
    items: Iterable[_Item], variable_of: Callable[[_Item], tf.Variable]
) -> Iterator[list[_Item]]:
    """Yields items in groups of limited size: memory for all takes longer than reading them."""
    few: list[_Item] = []
    room = _MOST_NUMBERS
    for item in items:
        room -= variable_of(item).shape.num_elements() or 0
        few.append(item)
        if room <= 0:
            yield few
            few, room = [], _MOST_NUMBERS
    if few:
        yield few
