"""TensorFlow 1's graphs: `supervise`, `monitor`, and replacements for TensorFlow's own classes.

Each class takes the arguments of its namesake in `tf.compat.v1.train`, so a TensorFlow 1 program
needs only its import changed:

    from nbtrain.tf1 import Supervisor
"""

from __future__ import annotations

from nbtrain.core.keywords import refusing
from nbtrain.run.thread.threads import Coordinator, LooperThread
from nbtrain.tf1 import engine
from nbtrain.tf1.creators import ChiefSessionCreator, WorkerSessionCreator
from nbtrain.tf1.hooks import monitored
from nbtrain.tf1.hooks.eval_hook import EvalHook
from nbtrain.tf1.hooks.run_hook import RunHook
from nbtrain.tf1.replica import Replica
from nbtrain.tf1.saving.in_graph import QueueRunner, Saver, SessionManager
from nbtrain.tf1.supervising.supervisor import Supervisor

__all__ = [
    "ChiefSessionCreator",
    "Coordinator",
    "EvalHook",
    "LooperThread",
    "QueueRunner",
    "Replica",
    "RunHook",
    "Saver",
    "SessionManager",
    "Supervisor",
    "WorkerSessionCreator",
    "monitor",
    "supervise",
]

monitor = refusing(monitored.monitor, __name__)
supervise = refusing(engine.supervise, __name__)
