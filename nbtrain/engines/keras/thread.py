"""Carries thread-local state of Keras and TensorFlow from the cell into the training thread.

`model.fit` in a cell uses this state; a new thread starts without it.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python.eager import context
from tensorflow.python.ops import summary_ops_v2

# Keras's custom-object scopes, numbers in names that it gives, and the generator of `keras.random`
# calls without a seed, which both threads share. They have no public names.
_ATTRIBUTES = ("custom_objects_scope_dict", "object_name_uids", "global_seed_generator")


class ThreadState:
    """The state of the calling thread, to be entered in another."""

    def __init__(self) -> None:
        self._policy = keras.config.dtype_policy()
        self._interactive = keras.config.is_interactive_logging_enabled()
        self._filtering = keras.config.is_traceback_filtering_enabled()
        self._attributes = {name: _copied(name) for name in _ATTRIBUTES}
        self._strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
        self._device = context.context().device_name
        self._scope = tf.get_current_name_scope()
        self._writer = summary_ops_v2._summary_state.writer
        self._step = tf.summary.experimental.get_step()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Sets the state in this thread within the block."""
        keras.config.set_dtype_policy(self._policy)
        if self._interactive:
            keras.config.enable_interactive_logging()
        else:
            keras.config.disable_interactive_logging()
        if self._filtering:
            keras.config.enable_traceback_filtering()
        else:
            keras.config.disable_traceback_filtering()
        for name, value in self._attributes.items():
            global_state.set_global_attribute(name, value)
        with contextlib.ExitStack() as scopes:
            if self._strategy is not None:
                scopes.enter_context(self._strategy.scope())
            if self._device:
                scopes.enter_context(tf.device(self._device))
            if self._scope:
                scopes.enter_context(tf.name_scope(f"{self._scope}/"))
            if self._writer is not None:
                scopes.enter_context(self._writer.as_default())
            tf.summary.experimental.set_step(self._step)
            yield


def _copied(name: str) -> Any:
    """Copies state so that the two threads are independent, except for the generator."""
    value = global_state.get_global_attribute(name)
    return copy.copy(value) if isinstance(value, dict) else value
