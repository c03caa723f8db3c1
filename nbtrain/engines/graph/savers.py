"""The savers of a graph: each keeps the checkpoints of one folder.

One saver in two folders deletes in each what it wrote in the other.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf.saver_pb2 import SaverDef

from nbtrain.checkpoints.files import listed
from nbtrain.engines.graph.in_graph import Saver

v1 = tf.compat.v1

# With TensorFlow's 0 for "all", its `checkpoint` file would name the latest alone.
_ALL = 2**31 - 1
# Where a saver keeps the folder of a Supervisor.
_FOLDER = "_nbtrain_folder"


def find_saver(graph: tf.Graph, scaffold: Any) -> Any:
    """The saver of a scaffold or a graph; made where there is none and can be one.

    Returns:
        None for a graph without variables, one that is finalized and has no saver, and a saver
        of no variables.
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
    # Where a Scaffold looks for it, and a cell that is run again.
    graph.add_to_collection(v1.GraphKeys.SAVERS, saver)
    return saver


def saves(saver: Any) -> bool:
    """Whether there is a saver, and it has variables; one of allow_empty=True may have none."""
    return saver is not None and not getattr(saver, "_is_empty", False)  # nowhere public


def own_saver(saver: Any, directory: Path, keep: int | None) -> Any:
    """A saver of a run's, that runs the operations of another."""
    saver.build()
    definition = SaverDef.FromString(saver.as_saver_def().SerializeToString())
    definition.max_to_keep = keep or _ALL
    variables = saver._var_list  # named by nothing public
    own = v1.train.Saver(
        variables, reshape=saver._reshape, saver_def=definition, save_relative_paths=True
    )
    own.set_last_checkpoints_with_time([(held.path, held.wall_time) for held in listed(directory)])
    return own


def supervised_saver(graph: tf.Graph, folder: str | os.PathLike[str] | None) -> Any:
    """The graph's saver for a Supervisor; where it saves elsewhere, a further one just like it.

    Args:
        graph: The graph.
        folder: Where the Supervisor saves; None for nowhere.

    Returns:
        None as `find_saver` does.
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
    saver._checkpoints_to_be_deleted = []
    return saver
