"""Asks the workers of a cluster if they answer.

TensorFlow tells all workers of each new function, and of each that is gone, and waits for their
answers with Python's lock held. A worker that is halted would so halt this process. So functions
are made only after all workers have answered.
"""

from __future__ import annotations

import contextlib
import threading

import tensorflow as tf


class Answers:
    """One question at a time to each worker; training thread only.

    Args:
        workers: The number of workers.
    """

    def __init__(self, workers: int) -> None:
        self._asked: list[threading.Thread | None] = [None] * workers

    def ask(self) -> None:
        """Asks the workers that owe no answer."""
        for worker, asked in enumerate(self._asked):
            if asked is None or not asked.is_alive():
                name = f"nbtrain asks worker {worker}"
                thread = threading.Thread(target=_ask, args=(worker,), name=name, daemon=True)
                self._asked[worker] = thread
                thread.start()

    @property
    def silent(self) -> list[int]:
        """The workers that owe an answer. The system answers for one that is gone."""
        return [n for n, asked in enumerate(self._asked) if asked is not None and asked.is_alive()]


def _ask(worker: int) -> None:
    """Returns once the worker has executed an operation, or cannot; waits without Python's lock."""
    with contextlib.suppress(tf.errors.OpError), tf.device(f"/job:worker/task:{worker}"):
        tf.raw_ops.NoOp()
