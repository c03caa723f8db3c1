"""A cluster on the engines of an ipyparallel cluster."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipyparallel
import pytest

import nbtrain
from nbtrain.cluster.launched import LaunchedCluster
from nbtrain.cluster.task_file import State
from nbtrain.core.errors import ArgumentError
from tests.gate import SOON, eventually

TELL = "import os, time\nprint(os.environ['TF_CONFIG'], flush=True)\ntime.sleep(1000)\n"


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Any]:
    """Two engines."""
    cluster = ipyparallel.Cluster(n=2, profile_dir=str(tmp_path / "profile"), log_level=40)
    with cluster as client:
        client.wait_for_engines(2, timeout=SOON)
        yield client


def printed(cluster: LaunchedCluster, number: int, text: str) -> bool:
    """Returns whether a worker has printed a text."""
    return text in cluster.log("worker", number)


@pytest.mark.filterwarnings("ignore")  # of ipyparallel
def test_each_engine_runs_a_task_until_the_cluster_is_closed(engines: Any) -> None:
    Path("tell.py").write_text(TELL)
    with pytest.raises(ArgumentError, match="There are 2 engines, and each runs one of 3 tasks"):
        nbtrain.cluster.ipyparallel(engines, workers=3)
    with nbtrain.cluster.ipyparallel(engines, workers=2, program="tell.py") as cluster:
        cluster.wait_until_ready(SOON)
        for number in (0, 1):
            config = cluster.description.as_task("worker", number).tf_config
            eventually(functools.partial(printed, cluster, number, config))
        before = cluster.tasks[1]
        cluster.kill("worker", 1)
        assert cluster.tasks[1].state is State.FAILED
        cluster.restart("worker", 1)
        cluster.wait_until_ready(SOON)
        assert cluster.tasks[1].process != before.process
    assert [each.state for each in cluster.tasks] == [State.ENDED] * 2
