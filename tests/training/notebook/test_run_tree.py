"""The tree of the runs below a folder: of this kernel, of others, and of killed ones."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import nbtrain
from nbtrain.core.commands import Pause
from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.last_step import last_step
from nbtrain.notebook.run_tree import tree
from nbtrain.steer import registry
from nbtrain.terminal.listing import runs_below
from tests.forked import Forked
from tests.gate import SOON, Gate, eventually
from tests.models import Counter, applied, reached
from tests.training.branches import Paced, parent


def words(text: str) -> list[list[str]]:
    """The lines of a table, word by word."""
    return [line.split() for line in text.splitlines()]


def test_the_tree_shows_branches_below_their_parents_and_where_they_begin() -> None:
    run, paced = parent()
    run.branch(10, name="b", pace=5).wait(SOON)
    paced.pace.assign(1)
    run.branch(10, name="c").wait(SOON)
    other = nbtrain.train(Counter().step, steps=3, name="sgd").wait(SOON)
    registry.runs.clear()  # of earlier kernels
    text = tree()
    assert text.splitlines() == [
        "run   phase     step      branch",
        "a     finished  20 of 20",
        "├─ b  finished  20 of 20  from step 10, pace 1 → 5",
        "└─ c  finished  20 of 20  from step 10",
        "sgd   finished  3 of 3",
    ]
    assert tree("runs") == text
    assert words(tree(other.logdir))[1] == ["sgd", "finished", "3", "of", "3"]
    far = tree("runs/b").splitlines()[1]
    assert far == "b    finished  20 of 20  of ../a from step 10, pace 1 → 5"


def test_a_branch_of_a_branch_stands_below_it() -> None:
    paced = Paced()
    run = nbtrain.train(
        paced.step, steps=30, checkpoint=paced.checkpoint, save_steps=10, name="a"
    ).wait(SOON)
    first = run.branch(10, name="b").wait(SOON)
    first.branch(20, name="c").wait(SOON)
    run.branch(10, name="d").wait(SOON)
    names = [line.partition("  fin")[0].rstrip() for line in tree().splitlines()[1:]]
    assert names == ["a", "├─ b", "│  └─ c", "└─ d"]


def test_the_tree_shows_live_runs_as_they_are_and_failed_ones_as_failed(gate: Gate) -> None:
    with pytest.raises(ZeroDivisionError):
        nbtrain.train(Counter(lambda _: 1 / 0).step, name="a").wait(SOON)
    run = nbtrain.train(Counter(gate).step, name="b")
    gate.wait_for_arrivals()
    (a, b) = words(tree())[1:]
    assert (a[:2], b) == (["a", "failed"], ["b", "running", "0"])
    pause = run.pause()
    gate.open()
    applied(pause)
    assert words(tree())[2][:2] == ["b", "paused"]
    run.request_stop()
    run.wait(SOON)
    assert words(tree())[2][:2] == ["b", "stopped"]


def written(run: nbtrain.Run) -> str:
    """The journal of a run so far."""
    path = run.logdir / "steering.jsonl"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def other_kernel(pipe: Connection) -> None:
    """Train one run to its end, and another until this process is killed."""
    counter = Counter()
    nbtrain.train(counter.step, steps=50, checkpoint=counter.checkpoint, name="other").wait()
    run = nbtrain.train(dict, name="killed", start=False)
    pause = run.post(Pause(), at=7)
    run.start()
    applied(pause)
    reached(run, lambda run: '"pause"' in written(run))
    pipe.send("ready")
    pipe.recv()


def test_the_tree_tells_of_another_kernel_that_trains_and_that_was_killed() -> None:
    with Forked(other_kernel) as other:
        assert other.answer() == "ready"
        eventually(lambda: "killed  paused in another process  7" in tree())
        other.kill()
    eventually(lambda: "another process" not in tree())  # its last sign of life is overdue
    assert tree().splitlines()[1:] == ["other   finished  50 of 50", "killed  failed    7"]
    listed = {each.status.name: str(each.status.phase) for each in runs_below(Path("runs"))}
    assert listed == {"other": "finished", "killed": "failed"}, "as in a terminal"


def test_a_folder_that_is_not_there_and_one_without_runs_are_told_apart() -> None:
    assert tree() == "No run has trained in runs, or below it."
    Path("empty").mkdir()
    assert tree("empty") == "No run has trained in empty, or below it."
    with pytest.raises(ArgumentError, match="There is no folder 'nowhere': give one with runs"):
        tree("nowhere")


def test_invalid_journals_are_shown_up_to_their_first_error() -> None:
    for name, of in (("a", "../b"), ("b", "../a"), ("c", "../c"), ("d", "../gone")):
        folder = Path("runs") / name
        folder.mkdir(parents=True)
        start = {"wall_time": 1, "event": "start", "step": 0, "parent": {"logdir": of, "step": 5}}
        (folder / "steering.jsonl").write_text(json.dumps(start) + '\n{"event": "se')
    Path("runs/e/steering.jsonl").mkdir(parents=True)
    Path("runs/f").mkdir()
    Path("runs/f/steering.jsonl").write_bytes(b"\xff\x00\n[]\n{}\n")
    lines = words(tree())[1:]
    assert sorted(line[0] for line in lines) == ["a", "b", "c", "d", "f"]
    assert all(line[1:5] == ["no", "end", "was", "written"] for line in lines)


def test_the_step_of_a_run_in_another_kernel_comes_from_its_event_file(gate: Gate) -> None:
    def at_step(count: int) -> None:
        if count == 245:
            gate()

    run = nbtrain.train(Counter(at_step).step, steps=100_000, name="far")
    gate.wait_for_arrivals()
    reached(run, lambda run: "count" in run.scalars and 244 in run.scalars["count"].steps)
    registry.runs.clear()  # as another kernel sees it, and after a kill
    assert tree().splitlines()[1].split()[-3:] == ["244", "of", "100,000"]
    assert '"step": 244' not in (run.logdir / "steering.jsonl").read_text(), "nothing was asked"
    run.request_stop()
    gate.open()
    run.wait(SOON)


def test_a_run_that_went_back_is_where_it_went(tmp_path: Path) -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, name="back", save_steps=50, keep=None
    )
    reached(run, lambda run: run.status.step > 60)
    applied(run.pause())
    applied(run.restore(50))
    reached(run, lambda run: last_step(run.logdir) == 50)
    run.request_stop()
    run.wait(SOON)


def test_a_damaged_end_and_a_large_last_record_hide_no_step(tmp_path: Path) -> None:
    run = nbtrain.train(Counter().step, steps=12, name="whole").wait(SOON)
    (file,) = run.logdir.glob("events*")
    whole = file.read_bytes()
    for end in (b"\x07", whole[-30:-9], bytes(9000)):
        file.write_bytes(whole + end)
        assert last_step(run.logdir) == 12
    file.write_bytes(b"")
    assert last_step(run.logdir) == 0
    assert last_step(tmp_path / "nowhere") == 0


def test_the_last_step_of_a_very_long_run_is_read_from_the_end_of_its_file() -> None:
    run = nbtrain.train(Counter().step, steps=12, name="long").wait(SOON)
    (file,) = run.logdir.glob("events*")
    whole = file.read_bytes()
    with open(file, "r+b") as long:  # a hole that takes no room on the disk, and minutes to read
        long.seek(1 << 36)
        long.write(whole)
    assert last_step(run.logdir) == 12


def test_a_run_that_was_started_again_after_the_clock_was_set_back_is_where_it_is_now() -> None:
    counter = Counter()
    nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=12, name="run").wait(SOON)
    (file,) = Path("runs/run").glob("events*")
    _, _, _, began, *rest = file.name.split(".")
    file.rename(file.with_name(".".join(["events.out.tfevents", f"{int(began) + 3600}", *rest])))
    again = Counter()
    nbtrain.train(again.step, checkpoint=again.checkpoint, steps=20, name="run").wait(SOON)
    first, second = sorted(Path("runs/run").glob("events*"))
    assert (last_step(Path("runs/run")), first.name.split(".")[3]) == (20, f"{int(began) + 3600}")
    assert len(nbtrain.scalars("runs")["run", "count"].steps) == 20
    second.unlink()
    assert last_step(Path("runs/run")) == 12
