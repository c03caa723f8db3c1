"""Runs with a mirror on a real S3 server, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.run.outside import mirror
from nbtrain.run.outside.mirror_files import snapshot
from nbtrain.run.outside.mirror_plan import complete
from nbtrain.run.run import Run
from tests.forked import Forked
from tests.gate import SOON, eventually
from tests.models import Counter
from tests.s3 import S3


@pytest.fixture
def s3() -> Iterator[S3]:
    """A server."""
    with S3() as server:
        yield server


def train(pipe: Connection, s3: dict[str, str], waits_at: tuple[int, ...] = ()) -> None:
    """Trains 40 steps with a mirror; at some of them it waits for "go on".

    Answers anything else with its step, its mirror and its message, and its end with the steps of
    its curve, its marks and its message.
    """
    os.environ.update(s3)
    mirror._RETRY_SECS, mirror._PASS_SECS = 1.0, 2.0
    may_go_on = threading.Semaphore(0)
    counter = Counter(lambda step: step in waits_at and may_go_on.acquire())
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        save_steps=5,
        keep=2,
        name="far",
        mirror=s3["MIRROR"],
        steps=40,
    )
    while not run.status.phase.ended:
        if pipe.poll(0.01):
            if pipe.recv() == "go on":
                may_go_on.release()
            else:
                pipe.send((run.status.step, run.status.mirror, run.status.message or ""))
    marks = [mark.event for mark in run.marks]
    curve = run.scalars["count"]
    pipe.send((curve.steps[~curve.abandoned].tolist(), marks, run.status.message))


def told(child: Forked) -> tuple[int, str, str]:
    """Step, mirror and message of a run."""
    child.send("tell")
    answer: tuple[int, str, str] = child.answer()
    return answer


def files(path: str = "runs/far") -> dict[str, int]:
    """The sizes of the files of a run that belong into its mirror."""
    return {each: version.size for each, version in snapshot(Path(path)).files.items()}


def test_a_killed_run_goes_on_from_its_mirror_on_another_machine(s3: S3, own_folder: Path) -> None:
    with Forked(train, s3.environment, (17,)) as child:
        eventually(lambda: "ckpt-15" in told(child)[1] and s3.files("far") == files())
        child.kill()
    assert set(complete(list(files()), "checkpoints/")) == {"ckpt-10", "ckpt-15"}
    (own_folder / "other").mkdir()
    with Forked(train, s3.environment, folder=own_folder / "other") as child:
        steps, marks, message = child.answer()
    assert steps == list(range(1, 41))
    assert marks.count("checkpoint") == 8
    assert message is None
    assert s3.files("far") == files("other/runs/far")
    assert {"checkpoints/ckpt-35.index", "checkpoints/ckpt-40.index"} <= s3.files("far").keys()


def test_a_store_that_is_away_is_caught_up_with_later(s3: S3) -> None:
    with Forked(train, s3.environment, (7, 37)) as child:
        eventually(lambda: told(child)[1] == "ckpt-5")
        s3.refuses = lambda _method, _path: True
        child.send("go on")
        lacks = f"The mirror {s3.address}/far lacks"
        eventually(lambda: told(child)[0] == 36 and lacks in told(child)[2])
        _, mirror, message = told(child)
        assert mirror.startswith("ckpt-5, ")
        assert " behind, next try in " in mirror
        assert "The training continues." in message
        s3.refuses = lambda _method, _path: False
        eventually(lambda: told(child)[1] == "ckpt-35")
        child.send("go on")
        steps, _, message = child.answer()
    assert (steps, message) == (list(range(1, 41)), None)
    assert s3.files("far") == files()


def test_a_copy_that_fails_half_way_leaves_the_last_checkpoint_whole(s3: S3) -> None:
    with Forked(train, s3.environment, (7, 17)) as child:
        eventually(lambda: told(child)[1] == "ckpt-5" and s3.files("far") == files())
        s3.refuses = lambda method, path: method == "PUT" and path.endswith(".index")
        child.send("go on")
        eventually(lambda: "ckpt-15.data" in " ".join(s3.files("far")))
        eventually(lambda: "next try in" in told(child)[1])
        child.kill()
    assert "ckpt-5" in complete(list(s3.files("far")), "checkpoints/")
    s3.refuses = lambda _method, _path: False
    shutil.rmtree("runs")
    with Forked(train, s3.environment) as child:
        steps, _, message = child.answer()
    assert (steps, message) == (list(range(1, 41)), None)
    assert s3.files("far") == files()


def test_a_checkpoint_that_the_run_deletes_while_it_is_copied_is_copied_to_its_end(s3: S3) -> None:
    copying, may_go_on = threading.Event(), threading.Event()

    def hold_up(method: str, path: str) -> bool:
        if method == "PUT" and path.endswith("ckpt-5.index"):
            copying.set()
            may_go_on.wait(SOON)
        return False

    s3.refuses = hold_up
    with Forked(train, s3.environment, (7, 37)) as child:
        assert copying.wait(SOON)
        child.send("go on")
        eventually(lambda: told(child)[0] == 36 and "checkpoints/ckpt-5.index" not in files())
        assert "no checkpoint yet" in told(child)[1]
        s3.refuses = lambda method, path: method == "PUT" and "ckpt-35" in path
        may_go_on.set()
        eventually(lambda: "ckpt-5" in complete(list(s3.files("far")), "checkpoints/"))
        eventually(lambda: "checkpoints/checkpoint" in s3.files("far"))
        s3.refuses = lambda _method, _path: False
        child.send("go on")
        assert child.answer()[2] is None
    assert s3.files("far") == files()


def test_a_run_that_ends_while_its_store_is_away_says_what_is_not_copied(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.run.outside.mirror._LAST_FAILING_SECS", 0.5)

    def run(steps: int) -> Run:
        counter = Counter(lambda step: setattr(s3, "refuses", lambda *_: step == 20))
        checkpoint = counter.checkpoint
        run = nbtrain.train(
            counter.step, checkpoint=checkpoint, name="far", mirror=s3.address, steps=steps
        )
        return run.wait(SOON)

    message = run(20).status.message or ""
    assert f"The run has ended. The mirror {s3.address}/far lacks 5 files" in message
    assert "the next start there copies them" in message
    s3.refuses = lambda _method, _path: False
    assert run(30).status.message is None
    assert s3.files("far") == files()


def test_a_store_that_cannot_be_used_is_told_before_the_training(s3: S3) -> None:
    counter = Counter()
    with pytest.raises(ArgumentError, match="bucket does not exist"):
        nbtrain.train(counter.step, steps=3, name="far", mirror="s3://nobodys-bucket/runs")
    s3.refuses = lambda _method, _path: True
    with pytest.raises(ArgumentError, match="or leave mirror= out, and then a run that only the"):
        nbtrain.train(counter.step, steps=3, name="far", mirror=s3.address)
    assert not Path("runs").exists()


def test_a_store_that_never_answers_is_said_and_holds_up_no_stop(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtrain.run.outside.mirror._LAST_FAILING_SECS", 1.0)
    answers = threading.Event()
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, name="far", mirror=s3.address)
    run.save().wait()
    eventually(lambda: str(run.status.mirror).startswith("ckpt-"))
    monkeypatch.setattr("nbtrain.run.outside.store.ANSWER_SECS", 1.0)
    s3.refuses = lambda *_: not answers.wait(SOON)
    run.save().wait()
    eventually(lambda: "no answer within 1 s" in str(run.status.message))
    run.request_stop()
    run.wait(SOON)
    answers.set()
    assert f"The run has ended. The mirror {s3.address}/far lacks" in str(run.status.message)
