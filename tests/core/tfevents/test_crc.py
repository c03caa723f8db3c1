"""The checksum of record files equals that of other implementations."""

from __future__ import annotations

import os
import threading

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub import pywrap_tensorflow as reference

from nbtrain.tfevents import crc
from nbtrain.tfevents.crc import checksum, crc32c, crc32c_columns, masked


def test_the_checksum_of_the_example_in_the_rfc() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720, the usual check value of CRC-32C


def test_the_checksum_of_no_bytes() -> None:
    assert crc32c(b"") == 0


@given(data=st.binary(max_size=300))
def test_a_masked_checksum_equals_tensorboards(data: bytes) -> None:
    ours = masked(np.array([crc32c(data)], dtype=np.uint32))
    assert int(ours[0]) == reference.masked_crc32c(data)
    assert checksum(data) == ours.astype("<u4").tobytes()


@given(
    template=st.binary(min_size=1, max_size=120),
    places=st.sets(st.integers(0, 119), max_size=12),
    count=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_checksums_in_bulk_equal_checksums_one_by_one(
    template: bytes, places: set[int], count: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    varying = sorted(place for place in places if place < len(template))
    blank = bytes(0 if place in varying else byte for place, byte in enumerate(template))
    columns = {place: generator.integers(0, 256, count, dtype=np.uint8) for place in varying}
    records = np.tile(np.frombuffer(blank, np.uint8), (count, 1))
    for place, column in columns.items():
        records[:, place] = column
    wanted = [crc32c(record.tobytes()) for record in records]
    assert crc32c_columns(blank, columns, count).tolist() == wanted


def columns_of(record: bytes) -> dict[int, npt.NDArray[np.uint8]]:
    """Returns every byte of one record as a column."""
    return {
        place: np.frombuffer(record, np.uint8)[place : place + 1] for place in range(len(record))
    }


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 4097])
def test_a_byte_contributes_at_every_distance_from_the_end(length: int) -> None:
    record = os.urandom(length)
    assert int(crc32c_columns(bytes(length), columns_of(record), 1)[0]) == crc32c(record)


def test_concurrent_threads_get_the_same_tables() -> None:
    together = threading.Barrier(3)
    wrong: list[bytes] = []

    def use() -> None:
        record = os.urandom(400)
        together.wait()
        if int(crc32c_columns(bytes(400), columns_of(record), 1)[0]) != crc32c(record):
            wrong.append(record)

    for _ in range(30):
        crc._place_table.cache_clear()
        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        use_alone = os.urandom(400)
        assert int(crc32c_columns(bytes(400), columns_of(use_alone), 1)[0]) == crc32c(use_alone)
        assert not wrong


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        crc._place_table(7)[0] = 1
