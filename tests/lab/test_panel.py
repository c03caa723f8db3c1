"""The panel in a real JupyterLab: its buttons, its curves, and what stays of it."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

START = """\
%load_ext nbtrain
import os, time
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
import nbtrain

keras.utils.set_random_seed(1)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
layers = [keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(10)]
model = keras.Sequential(layers)
optimizer = keras.optimizers.Adam(1e-3)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
data = iter(tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1797).repeat().batch(32))


@tf.function
def update(x, y):
    with tf.GradientTape() as tape:
        logits = model(x)
        loss = cross_entropy(y, logits)
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    right = tf.argmax(logits, 1) == tf.cast(y, tf.int64)
    return {"loss": loss, "accuracy": tf.reduce_mean(tf.cast(right, tf.float32))}


def step():
    time.sleep(0.002)  # at a pace that a person can follow
    return update(*next(data))


print("ready")
"""
TRAIN = """\
run = nbtrain.train(step, steps=100_000, name={name!r},
                    checkpoint=tf.train.Checkpoint(model=model, optimizer=optimizer))
"""
RECEIPTS = "[(r.name, r.outcome.applied, r.outcome.step) for r in run.receipts]"


def click(panel: Locator, command: str) -> None:
    panel.locator(f"[data-command={command}]").click()


def receipt(panel: Locator, text: str) -> str:
    """The receipt line, once it says `text`."""
    line = panel.locator("[data-role=receipt]")
    expect(line).to_contain_text(text, timeout=20 * SECOND)
    return line.inner_text()


def phase(panel: Locator, word: str) -> None:
    """Wait until the panel shows this phase."""
    expect(panel.locator("[data-role=phase]")).to_contain_text(word, timeout=20 * SECOND)


def step_of(panel: Locator) -> int:
    return int(panel.get_attribute("data-step") or -1)


def in_text(text: str) -> int:
    """The step that a receipt names."""
    found = re.search(r"\(step ([\d,]+)\)", text)
    assert found, text
    return int(found.group(1).replace(",", ""))


def wait_for_step(page: NotebookPage, index: int, step: int) -> None:
    page.page.wait_for_function(
        "([index, step]) => Number(document.querySelectorAll('.jp-CodeCell')[index]"
        ".querySelector('.nbt')?.dataset.step ?? 0) >= step",
        arg=[index, step],
    )


def read(page: NotebookPage, index: int) -> Any:
    """Run a cell and read its value."""
    page.run(index)
    return ast.literal_eval(re.sub(r"^\[\d+\]:\s*", "", page.text(index)))


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a started run: cell 0 sets up, cell 1 trains, the others come from the test."""
    name = "digits" if "light" in request.node.name else request.node.name
    cells = request.node.get_closest_marker("cells")
    path = lab.notebook(name, START, TRAIN.format(name=name), *(cells.args if cells else ()))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        notebook.run(1)
        phase(notebook.panel(1), "running")
        yield notebook


@pytest.mark.cells("time.sleep(14); time.time()", RECEIPTS)
def test_every_button_works_while_another_cell_sleeps(page: NotebookPage, lab: Lab) -> None:
    panel = page.panel(1)
    page.run(2, wait=False)
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    click(panel, "pause")
    paused = in_text(receipt(panel, "paused"))
    phase(panel, "paused")
    click(panel, "restore")
    text = receipt(panel, f"restored ckpt-{saved}")
    assert "variables matched" in text
    assert "8 optimizer slots" in text
    assert in_text(text) == paused
    assert step_of(panel) == saved
    click(panel, "resume")
    receipt(panel, "running again")
    wait_for_step(page, 1, paused + 1)
    page.wait_done(2)
    woke = float(re.sub(r"^\[\d+\]:\s*", "", page.text(2)))
    click(panel, "stop")
    expect(panel).to_have_count(0, timeout=20 * SECOND)  # the picture has taken its place
    done = [(name, applied) for name, applied, _ in read(page, 3)]
    assert done == [(name, True) for name in ("save", "pause", "restore", "resume", "stop")]
    journal = lab.root / "runs" / "test_every_button_works_while_another_cell_sleeps"
    lines = map(json.loads, (journal / "steering.jsonl").read_text().splitlines())
    asleep = {line["event"] for line in lines if line["wall_time"] < woke}
    assert asleep >= {"save", "pause", "restore", "resume"}


