"""A logdir in a board: zoomed, filtered, smoothed, and followed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.panel.board.board import Board
from nbtrain.panel.board.colours import COLOURS
from nbtrain.tfevents.writer import EventWriter
from tests.logdirs import clock, write_curve, write_curves
from tests.page.bare import BarePage
from tests.page.board.boards import chart_of, drag, drawn

WICKED = "<img src=x onerror='window.wicked=1'>"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir of three runs."""
    logdir = tmp_path_factory.mktemp("written")
    write_curves(logdir)
    return logdir


@pytest.fixture
def logdir(written: Path, own_folder: Path) -> Path:
    """The logdir, for a test to write into."""
    return shutil.copytree(written, own_folder / "logs")


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of it."""
    return drawn(page.line("scalars logs"))


def edges(element: Locator) -> tuple[float, ...]:
    """The left, top, right and bottom edges of an element."""
    return tuple(
        element.evaluate(
            "e => (({ left, top, right, bottom }) => [left, top, right, bottom])"
            "(e.getBoundingClientRect())"
        )
    )


def inside(outer: Locator, inner: Locator) -> bool:
    """Whether an element is whole in the box of another."""
    (left, top, right, bottom), own = edges(outer), edges(inner)
    return left <= own[0] and top <= own[1] and own[2] <= right and own[3] <= bottom


# Selects the whole of a name and copies it; the text that is then in the clipboard.
COPIED = """\
name => {
  getSelection().selectAllChildren(name);
  const clipboardData = new DataTransfer();
  const copy = new ClipboardEvent("copy", { clipboardData, bubbles: true, cancelable: true });
  name.firstChild.dispatchEvent(copy);
  return clipboardData.getData("text/plain");
}"""


def test_a_tag_is_whole_beside_its_buttons_which_come_to_the_pointer_and_the_keyboard(
    page: BarePage, own_folder: Path
) -> None:
    tags = ["epoch_val_accuracy_top", "a_tag_that_is_longer_than_its_card_is_wide_by_far", "loss"]
    for tag in tags:
        write_curve(own_folder / "logs" / "a", tag, [1.0, 2.0])
    page.page.set_viewport_size({"width": 1230, "height": 900})
    board = drawn(page.line("scalars logs"))
    charts = [chart_of(board, tag) for tag in tags]
    assert len({edges(chart)[1] for chart in charts}) == 1, "three columns"
    head, longer, _ = (chart.locator(".nbt-chart-head") for chart in charts)
    for part in head.locator(".nbt-tag span").all():
        assert part.evaluate("part => part.scrollWidth <= part.clientWidth"), "it is whole"
    seen = [each for each in longer.get_by_role("button").all() if inside(longer, each)]
    assert [each.get_attribute("data-act") for each in seen] == ["pin", "log"]
    name = longer.locator(".nbt-tag")
    first, last = name.locator("span").all()
    assert inside(name, last)
    assert first.evaluate("part => part.scrollWidth > part.clientWidth"), "the middle is left out"
    expect(name).to_have_text(tags[1])
    expect(name).to_have_attribute("title", tags[1])
    assert name.evaluate(COPIED) == tags[1]
    name.hover()
    assert all(inside(longer, each) for each in longer.get_by_role("button").all())
    page.page.mouse.move(0, 0)
    picture = longer.get_by_role("button", name="PNG")
    assert not inside(longer, picture)
    longer.get_by_role("button", name="CSV").focus()
    page.page.keyboard.press("Tab")
    expect(picture).to_be_focused()
    assert inside(longer, picture)


def test_a_zoom_shows_finer_points_and_a_double_click_everything(
    page: BarePage, board: Locator
) -> None:
    loss = chart_of(board, "train/loss")
    expect(loss).to_have_attribute("data-stride", "6")
    drag(loss, 0.5, 0.55)
    expect(loss).to_have_attribute("data-stride", "1")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    told = loss.locator("[data-role=values]")
    expect(told).to_contain_text(re.compile(r"step 1,[56]\d\d"))
    for run in ("adam", "sgd", "rmsprop"):
        expect(told).to_contain_text(run)
    loss.locator(".u-over").dblclick()
    expect(loss).to_have_attribute("data-stride", "6")


def test_filters_and_checkboxes_choose_tags_and_runs(page: BarePage, board: Locator) -> None:
    tags = board.locator("[data-role=filter-tags]")
    expect(board.locator("[data-group]")).to_have_count(3)
    tags.fill("acc.*y$")
    expect(board.locator("section[data-tag]")).to_have_count(1)
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 3 tags")
    tags.fill("(")
    expect(tags).to_have_attribute("aria-invalid", "true")
    expect(board.locator("section[data-tag]")).to_have_count(3)
    tags.fill("loss")
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    rows = loss.locator("tbody tr")
    expect(rows).to_have_count(3)
    board.locator("[data-run=sgd] input").uncheck()
    expect(rows).to_have_count(2)
    board.locator("[data-role=filter-runs]").fill("^adam$")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("adam")
    expect(rows.locator("[title]")).to_have_attribute("title", "adam: 3,000 points")


def test_a_run_in_the_logdir_itself_is_called_by_its_folder(
    page: BarePage, own_folder: Path
) -> None:
    write_curve(own_folder / "digits", "loss", np.arange(50.0))
    (path,) = (own_folder / "digits").glob("*tfevents*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    board = drawn(page.line("scalars digits"))
    expect(board).to_contain_text(re.compile(r"\d bytes of digits are damaged"))
    expect(board.locator(".nbt-run-name").first).to_have_text("digits")
    loss = chart_of(board, "loss")
    loss.locator("[data-act=table]").click()
    expect(loss.locator("tbody tr")).to_contain_text("digits")


def test_a_group_that_is_folded_stays_so_if_the_list_changes_at_once(board: Locator) -> None:
    group = board.locator("[data-group=validation]")
    expect(group).to_have_attribute("open", "")
    board.evaluate(
        """board => {
            board.querySelector("[data-group=validation] summary").click();
            const filter = board.querySelector("[data-role=filter-tags]");
            filter.value = "loss|acc";
            filter.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    expect(board.locator("[data-role=tag-count]")).to_have_text("2 of 3 tags")
    expect(group).not_to_have_attribute("open", "")


def test_a_card_stays_in_its_group_if_the_list_changes_twice_at_once(
    page: BarePage, own_folder: Path
) -> None:
    for tag in ("train/acc", "train/loss"):
        write_curve(own_folder / "logs" / "a", tag, [1.0, 2.0])
    board = drawn(page.line("scalars logs"))
    board.evaluate(
        """async board => {
            const filter = board.querySelector("[data-role=filter-tags]");
            for (const text of ["loss", ""]) {
                filter.value = text;
                filter.dispatchEvent(new Event("input", { bubbles: true }));
            }
            for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        }"""
    )
    expect(board.locator("section[data-tag]")).to_have_count(2)


def test_runs_without_scalars_are_folded_away_but_where_they_have_something(
    page: BarePage, logdir: Path
) -> None:
    with tf.summary.create_file_writer(str(logdir / "pictures")).as_default():
        tf.summary.text("words", "no scalar", step=1)
    board = drawn(page.line("scalars logs"))
    folded = board.locator("[data-role=bare-runs]")
    expect(folded.locator("summary")).to_have_text("1 run without scalars")
    expect(board.locator("label[data-run=pictures]")).not_to_be_visible()
    folded.locator("summary").click()
    expect(board.locator("label[data-run=pictures]")).to_be_visible()
    folded.locator("summary").click()
    board.get_by_role("tab", name="Text").click()
    expect(board.locator("label[data-run=pictures]")).to_be_visible()


def test_a_chart_is_drawn_again_if_its_axis_was_changed_and_changed_back_while_it_was_away(
    page: BarePage, board: Locator
) -> None:
    chart_of(board, "train/loss")
    tags, log_x = board.locator("[data-role=filter-tags]"), board.locator("[data-role=log-x]")
    tags.fill("acc")
    expect(board.locator("section[data-tag]")).to_have_count(1)
    expect(page.page.locator(".u-over")).to_have_count(1)  # the others know that they are away
    log_x.check()
    log_x.uncheck()
    tags.fill("loss")
    chart_of(board, "train/loss")


def test_a_chart_is_drawn_again_if_its_runs_were_others_when_the_answer_came(
    page: BarePage, board: Locator
) -> None:
    chart_of(board, "train/loss")
    tags, sgd = board.locator("[data-role=filter-tags]"), board.locator("[data-run=sgd] input")
    page.kernel.work()  # the next question is answered when the chart is away
    sgd.uncheck()
    tags.fill("acc")
    expect(page.page.locator(".u-over")).to_have_count(1)
    sgd.check()
    page.kernel.go_on()
    accuracy = chart_of(board, "validation/accuracy")
    accuracy.locator("[data-act=table]").click()
    sgd.uncheck()
    expect(accuracy.locator("tbody tr")).to_have_count(2)  # the answers of before have come
    tags.fill("loss")
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    expect(loss.locator("tbody tr")).to_have_count(2)


# Takes the next cell out of the document as soon as it is there, as a notebook that makes the
# outputs of cells before they are scrolled into sight; `putBack` ends that.
TAKE_OUT = """\
() => new MutationObserver(([{ addedNodes: [cell] }], observer) => {
  observer.disconnect();
  cell.remove();
  window.putBack = () => document.body.prepend(cell);
}).observe(document.body, { childList: true })"""


def test_a_board_that_was_made_outside_of_the_document_is_drawn_once_it_is_there(
    page: BarePage, logdir: Path
) -> None:
    page.page.evaluate(TAKE_OUT)
    cell = page.line("scalars logs")
    drawn(page.line("scalars logs"))  # all messages to the first have come as well
    page.page.evaluate("() => putBack()")
    drawn(cell)


def test_a_spike_is_left_out_and_marked_until_the_reader_wants_it(
    page: BarePage, own_folder: Path
) -> None:
    values = np.linspace(0, 1, 100)
    write_curve(own_folder / "logs" / "calm", "loss", values)
    write_curve(own_folder / "logs" / "wild", "loss", np.where(values == values[50], 1e6, values))
    board = drawn(page.line("scalars logs"))
    loss = chart_of(board, "loss")
    outliers = loss.get_by_role("button", name="outliers of loss")
    expect(outliers).to_have_attribute("aria-pressed", "false")
    expect(outliers).to_have_attribute("data-places", "1")
    outliers.click()
    expect(outliers).to_have_attribute("aria-pressed", "true")
    expect(outliers).to_have_attribute("data-places", "0")
    outliers.click()
    board.locator("[data-run=wild] input").uncheck()
    expect(outliers).to_be_hidden()


@pytest.mark.parametrize("height", [900, 430])
def test_the_values_at_the_cursor_cover_none_of_the_curves(
    page: BarePage, board: Locator, height: int
) -> None:
    page.page.set_viewport_size({"width": 900, "height": height})
    loss = chart_of(board, "train/loss")
    loss.evaluate("chart => chart.scrollIntoView({block: 'end'})")
    over = loss.locator(".u-over")
    for place in (2, 300):
        over.hover(position={"x": place, "y": 60})
        told = loss.locator("[data-role=values]")
        expect(told).to_be_visible()
        _, top, _, bottom = edges(over)
        left, begin, right, end = edges(told)
        assert end <= top or begin >= bottom
        assert 0 <= left < right <= 900
        assert 0 <= begin < end <= height


def test_the_values_at_the_cursor_go_when_the_page_is_scrolled(
    page: BarePage, board: Locator
) -> None:
    page.page.set_viewport_size({"width": 900, "height": 430})
    loss = chart_of(board, "train/loss")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    told = loss.locator("[data-role=values]")
    expect(told).to_be_visible()
    page.page.evaluate("scrollBy(0, 300)")
    expect(told).to_be_hidden()


def test_a_chart_is_shown_on_the_whole_screen(page: BarePage, board: Locator) -> None:
    loss = chart_of(board, "train/loss")
    over = loss.locator(".u-over")
    _, top, _, bottom = edges(over)
    loss.get_by_role("button", name="train/loss on the whole screen").click()
    page.page.wait_for_function("document.fullscreenElement?.dataset.tag === 'train/loss'")
    page.page.wait_for_function(
        "([over, height]) => over.clientHeight > 3 * height",
        arg=[over.element_handle(), bottom - top],
    )
    over.hover(position={"x": 100, "y": 60})
    expect(loss.locator("[data-role=values]")).to_be_visible()
    assert inside(loss, loss.locator("[data-role=values]"))
    loss.locator("[data-act=full-screen]").click()
    page.page.wait_for_function(
        "([over, height]) => over.clientHeight === height",
        arg=[loss.locator(".u-over").element_handle(), bottom - top],
    )


def test_an_older_run_that_is_added_moves_the_colours_of_swatches_and_lines_together(
    page: BarePage, own_folder: Path
) -> None:
    logdir = own_folder / "logs"
    write_curve(logdir / "new", "loss", np.linspace(0, 1, 50))
    board = drawn(page.line("scalars logs --follow"))
    loss = chart_of(board, "loss")
    swatch = board.locator("[data-run=new] line")
    blue = swatch.get_attribute("stroke")
    assert blue == COLOURS[0]
    write_curve(logdir / "old", "loss", np.linspace(1, 2, 50))
    (written,) = (logdir / "old").iterdir()
    written.rename(written.with_name("events.out.tfevents.1.host"))
    expect(swatch).to_have_attribute("stroke", COLOURS[1])
    expect(board.locator("[data-run=old] line")).to_have_attribute("stroke", COLOURS[0])
    loss.get_by_role("button", name="table").click()
    expect(loss.locator("[data-role=table] tr", has_text="new").locator("line")).to_have_attribute(
        "stroke", COLOURS[1]
    )


def test_runs_have_the_colours_of_what_is_found_in_their_names(
    page: BarePage, own_folder: Path
) -> None:
    runs = ["units=16,seed=1", "units=16,seed=2", "units=32,seed=1", "other"]
    for run in runs:
        write_curve(own_folder / "logs" / run, "loss", [1.0, 2.0])
    board = drawn(page.line("scalars logs"))

    def colours() -> list[str | None]:
        lines = [board.locator(f"[data-run='{run}'] line") for run in runs]
        return [line.get_attribute("stroke") for line in lines]

    before = colours()
    assert len(set(before)) == 4
    by = board.locator("[data-role=colour-by]")
    by.fill(r"units=(\d+)")
    one, same, another, none = colours()
    assert one == same
    assert len({one, another, none}) == 3
    by.fill("units=(")
    expect(by).to_have_attribute("aria-invalid", "true")
    assert colours() == [one, same, another, none]
    by.fill("")
    assert colours() == before


def test_smoothing_leaves_the_raw_line_behind(page: BarePage, board: Locator) -> None:
    loss = chart_of(board, "train/loss")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    told = loss.locator("[data-role=values]")
    expect(told).to_be_visible()
    board.locator("[data-role=smoothing]").fill("0.9")
    expect(told).to_contain_text("raw")
    expect(told).to_be_visible()


def test_a_logarithmic_axis_shows_the_first_steps_apart(page: BarePage, board: Locator) -> None:
    loss = chart_of(board, "train/loss")
    board.locator("[data-role=log-x]").check()
    expect(loss.locator("[data-role=left-out]")).to_have_text("3 not on this x axis")
    told = loss.locator("[data-role=values]")
    loss.locator(".u-over").hover(position={"x": 2, "y": 60})
    expect(told).to_contain_text("step 1")
    drag(loss, 0.5, 0.6)
    expect(loss).to_have_attribute("data-stride", "1")
    board.locator("[data-role=axis]").select_option("relative")
    expect(loss).not_to_have_attribute("data-zoomed", "")
    board.locator("[data-role=axis]").select_option("wall")
    expect(board.locator("[data-role=log-x]")).to_be_disabled()
    expect(loss.locator("[data-role=left-out]")).to_be_empty()


def test_new_points_appear_on_a_followed_board(board: Locator, logdir: Path) -> None:
    board.locator("[data-role=follow]").check()
    write_curve(logdir / "later", "train/loss", np.linspace(1, 0, 50))
    write_curve(logdir / "adam", "rate", [0.125], 4)
    expect(board.locator("[data-run=later]")).to_be_visible()
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    expect(loss.locator("tbody tr")).to_have_count(4)


def test_new_points_appear_on_a_page_that_hears_only_answers_as_in_colab(
    page: BarePage, board: Locator, logdir: Path
) -> None:
    board.locator("[data-role=follow]").check()
    page.kernel.answer_only()
    write_curve(logdir / "later", "train/loss", np.linspace(1, 0, 50))
    expect(board.locator("[data-run=later]")).to_be_visible()


def test_of_many_runs_that_have_vanished_the_first_are_named_and_the_others_counted(
    page: BarePage, logdir: Path
) -> None:
    for number in range(9):
        write_curve(logdir / f"gone-{number}", "train/loss", [1.0, 0.5])
    board = drawn(page.line("scalars logs --follow"))
    for number in range(9):
        shutil.rmtree(logdir / f"gone-{number}")
    words = board.locator("[data-role=words]")
    expect(words).to_contain_text("And 4 more.")
    expect(words).to_contain_text("The event files of gone-4 are gone")
    expect(words).not_to_contain_text("gone-5")


def test_a_name_from_a_file_is_text_and_nothing_else(page: BarePage) -> None:
    run = Path("logs", "<img src=x onerror=window.wicked=1>")
    write_curve(run, f"{WICKED}/{WICKED}", [1.0, 2.0, 3.0])
    board = drawn(page.show(nbtrain.scalars("logs")))
    over = board.locator(".u-over")
    expect(over).to_have_count(1)
    board.locator("[data-act=table]").click()
    over.hover(position={"x": 100, "y": 60})
    expect(board.locator("[data-role=values]")).to_contain_text("<img src=x")
    expect(board.locator("[data-role=table]")).to_contain_text("<img src=x")
    assert board.locator("img").count() == 0
    assert page.page.evaluate("() => window.wicked === undefined")


@pytest.mark.skipif(sys.platform != "linux", reason="names are text on this system")
def test_odd_names_are_drawn_and_downloaded(page: BarePage, tmp_path: Path) -> None:
    Path("odd/run").mkdir(parents=True)
    writer, three = EventWriter(Path("odd/run")), np.arange(3)
    tags = ["x" * 10_000, "\u202eoverridden\nline", ""]
    writer.scalars(three, clock(three), {tag: np.array([1.0, 3.0, 2.0]) for tag in tags})
    writer.close()
    Path("odd/run").rename(os.fsdecode(b"odd/caf\xe9"))
    board = drawn(page.show(nbtrain.scalars("odd")))
    charts = board.locator("section[data-tag]")
    expect(charts).to_have_count(3)
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".u-over")).to_be_visible()
    expect(board.locator(".nbt-run")).to_contain_text(r"caf\xe9")
    long = board.locator("section[data-tag^=xxx]")
    for act, ending in (("CSV", ".csv"), ("PNG", ".png")):
        with page.page.expect_download() as found:
            long.locator(f"[data-act={act}]").click()
        assert found.value.suggested_filename == "x" * 80 + ending
    with page.page.expect_download() as found:
        board.locator('section[data-tag=""] [data-act=CSV]').click()
    assert found.value.suggested_filename == "untitled.csv"
    assert rb"caf\xe9,,0," in Path(found.value.path()).read_bytes()
    assert board.evaluate("root => root.scrollWidth <= root.clientWidth")
    board.screenshot(path=Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path)) / "odd.png")


