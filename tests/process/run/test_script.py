"""A run in a script on a real terminal: its line, and Ctrl-C."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.states import Phase
from tests.forked import Forked, printed
from tests.gate import Gate, eventually
from tests.models import Counter, ticked
from tests.process.terminals import Terminal


def script(
    pipe: Connection, steps: int | None, times: int = 0, size: tuple[int, int] = (40, 100)
) -> None:
    """Trains; without `steps`, the fourth step stands still until the second Ctrl-C."""
    terminal, gate = Terminal(*size), Gate(3)
    counter = Counter(gate)
    run = nbtrain.train(counter.step, steps=steps, checkpoint=counter.checkpoint, name="script")
    gate.wait_for_arrivals(steps or 4)
    if times < 2:
        gate.open()
    threading.Thread(target=press_ctrl_c, args=(times,), daemon=True).start()
    try:
        run.wait()
    except KeyboardInterrupt:
        pipe.send(str(run.status.phase))
        gate.open()
        run.wait()
    pipe.send((str(run.status.phase), run.status.step, terminal.shown()))


def warned_script(pipe: Connection) -> None:
    """Trains with warnings on a terminal, and sends what it shows."""
    terminal = Terminal(40, 100)
    train_warned()
    pipe.send(terminal.shown())


def logged_script(_pipe: Connection) -> None:
    """Trains with warnings while its standard error is a file."""
    sys.stderr = open("log", "w")  # noqa: SIM115 - as long as the process lives
    train_warned()


def train_warned() -> None:
    """Trains with a warning whose number changes, and one that has a stack."""
    gate = Gate(1)
    counter = Counter(gate)
    run = nbtrain.train(counter.step, steps=2, checkpoint=counter.checkpoint, name="script")
    gate.wait_for_arrivals(2)
    for number in range(3):
        run.handle.note("lost", f"Worker 1 was lost {number} s ago.")
        run.handle.note("stack", f"Late by {number} s:\n  File 'a', line 1\n    step()")
        ticked(run)
    gate.open()
    run.wait()


def press_ctrl_c(times: int) -> None:
    """Interrupts the main thread as often as it waits for the end of its run."""
    (run,) = nbtrain.runs().values()
    for phase in (Phase.RUNNING, Phase.STOPPING)[:times]:
        eventually(functools.partial(main_thread_waits, run, phase))
        os.kill(os.getpid(), signal.SIGINT)


def main_thread_waits(run: nbtrain.Run, phase: Phase) -> bool:
    """Returns whether the main thread is in `run.wait()` while the run is in a phase."""
    if run.status.phase is not phase:
        return False
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    return "until_ended" in {entry.name for entry in traceback.extract_stack(frame)}


def test_a_script_shows_a_line_with_its_steps_and_values() -> None:
    with Forked(script, 3) as child:
        phase, step, line = child.answer()
    assert (phase, step) == ("finished", 3)
    assert re.search(r"script: 100%\|█+\| 3/3 \[.* steps/s, finished, count 3\]", line), line


def test_a_terminal_that_does_not_tell_its_size_shows_the_line_too() -> None:
    with Forked(script, 3, 0, (0, 0)) as child:
        _, _, line = child.answer()
    assert re.search(r"script: 100%\|█+\| 3/3 \[", line), line


def test_ctrl_c_stops_the_run_which_saves_and_the_script_goes_on() -> None:
    with Forked(script, None, 1) as child:
        phase, step, line = child.answer()
    assert phase == "stopped"
    assert "script stops after the current step and saves a last checkpoint" in line
    assert listed(Path("runs/script/checkpoints"))[-1].step == step


def test_a_second_ctrl_c_ends_the_wait() -> None:
    with Forked(script, None, 2) as child:
        assert child.answer() == "stopping"
        assert child.answer()[0] == "stopped"


def test_a_warning_is_written_above_the_line_once_with_its_stack() -> None:
    with Forked(warned_script) as child:
        shown = child.answer().replace("\r\n", "\n")
    assert re.findall(r"script: (Worker.*)", shown) == ["Worker 1 was lost 0 s ago."]
    assert "script: Late by 0 s:\n  File 'a', line 1\n    step()\n" in shown
    assert shown.count("Late by") == 1


def test_a_warning_is_a_plain_line_once_where_no_terminal_shows_the_run() -> None:
    printed(logged_script)
    assert Path("log").read_text().splitlines() == [
        "script: Worker 1 was lost 0 s ago.",
        "script: Late by 0 s:",
        "  File 'a', line 1",
        "    step()",
    ]
