"""The board's kernel side: shows a logdir on the page, with one anywidget and one comm.

    front end ── hello, alive, follow, ─▶ Board
                 options
    front end ◀── index, grew, note ───── Board.notify   the contents, and when they grow
    front end ── want, csv, history, ───▶ Board
                 summary, hparams, ...
    front end ◀── the answer, same, ───── answers        one tag, for a card in view
                  refused

Points stay in the kernel, and images in their files. A page requests the data of the cards in view,
and requests them again when there is more. Unchanged data is not sent again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbtrain.core.errors import NbtrainError
from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.board.colours import looks_in
from nbtrain.panel.board.index import Selections, contents, selections
from nbtrain.panel.board.refusals import refusal
from nbtrain.panel.board.requests import answer
from nbtrain.panel.board.tables import lacking
from nbtrain.panel.validations import fits_of, folder_of, name_of
from nbtrain.panel.widget import LEASE_SECS, Shown

# The least seconds between two answers to pages that have missed something.
CATCH_UP_SECS = 2.0

# The most characters that a page may store in the board.
_KEPT = 1 << 20

BUNDLE = Path(__file__).parents[1] / "static" / "board.js"


class Board(Shown):
    """The contents of a logdir on the page, in any number of views.

    Args:
        scalars: The runs and tags to show, of every kind.
        tab, x, smooth: The tab, axis and smoothing that the page shows first.
        on_look: Called in one of the kernel's threads whenever a page reports that it is open.
        clock: Returns seconds that never go backwards.

    Attributes:
        follow: Whether the board follows files that are being written; the page may change this.
        closed: Whether the board is no longer shown.
        reading: Whether the files have not been read to the end yet.
    """

    def __init__(
        self,
        scalars: Scalars,
        *,
        tab: str = "scalars",
        x: str = "step",
        smooth: float = 0.0,
        follow: bool = False,
        on_look: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.follow, self.closed, self.reading = follow, False, False
        self._found = selections(scalars)
        self._begin: dict[str, Any] = {"tab": tab, "x": x, "smooth": smooth}
        self._on_look = on_look
        self._alive_at = float("-inf")
        self._busy_until = clock()  # infinite while a page is answered
        self._version = self._changed = 0  # the newest; the newest with another index
        self._caught_up_at = float("-inf")
        self._there: dict[str, Any] = {}  # the contents that the pages know
        self._telling = threading.Lock()  # keeps the versions in order
        super().__init__(BUNDLE, clock)

    @property
    def watched(self) -> bool:
        """True if a page has lately reported that it is visible."""
        return self._clock() - self._alive_at < LEASE_SECS

    @property
    def quiet_secs(self) -> float:
        """Seconds since a page was last notified or answered; 0 while one is being answered."""
        return max(0.0, self._clock() - self._busy_until)

    def notify(self, *, reading: bool = False) -> None:
        """Notifies the pages that there is more. Any thread may call it.

        Args:
            reading: Whether the files have not been read to the end yet.
        """
        found = self._found
        with self._telling:
            if self.closed:
                return
            self._version += 1
            self.reading = reading
            there = self._index(found)
            if there != self._there:
                self._there, self._changed = there, self._version
            self._say("index" if self._changed == self._version else "grew", found)
            self._busy_until = self._clock()

    def close(self) -> None:
        """Closes the board and frees its data."""
        self.closed = True  # first: threads that already use the rest may finish
        self._found, self._there, self._on_look = {}, {}, lambda: None
        super().close()

    def _say(self, kind: str, found: Selections) -> None:
        state: dict[str, Any] = {
            "version": self._version,
            "reading": self.reading,
            "follow": self.follow,
        }
        if self.reading:
            state["progress"] = found["scalars"].reader.progress()
        if kind == "index":
            state |= {**self._there, "begin": self._begin}
        self.send({"t": kind, **state})

    def _index(self, found: Selections) -> dict[str, Any]:
        scalars = found["scalars"]
        reader = scalars.reader
        there = contents(found, lacking(scalars), self._begin["tab"])
        runs = there["runs"]
        known = frozenset(runs)
        fits: list[dict[str, Any]] = [
            {"lead": lead, "name": reader.title(name_of(lead, of, known)), "runs": of}
            for lead, of in fits_of(runs).items()
        ]
        looks = looks_in(scalars)
        return {
            **there,
            "looks": [looks[run] for run in runs],
            "fits": [fit for fit in fits if len(fit["runs"]) > 1],
            "folder": folder_of([fit["name"] for fit in fits]),
            "own": reader.title("."),
            "labels": {run: tags for run in runs if (tags := reader.labels(run))},
            "damaged": [[run, size] for run, size in reader.skipped().items()],
            "doubtful": [[run, count] for run, count in reader.doubtful().items()],
            "gone": reader.gone,
            "unreadable": [[path, why] for path, why in sorted(reader.unreadable().items())],
        }

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        """Handles a message of the front end, in a subshell's thread or the main thread."""
        found, on_look = self._found, self._on_look
        if self.closed:
            return
        self._alive_at, self._busy_until = self._clock(), float("inf")
        try:
            self._act(found, content)
        finally:
            self._busy_until = self._clock()
        on_look()

    def _act(self, found: Selections, content: dict[str, Any]) -> None:
        kind = content.get("t")
        if kind == "hello":
            self._welcome(found)
        elif kind == "options":
            self._keep(content.get("text"))
        elif kind == "follow":
            self.follow = content.get("on") is True
        elif kind == "alive":
            self._catch_up(found, content.get("version"))
        else:
            self._answer(found, content)

    def _welcome(self, found: Selections) -> None:
        with self._telling:
            if not self.closed:
                self._there = self._there or self._index(found)
                self._say("index", found)

    def _catch_up(self, found: Selections, version: object) -> None:
        """Sends the current version to a page that missed it.

        Some front ends drop messages from other threads. After a long cell many signs of life
        arrive at once, each with the version of its time: one of them is answered.
        """
        with self._telling:
            is_due = self._clock() - self._caught_up_at >= CATCH_UP_SECS
            if self.closed or not is_due or type(version) is not int or version >= self._version:
                return
            self._caught_up_at = self._clock()
            self._say("grew" if version >= self._changed else "index", found)

    def _keep(self, text: object) -> None:
        """Stores the reader's choices as the page wrote them, for a reload of the page."""
        if isinstance(text, str) and len(text) <= _KEPT:
            self._begin["kept"] = text

    def _answer(self, found: Selections, content: dict[str, Any]) -> None:
        """Sends the answer to a request, or the reason of a refusal."""
        number = {"id": content.get("id")}
        try:
            sent = answer(found, content)
        except (NbtrainError, OSError) as error:
            self.send({"t": "refused", "text": refusal(error)} | number)
        except Exception as error:  # noqa: BLE001 - shown: there is no cell to raise it in
            self.send({"t": "refused", "text": f"{type(error).__name__}: {error}"} | number)
        else:
            if sent:
                self.send(sent[0] | number, sent[1])
