"""A Jupyter server that culls idle kernels: it keeps one whose run trains."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from nbtrain.checkpoints.files import listed
from tests.gate import SOON, eventually
from tests.ports import free_ports

ROOT = Path(__file__).parents[3]
IDLE_SECS = 8

# A kernel that starts sends nothing, and on a shared machine that may take longer.
CONFIG = """\
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
class Started(AsyncMappingKernelManager):
    async def cull_kernel_if_idle(self, kernel_id):
        if self.get_kernel(kernel_id).execution_state != "starting":
            await super().cull_kernel_if_idle(kernel_id)
c.ServerApp.kernel_manager_class = Started
"""

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
    """A server that culls, after a few idle seconds, a kernel that has started.

    It also culls those with an open page.
    """

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}/api/kernels"
        self._runtime = folder / "runtime"
        config = folder / "config.py"
        config.write_text(CONFIG)
        options = {
            "ServerApp.port": port,
            "IdentityProvider.token": "",
            "ServerApp.disable_check_xsrf": True,
            "ServerApp.root_dir": folder,
            "MappingKernelManager.cull_idle_timeout": IDLE_SECS,
            "MappingKernelManager.cull_interval": 1,
            "MappingKernelManager.cull_connected": True,
        }
        arguments = ["--no-browser", "--allow-root", f"--config={config}"]
        arguments += [f"--{name}={value}" for name, value in options.items()]
        environment = dict(
            os.environ,
            PYTHONPATH=str(ROOT),
            JUPYTER_RUNTIME_DIR=str(self._runtime),
            NBTRAIN_KEEP_ALIVE="0.5",
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *arguments],
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

    @contextlib.contextmanager
    def client(self, kernel: str) -> Iterator[BlockingKernelClient]:
        """A client of a kernel, beside the server, until the block is left."""
        client = BlockingKernelClient()
        client.load_connection_file(str(self._runtime / f"kernel-{kernel}.json"))
        client.start_channels(iopub=False, stdin=False, hb=False)
        try:
            yield client
        finally:
            client.stop_channels()

    def end(self) -> None:
        """Terminate it, and kill it where that does not help."""
        self.process.terminate()
        try:
            self.process.wait(SOON)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server, until the block is left."""
    server = Server(folder)
    try:
        eventually(lambda: server.ask() is not None)
        yield server
    finally:
        server.end()


@pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings of its own
def test_a_kernel_is_culled_once_its_run_is_paused_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        kernel = server.ask(method="POST")["id"]

        def active() -> float:
            answer = server.ask(f"/{kernel}")
            assert answer is not None, "the kernel was culled"
            return datetime.fromisoformat(answer["last_activity"]).timestamp()

        def execute(client: BlockingKernelClient, code: str) -> None:
            reply = client.execute(code, reply=True, timeout=SOON)
            assert reply["content"]["status"] == "ok", reply["content"]

        with server.client(kernel) as client:
            execute(client, START)
            begun = active()
            eventually(lambda: active() > begun + IDLE_SECS)
            execute(client, "run.pause().wait()")
        eventually(lambda: server.ask(f"/{kernel}") is None)
    (checkpoint,) = listed(tmp_path / "culled" / "checkpoints")
    journal = (tmp_path / "culled" / "steering.jsonl").read_text(encoding="utf-8")
    assert f'"stopped", "step": {checkpoint.step}' in journal
