"""Clusters of TensorFlow's own servers: `local` and `ipyparallel` start one, `described` reads one.

Each launcher only starts processes; training on a cluster is `nbtrain.train(build, cluster=...)`.
"""

from __future__ import annotations

from nbtrain.core.keywords import refusing
from nbtrain.tasks import description, engines
from nbtrain.tasks import local as processes
from nbtrain.tasks.description import Description
from nbtrain.tasks.launched import LaunchedCluster
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

described = refusing(description.described, __name__)
ipyparallel = refusing(engines.ipyparallel, __name__)
local = refusing(processes.local, __name__)