@pytest.mark.parametrize(
    ("tag", "more"), [("tag{n}", "2976 more"), ("{n}/tag", "2940 more groups")]
)
def test_three_thousand_tags_are_found_by_a_filter_whatever_their_groups(
    page: BarePage, own_folder: Path, tag: str, more: str
) -> None:
    one, folder = np.array([0]), own_folder / "many" / "one"
    folder.mkdir(parents=True)
    writer = EventWriter(folder)
    writer.scalars(one, clock(one), {tag.format(n=n): np.array([0.5]) for n in range(3_000)})
    writer.close()
    board = page.show(nbtrain.scalars("many")).locator(".nbt-board")
    expect(board.locator("[data-role=tag-count]")).to_have_text("3000 of 3000 tags")
    expect(board.get_by_text(more, exact=True)).to_be_visible()
    assert board.locator("*").count() < 3000, "what is not shown is not in the page"
    board.locator("[data-role=filter-tags]").fill("2876")
    expect(board.locator("section[data-tag]")).to_have_count(1)
    expect(board.locator(".u-over")).to_be_visible()


def test_a_page_whose_first_word_was_lost_asks_again(page: BarePage, logdir: Path) -> None:
    page.load(own_clock=True)
    page.kernel.lose_hello()
    cell = page.line(f"scalars {logdir.name}")
    page.ask_again()
    drawn(cell)


