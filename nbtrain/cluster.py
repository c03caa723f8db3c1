"""Clusters of TensorFlow's own servers: `local` and `ipyparallel` start one, `described` reads one.

Each launcher only starts processes; training on a cluster is `nbtrain.train(build, cluster=...)`.
"""

from __future__ import annotations

from nbtrain.tasks.description import Description, described
from nbtrain.tasks.engines import ipyparallel
from nbtrain.tasks.launched import LaunchedCluster
from nbtrain.tasks.local import local
from nbtrain.tasks.task_file import State, TaskStatus

__all__ = [
    "Description",
    "LaunchedCluster",
    "State",
    "TaskStatus",
    "described",
    "ipyparallel",
    "local",
]
