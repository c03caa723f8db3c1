"""The services of a chief Supervisor: summaries, steps a second, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.inner.tensorflow import is_closed
from nbtrain.run.thread.threads import LooperThread
from nbtrain.tf1.saving.savers import saves
from nbtrain.tf1.saving.writing import Checkpoints
from nbtrain.tf1.servers import LOST, unanswered
from nbtrain.tf1.session_mutex import SessionMutex
from nbtrain.tf1.supervising.step_services import ByStepServices
from nbtrain.tf1.supervising.summaries import StepRate, SupervisorSummaries

# A summary is on disk within a second, even the last of a burst.
_FLUSH_SECS = 1.0

# Seconds between two checks for steps that another thread trains.
_POLL_SECS = 1.0

_UNSEEN = (
    "The session is trained by another thread than the one that prepared it: nothing is saved or "
    "summarized by steps (save_model_steps=, save_summaries_steps=) before the end. Train in the "
    "thread that prepares the session, or give save_model_secs=."
)


class Services:
    """The services of one session.

    Checkpoints are saved between two calls of the training thread. Summaries are computed
    concurrently, as in TensorFlow: they may need data that the training thread puts into a queue.
    Each service acts first at once, as in TensorFlow, and last in `finish`.

    Args:
        supervisor: Provides saver, summaries and writer.
        mutex: The mutex of the session.
        save_model_secs, save_model_steps, save_summaries_steps: As in the Supervisor; 0 and None
            disable each.
    """

    def __init__(
        self,
        supervisor: Any,
        mutex: SessionMutex,
        *,
        save_model_secs: float | None,
        save_model_steps: int | None,
        save_summaries_steps: int | None,
    ) -> None:
        self._supervisor = supervisor
        self._sess = mutex.sess
        self._mutex = mutex
        self._save_secs = save_model_secs
        self._checkpoints: Checkpoints | None = None
        if saves(supervisor.saver) and (save_model_secs or save_model_steps):
            self._checkpoints = Checkpoints(supervisor, self._sess)
        self._summaries: SupervisorSummaries | None = None
        if (
            supervisor.summary_writer
            and supervisor.summary_op is not None
            and (supervisor.save_summaries_secs or save_summaries_steps)
        ):
            self._summaries = SupervisorSummaries(supervisor, self._sess)
        self._by_steps = ByStepServices(self._step)
        self._warned = False
        if self._checkpoints and save_model_steps:
            self._by_steps.add(save_model_steps, self._checkpoints.save)
        if self._summaries and save_summaries_steps:
            self._by_steps.add(save_summaries_steps, self._summaries.write)

    def start(self) -> list[LooperThread]:
        """Starts the threads, each named and under the Supervisor's coordinator."""
        step = self._step()
        if step is not None and self._supervisor.summary_writer:
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            self._supervisor.summary_writer.add_session_log(start, step)
        if step is not None and self._by_steps.start(step):
            self._mutex.before_run.append(self._by_steps.run_due)
        threads = list(self._threads())
        if self._mutex.before_run and not self._sess.sess_str:  # in a cluster, others train too
            threads.append(self._looper("steps", _POLL_SECS, self._warn_of_others))
        for thread in threads:
            thread.start()
        return threads

    def finish(self, secs: float) -> None:
        """Writes the last checkpoint and summary, of the state in which the training ended.

        Args:
            secs: Seconds to wait for a running call of the training thread; after that nothing is
                written, and a warning is logged.

        Raises:
            tf.errors.UnavailableError: A server of the session does not answer.
        """
        self._mutex.before_run.clear()
        if is_closed(self._sess):  # a program may close it before it stops
            if self._checkpoints:
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
        if not self._mutex.run_between(self._finish, lambda: time.monotonic() > deadline):
            tf.compat.v1.logging.warning(
                "The last checkpoint and summary were not written: the training thread is still in "
                "a call of its session, after stop_grace_secs."
            )

    def unanswered(self) -> str | None:
        """Returns which server of the session is lost or silent, in words; None if all answer."""
        supervisor = self._supervisor
        return unanswered(self._sess, supervisor.ready_op, supervisor.global_step)

    def try_to_finish(self, first: Exception) -> None:
        """Does the same as `finish` after an error; logs its own errors, as the first is raised."""
        if isinstance(first, LOST):
            return
        try:
            self.finish(0.0)
        except Exception as error:  # noqa: BLE001 - the first error is the one to raise
            tf.compat.v1.logging.warning(
                "The last checkpoint and summary were not written: %s", error
            )

    def _finish(self) -> bool:
        if self._checkpoints:
            self._checkpoints.save_last()
        if self._summaries:
            self._summaries.write_last()
        return True

    def _threads(self) -> Iterator[LooperThread]:
        supervisor = self._supervisor
        secs, writer = supervisor.save_summaries_secs, supervisor.summary_writer
        if secs and self._summaries:
            yield self._looper("summaries", secs, self._summaries.write)
        if secs and writer and supervisor.global_step is not None:
            yield self._looper("steps a second", secs, StepRate(supervisor, self._sess).write)
        if self._checkpoints and self._save_secs:
            yield self._looper("checkpoints", self._save_secs, self._save)
        if writer:
            yield self._looper("flush", _FLUSH_SECS, writer.flush)

    def _looper(self, name: str, secs: float, act: Callable[[], object]) -> LooperThread:
        return LooperThread(self._supervisor.coord, secs, act, name=f"nbtrain {name}")

    def _step(self) -> int | None:
        step: int | None = self._supervisor.step_of(self._sess)
        return step

    def _warn_of_others(self) -> None:
        """Warns once if another thread trains, because services by steps ignore its steps."""
        if not self._warned and self._by_steps.are_unseen(self._step() or 0, self._mutex.is_held):
            self._warned = True
            tf.compat.v1.logging.warning("%s", _UNSEEN)

    def _save(self) -> None:
        assert self._checkpoints is not None
        # Once stopping, `finish` saves.
        self._mutex.run_between(self._checkpoints.save, self._supervisor.coord.should_stop)
