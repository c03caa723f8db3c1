"""The charts of a panel: as many as fit a screen, and what the reader chooses about them."""

from __future__ import annotations

import math
import re
from functools import partial

import pytest
from playwright.sync_api import Locator, expect

from nbtrain.core.states import Phase
from nbtrain.panel.live.panel import Panel
from tests.gate import eventually
from tests.page.bare import BarePage
from tests.page.panel.charts import shown
from tests.panels import FakeRun
from tests.stores import add

TAGS = [f"metric_{i}" for i in range(9)]
LAPTOP = 600  # pixels of a page's height


@pytest.fixture
def recorded() -> FakeRun:
    """A run with nine tags of two hundred steps, which has ended."""
    run = FakeRun()
    for number, tag in enumerate(TAGS):
        add(run.scalars, tag, 1, *(1 + math.sin(step / 20 + number) for step in range(200)))
    run.now(phase=Phase.FINISHED, step=200, epoch=2, epochs=200, total_steps=17_600)
    return run


def charts(panel: Locator) -> Locator:
    return panel.locator("section[data-tag]:visible")


def height(panel: Locator) -> int:
    return int(panel.evaluate("e => e.offsetHeight"))


def test_the_head_says_the_epoch_beside_the_step(page: BarePage, recorded: FakeRun) -> None:
    line = shown(page, recorded).locator("[data-role=line]")
    expect(line).to_contain_text(re.compile(r"epoch 2 of 200\s*step 200 of 17,600"))


@pytest.mark.parametrize(("width", "count"), [(480, 2), (1000, 6), (1280, 9)])
def test_a_panel_fits_a_laptops_screen_and_scrolls_nowhere(
    page: BarePage, recorded: FakeRun, width: int, count: int
) -> None:
    page.page.set_viewport_size({"width": width, "height": LAPTOP})
    panel = shown(page, recorded)
    assert height(panel) <= LAPTOP
    expect(charts(panel)).to_have_count(count)
    scrolled = "e => [...e.querySelectorAll('*')].some(x => x.scrollHeight > x.clientHeight + 1 &&"
    scrolled += " ['auto', 'scroll'].includes(getComputedStyle(x).overflowY))"
    assert not panel.evaluate(scrolled)
    assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2)])
def test_charts_use_the_width_of_a_cell(page: BarePage, count: int, columns: int) -> None:
    page.page.set_viewport_size({"width": 1260, "height": LAPTOP})
    run = FakeRun()
    for tag in TAGS[:count]:
        add(run.scalars, tag, 1, 3.0, 1.0, 2.0)
    run.now(phase=Phase.FINISHED)
    panel = shown(page, run)
    boxes = [box for chart in charts(panel).all() if (box := chart.bounding_box())]
    assert (len(boxes), len({box["x"] for box in boxes})) == (count, columns)
    assert max(box["x"] + box["width"] for box in boxes) > 1220


def test_the_charts_that_do_not_fit_are_shown_on_request(page: BarePage, recorded: FakeRun) -> None:
    panel = shown(page, recorded)
    more = panel.locator("[data-act=more-charts]")
    expect(more).to_have_text("3 more charts")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.focus()
    page.page.keyboard.press("Enter")
    expect(charts(panel)).to_have_count(9)
    expect(panel.locator("[data-tag=metric_8] .uplot")).to_be_visible()
    expect(more).to_have_text("Fewer charts")
    expect(more).to_be_focused()
    more.click()
    expect(charts(panel)).to_have_count(6)


def test_the_height_is_changed_by_mouse_and_keys_and_kept_over_a_reload(
    page: BarePage, recorded: FakeRun
) -> None:
    panel = shown(page, recorded)
    begun = height(panel)
    handle = panel.get_by_role("separator", name="height of the charts")
    box = handle.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 20, box["y"] + 5)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 20, box["y"] + 205)
    page.page.mouse.up()
    expect(charts(panel)).to_have_count(8)
    grown = height(panel)
    assert 150 < grown - begun <= 205
    page.load()
    panel = page.page.locator(".nbt")
    expect(charts(panel)).to_have_count(8)
    assert height(panel) == grown
    handle = panel.get_by_role("separator", name="height of the charts")
    handle.focus()
    page.page.keyboard.press("ArrowDown")
    eventually(lambda: height(panel) > grown)
    page.page.keyboard.press("Home")
    eventually(lambda: height(panel) == begun)


