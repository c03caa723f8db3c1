"""Saves and restores a `tf.train.Checkpoint`, such as a model, and the position in the data."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.checkpoints.files import Lacking, Restored, misfit, reading, step_in_name, writing
from nbtrain.checkpoints.listing import latest
from nbtrain.checkpoints.mending import mend_state, mend_states
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.text.text_table import some
from nbtrain.engines.checkpoint_file import CheckpointFile
from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.position import Position
from nbtrain.engines.live_objects import LiveObjects, reached
from nbtrain.engines.named_variables import COUNTER, Found, as_tree, is_within, survey
from nbtrain.engines.replaced_rates import replaced_rates
from nbtrain.engines.schedules import Factor
from nbtrain.engines.slots import begin, renew, slots_of
from nbtrain.engines.trained import Trained, in_words
from nbtrain.inner.keras import trained_by
from nbtrain.inner.variables import handles, is_of_metric, is_variable
from nbtrain.rundir.timeline import RunTimeline

# The name of the state of a Keras SeedGenerator.
_SEED_STATE = "seed_generator_state"

# Advice to continue from a checkpoint with other optimizers or trainable layers.
_NEW_STAGE = (
    "to go on from its weights with a new optimizer, or with other layers that train, name the "
    'training that follows, such as stage="fine-tune"; '
)

# The prefix, in a checkpoint, of the values that nbtrain saves in addition.
_BESIDES = "besides/"


class ObjectSaver:
    """Saves and restores the objects of a `tf.train.Checkpoint` between two steps.

    Each variable is saved under its name in TensorFlow's object graph, so that
    `checkpoint.restore(path)` can read the file too, and under one of nbtrain's own. A restore sets
    each variable to the value of either name, and compares.

    Args:
        keep: How many checkpoints to keep; None keeps all.
        position: The position in the data, saved and restored with the objects; None if unknown.
        origin: Path of the checkpoint to start from while the folder has none; or None.
        trained: The variables that the training changes; None if unknown.
        stage: The name of a stage of the training. From a checkpoint of another stage, only the
            weights are restored, and optimizers begin again. None continues the checkpoint's stage.
    """

    # Types of parts whose variables are saved elsewhere.
    leave_out: tuple[type, ...] = ()
    outlives_session = True
    has_stages = True

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        directory: Path,
        *,
        keep: int | None,
        position: Position | None = None,
        origin: str | None = None,
        trained: Trained | None = None,
        stage: str | None = None,
    ) -> None:
        self.directory = directory
        self._position = position
        self._origin, self._keep = origin, keep
        self._trained = trained
        self._checkpoint = checkpoint
        self._given_stage = stage
        self.restores = Restores(stage)
        self._saved: tf.train.Checkpoint | None = None
        self._saved_of: tuple[dict[str, int], str | None] = {}, None

    @functools.cached_property
    def mended(self) -> str | None:
        """A message if the folder was repaired, else None; the first access repairs it."""
        return mend_states(self.directory)

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Restores the latest checkpoint on the current branch; if there is none, the origin."""
        _ = self.mended
        held = latest(self.directory, timeline)
        path = self._origin if held is None else held.path
        return None if path is None else self.restore(path)

    def save(self, step: int) -> int:
        """Writes `ckpt-<step>`.

        If the state of a `tf.data` pipeline cannot be saved, it is not saved from then on.
        """
        try:
            self._save(step)
        except CheckpointError as error:
            cause = error.__cause__
            iterators = None if self._position is None else self._position.iterators
            if iterators is None or not isinstance(cause, tf.errors.FailedPreconditionError):
                raise
            iterators.lose(cause)
            self._save(step)
        return step

    def _save(self, step: int) -> None:
        whole = self._whole()
        with writing(self.directory, f"ckpt-{step}"):
            mend_state(self.directory, saves=True)  # a clock may have been set back
            manager = tf.train.CheckpointManager(
                self._writer(whole), str(self.directory), max_to_keep=self._keep
            )
            manager.save(checkpoint_number=step)

    def _writer(self, whole: tf.train.Checkpoint) -> Any:
        """Returns the object that writes the objects, for a `tf.train.CheckpointManager`."""
        return whole

    def _whole(self) -> tf.train.Checkpoint:
        """Returns the objects to save: those given, the variables by name, and the position."""
        found = self.found()
        variables = dict(found.variables)
        if (restore := self.restores.last) is not None:
            variables |= restore.waiting(variables)
        names = {name: id(variable) for name, variable in variables.items()}
        more = {} if self._position is None else self._position.saved()
        saved = names, self.restores.stage
        if not more and self._saved is not None and saved == self._saved_of:
            return self._saved
        # A checkpoint that was restored sets objects that are added later to the restored values.
        view = tf.train.TrackableView(self._checkpoint)
        reached = dict(view.children(self._checkpoint))
        if (root := reached.pop("root", None)) is not None:  # saved in the checkpoint's place
            reached = {**view.children(root), **reached}
        reached.pop(COUNTER, None)  # each checkpoint has its own
        besides = tf.train.Checkpoint(**more)
        besides.variables = as_tree(variables)
        kinds = [f"{name} {type(each).__name__}" for name, each in found.optimizers.items()]
        besides.optimizers = {kind: tf.Module() for kind in kinds}
        besides.metrics_of_keras = {name: tf.Module() for name in found.metrics}
        if self.restores.stage is not None:
            besides.stage = {self.restores.stage: tf.Module()}
        self._saved = tf.train.Checkpoint(**reached, besides=besides)
        self._saved_of = saved
        return self._saved

    def restore(self, path: str) -> Restored:
        """Restores the objects and the position from a checkpoint."""
        restored = self.restore_objects(path)
        if self._position is not None:
            self._position.restore(AsRead(path, *self._position.names))
        return restored

    def restore_objects(self, path: str) -> Restored:
        """Sets the variables from a checkpoint and resets slots that optimizers created since.

        After a CheckpointError, nothing was restored.
        """
        file = CheckpointFile(path)
        live = self._survey(file)
        if self._given_stage not in (None, file.stage):
            return self._begin_stage(file, live.weights)
        self.restores.stage = file.stage
        self._check(file, live)
        if live.build_optimizers(file):
            live = self._survey(file)
            self._check(file, live)
        if not live.is_set_by_name_alone:
            with reading(path):
                # Values for variables that are created later deserve no warning: see restored().
                self._checkpoint.restore(path).expect_partial()
        live.restore(file)
        taken = {id(item) for item in live.bound.values()}
        for factor in live.factors:
            if id(factor) not in taken:
                factor.assign(1.0)  # there was none
        kept = {id(each.rate) for each in replaced_rates(file, live.found)}
        renewed = renew(live.objects, taken | kept)
        self.restores.last = restore = LastRestore(file, set(live.bound), renewed)
        return self._result(restore, live)

    def _begin_stage(self, file: CheckpointFile, live: LiveObjects) -> Restored:
        """Sets the weights alone from a checkpoint of another stage, and resets the optimizers."""
        self._check(file, live, weights_only=True)
        self.restores.stage = self._given_stage
        live.restore(file)
        self.restores.last = last = LastRestore(
            file,
            set(live.bound),
            set(),
            left_out=[*live.found.optimizers, *file.optimizers],
            unbegun=[name for name, each in live.found.optimizers.items() if not begin(each)],
        )
        return self._result(last, live)

    def restored(self) -> Restored | None:
        """Returns the result of the last restore, including variables created since."""
        last = self.restores.last
        if last is None:
            return None
        live = self._survey(last.file)
        return self._result(last, live if last.left_out is None else live.weights)

    def found(self) -> Found:
        """Returns the variables and optimizers among the objects, by name."""
        return survey(roots_of(self._checkpoint), self.leave_out)

    def non_finite(self) -> tuple[str, ...]:
        """Returns the names of variables that hold NaN or Inf."""
        found = self._real_variables()
        # A sum is finite only if all numbers are. Sums take half the time of checking each number.
        sums = [tf.cast(tf.reduce_sum(item), tf.float32) for item in found]
        suspect = ~np.isfinite(tf.stack(sums).numpy()) if sums else ()
        return tuple(
            _path(item)
            for item, is_suspect in zip(found, suspect, strict=True)
            if is_suspect and not np.isfinite(tf.cast(item, tf.float64).numpy()).all()
        )

    def largest(self) -> tuple[str, float]:
        """Returns the name and the value of the largest weight, as in `Saver`."""
        found = self.weights()
        if not found:
            return "", 0.0
        sizes = tf.stack([tf.cast(tf.reduce_max(tf.abs(item)), tf.float32) for item in found])
        at = int(np.argmax(sizes.numpy()))
        return _path(found[at]), float(sizes[at].numpy())

    def weights(self) -> list[Any]:
        """Returns the trainable variables of real numbers."""
        return [item for item in self._real_variables() if item.trainable]

    def _real_variables(self) -> list[Any]:
        """Returns the variables of real numbers that the checkpoint reaches, each once."""
        return list(
            {
                id(item): item
                for item in self._objects()
                if is_variable(item) and tf.as_dtype(item.dtype).is_floating
            }.values()
        )

    def lacking(self) -> Lacking | None:
        """Names trained objects that the checkpoint lacks."""
        owners = {} if self._trained is None else self._trained.lacking(self._objects)
        return Lacking(in_words(owners), self._remedy(owners)) if owners else None

    def _remedy(self, names: Iterable[str]) -> str:
        """Returns what to type to save further objects of these names."""
        given = roots_of(self._checkpoint)
        more = [f"{f'{name}_2' if name in given else name}={name}" for name in names]
        return f"Add them to the checkpoint: tf.train.Checkpoint(..., {', '.join(more)})."

    def side_saver(self, name: str, keep: int) -> ObjectSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        folder = self.directory / name
        side = type(self)(self._checkpoint, folder, keep=keep, position=self._position)
        side.restores = self.restores
        return side

    def random_states(self) -> list[tf.Variable]:
        """Returns the states of random generators of Keras and TensorFlow, such as Dropout's."""
        objects = self._objects()
        states = [item.state for item in objects if isinstance(item, tf.random.Generator)]
        for layer in objects:
            if isinstance(layer, tf.keras.layers.Layer):
                states += [each.value for each in layer.variables if each.name == _SEED_STATE]
        return list({id(state): state for state in states}.values())

    def besides(self) -> list[tf.Variable]:
        """Returns variables that the steps may change and no checkpoint contains: metrics."""
        return [] if self._trained is None else self._trained.besides(self._objects())

    @property
    def one_way(self) -> str | None:
        """Why a restore cannot go back in the data; None if it can, or draws no data."""
        return None if self._position is None else self._position.one_way

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other elements of the same data; None if there are none."""
        return None if self._position is None else self._position.apart()

    def vary_data(self, repeat: int, steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; returns whether it could."""
        return self._position is not None and self._position.vary(repeat, steps)

    def _survey(self, file: CheckpointFile) -> LiveObjects:
        """Walks over the live objects, and finds those to which the values of a file belong."""
        return LiveObjects.of(self._checkpoint, self.found(), file)

    def _objects(self) -> list[Any]:
        """Returns all objects that the checkpoint reaches, and the variables in optimizers too."""
        return reached(self._checkpoint, self.found())

    def _check(
        self, file: CheckpointFile, live: LiveObjects, *, weights_only: bool = False
    ) -> None:
        """Raises an error for a mismatch, before TensorFlow fails with half of the values set."""
        variables = [each for each in live.objects if is_variable(each) and not _counts_saves(each)]
        if variables and all(map(_is_counter, live.bound)):
            raise misfit(file.path, "it holds no variable of this model")
        wrong = [] if weights_only else live.other_optimizers(file)
        if wrong := wrong or live.other_shapes(
            file, followed=not weights_only and not live.is_set_by_name_alone
        ):
            helps = self.has_stages and not live.weights.other_shapes(file)
            raise misfit(file.path, some(wrong), _NEW_STAGE if helps else "")

    def _changed(self, live: LiveObjects) -> set[int]:
        """Returns the storage of the variables that the training changes, as far as known."""
        changed = set() if self._trained is None else self._trained.changed()
        for optimizer in live.found.optimizers.values():
            trained = [*trained_by(optimizer), *slots_of(optimizer)]
            changed |= {key for each in trained for key in handles(each)}
        return changed

    def _result(self, restore: LastRestore, live: LiveObjects) -> Restored:
        file, objects, bound = restore.file, live.objects, live.bound
        begins = restore.left_out is not None
        replaced = [] if begins else replaced_rates(file, live.found)
        reported = {id(each) for each in [*live.factors, *(each.rate for each in replaced)]}
        slots = {id(each) for item in objects for each in slots_of(item)}
        taken = {id(item) for item in bound.values()} | restore.renewed
        matched = {key: item for key, item in bound.items() if not _is_counter(key)}
        missing = [
            item
            for item in objects
            if is_variable(item)
            and id(item) not in taken | reported
            and not _counts_saves(item)
            and not (item.name == _SEED_STATE and not file.names)  # earlier versions left it out
        ]
        missing.sort(key=lambda item: id(item) in slots)  # the weights first
        changed = self._changed(live) if missing and not begins else set()
        return Restored(
            step=step_in_name(file.path) or 0,
            path=file.path,
            matched=tuple(map(file.name, matched)),
            slots=None if begins else sum(id(item) in slots for item in matched.values()),
            renewed=sum(id(item) in restore.renewed for item in objects),
            missing=tuple(map(_path, missing)),
            unused=tuple(
                sorted(
                    file.name(key)
                    for key in file.keys(_BESIDES) - set(bound) - {each.key for each in replaced}
                    if not _is_counter(key)
                    and not file.name(key).endswith(Factor.NAME)
                    and not restore.leaves_out(key)
                )
            ),
            late=tuple(
                file.name(key)
                for key, item in matched.items()
                if key not in restore.keys
                and not (self.restores.resets_metrics and is_variable(item) and is_of_metric(item))
            ),
            valueless=tuple(
                _path(item) for item in missing if not changed.isdisjoint(handles(item))
            ),
            stage=self.restores.stage if begins else None,
            replaced="; ".join(
                [
                    *(each.text for each in replaced),
                    *(f"{name} stays as it is: make a new one" for name in restore.unbegun),
                ]
            ),
        )


