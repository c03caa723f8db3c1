"""HParams, Custom Scalars and Compare, as a board shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect
from tensorboard.plugins.hparams import api as hp

import nbtrain
from tests.gate import SOON
from tests.logdirs import (
    category,
    chart,
    multiline,
    write_layout,
    write_media,
    write_tables,
    write_trial,
)
from tests.page.bare import BarePage
from tests.page.board.boards import chart_of, count, shown

WICKED = "<img src=x onerror='window.wicked=1'>"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four trials, and a layout of their curves in which something is wrong."""
    logdir = tmp_path_factory.mktemp("logs")
    write_tables(logdir)
    return logdir


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of the hyperparameters."""
    return shown(page.line(f"hparams {logdir}"))


def rows(board: Locator) -> list[str]:
    """The names of the table's rows, from above."""
    return board.locator("tbody [data-session]").all_inner_texts()


def test_a_heading_sorts_numbers_as_numbers_by_click_and_by_key(
    page: BarePage, board: Locator
) -> None:
    heading = board.locator("[data-column$=batch_size]")
    expect(heading).to_have_attribute("aria-sort", "none")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert rows(board)[:2] == ["trial-1", "trial-0"], "9 is less than 64, and 64 than 128"
    heading.get_by_role("button").press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert rows(board)[2:] == ["trial-0", "trial-1"]
    expect(heading.get_by_role("button")).to_be_focused()
    board.locator(".nbt-sheet").focus()
    page.page.keyboard.press("End")
    page.page.keyboard.press("ArrowRight")
    expect(board.locator(".nbt-sheet")).to_be_focused()
    board.locator("[data-column$='validation/accuracy'] button").click()
    expect(heading).to_have_attribute("aria-sort", "none")
    assert rows(board)[-1] == "trial-0", "of an accuracy the highest come first"


def test_filters_choose_rows_and_checkboxes_are_those_of_the_run_list(
    page: BarePage, board: Locator
) -> None:
    count(board, "4 of 4 runs")
    expect(board.locator(".nbt-status")).to_have_text(
        ["✓ success", "✗ failure", "– unknown", "● running"]
    )
    board.locator("[data-act=Filters]").click()
    rate = board.locator("[data-filter$=learning_rate]")
    rate.locator("[data-end=from]").fill("1e-2")
    rate.locator("[data-end=to]").fill("0.05")
    count(board, "2 of 4 runs")
    assert rows(board) == ["trial-1", "trial-3"]
    board.locator("[data-filter$=optimizer]").get_by_label("sgd").uncheck()
    count(board, "1 of 4 runs")
    board.get_by_role("button", name="clear all filters").click()
    count(board, "4 of 4 runs")
    rate.locator("[data-end=from]").fill("many")
    expect(rate.locator("[data-end=from]")).to_have_attribute("aria-invalid", "true")
    count(board, "4 of 4 runs")
    board.locator("[data-session=trial-2] input").uncheck()
    expect(board.locator("[data-run=trial-2] input")).not_to_be_checked()
    board.locator("[data-run=trial-2] input").check()
    expect(board.locator("[data-session=trial-2] input")).to_be_checked()
    board.locator("[data-role=filter-runs]").fill("[01]$")
    count(board, "2 of 4 runs")


def test_the_shown_rows_of_the_table_are_downloaded(page: BarePage, board: Locator) -> None:
    board.locator("[data-act=Columns]").click()
    board.locator("[data-role=columns]").get_by_label("layers").uncheck()
    board.locator("[data-role=filter-tags]").fill("optimizer|layers|learning")
    expect(board.locator("[data-role=tag-count]")).to_have_text("2 of 10 columns")
    board.locator("[data-role=filter-runs]").fill("0$")
    with page.page.expect_download() as found:
        board.locator("[data-act=CSV]").click()
    assert found.value.suggested_filename == "hparams.csv"
    assert Path(found.value.path()).read_text().splitlines() == [
        "run,status,learning_rate,optimizer",
        "trial-0,success,0.001,adam",
    ]