def test_a_page_whose_first_word_was_lost_asks_again_though_the_board_has_grown(
    page: BarePage, logdir: Path
) -> None:
    there = Board(nbtrain.scalars(str(logdir)))
    drawn(page.show(there))
    page.kernel.lose_hello()
    page.load(own_clock=True)
    expect(page.page.locator(".nbt-board")).to_be_visible()
    there.notify()
    page.ask_again()
    drawn(page.page.locator("body"))


def test_filters_that_are_typed_before_the_kernel_answers_are_kept(
    page: BarePage, logdir: Path
) -> None:
    page.load(own_clock=True)
    page.kernel.lose_hello()
    cell = page.line("scalars logs")
    cell.locator("[data-role=filter-tags]").fill("^train/loss$")
    cell.locator("[data-role=filter-runs]").fill("^adam$")
    page.ask_again()
    board = drawn(cell)
    expect(board.locator("section[data-tag]")).to_have_count(1)
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    expect(loss.locator("tbody tr")).to_have_count(1)


def test_a_kernel_that_has_gone_leaves_what_was_drawn(page: BarePage, board: Locator) -> None:
    chart_of(board, "train/loss")  # drawn, or the kernel has gone before its points came
    page.kernel.die()
    board.locator("[data-role=smoothing]").fill("0.5")
    expect(board.locator("[data-role=words]")).to_contain_text("The kernel has exited")
    chart_of(board, "train/loss")


