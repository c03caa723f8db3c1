"""Panels and boards in VS Code, which renders widgets by its own bundle, without Jupyter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

import nbtrain
from tests.gate import eventually
from tests.logdirs import write_curves
from tests.page.bare import (
    click,
    phase,
    receipt,
    see_curve,
    step_of,
    wait_for_step,
    wait_until_coloured,
)
from tests.page.board.boards import chart_of, drawn
from tests.page.paced import Paced
from tests.page.panel.fields import field
from tests.page.vscode import PALE, THEMES, VSCodeKernel, VSCodePage, require_bundle

require_bundle()

DARK = ("vscode-dark", "vscode-high-contrast")


@pytest.fixture(scope="module")
def kernel() -> Iterator[VSCodeKernel]:
    """The other end of every page."""
    kernel = VSCodeKernel()
    yield kernel
    kernel.close()


@pytest.fixture
def page(browser: Browser, kernel: VSCodeKernel, shell: Any) -> Iterator[VSCodePage]:
    """A page without outputs; the runs and widgets that a test has made are ended after it."""
    page = VSCodePage(browser.new_page(), kernel, shell)
    yield page
    kernel.go_on()
    page.page.close()
    page.end()


def rgb(page: VSCodePage, colour: str) -> str:
    """A colour as a computed style has it."""
    return str(
        page.page.evaluate(
            """colour => {
              const probe = document.body.appendChild(document.createElement("i"));
              probe.style.color = colour;
              const found = getComputedStyle(probe).color;
              probe.remove();
              return found;
            }""",
            colour,
        )
    )


def painted(page: VSCodePage, widget: Locator, button: Locator, theme: str) -> None:
    """Change the theme; check that a widget and a button of it have its colours, all readable."""
    page.theme(theme)
    expect(widget).to_have_attribute("data-theme", "dark" if theme in DARK else "light")
    colours = THEMES[theme]
    expect(widget).to_have_css("color", rgb(page, colours["--vscode-foreground"]))
    ground = rgb(page, colours["--vscode-editorWidget-background"])
    expect(button).to_have_css("background-color", ground)
    for box in page.page.locator(".cell-output-ipywidget-background").all():
        expect(box).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    assert widget.evaluate(PALE) == []


def test_a_panel_is_live_and_its_buttons_work(panel: Locator) -> None:
    see_curve(panel)
    wait_for_step(panel, step_of(panel) + 20)
    click(panel, "pause")
    phase(panel, "paused")
    receipt(panel, "✓ paused")
    click(panel, "resume")
    phase(panel, "running")
    click(panel, "stop")
    phase(panel, "stopped")
    see_curve(panel)


def test_a_hyperparameter_is_set(panel: Locator, paced: Paced) -> None:
    field(panel, "dropout").fill("0.5")
    field(panel, "dropout").press("Enter")
    receipt(panel, "dropout")
    eventually(lambda: paced.dropout.numpy() == 0.5)


def test_a_click_while_a_cell_runs_says_that_it_waits(
    page: VSCodePage, panel: Locator, run: nbtrain.Run
) -> None:
    page.kernel.work()
    click(panel, "pause")
    assert receipt(panel, "queued") == (
        "Pause queued: the kernel is busy — it runs when the cell ends"
    )
    step = step_of(panel)
    wait_for_step(panel, step + 20)
    phase(panel, "running")
    assert not run.receipts
    page.kernel.go_on()
    phase(panel, "paused")
    receipt(panel, "✓ paused")


def test_a_page_that_is_loaded_again_shows_the_panel_again(
    page: VSCodePage, panel: Locator
) -> None:
    wait_for_step(panel, 5)
    page.load()
    see_curve(panel)
    wait_for_step(panel, step_of(panel) + 20)


def test_a_panel_has_the_colours_of_each_theme(page: VSCodePage, panel: Locator) -> None:
    see_curve(panel)
    for theme in THEMES:
        painted(page, panel, panel.locator("[data-command=pause]"), theme)
        if border := THEMES[theme].get("--vscode-contrastBorder"):
            bar = panel.locator(".nbt-bar")
            expect(bar).not_to_have_css("background-color", rgb(page, border))
        see_curve(panel)


def test_a_board_shows_its_curves_in_the_colours_of_each_theme(
    page: VSCodePage, tmp_path: Path
) -> None:
    write_curves(tmp_path)
    board = drawn(page.line(f"scalars {tmp_path}"))
    chart = chart_of(board, "train/loss")
    for theme in THEMES:
        painted(page, board, board.locator(".nbt-tools select").first, theme)
        wait_until_coloured(chart.locator("canvas"))
