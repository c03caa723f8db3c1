"""The coordinator of a run, and its threads that call a function every few seconds.

Both extend TensorFlow's classes (`tf.train.Coordinator`, `tf.compat.v1.train.LooperThread`) for
notebooks: threads run in a given graph even with eager execution on, and the clock of a loop
neither jumps nor catches up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbtrain.inner.tensorflow import registered_with
from nbtrain.run.process import endings
from nbtrain.run.thread.thread_state import ThreadState
from nbtrain.steer import surroundings


class Coordinator(tf.train.Coordinator):
    """A `tf.train.Coordinator` whose threads run in a graph, and that reports a stop.

    The arguments are the same. Two things differ:

    - `join` raises the first error of a thread, even if it comes after a request to stop.
      TensorFlow's coordinator loses such an error. Errors caused by the stop itself are dropped.
    - A thread that has not ended stays registered after a `join`, so that it can be named.

    Args:
        clean_stop_exception_types: Errors that stop the threads but are not raised by `join`;
            None means `tf.errors.OutOfRangeError`, the end of an input queue.
        graph: Default graph of every thread that registers; None leaves them eager.
        on_stop: Called, in the stopping thread, each time a stop is requested.

    Attributes:
        exhausted: Whether the program has stopped by itself, at its end or at the end of its
            input (an error of a clean stop), and nobody else has requested a stop.
        unanswered: Whether a request to stop waits for a join; an error of a thread is not a
            request.
    """

    _exc_info_to_raise: Any  # TensorFlow's own
    _registered_threads: set[threading.Thread]

    def __init__(
        self,
        clean_stop_exception_types: Sequence[type[BaseException]] | None = None,
        *,
        graph: tf.Graph | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(clean_stop_exception_types)
        self._graph = graph
        self.exhausted = False
        self.unanswered = False
        self.on_stop = on_stop

    def register_thread(self, thread: threading.Thread) -> None:
        """Registers a thread before its start; if there is a graph, the thread runs in it."""
        # TensorFlow calls this for every thread that it starts for a graph.
        if self._graph is not None and not getattr(thread, "_nbtrain_graph", None):
            run, graph = thread.run, self._graph

            def run_in_graph() -> None:
                with graph.as_default():
                    run()

            thread.run = run_in_graph  # type: ignore[method-assign]
            thread._nbtrain_graph = graph  # type: ignore[attr-defined]
        super().register_thread(thread)

    def request_stop(self, ex: Any = None) -> None:
        """Asks every thread to stop; `ex` is the error to report, if any. Any thread.

        The first error is kept, and raised by `join`, even if it comes after a request to stop.
        """
        if ex is not None and not self.should_stop() and self._filter_exception(ex) is None:
            self.exhausted = True
        self.unanswered = self.unanswered or ex is None
        super().request_stop(ex)
        if ex is not None:
            self._keep(ex)  # even if another thread has requested the stop first
        if self.on_stop is not None:
            self.on_stop()

    def clear_stop(self) -> None:
        """Clears the stop and its error, for another use."""
        self.exhausted = self.unanswered = False
        super().clear_stop()

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the threads to end, and raises the first error, as TensorFlow's does.

        A thread that has not ended stays registered.
        """
        registered = set(self._registered_threads)
        try:
            super().join(threads, stop_grace_period_secs, ignore_live_threads)
        finally:
            self.unanswered = False
            with self._lock:
                self._registered_threads |= {thread for thread in registered if thread.is_alive()}

    def renew(self) -> None:
        """Clears the stop for further use, except a request that no join has answered."""
        unanswered = self.unanswered
        if self.joined or not unanswered:
            self.clear_stop()
        if unanswered:
            self.request_stop()

    def _keep(self, ex: Any) -> None:
        """Keeps an error if it is the first."""
        info = ex if isinstance(ex, tuple) else (type(ex), ex, ex.__traceback__)
        caused = isinstance(info[1], tf.errors.CancelledError)  # by the stop itself
        with self._lock:
            if not caused and self._filter_exception(ex) and self._exc_info_to_raise is None:
                self._exc_info_to_raise = info


def serves(thread: threading.Thread) -> bool:
    """Returns whether a thread works for a graph, such as a queue runner's or a looper's."""
    return hasattr(thread, "_nbtrain_graph")


def names_of_live(coord: Any) -> list[str]:
    """Returns the names of a coordinator's live and working threads, sorted; any thread."""
    names = (thread.name for thread in registered_with(coord) if thread.is_alive())
    # A queue runner has one more thread, which only waits for the stop to close the queue.
    return sorted(name for name in names if not name.endswith("-close_on_stop"))


class LooperThread(tf.compat.v1.train.LooperThread):
    """A daemon thread that calls a function at an interval until the coordinator stops.

    An error of the function stops the coordinator. A subclass may override `start_loop`,
    `run_loop` and `stop_loop`. The thread has the arguments of `tf.compat.v1.train.LooperThread`,
    and differs in four things:

    - Missed ticks are dropped. TensorFlow's thread makes up for each, in a burst after a long
      call or the sleep of a laptop. The clock does not jump with the time of day.
    - `stop_loop` is called after an error too, so that it can close what the loop has opened.
    - The function runs in the context of the thread that starts the loop, and with the state that
      TensorFlow and Keras keep for that thread. In a notebook, its output appears under the cell of
      that thread.
    - At the end of the process the coordinator is asked to stop, and the thread is joined.

    Args:
        coord: The coordinator that registers the thread, nbtrain's or TensorFlow's.
        timer_interval_secs: Seconds between two calls; None calls again at once.
        target: The function; None leaves the work to an overridden `run_loop`.
        args, kwargs: The arguments of `target`.
        name: The thread's name.
    """

    def __init__(
        self,
        coord: tf.train.Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        self._secs = timer_interval_secs or 0.0
        self.name = name or f"{endings.NAME} {super().name}"

    @staticmethod
    def loop(
        coord: tf.train.Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts and returns a thread that calls `target` at an interval in seconds."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def request_stop(self) -> None:
        """Asks the coordinator to stop; any thread."""
        self._coord.request_stop()

    def start(self) -> None:
        """Starts the thread in the context of the calling thread, and with its state."""
        context, state, run = surroundings.current.context(), ThreadState(), self.run

        def run_in_state() -> None:
            with self._coord.stop_on_exception(), state.entered():
                run()

        self.run = lambda: context.run(run_in_state)  # type: ignore[method-assign]
        super().start()

    def run(self) -> None:
        """Runs `start_loop`, `run_loop` at every tick, and `stop_loop`."""
        with self._coord.stop_on_exception():
            self.start_loop()
            try:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    self.run_loop()
                    due = next_tick(due, self._secs, time.monotonic())
            finally:
                self.stop_loop()


def next_tick(due: float, secs: float, now: float) -> float:
    """Returns the first tick after `now` of a clock that ticks every `secs` since `due`."""
    due += secs
    if due >= now or not secs:
        return max(due, now)
    missed = (now - due) // secs + 1
    return due + missed * secs