@pytest.mark.parametrize(
    ("act", "beginning"), [("CSV", b"run,tag,"), ("PNG", b"\x89PNG"), ("SVG", b"<?xml")]
)
def test_a_chart_is_downloaded(page: BarePage, board: Locator, act: str, beginning: bytes) -> None:
    loss = chart_of(board, "train/loss")
    with page.page.expect_download() as found:
        loss.locator(f"[data-act={act}]").click()
    assert found.value.suggested_filename == f"train_loss.{act.lower()}"
    data = Path(found.value.path()).read_bytes()
    assert data.startswith(beginning)
    assert act != "CSV" or data.count(b"\n") == 9001


# As Chromium answers for a canvas of more than 65,535 pixels, which a chart of 3,800 runs needs.
TOO_HIGH = "() => { HTMLCanvasElement.prototype.toBlob = (done) => done(null); }"


def test_a_picture_that_is_too_high_for_the_browser_is_refused_in_words(
    page: BarePage, logdir: Path
) -> None:
    write_curve(logdir / "adam", "loss", [1, 0.5])
    loss = chart_of(drawn(page.line("scalars logs")), "loss")
    whole = page.page.evaluate_handle("() => HTMLCanvasElement.prototype.toBlob")
    page.page.evaluate(TOO_HIGH)
    try:
        loss.locator("[data-act=PNG]").click()
        expect(loss.locator(".nbt-problem")).to_contain_text("too high for this browser")
    finally:
        page.page.evaluate("whole => { HTMLCanvasElement.prototype.toBlob = whole; }", whole)


