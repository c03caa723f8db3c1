"""A loop in the foreground: in a cell of a real kernel, in a script, and at the end of both."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from jupyter_client.manager import start_new_kernel

import nbtrain
from nbtrain.checkpoints.files import listed
from tests import ROOT
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.kernels import forked_kernels
from tests.leaving import IS_KNOWN, failure
from tests.on_disk import journal
from tests.process.terminals import Terminal

pytestmark = pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings

FIRST = """\
import threading, time, nbtrain, tensorflow as tf
never = threading.Event()
def held():
    return tf.train.Checkpoint(weight=tf.Variable(0.0))
"""

Told = list[tuple[str, str]]
During = Callable[[Told], object]


class Kernel:
    """A kernel, and what it shows.

    Attributes:
        updates: The HTML that has replaced outputs of the last cell.
    """

    def __init__(self, folder: Path) -> None:
        environment = dict(os.environ, PYTHONPATH=str(ROOT))
        self.manager, self.client = start_new_kernel(
            kernel_name="python3", cwd=str(folder), env=environment
        )
        self.folder = folder
        self.updates: list[str] = []

    def execute(self, source: str, during: During = lambda _told: None) -> Told:
        """Returns the kinds and texts of a cell's outputs, each printed line by itself.

        Args:
            during: Called after each.
        """
        told: Told = []
        self.updates = []
        part = ""  # a message may end within a line

        def keep(message: Any) -> None:
            nonlocal part
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    *lines, part = (part + content["text"]).split("\n")
                    for line in lines:
                        told.append(("print", line))
                        during(told)
                    return
                case "display_data":
                    told.append(("display", " ".join(content["data"])))
                case "update_display_data" if "text/html" in content["data"]:
                    self.updates.append(content["data"]["text/html"])
                    return
                case "error":
                    text = "\n".join(content["traceback"])
                    told.append(("error", re.sub(r"\x1b\[[0-9;]*m", "", text)))
                case "comm_open":
                    told.append(("comm", content["comm_id"]))
                case _:
                    return
            during(told)

        self.client.session.metadata = {"cellId": "a cell"}
        self.client.execute_interactive(source, output_hook=keep, timeout=SOON)
        return told

    def printed(self, source: str) -> str:
        """Returns what a cell prints."""
        return "\n".join(text for kind, text in self.execute(source) if kind == "print")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel of JupyterLab."""
    with forked_kernels():
        kernel = Kernel(tmp_path_factory.mktemp("foreground"))
        kernel.execute(FIRST)
        yield kernel
        kernel.client.stop_channels()
        kernel.manager.shutdown_kernel(now=True)


class Once:
    """Does something once a cell has printed "go"."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._done = False

    def __call__(self, told: Told) -> None:
        if told[-1] == ("print", "go") and not self._done:
            self._done = True
            self._act()


LOOP = """\
run = nbtrain.track(range(1000), name={name!r}, checkpoint=held())
for number in run:
    run.record(number=number)
    never.wait(0.01)
    if number == 3:
        print("go")
