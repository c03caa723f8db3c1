"""Samples, which a step can record besides scalars: pictures, texts, histograms, sounds, curves.

An array of images, a Matplotlib figure and a text are recognized as they are. The classes below
say what other arrays mean. The training thread only checks types and shapes, and keeps a
reference or a copy; `encoding` does the rest in another thread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError

# Images of a batch that are recorded: as many as the panel shows of one step.
IMAGES = 12

_CHANNELS = (1, 3, 4)
_WAYS = (
    "a scalar was expected: a number, or a tensor of shape (), such as tf.reduce_mean(...) gives. "
    "In record() and evaluate= it may also be images of shape (height, width, channels) or (batch, "
    "height, width, channels), a Matplotlib figure, a text, or nbtrain.media.Histogram, Audio, "
    "ConfusionMatrix or PRCurve of an array."
)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The distribution of the values of an array.

    Attributes:
        values: Numbers, of any shape: an array, a tensor, a variable.

    Example:
        >>> run.record(weights=nbtrain.media.Histogram(layer.kernel))
    """

    values: Any

    def __post_init__(self) -> None:
        _check_numbers("Histogram(values)", self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Audio:
    """A sound.

    Attributes:
        samples: Floats from -1 to 1, or int16, of shape (frames,) or (frames, channels).
        sample_rate: Frames a second.

    Example:
        >>> run.record(speech=nbtrain.media.Audio(wave, sample_rate=16_000))
    """

    samples: Any
    sample_rate: int

    def __post_init__(self) -> None:
        _check_numbers("Audio(samples)", self.samples)
        shape = _shape(self.samples)
        if len(shape) not in (1, 2) or (len(shape) == 2 and not 1 <= shape[1] <= 2):
            raise ArgumentError(
                f"Audio(samples) has the shape {shape}: give (frames,), or (frames, channels) with "
                "one or two channels."
            )
        if type(self.sample_rate) is not int or self.sample_rate < 1:
            raise ArgumentError(
                f"Audio(sample_rate={self.sample_rate!r}): give the frames a second, such as 16000."
            )


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionMatrix:
    """The counts of true and predicted classes, drawn as a picture.

    Attributes:
        counts: Whole numbers of shape (classes, classes): the true class by row, the predicted one
            by column, as `tf.math.confusion_matrix` and scikit-learn return them.
        names: The names of the classes; if empty, the picture shows their numbers.

    Example:
        >>> matrix = tf.math.confusion_matrix(labels, predictions)
        >>> run.record(confusion=nbtrain.media.ConfusionMatrix(matrix, ["cat", "dog"]))
    """

    counts: Any
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_numbers("ConfusionMatrix(counts)", self.counts)
        shape, kind = _shape(self.counts), _dtype(self.counts)
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0] or kind.kind not in "iu":
            raise ArgumentError(
                f"ConfusionMatrix(counts) has the shape {shape} and the type {kind}: give whole "
                "numbers of shape (classes, classes), such as tf.math.confusion_matrix(labels, "
                "predictions) gives."
            )
        names = self.names
        if isinstance(names, str) or (len(names) and len(names) != shape[0]):
            raise ArgumentError(
                f"ConfusionMatrix(names={names!r:.80}): give a list of {shape[0]} names, one for "
                "each class."
            )


@dataclass(frozen=True, slots=True, eq=False)
class PRCurve:
    """Precision and recall of a binary classifier at all thresholds.

    Attributes:
        labels: The truth: booleans, or numbers that are 0 or 1; of any shape.
        predictions: Probabilities from 0 to 1, of the same shape.

    Example:
        >>> run.record(quality=nbtrain.media.PRCurve(labels, model(x)))
    """

    labels: Any
    predictions: Any

    def __post_init__(self) -> None:
        _check_numbers("PRCurve(labels)", self.labels)
        _check_numbers("PRCurve(predictions)", self.predictions)
        labels, predictions = _shape(self.labels), _shape(self.predictions)
        if labels != predictions:
            raise ArgumentError(
                f"PRCurve: labels have the shape {labels}, and predictions {predictions}: give one "
                "prediction for each label."
            )


_CLASSES = (Histogram, Audio, ConfusionMatrix, PRCurve)

