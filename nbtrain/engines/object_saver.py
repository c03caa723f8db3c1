"""Saves and restores a `tf.train.Checkpoint`, such as a model and its optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.checkpoints.files import Restored, misfit, reading, step_in_name, writing
from nbtrain.checkpoints.listing import latest
from nbtrain.checkpoints.mending import mend_state, mend_states
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text_table import some
from nbtrain.engines.checkpoint_file import CheckpointFile
from nbtrain.engines.named_variables import Found, survey
from nbtrain.engines.replaced_rates import replaced_rates
from nbtrain.engines.schedules import Factor
from nbtrain.engines.slots import renew, slots_of
from nbtrain.engines.trained import Trained
from nbtrain.engines.variables import handles, is_variable
from nbtrain.rundir.timeline import RunTimeline

# The name of the state of a Keras SeedGenerator.
_SEED_STATE = "seed_generator_state"

# The count of its saves in a tf.train.Checkpoint.
_COUNTER = "save_counter"

# The prefix, in a checkpoint, of what nbtrain saves in addition.
_BESIDES = "besides/"


class ObjectSaver:
    """Saves and restores the objects of a `tf.train.Checkpoint` between two steps.

    Each variable is saved under its name in TensorFlow's object graph, by which
    `checkpoint.restore(path)` reads the file too, and under one of nbtrain's own. A restore gives
    each variable the value of either name, and compares.

    Args:
        keep: How many checkpoints to keep; None keeps all.
        origin: Path of the checkpoint to start from while the folder has none; or None.
        trained: The variables that the training changes; None if unknown.
    """

    # Types of parts whose variables are saved elsewhere.
    leave_out: tuple[type, ...] = ()

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        directory: Path,
        *,
        keep: int | None,
        origin: str | None = None,
        trained: Trained | None = None,
    ) -> None:
        self.directory = directory
        self._origin, self._keep = origin, keep
        self._trained = trained
        self._checkpoint = checkpoint
        self.restores = Restores()
        self.mended = mend_states(directory)
        self._saved: tf.train.Checkpoint | None = None
        self._saved_names: dict[str, int] = {}

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Restores the latest checkpoint on the current branch, or else the origin."""
        held = latest(self.directory, timeline)
        path = self._origin if held is None else held.path
        return None if path is None else self.restore(path)

    def save(self, step: int) -> int:
        """Writes `ckpt-<step>`."""
        whole = self._whole()
        with writing(self.directory, f"ckpt-{step}"):
            mend_state(self.directory)  # a clock may have been set back
            manager = tf.train.CheckpointManager(whole, str(self.directory), max_to_keep=self._keep)
            self._write(manager, step)
        return step

    def _write(self, manager: tf.train.CheckpointManager, step: int) -> None:
        manager.save(checkpoint_number=step)

    def _besides(self) -> tf.train.Checkpoint | None:
        """Returns what is saved besides the objects, new each time; None if there is nothing."""
        return None

    def _whole(self) -> tf.train.Checkpoint:
        """Returns the objects to save: those given, the variables by name, and what is besides."""
        variables = dict(self.found().variables)
        if (restore := self.restores.last) is not None:
            variables |= restore.waiting(variables)
        names = {name: id(variable) for name, variable in variables.items()}
        besides = self._besides()
        if besides is None and self._saved is not None and names == self._saved_names:
            return self._saved
        # A checkpoint that was restored sets whatever is added to it later to the restored values.
        view = tf.train.TrackableView(self._checkpoint)
        reached = dict(view.children(self._checkpoint))
        if (root := reached.pop("root", None)) is not None:  # it stands in the checkpoint's place
            reached = {**view.children(root), **reached}
        reached.pop(_COUNTER, None)  # each checkpoint has its own
        besides = tf.train.Checkpoint() if besides is None else besides
        besides.variables = _as_tree(variables)
        self._saved = tf.train.Checkpoint(**reached, besides=besides)
        self._saved_names = names
        return self._saved

    def restore(self, path: str) -> Restored:
        """Sets the variables from a checkpoint and resets slots that optimizers created since.

        After a CheckpointError, nothing was restored.
        """
        file = CheckpointFile(path)
        self._check(file, self._bound(file))
        self._build(file)
        bound = self._bound(file)
        self._check(file, bound)
        # With a rate that was replaced, TensorFlow would give variables the values of others.
        replaced = replaced_rates(file, self.found())
        if not (replaced and all(map(is_variable, bound.values()))):
            with reading(path):
                # Values for variables that are created later deserve no warning: see proof().
                self._checkpoint.restore(path).expect_partial()
        for item in tf.train.TrackableView(self._checkpoint).descendants():
            _drop_waiting(item)
        for key, item in bound.items():
            if is_variable(item):
                _set(item, file.value(key))
        for factor in self._factors():
            if id(factor) not in {id(item) for item in bound.values()}:
                factor.assign(1.0)  # there was none
        kept = [*bound.values(), *(each.rate for each in replaced)]
        renewed = renew(self._objects(), {id(item) for item in kept})
        self.restores.last = restore = LastRestore(file, set(bound), renewed)
        return self._proof(restore)

    def proof(self) -> Restored | None:
        """Describes the last restore, including variables created since."""
        return None if self.restores.last is None else self._proof(self.restores.last)

    def found(self) -> Found:
        """Returns the variables and optimizers among the objects, by name."""
        roots = tf.train.TrackableView(self._checkpoint).children(self._checkpoint)
        return survey({k: v for k, v in roots.items() if k != _COUNTER}, self.leave_out)

    def non_finite(self) -> tuple[str, ...]:
        """Names of the variables that hold NaN or Inf."""
        found = {
            id(item): item
            for item in self._objects()
            if is_variable(item) and tf.as_dtype(item.dtype).is_floating
        }
        # A sum is finite only if all numbers are: this takes half the time of checking each.
        sums = [tf.cast(tf.reduce_sum(item), tf.float32) for item in found.values()]
        suspect = ~np.isfinite(tf.stack(sums).numpy()) if sums else ()
        return tuple(
            _path(item)
            for item, is_suspect in zip(found.values(), suspect, strict=True)
            if is_suspect and not np.isfinite(tf.cast(item, tf.float64).numpy()).all()
        )

    def lacking(self) -> str:
        """Names trained objects that the checkpoint lacks."""
        return "" if self._trained is None else self._trained.lacking(self._objects)

    def side_saver(self, name: str, keep: int) -> ObjectSaver:
        """Returns a saver that keeps the newest `keep` in a folder of this name."""
        side = type(self)(self._checkpoint, self.directory / name, keep=keep)
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

    def vary_data(self, _repeat: int, _steps: int) -> bool:
        """Does nothing: the position in the data is unknown."""
        return False

    def _check(self, file: CheckpointFile, bound: Mapping[str, Any]) -> None:
        """Raises an error for a mismatch, before TensorFlow fails with half of the values set."""
        live = [item for item in self._objects() if is_variable(item) and not _counts_saves(item)]
        if live and all(map(_is_counter, bound)):
            raise misfit(file.path, "it holds no variable of this model")
        wrong = [
            f"{file.name(key)} has the shape {tuple(held)} there and {tuple(item.shape)} here"
            for key, item in bound.items()
            if is_variable(item)
            and (held := file.shapes.get(key)) is not None
            and not tf.TensorShape(item.shape).is_compatible_with(held)
        ]
        if wrong:
            raise misfit(file.path, some(wrong))

    def _bound(self, file: CheckpointFile) -> dict[str, Any]:
        return file.bound(self._checkpoint, self.found())

    def _factors(self) -> list[Any]:
        """The factors that nbtrain has added to the rates of optimizers."""
        found = [getattr(each, Factor.NAME, None) for each in self.found().optimizers]
        return [each for each in found if each is not None]

    def _build(self, file: CheckpointFile) -> None:
        """Builds optimizers for the variables that they trained, as their first step would do.

        So their slots take their values now. An optimizer is left alone if the present models have
        other trainable variables, or variables on several devices.
        """
        bound = self._bound(file)
        keys = dict(file.trained(self._checkpoint))
        trained = {optimizer: [bound.get(key) for key in each] for optimizer, each in keys.items()}
        known = {id(variable) for each in trained.values() for variable in each}
        if any(
            isinstance(item, tf.keras.Variable) and item.trainable and id(item) not in known
            for item in bound.values()
        ):
            return
        for optimizer, variables in trained.items():
            if not optimizer.built and variables and all(map(_is_on_one_device, variables)):
                optimizer.build(variables)

    def _objects(self) -> list[Any]:
        """Everything that the checkpoint reaches, and all variables and optimizers in it."""
        objects: list[Any] = tf.train.TrackableView(self._checkpoint).descendants()
        found, known = self.found(), set(map(id, objects))
        more = [*found.variables.values(), *found.optimizers]
        return objects + [item for item in more if id(item) not in known]

    def _changed(self) -> set[int]:
        """The storage of the variables that the training changes, as far as it is known."""
        changed = set() if self._trained is None else self._trained.changed()
        for optimizer in self.found().optimizers:
            trained = [*getattr(optimizer, "_trainable_variables", ()), *slots_of(optimizer)]
            changed |= {key for each in trained for key in handles(each)}
        return changed

    def _proof(self, restore: LastRestore) -> Restored:
        file, objects = restore.file, self._objects()
        live = self._bound(file)
        replaced = replaced_rates(file, self.found())
        told = {id(each) for each in [*self._factors(), *(each.rate for each in replaced)]}
        slots = {id(each) for item in objects for each in slots_of(item)}
        taken = {id(item) for item in live.values()} | restore.renewed
        matched = {key: item for key, item in live.items() if not _is_counter(key)}
        missing = [
            item
            for item in objects
            if is_variable(item)
            and id(item) not in taken | told
            and not _counts_saves(item)
            and not (item.name == _SEED_STATE and not file.names)  # earlier versions left it out
        ]
        missing.sort(key=lambda item: id(item) in slots)  # the weights first
        changed = self._changed() if missing else set()
        return Restored(
            step=step_in_name(file.path) or 0,
            path=file.path,
            matched=tuple(map(file.name, matched)),
            slots=sum(id(item) in slots for item in matched.values()),
            renewed=sum(id(item) in restore.renewed for item in objects),
            missing=tuple(map(_path, missing)),
            unused=tuple(
                sorted(
                    file.name(key)
                    for key in file.keys(_BESIDES) - set(live) - {each.key for each in replaced}
                    if not _is_counter(key) and not file.name(key).endswith(Factor.NAME)
                )
            ),
            late=tuple(file.name(key) for key in matched if key not in restore.keys),
            valueless=tuple(
                _path(item) for item in missing if not changed.isdisjoint(handles(item))
            ),
            replaced="; ".join(each.text for each in replaced),
        )


