"""Decodes the scalars of many event records at once.

Records of one length, with steps of one length, mostly share a layout: their wall times, steps and
values are columns. The bytes between the columns are compared with a record of the same tags, and
the checksum of that record is updated with the varying bytes. The caller reads records without such
a layout one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import FloatArray, IntArray
from nbtrain.tfevents.crc import add_columns, masked
from nbtrain.tfevents.framing import FOOTER, ByteArray, Frames
from nbtrain.tfevents.known_layout import KnownLayout
from nbtrain.tfevents.layout import STEP, WALL_TIME, Layout, layout_of
from nbtrain.tfevents.records import Records

_SHORTEST, _LONGEST = 24, 4096  # bytes of an event that may have a layout
_MOST_STEP_BYTES = 8  # a step below 2 ** 56
_ROUNDS = 16  # most layouts of records with equal lengths of record and step
_FEW = 8  # fewer records are not worth decoding together

_CONTINUED = np.uint64(0x8080808080808080)


_COLUMNS = ("rows", "tags", "steps", "wall_times", "values")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The decoded scalars of records with one layout.

    Attributes:
        rows: The index of each scalar's record, int64 of shape (n,), ascending.
        tags: The index of each scalar's tag within `Decoder.tags`, int64 of shape (n,).
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        bare: Whether they are tensors without a plugin's name, as in `LayoutPlace`.
    """

    rows: IntArray
    tags: IntArray
    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    bare: bool = False

    def take(self, wanted: npt.NDArray[Any] | slice) -> Decoded:
        """Returns some of the scalars, chosen by index, mask or slice."""
        return Decoded(
            self.rows[wanted],
            self.tags[wanted],
            self.steps[wanted],
            self.wall_times[wanted],
            self.values[wanted],
            self.bare,
        )

    @staticmethod
    def joined(several: Sequence[Decoded]) -> Decoded:
        """Joins scalars in the order of their rows."""
        if len(several) == 1:
            return several[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(each, name) for each in several]) for name in _COLUMNS
        }
        found = replace(several[0], **columns)
        return found.take(np.argsort(found.rows, kind="stable"))

    def parts(self, keys: IntArray) -> Iterator[Decoded]:
        """Yields the scalars of each key, in the order in which the keys appear; `keys` >= 0."""
        if not (keys[1:] != keys[:-1]).any():
            yield self
            return
        short = keys.astype(np.uint16) if keys.max() <= 0xFFFF else keys  # much quicker to sort
        order = np.argsort(short, kind="stable")
        bounds = np.flatnonzero(np.diff(keys[order], prepend=-1, append=-1))
        together = self.take(order)
        sequence = np.argsort(order[bounds[:-1]])
        places = zip(bounds[sequence].tolist(), bounds[sequence + 1].tolist(), strict=True)
        for low, high in places:
            yield together.take(slice(low, high))


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


