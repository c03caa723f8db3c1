"""One value of a summary as it goes to a page: images, texts, sounds."""

from __future__ import annotations

import io
import wave
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.tfevents.values import Audio, Images, Text

# What a card shows at most: samples, pixels and bytes of all of them; of a text characters, and
# of its table rows and columns.
SAMPLES, PIXELS, BYTES = 12, 1 << 23, 1 << 25
CHARACTERS, ROWS, COLUMNS = 200_000, 500, 50

Sent = tuple[dict[str, Any], list[bytes]]


def images(value: Images) -> Sent:
    """Each image with its type, or in words why it cannot be shown."""
    entries: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    count = min(len(value.encoded), SAMPLES)
    for index in range(count):
        try:
            data, kind = value.shown(index, most_pixels=PIXELS // count)
        except ArgumentError as error:
            entries.append({"problem": str(error)})
            continue
        entries.append({"type": kind, "scaled": data != value.encoded[index]})
        buffers.append(data)
    size = {"width": value.width, "height": value.height}
    return {**size, "samples": entries, "more": len(value.encoded) - count}, buffers


def sounds(value: Audio) -> Sent:
    """Each sound with its label and its length, or in words why it cannot be played."""
    entries: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    left = BYTES
    for clip, label in list(zip(value.clips, value.labels, strict=True))[:SAMPLES]:
        entry: dict[str, Any] = {"label": label[:CHARACTERS]}
        entries.append(entry)
        if not value.content_type.startswith("audio/"):
            entry["problem"] = f"The sound is of no type that is played (WAV): {clip[:16]!r}."
        elif len(clip) > left:
            entry["problem"] = f"The sound of {len(clip):,} bytes is too large for a page."
        else:
            entry |= {"type": value.content_type, "seconds": _seconds(clip)}
            buffers.append(clip)
            left -= len(clip)
    return {"samples": entries, "more": len(value.clips) - len(entries)}, buffers


def text(value: Text) -> Sent:
    """The rows of a table, or one text; the first two-dimensional part of what has more."""
    array, note = value.array, ""
    if array.ndim > 2:
        note = f"Of a text of shape {array.shape} this is the first part of two dimensions."
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
        note = f"The text is longer: at most {CHARACTERS:,} characters of {ROWS} rows are shown."
    return {"rows": rows, "table": array.ndim > 0, "note": note}, []


def _seconds(clip: bytes) -> float | None:
    """How long a WAV file of whole numbers plays; None for another."""
    try:
        with wave.open(io.BytesIO(clip)) as file:
            return float(file.getnframes() / file.getframerate())
    except (wave.Error, EOFError, ZeroDivisionError, RuntimeError):  # as its chunks' sizes say
        return None
