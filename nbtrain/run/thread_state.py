"""Carries thread-local state of Keras and TensorFlow from the cell into the training thread.

`model.fit` in a cell uses this state; a new thread starts without it.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python.eager import context

from nbtrain.run.summaries import Step, theirs


class ThreadState:
    """The state of the calling thread, to be entered in another."""

    def __init__(self) -> None:
        # Keras's: its configuration, scopes of custom objects, numbers in names that it gives, and
        # the generator of `keras.random` calls without a seed, which both threads share.
        self._keras = {
            name: copy.copy(value) if isinstance(value, (dict, list)) else value
            for name, value in vars(global_state.GLOBAL_STATE_TRACKER).items()
        }
        self._strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
        self._device = context.context().device_name
        self._scope = tf.get_current_name_scope()
        self._theirs = theirs()
        step = tf.summary.experimental.get_step()
        self._step = None if isinstance(step, Step) else step

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Sets the state in this thread within the block."""
        vars(global_state.GLOBAL_STATE_TRACKER).update(self._keras)
        with contextlib.ExitStack() as scopes:
            if self._strategy is not None:
                scopes.enter_context(self._strategy.scope())
            if self._device:
                scopes.enter_context(tf.device(self._device))
            if self._scope:
                scopes.enter_context(tf.name_scope(f"{self._scope}/"))
            scopes.enter_context(self._theirs())
            tf.summary.experimental.set_step(self._step)
            yield