@pytest.mark.cells("nbtrain.train(step, name=run.name)", "run.request_stop().wait().applied")
def test_a_refused_cell_has_a_panel_only_where_it_has_cleared_its_own(page: NotebookPage) -> None:
    other = page.run(2)
    expect(other).to_contain_text("BusyError")
    expect(other).to_contain_text("shows it")
    refused = page.run(1)
    expect(refused).to_contain_text("BusyError")
    expect(page.panel(1)).to_have_count(1)
    phase(page.panel(1), "running")
    expect(page.panel(2)).to_have_count(0)
    page.run(3)


@pytest.mark.cells("run.request_stop().wait().applied")
def test_a_reloaded_page_shows_the_whole_curve_and_goes_on_live(page: NotebookPage) -> None:
    wait_for_step(page, 1, 300)
    page.save()
    page.page.reload()
    panel = page.panel(1)
    expect(panel).to_be_visible(timeout=60 * SECOND)
    phase(panel, "running")
    chart = panel.locator("[data-tag=loss]")
    chart.locator(".u-over").hover(position={"x": 2, "y": 60})
    first = chart.locator("[data-role=legend]").inner_text()
    begun = int(first.split()[1].replace(",", ""))  # after "step"
    assert begun <= 10 + step_of(panel) / 50, first  # at the left end of the chart
    wait_for_step(page, 1, step_of(panel) + 50)


@pytest.mark.cells("run.wait(60)", "run.status.step")
def test_the_saved_notebook_keeps_a_picture_and_no_widget(page: NotebookPage, lab: Lab) -> None:
    wait_for_step(page, 1, 100)
    click(page.panel(1), "stop")
    page.run(2)
    for index in (1, 2):
        expect(page.cells.nth(index).locator(".jp-RenderedImage img")).to_be_visible()
    page.save()
    path = lab.root / "test_the_saved_notebook_keeps_a_picture_and_no_widget.ipynb"
    page.page.wait_for_function(
        "() => !jupyterapp.shell.currentWidget.context.model.dirty", timeout=20 * SECOND
    )
    kept = nbformat.read(path, as_version=4).cells
    for cell in kept[1:3]:
        (bundle,) = [
            dict(out["data"]) for out in cell.outputs if "image/png" in out.get("data", {})
        ]
        assert set(bundle) == {"image/png", "text/plain"}
        assert bundle["text/plain"] == "nbtrain run"


@pytest.mark.cells(
    "fail = True\ndef broken():\n"
    "    if fail and run.status.step >= 5: raise ValueError('my own line')\n    return {'x': 1.0}",
    "run.request_stop(); run.wait()\nrun = nbtrain.train(broken, name='broken')",
    "fail = False\nended_as = run.status.phase.value\nrun.start();",
    "(ended_as, run.status.error, run.request_stop().wait().applied)",
)
def test_a_failed_run_shows_the_traceback_and_can_be_started_again(page: NotebookPage) -> None:
    page.run(2)
    page.run(3)
    shown = page.cells.nth(3).locator(".jp-OutputArea pre", has_text="ValueError: my own line")
    expect(shown.first).to_be_visible(timeout=20 * SECOND)
    assert "raise ValueError('my own line')" in shown.first.inner_text()
    expect(page.run(4)).to_have_text("")  # by its semicolon
    assert read(page, 5) == ("failed", None, True)


@pytest.mark.cells(
    "import matplotlib.pyplot as plt\n"
    "for n in range(3):\n    plt.figure(); plt.plot([0, n]); time.sleep(1.2)\n"
    "plt.get_fignums()",
)
def test_the_figures_of_a_running_cell_are_left_alone(page: NotebookPage) -> None:
    page.run(2, wait=False)
    panel = page.panel(1)
    for _ in range(2):
        click(panel, "save")
        receipt(panel, "saved")
    page.wait_done(2)
    expect(page.cells.nth(2).locator(".jp-RenderedImage img")).to_have_count(3)


COLOURED = """\
canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && Math.abs(data[i] - data[i + 2]) > 60) count++;
  return count;
}"""


def see_curve(panel: Locator) -> None:
    """Wait until pixels of the loss's chart are of a colour: its curve."""
    canvas = panel.locator("[data-tag=loss] canvas")
    expect(canvas).to_be_visible()
    panel.page.wait_for_function(
        f"canvas => ({COLOURED})(canvas) > 50", arg=canvas.element_handle(), timeout=10 * SECOND
    )


@pytest.mark.cells("run", "%nbtrain show")
def test_every_view_draws_its_curve_in_colour(page: NotebookPage) -> None:
    wait_for_step(page, 1, 100)
    page.run(2)
    page.run(3)
    page.save()
    for _ in range(2):
        for index in (1, 2, 3):
            panel = page.panel(index)
            wait_for_step(page, index, 150)
            see_curve(panel)
        page.page.reload()
        expect(page.panel(3)).to_be_visible(timeout=60 * SECOND)


