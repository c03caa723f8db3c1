"""The promises: a function each, whose docstring is printed."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.chromium import SECOND
from tests.matrix.front_ends import AGAIN, BOARD, FIRST, SECOND_RUN, SLEEPING, FrontEnd
from tests.page.bare import click, phase, see_curve, step_of, wait_for_step, wait_until_coloured
from tests.page.board.boards import chart_of


def panel_shows(front: FrontEnd) -> None:
    """`run` at the end of a cell shows the panel."""
    front.execute(FIRST)
    phase(front.shown(FIRST), "running")


def curve_is_live(front: FrontEnd) -> None:
    """Steps and curve move while no cell runs."""
    panel = front.shown(FIRST)
    wait_for_step(panel, step_of(panel) + 100)
    see_curve(panel)


def stop_while_a_cell_sleeps(front: FrontEnd) -> str | None:
    """A click on Stop ends a run while a cell runs that waits."""
    front.execute(SECOND_RUN)
    panel = front.shown(SECOND_RUN)
    phase(panel, "running")
    front.execute(SLEEPING, wait=False)
    wait_for_step(panel, step_of(panel) + 100)
    click(panel, "stop")
    try:
        expect(panel.locator("[data-role=phase]")).to_contain_text("stopped", timeout=10 * SECOND)
        return None
    except AssertionError:
        if not front.clicks_wait:
            raise
        receipt = panel.locator("[data-role=receipt]")
        expect(receipt).to_have_text(re.compile("."))
        return f"the click waits for the cell, and the panel says: “{receipt.inner_text()}”"
    finally:
        (front.folder / "go").touch()
        phase(panel, "stopped")


def second_view(front: FrontEnd) -> None:
    """`run` in another cell shows a second panel, and both are live."""
    front.execute(AGAIN)
    for index in (FIRST, AGAIN):
        panel = front.shown(index)
        panel.scroll_into_view_if_needed()
        phase(panel, "running")
        wait_for_step(panel, step_of(panel) + 100)
        see_curve(panel)


def board_shows(front: FrontEnd) -> None:
    """`nbtrain.scalars('runs')` shows the recorded curves."""
    front.execute(BOARD)
    wait_until_coloured(chart_of(front.shown(BOARD), "loss").locator("canvas"))


def colours_of_the_theme(front: FrontEnd) -> None:
    """Panel and board become dark with the page."""
    front.turn_dark()
    for index in (FIRST, BOARD):
        expect(front.shown(index)).to_have_attribute("data-theme", "dark")


def reload_keeps_the_panel(front: FrontEnd) -> None:
    """The panel is there and live when the page has been loaded again."""
    front.reload()
    phase(front.shown(FIRST), "running")
    curve_is_live(front)


def stop_at_rest(front: FrontEnd) -> None:
    """A click on Stop ends the run, and its panel stays."""
    panel = front.shown(FIRST)
    click(panel, "stop")
    phase(panel, "stopped")
    see_curve(panel)  # the panel stays


def no_red_box(front: FrontEnd) -> None:
    """No error, no text on stderr and no lost widget is shown, and no script has failed."""
    expect(front.red).to_have_count(0, timeout=10 * SECOND)
    assert front.errors == [], "; ".join(front.errors)


def picture_without_kernel(front: FrontEnd) -> None:
    """The saved notebook shows a picture of the run, and nothing of a lost widget."""
    cell = front.reopen_without_kernel()
    expect(cell.locator("img:visible, svg:visible").first).to_be_visible()
    expect(front.red).to_have_count(0, timeout=20 * SECOND)


# In the order in which they are looked at: its words in the table, and what looks. It returns words
# if the promise is kept only later.
PROMISES: dict[str, Callable[[FrontEnd], str | None]] = {
    "panel": panel_shows,
    "live curve": curve_is_live,
    "Stop while a cell sleeps": stop_while_a_cell_sleeps,
    "second view": second_view,
    "board": board_shows,
    "dark theme": colours_of_the_theme,
    "reload": reload_keeps_the_panel,
    "Stop at rest": stop_at_rest,
    "no red box": no_red_box,
    "saved, without a kernel": picture_without_kernel,
}
