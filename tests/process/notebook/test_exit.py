"""The polite end of a kernel: shut down or restarted while a run trains."""

from __future__ import annotations

import sys
import types
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import tensorflow as tf
from jupyter_client.manager import start_new_kernel

import nbtrain
from nbtrain.checkpoints.files import listed
from tests.forked import Forked
from tests.gate import SOON

CODE = """\
import threading, tensorflow as tf, nbtrain
v = tf.Variable(0.0)
def step():
    v.assign_add(1.0)
    return {"v": v.value()}
run = nbtrain.train(step, checkpoint=tf.train.Checkpoint(v=v), logdir="exited")
reached = threading.Event()
run.loop(0.01, lambda: reached.set() if run.status.step > 100 else None)
assert reached.wait(60)
"""


@pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings of its own
def test_a_kernel_that_is_restarted_ends_with_its_run_whole(tmp_path: Path) -> None:
    """At its end a thread draws the picture of the run: the interpreter waits for it."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    assert manager.provisioner is not None
    process = manager.provisioner.process
    try:
        reply = client.execute_interactive(CODE, timeout=SOON, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
        # Not by the manager, which sends SIGTERM to a kernel that takes more than 2.5 s, and starts
        # another. A kernel that is shut down ends in the same way.
        client.shutdown(restart=True)
        assert process.wait(SOON) == 0
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    (checkpoint,) = listed(tmp_path / "exited" / "checkpoints")
    assert checkpoint.step > 100
    journal = (tmp_path / "exited" / "steering.jsonl").read_text(encoding="utf-8")
    assert f'"stopped", "step": {checkpoint.step}' in journal
    assert nbtrain.scalars(str(tmp_path))["exited", "v"].steps[-1] == checkpoint.step


def leaves_open(pipe: Connection) -> None:
    """Train a graph in a session that a module holds, as that of a script would."""
    with tf.Graph().as_default():
        train_op = tf.compat.v1.train.get_or_create_global_step().assign_add(1)
        sv = nbtrain.Supervisor(logdir="supervised")
    sys.modules["left_open"] = module = types.ModuleType("left_open")
    session = sv.prepare_or_wait_for_session()
    module.held = sv, session  # type: ignore[attr-defined]
    session.run(train_op)
    sv.stop()


def test_a_program_that_leaves_its_session_open_ends(tmp_path: Path) -> None:
    with Forked(leaves_open, finalize=True) as child:
        assert child.wait() == 0, child.err
    assert [checkpoint.step for checkpoint in listed(tmp_path / "supervised")][-1] == 1
