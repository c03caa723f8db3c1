"""Buckets: the reduction does not depend on chunking, and no peak, NaN or finite value is lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.values.arrays import FloatArray
from nbtrain.recording.buckets import LIMIT, BucketCurve, Buckets

# Whole numbers: their sums are exact in any order.
WHOLE = st.integers(-1000, 1000).map(float)
ODD = st.sampled_from([float("nan"), float("inf"), float("-inf"), 0.0, 1e300, -1e300])


def curve_of(values: FloatArray, chunks: Sequence[int] = ()) -> BucketCurve:
    """Returns a curve that got its points in chunks of these sizes, the rest at the end."""
    curve, steps, begin = BucketCurve(), 10 + 3 * np.arange(len(values)), 0
    for size in [*chunks, len(values)]:
        part = slice(begin, begin + size)
        curve.extend(steps[part], (0.5 * steps[part]).astype(np.float64), values[part])
        begin += size
    return curve


def brute_force(values: FloatArray) -> Buckets:
    """Computes the buckets by definition: splits, then reduces each part."""
    stride = 1
    while -(-len(values) // stride) > LIMIT:
        stride *= 2
    parts = [values[at : at + stride] for at in range(0, len(values), stride)]
    finite = [part[np.isfinite(part)] for part in parts]
    with np.errstate(invalid="ignore", over="ignore"):
        return Buckets(
            stride,
            len(values),
            0,
            np.array([10.0 + 3 * at for at in range(0, len(values), stride)]),
            np.array([5.0 + 1.5 * at for at in range(0, len(values), stride)]),
            np.array([part.sum() / len(part) if len(part) else np.nan for part in finite]),
            np.array([part.min() if len(part) else np.nan for part in finite]),
            np.array([part.max() if len(part) else np.nan for part in finite]),
            np.array(
                [[np.isnan(p).sum(), (p == np.inf).sum(), (p == -np.inf).sum()] for p in parts]
            ),
        )


def assert_same(got: Buckets, wanted: Buckets) -> None:
    """Compares every column, with NaN equal to NaN."""
    assert (got.stride, got.points, got.start) == (wanted.stride, wanted.points, wanted.start)
    for name in ("steps", "wall_times", "mean", "lo", "hi", "unseen"):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), err_msg=name)


@given(
    pattern=st.lists(WHOLE, min_size=1, max_size=40),
    length=st.integers(1, 3000),
    chunks=st.lists(st.integers(0, 1200), max_size=12),
)
def test_any_chunking_gives_the_same_buckets(
    pattern: list[float], length: int, chunks: list[int]
) -> None:
    values = np.resize(np.array(pattern), length)
    assert_same(curve_of(values, chunks).view(), brute_force(values))


@given(
    length=st.integers(1, 2500),
    places=st.dictionaries(st.integers(0, 2499), ODD, max_size=8),
    chunks=st.lists(st.integers(0, 900), max_size=8),
)
def test_nan_and_infinity_are_counted_beside_the_finite_values_at_every_stride(
    length: int, places: dict[int, float], chunks: list[int]
) -> None:
    values = np.ones(length)
    for place, value in places.items():
        values[place % length] = value
    got = curve_of(values, chunks).view()
    wanted = brute_force(values)
    np.testing.assert_array_equal(got.lo, wanted.lo)
    np.testing.assert_array_equal(got.hi, wanted.hi)
    np.testing.assert_array_equal(got.unseen, wanted.unseen)
    np.testing.assert_array_equal(np.isfinite(got.mean), np.isfinite(wanted.mean))


@given(length=st.integers(1, 3000), seed=st.integers(0, 2**32 - 1))
def test_means_equal_those_of_numpy(length: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=length)
    got, wanted = curve_of(values, [length // 3]).view(), brute_force(values)
    np.testing.assert_allclose(got.mean, wanted.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(got.lo, wanted.lo)
    np.testing.assert_array_equal(got.hi, wanted.hi)


@pytest.mark.parametrize("length", [1, 2, 511, 512, 513, 1023, 1024, 1025, 100_000, 1_000_000])
def test_there_are_at_most_512_buckets_and_more_than_half_of_that(length: int) -> None:
    curve = curve_of(np.zeros(length))
    assert len(curve.view().mean) == len(curve) <= 512
    assert len(curve) >= min(length, 256)


def test_a_single_peak_in_a_million_points_is_not_lost() -> None:
    values = np.zeros(1_000_000)
    values[654_321] = 7.0
    view = curve_of(values).view()
    assert view.hi.max() == 7.0
    at = int(view.hi.argmax())
    assert view.steps[at] <= 10 + 3 * 654_321 < view.steps[at + 1]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_bucket_is_of_its_finite_values_and_counts_the_others(odd: float) -> None:
    values = np.arange(2048.0) % 7 + 1
    values[::7] = odd
    view = curve_of(values).view()
    assert view.stride == 4
    assert (view.lo.min(), view.hi.max()) == (2.0, 7.0)
    assert (view.mean[0], view.mean[1]) == (3.0, 6.0), "of 2, 3, 4 and of 5, 6, 7"
    kind = [np.nan, np.inf, -np.inf].index(odd)
    assert view.unseen.sum(axis=0)[kind] == view.unseen.sum() == len(values[::7])
    assert view.unseen[:, kind].tolist()[:8] == [1, 1, 0, 1, 0, 1, 0, 1]


def test_a_bucket_without_a_finite_value_is_nan() -> None:
    values = np.ones(1024)
    values[:4] = np.nan, np.inf, -np.inf, np.inf
    view = curve_of(values).view()
    for column in (view.mean, view.lo, view.hi):
        assert np.flatnonzero(np.isnan(column)).tolist() == [0, 1]
    assert view.unseen[:3].tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_an_empty_curve_has_no_buckets() -> None:
    view = BucketCurve().view()
    assert (len(view.steps), view.points, view.stride) == (0, 0, 1)


def test_a_part_can_be_viewed() -> None:
    values = np.arange(100.0)
    whole = curve_of(values).view()
    part = curve_of(values).view(90, 5)
    assert part.start == 90
    np.testing.assert_array_equal(part.mean, whole.mean[90:95])
    assert len(curve_of(values).view(98, 50).mean) == 2


def test_the_last_bucket_is_the_mean_of_the_points_it_has() -> None:
    view = curve_of(np.concatenate([np.zeros(1024), [3.0]])).view()
    assert view.stride == 4
    assert view.mean[-1] == 3.0
    assert curve_of(np.concatenate([np.zeros(1024), [3.0]])).view(256, 1).mean.tolist() == [3.0]


def test_a_view_does_not_change_when_the_curve_grows() -> None:
    curve = curve_of(np.zeros(4))
    view = curve.view()
    curve.extend(np.arange(4, 2000), np.arange(4.0, 2000.0), np.ones(1996))
    assert view.mean.tolist() == [0.0] * 4
    assert view.steps.tolist() == [10.0, 13.0, 16.0, 19.0]
