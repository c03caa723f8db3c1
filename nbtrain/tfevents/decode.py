"""Decodes the scalars of many event records at once.

Records of one length, with steps of one length, mostly share a layout: their wall times, steps and
values are columns. The bytes between the columns are compared with a record of the same tags.
Checksums are those of that record, updated with the varying bytes. Records without such a layout
are left to be read one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.arrays import FloatArray, IntArray
from nbtrain.tfevents.crc import add_columns, crc32c, masked
from nbtrain.tfevents.framing import FOOTER, ByteArray, Frames
from nbtrain.tfevents.layout import STEP, WALL_TIME, Layout, layout_of

_WORD = 8
_SHORTEST, _LONGEST = 24, 4096  # bytes of an event that may have a layout
_MOST_STEP_BYTES = 8  # a step below 2 ** 56
_ROUNDS = 4  # most layouts of records with equal lengths of record and step
_FEW = 8  # fewer records are not worth it

_ODD = np.uint64(0x9E3779B97F4A7C15)  # for Fibonacci hashing
_CONTINUED = np.uint64(0x8080808080808080)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The decoded scalars of records with one layout.

    Attributes:
        rows: The index of the record of each, int64 of shape (n,), ascending.
        tags: The index of its tag within `Decoder.tags`, int64 of shape (n,).
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        bare: Whether they are tensors of plugins without a name, as in `Place`.
    """

    rows: IntArray
    tags: IntArray
    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """The contents of some records.

    Attributes:
        scalars: The scalars in common layouts.
        damaged: Records with a wrong checksum.
        others: Records to be read one by one, with unchecked checksums.
        doubtful: Records that were read in spite of a wrong checksum.
    """

    scalars: list[Decoded]
    damaged: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """Records of one length: `count` of them, `stride` bytes apart in a buffer."""

    rows: IntArray
    buffer: ByteArray
    begin: int
    stride: int

    def column(self, offset: int, dtype: str) -> npt.NDArray[Any]:
        shape = (len(self.rows),)
        return np.ndarray(shape, dtype, self.buffer, self.begin + offset, (self.stride,)).copy()

    def one(self, index: int, length: int) -> bytes:
        begin = self.begin + index * self.stride
        return self.buffer[begin : begin + length].tobytes()

    def take(self, wanted: npt.NDArray[np.bool_], width: int) -> _Group:
        records = np.ndarray(
            (len(self.rows), width), np.uint8, self.buffer, self.begin, (self.stride, 1)
        )
        return _Group(self.rows[wanted], records[wanted].reshape(-1), 0, width)


