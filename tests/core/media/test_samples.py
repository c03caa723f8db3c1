"""Samples, recorded beside scalars: their kinds, what is refused, and what waits."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.media.samples import (
    IMAGES,
    Audio,
    ConfusionMatrix,
    Histogram,
    PRCurve,
    Sample,
    is_sample,
    kept_copy,
)
from nbtrain.recording import sample_queue
from nbtrain.recording.sample_queue import SampleQueue
from nbtrain.recording.tags import KnownTags

GREY, COLOURED = np.zeros((20, 8, 8)), np.zeros((2, 8, 8, 3), np.uint8)


@pytest.mark.parametrize("value", [GREY, COLOURED, COLOURED[0], "a text", Histogram([1.0])])
def test_pictures_and_texts_are_told_from_scalars(value: Any) -> None:
    assert is_sample(value)
    assert not any(map(is_sample, (1, 2.0, np.float32(3), np.zeros(()), np.zeros(4), None)))


@pytest.mark.parametrize(
    ("given", "shape", "count"),
    [(GREY, (IMAGES, 8, 8), 20), (COLOURED, (2, 8, 8, 3), 2), (COLOURED[0], (1, 8, 8, 3), 1)],
)
def test_images_become_a_batch_of_which_the_first_are_kept(
    given: Any, shape: tuple[int, ...], count: int
) -> None:
    value, of = kept_copy("x", given)
    assert (value.shape, of) == (shape, count)


def test_an_array_is_copied_as_the_next_step_may_overwrite_it() -> None:
    array = np.zeros((1, 4, 4, 1))
    value, _ = kept_copy("x", array)
    counts = np.eye(2, dtype=int)
    matrix, _ = kept_copy("m", ConfusionMatrix(counts))
    array += 1
    counts += 1
    assert not value.any()
    assert matrix.counts.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((2, 3, 4, 5)), r"'x' has the shape \(2, 3, 4, 5\), and a scalar was expected"),
        (np.zeros((0, 4, 4, 1)), r"'x' has the shape \(0, 4, 4, 1\), and"),
        (np.zeros((2, 4, 4), int), "images are uint8 from 0 to 255, or floats from 0 to 1"),
    ],
)
def test_what_is_no_picture_is_refused_with_what_is(value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        kept_copy("x", value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Histogram("abc"), "Histogram.values. has the type <U3: give an array of numbers"),
        (lambda: Histogram([]), r"has the shape \(0,\), so no value"),
        (lambda: Histogram([[1], [1, 2]]), "give an array of numbers"),
        (lambda: Audio(np.zeros((5, 3)), 8000), r"has the shape \(5, 3\): give \(frames,\)"),
        (lambda: Audio(np.zeros(5), 0), "sample_rate=0.: give the frames a second"),
        (
            lambda: Audio(np.zeros(5), cast(Any, 8e3)),
            "sample_rate=8000.0.: give the frames a second",
        ),
        (lambda: ConfusionMatrix(np.zeros((2, 3), int)), r"the shape \(2, 3\) and the type int64"),
        (lambda: ConfusionMatrix(np.eye(2)), "the type float64: give whole numbers"),
        (lambda: ConfusionMatrix(np.eye(2, dtype=int), ["a"]), "give a list of 2 names"),
        (lambda: ConfusionMatrix(np.eye(2, dtype=int), "ab"), "names='ab'.: give a list of 2"),
        (lambda: PRCurve([1, 0], [0.5]), r"labels have the shape \(2,\), and predictions \(1,\)"),
    ],
)
def test_the_classes_refuse_what_they_cannot_be_made_of(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_tag_is_either_of_scalars_or_of_samples() -> None:
    tags = KnownTags()
    scalars, samples = tags.part({"loss": 1.0, "said": "hello"})
    assert (scalars, samples) == ({"loss": 1.0}, {"said": "hello"})
    tags.admit(scalars)
    with pytest.raises(ArgumentError, match="'said' was recorded as a picture, a text or the like"):
        tags.part({"said": 2.0})
    with pytest.raises(ArgumentError, match="The tag 3 is no name"):
        tags.part({3: "hello"})  # type: ignore[dict-item]


# --- the queue ------------------------------------------------------------------------


class Clock:
    """A clock that goes on by a second with each look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def sample(step: int, value: Any = "text", tag: str = "x", at: float = 0.0) -> Sample:
    return Sample(tag, step, at, value)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("a text", 6),
        (np.zeros((2, 20, 20, 1), np.uint8), 800),
        (Histogram(np.zeros(100)), 800),
        (Audio(np.zeros(100, np.int16), 8000), 200),
        (ConfusionMatrix(np.zeros((10, 10), np.int64)), 800),
        (PRCurve(np.zeros(100, bool), np.zeros(100)), 900),
    ],
)
def test_every_array_of_what_waits_is_counted(value: Any, size: int) -> None:
    assert sample(1, value).size == size


