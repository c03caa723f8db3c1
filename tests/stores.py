"""Scalars to fill a store with."""

from __future__ import annotations

import numpy as np

from nbtrain.recording.parts import Curve
from nbtrain.recording.store import ScalarStore
from tests.front_end import FloatArray

TAGS = ("loss", "accuracy", "Größe/β")


def add(store: ScalarStore, tag: str, first: int, *values: float) -> None:
    """Records values of consecutive steps from `first` on, one per second."""
    steps = np.arange(first, first + len(values), dtype=np.int64)
    walls = steps.astype(np.float64) + 1000.0
    store.extend(tag, steps, walls, np.array(values, dtype=np.float64))


def rows(curve: Curve) -> FloatArray:
    """The buckets as a page holds them."""
    buckets = curve.buckets
    columns = [buckets.steps, buckets.mean, buckets.lo, buckets.hi, buckets.wall_times]
    return np.column_stack([*columns, buckets.unseen])
