"""Prepares one value of a summary for a page: images, texts, sounds and curves."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.tfevents.pr_curves import PrCurve
from nbtrain.tfevents.values import AudioValue, Images, Text

# The most that a card shows: samples, their pixels and bytes in total; characters of a text, and
# rows and columns of its table.
SAMPLES, PIXELS, BYTES = 12, 1 << 23, 1 << 25
CHARACTERS, ROWS, COLUMNS = 200_000, 500, 50
THRESHOLDS = 2000  # of a precision-recall curve

Sent = tuple[dict[str, Any], list[bytes]]


def images(value: Images, *, most_pixels: int | None = None) -> Sent:
    """Returns each image with its type, or says why it cannot be shown.

    Args:
        most_pixels: The pixels of all images together, beyond which they are scaled down; None
            for as many as a board shows.
    """
    entries: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    count = min(len(value.encoded), SAMPLES)
    for index in range(count):
        try:
            data, kind = value.shown(index, most_pixels=(most_pixels or PIXELS) // count)
        except ArgumentError as error:
            entries.append({"problem": str(error)})
            continue
        entries.append({"type": kind, "scaled": data != value.encoded[index]})
        buffers.append(data)
    size = {"width": value.width, "height": value.height}
    return {**size, "samples": entries, "more": len(value.encoded) - count}, buffers


def sounds(value: AudioValue) -> Sent:
    """Returns each sound with its label and length, or says why it cannot be played."""
    entries: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    left = BYTES
    for clip, label in list(zip(value.clips, value.labels, strict=True))[:SAMPLES]:
        entry: dict[str, Any] = {"label": label[:CHARACTERS]}
        entries.append(entry)
        if not value.content_type.startswith("audio/"):
            entry["problem"] = f"Only WAV sounds can be played; this one begins with {clip[:16]!r}."
        elif len(clip) > left:
            entry["problem"] = f"The sound of {len(clip):,} bytes is too large for a page."
        else:
            entry |= {"type": value.content_type, "seconds": _seconds(clip)}
            buffers.append(clip)
            left -= len(clip)
    return {"samples": entries, "more": len(value.clips) - len(entries)}, buffers


def text(value: Text) -> Sent:
    """Returns the rows of a table, or one text; from a larger tensor, the first 2-D part."""
    array, note = value.array, ""
    if array.ndim > 2:
        note = f"The text has the shape {array.shape}; its first two-dimensional part is shown."
        array = array[(0,) * (array.ndim - 2)] if array.size else array.reshape(0, 0)
    table = array if array.ndim == 2 else array.reshape(-1, 1)
    rows: list[list[str]] = []
    left = CHARACTERS
    for row in table[:ROWS, :COLUMNS].tolist():
        rows.append([])
        for cell in row:
            rows[-1].append(cell[: max(0, left)])
            left -= len(cell)
    if left < 0 or table.size > sum(map(len, rows)):
        note = f"The text is longer: at most {CHARACTERS:,} characters and {ROWS} rows are shown."
    return {"rows": rows, "table": array.ndim > 0, "note": note}, []


def _seconds(clip: bytes) -> float | None:
    """The duration of a PCM WAV file; None for other files."""
    try:
        with wave.open(io.BytesIO(clip)) as file:
            return float(file.getnframes() / file.getframerate())
    except (wave.Error, EOFError, ZeroDivisionError, RuntimeError):  # its chunk sizes may be wrong
        return None


def curve_rows(curve: PrCurve) -> tuple[Any, str]:
    """Returns the points of a curve for a chart, float64 of shape (7, n), and what is left out."""
    rows = np.array(
        [
            curve.thresholds,
            curve.true_positives,
            curve.false_positives,
            curve.true_negatives,
            curve.false_negatives,
            curve.precision,
            curve.recall,
        ]
    )
    with np.errstate(invalid="ignore"):
        fits = np.all((rows[5:] >= 0) & (rows[5:] <= 1), axis=0)
    words = []
    if wrong := int(np.count_nonzero(~fits)):
        words.append(
            f"{wrong:,} of {rows.shape[1]:,} thresholds are not shown: their precision and recall "
            "are not between 0 and 1."
        )
    rows = rows[:, fits]
    if rows.shape[1] > THRESHOLDS:
        words.append(f"{THRESHOLDS:,} of {rows.shape[1]:,} thresholds are shown.")
        places = np.linspace(0, rows.shape[1] - 1, THRESHOLDS).round().astype(np.int64)
        rows = rows[:, places]
    return rows, " ".join(words)