def queue(**more: Any) -> tuple[SampleQueue, list[int]]:
    """A queue, and the steps that it has written."""
    written: list[int] = []
    return SampleQueue(lambda each, _: written.append(each.step), **more), written


def test_samples_that_come_too_fast_are_thinned_and_the_newest_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_queue, "MOST", 10)
    waiting, written = queue()
    for step in range(1, 101):
        waiting.append(sample(step))
    assert len(waiting) <= 10
    assert f"{100 - len(waiting):,} were left out, spread over the steps" in str(waiting.message)
    waiting.finish(60)
    assert written[-1] == 100
    assert written == sorted(written)


def test_the_bytes_of_what_waits_are_bounded_but_one_always_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_queue, "MOST_BYTES", 1000)
    waiting, written = queue()
    for step in (1, 2, 3):
        waiting.append(sample(step, np.zeros((1, 20, 20, 1))))
    waiting.finish(60)
    assert written == [3]


def test_encoding_rests_after_each_while_the_training_runs() -> None:
    clock = Clock()
    waiting, written = queue(clock=clock, cost=Clock())  # each costs a second
    for step in range(1, 5):
        waiting.append(sample(step))
    waiting.encode()
    assert written == [1]
    clock.now += 10
    waiting.encode()
    assert written == [1, 2]
    waiting.encode(rests=False)
    assert written == [1, 2, 3, 4]


def test_samples_that_have_waited_long_are_told() -> None:
    waiting, _ = queue()
    waiting.append(sample(3, at=time.time()))
    assert waiting.message is None
    waiting.encode()
    waiting.append(sample(7, at=time.time() - 60))
    waiting.append(sample(8, at=time.time()))
    assert waiting.message == "2 pictures and media wait to be encoded, from step 7 on."
    waiting.finish(60)
    assert waiting.message is None


def test_what_is_not_encoded_before_the_end_is_told() -> None:
    waiting, written = queue(clock=Clock())
    waiting.append(sample(7))
    waiting.finish(0)
    assert written == []
    assert "ended before 1 pictures and media were encoded, the first of step 7" in str(
        waiting.message
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.full((1, 2, 2, 1), 2.0), "x at step 1: its values go from 2 to 2 and are cut"),
        (
            np.full((1, 2, 2, 1), np.nan),
            "x at step 1: its NaN and infinite values are drawn",
        ),
        (
            Histogram([1.0, np.inf]),
            "x at step 1: 1 of its 2 values is NaN or infinite and is left out of the histogram.",
        ),
        (
            Histogram([1.0, np.inf, np.nan]),
            "x at step 1: 2 of its 3 values are NaN or infinite and are left out",
        ),
        (Audio([2.0], 8000), "x at step 1: its samples reach 2 and are cut at ±1; divide them"),
    ],
)
def test_values_that_are_cut_are_told_until_others_are_right(value: Any, message: str) -> None:
    waiting, written = queue()
    waiting.append(sample(1, value))
    waiting.append(sample(2, value))
    waiting.finish(60)
    assert message in str(waiting.message)
    waiting.append(sample(3))
    waiting.finish(60)
    assert waiting.message is None
    assert written == [1, 2, 3]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (PRCurve([2, 0], [0.5, 0.5]), "labels are 0 or 1, and one is 2"),
        (PRCurve([1, 0], [1.5, 0.5]), "predictions are from 0 to 1, and one is 1.5"),
    ],
)
def test_what_cannot_be_encoded_is_told_and_what_follows_is_written(
    value: Any, message: str
) -> None:
    waiting, written = queue()
    waiting.append(sample(1, value, "pr"))
    waiting.append(sample(2))
    waiting.finish(60)
    assert f"pr at step 1 is not shown: ValueError: {message}" in str(waiting.message)
    assert written == [2]
