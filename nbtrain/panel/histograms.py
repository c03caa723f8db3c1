"""Prepares histograms of several steps for a page: ridges with common bins, and bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import FloatArray
from nbtrain.logdir.history import History
from nbtrain.tfevents.values import HistogramValue

BINS = 60
_LARGEST = 1e150  # sums and differences up to here are finite
# TensorBoard's percentiles, in hundredths of a percent: the median, 1, 2 and 3 standard deviations
# of a normal distribution around it, and the extremes.
PERCENTILES = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)


def ridges(histograms: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Recounts histograms in common bins.

    Values are assumed to be evenly spread within a bucket.

    Args:
        histograms: The buckets of each histogram, float64 of shape (k, 3): left, right, count.

    Returns:
        The edges of the bins, of shape (BINS + 1,), and the counts, (len(histograms), BINS).
    """
    usable = map(_usable, histograms)
    full = [buckets[buckets[:, 2] > 0] for buckets in usable]
    outer = np.concatenate([buckets[:, :2].ravel() for buckets in full])
    low, high = (outer.min(), outer.max()) if len(outer) else (0.0, 1.0)
    if not low < high:
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    edges = np.linspace(low, high, BINS + 1)
    return edges, np.array([_counted(buckets, edges) for buckets in full])


def bands(buckets: FloatArray) -> FloatArray:
    """Returns the values of a histogram at `PERCENTILES`, interpolated as in TensorBoard.

    See `compress_histogram` in tensorboard/plugins/distribution/compressor.py. For a histogram
    without finite values the result is NaN, where TensorBoard draws zeros.

    Args:
        buckets: float64 of shape (k, 3): left, right, count.
    """
    buckets = _usable(buckets)
    if not buckets[:, 2].any():
        return np.full(len(PERCENTILES), np.nan)
    least, most = buckets[0, 0], buckets[-1, 1]
    counts = buckets[:, 2]
    weights = (counts * PERCENTILES[-1] / (counts.sum() or 1.0)).cumsum()
    before = np.concatenate([[0.0], weights[:-1]])
    lefts = np.concatenate([[least], buckets[:-1, 1]])
    full = weights > before
    lefts, rights = np.where(before > 0, lefts, least)[full], buckets[full, 1]
    at = np.stack([before[full], weights[full]], axis=1).ravel()
    ends = np.clip(np.stack([lefts, rights], axis=1).ravel(), least, most)
    within = np.interp(PERCENTILES, at, ends)
    found: FloatArray = np.where(np.array(PERCENTILES) >= weights[-1], most, within)
    return found


def spread(count: int, most: int) -> npt.NDArray[np.int64]:
    """Returns at most `most` evenly spread indices below `count`, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def buckets_of(history: History, places: Iterable[int]) -> list[FloatArray]:
    """Reads the buckets of the histograms at some indices from their files."""
    values = [history[place] for place in places]
    return [value.buckets for value in values if isinstance(value, HistogramValue)]


def _usable(buckets: FloatArray) -> FloatArray:
    """Returns the buckets that can be drawn; a file may contain any numbers."""
    return buckets[(np.abs(buckets) <= _LARGEST).all(axis=1) & (buckets[:, 2] >= 0)]


def _counted(buckets: FloatArray, edges: FloatArray) -> FloatArray:
    if not len(buckets):
        return np.zeros(BINS)
    after = buckets[:, 2].cumsum()
    knots = np.stack([after - buckets[:, 2], after], axis=1).ravel()
    below = np.interp(edges, buckets[:, :2].ravel(), knots)
    below[0] = 0.0  # values on the lowest edge are in the first bin
    return np.diff(below)
