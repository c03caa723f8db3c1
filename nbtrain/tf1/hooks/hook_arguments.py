"""Checks the hooks given to a run of a MonitoredSession."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.tf1.hooks.eval_hook import EvalHook

v1 = tf.compat.v1


def check_hooks(**given: Any) -> None:
    """Raises an ArgumentError for arguments that are not sequences of hooks."""
    kind = v1.train.SessionRunHook
    for name, hooks in given.items():
        if isinstance(hooks, kind):
            raise ArgumentError(f"{name}={hooks!r} is one hook: give a list, {name}=[hook].")
        if not isinstance(hooks, Sequence) or not all(isinstance(hook, kind) for hook in hooks):
            raise ArgumentError(
                f"{name}={hooks!r}: give a list of tf.compat.v1.train.SessionRunHook objects."
            )


def check_tags(scalars: Iterable[str], hooks: Sequence[Any]) -> None:
    """Raises an ArgumentError if two hooks, or a hook and a scalar, have the same tag."""
    taken = set(scalars)
    for hook in hooks:
        if not isinstance(hook, EvalHook):
            continue
        if twice := sorted(taken & hook.tags):
            raise ArgumentError(
                f"An EvalHook evaluates {twice[0]!r}, and a scalar or another EvalHook is recorded "
                f"under that tag: give the metric another, such as 'val_{twice[0]}'."
            )
        taken |= hook.tags