class Restores:
    """The last restore of a saver and of its side savers, which save the same objects elsewhere.

    Attributes:
        last: The last restore.
        resets_metrics: Whether the program resets its metrics before it uses them, as Keras's `fit`
            does. Then metrics that are created after a restore need no values.
        stage: The stage of the training; None if it has no name.
    """

    def __init__(self, stage: str | None) -> None:
        self.last: LastRestore | None = None
        self.resets_metrics = False
        self.stage = stage


class LastRestore:
    """The last restore of a saver.

    Args:
        keys: The keys of the values to which live variables were set.
        renewed: The identities of missing variables that were reset.
        left_out: The names of the optimizers if a new stage has begun, which restores weights
            alone; otherwise None.
        unbegun: The names of optimizers that the new stage could not reset.
    """

    def __init__(
        self,
        file: CheckpointFile,
        keys: set[str],
        renewed: set[int],
        *,
        left_out: list[str] | None = None,
        unbegun: Sequence[str] = (),
    ) -> None:
        self.file = file
        self.keys = keys
        self.renewed = renewed
        self.left_out = left_out
        self.unbegun = unbegun
        self._waiting: dict[str, tf.Variable] = {}

    def waiting(self, live: Mapping[str, Any]) -> dict[str, tf.Variable]:
        """Returns values of variables that do not exist yet, to be saved again, by name.

        Args:
            live: The variables that exist, by name.
        """
        for key in (self.file.keys(_BESIDES) - self.keys) & self.file.shapes.keys():
            name = self.file.name(key)
            if self.leaves_out(key):
                continue
            if name not in live and name not in self._waiting and not _is_counter(key):
                self._waiting[name] = tf.Variable(self.file.value(key), trainable=False)
        return {name: each for name, each in self._waiting.items() if name not in live}

    def leaves_out(self, key: str) -> bool:
        """Returns whether a value is not restored: a new stage restores weights alone."""
        if self.left_out is None:
            return False
        name = self.file.name(key)
        return not self.file.names or name == key or is_within(name, self.left_out)


