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
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.mending import mend_unreadable
from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.engines.graph import servers
from nbtrain.engines.graph.graphs import adding_to, adopt_global_step, is_nobodys, step_of
from nbtrain.engines.graph.in_graph import SessionManager
from nbtrain.engines.graph.queues import add_closing, close_on_stop
from nbtrain.engines.graph.savers import saves, supervised_saver
from nbtrain.engines.graph.servers import REMEDY, limit_closing, lost, wait_for_servers
from nbtrain.engines.graph.services import Services
from nbtrain.engines.graph.session_mutex import SessionMutex
from nbtrain.engines.graph.signatures import bound, taking
from nbtrain.engines.graph.summaries import EventFile
from nbtrain.engines.graph.writing import SupervisorSaver
from nbtrain.run.session_host import SessionHost, owner, tell
from nbtrain.run.threads import Coordinator, LooperThread
from nbtrain.rundir.folder import check_no_file

v1 = tf.compat.v1

_OPEN = (
    "leave graph.finalize() out: training does it. Or give init_op=, ready_op=, local_init_op=, "
    "saver= and summary_op= (None for none)."
)
_VARIABLES = {"Variable", "VariableV2", "VarHandleOp"}


class Supervisor(tf.compat.v1.train.Supervisor):
    """A `tf.compat.v1.train.Supervisor` for programs in which eager execution stays on.

    It has the same arguments, and its threads and methods do the same in the same order. It differs
    where TensorFlow's class loses or misnames training results:

    - It writes a last summary and a last checkpoint when it stops. TensorFlow's class loses what
      was trained since the last timed ones.
    - It saves between two `run` calls of the training thread, under the step that the checkpoint
      holds. TensorFlow's timer saves in the middle of a step.
    - It finds a global step that is a resource variable, as `tf.Variable` is now, or has the shape
      [1]. TensorFlow's class counts nothing, or fails.
    - It raises an error that comes after a request to stop, and reacts to such a request before and
      while it prepares its session. TensorFlow's class loses the error and ignores the request.
    - It leaves out the first `global_step/sec`. TensorFlow's is always 0.0, for an interval that
      has just begun.
    - It raises an error for a checkpoint that does not fit, as `nbtrain.Saver` does.

    One thread trains: the one that prepares the session. What other threads train is saved at any
    time, as by TensorFlow's class, and not by steps.

    In the training thread of a run it trains under that run, and writes the same files. A stop that
    the program itself requests, in its loop or a thread of `loop`, ends the run as finished.

    Args:
        args, kwargs: TensorFlow's arguments. For graph=None it takes the default graph of the
            calling thread.
        save_model_steps: Steps between two checkpoints; None disables this.
        save_summaries_steps: Steps between two summaries; None disables this.

    Raises:
        ArgumentError: There is no graph: the default graph is empty, and was not entered. Or it is
            finalized and lacks operations that must be added. Or something is to be saved by steps
            without a logdir.
    """

    @taking(v1.train.Supervisor.__init__)
    def __init__(
        self,
        *args: Any,
        save_model_steps: int | None = None,
        save_summaries_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        given = bound(v1.train.Supervisor, *args, **kwargs)
        graph = given.arguments["graph"] = _graph(given.arguments["graph"])
        if given.arguments["is_chief"] and not given.arguments["logdir"]:
            _check_unsaved("save_model_steps", save_model_steps)
            _check_unsaved("save_summaries_steps", save_summaries_steps)
        if given.arguments["is_chief"] and given.arguments["logdir"]:
            check_no_file(Path(given.arguments["logdir"]))
        with graph.as_default(), adding_to(graph, "the Supervisor", _OPEN):
            add_closing(graph)
            if given.arguments["global_step"] is self.USE_DEFAULT:
                adopt_global_step(graph)
            if given.arguments["saver"] is self.USE_DEFAULT:
                saver = supervised_saver(graph, given.arguments["logdir"])
                given.arguments["saver"] = saver or self.USE_DEFAULT
            own = given.arguments["summary_writer"] is self.USE_DEFAULT
            if own:  # made last: a failing constructor leaves nothing behind
                given.arguments["summary_writer"] = None
            # Unwrapped: without TensorFlow's advice, in every notebook, to use something else.
            inspect.unwrap(v1.train.Supervisor.__init__)(self, *given.args, **given.kwargs)
            if own and self._logdir:
                self._summary_writer = EventFile(self._logdir)
        self._save_model_steps = save_model_steps
        self._save_summaries_steps = save_summaries_steps
        self._services: Services | None = None
        self._mutex: SessionMutex | None = None
        self._run: SessionHost | None = None  # under which it trains, and which saves for it

    @property
    def graph(self) -> tf.Graph:
        """The graph that it supervises."""
        return self._graph

    # --- sessions ---------------------------------------------------------------

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
            tf.errors.CancelledError: A stop was requested while it waited.
            tf.errors.DeadlineExceededError: It was not ready within `max_wait_secs`.
            RuntimeError: The init ops leave variables uninitialized; the message names them.
            BusyError: It trains under another run.
        """
        self._check_free()
        self._coord.renew()
        self._run = owner.get()
        if self._run is not None:
            self._run.lead(self._coord, self._left_open)
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
            limit_closing(sess, tell)
            undo.callback(sess.close)  # in time, as with any call of close()
            mutex = self._supervise(sess)
            undo.callback(self._end_mutex)
            if not master:  # in a cluster, others may share the queues
                close_on_stop(sess, self._coord)
            if self.is_chief:
                self._write_graph()
            if self._run is not None:
                self._come_under(self._run, sess)
                undo.callback(self._run.release, self._coord)
            if start_standard_services:
                self._start(sess)
            if self._run is not None:
                recount = functools.partial(self._recount, sess)
                mutex.before_run.append(functools.partial(self._run.pass_by, recount))
            undo.pop_all()
            return sess

    def _check_free(self) -> None:
        """Checks that no other run trains with it, as it has one set of threads and one folder."""
        if self._run is not None and self._run is not owner.get():
            raise BusyError(
                f"This Supervisor trains under the run {self._run.name!r}, which has not ended: "
                "stop that run first, or make another Supervisor with a logdir= of its own.",
                run=self._run.name,
            )

    def _come_under(self, run: SessionHost, sess: tf.compat.v1.Session) -> None:
        saver = None
        if saves(self.saver) and self.save_path:
            saver = SupervisorSaver(self, Path(self._logdir))
            saver.sess = sess
        secs = self.save_model_secs
        due = Every(steps=self._save_model_steps, secs=secs, at_once=bool(secs))
        run.adopt(self._coord, saver, due, self.step_of(sess))

    def _recount(self, sess: tf.compat.v1.Session, step: int) -> int:
        own = self.step_of(sess)
        return step if own is None else own

    def _start(self, sess: tf.compat.v1.Session) -> None:
        if self.is_chief:
            self.start_standard_services(sess)
        self.start_queue_runners(sess)

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
        """Opens a session with its services; they stop, and it closes, when the block ends.

        The block runs inside the graph. At its end, its error or the first error of a service is
        raised again; `tf.errors.OutOfRangeError` ends it cleanly.

        Args:
            master: Address of the TensorFlow master; "" for this process.
            config: A `ConfigProto`, or None.
            start_standard_services: Whether to start services and queue runners.
            close_summary_writer: Whether to close the summary writer at the end.
            max_wait_secs: Seconds to wait for the session.

        Raises:
            BusyError: It trains under another run.
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
                if why := lost(sess, error):
                    tell("lost", f"{why}. {REMEDY}")
                self.request_stop(error)
            finally:
                try:
                    self.stop(close_summary_writer=close_summary_writer)
                finally:
                    sess.close()

    def should_stop(self) -> bool:
        """Tells if the loop should end; in the training thread of a run, its step boundary."""
        run = self._run  # another thread's `stop` clears it
        if run is not None and self._mutex is not None:
            return run.should_stop()
        return bool(self._coord.should_stop())

    def _prepare(self, master: str, config: Any, **waiting: Any) -> tf.compat.v1.Session:
        if self.saver and self._logdir and (text := mend_unreadable(self._logdir)):
            tf.compat.v1.logging.warning("%s", text)
        wait_for_servers(master, config, self._coord, waiting["max_wait_secs"])
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

    def _init_session_manager(self, session_manager: Any = None) -> None:
        """Makes a session manager whose waits end with a stop; called by TensorFlow's class."""
        self._coord = Coordinator(graph=self._graph)
        self._session_manager = session_manager or SessionManager(
            self._local_init_op,
            self._ready_op,
            self._ready_for_local_init_op,
            self._graph,
            self._recovery_wait_secs,
            self._local_init_run_options,
            coord=self._coord,
        )

    def _supervise(self, sess: tf.compat.v1.Session) -> SessionMutex:
        """Returns the mutex of a session, which this thread trains from now on."""
        if self._mutex is None or self._mutex.sess is not sess:
            self._end_mutex()
            self._mutex = SessionMutex(sess)
        return self._mutex

    def _end_mutex(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.end()

    # --- services ---------------------------------------------------------------

    def start_standard_services(self, sess: tf.compat.v1.Session) -> Sequence[Any] | None:
        """Starts the threads that save, summarize and count beside the training; chief only.

        Returns:
            The threads; None without a logdir, where there is nothing to write to.

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
            saves = self._run is None
            self._services = Services(
                self,
                self._supervise(sess),
                save_model_steps=self._save_model_steps if saves else None,
                save_model_secs=self.save_model_secs if saves else 0,
                save_summaries_steps=self._save_summaries_steps,
            )
            return self._services.start()

    def start_queue_runners(
        self, sess: tf.compat.v1.Session, queue_runners: Sequence[Any] | None = None
    ) -> Any:
        """Starts the threads of the graph's queue runners, or of those given."""
        with self.graph.as_default():
            return super().start_queue_runners(sess, queue_runners)

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Calls `target` every so many seconds in a thread of the graph, until a stop."""
        name = f"nbtrain loop {getattr(target, '__name__', '')}".rstrip()
        looper = LooperThread(
            self._coord, timer_interval_secs, target, name=name, args=args, kwargs=kwargs
        )
        looper.start()
        return looper

    def summary_computed(
        self, sess: tf.compat.v1.Session, summary: Any, global_step: int | None = None
    ) -> None:
        """Writes a summary that the program computed, at the current step or the one given.

        Raises:
            RuntimeError: There is no summary writer because there is no logdir.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None:
            global_step = self.step_of(sess)
        self.write_summary(summary, global_step)

    def write_summary(self, summary: Any, step: int | None) -> None:
        """Writes a summary; the run that it trains under also records its scalars."""
        self._summary_writer.add_summary(summary, step)
        run = self._run
        if run is not None:
            if isinstance(summary, bytes):
                summary = tf.compat.v1.Summary.FromString(summary)
            scalars = {v.tag: v.simple_value for v in summary.value if v.HasField("simple_value")}
            run.add(step, scalars)

    def step_of(self, sess: tf.compat.v1.Session) -> int | None:
        """Returns the current global step of a session; None if the graph has none."""
        return step_of(sess, self.global_step)

    # --- stopping ---------------------------------------------------------------

    def request_stop(self, ex: Any = None) -> None:
        """Asks every thread to stop; if called before the session is made, that stops at once."""
        self._coord.request_stop(ex)
        self._coord.unanswered = True

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
        """Stops and closes what the run's loop has left open when the run ends."""
        if self._run is None or self._run is not owner.get():
            return
        mutex = self._mutex
        if mutex is not None:
            self._run.note(
                "left open",
                "The loop has ended without sv.stop(): its services were stopped, and its session "
                "closed, at the end of the run. Call sv.stop() after the loop, or train inside "
                "`with sv.managed_session() as sess:`.",
            )
        try:
            self.stop()
        finally:
            if mutex is not None:
                mutex.sess.close()  # with a time limit

    def _close_writer(self) -> None:
        if getattr(self._summary_writer, "_closed", False):  # by an earlier stop
            return
        stop = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.STOP)
        self._summary_writer.add_session_log(stop)
        self._summary_writer.close()
        self._graph_added_to_summary = False

    def _verify_setup(self) -> None:
        """Does the same checks as TensorFlow's method, which does not know resource variables."""
        for op in () if self._is_chief else self._graph.get_operations():
            if op.type in _VARIABLES and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op}"
                )

    # TensorFlow's old spellings.
    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    SummaryComputed = summary_computed


def _graph(given: Any) -> tf.Graph:
    """Returns the given graph; for None the default graph.

    Raises:
        ArgumentError: It is not a graph, or no default graph was entered.
    """
    if given is None and is_nobodys(v1.get_default_graph()):
        raise ArgumentError(
            "The default graph of this thread is empty: pass graph=, or build the Supervisor "
            "inside `with graph.as_default():`."
        )
    if given is not None and not isinstance(given, tf.Graph):
        raise ArgumentError(f"graph={given!r} is no tf.Graph: give one, or None for the default.")
    return v1.get_default_graph() if given is None else given


def _check_unsaved(name: str, steps: int | None) -> None:
    """Raises an ArgumentError if something is to be saved without a folder."""
    if steps:
        raise ArgumentError(
            f"{name}={steps!r}, and without a logdir there is no folder to save into: give "
            f"logdir=, or leave {name}= out."
        )
