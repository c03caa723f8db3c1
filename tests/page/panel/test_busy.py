"""Clicks in the panel of a run whose kernel is busy: they go through the run's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.remote.attach import opened
from tests.on_disk import journal
from tests.page.bare import BarePage, click, phase, receipt, wait_for_step
from tests.servers import be_started_by_server

BUSY_MS = 1600  # a little more than a click waits for the kernel


class Server:
    """The contents interface of a server of notebooks, between a page and the tests' folder.

    Attributes:
        status: The answer to a command.
        writes: Whether it writes the commands that it answers with 201.
        headers: Of the commands, the newest last.
        sent: The commands, the newest last.
    """

    def __init__(self, page: BarePage) -> None:
        self.status, self.writes = 201, True
        self.headers: list[dict[str, str]] = []
        self.sent: list[dict[str, Any]] = []
        self._base = f"{page.kernel.address}user/ada/api/contents/"
        page.page.route(f"{self._base}**", self._handle)

    def _handle(self, route: Route) -> None:
        path = Path.cwd() / route.request.url.removeprefix(self._base).partition("?")[0]
        if route.request.method == "GET":
            found = path.is_file()
            content = json.dumps({"content": path.read_text()}) if found else "{}"
            route.fulfill(status=200 if found else 404, body=content)
            return
        self.headers.append(route.request.headers)
        content = json.loads(route.request.post_data or "")["content"]
        self.sent.append(json.loads(content))
        if self.status == 201 and self.writes:
            path.write_text(content)
        route.fulfill(status=self.status, body="{}")


def settle_in(page: BarePage) -> None:
    """Make the page one of Notebook's, which does not know the root of its server."""
    page.page.evaluate(
        """config => {
          const script = document.createElement("script");
          Object.assign(script, {id: "jupyter-config-data", type: "application/json"});
          script.textContent = JSON.stringify(config);
          document.head.append(script);
        }""",
        {"baseUrl": "/user/ada/", "token": "", "notebookPage": "notebooks"},
    )
    page.page.context.add_cookies([{"name": "_xsrf", "value": "2|b3", "url": page.kernel.address}])


@pytest.fixture
def server(page: BarePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server that the page comes from, with the tests' folder as its root."""
    be_started_by_server(Path.cwd(), tmp_path / "runtime", monkeypatch)
    page.load(own_clock=True)
    settle_in(page)
    return Server(page)


@pytest.fixture
def busy(page: BarePage, server: Server, run: nbtrain.Run) -> Iterator[Locator]:
    """The panel of the run, whose kernel hears nothing for as long as the test."""
    panel = page.panel(run)
    wait_for_step(panel, 5)
    page.kernel.work()
    yield panel
    page.kernel.go_on()


def late(page: BarePage, panel: Locator, command: str) -> None:
    """Click, and let the time pass in which a kernel answers."""
    click(panel, command)
    page.page.clock.run_for(BUSY_MS)


def test_a_click_is_executed_while_the_kernel_is_busy_and_only_once(
    page: BarePage, server: Server, busy: Locator, run: nbtrain.Run
) -> None:
    late(page, busy, "pause")
    phase(busy, "paused")
    assert "✓ paused" in receipt(busy, "paused")
    page.kernel.go_on()  # it hears of the click now
    click(busy, "resume")
    phase(busy, "running")
    (line,) = journal(run.logdir, "pause")
    assert line["by"] == "the panel, through the run's folder"
    assert [sent["command"] for sent in server.sent] == ["pause"]
    assert server.headers[0]["x-xsrftoken"] == "2|b3"
    assert [each.name for each in run.receipts] == ["pause", "resume"]


def test_the_panel_says_that_a_click_was_sent_through_the_folder(
    page: BarePage, server: Server, busy: Locator
) -> None:
    server.writes = False  # the run does not see it yet
    late(page, busy, "save")
    assert receipt(busy, "folder") == "Save sent through the run's folder: the kernel is busy"


def test_the_answer_is_told_while_the_kernel_says_nothing(
    page: BarePage, server: Server, busy: Locator, run: nbtrain.Run
) -> None:
    page.kernel.hang()
    late(page, busy, "pause")
    receipt(busy, "✓ paused (step")
    assert run.status.phase is Phase.PAUSED
    phase(busy, "running")  # as far as the page knows
    page.kernel.go_on()
    phase(busy, "paused")
    receipt(busy, "✓ paused (step")


def test_a_click_in_an_attached_panel_is_answered_though_its_kernel_did_not_send_it(
    page: BarePage, server: Server, run: nbtrain.Run
) -> None:
    with opened(run.logdir) as attached:
        panel = page.show(attached).locator(".nbt")
        wait_for_step(panel, 5)
        page.kernel.work()
        late(page, panel, "pause")
        receipt(panel, "✓ paused (step")
        phase(panel, "paused")
        page.kernel.go_on()
        click(panel, "resume")
        phase(panel, "running")
        receipt(panel, "✓ running again")
    assert [each.name for each in run.receipts] == ["pause", "resume"]


@pytest.mark.parametrize("status", [403, 404])
def test_a_folder_that_the_page_cannot_reach_is_told_and_the_click_waits(
    page: BarePage, server: Server, busy: Locator, run: nbtrain.Run, status: int
) -> None:
    server.status = status
    late(page, busy, "pause")
    page.page.clock.run_for(BUSY_MS)
    assert receipt(busy, str(status)) == (
        "Pause queued: the kernel is busy — it runs when the cell ends; "
        f"it could not be sent through the run's folder ({status})"
    )
    page.kernel.go_on()
    phase(busy, "paused")
    receipt(busy, "✓ paused")
    (line,) = journal(run.logdir, "pause")
    assert "by" not in line
    assert len(server.sent) == 1


def test_a_page_whose_server_has_another_root_sends_nothing(
    page: BarePage,
    server: Server,
    run: nbtrain.Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    be_started_by_server(tmp_path / "elsewhere", tmp_path / "runtime", monkeypatch)
    panel = page.panel(run)
    wait_for_step(panel, 5)
    page.kernel.work()
    late(page, panel, "pause")
    assert receipt(panel, "queued") == (
        "Pause queued: the kernel is busy — it runs when the cell ends"
    )
    page.kernel.go_on()
    phase(panel, "paused")
    assert server.sent == []


def test_a_stop_through_the_folder_ends_the_run_while_the_kernel_is_busy(
    page: BarePage, server: Server, busy: Locator, run: nbtrain.Run
) -> None:
    late(page, busy, "stop")
    phase(busy, "stopped")
    page.kernel.go_on()
    (line,) = journal(run.logdir, "stop")
    assert line["by"] == "the panel, through the run's folder"
