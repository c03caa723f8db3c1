"""Clicks that reach a kernel whose main thread is busy, and harm nothing there.

Two things stand in the way (ipykernel 7.4). A message of a widget made in a cell is
routed back to the main shell, and waits there until the running cell ends: it is
routed to a subshell instead, one for each kind of widget: a board that reads slow files
holds no click of a panel up. And every message fires IPython's post_execute hooks,
which close the pyplot figures that the running cell is drawing: it is handed to
the widget without them. Where a part of this is missing (ipykernel 6, Colab, VS Code)
the panel works, and clicks wait for the running cell.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any

# The subshells, by the kernel object, of which one lives in a process, and the kind of widget.
_subshells: dict[tuple[int, str], str] = {}
_lock = threading.Lock()  # protects the making of one: it is made once


def harden(widget: Any) -> None:
    """Route the widget's messages; to be called in the cell that shows it, once."""
    comm = widget.comm
    if hasattr(comm, "_reply_subshell_for"):
        try:
            with _lock:
                subshell = _own_subshell(type(widget).__name__)
            comm._reply_subshell_for = lambda _data, _default: subshell
        except Exception:  # noqa: BLE001 - private parts of ipykernel: any change may come
            comm._reply_subshell_for = lambda _data, default: default
    if hasattr(comm, "handle_msg") and hasattr(comm, "_msg_callback"):
        comm.handle_msg = lambda message: comm._msg_callback and comm._msg_callback(message)


def _own_subshell(kind: str, timeout: float = 5.0) -> str:
    """A subshell for nbtrain's messages, made by the kernel itself (ipykernel 7.4)."""
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