def _path(item: Any) -> str:
    name: str = getattr(item, "path", item.name)
    return name.removesuffix(":0")


def _counts_saves(item: Any) -> bool:
    return _is_counter(_path(item))


def _is_counter(name: str) -> bool:
    return name.rpartition("/")[2].partition(":")[0] == COUNTER


def roots_of(checkpoint: tf.train.Checkpoint) -> dict[str, Any]:
    """Returns the objects that a checkpoint was made of, by name; its first save adds a counter."""
    roots = tf.train.TrackableView(checkpoint).children(checkpoint)
    return {name: root for name, root in roots.items() if name != COUNTER}


def as_checkpoint(checkpoint: object) -> tf.train.Checkpoint | None:
    """Returns the given `tf.train.Checkpoint`, or None.

    Raises:
        ArgumentError: Something else is given, or a checkpoint without objects.
    """
    if isinstance(checkpoint, tf.train.Checkpoint) and not roots_of(checkpoint):
        raise ArgumentError(
            "checkpoint=tf.train.Checkpoint() holds nothing, so the next start could not go on "
            "from it: name what to save, as in tf.train.Checkpoint(model=model, "
            "optimizer=optimizer), or leave checkpoint= out."
        )
    if checkpoint is None or isinstance(checkpoint, tf.train.Checkpoint):
        return checkpoint
    if isinstance(checkpoint, tf.train.CheckpointManager):
        raise ArgumentError(
            f"checkpoint={type(checkpoint).__name__} object: give its .checkpoint, as in "
            "manager.checkpoint. The run saves that in its own folder and keeps the files itself "
            "(save_secs=, save_steps=, keep=)."
        )
    raise ArgumentError(
        f"checkpoint={type(checkpoint).__name__} object: give "
        "tf.train.Checkpoint(model=model, optimizer=optimizer), naming what to save."
    )
