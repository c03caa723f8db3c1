"""Notifies listeners when a training thread clears its cell's outputs, as tutorials often do.

clearing.listeners.append(show_again)   # called with the place, after it was cleared
clearing.follow()                       # in the training thread
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from IPython import get_ipython
from ipywidgets import Output

from nbtrain.notebook.execution import Place, place
from nbtrain.panel.comm import live_widgets

# Called in the thread that has cleared its cell, before anything else is shown there.
listeners: list[Callable[[Place], object]] = []

_here = threading.local()


def follow() -> None:
    """Notifies the listeners when the calling thread clears outputs, by a hook of ipykernel."""
    publisher: Any = getattr(get_ipython(), "display_pub", None)
    if not hasattr(publisher, "register_hook") or getattr(_here, "followed", None) is publisher:
        return
    _here.followed = publisher

    def clear(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["header"]["msg_type"] != "clear_output" or _is_captured(message):
            return message
        publisher.session.send(publisher.pub_socket, message, ident=publisher.topic)
        for listener in list(listeners):
            listener(place())
        return None

    publisher.register_hook(clear)


def _is_captured(message: dict[str, Any]) -> bool:
    """Returns whether an `Output` widget receives the message and is cleared, not the cell."""
    parent = message["parent_header"].get("msg_id")
    return any(isinstance(each, Output) and each.msg_id == parent for each in live_widgets())
