"""A mirror copies what has grown soon after a checkpoint, and waits for no store for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.run.mirror import Mirror, Tries
from nbtrain.rundir import mirror_files, store
from nbtrain.rundir.store import Store

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


def test_curves_are_mirrored_also_if_checkpoints_are_saved_all_the_time(tmp_path: Path) -> None:
    folder, clock = tmp_path / "run", Clock()
    folder.mkdir()
    opened = mirror_files.opened((tmp_path / "far").as_uri(), "run", folder, new=False)
    mirror = Mirror(opened, folder, lambda *_: None, lambda: False, clock=clock)
    copy, behind = tmp_path / "far" / "run" / EVENTS, []
    for step in range(40):  # ten seconds
        with open(folder / EVENTS, "ab") as file:
            file.write(b"point")
        save(folder / "checkpoints", step)
        mirror.tick()
        clock.now += 0.25
        if step >= 10:
            size = copy.stat().st_size if copy.exists() else 0
            behind.append((folder / EVENTS).stat().st_size - size)
    assert max(behind) <= 6 * len(b"point")


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
    for ask in (far.sizes, lambda: far.read("a"), lambda: far.delete("a")):
        with pytest.raises(TimeoutError, match="no answer within 1 s"):
            ask()
    assert far.waiting_secs == far.stalled_secs == 0.0


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


def test_the_time_without_an_answer_counts_from_the_begin_of_the_try() -> None:
    clock = Clock()
    tries = Tries(clock)
    began = clock.now
    clock.now += 30.0
    tries.fail(since=began)
    assert tries.failing_secs == 30.0
    clock.now += 1.0
    tries.fail(since=clock.now)
    assert tries.failing_secs == 31.0


@pytest.mark.parametrize("address", ["s3://", "s3:///", "gs://", "file://", "file:///"])
def test_an_address_without_a_folder_is_refused(address: str, own_folder: Path) -> None:
    with pytest.raises(ArgumentError, match="names no folder: give one, such as s3://bucket/runs"):
        Store(address, "run")
    assert list(own_folder.iterdir()) == []