def test_a_layouts_charts_show_several_tags_and_bounds_and_what_is_wrong(
    page: BarePage,
    logdir: Path,
) -> None:
    board = shown(page.line(f"custom_scalars {logdir}"))
    losses = chart_of(board, "losses")
    expect(losses.locator("[data-role=tags]")).to_have_text("lossloss_highloss_low")
    expect(losses).to_have_attribute("data-points", str(4 * 3 * 200))
    dashes = "(lines) => new Set(lines.map((line) => String(line.dash ?? ''))).size"
    drawn = f"(root) => ({dashes})(root.card.chart.plot.series.slice(1))"
    assert losses.evaluate(drawn) == 3, "each tag has a dash, as each run has a colour"
    named = "(lines) => new Set(lines.map((line) => line.getAttribute('stroke-dasharray'))).size"
    assert losses.locator("[data-role=tags] line").evaluate_all(named) == 3
    losses.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(losses.locator("[data-role=values]")).to_contain_text("loss_low · trial-3")
    board.locator("[data-run=trial-3]").hover()
    full = (
        "(root) => root.card.chart.plot.series.slice(1).filter(({ alpha }) => alpha === 1).length"
    )
    assert losses.evaluate(full) == 3, "the lines of the run that is pointed at stand out"
    bounded = chart_of(board, "loss with its bounds")
    expect(bounded).to_have_attribute("data-points", str(4 * 200))
    bounded.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(bounded.locator("[data-role=values]")).to_contain_text(re.compile(r"\d to 0\.\d"))
    wrong = chart_of(board, "wrong")
    expect(wrong).to_contain_text("'(' is not a regular expression")
    expect(wrong).to_contain_text("No run has a tag that 'nothing.*' matches.")
    expect(wrong).to_have_attribute("data-points", str(4 * 200))
    lacking = board.locator("[data-tag=lacking]")
    expect(lacking).to_contain_text("No run has the tag 'no'.")
    board.locator("[data-role=filter-runs]").fill("0$")
    expect(losses).to_have_attribute("data-points", str(3 * 200))
    with page.page.expect_download() as found:
        losses.locator("[data-act=CSV]").click()
    assert Path(found.value.path()).read_text().count("\n") == 1 + 3 * 200


@pytest.mark.parametrize(
    ("title", "names", "bands"),
    [
        ("losses", [f"{tag} · trial-{i}" for tag in ("loss", "loss_high") for i in (0, 1)], 0),
        ("loss with its bounds", ["trial-0", "trial-1"], 2),
    ],
)
def test_a_layouts_chart_is_downloaded_as_a_drawing(
    page: BarePage, logdir: Path, title: str, names: list[str], bands: int
) -> None:
    board = shown(page.line(f"custom_scalars {logdir}"))
    board.locator("[data-role=filter-runs]").fill("[01]$")
    found = chart_of(board, title)
    expect(found).to_have_attribute("data-points", str((6 if title == "losses" else 2) * 200))
    with page.page.expect_download() as download:
        found.locator("[data-act=SVG]").click()
    drawing = Path(download.value.path()).read_text()
    for name in (title, *names):
        assert f"<!-- {name} -->" in drawing, name
    assert drawing.count("PolyCollection_") == bands
    wrong = chart_of(board, "wrong")
    with page.page.expect_download():
        wrong.locator("[data-act=SVG]").click()
    expect(wrong).to_contain_text("No run has a tag that 'nothing.*' matches.")
    assert ("stroke-dasharray" in drawing) is (title == "losses")


