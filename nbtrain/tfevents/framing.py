"""Finds the records of an event file and checks their lengths.

A record is a length (uint64), the masked CRC-32C of these eight bytes (uint32), the payload, and
the masked CRC-32C of the payload (uint32); all little-endian. Source:
tensorflow/core/lib/io/record_writer.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import IntArray
from nbtrain.tfevents.crc import crc32c_columns, masked

ByteArray = npt.NDArray[np.uint8]

HEADER, FOOTER = 12, 4  # bytes around a payload

_PERIOD = 64  # records after which their lengths may repeat
_MOVED = 8  # most records of another length in a stretch that is like another

_length_at = struct.Struct("<Q").unpack_from


@dataclass(frozen=True, slots=True)
class Frames:
    """The complete records in a stretch of a file.

    Attributes:
        starts: The offsets of the payloads, int64 of shape (n,).
        lengths: Bytes of the payloads, int64 of shape (n,).
        end: The end of the last complete record.
        damaged: Whether the bytes at `end` cannot be the beginning of a record.
        wanted: Bytes of the record that begins at `end`, according to its header; 0 if the header
            is incomplete.
    """

    starts: IntArray
    lengths: IntArray
    end: int
    damaged: bool
    wanted: int


def frames_in(data: ByteArray) -> Frames:
    """Finds the records of a stretch that begins with a record."""
    offsets = headers_in(data)
    if not len(offsets):
        return Frames(offsets, offsets, 0, damaged=False, wanted=0)
    lengths, true = lengths_at(data, offsets)
    count = len(true) if true.all() else int(true.argmin())
    damaged = count < len(true)
    wanted = 0
    if count and not damaged and _end(offsets, lengths, count - 1) > len(data):
        count -= 1
        wanted = int(lengths[count]) + HEADER + FOOTER
    end = _end(offsets, lengths, count - 1) if count else 0
    return Frames(offsets[:count] + HEADER, lengths[:count].astype(np.int64), end, damaged, wanted)


def next_frame(data: ByteArray) -> int | None:
    """Finds the first valid header after the first byte of a stretch; None if there is none."""
    count = len(data) - HEADER + 1
    if count <= 1:
        return None
    offsets = np.arange(1, count)
    lengths = _column(data, offsets, "<u8")
    likely = lengths < 1 << 40  # most are nonsense
    offsets, lengths = offsets[likely], lengths[likely]
    true = _column(data, offsets + 8, "<u4") == _crcs_of(lengths)
    return int(offsets[true.argmax()]) if true.any() else None


def lengths_at(
    data: ByteArray, offsets: IntArray
) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.bool_]]:
    """Returns the lengths in some headers, and whether the checksum of each is right."""
    lengths = _column(data, offsets, "<u8")
    return lengths, _column(data, offsets + 8, "<u4") == _crcs_of(lengths)


def headers_in(data: ByteArray, like: IntArray | None = None) -> IntArray:
    """Finds the headers of a stretch by their lengths, without verifying checksums.

    The last record may be incomplete.

    Args:
        like: The headers of a similar stretch, such as a file of the same program; their offsets
            are tried first.
    """
    parts: list[IntArray] = [] if like is None else _as_in(data, like)
    offset, last = 0, len(data) - HEADER
    buffer: Any = data
    if parts:
        offset = int(parts[-1][-1])
        offset += _length_at(buffer, offset)[0] + HEADER + FOOTER
    while offset <= last:
        one_by_one: list[int] = []
        while offset <= last and len(one_by_one) < 2 * _PERIOD:
            one_by_one.append(offset)
            offset += _length_at(buffer, offset)[0] + HEADER + FOOTER
        parts.append(np.array(one_by_one, dtype=np.int64))
        if offset <= last:
            again = _repeated(data, parts[-1], offset)
            parts.append(again)
            offset += len(again) and int(again[-1]) - int(parts[-2][-1])
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _as_in(data: ByteArray, like: IntArray) -> list[IntArray]:
    """Returns headers at the offsets of another stretch, moved after a record of another length."""
    sizes = np.diff(like).astype(np.uint64) - np.uint64(HEADER + FOOTER)
    last = len(data) - HEADER
    parts: list[IntArray] = []
    first = offset = 0
    while len(parts) < _MOVED and first < len(like) and offset <= last:
        offsets = like[first:] + (offset - int(like[first]))
        offsets = offsets[: int(np.searchsorted(offsets, last, "right"))]
        lengths = _column(data, offsets, "<u8")
        same = lengths[:-1] == sizes[first : first + len(offsets) - 1]
        count = len(offsets) if same.all() else int(same.argmin()) + 1
        parts.append(offsets[:count])
        first += count
        offset = int(offsets[count - 1]) + int(lengths[count - 1]) + HEADER + FOOTER
    return parts


def _repeated(data: ByteArray, offsets: IntArray, offset: int) -> IntArray:
    """Predicts further headers, assuming that the latest lengths repeat, as they mostly do."""
    sizes = np.diff(offsets, append=offset)
    raw, each = sizes.tobytes(), sizes.itemsize  # bytes are compared much quicker than arrays
    periods = range(each, each * (_PERIOD + 1), each)
    period = next((p // each for p in periods if raw[p:] == raw[:-p]), None)
    if period is None:
        return np.empty(0, np.int64)
    stride = int(sizes[-period:].sum())
    times = (len(data) - HEADER - offset) // stride
    for begin in offsets[-period:].tolist():
        same = np.ones(times, np.bool_)
        for place, dtype in ((0, "<u8"), (8, "<u4")):
            column = np.ndarray((times + 1,), dtype, data, begin + place, (stride,))
            same &= column[1:] == column[0]
        times = times if same.all() else int(same.argmin())
    further = offsets[-period:] + stride * np.arange(1, times + 1)[:, None]
    return further.reshape(-1)


def _column(data: ByteArray, offsets: IntArray, dtype: str) -> npt.NDArray[np.unsignedinteger]:
    """Reads the numbers at these offsets."""
    size = int(dtype[-1])
    return np.ndarray((len(data) - size + 1,), dtype, data, 0, (1,))[offsets]


def _crcs_of(lengths: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.uint32]:
    """Returns the checksums that headers with these lengths have."""
    columns = np.ascontiguousarray(lengths, "<u8").view(np.uint8).reshape(-1, 8)
    varying = {place: columns[:, place] for place in range(8) if columns[:, place].any()}
    return masked(crc32c_columns(bytes(8), varying, len(lengths)))


def _end(offsets: IntArray, lengths: npt.NDArray[np.unsignedinteger], index: int) -> int:
    return int(offsets[index]) + int(lengths[index]) + HEADER + FOOTER
