"""The tasks of a cluster: their words, their table in the panel, and the marks of the lost."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from nbtrain.cluster.description import described
from nbtrain.cluster.own_cluster import TasksOnDisk
from nbtrain.cluster.task_display import SILENT_SECS, TaskDisplay
from nbtrain.cluster.task_file import State, TaskStatus, folder_of, write
from nbtrain.core.tasks import SHOWN_TASKS, Task, TaskState, summary
from nbtrain.panel.live.task_table import table_of
from nbtrain.run.beside.task_watch import POLL_SECS, TaskWatch
from tests.panels import Clock

RUNNING, LOST, STARTING = TaskState.RUNNING, TaskState.LOST, TaskState.STARTING
PS, ONE, TWO = Task("ps", 0, RUNNING), Task("worker", 0, RUNNING), Task("worker", 1, RUNNING)
GONE = replace(TWO, state=LOST, silent_s=12.4)


@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ((PS, ONE, TWO), "1 ps, 2 workers"),
        ((PS, ONE, GONE), "1 ps, 2 workers; worker 1 is lost"),
        ((PS, replace(ONE, state=STARTING), GONE), "1 ps, 2 workers; 1 starting, 1 lost"),
        ((PS,) * 2, "2 ps"),
        ((Task("worker", n, LOST) for n in range(1000)), "1,000 workers; 1,000 lost"),
    ],
)
def test_a_cluster_is_summed_up_in_one_line(tasks: tuple[Task, ...], text: str) -> None:
    assert summary(list(tasks)) == text


def test_a_lost_task_says_since_when() -> None:
    assert str(GONE) == "worker 1: lost, no sign of life for 12 s"
    assert str(ONE) == "worker 0: running"


def test_a_task_has_a_row_with_what_is_known_of_it() -> None:
    busy = replace(ONE, silent_s=0.4, log="x" * 2000 + "\nepoch 2\n")
    table = table_of([PS, busy, replace(GONE, silent_s=75.0), replace(TWO, state=STARTING)])
    assert table is not None
    first, second, third, fourth = cast("list[list[str]]", table["rows"])
    assert first == ["ps 0", "running", "none yet", ""]
    assert second[:3] == ["worker 0", "running", "now"]
    assert second[3].endswith("x\nepoch 2")
    assert len(second[3]) < 610
    assert third == ["worker 1", "lost", "1:15 ago", ""]
    assert fourth[1] == "starting"
    assert table["more"] is None


def test_of_many_tasks_those_that_need_attention_have_a_row() -> None:
    tasks = [replace(ONE, index=number) for number in range(1000)]
    tasks[900] = replace(tasks[900], state=LOST)
    table = table_of(tasks)
    assert table is not None
    names = [row[0] for row in cast("list[list[str]]", table["rows"])]
    assert len(names) == SHOWN_TASKS
    assert names[-1] == "worker 900"
    assert names[:2] == ["worker 0", "worker 1"]
    assert table["more"] == "and 976 workers"


def test_without_a_cluster_there_is_no_table() -> None:
    assert table_of(()) is None


def test_a_task_that_is_lost_or_returns_is_told_once() -> None:
    told: list[tuple[str, int, str]] = []
    clock = Clock()
    watch = TaskWatch(lambda *event: told.append(event), clock=clock)
    watch.poll(1)  # without a cluster
    seen: list[Task] = []
    watch.source = lambda: seen
    for step, states in enumerate([(STARTING,), (RUNNING,), (LOST,), (LOST,), (STARTING,)] * 2):
        seen = [replace(ONE, state=states[0])]
        watch.poll(step)
        watch.poll(step + 100)  # too soon: not looked at
        clock.now += POLL_SECS
    seen = [replace(ONE, state=RUNNING)]
    watch.poll(50)
    assert told == [
        ("lost", 2, "worker 0 is lost"),
        ("returned", 6, "worker 0 is back"),
        ("lost", 7, "worker 0 is lost"),
        ("returned", 50, "worker 0 is back"),
    ]
    assert watch.tasks == (seen[0],)


def test_tasks_that_are_ended_with_the_run_are_not_lost() -> None:
    told: list[tuple[str, int, str]] = []
    watch = TaskWatch(lambda *event: told.append(event))
    watch.source = lambda: [GONE]
    watch.poll(3, ended=True)
    assert (told, watch.tasks) == ([], (GONE,))


def test_a_task_is_silent_by_the_clock_of_this_process(tmp_path: Path) -> None:
    clock = Clock()
    display = TaskDisplay(tmp_path, clock=clock)
    ahead = TaskStatus("worker", 0, "lab-3:2222", State.SERVING, alive=4e9)  # its clock is wrong
    behind = replace(ahead, index=1, alive=1.0)
    for seconds in range(20):
        tasks = [replace(ahead, alive=4e9 + seconds), behind]
        states = [task.state for task in display.of(tasks)]
        assert states == [RUNNING, LOST if seconds >= SILENT_SECS else RUNNING]
        clock.now += 1.0
    assert display.silent(tasks) == [behind]
    assert display.silent([replace(behind, state=State.FAILED)]) == []


def test_of_many_tasks_only_those_shown_have_their_log(tmp_path: Path) -> None:
    tasks = [TaskStatus("worker", number, "", State.SERVING) for number in range(100)]
    tasks[90] = replace(tasks[90], state=State.FAILED)
    for each in tasks:
        folder = folder_of(tmp_path, each)
        folder.mkdir(parents=True)
        (folder / "log.txt").write_text("a line\n")
    logged = [task.index for task in TaskDisplay(tmp_path).of(tasks) if task.log]
    assert logged == [*range(SHOWN_TASKS - 1), 90]


def test_the_tasks_of_a_folder_are_known_by_their_files(tmp_path: Path) -> None:
    cluster = described({"ps": ["a:1"], "worker": ["a:2", "a:3"]})
    shown = TasksOnDisk(cluster, tmp_path)
    assert shown() == (), "none has begun"
    status = TaskStatus("worker", 1, "a:3", State.SERVING, host="elsewhere", process=1, alive=1.0)
    for known in (status, replace(status, index=0, host=socket.gethostname(), process=2**30)):
        folder_of(tmp_path, known).mkdir(parents=True)
        write(folder_of(tmp_path, known), known)
    gone, there = shown()
    assert (gone.name, gone.state) == ("worker 0", TaskState.LOST), "its process has ended"
    assert (there.name, there.state) == ("worker 1", TaskState.RUNNING)