def test_two_runs_are_compared_side_by_side(page: BarePage, logdir: Path) -> None:
    board = shown(page.show(nbtrain.compare(str(logdir))))
    expect(board).to_have_attribute("data-tab", "compare")
    board.get_by_role("button", name="none").click()
    expect(board.locator("[data-role=compare-words]")).to_contain_text("Check two or more runs")
    for run in ("trial-0", "trial-2"):
        board.locator(f"[data-run={run}] input").check()
    baseline = board.locator("[data-role=baseline]")
    expect(baseline.locator("option")).to_have_text(["none", "trial-0", "trial-2"])
    expect(board.locator("[data-about]")).to_have_text([re.compile(r"^duration\d+:\d\d\d+:\d\d$")])
    expect(board.locator("[data-hparam]")).to_have_count(3)
    expect(board.locator("[data-hparam=optimizer]")).to_have_text("optimizeradamsgd")
    board.locator("[data-role=same]").check()
    expect(board.locator("[data-hparam=dropout]")).to_have_text("dropout0.30.3")
    baseline.select_option("trial-0")
    expect(board.locator("th.nbt-base")).to_have_text("trial-0baseline")
    baseline.select_option("trial-2")
    expect(board.locator("thead th")).to_have_text(["trial-2baseline", "trial-0"])
    expect(board.locator("[data-hparam=optimizer]")).to_have_text("optimizersgdadam")
    baseline.select_option("trial-0")
    expect(board.locator("thead th")).to_have_text(["trial-0baseline", "trial-2"])
    loss = board.locator("tr[data-tag=loss]")
    expect(loss.locator("small")).to_have_text(re.compile(r"^-0\.1\d+, -\d+ %$"))
    board.locator("[data-role=extent]").check()
    # The directions of loss and accuracy are known, those of the bounds are not.
    expect(board.locator("tr.nbt-inner")).to_have_count(2 * 3 + 2 * 2)
    board.locator("[data-role=filter-tags]").fill("accuracy")
    expect(board.locator("tr[data-tag]")).to_have_count(1)
    chart = chart_of(board, "validation/accuracy")
    expect(chart).to_have_attribute("data-points", str(2 * 200))


SCROLLING = """e => [...e.querySelectorAll(":not(.nbt-runs-list)")]
    .filter((node) => node.scrollHeight > node.clientHeight + 1)
    .filter((node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowY))
    .map((node) => node.className)"""


@pytest.mark.parametrize("tab", ["scalars", "hparams", "compare"])
@pytest.mark.parametrize("width", [480, 1000])
def test_nothing_but_the_list_of_many_runs_scrolls_on_a_board(
    page: BarePage, own_folder: Path, tab: str, width: int
) -> None:
    for n in range(30):
        with tf.summary.create_file_writer(f"many/{n}").as_default():
            hp.hparams({f"units_{each}": n + each for each in range(25)})
            for each in range(12):
                tf.summary.scalar(f"loss_{each}", 1.0, step=0)
    page.page.set_viewport_size({"width": width, "height": 600})
    board = shown(page.line(f"{tab} many"))
    rows = {"scalars": ".nbt-chart", "hparams": ".nbt-sheet tbody tr", "compare": "[data-hparam]"}
    expect(board.locator(rows[tab]).nth(11)).to_be_attached()
    assert board.locator(".nbt-front").evaluate("e => e.clientHeight") > 640
    assert board.evaluate(SCROLLING) == []


def test_compared_runs_have_their_tags_and_notes(page: BarePage, own_folder: Path) -> None:
    for name, tags in (("a", ["best"]), ("b", [])):
        losses = iter([1.0, 0.5])
        run = nbtrain.train(
            lambda left=losses: {"loss": next(left)},
            steps=2,
            name=name,
            tags=tags,
            config={"units": 3},
        )
        run.wait(SOON)
    run.note("too flat").wait(SOON)
    board = shown(page.show(nbtrain.compare("runs")))
    rows = board.locator("[data-about]")
    expect(rows).to_have_text([re.compile("^duration"), "tagsbest", "notestoo flat"])
    board.get_by_role("tab", name="HParams").click()
    sheet = board.locator("[data-role=hparams] .nbt-sheet")
    heads = ["run", "status", "units", "loss", "duration", "tags", "last note"]
    expect(sheet.locator("[data-column]")).to_have_text(heads)
    cells = sheet.locator("tbody tr").nth(1).locator("td")
    expect(cells.nth(-3)).to_have_text(re.compile(r"^\d+:\d\d$"))
    expect(cells.nth(-2)).to_have_text("–")
    expect(cells.nth(-1)).to_have_text("too flat")
    sheet.locator("[data-column=tags]").click()
    expect(sheet.locator("tbody tr").first).to_contain_text("best")


def test_a_layouts_chart_is_drawn_again_if_its_axis_was_changed_and_changed_back_meanwhile(
    page: BarePage, logdir: Path
) -> None:
    board = shown(page.line(f"custom_scalars {logdir}"))
    chart_of(board, "loss with its bounds")
    tags, log_x = board.locator("[data-role=filter-tags]"), board.locator("[data-role=log-x]")
    tags.fill("^losses$")
    expect(board.locator(".u-over")).to_have_count(1)
    log_x.check()
    log_x.uncheck()
    tags.fill("bounds")
    chart_of(board, "loss with its bounds")


