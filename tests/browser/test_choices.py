"""What the panel's form of a trial says, in a real JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, NotebookPage, opened
from tests.browser.test_hyperparameters import TRAIN
from tests.browser.test_panel import START, receipt, step_of, wait_for_step


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a running training that has two hyperparameters."""
    name = request.node.name
    path = lab.notebook(name, START, TRAIN.format(name=name))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        notebook.run(1)
        wait_for_step(notebook, 1, 100)
        yield notebook


def test_a_trial_that_was_refused_is_there_to_be_corrected(page: NotebookPage) -> None:
    panel = page.panel(1)
    button = panel.get_by_role("button", name="Try…")
    form = panel.locator("[data-role=trial]")
    value, steps = form.get_by_label("new value"), form.get_by_label("steps")
    name, tag = form.get_by_role("combobox", name="try"), form.get_by_label("undo if worse")

    def asked(*wanted: str) -> None:
        button.click()
        for each, text in zip((name, value, steps, tag), wanted, strict=True):
            expect(each).to_have_value(text)

    asked("learning_rate", "0.0005", "200", "loss")
    name.select_option("dropout")
    expect(value).to_have_value("0.125")
    tag.select_option("accuracy")
    value.fill("a half")
    steps.fill("60")
    steps.press("Enter")
    receipt(panel, "✕ try: dropout='a half'")
    asked("dropout", "a half", "60", "accuracy")
    value.fill("0.5")
    steps.fill("900000")
    value.press("Enter")
    receipt(panel, "✕ try: steps=900,000")
    asked("dropout", "0.5", "900000", "accuracy")
    page.page.keyboard.press("Escape")
    asked("dropout", "0.5", "900000", "accuracy")
    name.select_option("learning_rate")
    expect(value).to_have_value("0.0005")
    name.select_option("dropout")
    expect(value).to_have_value("0.125")
    steps.fill("60")
    before = step_of(panel)
    value.press("Enter")
    receipt(panel, "accuracy ")
    assert step_of(panel) > before
    button.click()
    expect(value).not_to_have_value("0.5")
    page.page.keyboard.press("Escape")
