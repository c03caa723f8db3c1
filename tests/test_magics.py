"""The magics, in a real IPython: parse a line, call the run, show the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import nbtrain
from nbtrain.states import Phase
from tests.gate import SOON
from tests.models import Counter, applied, reached

LOOP = """
while not run.should_stop():
    run.record(loss=1.0)
"""


@pytest.fixture(scope="module")
def ipython(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A shell with the extension loaded, its profile in a folder of its own."""
    before = os.environ.get("IPYTHONDIR")
    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "nbtrain")
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()
    os.environ.pop("IPYTHONDIR")
    if before is not None:
        os.environ["IPYTHONDIR"] = before


@pytest.fixture
def shell(ipython: Any) -> Any:
    """The shell with an empty namespace."""
    ipython.reset(new_session=False)
    ipython.user_ns["tf"] = tf
    return ipython


def line(shell: Any, text: str) -> Any:
    """What `%nbtrain text` gives."""
    return shell.run_line_magic("nbtrain", text)


def cell(shell: Any, options: str, body: str = LOOP) -> nbtrain.Run:
    """The run that a cell `%%nbtrain options` starts."""
    run = shell.run_cell_magic("nbtrain", options, body)
    assert isinstance(run, nbtrain.Run)
    return run


def ended(run: nbtrain.Run) -> nbtrain.Run:
    """The run, stopped."""
    run.request_stop()
    return run.wait(SOON)


# --- the cell -------------------------------------------------------------------


def test_a_cell_runs_in_the_background_as_the_loop_of_a_run(shell: Any) -> None:
    run = cell(shell, "--name mine --steps 20", "import math\n" + LOOP + "\ndone = math.pi\n")
    assert shell.user_ns["run"] is run
    assert nbtrain.runs() == {"mine": run}
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["loss"].steps.tolist() == list(range(1, 21))
    assert shell.user_ns["done"] == shell.user_ns["math"].pi, "its names are the notebook's"


def test_a_cell_without_options_gets_a_numbered_name(shell: Any) -> None:
    assert ended(cell(shell, "")).name == "loop-1"
    assert ended(cell(shell, "")).name == "loop-2"


def test_a_cell_takes_every_option(shell: Any, tmp_path: Path) -> None:
    counter = Counter()
    shell.user_ns["counter"] = counter
    run = cell(
        shell,
        "--name a --logdir 'my runs/a' --steps 30 --checkpoint counter.checkpoint "
        "--save-steps 10 --save-secs 0 --keep 2",
        "while not run.should_stop(): run.record(counter.step())",
    ).wait(SOON)
    assert run.logdir == tmp_path / "my runs" / "a"
    assert [checkpoint.step for checkpoint in run.checkpoints] == [20, 30]


def test_a_checkpoint_may_be_any_expression(shell: Any) -> None:
    shell.user_ns["v"] = tf.Variable(1.0)
    run = cell(shell, "--steps 3 --checkpoint 'tf.train.Checkpoint(v=v)'").wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [3]


def test_a_cell_sees_its_own_run_whatever_the_notebook_calls_run(shell: Any) -> None:
    first = cell(shell, "--name first", LOOP.replace("loss", "one"))
    reached(first, lambda run: run.status.step > 0)
    second = cell(shell, "--name second", LOOP.replace("loss", "two"))
    assert shell.user_ns["run"] is second
    ended(second)
    shell.user_ns["run"] = None
    step = first.status.step
    reached(first, lambda run: run.status.step > step)
    ended(first)
    assert (list(first.scalars), list(second.scalars)) == (["one"], ["two"])


def test_a_function_of_the_cell_sees_run_too(shell: Any) -> None:
    body = "def go():\n    while not run.should_stop():\n        run.record(loss=1.0)\ngo()\n"
    assert cell(shell, "--steps 5", body).wait(SOON).status.step == 5


def test_magics_and_shell_syntax_work_in_the_cell(shell: Any) -> None:
    run = cell(shell, "--steps 1", "%timeit -n1 -r1 -q 1\n" + LOOP).wait(SOON)
    assert run.status.phase is Phase.FINISHED


def test_an_error_in_the_cell_shows_the_cells_own_line(shell: Any) -> None:
    body = "while not run.should_stop():\n    raise ValueError('my mistake')  # here\n"
    run = cell(shell, "", body)
    with pytest.raises(ValueError, match="my mistake"):
        run.wait(SOON)
    assert "raise ValueError('my mistake')  # here" in (run.status.error or "")


def test_a_cell_that_cannot_be_compiled_starts_nothing(shell: Any) -> None:
    shell.user_ns["run"] = "mine"
    with pytest.raises(SyntaxError):
        cell(shell, "--name broken", "while not run.should_stop()\n")
    assert nbtrain.runs() == {}
    assert shell.user_ns["run"] == "mine"
    assert not Path("runs").exists()


