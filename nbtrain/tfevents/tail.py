"""Follows one event file as it grows.

Between two polls only an offset is kept: no handle and no buffer. An incomplete record is read once
it is complete; unreadable bytes are skipped and counted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nbtrain.core import own_files
from nbtrain.tfevents.crc import checksum
from nbtrain.tfevents.decode import Decoded, Decoder, by_tag
from nbtrain.tfevents.framing import FOOTER, HEADER, ByteArray, Frames, frames_in, next_frame

# Bytes that are read at once, unless one record has more; bytes that are searched at once.
CHUNK = 1 << 21
_SEARCHED = 1 << 18

# Bytes of the largest record that is read: a serialized event has fewer than 2 GiB.
_LARGEST = 1 << 31

# Bytes that identify a file: its first record contains the time at which it was begun.
_HEAD = 32


@dataclass(frozen=True, slots=True)
class Other:
    """A complete record that contains other values than scalars.

    Attributes:
        row: The index of the record within the piece.
        offset: The offset of the payload in the file.
        payload: The serialized `Event`.
    """

    row: int
    offset: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """The contents of a stretch of a file.

    Attributes:
        scalars: The scalars of records that contain nothing else, grouped by their tags.
        others: The other records, in the order of the file.
        skipped: Bytes that are not records, or have a wrong checksum.
        doubtful: Records that were read in spite of a wrong checksum.
    """

    scalars: list[Decoded]
    others: list[Other]
    skipped: int
    doubtful: int = 0


class Tail:
    """Follows one event file; for one thread at a time.

    Args:
        path: The file; one with a scheme, like `gs://`, is read through `tf.io.gfile`.

    Attributes:
        offset: Bytes read so far.
        size: Bytes of the file at the last scan.
    """

    def __init__(self, path: str, decoder: Decoder) -> None:
        self.path = path
        self.offset = self.size = 0
        self._decoder = decoder
        self._number = 0  # the file's inode
        self._head = b""
        self._searched = 0  # end of the search for a record after damage

    def scan(self) -> bool:
        """Updates the size; returns whether the file was replaced and must be read again.

        Raises:
            OSError: The file does not exist, or access is denied.
        """
        size, number = _stat(self.path)
        before, self.size = self.size, size
        other = size < before or number != self._number
        if not other and size != before:
            other = self._read(0, len(self._head)) != self._head
        self._number = number
        if other or len(self._head) < _HEAD:
            self._head = self._read(0, min(_HEAD, size))
        replaced = other and self.offset > 0
        if replaced:
            self.offset = self._searched = 0
        return replaced

    def poll(self) -> Piece | None:
        """Returns the next piece of the file as of the last scan; None if all has been read.

        Raises:
            OSError: The file cannot be read; the next poll may succeed.
        """
        if self.offset >= self.size:
            return None
        data = self._array(self.offset, CHUNK)
        frames = frames_in(data)
        if len(data) < frames.wanted <= self.size - self.offset and not frames.end:
            if frames.wanted > _LARGEST:
                self.offset += frames.wanted
                return Piece([], [], frames.wanted)
            data = self._array(self.offset, frames.wanted)
            frames = frames_in(data)
        piece, end, damaged = self._piece(data, frames)
        begin = self.offset
        self.offset += end
        if damaged:
            found = self._next_record()
            if found is not None:
                piece = replace(piece, skipped=piece.skipped + found - self.offset)
                self.offset = found
        return None if self.offset == begin else piece

    def contents(self) -> bytes:
        """Returns the whole file as of the last scan.

        Raises:
            OSError: The file cannot be read.
        """
        return self._read(0, self.size) if self.size else b""  # a file of no size may be a pipe

    def _piece(self, data: ByteArray, frames: Frames) -> tuple[Piece, int, bool]:
        """Decodes some records; returns them, their end, and whether damage follows."""
        batch = self._decoder.decode(data, frames)
        wrong, others, doubtful = set(batch.damaged), [], len(batch.doubtful)
        for row in sorted(batch.others):
            start, length = int(frames.starts[row]), int(frames.lengths[row])
            payload = data[start : start + length].tobytes()
            footer = data[start + length : start + length + FOOTER]
            whole = checksum(payload) == footer.tobytes()
            if whole or not self._decoder.verify:
                others.append(Other(row, self.offset + start, payload))
                doubtful += not whole
            else:
                wrong.add(row)
        end, damaged, last = frames.end, frames.damaged, len(frames.starts) - 1
        at_end = self.offset + end == self.size
        if last in wrong and (damaged or at_end):  # the length may be wrong, or data is missing
            wrong.remove(last)
            end, damaged = int(frames.starts[last]) - HEADER, True
        skipped = sum(int(frames.lengths[row]) + HEADER + FOOTER for row in wrong)
        return Piece(by_tag(batch.scalars), others, skipped, doubtful), end, damaged

    def _next_record(self) -> int | None:
        """Finds the next record after damaged bytes; None while there is none."""
        begin = max(self.offset, self._searched)
        while begin + HEADER < self.size:
            data = self._array(begin, _SEARCHED)
            found = next_frame(data)
            if found is not None:
                return begin + found
            begin += max(1, len(data) - HEADER)
        self._searched = begin
        return None

    def _array(self, offset: int, size: int) -> ByteArray:
        return np.frombuffer(self._read(offset, min(size, self.size - offset)), np.uint8)

    def _read(self, offset: int, size: int) -> bytes:
        return read_at(self.path, offset, size)


def read_at(path: str, offset: int, size: int) -> bytes:
    """Reads `size` bytes of a file, or fewer at its end.

    Raises:
        OSError: The file cannot be read.
    """
    if is_remote(path):
        import tensorflow as tf

        with remotely(), tf.io.gfile.GFile(path, "rb") as remote:
            remote.seek(offset)
            read: bytes = remote.read(size)
            return read
    with own_files.opened(path) as file:
        return os.pread(file.fileno(), size, offset)


def is_remote(path: str) -> bool:
    """Returns whether a path has a scheme, such as `gs://`, and is not on this machine."""
    return "://" in path


@contextlib.contextmanager
def remotely() -> Iterator[None]:
    """Translates errors of `tf.io.gfile` inside the block to those of local files."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(error.message) from error
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


def _stat(path: str) -> tuple[int, int]:
    """Returns the size of a file, and its inode; 0 for the inode of a remote file."""
    if is_remote(path):
        import tensorflow as tf

        with remotely():
            return int(tf.io.gfile.stat(path).length), 0
    found = own_files.state(path)
    return found.st_size, found.st_ino
