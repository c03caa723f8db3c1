"""Records of equal length, whose bytes are read in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import IntArray
from nbtrain.tfevents.framing import ByteArray


@dataclass(slots=True)
class Records:
    """Records of one length, `stride` bytes apart in a buffer.

    Attributes:
        rows: The index of each record within its piece of a file.
    """

    rows: IntArray
    buffer: ByteArray
    begin: int
    stride: int

    @classmethod
    def at(cls, data: ByteArray, rows: IntArray, starts: IntArray, width: int) -> Records:
        """Returns the records at these offsets: in place if evenly spaced, or else copied."""
        stride = int(starts[1] - starts[0])
        if (np.diff(starts) == stride).all():
            return cls(rows, data, int(starts[0]), stride)
        records = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))[starts]
        return cls(rows, records.view(np.uint8), 0, width)

    def column(self, offset: int, dtype: str) -> npt.NDArray[Any]:
        """Returns a copy of the numbers at an offset within each record."""
        shape = (len(self.rows),)
        return np.ndarray(shape, dtype, self.buffer, self.begin + offset, (self.stride,)).copy()

    def octets(self, width: int) -> ByteArray:
        """Returns the first bytes of each record, of shape (n, width); not a copy."""
        shape, strides = (len(self.rows), width), (self.stride, 1)
        return np.ndarray(shape, np.uint8, self.buffer, self.begin, strides)

    def take(self, wanted: npt.NDArray[np.bool_], width: int) -> Records:
        """Returns a copy of the records that a mask selects."""
        return Records(self.rows[wanted], self.octets(width)[wanted].reshape(-1), 0, width)