print("after", run.status.phase, run.checkpoints[-1].step == run.status.step)"""


def test_the_panel_is_shown_before_the_first_step(kernel: Kernel) -> None:
    told = kernel.execute(
        "for number in nbtrain.track(range(3), name='shown'):\n    print('step')\nprint('after')"
    )
    shown = [(kind, text) for kind, text in told if kind != "comm"]
    assert [kind for kind, _ in shown[:4]] == ["display", "display", "display", "print"]
    assert "application/vnd.jupyter.widget-view+json" in shown[0][1]
    assert " ".join(text for _, text in shown[3:]).split() == ["step", "step", "step", "after"]
    assert kernel.printed("print(nbtrain.runs()['shown'].status.phase)") == "finished"


def test_a_click_reaches_the_loop_while_its_cell_runs(kernel: Kernel) -> None:
    """By the subshell of the panel: the main thread of the kernel is the training thread."""
    kernel.execute("for _ in nbtrain.track(range(1), name='first'):\n    pass")
    subshell = kernel.printed("from nbtrain.panel import comm\nprint(*comm._subshells.values())")
    comms: list[str] = []

    def click() -> None:
        data = {"method": "custom", "content": {"t": "cmd", "id": "c1", "command": "stop"}}
        message = kernel.client.session.msg("comm_msg", {"comm_id": comms[-1], "data": data})
        message["header"]["subshell_id"] = subshell
        kernel.client.shell_channel.send(message)

    def during(told: Told) -> None:
        comms.extend(text for kind, text in told[-1:] if kind == "comm")
        once(told)

    once = Once(click)
    told = kernel.execute(LOOP.format(name="clicked"), during)
    assert ("print", "after stopped True") in told


def test_a_run_of_a_busy_cell_is_steered_from_another_process(kernel: Kernel) -> None:
    answers: list[Any] = []

    def steer() -> None:
        far: Any = nbtrain.attach(kernel.folder / "runs" / "steered")
        answers.append(far.pause().wait(SOON))
        answers.append(far.save().wait(SOON))
        far.resume().wait(SOON)
        answers.append(far.request_stop().wait(SOON))
        far.close()

    thread = threading.Thread(target=steer)
    told = kernel.execute(LOOP.format(name="steered"), Once(thread.start))
    thread.join()
    assert [answer.applied for answer in answers] == [True] * 3
    assert ("print", "after stopped True") in told


def test_the_interrupt_of_the_notebook_stops_the_loop_and_the_cell_goes_on(kernel: Kernel) -> None:
    told = kernel.execute(LOOP.format(name="interrupted"), Once(kernel.manager.interrupt_kernel))
    assert ("print", "after stopped True") in told
    assert "A second interrupt ends the loop at once" in "".join(text for _, text in told)


def test_a_second_interrupt_ends_the_cell(kernel: Kernel) -> None:
    def during(told: Told) -> None:
        once(told)
        if "second interrupt" in told[-1][1]:
            kernel.manager.interrupt_kernel()

    once = Once(kernel.manager.interrupt_kernel)
    loop = "for number in nbtrain.track(range(9), name='twice'):\n    print('go'); time.sleep(99)"
    kind, text = kernel.execute(loop, during)[-1]
    assert kind == "error"
    assert text.endswith("KeyboardInterrupt: ")
    assert kernel.printed("print(nbtrain.runs()['twice'].status.phase)") == "stopped"


def test_an_error_shows_the_line_of_the_user_alone(kernel: Kernel) -> None:
    loop = "for number in nbtrain.track(range(9), name='failed'):\n    1 / number"
    kind, text = kernel.execute(loop)[-1]
    assert kind == "error"
    assert kernel.updates
    assert not any("Traceback" in html for html in kernel.updates)
    assert "----> 2     1 / number" in text
    assert text.count("---->") == 1
    assert "nbtrain/" not in text
    told = kernel.printed("print(nbtrain.runs()['failed'].status.failure)")
    assert failure("ZeroDivisionError: division by zero").fullmatch(told)


def test_a_loop_that_the_traceback_of_its_error_holds_ends_with_the_cell(kernel: Kernel) -> None:
    loop = """\
def train(batches):
    for _, number in batches:
        1 / number
