"""Reads runs with small files, many at once."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence

from nbtrain.logdir.event_run import EventRun
from nbtrain.tfevents.bunch import pieces_of
from nbtrain.tfevents.decode import Decoder
from nbtrain.tfevents.tail import CHUNK

# Files of a bunch. The reader's lock is held while they are read, a fifth of a millisecond for each
# file.
_MOST = 100


def read_small(runs: Sequence[EventRun], decoder: Decoder) -> Iterator[None]:
    """Reads small runs in bunches, then the unread rest of each run; pauses after each bunch."""
    waiting = deque(runs if len(runs) > 1 else ())
    while waiting:
        bunch: list[tuple[EventRun, list[bytes]]] = []
        size = count = 0
        while waiting and size < CHUNK and count < _MOST:
            run = waiting.popleft()
            contents = run.contents() if run.is_small else None
            if contents is not None:
                bunch.append((run, contents))
                size, count = size + run.size, count + len(contents)
        if len(bunch) > 1:
            pieces = iter(pieces_of([each for _, several in bunch for each in several], decoder))
            for run, several in bunch:
                run.add(list(itertools.islice(pieces, len(several))))
            yield
    for run in runs:
        if run.unread_bytes:
            yield from run.read()
