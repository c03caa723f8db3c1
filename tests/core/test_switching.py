"""The interpreter's short switch interval: begun by each stop, ended by the last."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from nbtrain.run.thread.switching import SHORT_SECS, begin_short_turns, end_short_turns


@pytest.fixture(autouse=True)
def usual() -> Iterator[float]:
    """Restores the interval after each test."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    yield 0.004
    sys.setswitchinterval(before)


def test_the_interval_is_short_until_the_last_user_ends_it(usual: float) -> None:
    begin_short_turns("one")
    begin_short_turns("other")
    assert sys.getswitchinterval() == pytest.approx(SHORT_SECS)
    end_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(SHORT_SECS)
    end_short_turns("other")
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_beginning_or_ending_twice_counts_once(usual: float) -> None:
    begin_short_turns("one")
    begin_short_turns("one")
    end_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(usual)
    end_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_an_interval_that_the_user_sets_meanwhile_stays() -> None:
    begin_short_turns("one")
    sys.setswitchinterval(0.002)
    end_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(0.002)


def test_an_interval_that_is_shorter_still_is_left_alone() -> None:
    sys.setswitchinterval(1e-5)
    begin_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(1e-5)
    end_short_turns("one")
    assert sys.getswitchinterval() == pytest.approx(1e-5)
