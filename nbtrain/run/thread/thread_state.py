"""Copies the state that TensorFlow, Keras and NumPy keep for a thread to a run's new thread.

A cell sets this state for its own thread, by a call or by a `with` around the start. The code that
the run executes expects the same state, as in a loop in the cell. A new thread starts without it.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from nbtrain.inner.keras import state_of_thread
from nbtrain.inner.tensorflow import add_callback, callbacks, device_name
from nbtrain.run.thread.summaries import RunStep, theirs


class ThreadState:
    """The state of the calling thread, to be entered in another.

    TensorFlow does not report whether some scopes are entered, so these are not copied:
    `tf.variable_creator_scope`, `tf.control_dependencies` and `tf.GradientTape`.
    """

    def __init__(self) -> None:
        # Keras's: its configuration, scopes of custom objects, numbers in names that it gives, and
        # the generator of `keras.random` calls without a seed, which both threads share.
        self._keras = {
            name: copy.copy(value) if isinstance(value, (dict, list)) else value
            for name, value in state_of_thread().items()
        }
        # A thread without a graph of its own executes eagerly, if TensorFlow does so by default.
        self._graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        self._session = tf.compat.v1.get_default_session()
        self._strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
        self._device = device_name()
        self._scope = tf.get_current_name_scope()
        self._callbacks = callbacks()  # of `enable_check_numerics`
        self._filters = tf.debugging.is_traceback_filtering_enabled()
        self._theirs = theirs()
        step = tf.summary.experimental.get_step()
        self._step = None if isinstance(step, RunStep) else step
        self._errors = np.geterr()  # in a context variable only since NumPy 2.0

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Sets the state in this thread, which must end with the block or soon after it."""
        state_of_thread().update(self._keras)
        np.seterr(**self._errors)
        for callback in self._callbacks:
            add_callback(callback)
        if not self._filters:
            tf.debugging.disable_traceback_filtering()
        scopes = contextlib.ExitStack()
        if self._graph is not None:
            scopes.enter_context(self._graph.as_default())
        if self._session is not None:
            scopes.enter_context(self._session.as_default())
        if self._strategy is not None:
            scopes.enter_context(self._strategy.scope())
        if self._device:
            scopes.enter_context(tf.device(self._device))
        if self._scope:
            scopes.enter_context(tf.name_scope(f"{self._scope}/"))
        scopes.enter_context(self._theirs())
        tf.summary.experimental.set_step(self._step)
        try:
            yield
        finally:
            # The program may have left scopes of its own open, which end with the thread.
            with contextlib.suppress(AssertionError, RuntimeError):
                scopes.close()
