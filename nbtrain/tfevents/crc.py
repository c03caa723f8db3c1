"""Computes the CRC-32C of many records of equal length at once.

CRC-32C is the checksum of TensorFlow's record files (Castagnoli polynomial, then masked;
tensorflow/core/lib/hash/crc32c.h). A CRC is affine: the checksum of a record is the checksum of a
template with zeros at some positions, XORed with one table entry for each byte at these positions.
So a whole column of records costs one table look-up per varying byte.
"""

from __future__ import annotations

import functools

import google_crc32c
import numpy as np
import numpy.typing as npt

UInt32Array = npt.NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8

# A table depends only on its position and never changes, so threads may create the same one
# concurrently.


@functools.cache
def _place_table(following: int) -> UInt32Array:
    """Returns what each byte value contributes to the checksum if `following` bytes follow it.

    One more byte turns a table into the table of the next position. Many bytes at once need four
    look-ups, one for each byte of the checksum so far, as in "slicing by four".
    """
    if not following:
        table: UInt32Array = np.arange(256, dtype=np.uint32)
        for _ in range(8):
            table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(_POLYNOMIAL)
    elif following < 4:
        last = _place_table(following - 1)
        table = _place_table(0)[last & 0xFF] ^ (last >> 8)
    else:
        more = 1 << (following.bit_length() - 1)
        last = _place_table(following - more)
        table = np.zeros(256, np.uint32)
        for byte in range(4):
            table ^= _place_table(more - 1 - byte)[(last >> 8 * byte) & 0xFF]
    table.setflags(write=False)
    return table


def crc32c(data: bytes) -> int:
    """Computes the CRC-32C of `data`, not masked."""
    return int(google_crc32c.value(data))


def checksum(data: bytes) -> bytes:
    """Returns the masked CRC-32C of `data`, as it stands in a record file.

    NumPy would take ten times as long for a single number as Python.
    """
    crc = crc32c(data)
    return (((crc >> 15 | crc << 17) + _MASK) % (1 << 32)).to_bytes(4, "little")


def crc32c_columns(
    template: bytes, columns: dict[int, npt.NDArray[np.uint8]], count: int
) -> UInt32Array:
    """Computes the CRC-32C of `count` records that differ from a template in some bytes.

    Args:
        template: The record with zero at every varying position.
        columns: The bytes at each varying position, uint8 of shape (count,).

    Returns:
        The checksums, not masked, uint32 of shape (count,).
    """
    crcs = np.full(count, crc32c(template), dtype=np.uint32)
    add_columns(crcs, len(template), columns)
    return crcs


def add_columns(crcs: UInt32Array, length: int, columns: dict[int, npt.NDArray[np.uint8]]) -> None:
    """Updates checksums of records of `length` bytes when zeros are replaced by other bytes.

    Args:
        crcs: The checksums, uint32 of shape (n,), changed in place.
        length: Bytes of each record.
        columns: The bytes at each position, uint8 of shape (n,).
    """
    for place, column in columns.items():
        table = _place_table(length - 1 - place)
        if len(column) and column[0] == column[-1] and (column == column[0]).all():
            crcs ^= table[column[0]]
        else:
            crcs ^= table[column]


def masked(crcs: UInt32Array) -> UInt32Array:
    """Masks checksums as in record files: rotated right by 15, plus a constant."""
    turned: UInt32Array = (crcs >> np.uint32(15)) | (crcs << np.uint32(17))
    return turned + np.uint32(_MASK)
