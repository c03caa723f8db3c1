"""A layout of records, and the tags of the records that were found to have it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbtrain.core.values.arrays import IntArray
from nbtrain.tfevents.crc import crc32c
from nbtrain.tfevents.layout import Layout, layout_of
from nbtrain.tfevents.records import Records

_WORD = 8
_ODD = np.uint64(0x9E3779B97F4A7C15)  # for Fibonacci hashing


class KnownLayout:
    """A layout, and the rows of tags of the records with this layout.

    Attributes:
        tags: The indexes of the tags of each row, int64 of shape (rows, places).
        crcs: The checksums of records with these tags and with zeros at varying positions.
    """

    def __init__(self, layout: Layout, tag_id: Callable[[str], int]) -> None:
        self._layout, self._tag_id = layout, tag_id
        self._mask = np.full(layout.length, 0xFF, np.uint8)
        self._mask[list(layout.varying())] = 0
        last = layout.length - _WORD
        offsets = [*range(0, last, _WORD), last]
        masks = [self._mask[offset : offset + _WORD].view("<u8")[0] for offset in offsets]
        self._words = [(o, mask) for o, mask in zip(offsets, masks, strict=True) if mask]
        self._rows: dict[bytes, int] = {}  # by the bytes that stay the same
        self.tags = np.empty((0, len(layout.places)), np.int64)
        self.crcs = np.empty(0, np.uint32)

    def rows_of(self, records: Records) -> IntArray:
        """Finds the row of tags of each record; -1 for a record of another layout."""
        words = [records.column(offset, "<u8") & mask for offset, mask in self._words]
        count = len(records.rows)
        if all((word == word[0]).all() for word in words):
            return np.full(count, self._find_rows(records, np.array([0]))[0])
        keys = np.zeros(count, np.uint64)
        for word in words:
            keys = (keys ^ word) * _ODD
        rows = np.full(count, -1, np.int64)
        todo = np.arange(count)
        for shift in (48, 32):
            key = (keys[todo] >> np.uint64(shift)).astype(np.uint16)
            order = np.argsort(key, kind="stable")
            firsts = np.flatnonzero(np.diff(key[order].astype(np.int32), prepend=-1))
            sizes = np.diff(firsts, append=len(order))
            first = todo[order[firsts]]
            found = np.repeat(self._find_rows(records, first), sizes)
            first, order = np.repeat(first, sizes), todo[order]
            same = np.ones(len(order), np.bool_)
            for word in words:
                same &= word[order] == word[first]
            rows[order[same]] = found[same]
            todo = order[~same]
            if not len(todo):
                break
        return rows

    def _find_rows(self, records: Records, which: IntArray) -> IntArray:
        """Finds the rows of tags of some records, and adds new rows; -1 for another layout."""
        found = np.empty(len(which), np.int64)
        octets = records.octets(self._layout.length)[which]
        tags: list[list[int]] = []
        crcs: list[int] = []
        for index, same in enumerate(octets & self._mask):
            key = same.tobytes()
            row = self._rows.get(key)
            if row is None:
                layout = layout_of(octets[index].tobytes())
                if layout is None or layout[0] != self._layout:
                    row = -1
                else:
                    row = self._rows[key] = len(self._rows)
                    tags.append(list(map(self._tag_id, layout[1])))
                    crcs.append(crc32c(key))
            found[index] = row
        if tags:
            self.tags = np.vstack([self.tags, np.array(tags, np.int64)])
            self.crcs = np.append(self.crcs, np.array(crcs, np.uint32))
        return found