# In the middle of the first half: how far down a chart, as a part of it, its coloured points are.
MIDDLE = """\
over => {
  const chart = over.closest(".uplot"), canvas = chart.querySelector("canvas");
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const [box, own] = [over.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const [left, top] = [(box.left - own.left + box.width / 4) * scale, (box.top - own.top) * scale];
  const { data } = canvas.getContext("2d").getImageData(left, top, 1, box.height * scale);
  const found = [];
  for (let y = 0; 4 * y < data.length; y++) {
    const [r, g, b, alpha] = data.slice(4 * y, 4 * y + 4);
    const coloured = alpha > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60;
    if (coloured) found.push(y / (box.height * scale));
  }
  return [Math.min(...found), Math.max(...found)];
}"""


def test_an_edit_of_a_hyperparameter_is_a_step_and_no_ramp(page: BarePage, logdir: Path) -> None:
    tag = "hyperparameters/learning_rate"
    for start, value in ((0, 0.01), (50, 0.01), (50, 0.001), (100, 0.001)):
        write_curve(logdir / "adam", tag, [value], start)
    chart = chart_of(drawn(page.line("scalars logs")), "hyperparameters/learning_rate")
    expect(chart).to_have_attribute("data-stride", "1")
    highest, lowest = chart.locator(".u-over").evaluate(MIDDLE)
    assert highest < 0.3
    assert lowest < 0.3, "the value of before, until the edit"