class _Known:
    """A layout, and the rows of tags that its records have had."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.mask = np.full(layout.length, 0xFF, np.uint8)
        self.mask[list(layout.varying())] = 0
        last = layout.length - _WORD
        offsets = [*range(0, last, _WORD), last]
        masks = [self.mask[offset : offset + _WORD].view("<u8")[0] for offset in offsets]
        self.words = [(o, mask) for o, mask in zip(offsets, masks, strict=True) if mask]
        self.rows: dict[bytes, int] = {}  # by the bytes that stay the same; -1: another layout
        self.tags = np.empty((0, len(layout.places)), np.int64)
        self.crcs = np.empty(0, np.uint32)  # of these records with zeros at varying positions

    def add(self, same: bytes, tags: list[int]) -> int:
        """Adds a new row of tags, and returns its index."""
        self.tags = np.vstack([self.tags, np.array([tags], np.int64)])
        self.crcs = np.append(self.crcs, np.uint32(crc32c(same)))
        self.rows[same] = len(self.crcs) - 1
        return len(self.crcs) - 1


class Decoder:
    """Decodes the records of one run; it learns their layouts and tags.

    Args:
        verify: Whether a record with a wrong checksum counts as damaged.

    Attributes:
        tags: Every tag seen so far, in order of appearance.
    """

    def __init__(self, *, verify: bool = True) -> None:
        self.verify = verify
        self.tags: list[str] = []
        self._tag_ids: dict[str, int] = {}
        self._layouts: dict[Layout, _Known] = {}

    def decode(self, data: ByteArray, frames: Frames) -> Batch:
        """Decodes the records in a stretch of a file."""
        batch = Batch([])
        for group, length in self._groups(data, frames, batch):
            for _ in range(_ROUNDS):
                rest = self._decode(group, length, batch)
                if rest is None:
                    break
                group = rest
                if len(group.rows) < _FEW:
                    batch.others.extend(group.rows.tolist())
                    break
            else:
                batch.others.extend(group.rows.tolist())
        return batch

    def decode_one(self, row: int, payload: bytes) -> list[Decoded] | None:
        """Decodes a single record, whose checksum was looked at.

        Args:
            row: Its row, for the result.
            payload: The serialized `Event`.

        Returns:
            Its scalars; None without a usual layout.
        """
        usual = _SHORTEST <= len(payload) < _LONGEST
        found = layout_of(payload) if usual else None
        if found is None or found[0].step_bytes > _MOST_STEP_BYTES:
            return None
        layout, tags = found
        group = _Group(np.array([row]), np.frombuffer(payload, np.uint8), 0, len(payload))
        ids = np.array([[self.tag_id(tag) for tag in tags]])
        wall_times, steps = group.column(WALL_TIME, "<f8"), _steps(group, layout)
        return _decoded(layout, group.rows, ids, steps, wall_times, _values(group, layout))

    def tag_id(self, tag: str) -> int:
        """Returns the index of a tag."""
        known = self._tag_ids.get(tag)
        if known is None:
            known = self._tag_ids[tag] = len(self.tags)
            self.tags.append(tag)
        return known

    def _groups(
        self, data: ByteArray, frames: Frames, batch: Batch
    ) -> Iterator[tuple[_Group, int]]:
        """Yields the records by their lengths and those of their steps."""
        lengths = frames.lengths
        usual = (lengths >= _SHORTEST) & (lengths < _LONGEST)
        if not usual.all():
            batch.others.extend(np.flatnonzero(~usual).tolist())
        if not usual.any():
            return
        kinds = np.where(usual, lengths << 4 | _step_bytes(data, frames, usual), 0)
        kinds = kinds.astype(np.uint16)
        if len(kinds) and kinds[0] and (kinds == kinds[0]).all():
            order, bounds = np.arange(len(kinds)), np.array([0, len(kinds)])
        else:
            order = np.argsort(kinds, kind="stable")
            bounds = np.flatnonzero(np.diff(kinds[order], prepend=-1, append=-1))
        for low, high in itertools.pairwise(bounds):
            rows = order[low:high]
            kind = int(kinds[rows[0]])
            if kind == 0:
                continue
            if kind & 15 > _MOST_STEP_BYTES or len(rows) < _FEW:
                batch.others.extend(rows.tolist())
                continue
            yield _group(data, rows, frames.starts[rows], (kind >> 4) + FOOTER), kind >> 4

    def _decode(self, group: _Group, length: int, batch: Batch) -> _Group | None:
        """Decodes the records that have the layout of the first; returns the others."""
        found = layout_of(group.one(0, length))
        if found is None:
            batch.others.extend(group.rows.tolist())
            return None
        known = self._layouts.get(found[0])
        if known is None:
            known = self._layouts[found[0]] = _Known(found[0])
        which = self._which(group, known)
        fits = which >= 0
        rest = None
        if not fits.all():
            rest = group.take(~fits, length + FOOTER)
            group = group.take(fits, length + FOOTER)
            which = which[fits]
        _columns(group, known, which, batch, verify=self.verify)
        return rest

    def _which(self, group: _Group, known: _Known) -> IntArray:
        """Finds the known row of tags of each record; -1 for another layout."""
        words = [group.column(offset, "<u8") & mask for offset, mask in known.words]
        count = len(group.rows)
        if all((word == word[0]).all() for word in words):
            return np.full(count, self._rows_of_tags(group, known, np.array([0]))[0])
        keys = np.zeros(count, np.uint64)
        for word in words:
            keys = (keys ^ word) * _ODD
        which = np.full(count, -1, np.int64)
        todo = np.arange(count)
        for shift in (48, 32):
            key = (keys[todo] >> np.uint64(shift)).astype(np.uint16)
            order = np.argsort(key, kind="stable")
            firsts = np.flatnonzero(np.diff(key[order].astype(np.int32), prepend=-1))
            sizes = np.diff(firsts, append=len(order))
            first = todo[order[firsts]]
            found = np.repeat(self._rows_of_tags(group, known, first), sizes)
            first, order = np.repeat(first, sizes), todo[order]
            same = np.ones(len(order), np.bool_)
            for word in words:
                same &= word[order] == word[first]
            which[order[same]] = found[same]
            todo = order[~same]
            if not len(todo):
                break
        return which

    def _rows_of_tags(self, group: _Group, known: _Known, which: IntArray) -> IntArray:
        """Finds the rows of tags of some of the records; -1 for another layout."""
        length = known.layout.length
        shape, strides = (len(group.rows), length), (group.stride, 1)
        records = np.ndarray(shape, np.uint8, group.buffer, group.begin, strides)[which]
        same = (records & known.mask).tobytes()
        found = np.empty(len(which), np.int64)
        for index in range(len(which)):
            key = same[index * length : (index + 1) * length]
            row = known.rows.get(key)
            if row is None:
                layout = layout_of(records[index].tobytes())
                if layout is not None and layout[0] == known.layout:
                    row = known.add(key, [self.tag_id(tag) for tag in layout[1]])
                else:
                    row = -1
            found[index] = row
        return found


def _step_bytes(data: ByteArray, frames: Frames, usual: npt.NDArray[np.bool_]) -> IntArray:
    """The bytes of each record's step as a varint; 0 if it has none."""
    starts = frames.starts if usual.all() else np.where(usual, frames.starts, 0)
    has = data[starts + STEP - 1] == 0x10
    ended = ~_gathered(data, starts + STEP, "<u8") & _CONTINUED
    count = np.ones(len(starts), np.int64)
    for byte in range(1, _MOST_STEP_BYTES):
        longer = ended & np.uint64((1 << 8 * byte) - 1) == 0
        if not longer.any():
            break
        count += longer
    count[ended == 0] = _MOST_STEP_BYTES + 1
    return np.where(has, count, 0)


