"""Hooks of a MonitoredSession."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

import nbtrain


def value_of(run: nbtrain.Run, name: str) -> Any:
    """Returns the contents of the latest checkpoint on disk."""
    return tf.train.load_checkpoint(run.checkpoints[-1].path).get_tensor(name)


class AtStep(tf.compat.v1.train.SessionRunHook):
    """Calls something in after_run, with the number of the call."""

    def __init__(self, act: Callable[[int], object]) -> None:
        self._act = act
        self.calls = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls += 1
        self._act(self.calls)


class Raising(tf.compat.v1.train.SessionRunHook):
    """Raises in one of its methods."""

    def __init__(self, method: str) -> None:
        setattr(self, method, self._raise)

    def _raise(self, *_args: Any) -> None:
        raise LookupError("the hook is broken")


class Watching(tf.compat.v1.train.SessionRunHook):
    """Keeps every session that is made."""

    def __init__(self) -> None:
        self.sessions: list[Any] = []

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.sessions.append(session)


METHODS = ["begin", "after_create_session", "before_run", "after_run", "end"]
