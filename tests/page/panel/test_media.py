"""Pictures and media in the panel: folded, opened, at the step of the charts' cursor."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.core.commands import Pause
from nbtrain.media import Audio, Histogram, PRCurve
from tests.page.bare import BarePage, phase
from tests.page.paced import Paced

AT = (1, 51, 101, 151)  # the steps at which something is recorded


def values(step: int) -> dict[str, Any]:
    """A value of each kind."""
    noise = np.random.default_rng(step)
    return {
        "samples": noise.uniform(size=(14, 8, 8, 1)),
        "notes": f"At step **{step}** <b>no HTML</b>",
        "kernel": Histogram(noise.normal(step, 10, 100)),
        "tone": Audio(np.sin(np.arange(800) / 5), 8000),
        "quality": PRCurve(noise.uniform(size=50) > 0.5, noise.uniform(size=50)),
    }


@pytest.fixture
def shown(page: BarePage, paced: Paced) -> tuple[nbtrain.Run, Locator]:
    """A run that is paused at step 200, with four values of each kind, and its panel."""

    @nbtrain.background(name="pictured", checkpoint=paced.checkpoint, steps=1000)
    def run(run: nbtrain.Run) -> None:
        while not run.should_stop():
            step = run.status.step + 1
            run.record(paced.step())
            if step in AT:
                run.record(values(step))

    run.post(Pause(), at=200).wait(60)
    panel = page.panel(run)
    phase(panel, "paused")
    return run, panel


def damage(path: Path, *tags: str) -> None:
    """Damages the values of some tags in an event file after its index was read."""
    data, at = path.read_bytes(), 0
    with path.open("r+b") as file:
        while at + 12 <= len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            if any(tag.encode() in data[at + 12 :][:length] for tag in tags):
                file.seek(at + 12)
                file.write(bytes(length))
            at += length + 16


def opened(panel: Locator) -> Locator:
    """The section, once it is open and all is in it."""
    media = panel.locator(".nbt-media")
    expect(media.locator("summary")).to_have_text("Pictures and media: 5 tags, 20 values")
    media.locator("summary").click()
    for kind in ("images", "text", "pr_curves", "histograms", "audio"):
        expect(media.locator(f"[data-kind={kind}]")).to_have_attribute("data-step", "151")
    return media


def steps(media: Locator, step: int) -> None:
    """Waits until every tag shows a step."""
    for card in media.locator(".nbt-card").all():
        expect(card).to_have_attribute("data-step", str(step))
        expect(card.locator("[data-role=step]")).to_have_text(f"step {step}")


def test_a_run_without_any_has_no_section(page: BarePage, run: Any, panel: Locator) -> None:
    expect(panel.locator(".nbt-media")).to_be_hidden()


def test_the_folded_section_says_how_many_there_are_and_asks_for_none(
    page: BarePage, shown: tuple[nbtrain.Run, Locator]
) -> None:
    media = shown[1].locator(".nbt-media")
    expect(media.locator("summary")).to_have_text("Pictures and media: 5 tags, 20 values")
    expect(media.locator(".nbt-card")).to_have_count(0)


def test_the_open_section_shows_the_newest_of_each(shown: tuple[nbtrain.Run, Locator]) -> None:
    media = opened(shown[1])
    steps(media, 151)
    images = media.locator("[data-kind=images]")
    expect(images.locator("img")).to_have_count(12)
    assert images.locator("img").first.evaluate("image => image.naturalWidth") == 8
    expect(images.locator("[data-role=said]")).to_have_text("The first 12 of 14 images are kept.")
    text = media.locator(".nbt-text")
    expect(text.locator("strong")).to_have_text("151")
    expect(text).to_contain_text("<b>no HTML</b>")
    expect(media.locator("[data-kind=pr_curves] canvas")).to_be_visible()
    expect(media.locator("[data-kind=histograms] [data-ridges]")).to_have_attribute(
        "data-ridges", "4"
    )
    expect(media.locator("audio")).to_have_count(1)


def test_the_charts_cursor_chooses_the_step_while_it_is_there(
    page: BarePage, shown: tuple[nbtrain.Run, Locator]
) -> None:
    media = opened(shown[1])
    box = shown[1].locator("[data-tag=loss] .u-over").bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2)
    steps(media, 51)
    page.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    steps(media, 101)
    page.page.mouse.move(1, 1)
    steps(media, 151)


def test_a_click_on_a_chart_keeps_the_step_until_newest_is_clicked(
    page: BarePage, shown: tuple[nbtrain.Run, Locator]
) -> None:
    media = opened(shown[1])
    newest = media.get_by_role("button", name="Newest")
    expect(newest).to_be_hidden()
    box = shown[1].locator("[data-tag=loss] .u-over").bounding_box()
    assert box is not None
    page.page.mouse.click(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2)
    page.page.mouse.move(1, 1)
    expect(newest).to_be_visible()
    steps(media, 51)
    newest.click()
    steps(media, 151)


def test_the_arrow_keys_go_from_step_to_step_and_move_the_charts_cursor(
    page: BarePage, shown: tuple[nbtrain.Run, Locator]
) -> None:
    panel = shown[1]
    media = opened(panel)
    media.locator("[data-role=media-step]").focus()
    page.page.keyboard.press("ArrowLeft")
    steps(media, 101)
    expect(panel.locator("[data-tag=loss] .nbt-dot").first).to_be_visible()
    page.page.keyboard.press("Home")
    steps(media, 1)
    page.page.keyboard.press("End")
    steps(media, 151)


def test_what_is_recorded_meanwhile_appears(shown: tuple[nbtrain.Run, Locator]) -> None:
    run, panel = shown
    media = opened(panel)
    run.attempt.context.recorder.add_sample("notes", 200, 1.7e9, "later", 1)
    expect(media.locator("[data-kind=text]")).to_have_attribute("data-step", "200")
    expect(media.locator(".nbt-text")).to_have_text("later")


def test_an_open_section_is_open_in_the_next_panel(
    page: BarePage, shown: tuple[nbtrain.Run, Locator]
) -> None:
    opened(shown[1])
    again = page.panel(shown[0]).locator(".nbt-media .nbt-card")
    expect(again.first).to_be_visible()


def test_colours_follow_the_theme(page: BarePage, shown: tuple[nbtrain.Run, Locator]) -> None:
    media = opened(shown[1])
    page.theme("dark")
    expect(media.locator("[data-kind=pr_curves] canvas")).to_be_visible()
    steps(media, 151)


@pytest.mark.parametrize("axis", ["relative", "wall"])
def test_on_an_axis_of_time_it_shows_the_step_of_the_point_under_the_pointer(
    shown: tuple[nbtrain.Run, Locator], axis: str
) -> None:
    panel = shown[1]
    media = opened(panel)
    panel.get_by_label("horizontal axis").select_option(axis)
    over = panel.locator("[data-tag=loss] .u-over")
    over.hover(position={"x": 1, "y": 40})
    steps(media, 1)
    media.locator("[data-role=media-step]").press("Home")
    legend = panel.locator("[data-tag=loss] [data-role=legend]")
    expect(legend).to_contain_text(re.compile(r"step 1\b"))


def test_what_cannot_be_shown_is_told_in_its_place(
    shown: tuple[nbtrain.Run, Locator], page: BarePage
) -> None:
    run, panel = shown
    media = panel.locator(".nbt-media")
    expect(media.locator("summary")).to_contain_text("20 values")
    for path in run.logdir.glob("*tfevents*"):
        damage(path, *values(0))
    media.locator("summary").click()
    problem = media.locator(".nbt-problem").first
    expect(problem).to_contain_text("tfevents")
