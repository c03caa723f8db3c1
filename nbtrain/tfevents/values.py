"""The values of summaries other than scalars: images, histograms, text, audio, curves, graphs.

Each value was written either as a message of TensorFlow 1 or as a tensor of TensorFlow 2
(tensorboard/data_compat.py and tensorboard/plugins/*/summary_v2.py).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.text_table import counted
from nbtrain.core.values.arrays import FloatArray
from nbtrain.tfevents.graph_defs import of_graph_def, of_meta_graph_def, of_run_metadata
from nbtrain.tfevents.graphs import Graph
from nbtrain.tfevents.keras_models import of_keras_model
from nbtrain.tfevents.messages import array_of
from nbtrain.tfevents.pictures import MOST_PIXELS, enlarged, picture
from nbtrain.tfevents.pr_curves import PrCurve, pr_curve

# The first bytes of sounds: a page gets a type only if the bytes match.
_SOUNDS = {
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
}


@dataclass(frozen=True, slots=True)
class Images:
    """The encoded images of one step; a cell shows the first, enlarged if it is tiny.

    Attributes:
        width: Pixels, according to the writer.
        height: Pixels, according to the writer.
        encoded: Each image: usually PNG.
    """

    width: int
    height: int
    encoded: tuple[bytes, ...]

    def shown(self, index: int = 0, *, most_pixels: int = MOST_PIXELS) -> tuple[bytes, str]:
        """Returns an image that a page can show, and its type; a large image becomes a smaller PNG.

        Args:
            index: The index of the image.
            most_pixels: Larger images are scaled down.

        Raises:
            ArgumentError: The image is damaged, too large, or of a type that cannot be shown.
        """
        return picture(self.encoded[index], most_pixels=most_pixels)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if self.encoded:
            try:
                data, kind = enlarged(*self.shown())
            except ArgumentError as error:
                bundle["text/plain"] += f"\n{error}"
            else:
                bundle[kind] = b64encode(data).decode()
        return bundle

    def __repr__(self) -> str:
        return f"<{counted(len(self.encoded), 'image')} of {self.width} × {self.height} pixels>"


@dataclass(frozen=True, slots=True)
class HistogramValue:
    """The histogram of one step.

    Attributes:
        buckets: float64 of shape (k, 3): left edge, right edge and count of each bucket.
    """

    buckets: FloatArray


@dataclass(frozen=True, slots=True)
class Text:
    """The plain text of one step; it may contain Markdown or HTML.

    Attributes:
        array: Strings, of any shape: `()` for one text, two dimensions for a table.
    """

    array: npt.NDArray[np.object_]

    def __str__(self) -> str:
        """Returns the text: cells separated by tabs, rows on separate lines."""
        if not self.array.size:
            return ""
        rows = self.array.reshape(-1, self.array.shape[-1] if self.array.ndim > 1 else 1)
        return "\n".join("\t".join(row) for row in rows.tolist())


@dataclass(frozen=True, slots=True)
class AudioValue:
    """The encoded sounds of one step.

    Attributes:
        clips: Each sound: usually a WAV file.
        content_type: The type of the first sound, by its first bytes; "application/octet-stream" if
            unknown.
        labels: The writer's label for each sound, often empty.
    """

    clips: tuple[bytes, ...]
    content_type: str
    labels: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{len(self.clips)} sounds of type {self.content_type}>"


Value = Images | HistogramValue | Text | AudioValue | PrCurve | Graph


def value_of(kind: str, value: Any, tag: str) -> Value:
    """Decodes a `Summary.Value` of a kind, or the `Event` of a graph.

    Raises:
        ArgumentError: The value does not have the format of its kind.
    """
    try:
        return DECODERS[kind](value)
    except (ValueError, TypeError, IndexError) as error:
        raise ArgumentError(
            f"The value of the tag {tag!r} has not the form of {kind}: {error}."
        ) from error


def _images(value: Any) -> Images:
    if value.HasField("image"):
        image = value.image
        return Images(image.width, image.height, (image.encoded_image_string,))
    width, height, *encoded = strings(value, 1).tolist()
    return Images(int(width), int(height), tuple(encoded))


def _histogram(value: Any) -> HistogramValue:
    if value.HasField("histo"):
        return HistogramValue(_buckets(value.histo))
    array = array_of(value.tensor).astype(np.float64)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"its shape is {array.shape}, not (k, 3)")
    return HistogramValue(array)


def _buckets(histo: Any) -> FloatArray:
    """Converts a TensorFlow 1 histogram to one of TensorFlow 2, as TensorBoard does.

    The outermost limits of TensorFlow 1 are the limits of floats. The lowest and the highest value
    replace them, and empty buckets outside these values are left out.
    """
    counts = np.array(histo.bucket)
    full = np.flatnonzero(counts > 0)
    if not len(full):
        return np.empty((0, 3))
    first, last = int(full[0]), int(full[-1])
    edges = [histo.min, *histo.bucket_limit[first:last], histo.max]
    return np.array([edges[:-1], edges[1:], counts[first : last + 1]]).T.copy()


def _text(value: Any) -> Text:
    array = strings(value)
    texts = [each.decode(errors="replace") for each in array.ravel().tolist()]
    return Text(np.array(texts, object).reshape(array.shape))


def _audio(value: Any) -> AudioValue:
    if value.HasField("audio"):
        rows = [[value.audio.encoded_audio_string]]
    else:
        array = strings(value)
        rows = array.reshape(len(array), -1).tolist() if array.size else []
    clips = tuple(row[0] for row in rows)
    labels = tuple(row[1].decode(errors="replace") if len(row) > 1 else "" for row in rows)
    return AudioValue(clips, _type_of(clips[0] if clips else b""), labels)


def _type_of(clip: bytes) -> str:
    if clip[:4] == b"RIFF" and clip[8:12] == b"WAVE":
        return "audio/wav"
    types = (kind for begin, kind in _SOUNDS.items() if clip.startswith(begin))
    return next(types, "application/octet-stream")


def _graph(value: Any) -> Graph:
    match value.WhichOneof("what") if hasattr(value, "graph_def") else None:
        case "graph_def":
            return of_graph_def(value.graph_def)
        case "meta_graph_def":
            return of_meta_graph_def(value.meta_graph_def)
    (data,) = strings(value).ravel().tolist()
    return of_keras_model(data) if data.lstrip().startswith(b"{") else of_run_metadata(data)


def strings(value: Any, ndim: int | None = None) -> npt.NDArray[np.object_]:
    """Returns the strings in a `Summary.Value`, as bytes.

    Raises:
        ValueError: The value contains no strings, or has another number of dimensions.
    """
    array = array_of(value.tensor)
    if array.dtype != object or ndim not in (None, array.ndim):
        raise ValueError(f"it is a tensor of type {array.dtype} and shape {array.shape}")
    return array


DECODERS: dict[str, Callable[[Any], Value]] = {
    "images": _images,
    "histograms": _histogram,
    "text": _text,
    "audio": _audio,
    "pr_curves": pr_curve,
    "graphs": _graph,
}
