"""Writes an event file in bulk.

Records with the same tags differ in few bytes: the wall time, the step and the values. So a batch
of records is one template, filled column by column.

Framing: tensorflow/core/lib/io/record_writer.h; message: tensorflow/core/util/event.proto.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from nbtrain.core import own_files
from nbtrain.core.values.config import Config
from nbtrain.tfevents.crc import checksum, crc32c_columns, masked
from nbtrain.tfevents.framing import FOOTER
from nbtrain.tfevents.names import ENDING, PREFIX

ByteArray = npt.NDArray[np.uint8]

_numbers = itertools.count()


class EventWriter:
    """One event file in a run's folder, for TensorBoard and `summary_iterator`.

    Every call has written its data completely to disk when it returns. After a call that fails, the
    file contains no partial record, and the next call may succeed. For one thread at a time.

    Args:
        logdir: The folder; it must exist.

    Attributes:
        path: The file.

    Raises:
        OSError: The file cannot be written; also from every other method.
    """

    def __init__(self, logdir: Path) -> None:
        # TensorFlow's format of names: TensorBoard finds and sorts files by it.
        name = f"{PREFIX}{_time_of_next(logdir):010d}.{socket.gethostname()}"
        self.path = logdir / f"{name}.{os.getpid()}.{next(_numbers)}{ENDING}"
        self._file = own_files.opened(self.path, own_files.APPEND)
        self._made = os.fstat(self._file.fileno())
        self._has_session = False
        try:
            self._write_event(file_version="brain.Event:2", wall_time=time.time())
        except OSError:
            self.close()
            self.path.unlink(missing_ok=True)
            raise

    @property
    def in_place(self) -> bool:
        """True unless the file at `path` was deleted or renamed."""
        try:
            return os.path.samestat(self.path.stat(), self._made)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # a network folder that does not answer
            return True

    def session_start(self, step: int, wall_time: float) -> None:
        """Marks that the run continues from `step`, so that TensorBoard drops all later steps.

        The mark has the next step, because TensorBoard drops the step of the mark and all later
        ones. The first mark is written twice, because TensorBoard drops nothing at the first mark
        of a run.
        """
        log = SessionLog(status=SessionLog.START)
        mark = Event(session_log=log, step=step + 1, wall_time=wall_time).SerializeToString()
        self._append(_framed(mark) * (1 if self._has_session else 2))
        self._has_session = True

    def hyperparameters(self, values: Config, wall_time: float) -> None:
        """Writes the hyperparameters at the start of a run, for TensorBoard's HParams dashboard."""
        from tensorboard.plugins.hparams.api import hparams_pb  # here, as this import is slow

        self._write_summary(hparams_pb(values, start_time_secs=wall_time), wall_time)

    def session_end(self, *, failed: bool, wall_time: float) -> None:
        """Marks the end of the session that `hyperparameters` began."""
        from tensorboard.plugins.hparams.api_pb2 import STATUS_FAILURE, STATUS_SUCCESS
        from tensorboard.plugins.hparams.summary import session_end_pb

        status = STATUS_FAILURE if failed else STATUS_SUCCESS
        self._write_summary(session_end_pb(status, wall_time), wall_time)

    def scalars(
        self,
        steps: npt.NDArray[np.int64],
        wall_times: npt.NDArray[np.float64],
        values: Mapping[str, npt.NDArray[np.float64]],
    ) -> None:
        """Writes one event per step with all `values` (tag -> float64 of shape (n,))."""
        lengths, records = _varint_lengths(steps), []
        for length in np.unique(lengths):
            rows = lengths == length
            part = {tag: column[rows] for tag, column in values.items()}
            made = _scalar_records(steps[rows], wall_times[rows], part, int(length))
            records.append(made.tobytes())
        self._append(b"".join(records))  # all or none, so that a failed call can be repeated

    def summary(self, serialized: bytes, step: int, wall_time: float) -> None:
        """Writes a serialized `Summary`, such as an image."""
        summary = Summary.FromString(serialized)
        self._write_event(summary=summary, step=step, wall_time=wall_time)

    def event(self, serialized: bytes) -> None:
        """Writes a serialized `Event` as it is."""
        self._append(_framed(serialized))

    def close(self) -> None:
        """Closes the file; calling it again does nothing."""
        self._file.close()

    def _write_summary(self, made: Any, wall_time: float) -> None:
        """Writes a summary that TensorBoard has made, of its own class or TensorFlow's."""
        summary = Summary.FromString(made.SerializeToString())
        self._write_event(summary=summary, wall_time=wall_time)

    def _write_event(self, **fields: Any) -> None:
        self.event(Event(**fields).SerializeToString())

    def _append(self, records: bytes) -> None:
        end, rest = self._file.seek(0, os.SEEK_END), memoryview(records)
        try:
            while rest:  # on an almost full disk, a call may write only a part
                rest = rest[self._file.write(rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise


def _time_of_next(logdir: Path) -> int:
    """Returns the time in the name of a new file: now, but later than in all existing names.

    The files of a run are read in the order of these times, here and in TensorBoard, and the clock
    may have been set back.
    """
    names = [path.name for path in logdir.iterdir() if path.name.endswith(ENDING)]
    times = [name.removeprefix(PREFIX).partition(".")[0] for name in names]
    return max([int(time.time()), *(int(each) + 1 for each in times if each.isdecimal())])


def _framed(serialized: bytes) -> bytes:
    header = struct.pack("<Q", len(serialized))
    return header + checksum(header) + serialized + checksum(serialized)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _varint_lengths(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bounds = 1 << np.arange(7, 63, 7, dtype=np.int64)
    return np.searchsorted(bounds, numbers, side="right") + 1


def _varint_columns(numbers: npt.NDArray[np.int64], length: int) -> ByteArray:
    """Encodes numbers as varints of `length` bytes each: uint8 of shape (n, length)."""
    septets = (numbers[:, None] >> (7 * np.arange(length))) & 0x7F
    septets[:, :-1] |= 0x80
    return septets.astype(np.uint8)


def _field(number: int, payload: bytes) -> bytes:
    """Encodes a length-delimited protobuf field."""
    return bytes([number << 3 | 2]) + _varint(len(payload)) + payload


def _scalar_records(
    steps: npt.NDArray[np.int64],
    wall_times: npt.NDArray[np.float64],
    values: Mapping[str, npt.NDArray[np.float64]],
    length: int,
) -> ByteArray:
    """Encodes framed records of events whose steps all have `length` bytes, one per row."""
    # Event: 1 wall_time (double), 2 step (varint), 5 summary; Summary: 1 value;
    # Value: 1 tag, 2 simple_value (float).
    head = b"\x09" + bytes(8) + b"\x10" + bytes(length)
    tagged = [_field(1, tag.encode(errors="replace")) + b"\x15" + bytes(4) for tag in values]
    template = head + _field(5, b"".join(_field(1, value) for value in tagged))
    fills = [(1, wall_times.astype("<f8").view(np.uint8).reshape(-1, 8))]
    fills.append((10, _varint_columns(steps, length)))
    end = len(template)
    for value, column in zip(tagged[::-1], [*values.values()][::-1], strict=True):
        with np.errstate(over="ignore"):
            fills.append((end - 4, column.astype("<f4").view(np.uint8).reshape(-1, 4)))
        end -= len(_field(1, value))
    header = struct.pack("<Q", len(template))
    header += checksum(header)
    records = np.empty((len(steps), len(header) + len(template) + FOOTER), np.uint8)
    records[:, :-FOOTER] = np.frombuffer(header + template, np.uint8)
    columns: dict[int, ByteArray] = {}
    for place, fill in fills:
        offset = len(header) + place
        records[:, offset : offset + fill.shape[1]] = fill
        columns.update({place + i: fill[:, i] for i in range(fill.shape[1])})
    crcs = masked(crc32c_columns(template, columns, len(steps)))
    records[:, -FOOTER:] = crcs.astype("<u4").view(np.uint8).reshape(-1, 4)
    return records
