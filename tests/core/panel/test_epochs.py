"""The epochs of a run: how many are done at which steps, as its status tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nbtrain.core.states import Phase, Status
from nbtrain.panel.live.epochs import MOST, Epochs, Point

RUNNING = Status("digits", "step function", Phase.RUNNING)


def after(*epochs: tuple[int, int | None, int | None]) -> Sequence[Point]:
    """The points after statuses with these numbers, beginnings and lengths of epochs."""
    known = Epochs()
    found: Sequence[Point] = ()
    for number, began, steps in epochs:
        told = replace(RUNNING, epoch=number, epoch_began=began, epoch_steps=steps)
        found = known.points(told)
    return found


def test_epochs_of_one_length_are_a_line() -> None:
    assert after((1, 0, 88)) == [(0, 0), (88, 1)]
    assert after((1, 0, 88), (2, 88, 88), (3, 176, 88)) == [(0, 0), (264, 3)]
    assert after((3, 176, 88)) == [(0, 0), (264, 3)], "also if only the last was seen"


def test_a_length_that_is_not_known_shows_once_an_epoch_is_over() -> None:
    assert after((1, 0, None)) == [(0, 0)]
    assert after((1, 0, None), (2, 88, None)) == [(0, 0), (88, 1)]


def test_epochs_of_another_length_bend_the_line_where_they_begin() -> None:
    assert after((3, 200, 100), (4, 300, 50), (5, 350, 50)) == [(0, 0), (300, 3), (400, 5)]


def test_the_line_begins_again_with_a_run_that_begins_again() -> None:
    assert after((3, 200, 100), (1, 0, 50)) == [(0, 0), (50, 1)]
    assert after((3, 200, 100), (2, 50, 50)) == [(0, 0), (100, 2)], "it went back"
    assert after((11, 0, 100)) == [(0, 10), (100, 11)], "a fit with initial_epoch=10"


def test_nothing_is_told_of_a_run_without_epochs() -> None:
    assert Epochs().points(RUNNING) == ()
    assert after((2, None, 88)) == ()


def test_an_end_between_two_epochs_keeps_what_is_known() -> None:
    known = Epochs()
    known.points(replace(RUNNING, epoch=3, epoch_began=24))
    ended = replace(RUNNING, phase=Phase.STOPPED, epoch=2, epoch_began=None)
    assert known.points(ended) == [(0, 0), (24, 2)]


def test_many_lengths_are_thinned() -> None:
    begins = [at * at for at in range(300)]
    found = after(*((number + 1, began, None) for number, began in enumerate(begins)))
    assert MOST // 2 <= len(found) <= MOST
    assert (found[0], found[-1]) == ((0, 0), (299**2, 299))
    assert all(step == done**2 for step, done in found)