def _gathered(data: ByteArray, offsets: IntArray, dtype: str) -> npt.NDArray[np.uint64]:
    return np.ndarray((len(data) - int(dtype[-1]) + 1,), dtype, data, 0, (1,))[offsets]


def _group(data: ByteArray, rows: IntArray, starts: IntArray, width: int) -> _Group:
    """Returns records as rows of a buffer: in place if evenly spaced, or else copied."""
    stride = int(starts[1] - starts[0])
    if (np.diff(starts) == stride).all():
        return _Group(rows, data, int(starts[0]), stride)
    records = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))[starts]
    return _Group(rows, records.view(np.uint8), 0, width)


def _columns(group: _Group, known: _Known, which: IntArray, batch: Batch, *, verify: bool) -> None:
    """Decodes the columns of records after checking their checksums."""
    layout = known.layout
    wall_times = group.column(WALL_TIME, "<f8")
    crcs = known.crcs[which]
    _add(crcs, layout.length, WALL_TIME, wall_times)
    steps = _steps(group, layout)
    if layout.step_bytes:
        _add(crcs, layout.length, STEP, group.column(STEP, "<u8"), layout.step_bytes)
    values = _values(group, layout)
    for place, column in zip(layout.places, values, strict=True):
        _add(crcs, layout.length, place.offset, column)
    whole = group.column(layout.length, "<u4") == masked(crcs)
    rows, tags = group.rows, known.tags[which]
    if not verify:
        batch.doubtful.extend(group.rows[~whole].tolist())
    elif not whole.all():
        batch.damaged.extend(rows[~whole].tolist())
        if not whole.any():  # a record whose damage looks like a layout of its own
            return
        rows, tags, steps, wall_times = rows[whole], tags[whole], steps[whole], wall_times[whole]
        values = [column[whole] for column in values]
    batch.scalars.extend(_decoded(layout, rows, tags, steps, wall_times, values))


def _steps(group: _Group, layout: Layout) -> IntArray:
    """The steps of records, from their varints."""
    steps = np.zeros(len(group.rows), np.int64)
    if layout.step_bytes:
        step = group.column(STEP, "<u8")
        for byte in range(layout.step_bytes):
            septet = (step >> np.uint64(8 * byte)) & np.uint64(0x7F)
            steps |= (septet << np.uint64(7 * byte)).astype(np.int64)
    return steps


def _values(group: _Group, layout: Layout) -> list[npt.NDArray[Any]]:
    """The columns of the values of records."""
    return [group.column(place.offset, place.dtype) for place in layout.places]


def _decoded(
    layout: Layout,
    rows: IntArray,
    tags: IntArray,
    steps: IntArray,
    wall_times: FloatArray,
    values: list[npt.NDArray[Any]],
) -> list[Decoded]:
    """Columns of each place of a layout; `tags` has a row for each record."""
    return [
        Decoded(rows, tags[:, index], steps, wall_times, column.astype(np.float64), place.bare)
        for index, (place, column) in enumerate(zip(layout.places, values, strict=True))
    ]


def _add(
    crcs: npt.NDArray[np.uint32],
    length: int,
    offset: int,
    column: npt.NDArray[Any],
    size: int | None = None,
) -> None:
    """Updates checksums when zeros are replaced by the bytes of a column."""
    octets = column.view(np.uint8).reshape(len(column), column.itemsize)
    places = {offset + byte: octets[:, byte] for byte in range(size or column.itemsize)}
    add_columns(crcs, length, places)
