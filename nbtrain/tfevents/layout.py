"""Locates the scalars in a serialized event.

Events that a program writes step by step differ only in the wall time, the step and the values. A
layout contains the positions of these bytes; the other bytes contain the tags. Messages:
tensorflow/core/util/event.proto, core/framework/summary.proto, tensor.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

WALL_TIME, STEP = 1, 10  # offsets of the wall time, and of the step if there is one

# tensorflow/core/framework/types.proto: the numbers of types with a fixed size.
_FLOAT, _DOUBLE = 1, 2
_CONTENT = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 17: "<u2"} | {
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
_PLUGIN = "scalars"


@dataclass(frozen=True, slots=True)
class LayoutPlace:
    """The position and type of a value.

    Attributes:
        offset: The position of its first byte in the event.
        dtype: The type, as in NumPy.
        bare: Whether the value is a tensor without a plugin's name. Its kind is then the kind of
            the first value with the same tag.
    """

    offset: int
    dtype: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of the wall time, the step and the values of an event.

    Attributes:
        length: Bytes of the event.
        step_bytes: Bytes of the step; 0 for an event without one, whose step is 0.
        places: The values.
    """

    length: int
    step_bytes: int
    places: tuple[LayoutPlace, ...]

    def varying(self) -> Iterator[int]:
        """Yields the positions at which events with this layout and the same tags differ."""
        yield from range(WALL_TIME, WALL_TIME + 8)
        yield from range(STEP, STEP + self.step_bytes)
        for place in self.places:
            yield from range(place.offset, place.offset + int(place.dtype[-1]))


class _Unusual(Exception):  # noqa: N818 - not an error: the event is read in the usual way
    """The event has other contents than scalars, or fields in another order."""


def layout_of(event: bytes) -> tuple[Layout, tuple[str, ...]] | None:
    """Returns the layout and the tags of an event; None if the event is of another kind."""
    try:
        return _layout_of(event)
    except (_Unusual, IndexError, UnicodeDecodeError):
        return None


def _layout_of(event: bytes) -> tuple[Layout, tuple[str, ...]]:
    at, step_bytes = WALL_TIME + 8, 0
    _expect(event[0] == 0x09)
    if event[at] == 0x10:
        _, after = _varint(event, STEP)
        step_bytes, at = after - STEP, after
    _expect(event[at] == 0x2A)
    summary, end = _inside(event, at + 1)
    _expect(end == len(event))
    places, tags = [], []
    while summary < end:
        _expect(event[summary] == 0x0A)
        begin, summary = _inside(event, summary + 1)
        tag, place = _value(event, begin, summary)
        tags.append(tag)
        places.append(place)
    _expect(bool(places))
    return Layout(len(event), step_bytes, tuple(places)), tuple(tags)


def _value(event: bytes, at: int, end: int) -> tuple[str, LayoutPlace]:
    """Returns the tag of a `Summary.Value` and the position of its scalar."""
    _expect(event[at] == 0x0A)
    begin, at = _inside(event, at + 1)
    tag = event[begin:at].decode()
    if event[at] == 0x15:
        place, at = LayoutPlace(at + 1, "<f4"), at + 5
    else:
        _expect(event[at] == 0x42)
        begin, at = _inside(event, at + 1)
        place = _tensor(event, begin, at)
    if at < end:
        _expect(event[at] == 0x4A)
        begin, at = _inside(event, at + 1)
        _expect(_plugin(event, begin, at) == _PLUGIN)
        place = LayoutPlace(place.offset, place.dtype)
    _expect(at == end)
    return tag, place


def _tensor(event: bytes, at: int, end: int) -> LayoutPlace:
    """Returns the position of the single number in a `TensorProto`."""
    _expect(event[at] == 0x08)
    kind, at = event[at + 1], at + 2
    if event[at] == 0x12:  # a shape without dimensions
        _expect(event[at + 1] == 0)
        at += 2
    field, size = event[at], event[at + 1]
    if field == 0x22:
        dtype = _CONTENT.get(kind, "")
    else:
        dtype = {(0x2A, _FLOAT): "<f4", (0x32, _DOUBLE): "<f8"}.get((field, kind), "")
    _expect(bool(dtype) and size == int(dtype[-1]) and at + 2 + size == end)
    return LayoutPlace(at + 2, dtype, bare=True)


def _plugin(event: bytes, at: int, end: int) -> str:
    """Returns the plugin's name in a `SummaryMetadata`."""
    name = ""
    while at < end:
        field = event[at]
        if field & 7 == 0:  # data_class
            _, at = _varint(event, at + 1)
            continue
        _expect(field & 7 == 2)
        begin, at = _inside(event, at + 1)
        if field == 0x0A and event[begin] == 0x0A:
            first, last = _inside(event, begin + 1)
            name = event[first:last].decode()
    return name


def _inside(event: bytes, at: int) -> tuple[int, int]:
    """Returns the begin and end of the payload of a length-delimited field."""
    length, at = _varint(event, at)
    _expect(at + length <= len(event))
    return at, at + length


def _varint(event: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = event[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _expect(usual: bool) -> None:
    if not usual:
        raise _Unusual
