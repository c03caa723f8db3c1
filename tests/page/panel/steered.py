"""The panel of a run that was steered, with every section open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, expect

from nbtrain.core.commands import Save
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Status, Usage
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.ranges import Hyperparameter
from nbtrain.panel.live.panel import Panel
from nbtrain.rundir.journal import Mark
from tests.gate import eventually
from tests.page.bare import BarePage
from tests.page.panel.lively import BEGAN, POINTS, Lively
from tests.page.panel.opened import SECTIONS


class Steered(Lively):
    """A lively run with a validation, hyperparameters, checkpoints and marks.

    Attributes:
        changes: Fields of its status, as a test has set them.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.changes: dict[str, Any] = {}
        steps = np.arange(20 * POINTS)
        for tag in ("loss", "val_loss"):
            self.scalars.extend(tag, steps, BEGAN + steps / POINTS, 1 / (1 + steps))
        for second in range(20):
            self.go_on(pictures=second == 9)
        self.marks.add(Mark("save", 50, BEGAN + 5, "saved ckpt-50"))
        self.marks.add(Mark("nan", 100, BEGAN + 10, "loss is NaN"))

    def answer(self, *, applied: bool) -> None:
        """Answers a save."""
        receipt = Receipt(Save())
        receipt.answer(Outcome(applied, self.step, "saved ckpt-200" if applied else "disk full"))
        self.receipts = [receipt]

    def compare(self) -> None:
        """Ends a trial of three rates."""
        arms = tuple(
            ArmResult(f"learning_rate {rate}", {"learning_rate": rate}, "loss", 1.0, (0.5,))
            for rate in (0.003, 0.01, 0.03)
        )
        self.marks.add(Mark("try", 200, BEGAN + 20, "the choice is yours", kept=False, arms=arms))

    @property
    def status(self) -> Status:
        """The status."""
        tuned = {"learning_rate": 0.003, "dropout": 0.25}
        return replace(
            super().status,
            checkpoints=tuple(
                Checkpoint(step, f"checkpoints/ckpt-{step}", BEGAN + step / POINTS, float(step))
                for step in (50, 200)
            ),
            hyperparameters=tuple(
                Hyperparameter.of(name, value, whole=False) for name, value in tuned.items()
            ),
            evaluates=True,
            tags=("baseline",),
            usage=Usage({}, {"step": 0.7, "input": 0.3}, 0.02, 1.1, 10**9, 10**10),
            **self.changes,
        )


class SteeredPanel:
    """Its panel.

    Args:
        page: The page.
        folder: The folder of the event files of the run.
    """

    def __init__(self, page: BarePage, folder: Path) -> None:
        self.run = Steered(folder)
        self._panel = Panel(self.run)
        self.root: Locator = page.show(self._panel).locator(".nbt")
        self.update()
        for section in SECTIONS:
            self.root.locator(f".nbt-{section} > summary").click()
        for last in (".nbt-media img", ".nbt-machine canvas", ".nbt-log-line"):
            expect(self.root.locator(last).first).to_be_visible()

    def update(self, **changes: Any) -> None:
        """Changes the status of the run, and waits until the page shows it."""
        self.run.changes.update(changes)
        self.run.go_on()

        def arrived() -> bool:
            self._panel.tick()
            return self.root.get_attribute("data-step") == str(self.run.step)

        eventually(arrived)
