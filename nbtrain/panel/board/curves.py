"""Reduces the curves of a tag to the number of points that a board's page can show.

A page requests a tag, runs, an axis and the visible range. The kernel, which has every point,
answers with buckets of that range. So zooming in shows finer points, and a million points cost the
page no more than a thousand. The kernel also smooths the curves over all points, so zooming does
not change a smoothed curve.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.arrays import FloatArray, IntArray
from nbtrain.core.values.direction import is_highest
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.series import Points
from nbtrain.logdir.summary_stats import extent_of
from nbtrain.recording.buckets import LIMIT, reduced, sparse
from nbtrain.recording.smoothing import smoothed

AXES = ("step", "relative", "wall")

# Buckets of a chart over all its runs, and the fewest for each run.
CHART_BUCKETS, RUN_BUCKETS = 4096, 64
# The newest abandoned tails of a run that are shown, and buckets of each.
TAILS, TAIL_BUCKETS = 8, 64
CSV_ROWS = 500_000
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # the first characters of a formula
# The number of points per curve that TensorBoard shows and smooths. On a longer curve, the
# smoothing average covers the same fraction of the curve, over all points. So the slider has the
# same effect.
SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Want:
    """A request of a page for curves.

    Attributes:
        tag: The tag of the chart.
        runs: The names of the runs; None for all runs that have the tag.
        x: The axis, one of `AXES`.
        log_x: Whether the axis is logarithmic; points at or below 0 are then left out.
        low, high: The visible range, in the unit of the axis.
        smooth: TensorBoard's smoothing, from 0 to below 1.
    """

    tag: str
    runs: frozenset[str] | None = None
    x: str = "step"
    log_x: bool = False
    low: float = -math.inf
    high: float = math.inf
    smooth: float = 0.0

    @staticmethod
    def of(content: Mapping[str, object]) -> Want:
        """Parses a message.

        Raises:
            ArgumentError: The message is malformed.
        """
        tag, runs, x = content.get("tag"), content.get("runs"), content.get("x", "step")
        smooth, bounds = content.get("smooth", 0.0), content.get("range")
        if not isinstance(tag, str):
            raise ArgumentError(f"tag={tag!r} is not the name of a tag.")
        if runs is not None and not (
            isinstance(runs, list) and all(isinstance(run, str) for run in runs)
        ):
            raise ArgumentError(f"runs={runs!r} is not a list of names.")
        if x not in AXES:
            raise ArgumentError(f"x={x!r} is not an axis; there are: {', '.join(AXES)}.")
        if not _is_number(smooth) or not 0 <= smooth < 1:
            raise ArgumentError(f"smooth={smooth!r} is not a weight: give 0 or more, below 1.")
        low, high = _bounds(bounds)
        names = None if runs is None else frozenset(runs)
        return Want(tag, names, str(x), content.get("log_x") is True, low, high, float(smooth))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value) and value is not True


def _bounds(given: object) -> tuple[float, float]:
    if given is None:
        return -math.inf, math.inf
    match given:
        case [low, high] if _is_number(low) and _is_number(high) and low < high:
            return float(low), float(high)
    raise ArgumentError(f"range={given!r} is not a range: give two numbers, the lower one first.")


def state_of(scalars: Scalars, want: Want) -> str:
    """Returns a text that changes whenever the answer may: the number of points of each run."""
    return ",".join(f"{run}:{scalars.count(run, want.tag)}" for run in runs_of(scalars, want))


def curves(scalars: Scalars, want: Want) -> tuple[list[dict[str, object]], bytes]:
    """Returns the curves of a tag: a description for each run, and the buffer.

    The buffer contains float64, run after run: seven numbers of the whole curve (last value and
    step, lowest and step, highest and step, number of points), then rows of x, mean, lo, hi and
    smoothed mean. The rows of the kept points come first, those of each abandoned tail last.
    Between them is a row for each of the `unseen` kept buckets with values that are not finite: the
    index of the bucket, and how many values are NaN, ∞ and −∞.
    """
    runs = runs_of(scalars, want)
    limit = buckets_of_each(len(runs))
    entries: list[dict[str, object]] = []
    parts: list[FloatArray] = []
    for run in runs:
        points = scalars[run, want.tag]
        kept, stride = kept_buckets(points, want, limit)
        unseen = sparse(kept[:, 5:])
        tails = _tails(points, want)
        direction = scalars.reader.directions(run).of(want.tag)
        entry: dict[str, object] = {"run": run, "higher": is_highest(direction)}
        entry |= {"left_out": _left_out(points, want), "n": len(kept), "stride": stride}
        entries.append({**entry, "unseen": len(unseen), "tails": [len(tail) for tail in tails]})
        numbers = np.array(extent_of(points).numbers)
        parts += [numbers, kept[:, :5], unseen, *(tail[:, :5] for tail in tails)]
    return entries, b"".join(part.astype("<f8").tobytes() for part in parts)


def as_csv(scalars: Scalars, want: Want) -> bytes:
    """Returns the visible points as CSV, without abandoned ones.

    The columns are run, tag, step, wall_time and value. A name that a spreadsheet would read as a
    formula gets a leading apostrophe, as in the page's own tables (js/board/table/cells.js).

    Raises:
        ArgumentError: There are too many points for a page.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("run", "tag", "step", "wall_time", "value"))
    left = CSV_ROWS
    for run in runs_of(scalars, want):
        points = scalars[run, want.tag]
        x = _axis(points, want.x)
        chosen = ~points.abandoned & (x >= want.low) & (x <= want.high)
        left -= int(chosen.sum())
        if left < 0:
            raise ArgumentError(
                f"More than {CSV_ROWS:,} points are visible: zoom in, or write them in the "
                "notebook by nbtrain.scalars(logdir).to_csv(path)."
            )
        columns = (points.steps[chosen], points.wall_times[chosen], points.values[chosen])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        names = (_no_formula(run), _no_formula(want.tag))
        writer.writerows((*names, *row) for row in rows)
    return out.getvalue().encode()


