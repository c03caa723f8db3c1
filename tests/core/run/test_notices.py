"""The messages of a run: a notice is kept whatever another thread adds to it."""

from __future__ import annotations

import threading

from nbtrain.core.states import Phase
from nbtrain.run.beside.notices import NOTICE_SECS, STALL_SECS, Notices
from tests.panels import Clock


class Read(str):
    """A notice, during whose reading another thread gives the next one, unless it has to wait."""

    notices: Notices
    thread: threading.Thread

    def __format__(self, spec: str) -> str:
        """Returns the text, after the other thread had time."""
        self.thread = threading.Thread(target=self.notices.inform, args=("next",))
        self.thread.start()
        self.thread.join(0.1)
        return str(self)


def test_a_further_notice_is_a_paragraph_of_its_own() -> None:
    notices = Notices(5.0)
    notices.inform_too("one")
    assert notices.notice == "one"
    notices.inform_too("two")
    assert notices.notice == "one\ntwo"
    notices.inform("three")
    assert notices.notice == "three"


def test_what_was_added_is_shown_as_long_as_a_new_notice() -> None:
    clock = Clock()
    notices = Notices(5.0, clock)
    notices.inform("one")
    notices.tick(Phase.RUNNING, None)
    clock.now += NOTICE_SECS - 1
    notices.inform_too("two")
    notices.tick(Phase.RUNNING, None)
    clock.now += 2
    notices.tick(Phase.RUNNING, None)
    assert notices.notice == "one\ntwo"


def test_a_notice_is_not_lost_if_another_thread_adds_to_the_one_before() -> None:
    notices, first = Notices(5.0), Read("first")
    first.notices = notices
    notices.inform(first)
    notices.inform_too("more")
    first.thread.join()
    assert notices.notice == "next"


class Stalling:
    """A run whose steps take some seconds, and what is told of it.

    Attributes:
        logged: The texts in the log.
        told: Whether there is a message now.
    """

    def __init__(self) -> None:
        self._clock = Clock()
        self.notices = Notices(5.0, self._clock)
        self.logged: list[str] = []
        self.notices.log = self.logged.append
        self._done = 0
        self.passes(0.0)

    @property
    def told(self) -> bool:
        """Returns whether there is a message now."""
        return self.notices.message is not None

    def steps(self, secs: float) -> None:
        """A step is completed after some seconds."""
        self.passes(secs)
        self._done += 1
        self.passes(0.0)

    def passes(self, secs: float, phase: Phase = Phase.RUNNING) -> None:
        """Some seconds pass, with a tick at their end."""
        self._clock.now += secs
        self.notices.tick(phase, threading.current_thread(), self._done)


def test_a_minute_without_a_step_is_told_and_every_thread_is_in_the_log_once() -> None:
    release = threading.Event()
    other = threading.Thread(target=release.wait, name="waiting", daemon=True)
    other.start()
    stalling = Stalling()
    stalling.steps(1)
    stalling.passes(STALL_SECS - 1)
    assert not stalling.told
    assert stalling.logged == []
    stalling.passes(1)
    assert stalling.notices.message == ("No step for 60 s: where each thread stands is in log.txt.")
    stalling.passes(500)
    (text,) = stalling.logged
    head, first, *_ = text.splitlines()
    assert (head, first) == ("No step for 60 s:", "Thread MainThread, newest call last:")
    assert "in test_a_minute_without_a_step" in text
    assert "Thread waiting, newest call last:" in text
    release.set()
    other.join()


def test_a_step_ends_the_message_and_a_longer_stall_is_told_again() -> None:
    stalling = Stalling()
    stalling.steps(100)
    assert not stalling.told
    stalling.passes(199)
    assert len(stalling.logged) == 1
    stalling.passes(1)
    assert stalling.told
    assert len(stalling.logged) == 2


def test_steps_that_always_take_more_than_a_minute_are_told_once() -> None:
    stalling = Stalling()
    for _ in range(5):
        stalling.steps(90)
    assert len(stalling.logged) == 1


def test_a_pause_and_a_long_evaluation_are_no_stall() -> None:
    stalling = Stalling()
    stalling.passes(30)
    stalling.passes(500, Phase.PAUSED)
    stalling.passes(30)
    stalling.passes(59)
    with stalling.notices.busy("Evaluating at step 1"):
        stalling.passes(500)
        assert stalling.notices.message is not None
        assert stalling.notices.message.startswith("Evaluating at step 1, for 500 s")
    assert stalling.notices.message is None
    stalling.passes(30)
    assert stalling.logged == []
