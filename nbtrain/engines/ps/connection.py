"""The connection of this process to a cluster; a process can have one at a time."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from nbtrain.cluster.description import Description
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.states import Phase
from nbtrain.engines.object_saver import as_checkpoint
from nbtrain.engines.ps.servers import own_address
from nbtrain.inner.tensorflow import COORDINATOR_THREADS, dead_workers, stop_of
from nbtrain.recording.tags import by_tag, check_real
from nbtrain.steer import registry

# Held by the run that trains on a cluster: a second connection loses the variables of the first.
_ONE_AT_A_TIME = threading.Lock()

# The beginning of the names of nbtrain's own threads that call servers.
CALLER = "nbtrain calls the cluster"
# Seconds to wait for the threads of the coordinator to end.
_END_SECS = 3.0


class Built(NamedTuple):
    """The result of a user's `build`."""

    step: Callable[..., Any]
    checkpoint: tf.train.Checkpoint | None = None
    hyperparameters: Any = None


class Connection:
    """A connected cluster with the user's variables on its parameter servers; training thread.

    Args:
        description: The cluster.
        build: Creates the variables; returns the parts of a `Built`, or the step alone.
        data: Called in each worker: returns its `tf.data.Dataset`; None for none.

    Attributes:
        description: As given.
        coordinator: TensorFlow's `ClusterCoordinator`.
        built: The user's step, checkpoint and hyperparameters.
        step: The function that is scheduled.
    """

    def __init__(
        self,
        description: Description,
        build: Callable[[], Any],
        data: Callable[[], tf.data.Dataset] | None,
    ) -> None:
        # With this variable, TensorFlow calls a lost worker thousands of times a second.
        os.environ.pop("GRPC_FAIL_FAST", None)
        self.description = description
        jobs = {job: list(held) for job, held in description.jobs.items() if job != "evaluator"}
        jobs["chief"] = [own_address(description)]
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(jobs), task_type="chief", task_id=0, rpc_layer="grpc"
        )
        self._strategy = tf.distribute.ParameterServerStrategy(resolver)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self._strategy)
        with self._strategy.scope():
            self.built = _built(build())
        self._args: tuple[Any, ...] = ()
        if data is not None:
            repeated = self.coordinator.create_per_worker_dataset(lambda: data().repeat())
            self._args = (iter(repeated),)
        self.step = self._scheduled(self.built.step)
        self._traced = False

    def schedule(self) -> Any:
        """Schedules a step on one of the workers; returns its `RemoteValue`.

        Raises:
            Exception: The error of an earlier step, or of a lost parameter server.
        """
        remote = self.coordinator.schedule(self.step, args=self._args)
        if not self._traced:
            self._traced = True
            gc.collect()  # deletes functions now, while all workers answer: see pipeline.py
        return remote

    def lost_workers(self) -> list[int]:
        """Returns the numbers of the workers that are lost at present; any thread."""
        return list(dead_workers(self.coordinator))

    def close(self) -> None:
        """Ends the threads of the coordinator, which would otherwise keep calling lost workers.

        A thread that calls a lost worker returns only when that worker is back, so this does not
        wait for it longer than a few seconds; see `is_calling`.
        """
        stop = stop_of(self.coordinator)
        if stop is not None:
            ending = threading.Thread(target=stop, name=f"{CALLER}: the end", daemon=True)
            ending.start()
            ending.join(_END_SECS)

    def _scheduled(self, step: Callable[..., Any]) -> Any:
        strategy = self._strategy

        @tf.function
        def scheduled(*iterators: Any) -> dict[str, tf.Tensor]:
            # Keras optimizers need a replica; a worker has one, or one for each of its GPUs.
            args = tuple(next(each) for each in iterators)
            values = _checked(strategy.run(step, args=args))
            mean = tf.distribute.ReduceOp.MEAN
            return {tag: strategy.reduce(mean, values[tag], axis=None) for tag in values}

        return scheduled


def is_calling() -> bool:
    """Returns whether a thread of an earlier connection still calls a server.

    Connecting meanwhile would crash the process: the new connection frees the objects that
    TensorFlow uses in that call.
    """
    threads = threading.enumerate()
    frames = sys._current_frames()
    names = (*COORDINATOR_THREADS, CALLER)
    found = [frames.get(each.ident or 0) for each in threads if each.name.startswith(names)]
    # A thread that waits in Python, for its next task, calls nothing.
    return any(frame and frame.f_code.co_filename != threading.__file__ for frame in found)


@contextlib.contextmanager
def connecting(name: str) -> Iterator[None]:
    """Reserves the cluster of this process inside the block, for a run of this name.

    Raises:
        BusyError: Another run of this kernel has not ended: its variables would be lost.
    """
    idle = (Phase.CREATED, Phase.FINISHED, Phase.STOPPED, Phase.FAILED)
    others = [
        run.name
        for run in list(registry.runs.values())
        if run.name != name and run.status.phase not in idle
    ]
    if others or not _ONE_AT_A_TIME.acquire(blocking=False):
        raise BusyError(
            f"The run {', '.join(others) or 'of another cluster'} of this kernel has not ended. "
            "To connect to a cluster, TensorFlow gives up the variables of this process that are "
            "there already: stop that run first, or train in another kernel."
        )
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()


def _built(given: Any) -> Built:
    """Returns the result of `build` as a `Built`.

    Raises:
        ArgumentError: The result has other parts.
    """
    parts: Sequence[Any] = given if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= len(Built._fields) or not callable(parts[0]):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise ArgumentError(
            f"build() returns {kinds}: return the step, the tf.train.Checkpoint and the "
            "hyperparameters, such as (step, checkpoint, {'learning_rate': rate}); the last two "
            "can be left out."
        )
    built = Built(*parts)
    as_checkpoint(built.checkpoint)
    return built


def _checked(values: Any) -> Mapping[str, Any]:
    """Returns the scalars of a step by tag, while it is traced."""
    found = by_tag(values)
    for tag, value in found.items():
        check_real(tag, value)
    return found
