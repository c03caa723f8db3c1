"""Encodes samples as TensorBoard's own summaries; never in the training thread.

The formats are those of tensorboard/plugins/*/summary_v2.py and pr_curve/summary.py, so that
TensorBoard and the boards show them too. A confusion matrix is an image there.
"""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbtrain.media.drawing import matrix_figure, png_of
from nbtrain.media.samples import (
    Audio,
    ConfusionMatrix,
    Histogram,
    PRCurve,
    Sample,
    first_images,
)

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

Array = npt.NDArray[Any]

BUCKETS = 30  # of a histogram, as in TensorBoard
THRESHOLDS = 201  # of a curve, as in TensorBoard
MOST_PIXELS = 1 << 24  # of an image; encoding a larger one would take too long, so it is thinned
_LEAST_COUNT = 1e-7  # as in TensorBoard
_MOST_FRAMES = 1 << 25  # of a sound: 64 MB as int16


def encoded(sample: Sample) -> tuple[bytes, str | None]:
    """Returns a serialized `Summary`, and a warning about unexpected values or None.

    The description in the summary names each change to the values, such as clipping.

    Raises:
        ValueError: The sample cannot be encoded.
        Exception: Any error that a figure or a tensor raises.
    """
    value, tag = sample.value, sample.tag
    if isinstance(value, str):
        return _text(tag, value), None
    if isinstance(value, Histogram):
        return _histogram(tag, np.asarray(value.values))
    if isinstance(value, Audio):
        return _audio(tag, np.asarray(value.samples), value.sample_rate)
    if isinstance(value, ConfusionMatrix):
        return _encoded_figure(tag, matrix_figure(np.asarray(value.counts), value.names)), None
    if isinstance(value, PRCurve):
        return _curve(tag, np.asarray(value.labels), np.asarray(value.predictions))
    if hasattr(value, "savefig"):
        return _encoded_figure(tag, value), None
    return _images(tag, np.asarray(first_images(value)), sample.of)


