"""The training and the validation of a fit on a board: one run with two curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.logdirs import category, chart, multiline, write_curve, write_layout
from tests.page.bare import BarePage
from tests.page.board.boards import chart_of, drawn

ALIKE = "with_a_name_that_is_as_long_as_those_of_tutorials"
FULL = "root => root.card.plot.series.slice(1).filter(({ alpha }) => alpha === 1).length"


@pytest.fixture
def board(page: BarePage, own_folder: Path) -> Locator:
    """A board of two fits whose names differ at their ends."""
    for number in (1, 2):
        folder = own_folder / "logs" / "experiments" / f"{ALIKE}_{number}"
        for which, above in (("train", 0.0), ("validation", 0.5)):
            write_curve(folder / which, "loss", np.linspace(number, 0, 9) + above)
    return drawn(page.line("scalars logs"))


def row(board: Locator, number: int) -> Locator:
    return board.locator(f"[data-run='experiments/{ALIKE}_{number}']")


def test_a_fit_is_one_row_that_draws_both_of_its_curves(board: Locator) -> None:
    expect(board.locator("[data-role=run-count]")).to_have_text("2 of 2 runs")
    expect(row(board, 1).locator("line")).to_have_count(2)
    loss = chart_of(board, "loss")
    expect(loss).to_have_attribute("data-points", str(4 * 9))
    row(board, 2).locator("input").uncheck()
    expect(loss).to_have_attribute("data-points", str(2 * 9))
    expect(board.locator("[data-role=run-count]")).to_have_text("1 of 2 runs")
    row(board, 2).locator("input").check()
    expect(loss).to_have_attribute("data-points", str(4 * 9))
    row(board, 1).hover()
    assert loss.evaluate(FULL) == 2, "both curves of the fit stand out"


def test_a_filter_still_finds_one_of_the_two_curves(board: Locator) -> None:
    board.locator("[data-role=filter-runs]").fill("validation$")
    expect(chart_of(board, "loss")).to_have_attribute("data-points", str(2 * 9))
    expect(row(board, 1)).to_be_visible()
    expect(board.locator("[data-role=run-count]")).to_have_text("2 of 2 runs")


def test_a_filter_finds_names_as_they_are_shown(board: Locator) -> None:
    names = board.locator("[data-role=filter-runs]")
    for text in (f"^{ALIKE}_1$", f"^experiments/{ALIKE}_1$", "_1/"):
        names.fill(text)
        expect(board.locator("[data-role=run-count]")).to_have_text("1 of 2 runs")
        expect(row(board, 1)).to_be_visible()
        expect(row(board, 2)).not_to_be_visible()
    expect(chart_of(board, "loss")).to_have_attribute("data-points", str(2 * 9))


def test_the_end_of_a_name_is_seen_and_what_all_have_in_common_is_told_once(
    board: Locator,
) -> None:
    expect(board.locator(".nbt-runs-folder")).to_have_text("in experiments/")
    for number in (1, 2):
        name = row(board, number).locator(".nbt-run-name")
        expect(name).to_have_text(f"{ALIKE}_{number}")
        assert name.evaluate("node => node.scrollWidth <= node.clientWidth"), "it is not cut"


def test_fits_are_compared_in_a_column_each(board: Locator) -> None:
    board.get_by_role("tab", name="Compare").click()
    expect(board.locator("th[data-column]")).to_have_count(2)
    rows = board.locator("tr[data-tag=loss]")
    expect(rows.locator("th")).to_have_text(["loss", "loss validation"])
    expect(rows.nth(1).locator("td")).to_have_text(["0.5", "0.5"])
    baseline = board.locator("[data-role=baseline]")
    expect(baseline.locator("option")).to_have_count(3)
    baseline.select_option(f"experiments/{ALIKE}_1/train")
    expect(board.locator("th.nbt-base")).to_contain_text(f"{ALIKE}_1")
    expect(rows.nth(1).locator("small")).to_have_text([" validation", "±0"])
    board.get_by_role("button", name="none").click()
    row(board, 2).locator("input").check()
    expect(board.locator("[data-role=compare-words]")).to_contain_text("Check two or more runs")


def test_a_chart_of_several_tags_draws_validations_pale(page: BarePage, own_folder: Path) -> None:
    logs = own_folder / "logs"
    for folder in (logs / "fit" / "train", logs / "fit" / "validation", logs / "other"):
        for tag in ("loss", "accuracy"):
            write_curve(folder, tag, np.linspace(2, 0, 9))
    write_layout(logs, category(chart=[chart(title="both", multiline=multiline(tag=[".*"]))]))
    both = chart_of(drawn(page.line("custom_scalars logs")), "both")
    expect(both.locator("[data-role=tags]")).to_have_text("accuracylosspale: validation")
    looks = both.evaluate(
        "root => root.card.chart.plot.series.slice(1)"
        ".map(({ stroke, dash, alpha }) => [String(stroke()), String(dash), alpha].join())"
    )
    assert len(set(looks)) == 6, "each line has a look of its own"
