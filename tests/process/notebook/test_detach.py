"""`%%nbtrain --detach`, in a real IPython: a cell becomes a program in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from IPython.core.error import UsageError

from nbtrain.core.errors import ArgumentError, RunFailedError
from nbtrain.core.states import Phase
from nbtrain.remote.attached import AttachedRun
from tests.gate import SOON, eventually
from tests.models import applied
from tests.shells import own_shell

LOOP = "while not run.should_stop():\n    run.record(rate=rate.read_value())\n"


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A shell with the extension loaded, which ends the process of its run."""
    with own_shell(tmp_path_factory.mktemp("ipython")) as shell:
        shell.run_line_magic("load_ext", "nbtrain")
        shell.run_cell("import tensorflow as tf", store_history=True)
        shell.run_cell("rate = tf.Variable(0.5)", store_history=True)
        shell.run_cell("%precision 3", store_history=True)
        yield shell
        run = shell.user_ns.get("run")
        if isinstance(run, AttachedRun):
            run.close()
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(run.sign.writer.process).kill()


def detach(shell: Any, options: str, cell: str) -> Any:
    """Returns the result of `%%nbtrain --detach options`."""
    return shell.run_cell_magic("nbtrain", f"--detach {options}", cell)


def test_the_loop_of_a_run_trains_in_a_process_of_its_own(shell: Any) -> None:
    options = "--with 1-2 --name far --hyperparameters '{\"rate\": rate}' --save-steps 50 "
    options += "--checkpoint 'tf.train.Checkpoint(rate=rate)'"
    run = detach(shell, options, f"print('begun')\n{LOOP}print('over')\n")
    assert shell.user_ns["run"] is run
    assert run.logdir == Path.cwd() / "runs" / "far"
    eventually(lambda: run.status.phase is Phase.RUNNING)
    assert applied(run.set(rate=0.25)).edits[0].new == 0.25
    eventually(lambda: run.scalars["rate"].values[-1] == 0.25 if "rate" in run.scalars else False)
    applied(run.request_stop())
    assert run.wait(SOON).status.phase is Phase.STOPPED
    assert run.checkpoints
    assert shell.user_ns["rate"].numpy() == 0.5, "the notebook's own"
    log = run.logdir / "log.txt"
    eventually(lambda: "begun\n" in log.read_text() and log.read_text().endswith("over\n"))


def test_a_cell_that_starts_its_run_itself_is_the_program(shell: Any) -> None:
    shell.run_cell("words = 'first'", store_history=True)
    Path("beside.py").write_text("second = 'second'")
    run = detach(shell, "--with 4", "from beside import second\nprint(words, second)")
    with pytest.raises(RunFailedError, match=r"before it started a run.*first second"):
        run.wait(SOON)
    program = (run.logdir / "script.py").read_text()
    assert run.logdir == Path.cwd() / "runs" / "cell-1"
    assert program.startswith("# In [4]\nwords = 'first'\n")
    assert "run.wait()" in program


@pytest.mark.parametrize(
    ("options", "cell", "text"),
    [
        ("--with 1-3", LOOP, "Line 1 of cell 3 is not Python: %precision 3"),
        (
            "",
            "x = 1\n!ls",
            "Line 2 of the cell is not Python: !ls\n.*work only in IPython, not in a program",
        ),
        ("", "x = = 1", "Line 1 of the cell is not Python: x = = 1"),
        ("--with 7", LOOP, "there is no cell 7; cells 1 to 3 were executed"),
        ("--with a", LOOP, "give the numbers of cells, such as 1-3,5"),
        ("--steps 3", "print()", "steps=3: only the loop of a run has"),
    ],
)
def test_a_cell_that_is_no_program_is_refused_and_leaves_no_folder(
    shell: Any, options: str, cell: str, text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        detach(shell, options, cell)
    assert not Path("runs").exists()
    assert "run" not in shell.user_ns


def test_an_option_that_a_run_cannot_have_is_refused(shell: Any) -> None:
    with pytest.raises(UsageError, match="steps=-1") as refused:
        detach(shell, "--with 1-2 --steps -1", LOOP)
    assert isinstance(refused.value.__cause__, ArgumentError)
    assert not Path("runs").exists()


def test_cells_are_named_for_a_program_only(shell: Any) -> None:
    with pytest.raises(UsageError, match="--with needs --detach"):
        shell.run_cell_magic("nbtrain", "--with 1", LOOP)
