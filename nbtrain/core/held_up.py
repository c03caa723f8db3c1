"""Waits for the answer to a command, and reports meanwhile what delays it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from nbtrain.core.text.visible import say

# Seconds between two checks of what delays the answer.
_POLL_SECS = 0.5


def waited(answered: threading.Event, timeout: float | None, held: Callable[[], str]) -> bool:
    """Waits at most `timeout` seconds for an answer; returns whether it has come.

    Args:
        answered: Set when the answer has come.
        timeout: Seconds; None waits as long as it takes.
        held: Returns what delays the answer, in words; "" for nothing. The words are written to the
            standard error, once for each delay.
    """
    left, told = math.inf if timeout is None else timeout, ""
    while not answered.wait(max(0.0, min(left, _POLL_SECS))):
        left -= _POLL_SECS
        if left <= 0:
            return False
        before, told = told, held()
        if told and not before:
            say(f"nbtrain: {told}")
    return True
