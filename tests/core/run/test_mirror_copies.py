"""A mirror copies at one pace, tries again after an error, and waits for no store for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.run.outside import mirror_files, mirror_plan, store
from nbtrain.run.outside.mirror import Mirror
from nbtrain.run.outside.store import Store

EVENTS = "events.out.tfevents.1.lab.1.0.nbtrain"


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def save(folder: Path, step: int) -> None:
    """Writes what a checkpoint consists of."""
    folder.mkdir(exist_ok=True)
    for ending in ("index", "data-00000-of-00001"):
        (folder / f"ckpt-{step}.{ending}").write_text(str(step))
    name = f"ckpt-{step}"
    text = f'model_checkpoint_path: "{name}"\nall_model_checkpoint_paths: "{name}"\n'
    (folder / "checkpoint").write_text(text)


class Mirrored:
    """A run's folder with a mirror on the same disk, and what the mirror has said.

    Attributes:
        here: The folder.
        there: Its copy.
        said: The messages; None clears the one before.
        secs: Seconds between two ticks.
    """

    def __init__(self, tmp_path: Path, clock: Clock) -> None:
        self.here, self.there = tmp_path / "run", tmp_path / "far" / "run"
        self.here.mkdir()
        self.said: list[str | None] = []
        self.secs, self.clock = 1.0, clock
        opened = mirror_files.opened(self.there.parent.as_uri(), "run", self.here, new=False)
        self.store = opened.store
        self.mirror = Mirror(
            opened, self.here, lambda _, text: self.said.append(text), lambda: False, clock=clock
        )

    def record(self) -> None:
        """Appends a point to the event file."""
        with open(self.here / EVENTS, "ab") as file:
            file.write(b"point")

    @property
    def behind(self) -> int:
        """The points that the copy of the event file lacks."""
        copy = self.there / EVENTS
        size = copy.stat().st_size if copy.exists() else 0
        return ((self.here / EVENTS).stat().st_size - size) // len(b"point")

    def is_alive(self) -> bool:
        """Passes some seconds, in which the thread of the mirror ticks once."""
        self.clock.now += self.secs
        self.mirror.tick()
        return True

    def finish(self) -> float:
        """Ends the run; returns the seconds that this takes."""
        began = self.clock.now
        self.mirror.finish(self.is_alive)
        return self.clock.now - began


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def run(tmp_path: Path, clock: Clock) -> Mirrored:
    """A run without files, with its mirror."""
    return Mirrored(tmp_path, clock)


def test_curves_are_mirrored_also_if_checkpoints_are_saved_all_the_time(
    run: Mirrored, clock: Clock
) -> None:
    behind = []
    for step in range(40):  # ten seconds
        run.record()
        save(run.here / "checkpoints", step)
        run.mirror.tick()
        clock.now += 0.25
        if step >= 10:
            behind.append(run.behind)
    assert max(behind) <= 6


def test_what_grows_is_copied_a_second_after_a_checkpoint_or_every_half_a_minute(
    run: Mirrored, clock: Clock
) -> None:
    behind = {}
    for second in range(66):
        if second == 20:
            save(run.here / "checkpoints", 1)
        run.record()
        run.mirror.tick()
        behind[second] = run.behind
        clock.now += 1.0
    assert [second for second in behind if behind[second] == 0] == [0, 21, 51]
    assert run.mirror.text == "ckpt-1"


def test_an_error_is_reported_and_the_copy_is_tried_again_after_ten_seconds(
    run: Mirrored, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def put(_here: Path, _path: str) -> None:
        tries.append(clock.now)
        raise OSError("the disk is full")

    run.record()
    with monkeypatch.context() as patch:
        patch.setattr(run.store, "put", put)
        for _ in range(25):
            run.is_alive()
        assert tries == [1001.0, 1011.0, 1021.0]
        assert run.said[0] == (
            f"The mirror {run.store.address} lacks 1 file ({EVENTS}): the disk is full. "
            "The training continues."
        )
        assert run.mirror.text == "no checkpoint yet, 1 file behind, next try in 6 s"
    for _ in range(6):
        run.is_alive()
    assert (run.behind, run.said[-1]) == (0, None)


def test_the_end_of_a_run_tries_again_at_once(
    run: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run.here / "checkpoints", 1)
    with monkeypatch.context() as patch:
        patch.setattr(run.store, "put", lambda *_: 1 / 0)
        run.is_alive()
    assert run.finish() == 1.0
    assert (run.mirror.text, run.said[-1]) == ("ckpt-1", None)


def test_the_end_of_a_run_waits_half_a_minute_for_a_store_that_fails(
    run: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run.here / "checkpoints", 1)
    monkeypatch.setattr(run.store, "put", lambda *_: 1 / 0)
    assert 30.0 <= run.finish() < 35.0
    assert str(run.said[-1]).startswith(
        f"The run has ended. The mirror {run.store.address} lacks 3 files"
    )
    before = len(run.said)
    run.is_alive()
    assert len(run.said) == before


def test_the_time_of_a_try_that_got_no_answer_counts_as_time_of_failure(
    run: Mirrored, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(*_: object) -> None:
        clock.now += 30.0
        raise TimeoutError("no answer within 30 s")

    save(run.here / "checkpoints", 1)
    monkeypatch.setattr(run.store, "put", put)
    assert run.finish() < 35.0


def test_the_end_of_a_run_waits_ten_minutes_for_a_copy_that_gets_on_after_an_error(
    run: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run.here / "checkpoints", 1)
    monkeypatch.setattr(run.store, "put", lambda *_: 1 / 0)
    run.is_alive()
    monkeypatch.setattr(Store, "stalled_secs", 0.0)
    run.secs = 60.0
    assert 600.0 <= run.finish() <= 720.0


def test_all_checkpoints_are_mirrored_before_a_run_ends(run: Mirrored) -> None:
    for step in (1, 2, 3):
        save(run.here / "checkpoints", step)
    names = "".join(f'all_model_checkpoint_paths: "ckpt-{step}"\n' for step in (1, 2, 3))
    (run.here / "checkpoints/checkpoint").write_text(names)
    assert run.finish() == 1.0
    assert {path.name for path in run.there.glob("*/*")} == {
        path.name for path in run.here.glob("*/*")
    }


def test_a_later_start_copies_no_checkpoint_that_the_mirror_has(run: Mirrored) -> None:
    save(run.here / "checkpoints", 1)
    run.record()
    run.finish()
    opened = mirror_files.opened(run.there.parent.as_uri(), "run", run.here, new=False)
    found = mirror_plan.lacking(mirror_files.snapshot(run.here), opened.mirrored)
    assert found == ["checkpoints/checkpoint"]


def test_a_file_system_without_links_gets_copies_of_what_is_mirrored(
    run: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hardlink_to(*_: object) -> None:
        raise OSError("no links")

    monkeypatch.setattr(Path, "hardlink_to", hardlink_to)
    save(run.here / "checkpoints", 1)
    run.finish()
    assert (run.there / "checkpoints/ckpt-1.index").read_text() == "1"
    assert not (run.here / mirror_files.HELD).exists()


def test_a_request_that_was_given_up_counts_no_more_when_its_bytes_move(
    run: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ANSWER_SECS", 0.1)
    may_move, moved = threading.Event(), threading.Event()

    def slow(_far: str, _here: str, callback: Any) -> None:
        may_move.wait()
        callback.relative_update(1)
        moved.set()

    monkeypatch.setattr(run.store._store, "get_file", slow)
    with pytest.raises(TimeoutError):
        run.store.get("a", run.here / "a")
    may_move.set()
    moved.wait()
    assert run.store.stalled_secs is None


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield port


def test_a_store_that_never_answers_is_given_up(
    silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ANSWER_SECS", 1.0)
    far = Store("s3://bucket/runs", "run")
    with pytest.raises(ArgumentError, match="cannot be written: no answer within 1 s"):
        far.check()
    with pytest.raises(TimeoutError, match="no answer within 1 s"):
        far.sizes()
    assert far.stalled_secs is None


def test_a_disk_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ANSWER_SECS", 0.5)
    far, never = Store(tmp_path.as_uri(), "run"), threading.Event()
    monkeypatch.setattr(far._store, "cat_file", lambda _path: never.wait())
    with pytest.raises(TimeoutError, match="no answer"):
        far.read("a")
    never.set()


def test_an_answer_is_waited_for_as_long_as_bytes_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ANSWER_SECS", 1.0)
    far, pause = Store(tmp_path.as_uri(), "run"), threading.Event()

    def slow(_far: str, _here: str, callback: Any) -> None:
        for _ in range(10):
            pause.wait(0.2)
            callback.relative_update(1)

    monkeypatch.setattr(far._store, "get_file", slow)
    far.get("a", tmp_path / "here")


@pytest.mark.parametrize("address", ["s3://", "s3:///", "gs://", "file://", "file:///"])
def test_an_address_without_a_folder_is_refused(address: str, own_folder: Path) -> None:
    with pytest.raises(ArgumentError, match="names no folder: give one, such as s3://bucket/runs"):
        Store(address, "run")
    assert list(own_folder.iterdir()) == []