class Decoder:
    """Decodes the records of some runs, and remembers layouts and tags. One thread at a time.

    Attributes:
        tags: Every tag seen so far, in order of appearance.
    """

    def __init__(self, *, verify: bool = True) -> None:
        self.verify = verify
        self.tags: list[str] = []
        self._tag_ids: dict[str, int] = {}
        self._layouts: dict[Layout, KnownLayout] = {}

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
        """Decodes one record with a checked checksum; None if its layout is not a usual one."""
        usual = _SHORTEST <= len(payload) < _LONGEST
        found = layout_of(payload) if usual else None
        if found is None or found[0].step_bytes > _MOST_STEP_BYTES:
            return None
        layout, tags = found
        group = Records(np.array([row]), np.frombuffer(payload, np.uint8), 0, len(payload))
        return _decoded(layout, group, np.array([[self.tag_id(tag) for tag in tags]]))

    def tag_id(self, tag: str) -> int:
        """Returns the index of a tag."""
        known = self._tag_ids.get(tag)
        if known is None:
            known = self._tag_ids[tag] = len(self.tags)
            self.tags.append(tag)
        return known

    def _groups(
        self, data: ByteArray, frames: Frames, batch: Batch
    ) -> Iterator[tuple[Records, int]]:
        """Yields groups of records with equal lengths and step lengths, and the record length."""
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
            yield Records.at(data, rows, frames.starts[rows], (kind >> 4) + FOOTER), kind >> 4

    def _decode(self, group: Records, length: int, batch: Batch) -> Records | None:
        """Decodes the records that have the layout of the first; returns the others."""
        found = layout_of(group.octets(length)[0].tobytes())
        if found is None:
            batch.others.extend(group.rows.tolist())
            return None
        layout = found[0]
        known = self._layouts.get(layout)
        if known is None:
            known = self._layouts[layout] = KnownLayout(layout, self.tag_id)
        which = known.rows_of(group)
        fits = which >= 0
        rest = None
        if not fits.all():
            rest = group.take(~fits, length + FOOTER)
            group = group.take(fits, length + FOOTER)
            which = which[fits]
        crcs, octets = known.crcs[which], group.octets(length)
        add_columns(crcs, length, {place: octets[:, place] for place in layout.varying()})
        whole = group.column(length, "<u4") == masked(crcs)
        scalars = _decoded(layout, group, known.tags[which])
        if not self.verify:
            batch.doubtful.extend(group.rows[~whole].tolist())
        elif not whole.all():
            batch.damaged.extend(group.rows[~whole].tolist())
            # If no record is whole, a damaged one has been mistaken for a layout of its own.
            scalars = [each.take(whole) for each in scalars] if whole.any() else []
        batch.scalars.extend(scalars)
        return rest


def _decoded(layout: Layout, group: Records, tags: IntArray) -> list[Decoded]:
    """Decodes the scalars at each place of a layout; `tags` has a row for each record."""
    wall_times, steps = group.column(WALL_TIME, "<f8"), _steps(group, layout)
    decoded = []
    for index, place in enumerate(layout.places):
        values = group.column(place.offset, place.dtype).astype(np.float64)
        decoded.append(Decoded(group.rows, tags[:, index], steps, wall_times, values, place.bare))
    return decoded


def _step_bytes(data: ByteArray, frames: Frames, usual: npt.NDArray[np.bool_]) -> IntArray:
    """Returns the number of bytes of each record's step as a varint; 0 without a step."""
    starts = frames.starts if usual.all() else np.where(usual, frames.starts, 0)
    has = data[starts + STEP - 1] == 0x10
    words: npt.NDArray[np.uint64] = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    ended = ~words[starts + STEP] & _CONTINUED
    count = np.ones(len(starts), np.int64)
    for byte in range(1, _MOST_STEP_BYTES):
        longer = ended & np.uint64((1 << 8 * byte) - 1) == 0
        if not longer.any():
            break
        count += longer
    count[ended == 0] = _MOST_STEP_BYTES + 1
    return np.where(has, count, 0)


def _steps(group: Records, layout: Layout) -> IntArray:
    """Returns the steps of records, from their varints."""
    steps = np.zeros(len(group.rows), np.int64)
    if layout.step_bytes:
        step = group.column(STEP, "<u8")
        for byte in range(layout.step_bytes):
            septet = (step >> np.uint64(8 * byte)) & np.uint64(0x7F)
            steps |= (septet << np.uint64(7 * byte)).astype(np.int64)
    return steps


def by_tag(scalars: Sequence[Decoded]) -> list[Decoded]:
    """Groups scalars by their tags, in the order in which the tags appear."""
    found: dict[tuple[int, bool], list[Decoded]] = {}
    for each in scalars:
        for part in each.parts(each.tags):
            found.setdefault((int(part.tags[0]), part.bare), []).append(part)
    joined = map(Decoded.joined, found.values())
    return sorted(joined, key=lambda part: int(part.rows[0]))
