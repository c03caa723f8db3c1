"""Queues samples from the training thread for a thread that encodes them.

    training thread ── append ──▶ SampleQueue ── encode ──▶ event file

Encoding takes milliseconds, for a figure a tenth of a second. So the thread rests after each sample
while the training runs. If samples come faster, every second waiting sample is dropped; the newest
stays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from nbtrain.core.text.tracebacks import error_text
from nbtrain.media.encoding import encoded
from nbtrain.media.samples import Sample

# The most samples that wait, and their bytes: with more, the newest in a panel would be old.
MOST, MOST_BYTES = 64, 256 << 20

# The part of the time that encoding may take from the training, whose lock Python shares.
_SHARE = 0.2

# Seconds that a sample waits until a message reports it.
_LATE_SECS = 10.0

# Messages that are kept, the newest, one for each tag.
_MESSAGES = 4

Write = Callable[[Sample, bytes], None]


class SampleQueue:
    """Samples that wait.

    Args:
        write: Writes a sample and its serialized `Summary`; called by the thread that encodes.
        clock: Returns seconds that never go backwards.
        cost: Returns the seconds that the calling thread has worked.

    Attributes:
        left_out: How many samples were dropped.
    """

    def __init__(
        self,
        write: Write,
        *,
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
    ) -> None:
        self.left_out = 0
        self._write, self._clock, self._cost = write, clock, cost
        self._waiting: list[Sample] = []
        self._bytes = 0  # of all waiting samples
        self._lock = threading.Lock()  # protects both
        self._encoding = threading.Lock()  # one encodes at a time, so samples stay in order
        self._messages: dict[str, str] = {}
        self._rested_at = 0.0

    def __len__(self) -> int:
        """The number of waiting samples."""
        return len(self._waiting)

    @property
    def message(self) -> str | None:
        """A message about samples that are not shown as they were recorded; None if all are."""
        messages = [*self._messages.values()][-_MESSAGES:]
        if self.left_out:
            messages.append(
                f"Pictures and media come faster than they can be encoded: {self.left_out:,} were "
                "left out, spread over the steps. Record fewer, such as every 100 steps."
            )
        first = next(iter(self._waiting), None)
        if first is not None and time.time() - first.wall_time > _LATE_SECS:
            messages.append(
                f"{len(self):,} pictures and media wait to be encoded, from step {first.step:,} on."
            )
        return "\n".join(messages) or None

    def append(self, sample: Sample) -> None:
        """Adds a sample; never blocks for long. Any thread may call it."""
        with self._lock:
            self._waiting.append(sample)
            self._bytes += sample.size
            while len(self._waiting) > 1 and (
                len(self._waiting) > MOST or self._bytes > MOST_BYTES
            ):
                kept = self._waiting[::-2][::-1]
                self.left_out += len(self._waiting) - len(kept)
                self._waiting, self._bytes = kept, sum(each.size for each in kept)

    def encode(self, *, rests: bool = True) -> None:
        """Encodes the waiting samples; a thread beside the training.

        Args:
            rests: Whether to rest after each sample, so that the thread works for a part of the
                time.
        """
        while self._waiting and (self._clock() >= self._rested_at or not rests):
            began = self._cost()
            self._encode_next()
            self._rested_at = self._clock() + (self._cost() - began) * (1 / _SHARE - 1)

    def finish(self, secs: float) -> None:
        """Encodes all waiting samples, for at most `secs` seconds; at the end of the training."""
        until = self._clock() + secs
        while self._waiting and self._clock() < until:
            self._encode_next()
        with self._lock:
            left, self._waiting, self._bytes = self._waiting, [], 0
        if left:
            self._messages["end"] = (
                f"The training ended before {len(left):,} pictures and media were encoded, the "
                f"first of step {left[0].step:,}: they are lost."
            )

    def _encode_next(self) -> None:
        with self._encoding:
            with self._lock:
                if not self._waiting:
                    return
                sample = self._waiting.pop(0)
                self._bytes -= sample.size
                again = [each for each in self._waiting if each.value is sample.value]
            where = f"{sample.tag} at step {sample.step:,}"
            if again and hasattr(sample.value, "savefig"):
                self._say(
                    sample.tag,
                    f"{where} is not shown: its figure was recorded again at step "
                    f"{again[0].step:,} before it was drawn. Make a new figure for each.",
                )
                return
            try:
                summary, warning = encoded(sample)
            except Exception as error:  # noqa: BLE001 - whatever it has, the training continues
                self._say(sample.tag, f"{where} is not shown: {error_text(error)}.")
                return
            self._say(sample.tag, f"{where}: {warning}." if warning else None)
            self._write(sample, summary)

    def _say(self, tag: str, text: str | None) -> None:
        """Keeps the first of several warnings about a tag, until a sample of the tag has none."""
        if text is None:
            self._messages.pop(tag, None)
        else:
            self._messages.setdefault(tag, text)
