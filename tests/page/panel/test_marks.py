"""Marks on the curve: seen, told, and what can be done at them."""

from __future__ import annotations

import itertools
import os
import re
import time
from pathlib import Path

import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.rundir.journal import Mark
from tests.models import applied
from tests.on_disk import journal
from tests.page.bare import BarePage, click, in_text, phase, receipt, step_of, wait_for_step
from tests.page.paced import Paced
from tests.page.panel.asked import ask, chart, menu, search, told
from tests.page.panel.fields import field

# The opaque grey pixels of a chart: what it has drawn of an abandoned curve.
GREY = """\
canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [red, green, blue, alpha] = data.slice(i, i + 4);
    if (alpha > 200 && Math.abs(red - 0x8a) + Math.abs(green - 0x8a) + Math.abs(blue - 0x8a) < 9)
      count++;
  }
  return count;
}"""


def closed(panel: Locator) -> None:
    """Wait until the menu has closed by itself, and see that the chart has the focus again."""
    expect(menu(panel)).to_be_hidden()
    expect(chart(panel).locator(".nbt-plot")).to_be_focused()


def marks(panel: Locator, count: int) -> None:
    """Wait until the chart has so many marks."""
    expect(chart(panel)).to_have_attribute("data-timeline", str(count))


def pause(panel: Locator) -> int:
    """Pause, so that marks keep their places; the step."""
    click(panel, "pause")
    phase(panel, "paused")
    return step_of(panel)


