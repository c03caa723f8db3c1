"""Gives threads executors of their own, so that a halted worker does not hold the others.

TensorFlow's coordinator has a thread for each worker. After each step this thread waits until the
executor that all threads share has nothing left to do. Messages to every worker go through that
one, such as the copy of a result. So while one worker is halted, the threads of all wait for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tensorflow.python.distribute.coordinator import cluster_coordinator
from tensorflow.python.eager import context, executor


def own_executor() -> Any:
    """Gives the calling thread an executor of its own, for as long as it keeps the result."""
    own = executor.new_executor(enable_async=False)
    context.context().executor = own
    return own


@contextlib.contextmanager
def own_executors() -> Iterator[None]:
    """Gives executors of their own to the threads of a coordinator that is made inside the block.

    There is no public name for this: without the private one the threads share theirs.
    """
    worker: Any = cluster_coordinator.Worker
    process = getattr(worker, "_process_queue", None)
    if process is None:
        yield
        return

    def process_apart(self: Any) -> None:
        _own = own_executor()
        process(self)

    worker._process_queue = process_apart
    try:
        yield
    finally:
        worker._process_queue = process
