"""The services of a chief Supervisor: summaries, steps a second, checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError
from nbtrain.engines.graph.dependencies import placeholders_below
from nbtrain.engines.graph.savers import saves
from nbtrain.engines.graph.servers import LOST, unanswered
from nbtrain.engines.graph.session_mutex import SessionMutex
from nbtrain.engines.graph.writing import CheckpointWriter
from nbtrain.run.threads import Coordinator, LooperThread

# A summary is on disk within a second, even the last of a burst.
_FLUSH_SECS = 1.0
# Seconds between two checks if a thread other than the owner of the mutex trains.
_FOLLOW_SECS = 0.1
# Attempts to save between two steps: the first may find that another thread trains.
_ATTEMPTS = 3
# Seconds for the last summary, which may wait for input that never comes.
_SUMMARY_SECS = 5.0
# Messages of a summary of queues that have ended, were closed by the stop, or are empty.
_NO_INPUT = (
    tf.errors.OutOfRangeError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)


class Supervised(Protocol):
    """The interface between the services and their Supervisor."""

    coord: Coordinator
    saver: Any
    save_path: str
    save_summaries_secs: float
    summary_op: Any
    ready_op: Any
    summary_writer: Any
    global_step: Any

    def write_summary(self, summary: Any, step: int | None) -> None:
        """Writes a summary, serialized or not."""

    def step_of(self, sess: tf.compat.v1.Session) -> int | None:
        """Returns the global step of a session."""


class Services:
    """The services of one session.

    Checkpoints are saved between two calls of the training thread. Summaries are computed
    concurrently, as in TensorFlow: they may need data that the training thread puts into a queue.
    Each service acts first at once, as in TensorFlow, and last in `finish`.

    Args:
        supervisor: Provides saver, summaries and writer.
        turns: The mutex of the session.
        save_model_secs: Seconds between two checkpoints; 0 or None disables this.
        save_model_steps: Steps between two checkpoints; None disables this.
        save_summaries_steps: Steps between two summaries; None disables this.
    """

    def __init__(
        self,
        supervisor: Supervised,
        turns: SessionMutex,
        *,
        save_model_secs: float | None,
        save_model_steps: int | None,
        save_summaries_steps: int | None,
    ) -> None:
        self._supervisor = supervisor
        self._sess = turns.sess
        self._mutex = turns
        self._writer = supervisor.summary_writer
        self._checkpoints = CheckpointWriter(supervisor)
        self._save_secs = save_model_secs
        self._saves = saves(supervisor.saver) and bool(save_model_secs or save_model_steps)
        self._summarizes = bool(
            self._writer
            and supervisor.summary_op is not None
            and (supervisor.save_summaries_secs or save_summaries_steps)
        )
        self._by_steps: list[tuple[Every, Callable[[], object]]] = []
        if self._saves and save_model_steps:
            self._by_steps.append((Every(steps=save_model_steps), self._save_here))
        if self._summarizes and save_summaries_steps:
            self._by_steps.append((Every(steps=save_summaries_steps), self._summarize))
        self._calls, self._calls_left = 0, 0  # since the last look, and until the next
        self._looked: int | None = None
        self._seen: tuple[Any, int | None] = None, None  # the calls until then, and the step
        self._mixed = False  # whether another thread was found to train
        self._saved_step: int | None = None
        self._summed_step: int | None = None
        self._summed: bytes | None = None
        self._count: tuple[float, int] | None = None
        if self._summarizes:
            _check_unfed(supervisor.summary_op)

    def start(self) -> list[LooperThread]:
        """Starts the threads, each named and under the Supervisor's coordinator."""
        step = self._step()
        if step is not None and self._writer:
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            self._writer.add_session_log(start, step)
        if self._by_steps and step is not None:
            for every, _ in self._by_steps:
                every.start(step, 0.0)
            self._mutex.before_run.append(self._look)
        threads = list(self._threads())
        for thread in threads:
            thread.start()
        return threads

    def finish(self, secs: float) -> None:
        """Writes the last checkpoint and summary, of the state in which the training ended.

        Args:
            secs: Seconds to wait for a running call of the training thread; after that nothing is
                written, and a warning says so.

        Raises:
            tf.errors.UnavailableError: A server of the session does not answer.
        """
        self._mutex.before_run.clear()
        if getattr(self._sess, "_closed", False):  # a program may close it before it stops
            if self._saves:
                tf.compat.v1.logging.warning(
                    "The last checkpoint was not saved: the session was closed before the "
                    "Supervisor stopped. Leave closing to managed_session(), or call sv.stop() "
                    "before sess.close()."
                )
            return
        if why := self.unanswered():
            text = f"The last checkpoint and summary were not written: {why}."
            raise tf.errors.UnavailableError(None, None, text)
        deadline = time.monotonic() + secs
        if not self._mutex.take(self._finish, lambda: time.monotonic() > deadline):
            tf.compat.v1.logging.warning(
                "The last checkpoint and summary were not written: the training thread is still in "
                "a call of its session, after stop_grace_secs."
            )

    def unanswered(self) -> str | None:
        """Says which server of the session is lost or silent; None if all answer."""
        supervisor = self._supervisor
        return unanswered(self._sess, supervisor.ready_op, supervisor.global_step)

    def try_to_finish(self, first: Exception) -> None:
        """Does the same after an error, which remains the one to raise."""
        if isinstance(first, LOST):
            return
        try:
            self.finish(0.0)
        except Exception as error:  # noqa: BLE001 - the first error is the one to raise
            tf.compat.v1.logging.warning(
                "The last checkpoint and summary were not written: %s", error
            )

    def _finish(self) -> bool:
        if self._saves and not self._is_at(self._saved_step):
            self._save()
        if self._summarizes and not self._is_at(self._summed_step):
            limit = tf.compat.v1.RunOptions(timeout_in_ms=int(1000 * _SUMMARY_SECS))
            with contextlib.suppress(*_NO_INPUT):
                self._summarize(limit, last=True)
        return True

    def _is_at(self, step: int | None) -> bool:
        return step is not None and step == self._step()

    def _threads(self) -> Iterator[LooperThread]:
        secs, step = self._supervisor.save_summaries_secs, self._supervisor.global_step
        if self._writer and secs:
            if self._summarizes:
                yield self._looper("summaries", secs, self._summarize)
            if step is not None:
                yield self._looper("steps a second", secs, self._count_steps)
        if self._by_steps and step is not None and not self._sess.sess_str:
            yield self._looper("turns", _FOLLOW_SECS, self._follow)
        if self._saves and self._save_secs:
            yield self._looper("checkpoints", self._save_secs, self._save_in_turn)
        if self._writer:
            yield self._looper("flush", _FLUSH_SECS, self._writer.flush)

    def _looper(self, name: str, secs: float, act: Callable[[], object]) -> LooperThread:
        return LooperThread(self._supervisor.coord, secs, act, name=f"nbtrain {name}")

    def _step(self) -> int | None:
        return self._supervisor.step_of(self._sess)

    def _look(self) -> None:
        """Does what is due by steps, before a call of the training thread.

        The step is read only when something can be due, at the speed of the calls so far.
        """
        self._calls += 1
        if self._calls < self._calls_left:
            return
        step = self._step() or 0
        back = self._looked is not None and step < self._looked
        for every, act in self._by_steps:
            if back:  # the program restored a checkpoint: count from there
                every.start(step, 0.0)
            elif every(step, 0.0):
                act()
        left = min(every.next_step for every, _ in self._by_steps) - step
        throughput = 0.0 if self._looked is None else (step - self._looked) / self._calls
        self._calls_left = 1 if self._looked is None else int(left / max(1.0, throughput))
        self._calls, self._looked = 0, step

    def _follow(self) -> None:
        """Finds the thread that trains, in which services due by steps are called.

        Does nothing in a cluster, where other processes train too and a dead server never answers.
        """
        self._mutex.take(self._see_who_trains, self._supervisor.coord.should_stop)

    def _see_who_trains(self) -> None:
        """Detects that another thread trains: steps were taken while the owner was silent."""
        heard, step = (self._calls, self._looked), self._step()
        (before, at), self._seen = self._seen, (heard, step)
        if (self._mixed or (heard == before and step != at)) and self._mutex.hand_over():
            self._mixed, self._calls_left = False, 0

    def _summarize(self, options: Any = None, *, last: bool = False) -> None:
        """Computes and writes a summary; the last one only if it differs from the one before."""
        supervisor = self._supervisor
        fetches = {"summary": supervisor.summary_op}
        if supervisor.global_step is not None:
            fetches["step"] = supervisor.global_step
        fetched = self._sess.run(fetches, options=options)
        step = fetched["step"].reshape(-1)[0] if "step" in fetched else None
        before, self._summed = self._summed, fetched["summary"]
        if last and step is None and self._summed == before:
            return
        self._summed_step = None if step is None else int(step)
        supervisor.write_summary(fetched["summary"], self._summed_step)

    def _count_steps(self) -> None:
        """Writes the steps a second since the last time; nothing the first time."""
        now, step = time.monotonic(), self._step() or 0
        before, self._count = self._count, (now, step)
        if before is None or now <= before[0]:
            return
        speed = (step - before[1]) / (now - before[0])
        tag = f"{self._supervisor.global_step.op.name}/sec"
        value = tf.compat.v1.Summary.Value(tag=tag, simple_value=speed)
        self._supervisor.write_summary(tf.compat.v1.Summary(value=[value]), step)

    def _save_here(self) -> None:
        if mixture := self._save_whole():
            self._discard(mixture)
            self._mixed = True

    def _save_in_turn(self) -> None:
        # Once stopping, `finish` saves.
        for _ in range(_ATTEMPTS):
            mixture = self._mutex.take(self._save_whole, self._supervisor.coord.should_stop)
            if mixture is None:
                return
            self._discard(mixture)
            if not self._mutex.hand_over():
                break
        tf.compat.v1.logging.warning(
            "No checkpoint was saved: the graph is trained by several threads at once. Save where "
            "they wait for each other, or give save_model_secs=0."
        )

    def _save_whole(self) -> str | None:
        """Saves; returns the path if a thread other than the mutex's owner has trained meanwhile.

        In a cluster other processes may always train, and no checkpoint is of a single step.
        """
        path = self._save()
        if self._sess.sess_str or self._saved_step in (None, self._step()):
            return None
        return path

    def _discard(self, path: str) -> None:
        saver, self._saved_step = self._supervisor.saver, None
        tf.compat.v1.train.remove_checkpoint(path)
        kept = [(held, when) for held, when in saver._last_checkpoints if held != path]
        saver.set_last_checkpoints_with_time(kept)  # there is no public name for the times

    def _save(self) -> str:
        step = self._step()
        path = self._checkpoints.write(self._sess, self._supervisor.save_path, step)
        self._saved_step = step
        return path


def _check_unfed(summary_op: Any) -> None:
    """Raises an ArgumentError if a summary cannot be computed without a feed."""
    for op in placeholders_below([summary_op]):
        raise ArgumentError(
            f"The summary op depends on the placeholder {op.name!r}, and a service has "
            "nothing to feed it: pass summary_op=None, and hand over what you compute "
            "yourself with sv.summary_computed(sess, summary)."
        )
