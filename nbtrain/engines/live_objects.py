"""The live objects of a checkpoint, and the values of a file that belong to them.

live = LiveObjects.of(checkpoint, found, CheckpointFile(path))
live.other_optimizers(file), live.other_shapes(file)  # why they do not fit, in words
live.restore(file)                                    # sets the variables
live.weights                                          # the same without the optimizers
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.core.text.text_table import some
from nbtrain.engines.checkpoint_file import CheckpointFile, References
from nbtrain.engines.named_variables import Found
from nbtrain.engines.schedules import Factor
from nbtrain.inner.keras import storage_of, trained_by
from nbtrain.inner.tensorflow import drop_deferred
from nbtrain.inner.variables import handles, is_variable


def reached(checkpoint: tf.train.Checkpoint, found: Found) -> list[Any]:
    """Returns all objects that a checkpoint reaches, and all variables and optimizers in them."""
    objects: list[Any] = tf.train.TrackableView(checkpoint).descendants()
    known = set(map(id, objects))
    more = [*found.variables.values(), *found.optimizers.values()]
    return objects + [item for item in more if id(item) not in known]


@dataclass(frozen=True, slots=True)
class LiveObjects:
    """The live objects of a checkpoint, and the values of a file that belong to them.

    Attributes:
        objects: All live objects, and the variables and optimizers in them.
        found: The variables and optimizers, by name.
        references: The objects to which TensorFlow's references lead, each with the number of its
            node in the file.
        bound: The objects that a restore sets, by the keys of the file.
        is_crossed: Whether some of TensorFlow's references lead to other variables than nbtrain's
            names do.
    """

    objects: list[Any]
    found: Found
    references: References
    bound: dict[str, Any]
    is_crossed: bool

    @classmethod
    def of(cls, checkpoint: tf.train.Checkpoint, found: Found, file: CheckpointFile) -> LiveObjects:
        """Finds the live objects to which the values of a file belong."""
        references = file.references(checkpoint)
        bound = file.bound(references, found)
        is_crossed = bool(file.crossed(references, file.named(found)))
        return cls(reached(checkpoint, found), found, references, bound, is_crossed)

    @property
    def is_set_by_name_alone(self) -> bool:
        """True if TensorFlow's restore would set variables to the values of others."""
        return self.is_crossed and all(map(is_variable, self.bound.values()))

    @property
    def factors(self) -> list[Any]:
        """The factors that nbtrain has added to the rates of optimizers."""
        found = [getattr(each, Factor.NAME, None) for each in self.found.optimizers.values()]
        return [each for each in found if each is not None]

    @property
    def weights(self) -> LiveObjects:
        """The variables alone that belong to no optimizer."""
        storage = {key for each in self.found.weights.values() for key in handles(each)}

        def is_weight(item: Any) -> bool:
            return is_variable(item) and not storage.isdisjoint(handles(item))

        bound = {key: item for key, item in self.bound.items() if is_weight(item)}
        return replace(self, objects=[*filter(is_weight, self.objects)], bound=bound)

    def build_optimizers(self, file: CheckpointFile) -> bool:
        """Builds optimizers for the variables that they trained, as their first step would do.

        Then their slots exist and can be restored now. An optimizer is not built if the present
        models have other trainable variables, or variables on several devices.

        Returns:
            Whether there are new variables.
        """
        trained = {
            optimizer: [self.bound.get(key) for key in keys]
            for optimizer, keys in file.trained(self.references)
        }
        known = {id(variable) for each in trained.values() for variable in each}
        if any(
            isinstance(item, tf.keras.Variable) and item.trainable and id(item) not in known
            for item in self.bound.values()
        ):
            return False
        built = False
        for optimizer, variables in trained.items():
            if not optimizer.built and variables and all(map(_is_on_one_device, variables)):
                optimizer.build(variables)
                built = True
        return built

    def restore(self, file: CheckpointFile) -> None:
        """Sets the variables to the values of the file."""
        for item in self.objects:
            drop_deferred(item)
        for key, item in self.bound.items():
            if is_variable(item):
                _set(item, file.value(key))

    def other_shapes(self, file: CheckpointFile, *, followed: bool = False) -> list[str]:
        """Returns which variables have another shape than their values, in words.

        Args:
            followed: Whether to also check all variables that TensorFlow would set by its own
                references.
        """
        pairs = [*self.bound.items(), *(file.followed(self.references) if followed else ())]
        wrong = [
            f"{file.name(key)} has the shape {tuple(file.shapes[key])} there and "
            f"{tuple(item.shape)} here"
            for key, item in pairs
            if _has_other_shape(file, key, item)
        ]
        return list(dict.fromkeys(wrong))

    def without_other_shapes(self, file: CheckpointFile) -> LiveObjects:
        """Returns a copy without the variables whose values have another shape."""
        fitting = {
            key: item for key, item in self.bound.items() if not _has_other_shape(file, key, item)
        }
        return replace(self, bound=fitting)

    def other_optimizers(self, file: CheckpointFile) -> list[str]:
        """Returns which optimizers are of another kind, or train further variables, in words."""
        live = {name: type(each).__name__ for name, each in self.found.optimizers.items()}
        wrong = [
            f"{name} is {held} there and {live[name]} here"
            for name, held in file.optimizers.items()
            if live.get(name, held) != held
        ]
        names = {key: name for name, each in self.found.variables.items() for key in handles(each)}
        for optimizer, keys in file.trained(self.references):
            if not optimizer.built or not file.names:
                continue
            trained = set(map(file.name, keys))
            trains = {names.get(key) for each in trained_by(optimizer) for key in handles(each)}
            more = sorted(name for name in trains - trained if name is not None)
            if more and trained:
                wrong.append(f"the optimizer trains {some(more)} here, which it did not there")
        return wrong


def _has_other_shape(file: CheckpointFile, key: str, item: Any) -> bool:
    held = file.shapes.get(key) if is_variable(item) else None
    return held is not None and not tf.TensorShape(item.shape).is_compatible_with(held)


def _is_on_one_device(variable: Any) -> bool:
    within = storage_of(variable) if isinstance(variable, tf.keras.Variable) else variable
    return isinstance(within, tf.Variable) and not isinstance(
        within, tf.distribute.DistributedValues
    )


def _set(variable: Any, value: np.ndarray[Any, Any]) -> None:
    """Sets a variable to a value of a file, unless the variable has that value already."""
    held = tf.convert_to_tensor(variable).numpy()
    held = np.asarray(held)
    same = held.tobytes() == value.tobytes() if held.dtype != object else held == value
    if not np.all(same) or held.dtype != value.dtype:
        variable.assign(value)
