"""Clusters of TensorFlow's own servers: `local` and `ipyparallel` start one, `described` reads one.

Each launcher only starts processes; training on a cluster is `nbtrain.train(build, cluster=...)`.
"""

from __future__ import annotations

from nbtrain.cluster import description, engines
from nbtrain.cluster import this_machine as processes
from nbtrain.cluster.description import Description
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.cluster.task_file import State, TaskStatus
from nbtrain.core.keywords import refusing

__all__ = [
    "Description",
    "LaunchedCluster",
    "State",
    "TaskStatus",
    "described",
    "ipyparallel",
    "local",
]

described = refusing(description.described, __name__)
ipyparallel = refusing(engines.ipyparallel, __name__)
local = refusing(processes.local, __name__)