class Restores:
    """The last restore of a saver and of those that save the same objects in other folders."""

    last: LastRestore | None = None


class LastRestore:
    """What a saver has restored last.

    Args:
        keys: The keys of the values that were given to live variables.
        renewed: The identities of missing variables that were reset.
    """

    def __init__(self, file: CheckpointFile, keys: set[str], renewed: set[int]) -> None:
        self.file = file
        self.keys = keys
        self.renewed = renewed
        self._waiting: dict[str, tf.Variable] = {}

    def waiting(self, live: Mapping[str, Any]) -> dict[str, tf.Variable]:
        """Returns values of variables that do not exist yet, to be saved again, by name.

        Args:
            live: The variables that exist, by name.
        """
        for key in (self.file.keys(_BESIDES) - self.keys) & self.file.shapes.keys():
            name = self.file.name(key)
            if name not in live and name not in self._waiting and not _is_counter(key):
                self._waiting[name] = tf.Variable(self.file.value(key), trainable=False)
        return {name: each for name, each in self._waiting.items() if name not in live}


def _as_tree(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Returns variables in nested dicts, by the parts of their names.

    TensorFlow names a value in the file by its shortest path, which so stays that of the objects.
    """
    tree: dict[str, Any] = {}
    for name, variable in variables.items():
        *parents, last = name.split("/")
        at: Any = tree
        for parent in parents:
            at = at.setdefault(parent, {}) if isinstance(at, dict) else at
        if isinstance(at, dict) and last not in at:
            at[last] = variable
        else:  # a key of the user's holds a slash
            tree[name] = variable
    return tree


def _set(variable: Any, value: np.ndarray[Any, Any]) -> None:
    """Gives a variable a value of a file, unless it holds it already."""
    held = tf.convert_to_tensor(variable).numpy()
    held = np.asarray(held)
    same = held.tobytes() == value.tobytes() if held.dtype != object else held == value
    if not np.all(same) or held.dtype != value.dtype:
        variable.assign(value)


def _drop_waiting(item: Any) -> None:
    """Drops the values that TensorFlow keeps for variables that an object creates later.

    While a step is traced, TensorFlow 2.21 would give them to the wrong variables of Keras's lists.
    There is no public name for this; without it, TensorFlow's ways stay.
    """
    waiting = getattr(item, "_deferred_dependencies", None)
    if isinstance(waiting, dict):
        waiting.clear()


def _is_on_one_device(variable: Any) -> bool:
    within = variable._value if isinstance(variable, tf.keras.Variable) else variable
    return isinstance(within, tf.Variable) and not isinstance(
        within, tf.distribute.DistributedValues
    )


def _path(item: Any) -> str:
    name: str = getattr(item, "path", item.name)
    return name.removesuffix(":0")


def _counts_saves(item: Any) -> bool:
    return _is_counter(_path(item))


def _is_counter(name: str) -> bool:
    return name.rpartition("/")[2].partition(":")[0] == _COUNTER


def as_checkpoint(checkpoint: object) -> tf.train.Checkpoint | None:
    """Returns the `tf.train.Checkpoint` given, or None; refuses anything else, and an empty one."""
    if isinstance(checkpoint, tf.train.Checkpoint) and _is_empty(checkpoint):
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


def _is_empty(checkpoint: tf.train.Checkpoint) -> bool:
    """Tells if nothing was given to a checkpoint, whose own counter is made by its first save."""
    return set(tf.train.TrackableView(checkpoint).children(checkpoint)) <= {_COUNTER}