train(enumerate(nbtrain.track(range(9), name='held')))"""
    assert kernel.execute(loop)[-1][0] == "error"
    told = kernel.printed("print(nbtrain.runs()['held'].status.failure)")
    assert told == "ZeroDivisionError: division by zero"


# --- scripts --------------------------------------------------------------------------


def looped(pipe: Connection, name: str, until: int | None = None) -> nbtrain.Run:
    """Trains by a loop; tells when it has done four steps."""
    weight = tf.Variable(0.0)
    held = tf.train.Checkpoint(weight=weight)
    run = nbtrain.track(range(until or 10**6), name=name, checkpoint=held, save_secs=None)
    wait = threading.Event().wait
    for number in run:
        weight.assign_add(1.0)
        run.record(weight=weight.read_value())
        if number == 3:
            pipe.send("trains")
        wait(0.0 if until else 0.01)
    return run  # type: ignore[no-any-return]


def shows(pipe: Connection) -> None:
    terminal = Terminal(40, 120)
    looped(pipe, "line", 5)
    pipe.send(terminal.shown())


def test_a_script_shows_the_line_of_its_loop() -> None:
    with Forked(shows) as child:
        assert child.answer() == "trains"
        line = child.answer()
    assert re.search(r"line: 100%\|█+\| 5/5 \[.* steps/s, finished, weight 5\]", line), line


def pressed(pipe: Connection) -> None:
    run = looped(pipe, "pressed")
    pipe.send((str(run.status.phase), run.status.step))


def test_ctrl_c_stops_the_loop_of_a_script_which_goes_on() -> None:
    with Forked(pressed) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGINT)
        phase, step = child.answer()
    assert phase == "stopped"
    assert listed(Path("runs/pressed/checkpoints"))[-1].step == step


def test_sigterm_saves_the_loop_and_ends_the_script() -> None:
    with Forked(pressed, finalize=True) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM, child.err
    (checkpoint,) = listed(Path("runs/pressed/checkpoints"))
    assert [entry["step"] for entry in journal(Path("runs/pressed"), "stopped")] == [
        checkpoint.step
    ]


def handles(pipe: Connection) -> None:
    def on_term(_number: int, _frame: object) -> None:
        pipe.send([held.step for held in listed(Path("runs/handled/checkpoints"))])

    signal.signal(signal.SIGTERM, on_term)
    run = looped(pipe, "handled")
    pipe.send((str(run.status.phase), run.status.step))


def test_the_handler_of_a_program_is_called_once_its_loop_has_saved() -> None:
    with Forked(handles) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        (saved,) = child.answer()
        child.signal(signal.SIGINT)
        phase, step = child.answer()
    assert phase == "stopped"
    assert 4 <= saved < step


def stuck(pipe: Connection) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    wait = threading.Event().wait
    for number in nbtrain.track(range(9), name="stuck", checkpoint=held, grace=0.5):
        if number == 3:
            pipe.send("trains")
            wait()


def test_a_step_that_does_not_end_is_given_up_after_the_grace() -> None:
    with Forked(stuck, finalize=True) as child:
        assert child.answer() == "trains"
        child.signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM
        assert "the run 'stuck' has not saved step 3" in child.err


def leaves_open(pipe: Connection) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    global open_loop
    open_loop = iter(nbtrain.track(range(9), name="open", checkpoint=held))
    pipe.send([next(open_loop) for _ in range(4)])


open_loop: Iterator[int]


def test_a_loop_that_is_open_at_the_end_of_a_script_is_saved_and_goes_on() -> None:
    with Forked(leaves_open, finalize=True) as child:
        assert child.answer() == [0, 1, 2, 3]
        assert child.wait() == 0, child.err
    assert [held.step for held in listed(Path("runs/open/checkpoints"))] == [3]
    (entry,) = journal(Path("runs/open"), "stopped")
    assert entry["step"] == 3


def fails(pipe: Connection) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    for number in nbtrain.track(range(9), name="fails", checkpoint=held):
        if number == 3:
            sys.exit(3)


def test_a_script_that_exits_within_its_loop_ends_with_its_own_status() -> None:
    with Forked(fails, finalize=True) as child:
        assert child.wait() == 3
    assert [held.step for held in listed(Path("runs/fails/checkpoints"))] == [3]
    assert len(journal(Path("runs/fails"), "stopped" if IS_KNOWN else "failed")) == 1


IN_A_MODULE = """
import nbtrain, tensorflow as tf
held = tf.train.Checkpoint(weight=tf.Variable(0.0))
for epoch in (run := nbtrain.track(range(9), name="module", checkpoint=held)):
    for number in run.track(range(3)):
        1 / (number - epoch)
"""


def test_an_error_in_the_module_of_a_script_ends_its_loop_and_saves() -> None:
    """The module of a script has no frame around it, which would show the error."""
    ended = subprocess.run(
        [sys.executable, "-c", IN_A_MODULE], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "has not saved" not in ended.stderr
    (entry,) = journal(Path("runs/module"), "failed")
    assert failure("ZeroDivisionError: division by zero").fullmatch(entry["text"])


def killed(pipe: Connection) -> None:
    weight = tf.Variable(0, dtype=tf.int64)
    held = tf.train.Checkpoint(weight=weight)
    data = tf.data.Dataset.range(40).shuffle(40, seed=1)
    run = nbtrain.track(range(3), name="killed", checkpoint=held, save_steps=7)
    for _ in run:
        for row in run.track(data):
            weight.assign(31 * weight % 1_000_003 + row)
            pipe.send(run.status.step)
            if run.status.step == 60:
                pipe.recv()
    pipe.send(("sum", int(weight)))


def last_sent(child: Forked) -> Any:
    """The sum that a child sends last."""
    while not isinstance(answer := child.answer(), tuple):
        pass
    return answer[1]


def test_a_killed_loop_goes_on_from_its_last_checkpoint() -> None:
    with Forked(killed) as child:
        eventually(lambda: child.answer() == 60)
        child.kill()
    assert listed(Path("runs/killed/checkpoints"))[-1].step == 56
    with Forked(killed) as child:
        child.send("go on")
        again = last_sent(child)
    with Forked(killed, folder=Path("runs")) as child:
        child.send("go on")
        assert again == last_sent(child)
    assert len(journal(Path("runs/killed"), "finished")) == 1
