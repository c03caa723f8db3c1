"""A bare page in Chromium, used as a person would; and what tests look for in a panel."""

from __future__ import annotations

import re
from typing import Any

import ipywidgets
from IPython.display import display
from playwright.sync_api import Error, Locator, Page, ViewportSize, expect

import nbtrain
from tests.chromium import SECOND
from tests.gate import SOON
from tests.page.kernel import Kernel

SIZE: ViewportSize = {"width": 1024, "height": 1500}
POLL_MS = 4000  # as in connection.js
FORGET = "() => { localStorage.clear(); sessionStorage.clear(); }"


class BarePage:
    """A page that shows what is displayed.

    Args:
        page: A page of the browser without a document.
        kernel: The other end of it.
        shell: The IPython that displays.
    """

    def __init__(self, page: Page, kernel: Kernel, shell: Any) -> None:
        self.page, self.kernel, self._shell = page, kernel, shell
        self._spoilt = False
        self.page.set_default_timeout(60 * SECOND)
        self.page.set_viewport_size(SIZE)
        self.errors: list[str] = []  # of scripts in the page
        self.page.on("pageerror", self._note)
        self.load()

    def _note(self, error: Error) -> None:
        self.errors.append(error.stack or str(error))

    def empty(self) -> Page | None:
        """Take the document away; the page without anything of it, or None if some of it stays.

        A new page costs Chromium more than most tests do with it.
        """
        if self._spoilt:
            self.page.close()
            return None
        self.page.evaluate(FORGET)
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.emulate_media(color_scheme="null", reduced_motion="null", forced_colors="null")
        self.page.remove_listener("pageerror", self._note)
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()
        return self.page

    def end(self) -> None:
        """End the runs and widgets that a test has made; no script of the page had an error."""
        for run in nbtrain.runs().values():
            run.request_stop()
            run.attempt.monitor_threads.join(SOON)
        ipywidgets.Widget.close_all()
        self.kernel.forget()
        assert self.errors == []

    def load(self, *, own_clock: bool = False) -> None:
        """Load the page, or load it again: its outputs are then shown again.

        Args:
            own_clock: Whether its timers run by `page.clock`, and can be hurried.
        """
        if own_clock:
            self._spoilt = True
            self.page.clock.install()
        self.page.goto(self.kernel.address)
        expect(self.page.locator("html")).to_have_attribute("data-open", "")

    def ask_again(self) -> None:
        """Hurry its own clock until it asks again, once its first word was lost."""
        self.kernel.wait_until_lost()
        expect(self.page.locator(".nbt")).to_be_attached()
        self.page.clock.fast_forward(POLL_MS)

    def show(self, shown: object) -> Locator:
        """Shows an object in a new cell: the panel of a run, or its picture once it has ended."""
        return self._cell(lambda: display(shown))

    def panel(self, run: nbtrain.Run) -> Locator:
        """The panel of a run, in a new cell."""
        return self.show(run).locator(".nbt")

    def line(self, text: str) -> Locator:
        """Runs `%nbtrain text` in a new cell."""
        return self._cell(lambda: self._shell.run_line_magic("nbtrain", text))

    def _cell(self, act: Any) -> Locator:
        self.kernel.cell += 1
        act()
        return self.page.locator(f"#cell-{self.kernel.cell}")

    def theme(self, name: str) -> None:
        """Change the theme: "light" or "dark"."""
        self.page.evaluate("light => (document.body.dataset.jpThemeLight = light)", name == "light")


def click(panel: Locator, command: str) -> None:
    panel.locator(f"[data-command={command}]").click()


def receipt(panel: Locator, text: str) -> str:
    """The receipt line, once it says `text`."""
    line = panel.locator("[data-role=receipt]")
    expect(line).to_contain_text(text)
    return line.inner_text()


def phase(panel: Locator, word: str) -> None:
    """Wait until the panel shows this phase."""
    expect(panel.locator("[data-role=phase]")).to_contain_text(word)


def step_of(panel: Locator) -> int:
    return int(panel.get_attribute("data-step") or -1)


def in_text(text: str) -> int:
    """The step that a receipt names."""
    found = re.search(r"\(step ([\d,]+)\)", text)
    assert found, text
    return int(found.group(1).replace(",", ""))


def wait_for_step(panel: Locator, step: int) -> None:
    panel.page.wait_for_function(
        "([panel, step]) => Number(panel.dataset.step ?? 0) >= step",
        arg=[panel.element_handle(), step],
    )


COLOURED = """\
canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && Math.abs(data[i] - data[i + 2]) > 60) count++;
  return count;
}"""


def wait_until_coloured(canvas: Locator) -> None:
    """Wait until pixels of a chart are of a colour: its curves."""
    expect(canvas).to_be_visible()
    canvas.page.wait_for_function(
        f"canvas => ({COLOURED})(canvas) > 50", arg=canvas.element_handle()
    )


def see_curve(panel: Locator) -> None:
    """Wait until the loss of a panel has its curve."""
    wait_until_coloured(panel.locator("[data-tag=loss] canvas"))


def silent(panel: Locator) -> None:
    """Wait until the panel says that it hears nothing, and see that nothing can be clicked."""
    words = panel.locator("[data-role=silence]")
    expect(words).to_contain_text(re.compile(r"No word from the kernel since \d\d:\d\d:\d\d"))
    expect(panel.locator("[data-role=phase]")).to_have_text(re.compile("was running|was stopping"))
    expect(panel.locator(".nbt-buttons :is(button, select):enabled")).to_have_count(0)
    see_curve(panel)