def test_a_hyperparameter_from_a_file_is_text_and_nothing_else(
    page: BarePage, own_folder: Path
) -> None:
    for run in ("<img src=x onerror=window.wicked=1>", "other"):
        with tf.summary.create_file_writer(str(own_folder / "wicked" / run)).as_default():
            hp.hparams({WICKED: WICKED + run, "plain": run})
            tf.summary.scalar(WICKED, 1.0, step=0)
            tf.summary.scalar(WICKED, 2.0, step=1)
    odd = [chart(title=WICKED, multiline=multiline(tag=[".*", WICKED + "("]))]
    write_layout(own_folder / "wicked", category(title=WICKED, chart=odd))
    board = shown(page.show(nbtrain.hparams("wicked")))
    expect(board.locator("tbody")).to_contain_text("<img src=x onerror='window.wicked=1'>other")
    for act in ("Filters", "Columns"):
        board.locator(f"[data-act={act}]").click()
    expect(board.locator("[data-role=filters]")).to_contain_text("<img src=x")
    for tab in ("custom_scalars", "compare"):
        board.locator(f"[data-tab={tab}]").click()
        first = board.locator("section[data-tag]:visible").first
        first.scroll_into_view_if_needed()
        first.locator(".u-over").hover(position={"x": 100, "y": 60})
        expect(first.locator("[data-role=values]")).to_contain_text("<img src=x")
    settings = board.locator("[data-part=hyperparameters]")
    expect(settings).to_contain_text("<img src=x onerror='window.wicked=1'>")
    assert board.locator("img").count() == 0
    assert page.page.evaluate("() => window.wicked === undefined")


def test_a_narrow_row_of_tabs_shows_the_chosen_one_and_where_it_is_cut(
    page: BarePage, tmp_path: Path
) -> None:
    write_tables(tmp_path)
    write_media(tmp_path / "media")
    page.page.set_viewport_size({"width": 480, "height": 900})
    board = shown(page.show(nbtrain.compare(str(tmp_path))))
    row = board.get_by_role("tablist", name="dashboards")
    in_sight(row, cut="before")
    row.evaluate("row => { row.scrollLeft = 0; }")
    expect(row).to_have_attribute("data-cut", "after")
    board.get_by_label("filter tags").fill("loss")
    expect(row).to_have_attribute("data-cut", "after")
    page.page.set_viewport_size({"width": 1200, "height": 900})
    in_sight(row, cut="")
    page.page.set_viewport_size({"width": 440, "height": 900})
    in_sight(row, cut="before")
    row.get_by_role("tab", selected=True).press("Home")
    in_sight(row, cut="after")
    assert page.page.evaluate("() => [scrollX, document.documentElement.scrollLeft]") == [0, 0]


def in_sight(row: Locator, *, cut: str) -> None:
    """Wait until a row of tabs shows the whole chosen one, and is cut on these sides."""
    expect(row).to_have_attribute("data-cut", cut)
    outer, own = row.bounding_box(), row.get_by_role("tab", selected=True).bounding_box()
    assert outer is not None
    assert own is not None
    assert outer["x"] <= own["x"]
    assert own["x"] + own["width"] <= outer["x"] + outer["width"]


def test_runs_have_one_order_in_all_tabs_and_the_first_have_a_colour_each(
    page: BarePage, tmp_path: Path
) -> None:
    rates = ["1e-4", "0.002", "0.03", "1"]
    for n, rate in enumerate(rates):
        write_trial(tmp_path / f"rate={rate}", n)
        write_trial(tmp_path / f"rate={rate}-10", n)
    expected = [f"rate={rate}{more}" for rate in rates for more in ("", "-10")]
    board = shown(page.line(f"hparams {tmp_path}"))
    listed = board.locator(".nbt-runs-list .nbt-run-name")
    expect(listed).to_have_text(expected)
    expect(board.locator("tbody [data-session]")).to_have_text(expected)
    board.get_by_role("tab", name="Compare").click()
    expect(board.locator("thead th")).to_have_text(expected)
    colours = "(lines) => new Set(lines.map((line) => line.getAttribute('stroke'))).size"
    assert board.locator(".nbt-runs-list .nbt-swatch line").evaluate_all(colours) == 8
