"""Every command in every phase: done, or refused in words; and what comes between the two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nbtrain
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.gate import SOON, Gate
from tests.models import applied
from tests.training.tried import Tried

COMMANDS: dict[str, Callable[[Run], Receipt]] = {
    "pause": Run.pause,
    "resume": Run.resume,
    "save": Run.save,
    "restore": Run.restore,
    "set": lambda run: run.set(rate=0.25),
    "evaluate": Run.evaluate,
    "try": lambda run: run.trial(rate=0.25, steps=1),
    "stop": Run.request_stop,
}
DONE = {
    "pause": "paused",
    "resume": "running again",
    "save": "saved ckpt-",
    "restore": "restored ckpt-1: ",
    "set": "rate 0.5 → 0.25",
    "evaluate": "val_loss 0.5, val_accuracy 1",
    "try": "kept rate 0.25: val_loss 0.5 → 0.25",
    "stop": "stopping",
}
RUNNING = {**DONE, "resume": "Cannot resume while running; possible now: pause, stop."}
PAUSED = {**DONE, "pause": "Cannot pause while paused; possible now: resume, stop."}
STOPPING = {
    "pause": "Cannot pause while stopping; possible now: nothing.",
    "resume": "Cannot resume while stopping; possible now: nothing.",
    "save": "saved ckpt-",
    "restore": "Cannot restore while stopping; start the run again to continue.",
    "set": "Cannot set while stopping; start the run again to continue.",
    "evaluate": "Cannot evaluate while stopping; start the run again to continue.",
    "try": "Cannot try while stopping; start the run again to continue.",
    "stop": "stopping",
}
EXPECTED = {
    Phase.CREATED: dict.fromkeys(COMMANDS, "the run has not been started"),
    Phase.PREPARING: RUNNING,
    Phase.RUNNING: RUNNING,
    Phase.PAUSED: PAUSED,
    Phase.STOPPING: STOPPING,
    Phase.STOPPED: {
        **dict.fromkeys(COMMANDS, "the run has ended"),
        "save": "saved ckpt-1",
        "restore": "restored ckpt-1: ",
    },
}
REFUSALS = ("Cannot ", "the run has ")


class Held:
    """A run with a checkpoint of its first step, in a phase that it stays in until `let_go`."""

    def __init__(self, phase: Phase) -> None:
        self.begun, self.step = Gate(), Gate()
        tried = Tried(self.step)

        def loop(run: Run) -> None:
            self.begun()
            while not run.should_stop():
                run.record(tried.step())

        self.run: Run = nbtrain.background(
            loop,
            checkpoint=tried.checkpoint,
            hyperparameters={"rate": tried.rate},
            evaluate=tried.evaluate,
            name="run",
            start=False,
        )
        if phase is not Phase.CREATED:
            self._live_once()
            if phase is not Phase.STOPPED:
                self._come_to(phase)
        assert self.run.status.phase is phase

    def _live_once(self) -> None:
        self.run.start()
        self.begun.allow(1)
        self.step.wait_for_arrivals()
        saved, stop = self.run.save(), self.run.request_stop()
        self.step.allow(1)
        applied(saved)
        applied(stop)
        self.run.wait(SOON)

    def _come_to(self, phase: Phase) -> None:
        self.run.start()
        if phase is Phase.PREPARING:
            return
        self.begun.allow(1)
        self.step.wait_for_arrivals()
        if phase is Phase.PAUSED:
            pause = self.run.pause()
            self.step.allow(1)
            applied(pause)
        if phase is Phase.STOPPING:
            self.run.request_stop()

    def let_go(self) -> None:
        """From here on it comes to its boundaries."""
        self.begun.open()
        self.step.open()

    def end(self) -> None:
        """Stop it, if it was started."""
        self.let_go()
        self.run.request_stop()
        if self.run.status.phase is not Phase.CREATED:
            self.run.wait(SOON)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("phase", EXPECTED)
def test_a_command_is_done_or_refused_in_words(phase: Phase, command: str) -> None:
    held = Held(phase)
    receipt = COMMANDS[command](held.run)
    if command == "try" and phase is Phase.PAUSED:
        held.run.resume()
    held.let_go()
    outcome, expected = receipt.wait(SOON), EXPECTED[phase][command]
    held.end()
    if outcome.text.startswith("stopped, saved as"):  # the run has ended since
        expected = expected.replace("stopping", "stopped")
    assert outcome.text.startswith(expected), outcome
    assert outcome.applied is not expected.startswith(REFUSALS)


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.RUNNING, Phase.PAUSED])
def test_commands_are_done_in_the_order_in_which_they_were_asked_for(phase: Phase) -> None:
    """An edit while a restore waits is not lost to it, nor a save before one."""
    held = Held(phase)
    run = held.run
    receipts = [run.set(rate=0.25), run.save(), run.set(rate=0.125), run.restore(), run.set(rate=2)]
    held.let_go()
    texts = [applied(receipt).text for receipt in receipts]
    held.end()
    assert texts[0] == "rate 0.5 → 0.25"
    assert texts[2] == "rate 0.25 → 0.125"
    assert texts[3].startswith(texts[1].replace("saved", "restored"))
    assert texts[4] == "rate 0.25 → 2"
