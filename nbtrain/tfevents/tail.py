"""One event file, followed as it grows.

Between two polls nothing is held but an offset: no handle and no buffer. What may still be
written is waited for; what can never be read is skipped, and counted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nbtrain.tfevents.crc import crc32c, masked
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.framing import FOOTER, HEADER, ByteArray, Frames, frames_in, next_frame

# Bytes that are read at once, unless one record has more; and where a record is looked for.
CHUNK = 1 << 21
_SEARCHED = 1 << 18

# Bytes of the largest record that is read: a serialized event has fewer than 2 GiB.
_LARGEST = 1 << 31

# Bytes by which a file is known again: its first record tells when it was begun.
_HEAD = 32


@dataclass(frozen=True, slots=True)
class Other:
    """A whole record that holds something else than scalars.

    Attributes:
        row: Which record of its piece it is.
        offset: Where its payload begins in the file.
        payload: The serialized `Event`.
    """

    row: int
    offset: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stretch of a file holds.

    Attributes:
        scalars: The scalars of records that hold nothing else.
        others: The other records, in the order of the file.
        skipped: Bytes of what is no record, or has a wrong checksum.
        doubtful: Records that were read in spite of a wrong checksum.
    """

    scalars: list[Decoded]
    others: list[Other]
    skipped: int
    doubtful: int = 0


class Tail:
    """Follows one event file; one thread at a time may call.

    Args:
        path: The file; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        decoder: Decodes its scalars.

    Attributes:
        offset: Bytes read so far.
        size: Bytes that the file had when it was last looked at.
    """

    def __init__(self, path: str, decoder: Decoder) -> None:
        self.path = path
        self.offset = self.size = 0
        self._decoder = decoder
        self._number = 0  # of the file, on this machine
        self._head = b""
        self._searched = 0  # up to where no record was found beyond a damage

    def look(self) -> bool:
        """See how long the file is; whether it is another than before, to be read anew.

        Raises:
            OSError: It is not there, or may not be looked at.
        """
        size, number = _stat(self.path)
        before, self.size = self.size, size
        other = size < before or number != self._number
        if not other and size != before:
            other = self._read(0, len(self._head)) != self._head
        self._number = number
        if other or len(self._head) < _HEAD:
            self._head = self._read(0, min(_HEAD, size))
        anew = other and self.offset > 0
        if anew:
            self.offset = self._searched = 0
        return anew

    def poll(self) -> Piece | None:
        """The next piece of what the file had at the last look; None where all has been read.

        Raises:
            OSError: It cannot be read; the next poll may succeed.
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
                piece = Piece(
                    piece.scalars, piece.others, piece.skipped + found - self.offset, piece.doubtful
                )
                self.offset = found
        return None if self.offset == begin else piece

    def _piece(self, data: ByteArray, frames: Frames) -> tuple[Piece, int, bool]:
        """What some records hold, where they end, and whether what follows is no record."""
        batch = self._decoder.decode(data, frames)
        wrong, others, doubtful = set(batch.damaged), [], len(batch.doubtful)
        for row in sorted(batch.others):
            start, length = int(frames.starts[row]), int(frames.lengths[row])
            payload = data[start : start + length].tobytes()
            footer = data[start + length : start + length + FOOTER]
            whole = masked(np.array([crc32c(payload)], np.uint32))[0] == footer.view("<u4")[0]
            if whole or not self._decoder.verify:
                others.append(Other(row, self.offset + start, payload))
                doubtful += not whole
            else:
                wrong.add(row)
        end, damaged, last = frames.end, frames.damaged, len(frames.starts) - 1
        at_end = self.offset + end == self.size
        if last in wrong and (damaged or at_end):  # its length may be wrong; or it is not written
            wrong.remove(last)
            end, damaged = int(frames.starts[last]) - HEADER, True
        skipped = sum(int(frames.lengths[row]) + HEADER + FOOTER for row in wrong)
        return Piece(batch.scalars, others, skipped, doubtful), end, damaged

    def _next_record(self) -> int | None:
        """Where a record begins beyond a damage; None while there is none."""
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
    """Bytes of a file; fewer where it ends.

    Raises:
        OSError: It cannot be read.
    """
    if is_remote(path):
        import tensorflow as tf

        with remotely(), tf.io.gfile.GFile(path, "rb") as remote:
            remote.seek(offset)
            read: bytes = remote.read(size)
            return read
    with open(path, "rb", buffering=0) as file:
        return os.pread(file.fileno(), size, offset)


def is_remote(path: str) -> bool:
    """Whether a path is not this machine's own."""
    return "://" in path


@contextlib.contextmanager
def remotely() -> Iterator[None]:
    """Use `tf.io.gfile`: its errors become those that a file of this machine raises."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(error.message) from error
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


def _stat(path: str) -> tuple[int, int]:
    """The size of a file, and its number on this machine."""
    if is_remote(path):
        import tensorflow as tf

        with remotely():
            return int(tf.io.gfile.stat(path).length), 0
    found = os.stat(path)  # noqa: PTH116 - twice as quick, for hundreds of files ten times a second
    if not stat.S_ISREG(found.st_mode):  # to open a pipe would wait for its writer
        raise OSError(errno.EINVAL, "It is no regular file")
    return found.st_size, found.st_ino