def keras_event(tag: str, model: str) -> Event:
    """Returns an event with a model's JSON, in the format of Keras's TensorBoard callback."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

    plugin = SummaryMetadata.PluginData(plugin_name="graph_keras_model", content=b"1")
    metadata = SummaryMetadata(plugin_data=plugin)
    summary = _summary(tag, metadata, np.array(model.encode(errors="replace"), object))
    return Event(summary=Summary.FromString(summary))


def _summary(tag: str, metadata: SummaryMetadata, array: Array) -> bytes:
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.util.tensor_util import make_tensor_proto

    made: Summary = Summary()
    made.value.add(tag=tag, metadata=metadata, tensor=make_tensor_proto(array))
    found: bytes = made.SerializeToString()
    return found


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _text(tag: str, text: str) -> bytes:
    from tensorboard.plugins.text.metadata import create_summary_metadata

    array = np.array(text.encode(errors="replace"), object)
    return _summary(tag, create_summary_metadata("", ""), array)


def _histogram(tag: str, values: Array) -> tuple[bytes, str | None]:
    from tensorboard.plugins.histogram.metadata import create_summary_metadata

    numbers = values.astype(np.float64).ravel()
    finite = numbers[np.isfinite(numbers)]
    buckets = np.zeros((0, 3))
    if len(finite):
        low, high = finite.min(), finite.max()
        count = BUCKETS if low < high else 1
        counts, edges = np.histogram(finite, count, (low, high) if low < high else None)
        if low == high:
            edges = np.array([low, high])
        buckets = np.stack([edges[:-1], edges[1:], counts], axis=1)
    note, lost = "", len(numbers) - len(finite)
    if lost:
        are = "is" if lost == 1 else "are"
        note = (
            f"{lost:,} of its {len(numbers):,} values {are} NaN or infinite and {are} left out of "
            "the histogram"
        )
    return _summary(tag, create_summary_metadata("", note), buckets), note or None


def _audio(tag: str, samples: Array, rate: int) -> tuple[bytes, str | None]:
    from tensorboard.plugins.audio import metadata

    cut = wrong = ""
    if len(samples) > _MOST_FRAMES:
        cut = f"the first {_MOST_FRAMES / rate:,.0f} of {len(samples) / rate:,.0f} s are kept"
        samples = samples[:_MOST_FRAMES]
    if samples.dtype != np.int16:
        numbers = np.nan_to_num(samples.astype(np.float64), nan=0.0, posinf=1.0, neginf=-1.0)
        most = float(np.abs(numbers).max())
        if most > 1:
            wrong = f"its samples reach {most:.4g} and are cut at ±1; divide them by their peak"
        samples = np.round(np.clip(numbers, -1, 1) * 32767).astype(np.int16)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    said = _joined(cut, wrong)
    described = metadata.create_summary_metadata("", said, metadata.Encoding.Value("WAV"))
    return _summary(tag, described, np.array([[out.getvalue(), b""]], object)), wrong or None


def _images(tag: str, images: Array, of: int) -> tuple[bytes, str | None]:
    images = images[..., None] if images.ndim == 3 else images
    kept = f"the first {len(images)} of {of:,} images are kept" if of > len(images) else ""
    wrong = thinned = ""
    if images.dtype != np.uint8:
        images, wrong = _as_bytes(images.astype(np.float32))
    every = 1
    while images.shape[1] * images.shape[2] > MOST_PIXELS * every**2:
        every += 1
    if every > 1:
        thinned = f"of {images.shape[2]} × {images.shape[1]} pixels every {every}th is kept"
        images = images[:, ::every, ::every]
    encoded = [_png(image) for image in images]
    return _pictures(tag, encoded, images.shape, _joined(kept, thinned, wrong)), wrong or None


def _as_bytes(images: Array) -> tuple[Array, str]:
    """Converts floats from 0 to 1 to bytes; also returns a note on values outside that range."""
    note, finite = "", np.isfinite(images)
    if not finite.all():
        note = "its NaN and infinite values are drawn black"
        images = np.where(finite, images, 0)
    low, high = float(images.min()), float(images.max())
    if low < 0 or high > 1:
        note = (
            f"its values go from {low:.4g} to {high:.4g} and are cut at 0 and 1; scale them, for "
            "example (images + 1) / 2"
        )
    return np.round(np.clip(images, 0, 1) * 255).astype(np.uint8), note


def _pictures(tag: str, encoded: list[bytes], shape: tuple[int, ...], said: str = "") -> bytes:
    from tensorboard.plugins.image.metadata import create_summary_metadata

    height, width = shape[1:3]
    array = np.array([str(width).encode(), str(height).encode(), *encoded], object)
    return _summary(tag, create_summary_metadata("", said), array)


def _png(image: Array) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    pixels = np.ascontiguousarray(image[..., 0] if image.shape[-1] == 1 else image)
    Image.fromarray(pixels).save(out, "png")
    return out.getvalue()


def _encoded_figure(tag: str, figure: Any) -> bytes:
    data = png_of(figure)
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    return _pictures(tag, [data], (1, height, width))


def _curve(tag: str, labels: Array, predictions: Array) -> tuple[bytes, str | None]:
    from tensorboard.plugins.pr_curve.metadata import create_summary_metadata

    truth, sure = labels.astype(np.float64).ravel(), predictions.astype(np.float64).ravel()
    if not np.isin(truth, (0, 1)).all():
        raise ValueError(f"labels are 0 or 1, and one is {truth[~np.isin(truth, (0, 1))][0]:g}")
    if not ((sure >= 0) & (sure <= 1)).all():
        wrong = sure[~((sure >= 0) & (sure <= 1))][0]
        raise ValueError(f"predictions are from 0 to 1, and one is {wrong:g}: tf.sigmoid(logits)")
    at = np.floor(sure * (THRESHOLDS - 1)).astype(np.int64)
    true, false = (
        np.bincount(at, weights, THRESHOLDS)[::-1].cumsum()[::-1] for weights in (truth, 1 - truth)
    )
    rows = [true, false, false[0] - false, true[0] - true]
    precision = true / np.maximum(_LEAST_COUNT, true + false)
    recall = true / np.maximum(_LEAST_COUNT, true[0])
    array = np.stack([*rows, precision, recall]).astype(np.float32)
    described = create_summary_metadata(tag, "", THRESHOLDS)
    return _summary(tag, described, array), None if truth.any() else "no label is 1"
