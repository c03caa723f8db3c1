"""Event files that grow are read into a store like that of the run that writes them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nbtrain.recording.store import ScalarStore
from nbtrain.remote.curves import Curves
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tfevents.writer import EventWriter

Rows = list[tuple[int, bool]]


class Followed:
    """A folder with event files, its timeline, and the store that is read from it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, ScalarStore()
        self.timeline = RunTimeline(folder)
        self.curves = Curves(folder, self.store, lambda: self.timeline)
        self.writer = EventWriter(folder)

    def write(self, first: int, last: int, tag: str = "loss") -> None:
        steps = np.arange(first, last + 1)
        walls = steps.astype(np.float64)
        self.writer.scalars(steps, walls, {tag: walls / 2})

    def start_again(self) -> None:
        self.writer.close()
        self.writer = EventWriter(self.folder)

    def go_back(self, step: int) -> None:
        """A restart mark, and the line of the journal."""
        self.writer.session_start(step, time.time())
        self.tell(step)

    def tell(self, step: int) -> None:
        self.timeline.add_entry({"event": "back", "step": step, "checkpoint": f"ckpt-{step}"})

    def read(self) -> Rows:
        assert self.curves.poll(math.inf)
        return self.rows()

    def rows(self, tag: str = "loss") -> Rows:
        columns = self.store[tag]
        return [*zip(columns.steps.tolist(), columns.abandoned.tolist(), strict=True)]


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    followed = Followed(tmp_path)
    yield followed
    followed.writer.close()


def counting(*steps: int, gone: tuple[int, ...] = ()) -> Rows:
    return [(step, step in gone) for step in steps]


def test_points_are_read_as_they_are_written(followed: Followed) -> None:
    followed.write(1, 2)
    assert followed.read() == counting(1, 2)
    followed.write(3, 3)
    assert followed.read() == counting(1, 2, 3)
    assert followed.read() == counting(1, 2, 3)
    assert followed.store["loss"].values.tolist() == [0.5, 1.0, 1.5]


def test_what_a_restore_abandons_is_abandoned_and_counts_again_if_the_run_goes_back_there(
    followed: Followed,
) -> None:
    followed.timeline.save(2, "")
    followed.write(1, 2)
    followed.timeline.save(4, "")
    followed.write(3, 4)
    followed.go_back(2)
    followed.write(3, 3)
    first = [*counting(1, 2, 3, 4, gone=(3, 4)), (3, False)]
    assert followed.read() == first
    followed.go_back(4)
    followed.write(5, 5)
    assert followed.read() == [*counting(1, 2, 3, 4), (3, True), (5, False)]
    again = ScalarStore()
    Curves(followed.folder, again, lambda: followed.timeline).poll(math.inf)
    assert again["loss"].abandoned.tolist() == followed.store["loss"].abandoned.tolist()


def test_a_restart_waits_for_the_journal(followed: Followed) -> None:
    followed.write(1, 4)
    followed.writer.session_start(2, time.time())
    followed.write(3, 3)
    assert not followed.curves.poll(math.inf)
    assert followed.rows() == counting(1, 2, 3, 4)
    followed.tell(2)
    assert followed.read() == [*counting(1, 2, 3, 4, gone=(3, 4)), (3, False)]


def test_a_restart_that_no_journal_tells_abandons_what_is_beyond_it(followed: Followed) -> None:
    followed.write(1, 4)
    followed.writer.session_start(2, time.time())
    followed.write(3, 3)
    tries = [followed.curves.poll(math.inf) for _ in range(6)]
    assert tries[0] is False
    assert tries[-1] is True
    assert followed.rows() == [*counting(1, 2, 3, 4, gone=(3, 4)), (3, False)]


def test_the_next_start_goes_on_in_a_file_of_its_own(followed: Followed) -> None:
    followed.write(1, 4)
    followed.start_again()
    followed.go_back(3)
    followed.write(4, 5)
    assert followed.read() == [*counting(1, 2, 3, 4, gone=(4,)), (4, False), (5, False)]


def test_a_start_from_nothing_forgets_what_came_before(followed: Followed) -> None:
    followed.write(1, 4)
    assert followed.read() == counting(1, 2, 3, 4)
    followed.start_again()
    assert followed.read() == counting(1, 2, 3, 4), "it has recorded nothing yet"
    followed.tell(0)
    followed.write(1, 2)
    assert followed.read() == counting(1, 2)
    assert followed.store.generation == 1
    followed.go_back(1)
    followed.write(2, 3)
    assert followed.read() == [(1, False), (2, True), (2, False), (3, False)]


def test_tags_appear_in_the_order_of_their_first_points(followed: Followed) -> None:
    followed.write(1, 1, "b")
    followed.write(2, 2, "a")
    followed.curves.poll(math.inf)
    assert list(followed.store) == ["b", "a"]


def test_a_long_file_is_read_in_pieces(followed: Followed) -> None:
    for first in range(1, 200_000, 1000):
        followed.write(first, first + 999)
    assert not followed.curves.poll(0.0)
    assert followed.curves.left
    assert 0 < len(followed.store["loss"]) < 200_000
    assert len(followed.read()) == 200_000
    assert not followed.curves.left


def test_a_file_that_was_replaced_is_read_again(followed: Followed) -> None:
    followed.write(1, 4)
    followed.read()
    (path,) = followed.folder.glob("*.nbtrain")
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])
    followed.curves.poll(math.inf)
    assert followed.read()[0] == (1, False)
    assert len(followed.rows()) < 4


def test_files_of_other_writers_are_left_out(followed: Followed) -> None:
    followed.write(1, 2)
    (path,) = followed.folder.glob("*.nbtrain")
    (followed.folder / "events.out.tfevents.1.host").write_bytes(path.read_bytes())
    assert followed.read() == counting(1, 2)


def test_a_folder_that_is_away_keeps_what_was_read(followed: Followed, tmp_path: Path) -> None:
    followed.write(1, 2)
    followed.read()
    tmp_path.rename(tmp_path.with_name("aside"))
    assert followed.read() == counting(1, 2)
    assert followed.curves.error is None
    tmp_path.with_name("aside").rename(tmp_path)


def test_a_file_that_cannot_be_read_is_told(followed: Followed) -> None:
    (followed.folder / "events.out.tfevents.1.host.nbtrain").mkdir()
    followed.curves.poll(math.inf)
    told = followed.curves.error or ""
    assert told.startswith(f"Some recorded curves cannot be read: {followed.folder}")
