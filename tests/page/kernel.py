"""The Python side of a bare page: what a kernel does for its widgets, over one WebSocket.

    page ── a widget's message ──▶ Kernel ──▶ widget.comm.handle_msg    in a thread of its own
    page ◀── its answer, outputs ─ Kernel ◀── comm.publish_msg, display()      from any thread

The widgets, their messages and the outputs are those of a notebook: only the comm and the
publisher of what is displayed are written by hand. A page that is loaded again is sent
its outputs again, as by a server that has saved them. A message to a widget that its cell
is still making waits until the widget is displayed, as in a kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import struct
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from comm.base_comm import BaseComm
from IPython.core.displaypub import DisplayPublisher
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from tests.gate import SOON

FOLDER = Path(__file__).parent
HANDS = "messages of the page"  # the name of the thread that handles them
VIEW = "application/vnd.jupyter.widget-view+json"


class Kernel:
    """Serves a page, and carries what its widgets and the tests' process have to say.

    Attributes:
        files: The page and what it loads, by their paths.
        address: Of the page.
        cell: The number of the cell that what is displayed belongs to.
    """

    files: Mapping[str, Path] = {
        "/": FOLDER / "bare.html",
        "/notebook.js": FOLDER / "notebook.js",
    }

    def __init__(self) -> None:
        self.cell = 0
        self._widgets: dict[str, Comm] = {}
        self._sources: dict[str, str] = {}  # of the widgets' modules, by their paths
        self._outputs: dict[str, tuple[int, dict[str, Any]]] = {}  # by display_id
        self._numbers = itertools.count()
        self._page: Socket | None = None
        self._held: list[bytes] = []
        self._going = threading.Event()  # unset while it hangs
        self._going.set()
        self._listening = threading.Event()  # unset while it is busy
        self._listening.set()
        self._answers_only = False
        self._losing = False
        self._lost = threading.Event()
        self._lock = threading.Lock()  # keeps what is sent in its order, also while a page opens
        self._hands = ThreadPoolExecutor(1, HANDS)
        self._up = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve()], daemon=True)
        self._thread.start()
        assert self._up.wait(SOON)

    async def _serve(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        listening, port = bind_unused_port()
        self.address = f"http://127.0.0.1:{port}/"
        asked = {"kernel": self}
        rules: list[Any] = [(r"/socket", Socket, asked), (r"(/.*)", Source, asked)]
        server = HTTPServer(Application(rules))
        server.add_socket(listening)
        self._up.set()
        await self._done.wait()
        server.stop()
        await server.close_all_connections()

    def close(self) -> None:
        """End the server."""
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(SOON)
        self._hands.shutdown()

    # --- what tests ask for

    @property
    def widgets(self) -> list[str]:
        """The ids of the widgets in the page."""
        return list(self._widgets)

    def forget(self) -> None:
        """Have no outputs and no widgets any more, for the next test."""
        with self._lock:
            self._widgets.clear()
            self._outputs.clear()

    def die(self) -> None:
        """Be gone, as a kernel that was killed: the page is told so, and hears nothing more."""
        with self._lock:
            page, self._page = self._page, None
        assert page is not None
        self._loop.call_soon_threadsafe(page.close)

    def hang(self) -> None:
        """Be silent, as a kernel that was halted."""
        with self._lock:
            self._going.clear()

    def work(self) -> None:
        """Hear nothing, as a kernel whose main thread executes a cell: what it says goes on."""
        self._listening.clear()

    def show_again(self) -> None:
        """Replace all outputs of the page with equal ones, as a loop does that clears its cell."""
        with self._lock:
            self._say_outputs()

    def answer_only(self) -> None:
        """Lose what is sent to a widget, except the answers to its page, as Colab does."""
        self._answers_only = True

    def lose_hello(self) -> None:
        """Lose the next message in which a page asks for everything."""
        self._losing = True
        self._lost.clear()

    def wait_until_lost(self) -> None:
        """Wait until that message was lost."""
        assert self._lost.wait(SOON)

    def go_on(self) -> None:
        """Say what was held back meanwhile, hear what was said, and lose nothing more."""
        with self._lock:
            self._answers_only = False
            for frame in self._held:
                self._write(frame)
            self._held.clear()
            self._going.set()
            self._listening.set()

    # --- what a widget and IPython say

    def display(self, data: dict[str, Any], output: str | None = None) -> None:
        """Show something in the present cell, or in the place of an output."""
        with self._lock:
            output = output or f"unnamed-{next(self._numbers)}"
            cell, _ = self._outputs.get(output, (self.cell, {}))
            self._outputs[output] = (cell, data)
            shown = self._widgets.get(data.get(VIEW, {}).get("model_id"))
            if shown is not None:
                shown.made.set()
            self._say({"t": "output", "cell": cell, "output": output, "data": data})

    def publish(
        self, comm: Comm, kind: str, data: dict[str, Any], buffers: Sequence[bytes]
    ) -> None:
        """Send what a widget has to say."""
        with self._lock:
            if kind == "comm_open" and "_esm" in data["state"]:
                state = data["state"]
                comm.source = f"/{state['_anywidget_id']}.js"
                self._sources[comm.source] = state["_esm"]
                self._widgets[comm.comm_id] = comm
                comm.state = self._shared(state)
                self._open(comm)
            elif comm.comm_id not in self._widgets:  # a part of one: its layout
                return
            elif kind == "comm_close":
                self._widgets.pop(comm.comm_id).made.set()
                self._say({"t": "close", "id": comm.comm_id})
            elif data["method"] == "custom" and not self._loses:
                self._say({"t": "custom", "id": comm.comm_id, "content": data["content"]}, buffers)

    def _shared(self, _state: dict[str, Any]) -> dict[str, Any]:
        """The state of a model, as far as the page needs it."""
        return {}

    @property
    def _loses(self) -> bool:
        """Whether what this thread sends to a widget is lost."""
        return self._answers_only and not threading.current_thread().name.startswith(HANDS)

    def _open(self, comm: Comm) -> None:
        said = {"t": "open", "id": comm.comm_id, "source": comm.source, "state": comm.state}
        self._say(said)

    def _say(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        parts = [bytes(buffer) for buffer in buffers]
        text = json.dumps(message | {"lengths": [*map(len, parts)]}, allow_nan=False).encode()
        frame = struct.pack("<I", len(text)) + text + b"".join(parts)
        if self._going.is_set():
            self._write(frame)
        else:
            self._held.append(frame)

    def _write(self, frame: bytes) -> None:
        if self._page is not None:
            self._loop.call_soon_threadsafe(self._page.give, frame)

    # --- what the page says

    def source(self, path: str) -> tuple[str, str]:
        """The page, a file that it loads, or the module of a widget; and the type of the text."""
        if path in self.files:
            file = self.files[path]
            kind = "text/html" if file.suffix == ".html" else "text/javascript"
            return file.read_text(encoding="utf-8"), kind
        return self._sources[path], "text/javascript"

    def opened(self, page: Socket) -> None:
        """A page is there, the first or one that was loaded again: it gets all there is."""
        with self._lock:
            self._page = page
            for comm in self._widgets.values():
                self._open(comm)
            self._say_outputs()

    def _say_outputs(self) -> None:
        for output, (cell, data) in self._outputs.items():
            self._say({"t": "output", "cell": cell, "output": output, "data": data})

    def left(self, page: Socket) -> None:
        """A page has gone."""
        with self._lock:
            if self._page is page:
                self._page = None

    def hear(self, text: str | bytes) -> None:
        """Hand a message to its widget, as a kernel does in a subshell's thread."""
        self._hands.submit(self._hand, json.loads(text))

    def _hand(self, said: dict[str, Any]) -> None:
        self._going.wait()
        self._listening.wait()
        lost = self._losing and said["content"]["t"] == "hello"
        comm = self._widgets.get(said["id"])
        if lost:
            self._losing = False
            self._lost.set()
        elif comm is not None:
            assert comm.made.wait(SOON)
            data = {"method": "custom", "content": said["content"]}
            comm.handle_msg({"content": {"comm_id": said["id"], "data": data}, "buffers": []})


