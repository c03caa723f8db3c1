"""The part of a Supervisor that opens no session: its graph, run, threads and event file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.inner.tensorflow import is_closed
from nbtrain.run.boundary.session_host import SessionHost, owner
from nbtrain.run.thread.threads import Coordinator, LooperThread
from nbtrain.rundir.folder import check_no_file
from nbtrain.tf1.graphs import adding_to, adopt_global_step, is_nobodys, step_of
from nbtrain.tf1.saving.in_graph import SessionManager
from nbtrain.tf1.saving.savers import saves, supervised_saver
from nbtrain.tf1.saving.writing import SupervisorSaver
from nbtrain.tf1.signatures import bound, taking
from nbtrain.tf1.supervising.queues import add_closing
from nbtrain.tf1.supervising.summaries import SupervisorEventFile

v1 = tf.compat.v1

_OPEN = (
    "leave graph.finalize() out: training does it. Or give init_op=, ready_op=, local_init_op=, "
    "saver= and summary_op= (None for none)."
)
_VARIABLES = {"Variable", "VariableV2", "VarHandleOp"}


class GraphSupervisor(tf.compat.v1.train.Supervisor):
    """Supervises a graph under a coordinator; see `Supervisor` for its arguments."""

    @taking(v1.train.Supervisor.__init__)
    def __init__(
        self,
        *args: Any,
        save_model_steps: int | None = None,
        save_summaries_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        given = bound(v1.train.Supervisor, *args, **kwargs)
        graph = given.arguments["graph"] = _supervised_graph(given.arguments["graph"])
        if given.arguments["is_chief"] and not given.arguments["logdir"]:
            _check_unsaved(
                save_model_steps=save_model_steps, save_summaries_steps=save_summaries_steps
            )
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
            # Unwrapped: otherwise TensorFlow advises, in every notebook, to use something else.
            inspect.unwrap(v1.train.Supervisor.__init__)(self, *given.args, **given.kwargs)
            if own and self._logdir:
                self._summary_writer = SupervisorEventFile(self._logdir)
        self._save_model_steps = save_model_steps
        self._save_summaries_steps = save_summaries_steps
        self._run: SessionHost | None = None  # the run that it belongs to, which also saves

    @property
    def graph(self) -> tf.Graph:
        """The graph that it supervises."""
        return self._graph

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

    def _verify_setup(self) -> None:
        """Checks the same as TensorFlow's method, which does not know resource variables."""
        for op in () if self._is_chief else self._graph.get_operations():
            if op.type in _VARIABLES and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op}"
                )

    def _check_free(self) -> None:
        """Checks that no other run trains with it, as it has one set of threads and one folder.

        Raises:
            BusyError: Another run trains with it.
        """
        if self._run is not None and self._run is not owner.get():
            raise BusyError(
                f"This Supervisor trains under the run {self._run.name!r}, which has not ended: "
                "stop that run first, or make another Supervisor with a logdir= of its own.",
                run=self._run.name,
            )

    def _join(self, run: SessionHost, sess: tf.compat.v1.Session) -> None:
        saver = None
        if saves(self.saver) and self.save_path:
            saver = SupervisorSaver(self, Path(self._logdir))
            saver.sess = sess
        secs = self.save_model_secs
        due = Every(steps=self._save_model_steps, secs=secs, at_once=bool(secs))
        run.adopt(self._coord, saver, due, self.step_of(sess))

    def _before_call(self, run: SessionHost, sess: tf.compat.v1.Session) -> None:
        """Acts at the run's boundary before a call of the session."""

        def recount(step: int) -> int:
            own = self.step_of(sess)
            return step if own is None else own

        run.before_call(recount)

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
        """Calls `target` every `timer_interval_secs` in a thread of the graph, until a stop."""
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
        """Writes a summary; the run of this Supervisor, if any, also records its scalars."""
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

    def request_stop(self, ex: Any = None) -> None:
        """Asks every thread to stop; if called before the session is made, that stops at once."""
        self._coord.request_stop(ex)
        self._coord.unanswered = True

    def _close_writer(self) -> None:
        if is_closed(self._summary_writer):  # by an earlier stop
            return
        stop = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.STOP)
        self._summary_writer.add_session_log(stop)
        self._summary_writer.close()
        self._graph_added_to_summary = False

    # TensorFlow's old spellings.
    StartQueueRunners = start_queue_runners
    RequestStop = request_stop
    Loop = loop
    SummaryComputed = summary_computed


def _supervised_graph(given: Any) -> tf.Graph:
    if given is None and is_nobodys(v1.get_default_graph()):
        raise ArgumentError(
            "The default graph of this thread is empty: pass graph=, or build the Supervisor "
            "inside `with graph.as_default():`."
        )
    if given is not None and not isinstance(given, tf.Graph):
        raise ArgumentError(f"graph={given!r} is no tf.Graph: give one, or None for the default.")
    return v1.get_default_graph() if given is None else given


def _check_unsaved(**cadences: int | None) -> None:
    """Raises an ArgumentError for a cadence by steps, as there is no folder to save into."""
    for name, steps in cadences.items():
        if steps:
            raise ArgumentError(
                f"{name}={steps!r}, and without a logdir there is no folder to save into: give "
                f"logdir=, or leave {name}= out."
            )
