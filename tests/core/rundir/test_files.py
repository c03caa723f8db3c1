"""Many small files: each is read once, and again after a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtrain.rundir import files
from nbtrain.rundir.files import Polled


class Reads:
    """Reads a file, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, folder: Path) -> object:
        self.count += 1
        return files.read(folder / "a.json")["step"]


def test_a_file_is_read_again_only_after_a_change(tmp_path: Path) -> None:
    reads = Reads()
    polled = Polled(reads, "a.json")
    files.replace(tmp_path / "a.json", {"step": 1})
    assert [polled.of(tmp_path) for _ in range(3)] == [1, 1, 1]
    assert reads.count == 1
    files.replace(tmp_path / "a.json", {"step": 2})
    assert [polled.of(tmp_path) for _ in range(3)] == [2, 2, 2]
    assert reads.count == 2


def test_a_file_that_vanishes_is_not_there_and_read_when_it_is_back(tmp_path: Path) -> None:
    polled = Polled(Reads(), "a.json")
    files.replace(tmp_path / "a.json", {"step": 1})
    assert polled.of(tmp_path) == 1
    (tmp_path / "a.json").unlink()
    with pytest.raises(FileNotFoundError):
        polled.of(tmp_path)
    files.replace(tmp_path / "a.json", {"step": 3})
    assert polled.of(tmp_path) == 3


def test_a_file_that_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    polled = Polled(Reads(), "a.json")
    (tmp_path / "a.json").write_text("{")
    for _ in range(2):
        with pytest.raises(files.Malformed):
            polled.of(tmp_path)
