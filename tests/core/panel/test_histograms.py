"""Histograms on a page: the bands equal TensorBoard's, and the bins keep every value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tensorboard.plugins.distribution import compressor

from nbtrain.panel.histograms import BINS, PERCENTILES, bands, ridges, spread


@st.composite
def buckets(draw: st.DrawFn) -> Any:
    """Adjacent buckets, some empty, some without width."""
    widths = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 7.5]), min_size=1, max_size=12))
    edges = draw(st.integers(-9, 9)) + np.cumsum([0.0, *widths])
    counts = [float(draw(st.integers(0, 9))) for _ in widths]
    return np.array([edges[:-1], edges[1:], counts]).T


@given(buckets())
def test_bands_equal_those_of_tensorboard(given: Any) -> None:
    assert compressor.NORMAL_HISTOGRAM_BPS == PERCENTILES
    assume(given[:, 2].any())
    expected = [value for _, value in compressor.compress_histogram(given)]
    np.testing.assert_allclose(bands(given), expected, atol=1e-9)


@pytest.mark.parametrize(
    "rows", [[], [[0.0, 0.0, 0.0]], [[1.0, 2.0, 0.0]] * 3, [[np.nan, np.nan, 3.0]]]
)
def test_a_histogram_without_finite_values_has_no_bands(rows: list[list[float]]) -> None:
    """TensorBoard draws them at zero, as if the values had become that."""
    assert np.isnan(bands(np.array(rows).reshape(-1, 3))).all()


@given(st.lists(buckets(), min_size=1, max_size=5))
def test_common_bins_keep_every_count(given: list[Any]) -> None:
    edges, counts = ridges(given)
    assert edges.shape == (BINS + 1,)
    assert (np.diff(edges) > 0).all()
    np.testing.assert_allclose(counts.sum(axis=1), [each[:, 2].sum() for each in given])


def test_values_are_spread_evenly_within_their_bucket() -> None:
    edges, (counts, other) = ridges([np.array([[0.0, 6.0, 6.0]]), np.array([[3.0, 3.0, 5.0]])])
    np.testing.assert_allclose(counts, 6 / BINS)
    (bin_,) = np.flatnonzero(other)
    assert edges[bin_] < 3 <= edges[bin_ + 1]


@given(st.lists(st.tuples(*[st.floats()] * 3), max_size=4))
def test_any_contents_of_a_file_are_drawn_without_a_warning(rows: list[Any]) -> None:
    given = np.array(rows).reshape(-1, 3)
    edges, counts = ridges([given])
    assert np.isfinite(edges).all()
    assert np.isfinite(counts).all()
    found = np.isfinite(bands(given))
    assert found.all() if counts.any() else True


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_buckets_without_ends_are_left_out(odd: float) -> None:
    _, counts = ridges([np.array([[0.0, 1.0, 4.0], [1.0, odd, 3.0]])])
    assert counts.sum() == pytest.approx(4)


def test_a_spread_has_both_ends_and_at_most_the_requested_number() -> None:
    assert spread(3, 50).tolist() == [0, 1, 2]
    assert spread(1, 50).tolist() == [0]
    places = spread(1000, 50)
    assert (len(places), places[0], places[-1]) == (50, 0, 999)
