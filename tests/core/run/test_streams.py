"""The texts of the standard streams of any class are taken, once, and written."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

from nbtrain.run.output.streams import Streams


class Passing:
    """A stream that has all from another one."""

    def __init__(self) -> None:
        self.inner = io.StringIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Silent:
    """A stream whose `write` does not get the stream."""

    write = staticmethod(len)


class Shared:
    """A stream whose `write` is that of another one."""

    write = io.StringIO().write


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Any], list[str]]:
    """Prints to two streams while they are the standard ones, and returns what was taken."""

    def find(out: Any, err: Any) -> list[str]:
        texts = []

        def written(_stream: Any, write: Callable[[str], int], text: str) -> int:
            texts.append(text)
            return write(text)

        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        streams = Streams(written)
        streams.watch_current()
        out.write("out")
        err.write("err")
        streams.clear()
        out.write("after")
        return texts

    return find


@pytest.mark.parametrize("kind", [io.StringIO, Passing, Silent, Shared])
def test_the_texts_of_a_stream_are_taken_while_it_is_watched(
    kind: type, taken: Callable[[Any, Any], list[str]]
) -> None:
    assert taken(kind(), io.StringIO()) == ["out", "err"]


def test_the_texts_of_a_temporary_file_are_taken(taken: Callable[[Any, Any], list[str]]) -> None:
    with tempfile.NamedTemporaryFile("w+") as file:
        assert taken(file, io.StringIO()) == ["out", "err"]
        file.seek(0)
        assert file.read() == "outafter"


def test_a_stream_of_a_subclass_that_others_have_replaced_is_written_once(
    taken: Callable[[Any, Any], list[str]],
) -> None:
    class Base(io.StringIO):
        pass

    class Derived(Base):
        def write(self, text: str) -> int:
            return super().write(text.upper())

    stream = Derived()
    write = stream.write
    stream.write = lambda text: write(f"<{text}>")  # type: ignore[method-assign]
    assert taken(Base(), stream) == ["out", "err"]
    assert stream.getvalue() == "<ERR>"
