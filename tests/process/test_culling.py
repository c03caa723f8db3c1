"""A Jupyter server that culls idle kernels: it keeps one whose run trains."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from nbtrain.saving.checkpoints import listed
from tests.gate import SOON
from tests.replicas import free_ports

ROOT = Path(__file__).parents[2]
# While a kernel starts it sends nothing, and on a shared machine that takes seconds.
IDLE_SECS = 8

START = """\
import time, tensorflow as tf, nbtrain
v = tf.Variable(0.0)
def step():
    time.sleep(0.01)
    v.assign_add(1.0)
    return {"v": v.value()}
run = nbtrain.train(step, checkpoint=tf.train.Checkpoint(v=v), logdir="culled", save_secs=None)
"""


class Server:
    """A server with a culler of a few seconds, which also culls kernels with an open page."""

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}/api/kernels"
        self._runtime = folder / "runtime"
        options = {
            "ServerApp.port": port,
            "IdentityProvider.token": "",
            "ServerApp.disable_check_xsrf": True,
            "ServerApp.root_dir": folder,
            "MappingKernelManager.cull_idle_timeout": IDLE_SECS,
            "MappingKernelManager.cull_interval": 1,
            "MappingKernelManager.cull_connected": True,
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        environment = dict(
            os.environ,
            PYTHONPATH=str(ROOT),
            JUPYTER_RUNTIME_DIR=str(self._runtime),
            NBTRAIN_KEEP_ALIVE="0.5",
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, path: str = "", method: str = "GET") -> Any:
        """The answer of its interface for kernels; None where there is no such thing (yet)."""
        request = urllib.request.Request(self._url + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SOON) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            return None

    def client(self, kernel: str) -> BlockingKernelClient:
        """A client of a kernel, beside the server."""
        client = BlockingKernelClient()
        client.load_connection_file(str(self._runtime / f"kernel-{kernel}.json"))
        client.start_channels(iopub=False, stdin=False, hb=False)
        return client


def once(look: Callable[[], Any]) -> Any:
    """The first true thing that it gives."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError("it does not come")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server, until the block is left."""
    server = Server(folder)
    try:
        once(lambda: server.ask() is not None)
        yield server
    finally:
        server.process.terminate()
        server.process.wait(SOON)


@pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings of its own
def test_a_kernel_is_culled_once_its_run_is_paused_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        kernel = server.ask(method="POST")["id"]
        client = server.client(kernel)

        def active() -> float:
            answer = server.ask(f"/{kernel}")
            assert answer is not None, "the kernel was culled"
            return datetime.fromisoformat(answer["last_activity"]).timestamp()

        def execute(code: str) -> None:
            reply = client.execute(code, reply=True, timeout=SOON)
            assert reply["content"]["status"] == "ok", reply["content"]

        execute(START)
        begun = active()
        once(lambda: active() > begun + IDLE_SECS)
        execute("run.pause().wait()")
        client.stop_channels()
        once(lambda: server.ask(f"/{kernel}") is None)
    (checkpoint,) = listed(tmp_path / "culled" / "checkpoints")
    journal = (tmp_path / "culled" / "steering.jsonl").read_text(encoding="utf-8")
    assert f'"stopped", "step": {checkpoint.step}' in journal
