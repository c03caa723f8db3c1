"""The messages of a run: a notice is kept whatever another thread adds to it."""

from __future__ import annotations

import threading

from nbtrain.core.states import Phase
from nbtrain.run.notices import NOTICE_SECS, Notices
from tests.core.test_panel import Clock


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
