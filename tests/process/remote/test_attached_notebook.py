"""A notebook shows and steers a run of another process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.notebook.completion import candidates
from nbtrain.notebook.display import display_of, state_of
from nbtrain.remote.attached import AttachedRun
from tests.forked import Forked
from tests.gate import SOON, Gate, eventually
from tests.kernels import executed, forked_kernels
from tests.models import Counter
from tests.process.attached import FOLDER, train
from tests.shells import Outputs, own_shell

CELLS = [
    "%load_ext nbtrain\nimport nbtrain",
    "run = nbtrain.attach('runs/far')",
    "%nbtrain pause far",
    "%nbtrain open runs/far",
    "%nbtrain list",
    "_ = run.request_stop()\nrun.wait(60)",
]


@pytest.fixture
def child() -> Iterator[Forked]:
    """A process that trains in `runs/far`."""
    with Forked(train) as child:
        child.answer()
        yield child


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """A shell with the extension loaded."""
    with own_shell(tmp_path / "ipython") as shell:
        shell.display_pub = Outputs(shell)
        shell.run_line_magic("load_ext", "nbtrain")
        yield shell


@pytest.fixture
def run(child: Forked) -> Iterator[AttachedRun]:
    """Its run, attached here."""
    run = nbtrain.attach(FOLDER)
    assert isinstance(run, AttachedRun)
    with run:
        eventually(lambda: run.status.phase is Phase.RUNNING)
        yield run


def line(shell: Any, text: str) -> Any:
    return shell.run_line_magic("nbtrain", text)


def test_a_cell_shows_an_attached_run_like_one_of_its_kernel(child: Forked) -> None:
    with forked_kernels():
        cells = executed(CELLS, Path.cwd())
    _, first, paused, again, listed, last = [cell.outputs for cell in cells]
    assert "application/vnd.jupyter.widget-view+json" not in first[0].data, "it has ended"
    assert any("image/png" in each.data for each in first)
    assert "To see the run again" not in str(first), "only the picture has that line"
    assert "applied at step" in paused[0].data["text/plain"]
    assert any("image/png" in each.data for each in again)
    assert "far  paused" in listed[0].text
    assert last[-1].data == {"text/plain": "nbtrain run: shown in an earlier cell"}


def test_the_magics_find_an_attached_run(shell: Any, run: AttachedRun) -> None:
    assert line(shell, "pause").wait(SOON).text == "paused"
    assert line(shell, "set far rate=0.25").wait(SOON).text == "rate 0.5 → 0.25"
    assert line(shell, "resume far").wait(SOON).applied
    assert candidates(["%nbtrain", "set", "far"], {}) == ["rate="]
    assert "far" in candidates(["%nbtrain", "pause"], {})
    with pytest.raises(UsageError, match="There is no run 'near' in this kernel; its runs: 'far'"):
        line(shell, "pause near")
    line(shell, "stop")
    assert line(shell, "wait far --timeout 60") is run


def test_the_magics_tell_how_to_go_on_with_an_attached_run_that_has_died(
    shell: Any, child: Forked, run: AttachedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line(shell, "save far").wait(SOON).applied
    child.kill()
    eventually(lambda: run.status.phase is Phase.FAILED)
    told = "Start the run again with logdir='runs/far'"
    assert told in line(shell, "pause far").wait(SOON).text
    assert told in line(shell, "save").wait(SOON).text, "there is no other run"
    capsys.readouterr()
    line(shell, "list")
    assert "far  failed" in capsys.readouterr().out
    line(shell, "actions far")
    assert "start it again" in capsys.readouterr().out
    own = nbtrain.train(Counter().step, steps=1, name="own").wait(SOON)
    assert line(shell, "wait") is own, "a run of this kernel comes first"


def test_an_attached_run_that_died_before_it_was_saved_has_nothing_to_restore(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with Forked(partial(train, save_steps=10**9)) as child:
        child.answer()
        run = nbtrain.attach(FOLDER)
        assert isinstance(run, AttachedRun)
        with run:
            eventually(lambda: run.status.phase is Phase.RUNNING)
            child.kill()
            eventually(lambda: run.status.phase is Phase.FAILED)
            line(shell, "actions far")
            nothing = "There is nothing to restore or to undo in far: it has ended (failed)."
            assert nothing in capsys.readouterr().out


def test_open_shows_a_folder_and_attaches_it_once(shell: Any, run: AttachedRun) -> None:
    assert line(shell, "open runs/far") is None
    line(shell, "open runs/far")
    assert line(shell, "pause").wait(SOON).applied, "one run is alive"
    shown = [each for each in shell.display_pub.published if "image/png" in each]
    assert {each["text/plain"] for each in shown} == {"nbtrain run", ""}
    assert candidates(["%nbtrain", "open"], {}, "runs/") == ["runs/far/"]
    with pytest.raises(UsageError, match="There is no folder 'runs/none'"):
        line(shell, "open runs/none")


def test_a_run_of_this_kernel_comes_before_an_attached_one_of_its_name(
    shell: Any, run: AttachedRun
) -> None:
    gate = Gate()
    own = nbtrain.train(Counter(gate).step, name="far", logdir="elsewhere/far")
    try:
        assert display_of(own) is not display_of(run)
        assert display_of(run) is display_of(run)
        gate.open()
        line(shell, "pause far")
        eventually(lambda: own.status.phase is Phase.PAUSED)
        assert run.status.phase is Phase.RUNNING
    finally:
        gate.open()
        own.request_stop()
        own.wait(SOON)
    assert line(shell, "pause far").wait(SOON).applied
    assert run.status.phase is Phase.PAUSED, "the one that lives"


def test_a_run_that_is_followed_no_longer_is_held_by_no_display(run: AttachedRun) -> None:
    shown = display_of(run)
    run.close()
    own = nbtrain.train(Counter().step, steps=1, name="own")
    display_of(own)
    assert not shown.is_of(run)
    own.wait(SOON)


def test_the_picture_of_an_attached_run_says_how_to_go_on(run: AttachedRun) -> None:
    assert state_of(run, "now") == "As of now. To see the run again: nbtrain.attach('runs/far')."
    run.request_stop()
    run.wait(SOON)
    assert state_of(run, "now") == (
        "As of now. To continue the run, start it again with logdir='runs/far'."
    )
