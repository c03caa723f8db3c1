"""Values of a checkpoint, kept as they were read until the objects exist to restore them into.

A loop that continues opens its data late, so a save may come before. The save writes these values
again.
"""

from __future__ import annotations

import json
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import step_in_name
from nbtrain.engines.named_variables import as_tree

_PREFIX, _ATTRIBUTES = "besides/", "/.ATTRIBUTES/"
_VALUE, _STATE = "VARIABLE_VALUE", "ITERATOR_STATE"


class AsRead:
    """The values in a checkpoint that an engine saves in addition to the objects.

    Args:
        path: Path of the checkpoint.
        names: The first names of the values, such as `undone` for `undone/0` and `undone/1`.

    Attributes:
        step: The step of the checkpoint; None if its name has none.
    """

    def __init__(self, path: str, *names: str) -> None:
        self.step = step_in_name(path)
        self._dtypes = dtypes = tf.train.load_checkpoint(path).get_variable_to_dtype_map()
        keys = [
            key
            for key in dtypes
            if key.startswith(_PREFIX) and key.removeprefix(_PREFIX).partition("/")[0] in names
        ]
        # `get_tensor` of a reader cannot return the state of an iterator.
        read = keys and tf.raw_ops.RestoreV2(
            prefix=path,
            tensor_names=keys,
            shape_and_slices=[""] * len(keys),
            dtypes=[dtypes[key] for key in keys],
        )
        self._values = {
            key.removeprefix(_PREFIX): tensor for key, tensor in zip(keys, read, strict=True)
        }

    def value(self, name: str) -> Any:
        """Returns the value of a variable as a tensor; None if there is none."""
        return self._values.get(f"{name}{_ATTRIBUTES}{_VALUE}")

    def values(self, name: str) -> dict[int, Any]:
        """Returns the values of a list of variables as tensors, by number in their order.

        A variable that is in the list twice has only its first number.
        """
        begin, end = f"{name}/", f"{_ATTRIBUTES}{_VALUE}"
        found = {
            int(key.removeprefix(begin).removesuffix(end)): tensor
            for key, tensor in self._values.items()
            if key.startswith(begin)
        }
        return dict(sorted(found.items()))

    def json(self, name: str) -> Any:
        """Returns the value that `as_json` has saved under a name; None if there is none."""
        value = self.value(name)
        return None if value is None else json.loads(value.numpy())

    def has_object(self, name: str) -> bool:
        """Returns whether a variable of this name is among the objects of the checkpoint."""
        return f"{name}{_ATTRIBUTES}{_VALUE}" in self._dtypes

    def state(self, name: str) -> Any:
        """Returns the state of a `tf.data` iterator as a tensor; None if there is none."""
        return self._values.get(f"{name}{_ATTRIBUTES}{_STATE}")

    def saved(self) -> dict[str, Any]:
        """Returns objects that save the same values, by name."""
        held = {}
        for key, tensor in self._values.items():
            name, _, attribute = key.partition(_ATTRIBUTES)
            held[name] = _Held(attribute, tensor)
        return as_tree(held)


def as_json(value: Any) -> tf.Variable:
    """Returns a variable that saves a value as JSON."""
    return tf.Variable(json.dumps(value), trainable=False)


class _Held(tf.Module):
    """Saves one tensor. The methods are those of TensorFlow's own trackable objects."""

    def __init__(self, attribute: str, tensor: Any) -> None:
        super().__init__()
        self._attribute, self._tensor = attribute, tensor

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return {self._attribute: self._tensor}

    def _restore_from_tensors(self, _restored: Any) -> None:
        """Restores nothing: the tensor that was read is kept."""
