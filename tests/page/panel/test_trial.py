"""Trials of several values from the panel: the form, what is told meanwhile, and the outcome."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.core.values.arms import ArmResult
from nbtrain.rundir.journal import Mark
from tests.gate import SOON
from tests.on_disk import journal
from tests.page.bare import (
    BarePage,
    click,
    phase,
    receipt,
    see_curve,
    step_of,
    wait_for_step,
)
from tests.page.panel.charts import shown
from tests.panels import FakeRun

FOLDER = Path("runs/paced")


# Keeps each text that an element has.
HEAR = """\
e => {
  window.said = [];
  new MutationObserver(() => said.push(e.textContent)).observe(e, { childList: true });
}"""


def form_of(panel: Locator) -> Locator:
    """The form of a trial, opened."""
    panel.get_by_role("button", name="Try…").click()
    form = panel.locator("[data-role=trial]")
    expect(form).to_be_visible()
    return form


def result_of(panel: Locator) -> Locator:
    return panel.locator("[data-role=trial-result]")


def picture(panel: Locator, name: str) -> None:
    if folder := os.environ.get("NBTRAIN_SCREENSHOTS"):
        panel.page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")


@pytest.fixture
def panel(panel: Locator) -> Locator:
    """The panel of a training that has been running for a while."""
    wait_for_step(panel, 50)
    return panel


def test_a_list_is_tried_and_its_outcome_is_a_table_with_the_choice(
    page: BarePage, panel: Locator
) -> None:
    form = form_of(panel)
    summary = form.locator("[data-role=trial-summary]")
    expect(summary).to_have_text("Several values: 3e-4, 1e-3, 3e-3")
    form.get_by_label("new value").fill("0.002, 0.0005,0.001")
    form.get_by_label("steps").fill("150")
    expect(summary).to_have_text("3 settings × 150 steps: 450 steps")
    form.get_by_label("keep the best").select_option("no: go back, I choose")
    picture(panel, "trial-form")
    message = panel.locator("[data-role=message]")
    message.evaluate(HEAR)
    form.get_by_label("steps").press("Enter")
    result = result_of(panel)
    expect(result).to_contain_text("the choice is yours")
    expect(message).to_be_hidden()
    turns = (f"Trying {turn} of 3: learning_rate" for turn in (1, 2, 3))
    said = page.page.evaluate("said")
    assert all(any(text.startswith(turn) for text in said) for turn in turns), said
    heads = result.locator("th")
    expect(heads).to_have_text(["values", "loss before", "after", "difference"])
    rows = result.locator("tbody tr td:first-child")
    names = [f"learning_rate {rate}" for rate in ("0.002", "0.0005", "0.001")]
    expect(rows).to_have_text(names)
    assert result.evaluate("e => getComputedStyle(e).userSelect") != "none"
    refused = result.get_by_role("button", name="Continue with learning_rate 0.001")
    expect(refused).to_be_disabled()
    picture(panel, "trial-result")
    result.get_by_role("button", name="Continue with learning_rate 0.002").click()
    expect(result).to_be_hidden()
    assert journal(FOLDER, "set")[-1]["edits"] == {"learning_rate": [0.001, 0.002]}
    begun = [entry["arm"] for entry in journal(FOLDER, "try") if "arm" in entry]
    assert begun == [*map(list, enumerate(names))]


def test_a_hyperparameter_is_left_out_again(page: BarePage, panel: Locator) -> None:
    form = form_of(panel)
    form.get_by_role("button", name="Add a hyperparameter").click()
    expect(form.get_by_label("new value")).to_have_count(2)
    expect(form.get_by_role("button", name="Add a hyperparameter")).to_be_hidden()
    names = form.get_by_role("combobox", name="try")
    expect(names.first.locator("option[value=dropout]")).to_be_disabled()
    form.get_by_label("new value").first.fill("0.002; 0.001")
    form.get_by_label("repeats").fill("2")
    expect(form.locator("[data-role=trial-summary]")).to_have_text(
        "2 settings × 2 repeats × 200 steps: 800 steps"
    )
    form.locator("[data-act=remove]").first.click()
    expect(names).to_have_value("dropout")
    expect(form.get_by_label("new value")).to_be_focused()
    form.get_by_label("steps").fill("20")
    form.get_by_label("steps").press("Enter")
    receipt(panel, "dropout 0.125")
    expect(result_of(panel)).to_be_hidden()


def test_the_range_test_suggests_a_rate_which_a_click_sets(page: BarePage, panel: Locator) -> None:
    form = form_of(panel)
    form.get_by_role("button", name="Range test").click()
    expect(form.get_by_label("new value")).to_be_hidden()
    expect(form.get_by_label("from")).to_have_value("1e-6")
    form.get_by_label("from").fill("1")
    form.get_by_label("to").fill("0.1")
    form.get_by_label("to").press("Enter")
    receipt(panel, "The learning rate cannot grow from 1 to 0.1")
    form = form_of(panel)
    expect(form.get_by_label("from")).to_have_value("1")
    form.get_by_label("from").fill("low")
    form.get_by_label("to").press("Enter")
    told = receipt(panel, "The learning rate cannot grow from 'low' to 0.1")
    assert told.count("try: ") == 1
    form = form_of(panel)
    form.get_by_label("from").fill("1e-5")
    form.get_by_label("to").fill("1")
    form.get_by_label("steps").fill("60")
    picture(panel, "trial-range")
    form.get_by_label("to").press("Enter")
    result = result_of(panel)
    expect(result).to_contain_text("suggested learning_rate")
    expect(result.locator("th")).to_have_count(0)
    picture(panel, "trial-range-result")
    chosen = result.get_by_role("button", name="Continue with learning_rate")
    words = chosen.inner_text()
    chosen.click()
    expect(result).to_be_hidden()
    assert journal(FOLDER, "set")[-1]["text"].endswith(words.split()[-1])


def test_a_pause_ends_a_trial_without_a_table(page: BarePage, panel: Locator) -> None:
    form = form_of(panel)
    form.get_by_label("new value").fill("0.002, 0.0005")
    form.get_by_label("steps").fill("2000")
    form.get_by_label("steps").press("Enter")
    expect(panel.locator("[data-role=message]")).to_contain_text("Trying 1 of 2")
    click(panel, "pause")
    phase(panel, "paused")
    receipt(panel, "a trial of several values was left")
    expect(result_of(panel)).to_be_hidden()


def tried(run: FakeRun, *names: str, **end: Any) -> None:
    """Records a trial of these arms, from step 100, each for fifty steps."""
    steps = np.arange(1, 101)
    walls = np.array([1e9 + step for step in range(1, 101)])
    run.scalars.extend("loss", steps, walls, np.array([1 + 1 / step for step in range(1, 101)]))
    at = 1e9 + 101.0
    for turn, name in enumerate(names):
        run.marks.add(Mark("try", 100, at, f"{turn + 1} of {len(names)}: {name}", arm=(turn, name)))
        steps = np.arange(101, 151)
        walls = np.array([at + step for step in range(1, 51)])
        values = np.array([1 + (turn + 1) / step for step in range(101, 151)])
        run.scalars.extend("loss", steps, walls, values)
        run.scalars.open_segment(100)
        at += 60.0
    run.marks.add(Mark("try", 150, at, "the choice is yours", to=100, kept=False, **end))


@pytest.fixture
def compared() -> FakeRun:
    """A run that has compared three rates and gone back."""
    run = FakeRun()
    names = [f"learning_rate {rate}" for rate in (0.003, 0.01, 0.03)]
    arms = tuple(ArmResult(name, {}, "loss", 1.0, (1 + 0.01,)) for name in names)
    tried(run, *names, arms=arms)
    run.now(phase=Phase.FINISHED, step=100, values=run.scalars.last_values())
    return run


def test_the_curves_of_the_arms_are_told_apart(page: BarePage, compared: FakeRun) -> None:
    panel = shown(page, compared)
    over = panel.locator("[data-tag=loss] .u-over")
    tip = panel.locator("[data-tag=loss] [data-role=arms]")
    width = over.evaluate("e => e.clientWidth")
    over.hover(position={"x": 0.4 * width, "y": 60})
    expect(tip).to_be_hidden()
    over.hover(position={"x": 0.85 * width, "y": 60})
    rows = tip.locator("div")
    told = {"0.003": "1.00[78]", "0.01": "1.01[56]", "0.03": "1.02[34]"}
    wanted = [re.compile(f"^learning_rate {rate} +{value}$") for rate, value in told.items()]
    expect(rows).to_have_text(wanted)
    colours = "e => [...e.querySelectorAll('i')].map(x => getComputedStyle(x).borderTopColor)"
    assert len(set(tip.evaluate(colours))) == 3
    picture(panel, "trial-arms")
    panel.get_by_label("horizontal axis").select_option("relative")
    expect(panel.locator("[data-tag=loss]")).to_have_attribute("data-axis", "relative")
    over.hover(position={"x": 0.5 * width, "y": 60})
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("learning_rate 0.003")


def test_what_could_not_be_paired_is_seen_beside_the_result(
    page: BarePage, run: nbtrain.Run, panel: Locator
) -> None:
    long = "; ".join(f"learning_rate {rate:g} loss 0.31 → 0.28" for rate in (0.1, 0.2, 0.3)) * 3
    why = "not paired: the first step gave loss 1 and 2 from the same state"
    arms = (ArmResult("learning_rate 0.1", {"learning_rate": 0.1}, "loss", 1.0, (2.0, 3.0)),)
    run.marks.add(Mark("try", 50, 1e9, f"back: {long}; {why}", kept=False, arms=arms))
    expect(result_of(panel)).to_contain_text(why)
    expect(result_of(panel).locator("th").last).to_have_text("spread")
    run.pause().wait(SOON)
    expect(result_of(panel)).to_be_hidden()


def test_the_charts_stay_drawn_when_the_first_of_the_arms_is_kept(
    run: nbtrain.Run, panel: Locator
) -> None:
    see_curve(panel)
    run.trial(learning_rate=[0.01, 1e-4], steps=30, keep_if="loss")
    expect(result_of(panel)).to_contain_text("kept learning_rate 0.01")
    kept = result_of(panel).locator("tr.nbt-kept")
    expect(kept).to_have_text(re.compile(r"^learning_rate 0.01.*kept$"))
    expect(result_of(panel).get_by_role("button")).to_have_count(0)
    wait_for_step(panel, step_of(panel) + 100)
    labelled = "e => e.clientHeight < e.closest('.uplot').clientHeight - 30"  # below, steps
    assert panel.locator("[data-tag=loss] .u-over").evaluate(labelled)
    see_curve(panel)
