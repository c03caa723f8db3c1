"""Values of a checkpoint, held as they were read until the objects exist that take them.

A loop that goes on opens its data late, so a save may come before. It writes these values again.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_PREFIX, _ATTRIBUTES = "besides/", "/.ATTRIBUTES/"
_VALUE, _STATE = "VARIABLE_VALUE", "ITERATOR_STATE"


class AsRead:
    """Values in a checkpoint of what an engine saves in addition.

    Args:
        path: Path of the checkpoint.
        names: The first names of the values, such as `undone` for `undone/0` and `undone/1`.
    """

    def __init__(self, path: str, *names: str) -> None:
        dtypes = tf.train.load_checkpoint(path).get_variable_to_dtype_map()
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

    def state(self, name: str) -> Any:
        """Returns the state of a `tf.data` iterator as a tensor; None if there is none."""
        return self._values.get(f"{name}{_ATTRIBUTES}{_STATE}")

    def again(self) -> tf.train.Checkpoint:
        """Returns objects that save the same values under the same names."""
        root = tf.train.Checkpoint()
        for key, tensor in self._values.items():
            name, _, attribute = key.partition(_ATTRIBUTES)
            *parents, last = name.split("/")
            at = root
            for parent in parents:
                if not hasattr(at, parent):
                    setattr(at, parent, tf.train.Checkpoint())
                at = getattr(at, parent)
            setattr(at, last, _Held(attribute, tensor))
        return root


class _Held(tf.Module):
    """Saves one tensor. The methods are those of TensorFlow's own trackable objects."""

    def __init__(self, attribute: str, tensor: Any) -> None:
        super().__init__()
        self._attribute, self._tensor = attribute, tensor

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return {self._attribute: self._tensor}

    def _restore_from_tensors(self, _restored: Any) -> None:
        """Restores nothing: what was read stays."""
