"""The tasks of a cluster in the panel."""

from __future__ import annotations

import time
from dataclasses import replace

from playwright.sync_api import expect

import nbtrain
from nbtrain.core.tasks import Task, TaskState
from tests.page.bare import BarePage

SERVER = Task("ps", 0, TaskState.RUNNING, silent_s=0.5)
WORKER = Task("worker", 0, TaskState.RUNNING, silent_s=0.5, log="one\ntwo")


def test_the_tasks_of_a_cluster_are_listed_and_the_lost_are_marked(page: BarePage) -> None:
    tasks = [SERVER, WORKER]

    @nbtrain.background
    def train(run: nbtrain.Run) -> None:
        run.handle.remote.watch.source = lambda: tasks
        while not run.should_stop():
            run.record(loss=1.0)
            time.sleep(0.01)

    panel = page.panel(train)
    table = panel.locator(".nbt-tasks")
    expect(table.locator("summary").first).to_have_text("1 ps, 1 worker")
    expect(table.locator("tbody tr").first).to_be_hidden()
    table.locator("summary").first.click()
    heads = table.locator("th[scope=col]:visible")
    expect(heads).to_have_text(["task", "state", "sign of life", "end of its log"])
    row = table.locator("tbody tr").nth(1)
    expect(row.locator("> *")).to_have_text(["worker 0", "running", "now", "twoone\ntwo"])
    expect(row.locator("pre")).to_be_hidden()
    row.locator("summary").click()
    tasks = [SERVER, replace(WORKER, state=TaskState.LOST, silent_s=4.0)]
    expect(table.locator("summary").first).to_have_text("1 ps, 1 worker; worker 0 is lost")
    expect(row.locator("> *").nth(2)).to_have_text("0:04 ago")
    expect(row.locator("pre")).to_be_visible()  # its log stays open
    tasks = [SERVER, WORKER]
    expect(table.locator("summary").first).to_have_text("1 ps, 1 worker")
    assert [(mark.event, mark.text) for mark in train.marks if mark.event != "checkpoint"] == [
        ("lost", "worker 0 is lost"),
        ("returned", "worker 0 is back"),
    ]


def test_a_run_without_a_cluster_has_no_table(page: BarePage) -> None:
    @nbtrain.background
    def train(run: nbtrain.Run) -> None:
        while not run.should_stop():
            run.record(loss=1.0)
            time.sleep(0.01)

    panel = page.panel(train)
    expect(panel.locator(".uplot")).to_have_count(1)
    expect(panel.locator(".nbt-tasks")).to_be_hidden()
