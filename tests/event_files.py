"""Event files for the tests: written by TensorFlow, read by TensorFlow."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import tensorflow as tf

from nbtrain.logdir.reader import Reader

v1 = tf.compat.v1

NAME = "events.out.tfevents.0000000001.here"

# Step, wall time and value, as in a file.
Row = tuple[int, float, float]


def written(path: Path, events: Iterable[Any]) -> Path:
    """A file of these events, by TensorFlow's own writer of records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for event in events:
            writer.write(event.SerializeToString())
    return path


def written_at_once(path: Path, events: Iterable[Any]) -> Path:
    """The same file of many events in one write: TensorFlow's writer calls for each record."""
    parts = []
    for data in (event.SerializeToString() for event in events):
        length = struct.pack("<Q", len(data))
        parts += [length, _checksum(length), data, _checksum(data)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(parts))
    return path


def _checksum(data: bytes) -> bytes:
    """Masked, as records have it."""
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def simple(tag: str, step: int, value: float, wall_time: float = 1.7e9) -> Any:
    """A scalar as TensorFlow 1, PyTorch and tensorboardX write it."""
    value = v1.Summary.Value(tag=tag, simple_value=value)
    return v1.Event(wall_time=wall_time, step=step, summary=v1.Summary(value=[value]))


def tensor(tag: str, step: int, number: Any, wall_time: float = 1.7e9, **how: bool) -> Any:
    """A scalar as TensorFlow 2 writes it: the tensor of a NumPy number, with a plugin's name.

    Args:
        how: `content=True` for `tensor_content` instead of `float_val` and the like;
            `bare=True` for no metadata.
    """
    value = v1.Summary.Value(tag=tag)
    if not how.get("bare"):
        value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.CopyFrom(_proto(number))
    if how.get("content"):
        for name in ("float_val", "double_val", "int_val", "int64_val"):
            value.tensor.ClearField(name)
        value.tensor.tensor_content = np.asarray(number).tobytes()
    return v1.Event(wall_time=wall_time, step=step, summary=v1.Summary(value=[value]))


_PROTOS: dict[str, Any] = {}


def _proto(number: Any) -> Any:
    """The proto that TensorFlow makes of a number, once: it takes long."""
    if not isinstance(number, float | np.generic):
        return tf.make_tensor_proto(number)
    key = f"{type(number)} {number!r}"
    if key not in _PROTOS:
        _PROTOS[key] = tf.make_tensor_proto(number)
    return _PROTOS[key]


def start(step: int, wall_time: float) -> Any:
    """The mark of a program that begins, or begins again."""
    log = v1.SessionLog(status=v1.SessionLog.START)
    return v1.Event(wall_time=wall_time, step=step, session_log=log)


def expected(*paths: Path) -> dict[str, list[Row]]:
    """The scalars of files, by tag, as TensorFlow's `summary_iterator` gives them."""
    found: dict[str, list[Row]] = {}
    for path in paths:
        for event in v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                if kind == "simple_value":
                    number = value.simple_value
                elif kind == "tensor" and value.tensor.dtype != tf.string.as_datatype_enum:
                    number = float(tf.make_ndarray(value.tensor).reshape(()))
                else:
                    continue
                row = (event.step, event.wall_time, number)
                found.setdefault(value.tag, []).append(row)
    return found


def read(logdir: Path) -> Reader:
    """A reader that has read what there is."""
    reader = Reader(str(logdir))
    reader.scan()
    reader.read()
    return reader


def rows(reader: Reader, run: str = ".") -> dict[str, list[Row]]:
    """All scalars of a run by tag, in the order they were written."""
    found = {}
    for tag in reader.tags(run):
        points = reader.points(run, tag)
        columns = (points.steps.tolist(), points.wall_times.tolist(), points.values.tolist())
        found[tag] = list(zip(*columns, strict=True))
    return found


def records(data: bytes) -> list[int]:
    """Returns the end of each record of a file."""
    ends, end = [], 0
    while end < len(data):
        end += struct.unpack_from("<Q", data, end)[0] + 16
        ends.append(end)
    return ends
