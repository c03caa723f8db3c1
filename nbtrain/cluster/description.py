"""The description of a cluster, read from any form in which a cluster may be given.

described({"ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222", "10.0.0.4:2222"]})
described(tf.train.ClusterSpec({...}))
described('{"cluster": {...}, "task": {"type": "worker", "index": 0}}')    # a TF_CONFIG
described()                      # TF_CONFIG of the environment
described(tf.distribute.cluster_resolver.SlurmClusterResolver())
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtrain.core.errors import ArgumentError

# The environment variable that Kubernetes operators and cloud training set.
TF_CONFIG = "TF_CONFIG"

# TensorFlow's names for the tasks of a cluster.
JOBS = ("chief", "worker", "ps", "evaluator")

_EXAMPLE = '{"ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}'
_MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class TaskAddress:
    """One task of a cluster, and its address.

    Attributes:
        job: The job, such as "worker".
        index: The number of the task in its job, from 0.
        address: The host and port at which the task listens, such as "10.0.0.3:2222".
    """

    job: str
    index: int
    address: str

    def __str__(self) -> str:
        """Returns the task in words: `worker 0`."""
        return f"{self.job} {self.index}"


@dataclass(frozen=True, slots=True)
class Description:
    """The tasks of a cluster, and the task that this process runs.

    Attributes:
        jobs: The addresses of each job's tasks.
        job: The job of this process; None if this process is not a task of the cluster.
        index: The number of this process in its job.
    """

    jobs: Mapping[str, tuple[str, ...]]
    job: str | None = None
    index: int = 0

    @property
    def tasks(self) -> tuple[TaskAddress, ...]:
        """All tasks, job by job."""
        return tuple(
            TaskAddress(job, index, address)
            for job, addresses in self.jobs.items()
            for index, address in enumerate(addresses)
        )

    def of(self, job: str) -> tuple[TaskAddress, ...]:
        """Returns the tasks of a job; none if the cluster lacks it."""
        return tuple(task for task in self.tasks if task.job == job)

    def task(self, job: str, index: int) -> TaskAddress:
        """Returns one task.

        Raises:
            ArgumentError: The cluster has no such task.
        """
        for task in self.of(job):
            if task.index == index:
                return task
        has = ", ".join(map(str, self.tasks))
        raise ArgumentError(f"There is no task {job} {index} in the cluster; it has: {has}.")

    def as_task(self, job: str, index: int) -> Description:
        """Returns the description for the process of a task."""
        self.task(job, index)
        return replace(self, job=job, index=index)

    @property
    def device_filters(self) -> tuple[str, ...]:
        """The devices that this process needs: its own and those of the parameter servers.

        A session with these as `ConfigProto(device_filters=...)` does not wait for other workers.
        """
        return ("/job:ps", f"/job:{self.job}/task:{self.index}")

    @property
    def tf_config(self) -> str:
        """The text of `TF_CONFIG` for this process."""
        fields: dict[str, Any] = {"cluster": {job: [*held] for job, held in self.jobs.items()}}
        if self.job is not None:
            fields["task"] = {"type": self.job, "index": self.index}
        return json.dumps(fields)

    def require(self, *jobs: str) -> None:
        """Raises an ArgumentError if the cluster lacks one of these jobs."""
        for job in jobs:
            if not self.jobs.get(job):
                has = ", ".join(self.jobs)
                raise ArgumentError(
                    f"The cluster has no {job}, only {has}: give the address of at least one, such "
                    f"as {_EXAMPLE}."
                )


def described(given: Any = None) -> Description:
    """Returns the description of a cluster.

    Args:
        given: A dict of addresses by job, a `tf.train.ClusterSpec`, a `TF_CONFIG` as text or as a
            dict, a `tf.distribute.cluster_resolver.ClusterResolver`, or a launched cluster; None
            reads `TF_CONFIG` from the environment.

    Raises:
        ArgumentError: `given` does not describe a cluster.
    """
    if given is None:
        given = os.environ.get(TF_CONFIG)
        if not given:
            raise ArgumentError(
                f"No cluster is given, and the environment has no {TF_CONFIG}: give cluster=, such "
                f"as {_EXAMPLE}."
            )
    own = getattr(given, "description", given)  # of a launched cluster
    if isinstance(own, Description):
        return own
    if isinstance(given, str):
        return _of_text(given)
    if isinstance(given, Mapping):
        return _of_mapping(given)
    if hasattr(given, "cluster_spec"):
        return _of_resolver(given)
    if hasattr(given, "as_dict"):
        return _checked(given.as_dict())
    raise ArgumentError(
        f"cluster={given!r}, a {type(given).__name__}: give a dict of addresses by job, such as "
        f"{_EXAMPLE}, a tf.train.ClusterSpec, a {TF_CONFIG}, or a ClusterResolver."
    )


def _of_text(text: str) -> Description:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{TF_CONFIG} is not JSON ({error}): {_short(text)}. It has the form "
            f'{{"cluster": {_EXAMPLE}, "task": {{"type": "worker", "index": 0}}}}.'
        ) from None
    if not isinstance(config, dict):
        raise ArgumentError(f"{TF_CONFIG} is {_short(text)}, which is not a JSON object.")
    return _of_mapping(config)


def _of_mapping(config: Mapping[str, Any]) -> Description:
    """Returns the description of a `TF_CONFIG`, or of addresses by job."""
    return _of_config(config) if "cluster" in config else _checked(config)


def _of_config(config: Mapping[str, Any]) -> Description:
    """Returns the description of a `TF_CONFIG`."""
    description = _checked(config["cluster"])
    task = config.get("task")
    if not task:
        return description
    if not isinstance(task, Mapping) or "type" not in task:
        raise ArgumentError(
            f'The task of {TF_CONFIG} is {task!r}: it has the form {{"type": "worker", "index": '
            "0}."
        )
    job, index = task["type"], task.get("index", 0)
    if isinstance(index, str) and index.isdecimal():  # some operators write it as text
        index = int(index)
    if type(index) is not int:
        raise ArgumentError(f"The index of the task of {TF_CONFIG} is {index!r}: give a number.")
    try:
        return description.as_task(job, index)
    except ArgumentError:
        if job == "evaluator":  # an evaluator runs beside the cluster, not in it
            return replace(description, job=job, index=index)
        raise ArgumentError(
            f"The task of {TF_CONFIG} is {job} {index}, which is not in its cluster: that has "
            f"{', '.join(map(str, description.tasks))}."
        ) from None


def _of_resolver(resolver: Any) -> Description:
    spec = resolver.cluster_spec()
    if not spec or not spec.as_dict():
        raise ArgumentError(
            f"The {type(resolver).__name__} finds no cluster: it reads the environment of the "
            "scheduler's job, so start this process in one."
        )
    description = _checked(spec.as_dict())
    job, index = resolver.task_type, resolver.task_id
    return replace(description, job=job, index=index or 0) if job else description


def _checked(jobs: Any) -> Description:
    """Returns the description of a dict of addresses by job."""
    if not isinstance(jobs, Mapping) or not jobs:
        raise ArgumentError(f"The cluster is {jobs!r}: give addresses by job, such as {_EXAMPLE}.")
    seen: dict[str, str] = {}
    for job, addresses in jobs.items():
        if job not in JOBS:
            raise ArgumentError(f"The cluster has a job {job!r}: jobs are {', '.join(JOBS)}.")
        if isinstance(addresses, str) or not isinstance(addresses, Sequence) or not addresses:
            raise ArgumentError(
                f'The addresses of {job} are {addresses!r}: give a list, such as ["10.0.0.2:2222"].'
            )
        for index, address in enumerate(addresses):
            _check_address(f"{job} {index}", address)
            if (other := seen.setdefault(address, f"{job} {index}")) != f"{job} {index}":
                raise ArgumentError(
                    f"{other} and {job} {index} have one address, {address}: give each its own."
                )
    return Description({job: tuple(addresses) for job, addresses in jobs.items()})


def _check_address(task: str, address: object) -> None:
    host, colon, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host or not colon:
        raise ArgumentError(
            f"The address of {task} is {address!r}: give host and port, such as '10.0.0.2:2222'."
        )
    if not (port.isascii() and port.isdecimal() and 0 < int(port) <= _MOST_PORT):
        raise ArgumentError(
            f"The address of {task} is {address!r}: its port is {port!r}, not a number from 1 to "
            f"{_MOST_PORT}."
        )


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
