"""What a chief Supervisor does beside the training: summaries, steps a second, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.cadence import Every
from nbtrain.engines.turns import Turns
from nbtrain.errors import ArgumentError
from nbtrain.threads import Coordinator, LooperThread

# A summary is on disk within a second, also the last of a burst.
_FLUSH_SECS = 1.0


class Supervised(Protocol):
    """What the services know of their Supervisor."""

    coord: Coordinator
    saver: Any
    save_path: str
    save_summaries_secs: float
    summary_op: Any
    summary_writer: Any
    global_step: Any

    def write_summary(self, summary: Any, step: int | None) -> None:
        """Write a summary, serialized or not."""

    def step_of(self, sess: tf.compat.v1.Session) -> int | None:
        """The global step of a session."""


class Services:
    """The services of one session.

    Each acts when it is its turn: between two calls of the thread that trains. The first
    act of each comes at once, as TensorFlow's does; the last ones are in `finish`.

    Args:
        supervisor: Whose saver, summaries and writer these are.
        sess: The session.
        turns: The turns at it.
        save_model_secs: Seconds between two checkpoints; 0 or None saves none by time.
        save_model_steps: Steps between two; None saves none by steps.
        save_summaries_steps: Steps between two summaries; None computes none by steps.
    """

    def __init__(
        self,
        supervisor: Supervised,
        sess: tf.compat.v1.Session,
        turns: Turns,
        *,
        save_model_secs: float | None,
        save_model_steps: int | None,
        save_summaries_steps: int | None,
    ) -> None:
        self._supervisor = supervisor
        self._sess = sess
        self._turns = turns
        self._writer = supervisor.summary_writer
        self._save_secs = save_model_secs
        self._saves = bool(supervisor.saver and (save_model_secs or save_model_steps))
        self._summarizes = bool(
            self._writer
            and supervisor.summary_op is not None
            and (supervisor.save_summaries_secs or save_summaries_steps)
        )
        self._by_steps: list[tuple[Every, Callable[[], object]]] = []
        if self._saves and save_model_steps:
            self._by_steps.append((Every(steps=save_model_steps), self._save))
        if self._summarizes and save_summaries_steps:
            self._by_steps.append((Every(steps=save_summaries_steps), self._summarize))
        self._calls_left = 0  # until a step can be due: no call takes more than one
        self._saved_step: int | None = None
        self._wrote_graph = False
        self._count: tuple[float, int] | None = None
        if self._summarizes:
            _check_unfed(supervisor.summary_op)

    def start(self) -> list[LooperThread]:
        """Start the threads, each named and under the Supervisor's coordinator."""
        step = self._step()
        if step is not None and self._writer:
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            self._writer.add_session_log(start, step)
        if self._by_steps and step is not None:
            for every, _ in self._by_steps:
                every.start(step, 0.0)
            self._turns.before_run = self._look
        threads = list(self._threads())
        for thread in threads:
            thread.start()
        return threads

    def finish(self) -> None:
        """The last summary and the last checkpoint, of the state in which the training ended."""
        self._turns.before_run = None
        if self._summarizes:
            self._summarize()
        if self._saves and (self._saved_step is None or self._saved_step != self._step()):
            self._save()

    def _threads(self) -> Iterator[LooperThread]:
        secs, step = self._supervisor.save_summaries_secs, self._supervisor.global_step
        if self._writer and secs:
            if self._summarizes:
                yield self._looper("summaries", secs, self._summarize)
            if step is not None:
                yield self._looper("steps a second", secs, self._count_steps)
        if self._saves and self._save_secs:
            yield self._looper("checkpoints", self._save_secs, self._save)
        if self._writer:
            yield LooperThread(
                self._supervisor.coord, _FLUSH_SECS, self._writer.flush, name="nbtrain flush"
            )

    def _looper(self, name: str, secs: float, act: Callable[[], object]) -> LooperThread:
        return LooperThread(
            self._supervisor.coord, secs, self._turns.take, name=f"nbtrain {name}", args=(act,)
        )

    def _step(self) -> int | None:
        return self._supervisor.step_of(self._sess)

    def _look(self) -> None:
        """Before a call of the thread that trains: what is due by steps."""
        self._calls_left -= 1
        if self._calls_left > 0:
            return
        step = self._step() or 0
        for every, act in self._by_steps:
            if every(step, 0.0):
                act()
        self._calls_left = int(min(every.next_step for every, _ in self._by_steps)) - step

    def _summarize(self) -> None:
        supervisor = self._supervisor
        fetches = {"summary": supervisor.summary_op}
        if supervisor.global_step is not None:
            fetches["step"] = supervisor.global_step
        fetched = self._sess.run(fetches)
        step = fetched["step"].reshape(-1)[0] if "step" in fetched else None
        supervisor.write_summary(fetched["summary"], None if step is None else int(step))

    def _count_steps(self) -> None:
        """Steps a second since the last time; the first time there is nothing to tell."""
        now, step = time.monotonic(), self._step() or 0
        before, self._count = self._count, (now, step)
        if before is None or now <= before[0]:
            return
        speed = (step - before[1]) / (now - before[0])
        tag = f"{self._supervisor.global_step.op.name}/sec"
        value = tf.compat.v1.Summary.Value(tag=tag, simple_value=speed)
        self._supervisor.write_summary(tf.compat.v1.Summary(value=[value]), step)

    def _save(self) -> None:
        supervisor, step = self._supervisor, self._step()
        supervisor.saver.save(
            self._sess,
            supervisor.save_path,
            global_step=step,
            # The graph does not change: one .meta file is enough.
            write_meta_graph=not self._wrote_graph,
        )
        self._wrote_graph = True
        self._saved_step = step
        if self._writer and step is not None:
            log = tf.compat.v1.SessionLog
            path = supervisor.save_path
            self._writer.add_session_log(log(status=log.CHECKPOINT, checkpoint_path=path), step)


def _check_unfed(summary_op: Any) -> None:
    """Raise an ArgumentError if a summary cannot be computed without a feed."""
    seen: set[Any] = set()
    waiting = [getattr(summary_op, "op", summary_op)]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "Placeholder":
            raise ArgumentError(
                f"The summary op depends on the placeholder {op.name!r}, and a service has "
                "nothing to feed it: pass summary_op=None, and hand over what you compute "
                "yourself with sv.summary_computed(sess, summary)."
            )
        waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
