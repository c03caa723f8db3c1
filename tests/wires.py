"""The messages of a panel to a page, and the curves that arrive there."""

from __future__ import annotations

import json

import numpy as np

from nbtrain.panel.live.wire import Message, Wire
from nbtrain.recording.store import ScalarStore
from tests.front_end import FrontEnd
from tests.stores import rows


def size(message: Message) -> int:
    """Bytes of a message: its JSON and its buffers."""
    content, buffers = message
    return len(json.dumps(content).encode()) + sum(map(len, buffers))


def send(wire: Wire, page: FrontEnd, fields: dict[str, object]) -> bool:
    """Sends an increment as JSON would carry it; returns whether there was one."""
    message = wire.update(fields)
    if message is not None:
        page.receive(json.loads(json.dumps(message[0])), message[1])
    return message is not None


def assert_equal(page: FrontEnd, store: ScalarStore) -> None:
    """Checks that the page equals the store, in single precision."""
    curves = store.curves()
    assert [(s.tag, s.segment, s.stride, s.abandoned) for s in page.series] == [
        (c.tag, c.segment, c.buckets.stride, c.abandoned) for c in curves
    ]
    for series, curve in zip(page.series, curves, strict=True):
        with np.errstate(over="ignore"):
            wanted = rows(curve)
            wanted[:, 1:4] = wanted[:, 1:4].astype(np.float32)
        np.testing.assert_array_equal(series.rows, wanted)