def test_a_refused_cell_leaves_run_as_it_was(shell: Any) -> None:
    first = cell(shell, "--name mine")
    with pytest.raises(UsageError, match="held by the run 'mine' in this kernel"):
        cell(shell, "--name mine")
    assert shell.user_ns["run"] is first
    ended(first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--steps -1", "steps=-1: give a whole number of at least 1"),
        ("--steps many", "argument --steps: invalid int value: 'many'"),
        ("--color red", "unrecognized arguments: --color red"),
        ("--keep 0", "keep=0"),
        ("--name a/b", "name='a/b' cannot name a folder"),
        ("--checkpoint 3", r"checkpoint=int object: give tf\.train\.Checkpoint"),
    ],
)
def test_a_wrong_option_is_an_error_of_the_cell_and_starts_nothing(
    shell: Any, options: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        cell(shell, options)
    assert nbtrain.runs() == {}
    assert "run" not in shell.user_ns


def test_a_wrong_line_says_how_it_is_used(shell: Any) -> None:
    with pytest.raises(UsageError, match=r"usage: %%nbtrain \[-h\] \[--name NAME\]"):
        cell(shell, "--color red")
    with pytest.raises(UsageError, match=r"usage: %nbtrain"):
        line(shell, "explode")


# --- the line -------------------------------------------------------------------


def test_without_runs_the_list_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    line(shell, "")
    assert capsys.readouterr().out == "No run has been started in this kernel.\n"


@pytest.mark.parametrize("text", ["", "list"])
def test_the_list_has_a_line_for_each_run(
    shell: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        cell(shell, f"--name {name} --steps 1240").wait(SOON)
    assert line(shell, text) is None
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("one · finished · step 1,240 of 1,240 · ")
    assert second.startswith("two · finished · ")


def test_a_run_is_steered_by_name_or_as_the_one_started_last(shell: Any) -> None:
    counter = Counter()
    shell.user_ns["counter"] = counter
    body = "while not run.should_stop(): run.record(counter.step())"
    first = cell(shell, "--name first --checkpoint counter.checkpoint", body)
    second = cell(shell, "--name second")
    applied(line(shell, "pause"))
    assert second.status.phase is Phase.PAUSED
    applied(line(shell, "pause first"))
    assert first.status.phase is Phase.PAUSED
    step = applied(line(shell, "save first")).step
    assert first.checkpoints[-1].step == step
    applied(line(shell, "resume first"))
    assert first.status.phase is Phase.RUNNING
    assert f"restored ckpt-{step}" in applied(line(shell, f"restore first --step {step}")).text
    assert f"restored ckpt-{step}" in applied(line(shell, "restore first")).text
    applied(line(shell, "stop second"))
    applied(line(shell, "stop first"))
    assert line(shell, f"wait first --timeout {SOON}") is first
    assert line(shell, f"wait --timeout {SOON}") is second


def test_a_timeout_waits_for_the_answer(shell: Any) -> None:
    run = cell(shell, "--name mine")
    receipt = line(shell, f"pause --timeout {SOON}")
    assert receipt.outcome is not None
    assert receipt.outcome.applied
    ended(run)


def test_waiting_gives_up_after_its_time(shell: Any) -> None:
    run = cell(shell, "--name mine")
    with pytest.raises(TimeoutError, match="of waiting the run goes on"):
        line(shell, "wait --timeout 0.01")
    ended(run)


@pytest.mark.parametrize("verb", ["pause", "show", "wait", "restore", "stop", "save", "resume"])
def test_an_unknown_run_is_refused_with_those_there_are(shell: Any, verb: str) -> None:
    with pytest.raises(UsageError, match="No run has been started in this kernel"):
        line(shell, verb)
    cell(shell, "--name mine --steps 1").wait(SOON)
    with pytest.raises(UsageError, match=r"There is no run 'yours' .* its runs: 'mine'"):
        line(shell, f"{verb} yours")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explode", "invalid choice: 'explode'"),
        ("pause one two", "unrecognized arguments: two"),
        ("restore --step latest", "invalid int value: 'latest'"),
        ("pause --step 3", "unrecognized arguments: --step"),
    ],
)
def test_a_wrong_line_is_an_error_of_the_cell(shell: Any, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        line(shell, text)


@pytest.mark.parametrize("text", ["-h", "restore -h", "--help"])
def test_help_is_printed_and_the_kernel_lives(
    shell: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line(shell, text) is None
    assert "usage: %nbtrain" in capsys.readouterr().out


def test_the_help_of_the_cell_explains_every_option(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell_magic("nbtrain", "-h", LOOP) is None
    out = capsys.readouterr().out
    for option in ("name", "logdir", "steps", "checkpoint", "save-secs", "save-steps", "keep"):
        assert f"--{option} " in out
    assert nbtrain.runs() == {}


# --- completion -----------------------------------------------------------------


by_tabulator = pytest.mark.filterwarnings("ignore:.*pending deprecation")  # of its own call


def completed(shell: Any, text: str) -> set[str]:
    """What the tabulator offers at the end of a line."""
    return set(shell.complete(text.split(" ")[-1], text, len(text))[1])


@by_tabulator
def test_the_tabulator_offers_the_verbs(shell: Any) -> None:
    verbs = {"list", "show", "pause", "resume", "stop", "save", "restore", "wait"}
    assert verbs <= completed(shell, "%nbtrain ")
    assert {"restore", "resume"} <= completed(shell, "%nbtrain re")
    assert "pause" not in completed(shell, "%nbtrain re")


@by_tabulator
def test_the_tabulator_offers_the_runs_by_name(shell: Any) -> None:
    for name in ("adam", "sgd"):
        cell(shell, f"--name {name} --steps 1").wait(SOON)
    assert {"adam", "sgd"} <= completed(shell, "%nbtrain pause ")
    assert {"adam"} <= completed(shell, "%nbtrain pause a")
    assert "--step" in completed(shell, "%nbtrain restore adam --")


@by_tabulator
def test_the_tabulator_offers_the_options_of_the_cell(shell: Any) -> None:
    assert {"--name", "--steps", "--checkpoint"} <= completed(shell, "%%nbtrain --")


def test_a_question_mark_explains_the_magic(shell: Any) -> None:
    found = shell.object_inspect("%nbtrain")
    assert "Steer the runs of this kernel" in found["docstring"]
