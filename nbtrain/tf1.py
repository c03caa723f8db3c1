"""TensorFlow 1's graphs: `supervise`, `monitor`, and replacements for TensorFlow's own classes.

Each class takes the arguments of its namesake in `tf.compat.v1.train`, so a TensorFlow 1 program
needs only its import changed:

    from nbtrain.tf1 import Supervisor
"""

from __future__ import annotations

from nbtrain.core.keywords import refusing
from nbtrain.engines.graph import engine, monitored
from nbtrain.engines.graph.creators import ChiefSessionCreator, WorkerSessionCreator
from nbtrain.engines.graph.eval_hook import EvalHook
from nbtrain.engines.graph.in_graph import QueueRunner, Saver, SessionManager
from nbtrain.engines.graph.replica import Replica
from nbtrain.engines.graph.run_hook import RunHook
from nbtrain.engines.graph.supervisor import Supervisor
from nbtrain.run.threads import Coordinator, LooperThread

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
