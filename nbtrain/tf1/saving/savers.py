"""The savers of a graph: each keeps the checkpoints of one folder.

A saver that saves into two folders would delete files of one to limit the files of both.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import listed
from nbtrain.inner.tensorflow import (
    SaverDef,
    forget_deletions,
    is_empty,
    reshapes,
    variables_of_saver,
)
from nbtrain.tf1.saving.in_graph import Saver

v1 = tf.compat.v1

# With 0, TensorFlow's value for "all", the `checkpoint` file would name only the latest.
_ALL = 2**31 - 1
# The attribute of a saver that holds the folder of a Supervisor.
_FOLDER = "_nbtrain_folder"


def find_saver(graph: tf.Graph, scaffold: Any) -> Any:
    """Returns the saver of a scaffold or a graph, and makes one if possible.

    Returns:
        None for a graph without variables, a finalized one without a saver, and a saver of no
        variables.
    """
    saver = scaffold.saver if scaffold is not None else None
    known = graph.get_collection(v1.GraphKeys.SAVERS)
    if saver is not None or known:
        saver = known[0] if saver is None else saver
        return saver if saves(saver) else None
    if graph.finalized or not graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES):
        return None
    with graph.as_default():
        saver = Saver()
    # A Scaffold gets its saver from here, and so does a cell that is run again.
    graph.add_to_collection(v1.GraphKeys.SAVERS, saver)
    return saver


def saves(saver: Any) -> bool:
    """Returns whether a saver has variables; one made with `allow_empty=True` may have none."""
    return saver is not None and not is_empty(saver)


def own_saver(saver: Any, directory: Path, keep: int | None) -> Any:
    """Returns a run's own saver, which runs the operations of another."""
    saver.build()
    definition = SaverDef.FromString(saver.as_saver_def().SerializeToString())
    definition.max_to_keep = keep or _ALL
    variables = variables_of_saver(saver)
    own = v1.train.Saver(
        variables, reshape=reshapes(saver), saver_def=definition, save_relative_paths=True
    )
    own.set_last_checkpoints_with_time([(held.path, held.wall_time) for held in listed(directory)])
    return own


def supervised_saver(graph: tf.Graph, folder: str | os.PathLike[str] | None) -> Any:
    """Returns the graph's saver for a Supervisor; a copy if it already saves elsewhere.

    Without a folder, the Supervisor saves nothing. The result is None in the same cases as that of
    `find_saver`.
    """
    saver = find_saver(graph, None)
    if not folder or not isinstance(saver, v1.train.Saver):
        return saver
    there = Path(folder).resolve()
    latest = [Path(path).parent.resolve() for path in saver.last_checkpoints[-1:]]
    if vars(saver).setdefault(_FOLDER, [*latest, there][0]) == there:
        return saver
    saver = copy.copy(saver)
    setattr(saver, _FOLDER, there)
    saver.set_last_checkpoints_with_time([])
    forget_deletions(saver)
    return saver
