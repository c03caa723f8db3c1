"""TensorFlow's Supervisor, usable beside eager execution.

Eager execution and the default graph are settings of a thread. A Supervisor's service threads, and
every cell outside `with graph.as_default()`, run eagerly, where its savers and counters fail. Here
each of its threads and methods enters its graph.

with sv.managed_session() as sess:         # restored, or initialized; services start
    while not sv.should_stop():
        sess.run(train_op)                 # services save between two of these calls
# stop: threads joined, last summary, last checkpoint, STOP in the event file, closed
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.mending import mend_given
from nbtrain.run.boundary.session_host import owner, warn
from nbtrain.tf1 import servers
from nbtrain.tf1.replica import show_tasks
from nbtrain.tf1.session_mutex import SessionMutex
from nbtrain.tf1.supervising.graph_supervisor import GraphSupervisor
from nbtrain.tf1.supervising.queues import close_on_stop
from nbtrain.tf1.supervising.services import Services


class Supervisor(GraphSupervisor):
    """A `tf.compat.v1.train.Supervisor` for programs in which eager execution stays on.

    It has the same arguments, and its threads and methods do the same in the same order. It differs
    where TensorFlow's class loses or misnames training results:

    - It writes a last summary and a last checkpoint when it stops. TensorFlow's class loses the
      training since the last timed ones.
    - It saves between two `run` calls of the training thread, and names the checkpoint by its exact
      step. TensorFlow's timer saves in the middle of a step.
    - It finds a global step that is a resource variable, as `tf.Variable` is now, or has the shape
      [1]. TensorFlow's class counts nothing, or fails.
    - It raises an error that comes after a request to stop, and reacts to such a request before and
      while it prepares its session. TensorFlow's class loses the error and ignores the request.
    - It does not write the first `global_step/sec`. TensorFlow's is always 0.0, for an interval
      that has just begun.
    - It raises an error for a checkpoint that does not fit, as `nbtrain.tf1.Saver` does.

    One thread trains: the thread that prepares the session. Steps that other threads train are
    saved at any time, as by TensorFlow's class, and not by steps.

    In the training thread of a run, it belongs to that run, and writes the same files. A stop that
    the program itself requests, in its loop or a thread of `loop`, ends the run as finished.

    Args:
        args, kwargs: TensorFlow's arguments. graph=None uses the default graph of the calling
            thread.
        save_model_steps: Steps between two checkpoints; None disables this.
        save_summaries_steps: Steps between two summaries; None disables this.

    Raises:
        ArgumentError: There is no graph: the default graph is empty, and was not entered. Or the
            graph is finalized and lacks operations that must be added. Or `save_model_steps` or
            `save_summaries_steps` is given without a logdir.
    """

    _services: Services | None = None
    _mutex: SessionMutex | None = None

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> tf.compat.v1.Session:
        """Returns a prepared session: restored or initialized, or for a worker, the chief's.

        In the training thread of a run, the session belongs to that run until `stop`.

        Raises:
            tf.errors.CancelledError: A stop was requested during the wait.
            tf.errors.DeadlineExceededError: The session was not ready within `max_wait_secs`.
            RuntimeError: The init ops leave variables uninitialized; the message names them.
            BusyError: The Supervisor belongs to another run that has not ended.
        """
        self._check_free()
        self._coord.renew()
        self._run = owner.get()
        if self._run is not None:
            self._run.link(self._coord, self._left_open)
        with self.graph.as_default(), contextlib.ExitStack() as undo:
            if self._summary_writer:
                self._summary_writer.reopen()
            if self.is_chief:
                waiting = {"wait_for_checkpoint": wait_for_checkpoint}
                sess = self._prepare(master, config, max_wait_secs=max_wait_secs, **waiting)
            else:
                sess = self._session_manager.wait_for_session(
                    master, config=config, max_wait_secs=max_wait_secs
                )
            servers.limit_closing(sess, warn)
            show_tasks(sess)
            undo.callback(sess.close)  # in time, as with any call of close()
            mutex = self._supervise(sess)
            undo.callback(self._end_mutex)
            if not master:  # in a cluster, others may share the queues
                close_on_stop(sess, self._coord)
            if self.is_chief:
                self._write_graph()
            if self._run is not None:
                self._join(self._run, sess)
                undo.callback(self._run.release, self._coord)
            if start_standard_services:
                if self.is_chief:
                    self.start_standard_services(sess)
                self.start_queue_runners(sess)
            if self._run is not None:
                mutex.before_run.append(functools.partial(self._before_call, self._run, sess))
            undo.pop_all()
            return sess

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
        *,
        max_wait_secs: float = 7200,
    ) -> Iterator[tf.compat.v1.Session]:
        """Opens a session with its services, which stop when the block ends; then closes it.

        The block runs inside the graph. At its end, its error or the first error of a service is
        raised again; `tf.errors.OutOfRangeError` ends it cleanly.

        Args:
            master: Address of the TensorFlow master; "" for this process.
            config: A `ConfigProto`, or None.
            start_standard_services: Whether to start services and queue runners.
            close_summary_writer: Whether to close the summary writer at the end.
            max_wait_secs: Seconds to wait for the session.

        Raises:
            BusyError: The Supervisor belongs to another run that has not ended.
        """
        self._check_free()  # before `stop`, which would stop that run
        with self.graph.as_default():
            try:
                sess = self.prepare_or_wait_for_session(
                    master,
                    config,
                    max_wait_secs=max_wait_secs,
                    start_standard_services=start_standard_services,
                )
            except BaseException:
                with contextlib.suppress(Exception):  # the first error is the one to raise
                    self.stop(close_summary_writer=close_summary_writer)
                raise
            try:
                yield sess
            except Exception as error:  # noqa: BLE001 - raised again by stop()
                self._leave_run()  # the run sees the error itself, and was not asked to stop
                if why := servers.lost(sess, error):
                    warn("lost", f"{why}. {servers.REMEDY}")
                self.request_stop(error)
            finally:
                try:
                    self.stop(close_summary_writer=close_summary_writer)
                finally:
                    sess.close()

    def should_stop(self) -> bool:
        """Returns whether the loop should end; in the training thread, the step boundary."""
        run = self._run  # another thread's `stop` clears it
        if run is not None and self._mutex is not None:
            return run.should_stop()
        return bool(self._coord.should_stop())

    def _prepare(self, master: str, config: Any, **waiting: Any) -> tf.compat.v1.Session:
        if self.saver and self._logdir and (text := mend_given(self._logdir)):
            tf.compat.v1.logging.warning("%s", text)
        servers.wait_for_servers(master, config, self._coord, waiting["max_wait_secs"])
        return self._session_manager.prepare_session(
            master,
            init_op=self.init_op,
            saver=self.saver,
            checkpoint_dir=self._logdir,
            config=config,
            init_feed_dict=self._init_feed_dict,
            init_fn=self._init_fn,
            **waiting,
        )

    def _supervise(self, sess: tf.compat.v1.Session) -> SessionMutex:
        """Returns the mutex of a session; from now on this thread is its training thread."""
        if self._mutex is None or self._mutex.sess is not sess:
            self._end_mutex()
            self._mutex = SessionMutex(sess)
        return self._mutex

    def _end_mutex(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.end()

    def start_standard_services(self, sess: tf.compat.v1.Session) -> Sequence[Any] | None:
        """Starts the threads that save, summarize and count beside the training; chief only.

        Returns:
            The threads; None without a logdir, because there is no folder to write to.

        Raises:
            RuntimeError: This is not the chief.
            ArgumentError: The summary op needs a feed, which services do not have.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. "
                "Because only chief supervisors can write events."
            )
        if not self._logdir:
            tf.compat.v1.logging.warning(
                "Standard services need a 'logdir' passed to the Supervisor: without it no "
                "checkpoint and no summary is saved"
            )
            return None
        with self.graph.as_default():
            alone = self._run is None
            self._services = Services(
                self,
                self._supervise(sess),
                save_model_steps=self._save_model_steps if alone else None,
                save_model_secs=self.save_model_secs if alone else 0,
                save_summaries_steps=self._save_summaries_steps,
            )
            return self._services.start()

    def stop(
        self,
        threads: Sequence[Any] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and writes the last checkpoint and summary; the session stays open.

        The first error of a thread is raised. If the last checkpoint then cannot be written, a
        warning says why.
        """
        self._leave_run()
        services, self._services = self._services, None
        with self.graph.as_default(), contextlib.ExitStack() as last_first:
            if self._run is owner.get():  # in another thread, the run's loop has not ended yet
                last_first.callback(setattr, self, "_run", None)
            if close_summary_writer and self._summary_writer:
                last_first.callback(self._close_writer)
            last_first.callback(self._end_mutex)
            grace = self._stop_grace_secs
            if services is not None and services.unanswered():  # its threads get no answers either
                ignore_live_threads, grace = True, min(grace, servers.SERVER_SECS)
            self._coord.request_stop()
            try:
                self._coord.join(threads, grace, ignore_live_threads)
            except Exception as first:
                if services is not None:
                    services.try_to_finish(first)
                raise
            if services is not None:
                services.finish(self._stop_grace_secs)

    def _leave_run(self) -> None:
        """Writes a last checkpoint in the training thread; later stops no longer affect the run."""
        if self._run is not None and self._run is owner.get():
            self._run.release(self._coord)
            if self._mutex is not None:
                self._mutex.before_run.clear()

    def _left_open(self) -> None:
        """Stops the services and closes the session if the run's loop has not when the run ends."""
        if self._run is None or self._run is not owner.get():
            return
        with contextlib.ExitStack() as last:
            if self._mutex is not None:
                last.callback(self._mutex.sess.close)  # with a time limit
                self._run.note(
                    "left open",
                    "The loop has ended without sv.stop(): its services were stopped, and its "
                    "session closed, at the end of the run. Call sv.stop() after the loop, or "
                    "train inside `with sv.managed_session() as sess:`.",
                )
            self.stop()

    # TensorFlow's old spellings.
    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    Stop = stop
    ShouldStop = should_stop