def test_a_line_leads_through_buckets_with_some_finite_values(page: BarePage, logdir: Path) -> None:
    values = np.where(np.arange(2100) % 7, np.arange(2100) % 7, np.nan)
    write_curve(logdir / "adam", "odd", values, 0)
    chart = chart_of(drawn(page.line("scalars logs")), "odd")
    expect(chart.locator("[data-role=legend]")).to_have_text("300 NaN")
    expect(chart).to_have_attribute("data-stride", "5")
    highest, lowest = chart.locator(".u-over").evaluate(MIDDLE)
    assert 0.2 < highest < lowest < 0.8, "the line in the middle of its band"
    chart.locator(".nbt-plot").press("Home")
    tip = chart.locator("[data-role=values]")
    expect(tip).to_have_text("step 0adam2.51 to 4, also NaN")


def test_an_abandoned_tail_does_not_set_the_scale(page: BarePage, logdir: Path) -> None:
    low = np.linspace(1, 0, 120)
    for start, values in ((0, low[:60]), (60, [1e10] * 40), (60, low[60:])):
        write_curve(logdir / "adam", "wild/loss", values, start)
    chart = chart_of(drawn(page.line("scalars logs")), "wild/loss")
    expect(chart).to_have_attribute("data-stride", "1")
    _, lowest = chart.locator(".u-over").evaluate(MIDDLE)
    assert lowest < 0.9, "the curve falls from 1 to 0, and is not flat below 1e10"