class Comm(BaseComm):
    """A comm whose other end is in the page."""

    source = ""
    state: dict[str, Any]  # of the model, as far as the page needs it

    def __init__(self, kernel: Kernel, **arguments: Any) -> None:
        self._kernel = kernel
        self.made = threading.Event()  # the widget; it may be closed again
        super().__init__(**arguments)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        """Send something to the page."""
        self._kernel.publish(self, msg_type, data or {}, buffers or ())


class Publisher(DisplayPublisher):
    """Shows in the page what is displayed."""

    kernel: Kernel

    def publish(  # type: ignore[override,unused-ignore]
        self, data: Any, *_: Any, transient: Any = None, update: bool = False, **__: Any
    ) -> None:
        """Show a bundle, new or in the place of one."""
        self.kernel.display(data, (transient or {}).get("display_id"))


class Source(RequestHandler):
    """Returns the files that the page loads."""

    def initialize(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def get(self, path: str) -> None:
        try:
            text, kind = self._kernel.source(path)
        except KeyError:
            self.set_status(404)
        else:
            self.set_header("Content-Type", f"{kind}; charset=utf-8")
            self.write(text)


class Socket(WebSocketHandler):
    """The way between a page and the tests' process."""

    def initialize(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def open(self, *_: str, **__: str) -> None:
        self._kernel.opened(self)

    def on_close(self) -> None:
        self._kernel.left(self)

    def on_message(self, message: str | bytes) -> None:
        self._kernel.hear(message)

    def give(self, frame: bytes) -> None:
        """Send a frame; a page that has gone misses it."""
        with contextlib.suppress(WebSocketClosedError):
            self.write_message(frame, binary=True)