def _no_formula(name: str) -> str:
    return f"'{name}" if name.startswith(_FORMULAS) else name


def runs_of(scalars: Scalars, want: Want) -> list[str]:
    """Returns the runs of a request that have its tag."""
    having = scalars.having(want.tag)
    return having if want.runs is None else [run for run in having if run in want.runs]


def _axis(points: Points, x: str) -> FloatArray:
    if x == "step":
        return points.steps.astype(np.float64)
    if x == "wall" or not len(points):
        return points.wall_times
    times = points.wall_times
    for begun in (times[~points.abandoned], times):
        if len(found := begun[np.isfinite(begun)]):
            relative: FloatArray = times - found[0]
            return relative
    return times


def buckets_of_each(runs: int) -> int:
    """Returns the most buckets that each of `runs` runs may have in a chart."""
    return max(RUN_BUCKETS, min(LIMIT, CHART_BUCKETS // max(1, runs)))


def kept_buckets(points: Points, want: Want, limit: int) -> tuple[FloatArray, int]:
    """Reduces the points that were not abandoned to buckets in the order of the axis.

    Returns:
        float64 of shape (n, 8), n at most `limit`: first x; mean, lowest, highest and mean of the
        smoothed values, all without values that are not finite; how many values are NaN, ∞ and −∞.
        Then the number of points in the largest bucket.
    """
    x = _axis(points, want.x)
    chosen = ~points.abandoned & np.isfinite(x)
    x, values = x[chosen], points.values[chosen]
    weight = want.smooth ** min(1.0, SAMPLES / max(1, len(values)))
    smooth = smoothed(values, weight) if want.smooth else values
    if (x[1:] < x[:-1]).any():  # a clock was set back
        order = np.argsort(x, kind="stable")
        x, values, smooth = x[order], values[order], smooth[order]
    part = _in_sight(x, want)
    starts = _starts(x[part], want, limit)
    x, shown = x[part], values[part]
    ends = np.concatenate([starts[1:], [len(x)]]) if len(x) else starts
    stride = int((ends - starts).max(initial=1))
    return _buckets(x, shown, smooth[part] if want.smooth else shown, starts), stride


def _tails(points: Points, want: Want) -> list[FloatArray]:
    """The buckets of the newest visible abandoned tails."""
    if not points.abandoned.any():
        return []
    x = _axis(points, want.x)
    gone = np.flatnonzero(points.abandoned & np.isfinite(x))
    if not len(gone):
        return []
    ends = np.flatnonzero((np.diff(gone) != 1) | (np.diff(x[gone]) < 0)) + 1
    found = []
    for tail in np.split(gone, ends[-TAILS:])[-TAILS:]:
        part = tail[_in_sight(x[tail], want)]
        values = points.values[part]
        found.append(_buckets(x[part], values, values, _starts(x[part], want, TAIL_BUCKETS)))
    return [tail for tail in found if len(tail)]


def _in_sight(x: FloatArray, want: Want) -> slice:
    """The visible part of an ascending axis, with a neighbour on each side for the lines."""
    first = int(np.searchsorted(x, want.low)) - 1
    if want.log_x:
        first = max(first, int(np.searchsorted(x, 0, "right")))
    return slice(max(0, first), int(np.searchsorted(x, want.high, "right")) + 1)


def _left_out(points: Points, want: Want) -> int:
    """The number of points that were not abandoned but cannot be placed on the axis."""
    if want.x == "step" and not want.log_x:
        return 0
    x = _axis(points, want.x)[~points.abandoned]
    return int((~np.isfinite(x) | ((x <= 0) & want.log_x)).sum())


def _starts(x: FloatArray, want: Want, limit: int) -> IntArray:
    """The first indices of at most `limit` buckets of similar size or width on the axis."""
    if not want.log_x or len(x) <= limit:
        return np.arange(0, len(x), max(1, -(-len(x) // limit)))
    edges = np.geomspace(x[0], x[-1], limit + 1)[1:-1]
    return np.unique(np.append(0, np.searchsorted(x, edges)))


def _buckets(x: FloatArray, values: FloatArray, smooth: FloatArray, starts: IntArray) -> FloatArray:
    """Computes the rows of `kept_buckets` from the first index of each bucket.

    A last bucket that is smaller than the one before is extended backwards: the mean of one point
    among means of many would look like a bend in the curve.
    """
    if not len(x):
        return np.empty((0, 8))
    begins, ends = starts.copy(), np.append(starts[1:], len(x))
    if len(starts) > 1:
        begins[-1] -= max(0, 2 * starts[-1] - starts[-2] - len(x))
    bounds = np.column_stack([begins, ends]).ravel()[:-1]  # every second slice is a bucket
    each = reduced(values, bounds).of(slice(None, None, 2))
    means, lows, highs = each.finished(ends - begins)
    smoothed_means = means
    if smooth is not values:
        averages = reduced(smooth, bounds).of(slice(None, None, 2))
        smoothed_means, _, _ = averages.finished(ends - begins)
    return np.column_stack([x[starts], means, lows, highs, smoothed_means, each.unseen])
