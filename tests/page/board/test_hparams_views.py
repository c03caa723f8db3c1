"""Hyperparameters as parallel coordinates and as scatter plots."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from playwright.sync_api import Error, Locator, expect
from tensorboard.plugins.hparams import api as hp

from tests.gate import eventually
from tests.logdirs import TRIALS, write_tables
from tests.page.bare import BarePage
from tests.page.board.boards import count, drawn, shown

RATE = "hyperparameters learning_rate"
OPTIMIZER = "hyperparameters optimizer"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four trials, and one without an optimizer whose loss is NaN."""
    logdir = tmp_path_factory.mktemp("logs")
    write_tables(logdir)
    with tf.summary.create_file_writer(str(logdir / "trial-4")).as_default():
        hp.hparams({"learning_rate": 0.5, "batch_size": 128, "dropout": 0.2})
        tf.summary.scalar("loss", float("nan"), step=1)
    return logdir


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of the hyperparameters."""
    return shown(page.line(f"hparams {logdir}"))


def opened(board: Locator, name: str) -> Locator:
    """A view, brought to the front."""
    board.get_by_role("tab", name=name).click()
    return board.locator(f"[data-role={name.split()[0].lower()}]")


@pytest.fixture
def parallel(board: Locator) -> Locator:
    """The parallel coordinates, once they are drawn."""
    view = opened(board, "Parallel coordinates")
    expect(view).to_have_attribute("data-lines", "5")
    return view


def axis(view: Locator, name: str) -> float:
    """Returns the place of an axis in the page."""
    head = view.locator(f"[data-axis='{name}']")

    def box() -> Any:
        with contextlib.suppress(Error):  # an update draws it again meanwhile
            head.scroll_into_view_if_needed()
        return head.bounding_box()

    found = eventually(box)
    return float(found["x"] + found["width"] / 2)


def brush(view: Locator, name: str, begin: float, end: float) -> None:
    """Drag along an axis, from a part of its height to another; 0 is below."""
    x = axis(view, name)
    box = view.locator(".nbt-stage").bounding_box()
    assert box is not None
    heights = [box["y"] + 308 - 300 * part for part in (begin, end)]
    mouse = view.page.mouse
    mouse.move(x, heights[0])
    mouse.down()
    mouse.move(x, sum(heights) / 2)
    mouse.move(x, heights[1])
    mouse.up()


def click_axis(view: Locator, name: str) -> None:
    box = view.locator(".nbt-stage").bounding_box()
    assert box is not None
    view.page.mouse.click(axis(view, name), box["y"] + 150)


def test_a_brushed_axis_filters_runs_in_all_views_and_a_click_ends_it(
    board: Locator, parallel: Locator
) -> None:
    brush(parallel, RATE, 0.3, 0.8)
    count(board, "3 of 5 runs")
    expect(parallel).to_have_attribute("data-lines", "3")
    brush(parallel, OPTIMIZER, 0.6, 0.9)
    count(board, "2 of 5 runs")
    board.get_by_role("tab", name="Table").click()
    expect(board.locator("tbody [data-session]")).to_have_text(["trial-2", "trial-3"])
    opened(board, "Parallel coordinates")
    click_axis(parallel, OPTIMIZER)
    count(board, "3 of 5 runs")
    click_axis(parallel, RATE)
    count(board, "5 of 5 runs")


def test_a_brush_is_seen_in_the_fields_of_the_filters_and_they_set_it(
    board: Locator, parallel: Locator
) -> None:
    board.locator("[data-act=Filters]").click()
    brush(parallel, RATE, 0.5, -0.1)
    fields = board.locator(f"[data-filter='{RATE}']")
    expect(fields.locator("[data-end=from]")).to_have_value("")
    expect(fields.locator("[data-end=to]")).to_have_value(re.compile(r"^0\.02\d+$"))
    expect(board.locator("[data-act=Filters]")).to_have_text("Filters: 1")
    fields.locator("[data-end=to]").fill("0.005")
    expect(parallel).to_have_attribute("data-lines", "1")
    board.locator("[data-filter='metrics loss'] [data-end=from]").fill("100")
    expect(parallel).to_have_attribute("data-lines", "0")
    board.get_by_role("button", name="clear all filters").click()
    expect(parallel).to_have_attribute("data-lines", "5")


def test_values_that_span_decades_begin_logarithmic_and_a_key_changes_that(
    parallel: Locator,
) -> None:
    rate = parallel.get_by_role("button", name="log learning_rate")
    expect(rate).to_have_attribute("aria-pressed", "true")
    size = parallel.get_by_role("button", name="log batch_size")
    expect(size).to_have_attribute("aria-pressed", "false")
    size.press("Enter")
    expect(size).to_have_attribute("aria-pressed", "true")
    expect(size).to_be_focused()
    for name in ("log optimizer", "log dropout", "log shuffle"):
        expect(parallel.get_by_role("button", name=name)).to_have_count(0)


def test_keys_read_run_after_run_and_mark_one_in_the_table(
    page: BarePage, board: Locator, parallel: Locator
) -> None:
    stage = parallel.locator(".nbt-stage")
    stage.press("ArrowDown")
    told = parallel.locator("[data-role=values]")
    expect(told).to_contain_text("trial-0")
    expect(told).to_contain_text("optimizeradam")
    stage.press("ArrowUp")
    expect(told).to_contain_text("trial-4")
    expect(told).to_contain_text("optimizer–")
    expect(told).to_contain_text("lossNaN")
    stage.press("Enter")
    marked = board.locator("[data-role=marked]")
    expect(marked).to_have_text("◆ trial-4 ✕")
    stage.press("Escape")
    expect(told).not_to_be_visible()
    board.get_by_role("tab", name="Table").click()
    expect(board.locator("tr[aria-current=true]")).to_contain_text("trial-4")
    marked.click()
    expect(board.locator("tr[aria-current=true]")).to_have_count(0)
    expect(marked).not_to_be_visible()


def test_the_run_that_is_pointed_at_in_the_list_stands_out(
    page: BarePage, board: Locator, parallel: Locator
) -> None:
    stage = parallel.locator(".nbt-stage")
    expect(stage).not_to_have_class(re.compile("nbt-pointed"))
    board.locator("[data-run=trial-2]").hover()
    expect(stage).to_have_class(re.compile("nbt-pointed"))
    board.locator("[data-role=filter-runs]").hover()
    expect(stage).not_to_have_class(re.compile("nbt-pointed"))
    scatter = opened(board, "Scatter")
    plot = scatter.locator("[data-hparam=dropout]")
    expect(plot).to_have_attribute("data-points", "4")
    board.locator("[data-run=trial-2]").hover()
    expect(plot.locator(".nbt-ring")).to_be_visible()


def test_a_column_without_numbers_and_a_single_run_are_drawn(
    page: BarePage, own_folder: Path
) -> None:
    with tf.summary.create_file_writer(str(own_folder / "one")).as_default():
        hp.hparams({"rate": float("nan"), "name": ""})
        tf.summary.scalar("loss", float("inf"), step=1)
    board = shown(page.line("hparams one"))
    view = opened(board, "Parallel coordinates")
    expect(view).to_have_attribute("data-axes", "3")
    view.locator(".nbt-stage").press("ArrowDown")
    expect(view.locator("[data-role=values]")).to_contain_text("loss∞")
    brush(view, "hyperparameters name", 0.2, 0.4)
    count(board, "1 of 1 runs")
    scatter = opened(board, "Scatter")
    expect(scatter.locator("[data-hparam=rate]")).to_have_attribute("data-points", "1")


def test_axes_are_the_columns_that_are_shown(board: Locator, parallel: Locator) -> None:
    expect(parallel.locator("[data-axis]")).to_have_count(10)
    board.locator("[data-role=filter-tags]").fill("rate|^loss$")
    expect(parallel.locator("[data-axis]")).to_have_count(2)
    board.locator("[data-act=Columns]").click()
    board.locator("[data-role=columns]").get_by_label("learning_rate").uncheck()
    expect(parallel.locator("[data-axis]")).to_have_count(1)
    board.locator("[data-role=filter-tags]").fill("nothing")
    expect(parallel.locator("[data-role=axes]")).to_contain_text("see Columns")
    expect(opened(board, "Scatter")).to_contain_text("No hyperparameter is selected: see Columns.")


def test_a_point_tells_its_run_and_a_click_marks_it(page: BarePage, board: Locator) -> None:
    scatter = opened(board, "Scatter")
    scatter.locator("[data-role=metric]").select_option("metrics validation/accuracy")
    plot = scatter.locator("[data-hparam=learning_rate]")
    expect(plot).to_have_attribute("data-points", "4")
    expect(plot.locator("[data-role=missing]")).to_have_text("1 without a value")
    plot.locator(".nbt-plot").press("ArrowRight")
    told = plot.locator("[data-role=values]")
    expect(told).to_contain_text("trial-0")
    expect(told).to_contain_text("learning_rate0.001")
    ring = plot.locator(".nbt-ring").bounding_box()
    assert ring is not None
    other = scatter.locator("[data-hparam=dropout] .nbt-ring")
    expect(other).to_be_visible()
    page.page.mouse.click(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    expect(board.locator("[data-role=marked]")).to_have_text("◆ trial-0 ✕")
    board.get_by_role("tab", name="Table").click()
    expect(board.locator("tr[aria-current=true]")).to_contain_text("trial-0")


def test_scatter_plots_have_a_point_for_each_run_that_the_filters_leave(board: Locator) -> None:
    scatter = opened(board, "Scatter")
    expect(scatter.locator("[data-role=metric]")).to_have_value("metrics loss")
    size = scatter.locator("[data-hparam=batch_size]")
    expect(size).to_have_attribute("data-points", "4")
    board.locator("[data-act=Filters]").click()
    board.locator(f"[data-filter='{OPTIMIZER}']").get_by_label("adam").uncheck()
    expect(size).to_have_attribute("data-points", "2")
    board.locator("[data-role=filter-runs]").fill("3$")
    expect(size).to_have_attribute("data-points", "1")
    log = size.get_by_role("button", name="log")
    log.click()
    expect(log).to_have_attribute("aria-pressed", "true")


HIGHER = "([plot, height]) => plot.querySelector('.u-over').clientHeight > 2 * height"
AS_BEFORE = "([plot, height]) => plot.querySelector('.u-over').clientHeight === height"


def test_a_scatter_plot_fills_the_screen_and_comes_back(page: BarePage, board: Locator) -> None:
    plot = opened(board, "Scatter").locator("[data-hparam=batch_size]")
    expect(plot).to_have_attribute("data-points", "4")
    height = plot.locator(".u-over").evaluate("over => over.clientHeight")
    plot.get_by_role("button", name="batch_size on the whole screen").click()
    page.page.wait_for_function(HIGHER, arg=[plot.element_handle(), height])
    plot.locator("[data-act=full-screen]").click()
    page.page.wait_for_function(AS_BEFORE, arg=[plot.element_handle(), height])


def test_a_run_has_its_own_colour_or_that_of_a_value(board: Locator) -> None:
    scatter = opened(board, "Scatter")
    colours = scatter.locator("[data-role=colours]")
    expect(colours.locator(".nbt-ramp-bar")).to_be_visible()
    colour = scatter.locator("[data-role=colour]")
    colour.select_option(OPTIMIZER)
    expect(colours).to_have_text("adamsgd")
    colour.select_option("run")
    expect(colours).to_have_text("")
    expect(scatter.locator("[data-hparam=dropout]")).to_have_attribute("data-points", "4")


def test_the_view_is_kept_by_the_browser_for_the_next_board(
    page: BarePage, board: Locator, parallel: Locator, logdir: Path
) -> None:
    page.load()
    after = page.page.locator(f"#cell-{page.kernel.cell} .nbt-board")
    expect(after.locator("[data-role=parallel]")).to_have_attribute("data-lines", "5")
    other = page.line(f"hparams {logdir} --runs trial-[12]")
    expect(other.locator("[data-role=parallel]")).to_have_attribute("data-lines", "2")
    expect(other.get_by_role("tab", name="Parallel coordinates")).to_have_attribute(
        "aria-selected", "true"
    )


def test_narrow_pages_scroll_within_the_axes_and_nowhere_else(
    page: BarePage, board: Locator, parallel: Locator
) -> None:
    page.page.set_viewport_size({"width": 480, "height": 1000})
    expect(board.locator(".nbt-runs")).to_be_visible()
    wide = parallel.locator(".nbt-wide")
    assert wide.evaluate("node => node.scrollWidth > node.clientWidth")
    page.page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_name_from_a_file_is_text_in_every_view(page: BarePage, own_folder: Path) -> None:
    name = "<img src=x onerror='window.wicked=1'>"
    for number, trial in enumerate(TRIALS[:2]):
        with tf.summary.create_file_writer(str(own_folder / "odd" / f"{number}")).as_default():
            hp.hparams({name: name + str(number), **trial})
            tf.summary.scalar(name, 1.0, step=0)
    board = drawn(page.line("scalars odd"))
    board.get_by_role("tab", name="HParams").click()
    view = opened(board, "Parallel coordinates")
    view.locator(".nbt-stage").press("ArrowDown")
    expect(view.locator("[data-role=values]")).to_contain_text("<img src=x")
    view.locator("[data-role=colour]").select_option(f"hyperparameters {name}")
    expect(view.locator("[data-role=colours]")).to_contain_text("<img src=x")
    expect(opened(board, "Scatter")).to_contain_text("<img src=x")
    assert board.locator("img").count() == 0
    assert page.page.evaluate("() => window.wicked === undefined")
