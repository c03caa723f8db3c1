"""A run that begins from scratch in the folder of an earlier one, which is moved aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.states import Phase
from tests.gate import SOON, Gate
from tests.models import Counter
from tests.shells import own_shell


def train(**options: Any) -> nbtrain.Run:
    """A run that counts its steps."""
    counter = Counter()
    checkpoint = tf.train.Checkpoint(count=counter.count)

    def step() -> Any:
        return counter.count.assign_add(1)

    return nbtrain.train(step, steps=3, checkpoint=checkpoint, name="digits", **options)


def test_a_fresh_run_begins_at_step_0_and_the_earlier_one_stays_beside_it() -> None:
    first = train().wait(SOON)
    Path("runs/digits/notes.txt").write_text("mine")
    run = train(fresh=True).wait(SOON)
    assert run.status.notice == "The earlier run was moved to runs/digits-before-1."
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 3)
    assert run.scalars["loss"].values.tolist() == [1, 2, 3]
    aside = Path("runs/digits-before-1")
    assert [each.step for each in first.checkpoints] == [3]
    assert (aside / "checkpoints" / "ckpt-3.index").exists()
    assert (aside / "steering.jsonl").read_text().count("finished") == 1
    assert len([*aside.glob("events.out.tfevents.*")]) == 1
    assert sorted(nbtrain.scalars("runs").runs) == ["digits", "digits-before-1"]
    assert Path("runs/digits/notes.txt").read_text() == "mine"


def test_a_fresh_run_starts_although_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir, gone = tmp_path / "runs" / "digits", tmp_path / "gone"
    train(logdir=logdir).wait(SOON)
    run = train(logdir=logdir, fresh=True, start=False)
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    run.start().wait(SOON)
    assert run.status.notice == f"The earlier run was moved to {logdir}-before-1."


def test_each_fresh_run_has_a_number_of_its_own() -> None:
    for _ in range(3):
        train(fresh=True).wait(SOON)
    names = {path.name for path in Path("runs").iterdir()}
    assert names == {"digits", "digits-before-1", "digits-before-2"}


def test_a_fresh_run_that_is_started_again_goes_on() -> None:
    train().wait(SOON)
    run = train(fresh=True).wait(SOON)
    run.start().wait(SOON)
    assert run.status.step == 3
    assert not Path("runs/digits-before-2").exists()


def test_a_refused_start_moves_nothing() -> None:
    gate = Gate()
    held = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(held=held)

    def step() -> Any:
        gate()
        return held.assign_add(1)

    other = nbtrain.train(step, steps=1, checkpoint=checkpoint, name="other")
    train().wait(SOON)
    with pytest.raises(BusyError):
        nbtrain.train(step, steps=1, checkpoint=checkpoint, name="digits", fresh=True)
    gate.open()
    other.wait(SOON)
    assert not Path("runs/digits-before-1").exists()
    assert Path("runs/digits/checkpoints/ckpt-3.index").exists()


def test_a_live_run_is_not_moved() -> None:
    gate = Gate()
    run = nbtrain.background(lambda _run: gate(), name="digits")
    with pytest.raises(BusyError, match="is held by the run 'digits'"):
        train(fresh=True)
    gate.open()
    run.wait(SOON)
    assert not Path("runs/digits-before-1").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fresh": "yes"}, "fresh='yes': give True to begin from scratch"),
        ({"fresh": True, "mirror": "memory://runs"}, "the mirror has one run under this name"),
    ],
)
def test_what_cannot_be_fresh_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        train(**options)


def test_a_cell_may_begin_afresh(tmp_path: Path) -> None:
    train().wait(SOON)
    with own_shell(tmp_path / "ipython") as shell:
        shell.run_cell("%load_ext nbtrain").raise_error()
        cell = "%%nbtrain --name digits --fresh\nfor _ in run.track(range(2)):\n    pass"
        shell.run_cell(cell).raise_error()
        assert nbtrain.runs()["digits"].wait(SOON).status.step == 2
    assert Path("runs/digits-before-1/checkpoints").exists()
