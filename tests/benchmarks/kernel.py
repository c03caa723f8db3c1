"""A real ipykernel and, outside it, the page that looks at a panel: both over ZeroMQ."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VIEW = "application/vnd.jupyter.widget-view+json"
ENDED = ("finished", "stopped", "failed")

# As panel.js does.
ALIVE_SECS = 4.0


class Kernel:
    """A fresh kernel with the checkout on its path, in a folder of its own."""

    def __init__(self, manager: Any, client: Any, folder: Path) -> None:
        self._manager = manager
        self._client = client
        self._folder = folder

    def execute(self, code: str, timeout: float = 900.0) -> Any:
        """Run a cell to its end; returns what it leaves in `out`.

        Raises:
            RuntimeError: The cell failed; holds its traceback.
        """
        code = f"import json\nout = None\n{code}\n"
        code += "open('out.json', 'w').write(json.dumps(out, default=float))"
        reply = self._client.execute_interactive(code, timeout=timeout, output_hook=self._note)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))
        return json.loads((self._folder / "out.json").read_text())

    def _note(self, message: dict[str, Any]) -> None:
        data = message["content"].get("data", {})
        if VIEW in data:
            self.model = str(data[VIEW]["model_id"])

    def look(self, timeout: float = 3600.0) -> list[tuple[str, int]]:
        """Look at the panel shown last until its run has ended, as a page does.

        Returns:
            Kind of every message of the panel, and its bytes on the wire.
        """
        messages: list[tuple[str, int]] = []
        seq, alive, end = 0, time.monotonic(), time.monotonic() + timeout
        self.send({"t": "hello"})
        while time.monotonic() < end:
            if time.monotonic() - alive > ALIVE_SECS:
                alive = time.monotonic()
                self.send({"t": "alive", "seq": seq})
            received = self._receive()
            if received is None:
                continue
            said, size = received
            messages.append((str(said.get("t")), size))
            seq = int(said.get("seq", seq))
            if said.get("status", {}).get("phase") in ENDED:
                return messages
        raise TimeoutError(f"The run goes on after {timeout:g} s.")

    def start(self, code: str) -> None:
        """Run a cell, and wait only until it has shown a widget."""
        self.model = ""
        self._client.execute(code)
        while not self.model:
            self._receive()

    def send(self, content: dict[str, object]) -> None:
        """A message of the page."""
        data = {"method": "custom", "content": content}
        message = self._client.session.msg("comm_msg", {"comm_id": self.model, "data": data})
        self._client.shell_channel.send(message)

    def wait_for(self, *kinds: str, timeout: float = 60.0) -> dict[str, Any]:
        """The next message of one of some kinds that reaches the page."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            received = self._receive()
            if received is not None and received[0].get("t") in kinds:
                return received[0]
        raise TimeoutError(f"No message {kinds} within {timeout:g} s.")

    def _receive(self) -> tuple[dict[str, Any], int] | None:
        """Returns the next message to the page, and its bytes on the wire."""
        session, socket = self._client.session, self._client.iopub_channel.socket
        if not socket.poll(500):
            return None
        frames = socket.recv_multipart()
        message = session.deserialize(session.feed_identities(frames)[1])
        self._note(message)
        content = message["content"]
        if content.get("comm_id") != self.model:
            return None
        return content["data"].get("content", {}), sum(map(len, frames))


@contextmanager
def kernel() -> Iterator[Kernel]:
    """A kernel for as long as the block lasts."""
    from jupyter_client.manager import start_new_kernel

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        manager, client = start_new_kernel(kernel_name="python3", cwd=folder, env=environment)
        try:
            yield Kernel(manager, client, Path(folder))
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def in_kernel(code: str, *, see: Callable[[Kernel], object] | None = None) -> Any:
    """Returns `out` of a cell in a fresh kernel; `see` runs before it, if given."""
    with kernel() as fresh:
        if see is not None:
            see(fresh)
        return fresh.execute(code)
