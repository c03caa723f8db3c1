"""The panel's kernel side: one anywidget, one comm.

    front end ── hello, alive, pull, cmd, ─▶ Panel ──▶ source.post
                 log, media
    front end ◀── snap, pts, here, ack, ───── Panel ◀── source.status, source.scalars, source.log,
                  note, log, media                      source.media

The history stays in the kernel. A page that opens, or has missed a message, requests a snapshot.
Updates are sent while a page is visible. For a page that is closed or late, the panel sends one
message every ten seconds. A live run always sends that much, so a page that receives nothing for
longer warns its reader.

Some front ends drop what a thread sends while the kernel executes nothing (Colab). A page that
receives nothing pulls: the thread that handles its message sends what is new. Meanwhile the looper
sends only a word every second. A page that receives it pulls no more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbtrain.core.command_json import command_of
from nbtrain.core.commands import Sender
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase, Status
from nbtrain.panel.live import log_wire, media_wire
from nbtrain.panel.live.epochs import Epochs, Point
from nbtrain.panel.live.mark_actions import MarkActions
from nbtrain.panel.live.source import Source
from nbtrain.panel.live.view import Fields, answers, fields
from nbtrain.panel.live.wire import Message, Wire
from nbtrain.panel.widget import LEASE_SECS, Shown

BUNDLE = Path(__file__).parents[1] / "static" / "panel.js"

# Messages that may be unconfirmed: 10 s at the full rate.
UNCONFIRMED = 100
IDLE_SECS = 10.0
# Seconds of a pause after which messages to a page that is not visible stop: a message counts as
# activity, and an idle culler would never stop the kernel. By then, a page in the background has
# received the pause.
UNSEEN_SECS = 150.0
# A page that opens at least this long after the last message is answered at once. Pages that open
# together share the snapshot of the next tick.
ALONE_SECS = 0.5
# Seconds between two snapshots for a page whose messages cannot be received.
UNASKED_SECS = 2.0
# A page that pulls does so every second, and may be late. Seconds between two words to it.
PULLED_SECS, WORD_SECS = 3.0, 1.0
# The answer to a pull has the data of this many updates, which other pages get in a second.
PULLED_UPDATES = 10


class Panel(Shown):
    """One run on the page, in any number of views.

    Args:
        source: The run.
        clock: Returns seconds that never go backwards.

    Attributes:
        source: The run; after its end another object with the same scalars, marks and media.
        unasked: Whether to send snapshots without a request until the first message of a page: the
            run may train in the thread that receives the messages.
    """

    def __init__(self, source: Source, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.unasked = False
        self._wire = Wire(source.scalars, source.marks)
        self._actions = MarkActions(source.marks, source.most_checkpoints)
        self._epochs = Epochs()
        self._asked = False
        self._alive_at = float("-inf")
        self._sent_at = float("-inf")
        self._pulled_at = self._word_at = float("-inf")
        self._moved_at = float("-inf")  # when the run was last seen not paused
        self._seen = 0
        self._sending = threading.Lock()  # keeps messages in the order of their numbers
        super().__init__(BUNDLE, clock)

    def tick(self) -> None:
        """Sends what is new if a page is visible; called by the run's looper."""
        with self._sending:
            now = self._clock()
            if now - self._pulled_at >= PULLED_SECS or self.source.status.phase.ended:
                self._emit(self._new())
            elif now - self._word_at >= WORD_SECS:
                self._word_at = now
                self.send({"t": "here"}, [])

    def _pull(self, seq: int) -> None:
        """Answers a page that has the message `seq`; one that has missed some gets everything."""
        with self._sending:
            self._pulled_at = self._clock()
            self._asked = self._asked or seq != self._wire.seq
            content, buffers = self._new(PULLED_UPDATES) or ({"t": "here"}, [])
            self._emit((content | {"pulled": True}, buffers))

    def _new(self, size: int = 1) -> Message | None:
        """Returns the next message; None if there is nothing to send, or no page.

        Args:
            size: The number of usual updates whose data fit into this one.
        """
        unheard = self.unasked and self._alive_at == float("-inf")
        unasked = unheard and self._clock() - self._sent_at >= UNASKED_SECS
        if not (self._asked or self._wire.seq or unasked):
            return None
        receipts = answers(self.source.receipts)
        count = self.source.marks.count  # first: a checkpoint is listed before its mark
        status = self.source.status
        epochs = self._epochs.points(status)  # first: also while no page is visible
        # After the end no update could catch up; a new start changes all actions.
        whole = self._asked or self._wire.is_outdated or status.phase.ended or unasked
        if not (whole or self._may_send(status.phase)):
            return None
        actions = self._actions.of(status, count)
        shown = self._fields(status, receipts, epochs)
        if not whole:
            return self._wire.update(shown, actions, size=size) or self._word()
        self._asked = status.phase.ended
        snapshot = self._wire.snapshot(shown, actions)
        self._seen = self._wire.seq
        return snapshot

    def _fields(
        self, status: Status, receipts: Sequence[Fields], epochs: Sequence[Point]
    ) -> Fields:
        source, by = self.source, self.source.trained_by
        if by is not None:  # its status and its curves are read from files of different age
            status = replace(status, values={**status.values, **source.scalars.last_values()})
        return fields(
            status,
            receipts,
            source.mailbox,
            trained_by=by,
            log=source.log,
            epochs=epochs,
            media=source.media,
            open_nan=self._actions.open_nan,
        )

    def _may_send(self, phase: Phase) -> bool:
        now = self._clock()
        if phase is not Phase.PAUSED:
            self._moved_at = now
        if now - max(self._alive_at, self._moved_at) >= UNSEEN_SECS:
            return False
        fresh = now - self._alive_at < LEASE_SECS and self._wire.seq - self._seen < UNCONFIRMED
        return fresh or now - self._sent_at >= IDLE_SECS

    def _word(self) -> Message | None:
        """Returns a message after a silence, from which the page would conclude a dead kernel."""
        return ({"t": "here"}, []) if self._clock() - self._sent_at >= IDLE_SECS else None

    def _emit(self, message: Message | None) -> None:
        if message is not None:
            self._sent_at = self._clock()
            self.send(message[0], message[1])

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        """Handles a message of the front end, in a subshell's thread or the main thread."""
        kind, seq = content.get("t"), content.get("seq", 0)
        if not (type(seq) is int and seq <= self._wire.seq):
            self.note(f"A message was ignored: no message with seq={seq!r:.80} was sent")
            return
        self._alive_at = self._clock()
        self._seen = max(self._seen, seq)
        if kind == "pull":
            self._pull(seq)
        elif kind == "hello":
            self._asked = True
            phase = self.source.status.phase
            nobody_ticks = phase.ended or phase is Phase.CREATED
            if nobody_ticks or self._clock() - self._sent_at >= ALONE_SECS:
                self.tick()
        elif kind == "cmd":
            self._execute(content)
        elif kind in ("log", "media"):
            try:
                self._answer(content)
            except ArgumentError as error:
                self.note(str(error))

    def _answer(self, content: dict[str, Any]) -> None:
        """Answers a request for lines of the log, or for pictures and media."""
        if content["t"] == "log":
            self.send(log_wire.answer(self.source.log, content.get("have")), [])
        else:
            self.send(*media_wire.answer(self.source.media, content))

    def _execute(self, content: dict[str, Any]) -> None:
        click = str(content.get("id"))
        try:
            self.source.post(command_of(content), sender=Sender(click))
        except ArgumentError as error:
            self.send({"t": "ack", "id": click, "text": str(error)})
            return
        self.send({"t": "ack", "id": click, "text": "requested"})
        if self.source.status.phase.ended:
            self.tick()