# Their attributes that can change before they are encoded.
_ARRAYS = ("values", "samples", "counts", "names", "labels", "predictions")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A value that waits to be encoded.

    Attributes:
        tag: The tag of the value.
        step: The step of the value.
        wall_time: Seconds since the epoch.
        value: One of the classes above, a text, a figure, or images; see `first_images`.
        of: The number of images in the recorded value.
        segment: How many times the run had gone back to an earlier step before.
    """

    tag: str
    step: int
    wall_time: float
    value: Any
    of: int = 1
    segment: int = 0

    @property
    def size(self) -> int:
        """The approximate size in memory, in bytes."""
        if isinstance(self.value, str):
            return len(self.value)
        is_of_class = isinstance(self.value, _CLASSES)
        return sum(map(_bytes, _arrays(self.value).values() if is_of_class else [self.value]))


def _arrays(value: object) -> dict[str, Any]:
    """Returns the arrays of a value of one of the classes above, by attribute."""
    return {name: getattr(value, name) for name in _ARRAYS if hasattr(value, name)}


def is_sample(value: object) -> bool:
    """Returns whether a value is a sample and not a scalar, by its type and shape alone."""
    if isinstance(value, (str, *_CLASSES)):
        return True
    return _is_figure(value) or len(getattr(value, "shape", None) or ()) in (3, 4)


def kept_copy(tag: str, value: Any) -> tuple[Any, int]:
    """Returns what is kept of a value until it is encoded, and the number of its images.

    A tensor is kept by reference, because it never changes. The numbers of an array or a variable
    are copied, which takes 1 to 2 ms for each MB; only the first `IMAGES` images are copied. A
    figure is kept by reference.

    Raises:
        ArgumentError: The value is of no kind that can be recorded.
    """
    if isinstance(value, str) or _is_figure(value):
        return value, 1
    if isinstance(value, _CLASSES):
        return replace(value, **{name: _fixed(each) for name, each in _arrays(value).items()}), 1
    return _images(tag, value)


def refusal(tag: object, value: object) -> ArgumentError:
    """Returns the error for a value that is neither a scalar nor a sample."""
    shape = getattr(value, "shape", None)
    what = f"has the shape {tuple(shape)}" if shape else f"is {value!r:.200}"
    return ArgumentError(f"{tag!r} {what}, and {_WAYS}")


def first_images(value: Any) -> Any:
    """Returns the images that are kept of a picture or a batch, as a batch."""
    shape = value.shape
    return (value[None] if len(shape) == 3 and shape[2] in _CHANNELS else value)[:IMAGES]


def _images(tag: str, value: Any) -> tuple[Any, int]:
    shape, kind = _shape(value), _dtype(value)
    if len(shape) == 3 and shape[2] in _CHANNELS:
        shape = (1, *shape)
    batch = len(shape) == 3 or (len(shape) == 4 and shape[3] in _CHANNELS)
    if not batch or not all(shape):
        raise refusal(tag, value)
    if not (kind == np.uint8 or kind.kind in "fb" or kind.name == "bfloat16"):
        raise ArgumentError(
            f"{tag!r} has the shape {shape} and the type {kind}: images are uint8 from 0 to 255, "
            f"or floats from 0 to 1, such as tf.cast({tag}, tf.uint8)."
        )
    changes = isinstance(value, np.ndarray) or hasattr(value, "assign")
    return _fixed(first_images(value) if changes else value), shape[0]


def _fixed(value: Any) -> Any:
    """Returns the value as it is now: a copy if it can change."""
    if getattr(value, "graph", None) is not None:  # only a traced tensor has one
        raise ArgumentError(
            f"{value!r:.200} is a tensor of a function while it is traced, which has no value: "
            "record outside of the tf.function, or call tf.summary.image and the like in it."
        )
    if hasattr(value, "assign"):  # a variable
        value = value[...] if hasattr(value, "shape") and value.shape else value
    return np.array(value) if isinstance(value, np.ndarray | list | tuple) else value


def _is_figure(value: object) -> bool:
    figure = sys.modules.get("matplotlib.figure")
    return figure is not None and isinstance(value, figure.Figure)


def _check_numbers(said: str, value: Any) -> None:
    try:
        shape, kind = _shape(value), _dtype(value)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{said} is {value!r:.80}: give an array of numbers.") from error
    if kind.kind not in "biuf" and kind.name != "bfloat16":
        raise ArgumentError(f"{said} has the type {kind}: give an array of numbers.")
    if 0 in shape:
        raise ArgumentError(f"{said} has the shape {shape}, so no value: give at least one.")


def _shape(value: Any) -> tuple[int, ...]:
    shape = value.shape if hasattr(value, "shape") else np.shape(value)
    return tuple(int(size) for size in shape)


def _dtype(value: Any) -> np.dtype[Any]:
    kind = getattr(value, "dtype", None)
    if kind is None:
        kind = np.asarray(value).dtype
    return np.dtype(getattr(kind, "as_numpy_dtype", kind))


def _bytes(value: Any) -> int:
    try:
        return int(np.prod(_shape(value))) * _dtype(value).itemsize
    except (TypeError, ValueError, AttributeError):
        return 1 << 18  # a figure