LATER = """\
@nbtrain.background
def later(run):
    while not run.should_stop():
        time.sleep(0.01)
        run.record(first=1.0)
        if run.status.step > 100:
            run.record(second=2.0)
"""


@pytest.mark.cells(LATER, "later.request_stop().wait().applied")
def test_a_curve_that_comes_later_leaves_the_first_its_place(page: NotebookPage) -> None:
    page.run(2)
    panel = page.panel(2)
    expect(panel.locator(".uplot")).to_have_count(2, timeout=30 * SECOND)
    for chart in panel.locator(".nbt-plot").all():
        plot = chart.locator(".uplot")
        page.page.wait_for_function(
            "([plot, room]) => plot.clientWidth > 0 && plot.clientWidth <= room.clientWidth",
            arg=[plot.element_handle(), chart.element_handle()],
        )
    page.run(3)


LONG = """\
@nbtrain.background
def long(run):
    while not run.should_stop():
        time.sleep(0.01)
        run.record({"first": 1.0, "x" * 200: 123456.0})
"""


def whole(text: Locator) -> bool:
    """Whether nothing of a text is cut off."""
    fits: bool = text.evaluate("e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= 24")
    return fits


@pytest.mark.cells(LONG, "long.request_stop().wait().applied")
def test_a_long_tag_leaves_the_values_whole(page: NotebookPage) -> None:
    page.run(2)
    chart = page.panel(2).locator(f"[data-tag={'x' * 200}]")
    last, legend = chart.locator(".nbt-last"), chart.locator("[data-role=legend]")
    expect(last).to_have_text("1.235e+05", timeout=30 * SECOND)
    assert whole(last)
    chart.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(legend).to_have_text(re.compile(r"step \d+\s+1\.235e\+05"))
    assert whole(legend)
    assert last.evaluate("e => e.clientWidth == 0")  # and no part of it is left
    page.run(3)


def test_hover_zoom_and_log_scale(page: NotebookPage) -> None:
    wait_for_step(page, 1, 200)
    panel = page.panel(1)
    chart = panel.locator("[data-tag=loss]")
    over = chart.locator(".u-over")
    over.hover(position={"x": 100, "y": 60})
    expect(chart.locator("[data-role=legend]")).to_have_text(re.compile(r"step [\d,]+\s+\d"))
    expect(panel.locator("[data-tag=accuracy] [data-role=legend]")).to_contain_text("step")
    toggle = chart.get_by_role("button", name="log")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(over).to_be_visible()


TALK = """\
@nbtrain.background
def talk(run):
    while not run.should_stop():
        time.sleep(0.05)
        tf.get_logger().info("line %d", run.status.step)
"""
AT_END = "e => e.scrollTop + e.clientHeight >= e.scrollHeight - 2"


@pytest.mark.cells("run.request_stop(); tf.get_logger().setLevel('INFO'); run.wait(20)", TALK)
def test_the_newest_line_of_the_log_is_in_view_unless_the_reader_has_scrolled_up(
    page: NotebookPage,
) -> None:
    page.run(2)
    page.run(3)
    wait_for_step(page, 3, 60)  # more lines than there is room for
    panel = page.panel(3)
    log = panel.locator("[data-role=log]")
    panel.get_by_text("Log", exact=True).click()

    def grows() -> None:
        last = int(log.inner_text().split()[-1])
        expect(log).to_contain_text(re.compile(rf"line {last + 5}\b"), timeout=20 * SECOND)

    for _ in range(2):
        assert log.evaluate(AT_END)
        grows()
    log.evaluate("e => { e.scrollTop = 40; }")
    grows()
    assert log.evaluate("e => e.scrollTop") == 40
    log.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    grows()
    assert log.evaluate(AT_END)


def test_two_views_and_the_keyboard(page: NotebookPage) -> None:
    panel = page.panel(1)
    button = panel.locator("[data-command=pause]")
    button.focus()
    page.page.keyboard.press("Enter")
    phase(panel, "paused")
    panel.locator("[data-command=resume]").focus()
    page.page.keyboard.press("Space")
    phase(panel, "running")


