"""One replica of a graph with its variables on parameter servers (between-graph replication).

replica = nbtrain.tf1.Replica(cluster)    # the chief, in a notebook; Replica() in a task's script
with tf.Graph().as_default(), replica.device():
    ...                                   # the variables are on the parameter servers
    run = nbtrain.tf1.monitor(train_op, session=replica.session)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from nbtrain.cluster import ports
from nbtrain.cluster.description import TF_CONFIG, described
from nbtrain.core.errors import ArgumentError
from nbtrain.core.tasks import Task
from nbtrain.run.boundary.session_host import owner
from nbtrain.tf1.creators import ChiefSessionCreator, WorkerSessionCreator

v1 = tf.compat.v1

# Seconds that a worker waits for its chief, as in TensorFlow's MonitoredTrainingSession.
_CHIEF_SECS = 7200
# The servers of this process by their addresses: a server cannot be stopped, nor started twice.
_servers: dict[str, tf.distribute.Server] = {}
# By the address of this process's server: describes the tasks of its launched cluster.
_shown: dict[str, Callable[[], Sequence[Task]]] = {}


class Replica:
    """One replica of a cluster, with the arguments that TensorFlow 1's classes need.

    Starts the TensorFlow server of this process, which runs until the process ends.

    Args:
        cluster: A launched cluster, or a description of one with parameter servers: a dict, a
            `tf.train.ClusterSpec`, a `TF_CONFIG` or a `ClusterResolver`. None for `TF_CONFIG` of
            the environment. If the cluster does not name the task of this process, this is the
            chief.

    Attributes:
        job: The job of this process, such as "worker".
        index: Its number in the job.
        is_chief: Whether it initializes and saves the variables: the chief, or the first worker of
            a cluster without one.
        target: The address of its server, for `Session`, `managed_session` and others.
        config: A `ConfigProto` whose device filters let a session wait for no other worker.

    Raises:
        ArgumentError: `cluster` describes no cluster with this task and a parameter server, or the
            port of this task is in use.

    Example:
        >>> sv = nbtrain.tf1.Supervisor(is_chief=replica.is_chief, logdir="runs/far")
        >>> with sv.managed_session(replica.target, config=replica.config) as sess:
        ...     ...
    """

    def __init__(self, cluster: Any = None) -> None:
        description = described(cluster)
        description.require("ps")
        if description.job is None:
            if not description.of("chief"):
                raise ArgumentError(
                    "Which task is this? The cluster has no chief: give chief=True to "
                    f"nbtrain.cluster.local, or the task of this process in {TF_CONFIG}."
                )
            description = description.as_task("chief", 0)
        elif description.job not in ("chief", "worker"):
            raise ArgumentError(
                f"This process is {description.job} {description.index}: a replica is a chief or a "
                "worker."
            )
        self.job, self.index = str(description.job), description.index
        self.is_chief = self.job == "chief" or (self.index == 0 and not description.of("chief"))
        self.config = v1.ConfigProto(device_filters=list(description.device_filters))
        self._spec = tf.train.ClusterSpec(
            {job: list(addresses) for job, addresses in description.jobs.items()}
        )
        address = description.task(self.job, self.index).address
        if address not in _servers:
            try:
                ports.check_free(address)
            except OSError as error:
                raise ArgumentError(
                    f"{self.job} {self.index} cannot start: {error.strerror}"
                ) from None
            # A call to a server that is gone would wait for ever.
            os.environ.setdefault("GRPC_FAIL_FAST", "true")
            _servers[address] = tf.distribute.Server(
                self._spec, job_name=self.job, task_index=self.index, protocol="grpc"
            )
        self.target = _servers[address].target
        if shown := getattr(cluster, "shown", None):
            _shown[self.target] = shown

    def device(self) -> AbstractContextManager[None]:
        """Places variables on the parameter servers in turn, and operations on this replica."""
        setter = v1.train.replica_device_setter(
            cluster=self._spec, worker_device=f"/job:{self.job}/task:{self.index}"
        )
        placed: AbstractContextManager[None] = v1.device(setter)
        return placed

    def session(self, hooks: Sequence[Any] = (), scaffold: Any = None) -> Any:
        """Makes a `tf.compat.v1.train.MonitoredSession`; for `nbtrain.tf1.monitor(session=...)`.

        Args:
            hooks: Its hooks.
            scaffold: A `tf.compat.v1.train.Scaffold`; None makes one.
        """
        creator: Any = ChiefSessionCreator(scaffold, self.target, self.config)
        if not self.is_chief:
            creator = WorkerSessionCreator(scaffold, self.target, self.config, _CHIEF_SECS)
        return v1.train.MonitoredSession(creator, hooks)

    def __repr__(self) -> str:
        """Returns job, number and address of its server."""
        return f"<replica {self.job} {self.index} at {self.target}>"


def show_tasks(sess: tf.compat.v1.Session) -> None:
    """Shows the tasks of a session's cluster in the run of this thread, if it was launched here."""
    shown = _shown.get(tf.compat.as_str(sess.sess_str or ""))
    if shown is not None and (host := owner.get()) is not None:
        host.show_tasks(shown)
