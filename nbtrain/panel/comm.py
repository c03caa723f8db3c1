"""Delivers clicks to a kernel whose main thread is busy, without side effects there.

ipykernel 7.4 needs two measures. First, ipykernel would route a message for a widget of a cell to
the main shell, where the message waits until the running cell ends. This module routes it to a
subshell. Each kind of widget has its own subshell, so a board that reads slow files does not delay
a panel's clicks. Second, every message fires IPython's post_execute hooks, which close the pyplot
figures that the running cell is drawing. This module passes the message to the widget without these
hooks. Without this support (ipykernel 6, Colab, VS Code), the panel works, but clicks wait for the
running cell.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any

# The subshells, by kernel object (one per process) and kind of widget.
_subshells: dict[tuple[int, str], str] = {}
_lock = threading.Lock()  # makes sure that each subshell is created once


def harden(widget: Any) -> None:
    """Routes the widget's messages to a subshell; called once, in the cell that shows it."""
    comm = widget.comm
    if hasattr(comm, "_reply_subshell_for"):
        try:
            with _lock:
                subshell = _own_subshell(type(widget).__name__)
            comm._reply_subshell_for = lambda _data, _default: subshell
        except Exception:  # noqa: BLE001 - private parts of ipykernel may change in any way
            comm._reply_subshell_for = lambda _data, default: default
    if hasattr(comm, "handle_msg") and hasattr(comm, "_msg_callback"):
        comm.handle_msg = lambda message: comm._msg_callback and comm._msg_callback(message)


def live_widgets() -> list[Any]:
    """Returns the widgets of this process that are not closed (ipywidgets 8 has no public API)."""
    from ipywidgets.widgets import widget

    return list(widget._instances.values())


def _own_subshell(kind: str, timeout: float = 5.0) -> str:
    """Returns the subshell for a kind of widget; the kernel creates it first (ipykernel 7.4)."""
    from IPython import get_ipython

    kernel = get_ipython().kernel
    key = (id(kernel), kind)
    if key in _subshells:
        return _subshells[key]
    made: concurrent.futures.Future[str] = concurrent.futures.Future()

    def make() -> None:  # in the control thread, which owns the socket
        try:
            socket = kernel.shell_channel_thread.manager.control_to_shell_channel.from_socket
            socket.send_json({"type": "create"})
            made.set_result(socket.recv_json()["subshell_id"])
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            made.set_exception(error)

    kernel.control_thread.io_loop.add_callback(make)
    _subshells[key] = made.result(timeout)
    return _subshells[key]
