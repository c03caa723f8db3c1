"""Events that hold no scalars: as the writers write them, as TensorBoard reads them."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from nbtrain.tfevents.graphs import Graph
from nbtrain.tfevents.pr_curves import PrCurve
from nbtrain.tfevents.values import AudioValue, HistogramValue, Images, Text, Value

v1 = tf.compat.v1

KINDS = ("images", "histograms", "text", "audio")
WAV = b"RIFF\x04\x00\x00\x00WAVE"


@functools.cache
def png(width: int = 2, height: int = 3, colour: int = 0) -> bytes:
    """A picture of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (colour, 0, 0)).save(out, "png")
    return out.getvalue()


def event(step: int, value: Any, wall_time: float = 1.7e9) -> Any:
    """An event of one value."""
    return v1.Event(wall_time=wall_time, step=step, summary=v1.Summary(value=[value]))


def image1(tag: str, number: int = 0) -> Any:
    """An image as TensorFlow 1, PyTorch and tensorboardX write it."""
    image = v1.Summary.Image(height=3, width=2, encoded_image_string=png(colour=number))
    return v1.Summary.Value(tag=tag, image=image)


def histogram1(tag: str, counts: list[int]) -> Any:
    """A histogram as they write it: its limits reach beyond the values."""
    limits = [-1e9, *(float(n) for n in range(len(counts) - 2)), 1e9][: len(counts)]
    histo = {"min": -7.5, "max": 99.25, "num": sum(counts), "sum": 1.0, "sum_squares": 1.0}
    return v1.Summary.Value(tag=tag, histo=histo | {"bucket_limit": limits, "bucket": counts})


def audio1(tag: str, number: int = 0) -> Any:
    """A sound as they write it."""
    sound = v1.Summary.Audio(
        encoded_audio_string=WAV + bytes([number]), content_type="audio/wav", num_channels=1
    )
    return v1.Summary.Value(tag=tag, audio=sound)


def tensor2(tag: str, plugin: str, data: Any, *, named: bool = True) -> Any:
    """A tensor of a plugin, as TensorFlow 2 writes it; many writers name it only once."""
    value = v1.Summary.Value(tag=tag, tensor=tf.make_tensor_proto(data))
    if named:
        value.metadata.plugin_data.plugin_name = plugin
    return value


def theirs(folder: Path) -> dict[tuple[str, str], list[tuple[int, float, str]]]:
    """By kind and tag, what TensorBoard's reader makes of a folder's files."""
    log = EventAccumulator(str(folder), {"tensors": 0}, dict.fromkeys(KINDS, 0)).Reload()
    return {
        (kind, tag): [(e.step, e.wall_time, _told(kind, e.tensor_proto)) for e in log.Tensors(tag)]
        for tag, metadata in log.AllSummaryMetadata().items()
        if (kind := metadata.plugin_data.plugin_name) in KINDS
    }


def _told(kind: str, proto: Any) -> str:
    array = tf.make_ndarray(proto)
    if kind == "histograms":
        return repr(array.astype(np.float32).tolist())
    return repr(array.tolist())


def ours(value: Value) -> str:
    """A value in the form of `theirs`: TensorBoard has numbers of 32 bits for TensorFlow 1."""
    match value:
        case Images():
            sizes = [str(value.width).encode(), str(value.height).encode()]
            return repr([*sizes, *value.encoded])
        case HistogramValue():
            return repr(value.buckets.astype(np.float32).tolist())
        case Text():
            return repr(np.vectorize(str.encode, otypes=[object])(value.array).tolist())
        case AudioValue():
            return repr(list(value.clips))
        case PrCurve() | Graph():
            return repr(value)
