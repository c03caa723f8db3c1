"""Graphs whose checkpoints may be torn."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

v1 = tf.compat.v1


# Large enough that writing them takes the time of many steps: 1, 2, 3 and 4 MB.
ROWS = (256, 512, 768, 1024)


def lockstep_graph() -> Any:
    """The same as a graph's train op."""
    with tf.Graph().as_default():
        parts = [
            v1.get_variable(f"part{k}", initializer=tf.zeros([rows, 1024]))
            for k, rows in enumerate(ROWS)
        ]
        step = v1.train.get_or_create_global_step()
        return tf.group(
            step.assign_add(1), *[part.assign_add(tf.ones_like(part)) for part in parts]
        )


def steps_in(path: str) -> set[int]:
    """Every step that a checkpoint's name and content speak of: one, unless it is torn."""
    reader = tf.train.load_checkpoint(path)
    found = {int(path.rpartition("-")[2])}
    for name in reader.get_variable_to_shape_map():
        if "part" in name or "count/" in name or "step" in name:
            tensor = reader.get_tensor(name)
            found |= {int(tensor.min()), int(tensor.max())}
    return found
