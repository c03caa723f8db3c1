"""The panel of a lively run with every section open, and what its page holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from playwright.sync_api import Locator, expect

from nbtrain.panel.live.panel import Panel
from tests.gate import eventually
from tests.page.bare import BarePage
from tests.page.panel.lively import MEDIA, SYSTEM, TAGS, Lively

SECTIONS = ("media", "tasks", "machine", "log")

# Counts the addresses of blobs that a page has made and not given back.
BLOBS = """\
window.blobs = new Set();
const [make, revoke] = [URL.createObjectURL, URL.revokeObjectURL];
URL.createObjectURL = (blob) => { const url = make(blob); window.blobs.add(url); return url; };
URL.revokeObjectURL = (url) => { window.blobs.delete(url); revoke(url); };
"""


@dataclass(frozen=True, slots=True)
class Held:
    """The counts of a page after its garbage is collected.

    Attributes:
        heap: Bytes of JavaScript.
        nodes: Nodes of all documents.
        listeners: Listeners of events.
        blobs: Addresses of blobs.
        canvases: Canvases in the document.
    """

    heap: int
    nodes: int
    listeners: int
    blobs: int
    canvases: int

    def counts(self) -> dict[str, int]:
        """All of them, by their names."""
        return asdict(self)


class OpenedPanel:
    """A panel that shows one second of its run after another, as fast as the page can.

    Args:
        page: Its page; its timers run by the clock of the test.
        folder: The folder of the event files of the run.
    """

    def __init__(self, page: BarePage, folder: Path) -> None:
        self.run = Lively(folder)
        self.run.go_on(pictures=True)  # the first message has something of every section
        self._page = page.page
        self._page.add_init_script(BLOBS)
        page.load(own_clock=True)
        self._probe = self._page.context.new_cdp_session(self._page)
        self._panel = Panel(self.run, clock=lambda: float(self.run.now))
        self.root: Locator = page.show(self._panel).locator(".nbt")
        expect(self.root).to_be_visible()
        eventually(self._is_shown)
        self._open()

    def _open(self) -> None:
        self.root.get_by_role("button", name="more charts").click()
        for section in SECTIONS:
            self.root.locator(f".nbt-{section} > summary").click()
        self.pass_second()
        expect(self.root.locator(".nbt-media .nbt-card")).to_have_count(MEDIA)
        expect(self.root.locator(".nbt-machine .nbt-chart")).to_have_count(len(SYSTEM))
        charts = self.root.locator(".nbt-charts").first
        expect(charts.locator("canvas:visible")).to_have_count(len(TAGS))

    def pass_second(self, *, pictures: bool = False) -> None:
        """Lets the run train for a second, and the page draw it."""
        self.run.go_on(pictures=pictures)
        self._page.clock.fast_forward(1000)
        eventually(self._is_shown)

    def _is_shown(self) -> bool:
        """Ticks; returns whether the page shows the present step. Its hello may come only now."""
        self._panel.tick()
        self._page.clock.fast_forward(100)
        return self.root.get_attribute("data-step") == str(self.run.step)

    def _steps_of_cards(self) -> set[str]:
        cards = self.root.locator(".nbt-card")
        return set(cards.evaluate_all("cards => cards.map((card) => card.dataset.step)"))

    def held(self) -> Held:
        """Counts what is there once the newest media are shown and garbage is collected."""
        self.pass_second(pictures=True)
        eventually(lambda: self._is_shown() and self._steps_of_cards() == {str(self.run.step)})
        self._probe.send("HeapProfiler.enable")
        for _ in range(3):  # what a finalizer lets go is collected by the next
            self._probe.send("HeapProfiler.collectGarbage")
        heap = self._probe.send("Runtime.getHeapUsage")["usedSize"]
        counted = self._probe.send("Memory.getDOMCounters")
        blobs = self._page.evaluate("() => window.blobs.size")
        canvases = self._page.locator("canvas").count()
        self._probe.send("HeapProfiler.disable")
        return Held(int(heap), counted["nodes"], counted["jsEventListeners"], blobs, canvases)
