"""A chief, workers and a parameter server on this machine, each a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

import nbtrain
from nbtrain.tf1 import servers
from tests.forked import Forked
from tests.gate import SOON
from tests.ports import free_ports

v1 = tf.compat.v1

# Steps between two checkpoints of the chief's.
SAVE_STEPS = 20


class Status(NamedTuple):
    """The report of a replica about its run.

    Attributes:
        phase: The phase's word.
        step: Of the run.
        message: What the panel warns of.
        notice: What it says of the beginning.
        error: What ended it, as Python writes it.
        done: Calls of the train op, where the loop is the program's own.
    """

    phase: str
    step: int
    message: str
    notice: str
    error: str
    done: int

    @property
    def ended(self) -> bool:
        """True if the run has ended."""
        return self.phase in {"finished", "stopped", "failed"}


class Member(Forked):
    """A process of a cluster."""

    def ask(self, question: str, *args: Any) -> Any:
        """Has it call a method of its `Replica`, and returns the result."""
        self.send((question, args))
        return self.answer()

    def status(self) -> Status:
        """Returns the status of its run."""
        status: Status = self.ask("status")
        return status


class Cluster:
    """One parameter server and two places for workers, the first for the chief.

    Args:
        folder: In which the replicas work.
    """

    def __init__(self, folder: Path) -> None:
        ports = [f"127.0.0.1:{port}" for port in free_ports(3)]
        self._spec = {"ps": ports[:1], "worker": ports[1:]}
        self._folder = folder
        self._members: list[Member] = []

    def server(self) -> Member:
        """Start the parameter server, at the same address each time."""
        member = self._start(serve)
        assert member.answer() == "serves"
        return member

    def chief(self, program: str, **env: str) -> Member:
        """Start the chief; `program` is a method of `Replica`, `env` its environment variables."""
        return self._start(train, self._folder, 0, program, env)

    def worker(self, program: str) -> Member:
        """Start a worker."""
        return self._start(train, self._folder, 1, program)

    def kill(self) -> None:
        """All of it."""
        for member in self._members:
            member.kill()

    def _start(self, target: Any, *args: Any) -> Member:
        self._members.append(Member(target, self._spec, *args))
        return self._members[-1]


# --- in the processes ---------------------------------------------------------------


def serve(pipe: Connection, spec: dict[str, list[str]]) -> None:
    """The parameter server: until it is killed."""
    server = tf.distribute.Server(tf.train.ClusterSpec(spec), job_name="ps", task_index=0)
    pipe.send("serves")
    server.join()


def serve_alone(pipe: Connection) -> None:
    """A server without a cluster: until it is killed."""
    server = tf.distribute.Server.create_local_server()
    pipe.send(server.target)
    server.join()


def train(
    pipe: Connection,
    spec: dict[str, list[str]],
    folder: Path,
    index: int,
    program: str,
    env: Mapping[str, str] | None = None,
) -> None:
    """A replica that trains, and answers what it is asked, until the pipe is closed."""
    os.chdir(folder)
    os.environ.update(env or {})
    servers.SERVER_SECS = 4.0  # a dead one is waited for; a live one on a busy machine answers
    replica = Replica(spec, index)
    replica.run = getattr(replica, program)()
    while True:
        try:
            question, args = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(replica, question)(*args))
        except Exception as error:
            pipe.send(error)


class Replica:
    """A graph whose variables are on the parameter server, and the run that trains it."""

    run: nbtrain.Run

    def __init__(self, spec: dict[str, list[str]], index: int) -> None:
        cluster, me = tf.train.ClusterSpec(spec), f"/job:worker/task:{index}"
        self.target = tf.distribute.Server(cluster, job_name="worker", task_index=index).target
        self.is_chief = index == 0
        # Or else a session waits for the other worker too.
        self.config = v1.ConfigProto(device_filters=["/job:ps", me])
        self.done = 0
        self.graph = tf.Graph()
        with (
            self.graph.as_default(),
            v1.device(v1.train.replica_device_setter(cluster=cluster, worker_device=me)),
        ):
            step = v1.train.get_or_create_global_step()
            weight = v1.get_variable("weight", initializer=5.0)
            self.loss = tf.square(weight - 1.0, name="loss")
            descent = v1.train.GradientDescentOptimizer(0.001)
            self.train_op = descent.minimize(self.loss, global_step=step)

    # --- programs ---

    def supervised(self) -> nbtrain.Run:
        """Under a Supervisor, in a loop of its own."""
        sv = nbtrain.Supervisor(
            self.graph,
            logdir="supervised" if self.is_chief else None,
            is_chief=self.is_chief,
            recovery_wait_secs=0.1,
            save_model_secs=0,
            save_model_steps=SAVE_STEPS,
            save_summaries_secs=0.1,
            stop_grace_secs=20,
        )

        def loop(_run: nbtrain.Run) -> None:
            with sv.managed_session(self.target, config=self.config) as sess:
                while not sv.should_stop():
                    sess.run(self.train_op)
                    self.done += 1

        run: nbtrain.Run = nbtrain.background(loop, name=self._name)
        return run

    def hooked(self) -> nbtrain.Run:
        """In a MonitoredSession, in a loop of its own."""

        def loop(run: nbtrain.Run) -> None:
            hook = nbtrain.RunHook(run, {"loss": self.loss})
            with self.graph.as_default(), self._session(hooks=[hook]) as sess:
                while not sess.should_stop():
                    sess.run(self.train_op)
                    self.done += 1

        run: nbtrain.Run = nbtrain.background(loop, name=self._name, save_steps=SAVE_STEPS)
        return run

    def monitored(self) -> nbtrain.Run:
        """The same by `nbtrain.monitor`, with an evaluation."""
        hook = nbtrain.EvalHook({"val_loss": self.loss}, every_steps=5)
        return nbtrain.monitor(
            self.train_op,
            scalars={"loss": self.loss},
            hooks=[hook],
            session=self._session,
            name=self._name,
            save_steps=SAVE_STEPS,
        )

    def _session(self, hooks: Sequence[Any]) -> Any:
        tf1 = nbtrain.tf1
        kind = tf1.ChiefSessionCreator if self.is_chief else tf1.WorkerSessionCreator
        creator = kind(master=self.target, config=self.config)
        return v1.train.MonitoredSession(creator, hooks)

    @property
    def _name(self) -> str:
        return "chief" if self.is_chief else "worker"

    # --- answers ---

    def status(self) -> Status:
        """Returns the status of the run."""
        status = self.run.status
        error = "" if self.run.attempt.error is None else repr(self.run.attempt.error)
        texts = status.message or "", status.notice or ""
        return Status(str(status.phase), status.step, *texts, error, self.done)

    def receipt(self, command: str) -> tuple[bool, str]:
        """Returns whether a command was applied, and returns the text of its receipt."""
        outcome = getattr(self.run, command)().wait(SOON)
        return outcome.applied, outcome.text

    def stop(self) -> str:
        """Stop the run; its last phase."""
        self.run.request_stop()
        assert self.run.attempt.ended.wait(SOON), self.run.status
        return str(self.run.status.phase)

    def start(self) -> None:
        """Start the run once more."""
        self.run.start()

    def checkpoints(self) -> list[int]:
        """Steps of the checkpoints on disk."""
        return [checkpoint.step for checkpoint in self.run.checkpoints]