@pytest.mark.parametrize("width", [480, 800])
def test_a_hover_shortens_no_name_and_moves_no_chart(page: BarePage, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": LAPTOP})
    run = FakeRun()
    for tag in ("epoch_categorical_accuracy", "epoch_val_categorical_accuracy"):
        add(run.scalars, tag, 10_001, *(step / 7e6 for step in range(3000)))
    run.now(phase=Phase.FINISHED, values=run.scalars.last_values())
    panel = shown(page, run)
    name, plot = panel.locator(".nbt-tag"), panel.locator(".nbt-plot")
    legend = panel.locator("[data-role=legend]")
    before = plot.bounding_box()
    panel.locator(".u-over").hover(position={"x": 100, "y": 40})
    expect(legend).to_contain_text("step 1")
    assert name.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert legend.evaluate("e => e.scrollWidth <= e.clientWidth"), "nothing of it is cut off"
    assert plot.bounding_box() == before


def test_smoothing_draws_one_line_more_and_is_kept_over_a_reload(
    page: BarePage, recorded: FakeRun
) -> None:
    panel = shown(page, recorded)
    slider = panel.get_by_role("slider", name="smoothing")
    legend = panel.locator("[data-tag=metric_0] [data-role=legend]")
    over = panel.locator("[data-tag=metric_0] .u-over")
    over.hover(position={"x": 100, "y": 40})
    expect(legend).to_have_text(re.compile(r"^step \d+ +[\d.]+$"))
    slider.fill("0.6")
    expect(panel.locator(".nbt-smooth")).to_have_text("0.60")
    for again in (False, True):
        if again:
            page.load()
            panel = page.page.locator(".nbt")
            legend = panel.locator("[data-tag=metric_0] [data-role=legend]")
            over = panel.locator("[data-tag=metric_0] .u-over")
        expect(panel.locator(".nbt-smooth")).to_have_text("0.60")
        over.hover(position={"x": 120, "y": 40})
        expect(legend).to_have_text(re.compile(r"^step \d+ +[\d.]+ +smoothed [\d.]+$"))


def test_each_chart_tells_its_best_value_if_its_direction_is_known(
    page: BarePage,
) -> None:
    run = FakeRun()
    add(run.scalars, "loss", 1, 3.0, 1.0, 2.0)
    add(run.scalars, "val_loss", 2, 1.5)
    add(run.scalars, "accuracy", 1, 0.2, 0.9, 0.4)
    add(run.scalars, "elbo", 1, -3.0, -2.0)
    run.now(phase=Phase.FINISHED, values=run.scalars.last_values())
    panel = shown(page, run)
    for tag, words in (("loss", "lowest val 1.5 at 2"), ("accuracy", "highest 0.9 at 2")):
        best = panel.locator(f"[data-tag={tag}] [data-role=best]")
        expect(best).to_have_text(words)
        expect(best).to_be_visible()
    expect(panel.locator("[data-tag=elbo] [data-role=best]")).to_have_text("")


# The part of the canvas's columns that hold the colour of a curve, its band or its points.
COLUMNS = """\
canvas => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let count = 0;
  for (let x = 0; x < width; x++)
    for (let y = 0; y < height; y++) {
      const [red, , blue, alpha] = data.slice(4 * (y * width + x), 4 * (y * width + x) + 4);
      if (alpha > 200 && blue - red > 60 && ++count) break;
    }
  return count / width;
}"""


def test_the_line_leads_through_buckets_with_some_finite_values(page: BarePage) -> None:
    run = FakeRun()
    values = [math.inf if step % 7 == 0 else 1.0 + step % 7 for step in range(2100)]
    widget = Panel(run)
    panel = page.show(widget).locator(".nbt")
    chart = panel.locator("[data-tag=error]")
    legend = chart.locator("[data-role=legend]")

    def arrived(count: int) -> bool:
        widget.tick()
        return legend.all_text_contents() == [f"{count} ∞"]

    for begin in range(0, 2100, 210):  # the page folds what it has
        add(run.scalars, "error", begin, *values[begin : begin + 210])
        run.now(phase=Phase.RUNNING, step=begin + 210, values=run.scalars.last_values())
        eventually(partial(arrived, (begin + 210) // 7))
    expect(chart.locator("[data-role=best]")).to_have_text("lowest 2 at 0 to 7")
    assert chart.locator("canvas").evaluate(COLUMNS) > 0.8
    chart.locator(".u-over").hover(position={"x": 100, "y": 40})
    expect(legend).to_have_text(re.compile(r"^step \d+ +[\d.]+ +\(2 to 7\) +also ∞$"))


def test_a_value_between_two_gaps_is_a_point(page: BarePage) -> None:
    run = FakeRun()
    add(run.scalars, "x", 0, *(math.nan if step % 2 else 1.0 for step in range(21)))
    run.now(phase=Phase.FINISHED)
    chart = shown(page, run).locator("[data-tag=x]")
    assert 0.04 < chart.locator("canvas").evaluate(COLUMNS) < 0.3, "eleven of them"


def test_logarithmic_axes_are_kept_over_a_reload(page: BarePage, recorded: FakeRun) -> None:
    panel = shown(page, recorded)
    for again in (False, True):
        if again:
            page.load()
            panel = page.page.locator(".nbt")
        chart = panel.locator("[data-tag=metric_1]")
        toggle, logx = chart.get_by_role("button", name="log"), panel.get_by_label("log x")
        if not again:
            toggle.focus()
            page.page.keyboard.press("Enter")
            logx.check()
        expect(toggle).to_have_attribute("aria-pressed", "true")
        expect(toggle).to_be_visible()
        expect(logx).to_be_checked()
        expect(panel.locator("[data-tag=metric_0] [aria-pressed=true]")).to_have_count(0)
        over = chart.locator(".u-over")
        width = over.evaluate("e => e.clientWidth")
        over.hover(position={"x": width / 2, "y": 40})
        middle = re.compile(r"^step 1[345] ")  # of 1 to 200
        expect(chart.locator("[data-role=legend]")).to_have_text(middle)


def test_a_pinned_chart_comes_first_and_is_kept_for_the_next_run(
    page: BarePage, recorded: FakeRun
) -> None:
    panel = shown(page, recorded)
    panel.locator("[data-act=more-charts]").click()
    pin = panel.get_by_role("button", name="pin metric_7")
    expect(pin).to_have_text("☆")
    pin.focus()
    page.page.keyboard.press("Enter")
    first = charts(panel).first
    expect(first).to_have_attribute("data-tag", "metric_7")
    expect(first.locator(".uplot")).to_be_visible()
    expect(pin).to_be_focused()
    expect(pin).to_have_text("★")
    panel.locator("[data-act=more-charts]").click()
    other = FakeRun()
    for tag in ("metric_1", "metric_7", "metric_2"):
        add(other.scalars, tag, 1, 1.0, 2.0)
    other.now(phase=Phase.FINISHED, step=2)
    expect(charts(shown(page, other)).first).to_have_attribute("data-tag", "metric_7")
    pin.click()
    expect(charts(panel).first).to_have_attribute("data-tag", "metric_0")
    expect(charts(panel)).to_have_count(6)


def heights(chart: Locator) -> list[float]:
    """The heights at which a chart draws the values of an early and of a late step."""
    found = []
    for part in (0.2, 0.9):
        over = chart.locator(".u-over")
        width = over.evaluate("e => e.clientWidth")
        over.hover(position={"x": part * width, "y": 40})
        dot = chart.locator(".nbt-dot:not(.nbt-validation)")
        expect(dot).to_be_visible()
        found.append(dot.evaluate("e => e.getBoundingClientRect().top"))
    return found


def test_a_spike_is_left_out_and_marked_until_the_reader_wants_it(page: BarePage) -> None:
    run = FakeRun()
    add(run.scalars, "loss", 1, *(3e29 if step == 150 else 1 - step / 500 for step in range(300)))
    add(run.scalars, "accuracy", 1, *(step / 500 for step in range(300)))
    run.now(phase=Phase.FINISHED)
    panel = shown(page, run)
    loss, accuracy = (panel.locator(f"[data-tag={tag}]") for tag in ("loss", "accuracy"))
    expect(accuracy.locator("[data-act=outliers]")).to_be_hidden()
    outliers = loss.get_by_role("button", name="outliers of loss")
    expect(outliers).to_have_attribute("aria-pressed", "false")
    expect(outliers).to_have_attribute("data-places", "1")
    early, late = heights(loss)
    assert late - early > 60
    outliers.click()
    expect(outliers).to_have_attribute("aria-pressed", "true")
    expect(outliers).to_have_attribute("data-places", "0")
    early, late = heights(loss)
    assert abs(late - early) < 1
    page.load()
    expect(outliers).to_have_attribute("aria-pressed", "true")
    outliers.click()
    expect(outliers).to_have_attribute("data-places", "1")
