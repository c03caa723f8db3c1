"""The board's cards: images, histograms, text and audio with a slider."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect

from tests.logdirs import write_cards
from tests.page.bare import BarePage, wait_until_coloured
from tests.page.board.boards import turn_to

WICKED = """
<script>window.wicked = 1</script> <img src=x onerror="window.wicked = 2">

[script](javascript:window.wicked=3) [data](data:text/html,<script>parent.wicked=4</script>)
<a href="javascript:window.wicked=5">raw</a> <https://example.org/> ![out](/api/status)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir of two runs."""
    logdir = tmp_path_factory.mktemp("written")
    write_cards(logdir, range(20))
    with tf.summary.create_file_writer(str(logdir / "sgd")).as_default():
        tf.summary.image("photo", np.random.default_rng(1).random((1, 300, 500, 3)), step=0)
        tf.summary.text("wicked", WICKED, step=0)
        tf.summary.text("table", [["a", "*b*"], ["c", "d"]], step=0)
    return logdir


@pytest.fixture
def logdir(written: Path, own_folder: Path) -> Path:
    """The logdir, for a test to write into."""
    return shutil.copytree(written, own_folder / "logs")


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of its images, which it follows."""
    board = page.line("images logs --follow").locator(".nbt-board")
    expect(board.locator(".nbt-card img").first).to_be_visible()
    return board


def card_of(board: Locator, tag: str, run: str = "sgd") -> Locator:
    """A card, scrolled into sight: out of it nothing is asked for."""
    card = board.locator(f'section[data-tag="{tag}"][data-run="{run}"]')
    card.scroll_into_view_if_needed()
    return card


def test_a_slider_stays_where_it_was_put_and_one_at_the_end_follows(
    page: BarePage, board: Locator, logdir: Path
) -> None:
    digits, other = (card_of(board, "samples/digits", run) for run in ("adam", "sgd"))
    expect(digits).to_have_attribute("data-step", "19")
    before = digits.locator("img").first.get_attribute("src")
    digits.locator("[data-role=step]").focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    expect(digits.locator("[data-role=shown-step]")).to_have_text(re.compile(r"step 16\s+20\d\d-"))
    expect(digits).to_have_attribute("data-step", "16")
    assert digits.locator("img").first.get_attribute("src") != before
    write_cards(logdir, range(20, 25))
    expect(other).to_have_attribute("data-step", "24")
    expect(digits).to_have_attribute("data-step", "16")
    assert digits.locator("[data-role=step]").evaluate("e => [e.value, e.max]") == ["16", "24"]
    digits.locator("[data-role=step]").press("End")
    expect(digits).to_have_attribute("data-step", "24")


def test_images_are_side_by_side_and_can_be_seen_in_their_own_size(
    page: BarePage, board: Locator
) -> None:
    digits, photo = card_of(board, "samples/digits"), card_of(board, "photo")
    expect(photo.locator("img")).to_have_attribute("alt", "photo of sgd at step 0")
    expect(photo).to_contain_text("500 × 300 pixels")
    images = digits.locator("img")
    expect(images).to_have_count(3)
    tops = {image.bounding_box()["y"] for image in images.all()[:2]}  # type: ignore[index]
    assert len(tops) == 1
    assert images.first.evaluate("e => getComputedStyle(e).imageRendering") == "pixelated"
    assert images.first.evaluate("e => e.clientWidth") > 24
    board.get_by_label("actual size").check()
    expect(images.first).to_have_js_property("clientWidth", 24)
    expect(photo.locator("img")).to_have_js_property("clientWidth", 500)


def test_replaced_attributes_are_restored(page: BarePage, board: Locator) -> None:
    digits = card_of(board, "samples/digits")
    old = digits.locator("img").first.get_attribute("src")
    digits.locator("[data-role=step]").press("Home")
    expect(digits).to_have_attribute("data-step", "0")
    gone = page.page.evaluate("url => fetch(url).then(() => false, () => true)", old)
    assert gone


def test_a_file_is_shown_once_it_becomes_readable(board: Locator, logdir: Path) -> None:
    digits = card_of(board, "samples/digits", "adam")
    expect(digits).to_have_attribute("data-step", "19")
    (file,) = logdir.glob("adam/*tfevents*")
    away = file.rename(logdir / "away")
    digits.locator("[data-role=step]").press("ArrowLeft")
    expect(digits.locator(".nbt-problem")).to_contain_text("has gone since it was looked at")
    expect(digits.locator("img")).to_have_count(0)
    away.rename(file)
    write_cards(logdir, range(20, 21))
    expect(digits.locator("img")).to_have_count(3)
    expect(digits).to_have_attribute("data-step", "18")
    expect(digits.locator(".nbt-problem")).to_be_hidden()


def test_a_click_on_a_histogram_moves_the_slider_to_it(page: BarePage, board: Locator) -> None:
    turn_to(board, "Histograms")
    kernel = card_of(board, "dense/kernel")
    expect(kernel.locator(".nbt-plot")).to_have_attribute("data-ridges", "20")
    expect(kernel).to_have_attribute("data-step", "19")
    over = kernel.locator(".u-over")
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": 4, "y": box["height"] / 2})
    told = kernel.locator("[data-role=values]")
    expect(told).to_have_text(re.compile(r"step (\d+)about [\d.e-]+ ?from .* to "))
    over.hover(position={"x": box["width"] / 2 + 5, "y": box["height"] / 2})
    front, tip = board.locator(".nbt-front").bounding_box(), told.bounding_box()
    assert front is not None
    assert tip is not None
    assert front["x"] <= tip["x"] <= front["x"] + front["width"] - tip["width"]
    over.hover(position={"x": 4, "y": box["height"] / 2})
    step = re.match(r"step (\d+)", told.inner_text())
    assert step is not None
    assert 0 < int(step[1]) < 19
    over.click(position={"x": 4, "y": box["height"] / 2})
    expect(kernel).to_have_attribute("data-step", step[1])
    expect(kernel.locator("[data-role=shown-step]")).to_contain_text(f"step {step[1]}")


def test_distributions_name_the_percentiles_of_a_step(page: BarePage, board: Locator) -> None:
    turn_to(board, "Distributions")
    kernel = card_of(board, "dense/kernel")
    expect(kernel.locator(".nbt-plot")).to_have_attribute("data-points", "20")
    expect(kernel.locator("[data-role=step]")).to_have_count(0)
    kernel.locator(".u-over").hover(position={"x": 40, "y": 60})
    told = kernel.locator("[data-role=values]")
    for percent in ("0 %", "6.68 %", "50 %", "93.32 %", "100 %"):
        expect(told).to_contain_text(percent)
    kernel.locator(".nbt-plot").focus()
    before = told.locator(".nbt-tip-head").inner_text()
    page.page.keyboard.press("Shift+ArrowRight")
    expect(told.locator(".nbt-tip-head")).not_to_have_text(before)


def test_a_step_without_images_is_told(page: BarePage, logdir: Path) -> None:
    with tf.summary.create_file_writer(str(logdir / "sgd")).as_default():
        tf.summary.image("none", np.zeros((0, 5, 5, 3)), step=0)
    board = page.line("images logs --tags none").locator(".nbt-board")
    expect(card_of(board, "none")).to_contain_text("No images at this step.")


def test_histograms_of_no_finite_values_are_told(page: BarePage, logdir: Path) -> None:
    with tf.summary.create_file_writer(str(logdir / "sgd")).as_default():
        tf.summary.histogram("lost", [1.0, float("nan")], step=3)
        for step, values in enumerate(([1.0, 2.0], [])):
            tf.summary.histogram("rare", values, step=step)
    board = page.line("distributions logs").locator(".nbt-board")
    lost, rare = card_of(board, "lost"), card_of(board, "rare")
    expect(lost).to_contain_text("No finite values at any step.")
    expect(rare.locator(".nbt-plot")).to_have_attribute("data-points", "2")
    expect(rare).not_to_contain_text("No finite values")
    wait_until_coloured(rare.locator("canvas").first)
    turn_to(board, "Histograms")
    expect(rare).to_contain_text("No finite values at this step.")
    rare.locator("[data-role=step]").press("ArrowLeft")
    expect(rare).not_to_contain_text("No finite values")


def test_text_is_markdown_or_plain_and_a_table_where_it_was_one(
    page: BarePage, board: Locator
) -> None:
    turn_to(board, "Text")
    note = card_of(board, "notes/run")
    expect(note.locator("h1")).to_have_text("Step 19")
    expect(note.locator("li strong")).to_have_text("run")
    expect(note.locator("li").last).to_have_text("lr → &no;")
    table = card_of(board, "table")
    expect(table.locator("td")).to_have_text(["a", "b", "c", "d"])
    board.get_by_label("plain").check()
    expect(table.locator("td")).to_have_text(["a", "*b*", "c", "d"])
    expect(card_of(board, "notes/run").locator("pre")).to_contain_text("# Step 19")


def test_nothing_of_a_text_runs_or_is_loaded(page: BarePage, board: Locator) -> None:
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    turn_to(board, "Text")
    wicked = card_of(board, "wicked")
    expect(wicked.locator(".nbt-text")).to_contain_text("<script>window.wicked = 1</script>")
    expect(wicked.locator(".nbt-text")).to_contain_text("<img src=x onerror=")
    links = wicked.locator(".nbt-text a")
    expect(links).to_have_count(1)
    expect(links).to_have_attribute("rel", "noopener noreferrer")
    expect(links).to_have_attribute("target", "_blank")
    expect(wicked.locator(".nbt-text :is(script, img, svg, iframe, object)")).to_have_count(0)
    assert page.page.evaluate("window.wicked ?? null") is None
    assert not [url for url in asked if url.endswith("/api/status")]


def test_a_sound_can_be_played_and_says_how_long_it_is(page: BarePage, board: Locator) -> None:
    turn_to(board, "Audio")
    tone = card_of(board, "sounds/tone")
    expect(tone).to_contain_text("1 s")
    audio = tone.locator("audio")
    expect(audio).to_have_attribute("preload", "none")
    seconds = audio.evaluate(
        "e => new Promise(done => { e.onloadedmetadata = () => done(e.duration); e.load();"
        " e.preload = 'metadata'; })"
    )
    assert seconds == pytest.approx(1)


def test_tabs_keep_to_the_keyboard_and_share_runs_and_tags(page: BarePage, board: Locator) -> None:
    tabs = board.get_by_role("tab")
    expect(tabs).to_have_text(["Scalars", "Images", "Histograms", "Distributions", "Text", "Audio"])
    board.get_by_role("tab", name="Images").focus()
    for name in ("Histograms", "Distributions"):
        page.page.keyboard.press("ArrowRight")
        expect(board.get_by_role("tab", name=name)).to_be_focused()
    expect(board.get_by_role("tabpanel")).to_have_attribute("data-kind", "distributions")
    board.locator('[data-run="adam"] input').uncheck()
    expect(board.locator("section[data-run]")).to_have_count(1)
    page.page.keyboard.press("Tab")
    board.get_by_role("tab", name="Distributions").press("Home")
    expect(board.locator("[data-role=words]")).to_contain_text("No scalars in")
    board.get_by_role("tab", name="Scalars").press("End")
    expect(board.locator("section[data-run]")).to_have_count(1)
    board.locator("[data-role=filter-tags]").fill("nothing")
    expect(board.locator("[data-role=tag-count]")).to_have_text("0 of 1 tags")
