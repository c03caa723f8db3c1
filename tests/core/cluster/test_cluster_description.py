"""The description of a cluster, from whatever it is given as."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtrain import worker
from nbtrain.cluster.description import Description, described
from nbtrain.core.errors import ArgumentError

JOBS = {"ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222", "[::1]:2223"]}
CLUSTER = {"ps": ("10.0.0.2:2222",), "worker": ("10.0.0.3:2222", "[::1]:2223")}


class Spec:
    """A `tf.train.ClusterSpec`."""

    def __init__(self, jobs: Any = JOBS) -> None:
        self._jobs = jobs

    def as_dict(self) -> Any:
        """The addresses by job."""
        return self._jobs


class Resolver:
    """A `tf.distribute.cluster_resolver.ClusterResolver`."""

    task_type: str | None = "worker"
    task_id: int | None = 1

    def __init__(self, jobs: Any = JOBS) -> None:
        self._jobs = jobs

    def cluster_spec(self) -> Spec:
        """The cluster."""
        return Spec(self._jobs)


def config(**task: Any) -> str:
    """A `TF_CONFIG`."""
    return json.dumps({"cluster": JOBS, "task": task})


@pytest.mark.parametrize("given", [JOBS, json.dumps(JOBS), {"cluster": JOBS}, Spec()])
def test_a_cluster_is_described_by_its_jobs(given: Any) -> None:
    assert described(given) == Description(CLUSTER)


@pytest.mark.parametrize(
    "given",
    [config(type="worker", index=1), config(type="worker", index="1"), Resolver()],
)
def test_a_description_has_the_task_of_this_process(given: Any) -> None:
    assert described(given) == Description(CLUSTER, "worker", 1)


def test_tf_config_of_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", config(type="ps", index=0))
    assert described() == Description(CLUSTER, "ps", 0)
    monkeypatch.delenv("TF_CONFIG")
    with pytest.raises(ArgumentError, match="the environment has no TF_CONFIG"):
        described()


def test_an_evaluator_is_beside_the_cluster() -> None:
    assert described(config(type="evaluator", index=0)).job == "evaluator"


def test_tf_config_names_the_task_of_a_process() -> None:
    text = described(JOBS).as_task("worker", 1).tf_config
    assert json.loads(text) == {"cluster": JOBS, "task": {"type": "worker", "index": 1}}
    assert described(text) == Description(CLUSTER, "worker", 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{cluster", "TF_CONFIG is not JSON"),
        ("[]", "not a JSON object"),
        ("", "is not JSON"),
        ({}, "give addresses by job"),
        (7, "cluster=7, a int: give a dict of addresses by job"),
        ({"masters": ["a:1"]}, "has a job 'masters': jobs are chief, worker, ps, evaluator"),
        ({"ps": "10.0.0.2:2222"}, r"give a list, such as \[\"10.0.0.2:2222\"\]"),
        ({"ps": []}, "The addresses of ps are"),
        ({"ps": ["10.0.0.2"]}, "'10.0.0.2': give host and port"),
        ({"ps": [None]}, "The address of ps 0 is None"),
        ({"ps": ["a:x"]}, "its port is 'x', not a number from 1 to 65535"),
        ({"ps": ["a:0"]}, "its port is '0'"),
        ({"ps": ["a:99999"]}, "its port is '99999'"),
        ({"ps": ["a:1"], "worker": ["a:1"]}, "ps 0 and worker 0 have one address, a:1"),
        ({"task": {"type": "ps"}}, "The cluster has a job 'task': jobs are"),
        (config(type="master", index=0), "master 0, which is not in its cluster: that has ps 0"),
        (config(type="worker", index=2), "worker 2, which is not in its cluster: that has ps 0"),
        (config(type="worker", index="x"), "index of the task of TF_CONFIG is 'x'"),
        (config(index=2), "The task of TF_CONFIG is {'index': 2}"),
        (Resolver({}), "The Resolver finds no cluster"),
    ],
)
def test_a_wrong_description_is_refused_in_words(given: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        described(given)


def test_a_job_that_is_needed_and_lacking_is_named() -> None:
    workers = described({"worker": ["a:1"]})
    with pytest.raises(ArgumentError, match="The cluster has no ps, only worker"):
        workers.require("worker", "ps")
    with pytest.raises(ArgumentError, match="There is no task worker 1 in the cluster; it has: w"):
        workers.task("worker", 1)


def test_a_task_without_a_cluster_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert worker.main([]) == 2
    assert "set TF_CONFIG, or give --cluster, such as --cluster '{" in capsys.readouterr().err