@pytest.mark.cells("os.getpid()")
def test_a_killed_kernel_goes_on_from_the_checkpoint(page: NotebookPage) -> None:
    panel = page.panel(1)
    wait_for_step(page, 1, 50)
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    wait_for_step(page, 1, saved + 50)
    os.kill(read(page, 2), signal.SIGKILL)
    dialog = page.page.locator(".jp-Dialog")
    expect(dialog).to_be_visible(timeout=30 * SECOND)
    dialog.get_by_role("button", name="Ok").click()
    page.wait_idle()
    page.run(0)
    page.run(1)
    again = page.panel(1)
    phase(again, "running")
    expect(again).to_contain_text(f"Goes on from ckpt-{saved}")
    assert step_of(again) >= saved
    see_earlier_life(again.locator("[data-tag=loss]"), saved)


def see_earlier_life(chart: Locator, saved: int) -> None:
    """Its curve begins where the run began, and the mark of its save is there."""
    expect(chart).to_have_attribute("data-timeline", "2")  # the save, and that it goes on
    over, legend = chart.locator(".u-over"), chart.locator("[data-role=legend]")
    over.hover(position={"x": 2, "y": 60})
    expect(legend).to_have_text(re.compile(r"step \d+\s+\d"))
    told = re.match(r"step (\d+)", legend.inner_text())
    assert told is not None
    assert int(told[1]) < saved / 2
    over.hover(position={"x": over.evaluate("e => e.clientWidth") - 2, "y": 60})
    expect(legend).not_to_contain_text("abandoned")


def silent(panel: Locator) -> None:
    """Wait until the panel says that it hears nothing, and see that nothing can be clicked."""
    words = panel.locator("[data-role=silence]")
    expect(words).to_contain_text(
        re.compile(r"No word from the kernel since \d\d:\d\d:\d\d"), timeout=30 * SECOND
    )
    expect(panel.locator("[data-role=phase]")).to_have_text(re.compile("was running|was stopping"))
    expect(panel.locator(".nbt-buttons :is(button, select):enabled")).to_have_count(0)
    see_curve(panel)


@pytest.mark.cells("os.getpid()")
def test_a_killed_kernel_is_told_in_the_panel_of_its_run(page: NotebookPage) -> None:
    wait_for_step(page, 1, 50)
    os.kill(read(page, 2), signal.SIGKILL)
    page.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    silent(page.panel(1))


@pytest.mark.cells("os.getpid()")
def test_a_restarted_kernel_is_told_in_the_panel_of_its_run(page: NotebookPage) -> None:
    wait_for_step(page, 1, 50)
    page.page.evaluate("() => void jupyterapp.commands.execute('kernelmenu:restart')")
    page.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()
    silent(page.panel(1))


@pytest.mark.cells("os.getpid()")
def test_a_kernel_that_hangs_is_told_and_all_is_as_before_when_it_speaks_again(
    page: NotebookPage,
) -> None:
    panel, kernel = page.panel(1), read(page, 2)
    wait_for_step(page, 1, 50)
    os.kill(kernel, signal.SIGSTOP)
    try:
        silent(panel)
    finally:
        os.kill(kernel, signal.SIGCONT)
    expect(panel.locator("[data-role=silence]")).to_be_hidden()
    phase(panel, "▶ running")
    wait_for_step(page, 1, step_of(panel) + 50)
    click(panel, "save")
    receipt(panel, "saved ckpt-")


def test_the_panel_in_light_and_dark(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    """Takes the pictures of the README; `make screenshots` keeps them."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    train = TRAIN.format(name="digits").replace(
        "checkpoint=", "hyperparameters=optimizer, checkpoint="
    )
    with opened(browser, lab, lab.notebook("light_and_dark", START, train)) as page:
        page.run(0)
        page.run(1)
        panel = page.panel(1)
        wait_for_step(page, 1, 400)
        click(panel, "save")
        receipt(panel, "saved")
        rate = panel.locator("[data-hyperparameter=learning_rate] input[type=text]")
        rate.fill("0.3")  # too much: the curve leaves its way, and is brought back to it
        rate.press("Enter")
        edited = int(re.findall(r"\d+", receipt(panel, "✓ learning_rate").replace(",", ""))[-1])
        wait_for_step(page, 1, edited + 120)
        click(panel, "restore")
        receipt(panel, "restored")
        wait_for_step(page, 1, 1200)
        panel.locator("[data-tag=loss] .u-over").hover(position={"x": 330, "y": 90})
        for theme, name in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
            page.theme(theme)
            expect(panel).to_have_attribute("data-theme", name)
            panel.screenshot(path=folder / f"panel-{name}.png", animations="disabled")
            assert (folder / f"panel-{name}.png").stat().st_size > 10_000