def save(panel: Locator) -> int:
    """A checkpoint, and half as many steps again, a third of the chart's width; its step."""
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    wait_for_step(panel, saved + max(60, saved // 2))
    return saved


def pictures(page: BarePage, panel: Locator, of: Locator, name: str, folder: Path) -> None:
    """Pictures of the page around an element, in light and dark."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", folder))
    for theme in ("dark", "light"):
        page.theme(theme)
        expect(panel).to_have_attribute("data-theme", theme)
        of.scroll_into_view_if_needed()
        path = folder / f"{name}-{theme}.png"
        page.page.screenshot(path=path, animations="disabled")
        assert path.stat().st_size > 10_000


@pytest.fixture
def panel(panel: Locator) -> Locator:
    """The panel of a training that has been running for a while."""
    wait_for_step(panel, 60)
    return panel


def test_a_save_is_a_mark_that_a_hover_tells_and_a_click_restores(
    page: BarePage, panel: Locator
) -> None:
    saved = save(panel)
    paused = pause(panel)
    marks(panel, 2)
    search(panel, "● save")
    expect(told(panel)).to_have_text(
        re.compile(rf"● save · step {saved:,} · \d\d:\d\d:\d\dsaved ckpt-{saved}$")
    )
    assert chart(panel).locator("canvas").evaluate(GREY) == 0
    asked = ask(panel, "● save")
    asked.get_by_role("button", name=f"Restore step {saved:,}").click()
    closed(panel)
    expect(panel).to_have_attribute("data-step", str(saved))
    receipt(panel, f"✓ restored ckpt-{saved}")
    marks(panel, 3)
    page.page.mouse.move(2, 2)
    page.page.wait_for_function(
        f"chart => ({GREY})(chart.querySelector('canvas')) > 20",
        arg=chart(panel).element_handle(),
    )
    search(panel, f"pause · step {paused:,}")
    expect(told(panel)).to_contain_text("abandoned")
    search(panel, f"◀ restore · step {paused:,} → step {saved:,}")


def test_along_the_strip_each_sign_tells_its_own_mark(page: BarePage, panel: Locator) -> None:
    mouse = page.page.mouse
    saved = save(panel)
    paused = pause(panel)
    marks(panel, 2)
    over = chart(panel).locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    sign = box["x"] + box["width"] * (saved - 1) / (paused - 1)
    end, strip = box["x"] + box["width"], box["y"] - 9
    mouse.move(sign, strip - 60)
    mouse.move(sign, strip)
    expect(told(panel)).to_contain_text(f"● save · step {saved:,}")
    mouse.move((sign + end) / 2, strip)
    expect(told(panel)).to_be_hidden()
    for left in (end, end + 4):  # half of the last sign is beside the plot
        mouse.move(left, strip)
        expect(told(panel)).to_contain_text(f"❚❚ pause · step {paused:,}")
    mouse.move(sign, box["y"] + 60)
    mouse.move(sign, strip)
    expect(told(panel)).to_contain_text(f"● save · step {saved:,}")
    mouse.move(sign, strip - 60)
    expect(told(panel)).to_be_hidden()
    mouse.click(sign, strip)
    place = menu(panel).bounding_box()
    assert place is not None
    assert box["y"] <= place["y"] <= box["y"] + 20


def test_the_strip_of_a_chart_that_was_made_anew_reads_one_place(
    page: BarePage, panel: Locator
) -> None:
    pause(panel)
    marks(panel, 1)
    log = chart(panel).get_by_role("button", name="log")
    log.click()
    expect(log).to_have_attribute("aria-pressed", "true")
    over = chart(panel).locator(".u-over")
    over.scroll_into_view_if_needed()
    legend = chart(panel).locator(".nbt-legend").element_handle()
    page.page.evaluate(
        """legend => {
          window.read = [];
          const told = (changes) =>
            changes.forEach(({ addedNodes }) => window.read.push(...addedNodes));
          new MutationObserver(told).observe(legend, { childList: true });
        }""",
        legend,
    )
    box = over.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] - 9)
    expect(chart(panel).locator(".nbt-legend")).to_contain_text("step")
    assert page.page.evaluate("window.read.length") == 1


def test_an_edit_is_a_mark_that_can_be_set_back(page: BarePage, panel: Locator) -> None:
    field(panel, "dropout").fill("0.75")
    field(panel, "dropout").press("Enter")
    receipt(panel, "✓ dropout 0.25 → 0.75")
    wait_for_step(panel, step_of(panel) + 150)
    pause(panel)
    asked = ask(panel, "◆ set")
    expect(asked).to_contain_text("dropout 0.25 → 0.75")
    asked.get_by_role("button", name="Set dropout back to 0.25").click()
    closed(panel)
    receipt(panel, "✓ dropout 0.75 → 0.25")
    expect(field(panel, "dropout")).to_have_value("0.25")


def test_an_action_says_that_it_waits_while_another_is_carried_out(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    pause(panel)
    applied(run.set(dropout=0.5))
    applied(run.set(learning_rate=0.5))
    asked = ask(panel, "◆ set")
    rate = asked.get_by_role("button", name="Set learning_rate back to 0.001")
    dropout = asked.get_by_role("button", name="Set dropout back to 0.25")
    expect(dropout).to_have_attribute("aria-disabled", "false")
    page.kernel.hang()
    rate.click()
    expect(asked.get_by_text("Setting…")).to_have_count(2)
    expect(rate).to_be_focused()
    expect(dropout).to_have_attribute("aria-disabled", "true")
    page.kernel.go_on()
    closed(panel)
    assert run.hyperparameters == {"learning_rate": pytest.approx(0.001), "dropout": 0.5}


def test_a_checkpoint_that_was_deleted_meanwhile_is_refused_in_words(
    page: BarePage,
    panel: Locator,
) -> None:
    saved = save(panel)
    pause(panel)
    asked = ask(panel, "● save")
    button = asked.get_by_role("button", name=f"Restore step {saved:,}")
    expect(button).to_be_enabled()
    for file in Path("runs/paced/checkpoints").glob(f"ckpt-{saved}.*"):
        file.unlink()
    # Before the panel has heard of it, or it would not let itself be clicked.
    button.evaluate("button => { button.disabled = false; button.click(); }")
    expect(asked.locator("[data-role=answers]")).to_contain_text("✕ There is no checkpoint")
    receipt(panel, "✕ restore: There is no checkpoint")
    expect(button).to_be_disabled()
    expect(asked).to_contain_text("its checkpoint was deleted")
    expect(asked).to_be_visible()


def test_marks_are_reached_and_acted_on_with_the_keyboard_alone(
    page: BarePage, panel: Locator
) -> None:
    keyboard = page.page.keyboard
    saved = save(panel)
    paused = pause(panel)
    plot = chart(panel).locator(".nbt-plot")
    plot.focus()
    for key in ["ArrowLeft"] * 60 + ["ArrowRight"] * 120:  # it begins in the middle
        keyboard.press(key)
        if told(panel).is_visible() and "● save" in told(panel).inner_text():
            break
    keyboard.press("Enter")
    button = menu(panel).get_by_role("button", name=f"Restore step {saved:,}")
    expect(button).to_be_focused()
    keyboard.press("Escape")
    expect(menu(panel)).to_be_hidden()
    expect(plot).to_be_focused()
    assert step_of(panel) == paused
    keyboard.press("Enter")
    expect(button).to_be_focused()
    keyboard.press("Enter")
    receipt(panel, f"restored ckpt-{saved}")
    expect(panel).to_have_attribute("data-step", str(saved))
    closed(panel)
    keyboard.press("Enter")  # the plot was made anew, and the place is kept
    expect(menu(panel)).to_be_visible()
    keyboard.press("Escape")
    closed(panel)


def test_home_and_end_read_the_first_and_the_last_value_and_leave_the_page_where_it_is(
    page: BarePage, panel: Locator
) -> None:
    keyboard = page.page.keyboard
    save(panel)
    paused = pause(panel)
    page.page.set_viewport_size({"width": 1100, "height": 600})  # so there is something to scroll
    plot, legend = chart(panel).locator(".nbt-plot"), chart(panel).locator("[data-role=legend]")
    plot.focus()
    place = plot.bounding_box()
    for key, step in (("Home", 1), ("End", paused), ("Home", 1)):
        keyboard.press(key)
        expect(legend).to_have_text(re.compile(rf"^step {step:,}\s"))
    assert plot.bounding_box() == place


def test_after_nan_one_click_restores_and_halves_the_learning_rate(
    panel: Locator, run: nbtrain.Run, paced: Paced
) -> None:
    saved = save(panel)
    pause(panel)
    good, order = run.checkpoints[-1].step, run.marks.timeline.order
    nan = Mark("nan", run.status.step, time.time(), "loss is NaN", good=good, order=order)
    run.marks.add(nan)
    marks(panel, 3)
    asked = ask(panel, "× nan")
    halves = asked.get_by_role("button", name=f"Restore step {saved:,} and halve learning_rate")
    expect(halves).to_have_attribute("title", re.compile("or the current one if that is lower"))
    halves.click()
    closed(panel)
    line = panel.locator("[data-role=receipt]").inner_text()
    assert "learning_rate 0.001 → 0.0005" in line
    assert (paced.values()[0], run.status.step) == (0.0005, saved)


def message_actions(panel: Locator) -> Locator:
    """Returns the actions below the message of a run with a bad loss."""
    return panel.locator("[data-role=message-actions]")


def test_the_message_of_a_loss_that_is_nan_has_actions(
    page: BarePage, panel: Locator, run: nbtrain.Run, paced: Paced, tmp_path: Path
) -> None:
    keyboard = page.page.keyboard
    second = page.panel(run)
    saved = save(panel)
    expect(message_actions(panel)).to_be_hidden()
    paced.optimizer.learning_rate.assign(float("nan"))
    phase(panel, "paused at NaN")
    expect(panel.locator("[data-role=message]")).to_contain_text("was NaN at step")
    for each in (panel, second):
        expect(message_actions(each)).to_be_visible()
    pictures(page, panel, message_actions(panel), "message_actions", tmp_path)
    asked = message_actions(panel).get_by_role("button")
    texts = asked.all_inner_texts()
    assert texts[0] == f"{texts[1]} and halve learning_rate"
    assert int(texts[1].removeprefix("Restore step ").replace(",", "")) >= saved
    assert texts[2:] == ["Find the cause"]
    assert ask(panel, "× nan").get_by_role("button").all_inner_texts()[:3] == texts
    keyboard.press("Escape")
    answers = message_actions(panel).locator("[data-role=answers]")
    asked.last.click()
    expect(answers).to_contain_text("✓ learning_rate was NaN at step ")
    asked.first.focus()
    keyboard.press("Enter")
    expect(answers).to_contain_text("learning_rate 0.001 → 0.0005")
    expect(answers).to_contain_text("✓ restored ckpt-")
    for each in (panel, second):
        expect(message_actions(each).get_by_role("button")).to_have_count(0)
    expect(second.locator("[data-role=message-actions]")).to_be_hidden()
    expect(panel.locator("[data-role=message]")).to_be_hidden()
    expect(message_actions(panel)).to_be_focused()
    assert paced.values()[0] == 0.0005
    expect(panel.locator("[data-role=phase]")).to_have_text("❚❚ paused")
    click(panel, "resume")
    phase(panel, "running")
    expect(message_actions(panel)).to_be_hidden()


def test_each_restore_and_halve_from_the_same_checkpoint_takes_half_of_the_last_rate(
    page: BarePage,
) -> None:
    weight, steep = tf.Variable(1.0), tf.keras.optimizers.SGD(200.0)

    def down() -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = weight**2
        steep.apply_gradients([(tape.gradient(loss, weight), weight)])
        return {"loss": loss}

    saved = tf.train.Checkpoint(weight=weight, optimizer=steep)
    panel = page.panel(nbtrain.train(down, checkpoint=saved, hyperparameters=steep))
    halve = message_actions(panel).get_by_role(
        "button", name="Restore step 0 and halve learning_rate"
    )
    for edit in ("200 → 100", "200 → 50", "200 → 25"):
        phase(panel, "paused")
        halve.click()
        answers = message_actions(panel).locator("[data-role=answers]")
        expect(answers).to_contain_text(f"learning_rate {edit} ")
        panel.locator("[data-command=resume]").click()
        receipt(panel, "running again")  # else the pause of before is still in sight
    expect(halve).to_be_visible()
    # All that was done at step 0, before the first point, is one sign in sight.
    asked = ask(panel, "→ step 0")
    expect(asked.get_by_role("button", name="Set learning_rate back to 200")).to_be_visible()


def test_the_way_back_is_closed_where_the_kernel_is_gone(
    page: BarePage, panel: Locator, paced: Paced
) -> None:
    save(panel)
    paced.optimizer.learning_rate.assign(float("nan"))
    buttons = message_actions(panel).get_by_role("button")
    expect(buttons).to_have_count(3)
    for button in buttons.all():
        expect(button).to_be_enabled()
    page.kernel.die()
    for button in buttons.all():
        expect(button).to_be_disabled()
    expect(message_actions(panel)).to_contain_text("no word from the kernel since")


def test_a_trial_looks_as_disabled_as_the_rest_without_a_kernel(
    page: BarePage, panel: Locator
) -> None:
    buttons = [
        panel.locator(f".nbt-buttons {kind}") for kind in ("[data-act=try]", "[data-command]")
    ]
    trial, others = buttons[0], buttons[1].locator("visible=true")
    trial.click()
    panel.locator("[data-role=trial]").get_by_label("steps").press("Enter")
    receipt(panel, "Trying…")
    page.kernel.die()
    expect(trial).to_be_disabled()
    look = (
        "button => { const { color, opacity } = getComputedStyle(button); return color + opacity; }"
    )
    assert len({each.evaluate(look) for each in (trial, *others.all())}) == 1
    expect(panel.locator("[data-role=receipt]")).to_be_hidden()


def crowd(run: nbtrain.Run, last: str, pauses: int) -> None:
    """Add marks of pauses, and a last one."""
    step = run.status.step
    for n in range(pauses):
        run.marks.add(Mark("pause", step, time.time() + n, f"number {n} of a crowd"))
    run.marks.add(Mark(last, step, time.time(), 20 * "words and " + "its end"))


def test_every_mark_of_a_crowd_is_reached_with_the_keyboard(
    page: BarePage, panel: Locator, run: nbtrain.Run, tmp_path: Path
) -> None:
    keyboard = page.page.keyboard
    pause(panel)
    crowd(run, "set", pauses=22)
    marks(panel, 24)
    search(panel, "◆ set")
    expect(told(panel)).to_contain_text("words and …")
    asked = ask(panel, "◆ set")
    expect(told(panel)).to_be_hidden()
    expect(asked).to_contain_text("words and its end")
    pictures(page, panel, panel, "crowd", tmp_path)
    shown = asked.locator("section")
    expect(shown).to_have_count(6)
    expect(shown.nth(1)).to_contain_text("number 21 of a crowd")
    box = asked.bounding_box()
    assert box is not None
    assert box["height"] <= 420
    more = asked.get_by_role("button", name=re.compile(r"^\d+ more$"))
    for left in (18, 12, 6):
        expect(more).to_have_text(f"{left} more")
        more.focus()
        keyboard.press("Enter")
        expect(shown).to_have_count(30 - left)
        expect(shown.nth(24 - left)).to_be_focused()
        expect(shown.nth(24 - left)).to_be_in_viewport()
    expect(more).to_be_hidden()
    expect(shown.nth(22)).to_contain_text("number 0 of a crowd")
    keyboard.press("Escape")
    expect(asked).to_be_hidden()
    search(panel, "◆ set")


# The begin and the end of each text in the strip of a chart, as it was last drawn.
DRAWN = """\
() => {
  const context = CanvasRenderingContext2D.prototype, { fillText, clearRect } = context;
  context.clearRect = function (...all) {
    this.canvas.drawn = [];
    return clearRect.call(this, ...all);
  };
  context.fillText = function (text, x, y, ...more) {
    const { width } = this.measureText(text);
    if (this.textAlign === "center" && y < 0)
      (this.canvas.drawn ??= []).push([x - width / 2, x + width / 2, text]);
    return fillText.call(this, text, x, y, ...more);
  };
}"""


def drawn(panel: Locator, text: str) -> list[tuple[float, float, str]]:
    """The texts in the strip of the chart, from left to right, once this one is there."""
    canvas = chart(panel).locator("canvas").element_handle()
    panel.page.wait_for_function(
        "([canvas, text]) => canvas.drawn?.some(([, , each]) => each === text)",
        arg=[canvas, text],
    )
    return sorted(map(tuple, canvas.evaluate("canvas => canvas.drawn")))


def test_the_sign_of_several_pauses_leaves_room_for_their_number(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    pause(panel)
    page.page.evaluate(DRAWN)
    crowd(run, "pause", pauses=40)
    ends = {text: (begin, end) for begin, end, text in drawn(panel, "42")}
    assert ends["❚❚"][1] <= ends["42"][0]


def test_the_signs_of_large_groups_do_not_overlap(page: BarePage, tmp_path: Path) -> None:
    run = nbtrain.train(lambda: {"loss": 1.0}, name="fast")  # more steps than pixels
    panel = page.panel(run)
    wait_for_step(panel, 500)
    pause(panel)
    page.page.evaluate(DRAWN)
    width = chart(panel).locator(".u-over").evaluate("e => e.clientWidth")
    for pair, gap in enumerate((24, 27)):  # pixels from one crowd to the other
        for place in (0.1 + 0.4 * pair, 0.1 + 0.4 * pair + gap / width):
            mark = Mark("pause", round(place * run.status.step), time.time(), "")
            for _ in range(110):
                run.marks.add(mark)
    marks(panel, 1 + 4 * 110)
    signs = drawn(panel, "99+")
    pictures(page, panel, panel, "crowds", tmp_path)
    assert len(signs) >= 4
    for (_, end, left), (begin, _, right) in itertools.pairwise(signs):
        assert end <= begin, f"{left} lies over {right}: {signs}"


def test_an_unavailable_action_is_disabled_with_its_reason(page: BarePage, panel: Locator) -> None:
    saved = save(panel)
    pause(panel)
    asked = ask(panel, "● save")
    button = asked.get_by_role("button", name=f"Restore step {saved:,}")
    expect(button).to_be_enabled()
    page.page.keyboard.press("Escape")
    page.kernel.die()
    expect(panel.locator("[data-role=silence]")).to_be_visible()
    asked = ask(panel, "● save")
    expect(button).to_be_disabled()
    expect(asked).to_contain_text("no word from the kernel since")


def test_a_trial_is_begun_in_a_form_and_its_end_is_told(page: BarePage, panel: Locator) -> None:
    panel.get_by_role("button", name="Try…").click()
    form = panel.locator("[data-role=trial]")
    expect(form.get_by_label("new value")).to_have_value("0.0005")
    expect(form.get_by_label("undo if worse")).to_have_value("loss")
    form.get_by_label("steps").fill("200")
    form.get_by_label("new value").press("Enter")
    expect(form).to_be_hidden()
    receipt(panel, "Trying…")
    click(panel, "save")
    receipt(panel, "saved ckpt-")  # a trial is no reason to be silent of the rest
    receipt(panel, "learning_rate 0.0005: loss ")
    begun, ended = journal(Path("runs/paced"), "try")
    assert begun["edits"] == {"learning_rate": [0.001, 0.0005]}
    assert ended["step"] - begun["step"] == 200
