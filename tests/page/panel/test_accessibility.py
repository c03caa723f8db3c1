"""The panel for a reader who hears it, has no pointer, or has chosen other colours or sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from nbtrain.core.states import Phase
from tests.page.axe import as_in_jupyterlab, check, fits, walk
from tests.page.bare import SIZE, BarePage
from tests.page.panel.asked import ask
from tests.page.panel.steered import SteeredPanel


@pytest.fixture
def panel(page: BarePage, own_folder: Path) -> Iterator[SteeredPanel]:
    """The panel of a run that was steered."""
    panel = SteeredPanel(page, own_folder / "lively")
    yield panel
    panel.run.close()


def test_no_state_of_a_panel_breaks_a_rule_of_axe(page: BarePage, panel: SteeredPanel) -> None:
    press = page.page.keyboard.press
    panel.run.answer(applied=False)
    panel.run.compare()
    panel.update(phase=Phase.PAUSED, message="loss is NaN", notice="continued from ckpt-50")
    check(page)
    as_in_jupyterlab(page)
    ask(panel.root, "save")
    check(page)
    press("Escape")
    panel.root.get_by_role("button", name="Try…").click()
    check(page)
    press("Escape")
    panel.run.answer(applied=True)
    panel.update(phase=Phase.FAILED, error="ValueError: no", failure="ValueError: no")
    check(page)
    panel.update(phase=Phase.FINISHED, error=None, failure=None, message=None)
    check(page)
    panel.update(phase=Phase.RUNNING)
    check(page)


def test_phase_receipts_and_warnings_are_announced(page: BarePage, panel: SteeredPanel) -> None:
    live = "e => (window.live = [...e.querySelectorAll('[role=status]')])"
    panel.root.evaluate(f"{live}.filter(e => e.checkVisibility())")
    panel.run.answer(applied=False)
    panel.update(phase=Phase.PAUSED, message="loss is NaN", notice="continued from ckpt-50")
    said = page.page.evaluate("live.map(e => e.textContent)")
    for text in ("❚❚ paused", "✕ save: disk full", "loss is NaN", "continued from ckpt-50"):
        assert any(each.startswith(text) for each in said), (text, said)


def test_a_chart_has_a_name_a_summary_and_a_table(page: BarePage, panel: SteeredPanel) -> None:
    chart = panel.root.get_by_role("group", name="chart of loss and val_loss")
    about = chart.get_attribute("aria-description")
    assert about is not None
    line = "newest 0.005, lowest 0.005, highest 1, steps 0 to 199"
    assert about.startswith(f"loss: {line}; val_loss: {line}. The arrow keys read"), about
    chart.press("End")
    said = chart.get_by_role("status")
    expect(said).to_have_text("step 199  0.005val 0.005")
    chart.press("Home")
    for _ in range(30):
        chart.press("ArrowRight")
        if "save" in said.inner_text():
            break
    expect(said).to_contain_text("● save · step 50 · ")
    button = panel.root.get_by_role("button", name="values of loss as a table")
    button.press("Enter")
    values = panel.root.get_by_role("region", name="values of loss")
    expect(values).to_be_focused()
    expect(values.get_by_role("columnheader")).to_have_text(["step", "loss", "val_loss"])
    expect(values.get_by_role("row")).to_have_count(201)
    expect(values.get_by_role("row").last).to_have_text("1990.0050.005")
    expect(values.locator("caption")).to_have_text("all points")
    check(page)
    page.page.keyboard.press("Escape")
    expect(button).to_be_focused()
    panel.root.get_by_role("button", name="values of part0/loss as a table").click()
    expect(panel.root.locator("caption")).to_have_text(
        "105 of 210 points of part0/loss: zoom in to see the others"
    )


def test_the_tab_key_leads_to_every_control_of_a_panel(panel: SteeredPanel) -> None:
    panel.update(phase=Phase.PAUSED, message="loss is NaN")
    walk(panel.root)


def test_the_arrow_keys_read_the_lines_of_the_log(panel: SteeredPanel) -> None:
    log = panel.root.get_by_role("region", name="lines of the log")
    current = log.locator("[aria-current=true]")
    expect(log).to_contain_text(f"step {panel.run.step} of the training")
    for newer in range(3):
        log.press("ArrowUp")
        expect(current).to_contain_text(f"step {panel.run.step - 10 * newer} of the training")
    log.press("ArrowDown")
    step = panel.run.step - 10
    expect(current).to_contain_text(f"step {step} of the training")
    said = panel.root.locator(".nbt-log > [role=status]")
    expect(said).to_have_text(f"step {step}: step {step} of the training")
    legend = panel.root.locator("[data-tag='part0/loss'] [data-role=legend]")
    expect(legend).to_have_text(re.compile(r"step (199|200) "))  # the nearest pixel


def test_nothing_moves_for_a_reader_who_has_asked_for_less_motion(
    page: BarePage, panel: SteeredPanel
) -> None:
    panel.update(total_steps=None)
    moving = "e => e.getAnimations({ subtree: true }).length"
    assert panel.root.evaluate(moving) > 0
    page.page.emulate_media(reduced_motion="reduce")
    assert panel.root.evaluate(moving) == 0


# Tells if fills, the lines before names, and pressed buttons differ from what is around them.
DIFFER = """\
(root) => {
  const of = (selector, part) => getComputedStyle(root.querySelector(selector), part);
  return [
    [of(".nbt-fill"), of(".nbt-bar")],
    [of(".nbt-tag", "::before"), of(".nbt-chart")],
    [of(".nbt-chart [aria-pressed=true]"), of(".nbt-chart [aria-pressed=false]")],
  ].map(([one, other]) => one.backgroundColor !== other.backgroundColor);
}"""


def test_colours_of_the_users_own_replace_the_theme_but_not_those_that_mean_something(
    page: BarePage, panel: SteeredPanel
) -> None:
    page.theme("light")
    panel.root.get_by_role("button", name="pin part0/loss").click()
    page.page.emulate_media(forced_colors="active", color_scheme="dark")
    expect(panel.root).to_have_attribute("data-theme", "dark")
    assert panel.root.evaluate(DIFFER) == [True, True, True]
    page.page.emulate_media(forced_colors="none", color_scheme="light")
    expect(panel.root).to_have_attribute("data-theme", "light")


def test_a_panel_fits_a_page_of_twice_the_size(page: BarePage, panel: SteeredPanel) -> None:
    panel.run.compare()
    panel.update(phase=Phase.PAUSED, message="loss is NaN")
    page.page.set_viewport_size({"width": SIZE["width"] // 2, "height": SIZE["height"] // 2})
    fits(panel.root)
    for name in ("Try…", "values of loss as a table"):
        panel.root.get_by_role("button", name=name).click()
        expect(panel.root.locator(".nbt-pop:popover-open")).to_be_in_viewport(ratio=1)
        fits(panel.root)
        page.page.keyboard.press("Escape")
