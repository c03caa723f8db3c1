"""What a RunHook adds to a step of a MonitoredSession: CPU of the training thread, in µs.

    python -m tests.benchmarks.monitored

Two sessions of one graph take turns in the training thread of a run: one is raw and
fetches its loss itself, the other has the hook fetch and record it. A second raw one is
the control.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.run import Run
from tests.benchmarks.steps import GraphStep

v1 = tf.compat.v1

CHUNK = 100


def measure(folder: str, chunks: int) -> dict[str, float]:
    """Median µs of CPU a step: raw, and added by a second raw session and by the hook."""
    step = GraphStep()
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    fetches = [step.train_op, step.loss]
    seconds: dict[str, list[float]] = {"raw": [], "control": [], "hook": []}

    def open_session(hooks: list[Any]) -> Any:
        return v1.train.MonitoredTrainingSession(
            hooks=hooks, config=config, log_step_count_steps=None
        )

    def loop(run: Run) -> None:
        hook = nbtrain.RunHook(run, {"loss": step.loss})
        with contextlib.ExitStack() as stack:
            stack.enter_context(step.graph.as_default())
            sessions = {
                "raw": (stack.enter_context(open_session([])), fetches),
                "hook": (stack.enter_context(open_session([hook])), step.train_op),
                "control": (stack.enter_context(open_session([])), fetches),
            }
            for sess, fetched in sessions.values():
                take(sess, fetched)
            for _ in range(chunks):
                for name, (sess, fetched) in sessions.items():
                    seconds[name].append(cpu_of(sess, fetched))

    nbtrain.background(loop, save_secs=None, logdir=folder).wait()
    raw, control, hook = (np.array(seconds[name]) / CHUNK * 1e6 for name in seconds)
    return {
        "raw_us": float(np.median(raw)),
        "control_added_us": float(np.median(control - raw)),
        "hook_added_us": float(np.median(hook - raw)),
    }


def take(sess: Any, fetched: Any) -> None:
    """A chunk of the documented loop."""
    for _ in range(CHUNK):
        if not sess.should_stop():
            sess.run(fetched)


def cpu_of(sess: Any, fetched: Any) -> float:
    """Seconds of this thread's CPU that a chunk takes."""
    began = time.thread_time()
    take(sess, fetched)
    return time.thread_time() - began


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 200), indent=2))
