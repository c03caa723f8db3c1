"""Untrusted pictures: shown, scaled down, or rejected with a message."""

from __future__ import annotations

import io
import struct
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nbtrain.core.errors import ArgumentError
from nbtrain.tfevents import pictures
from nbtrain.tfevents.pictures import MOST_DECODED, picture
from nbtrain.tfevents.values import Images


def encoded(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    """A picture of noise."""
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 255, (*size[::-1], 4), np.uint8)).convert(mode)
    out = io.BytesIO()
    noise.save(out, kind)
    return out.getvalue()


def size_of(data: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(data)).size


def chunk(name: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    crc = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def bomb(width: int, height: int) -> bytes:
    """A few bytes that claim to be a picture of this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "webp"])
def test_a_picture_of_a_known_type_is_returned_unchanged(kind: str) -> None:
    data = encoded(kind)
    assert picture(data) == (data, f"image/{kind}")


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "webp"])
def test_a_picture_of_too_many_pixels_is_scaled_down(kind: str) -> None:
    data, shown = picture(encoded(kind, (400, 300)), most_pixels=1200)
    assert shown == "image/png"
    assert size_of(data) == (40, 30)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_a_picture_of_any_mode_is_scaled_down(mode: str) -> None:
    data, _ = picture(encoded("png", (400, 300), mode), most_pixels=1200)
    assert size_of(data) == (40, 30)


def test_sixteen_bits_a_pixel_keep_their_brightness_when_scaled_down() -> None:
    out = io.BytesIO()
    Image.fromarray(np.full((100, 100), 0x4080, np.uint16)).save(out, "png")
    data, _ = picture(out.getvalue(), most_pixels=100)
    assert np.asarray(Image.open(io.BytesIO(data))).tolist() == [[0x40] * 10] * 10


def test_transparency_survives_scaling_down() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (100, 100), (9, 9, 9, 0)).quantize().save(out, "png")
    data, _ = picture(out.getvalue(), most_pixels=100)
    assert np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))[..., 3].max() == 0


def test_a_picture_of_too_many_bytes_is_scaled_down(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoded("png", (200, 100))
    monkeypatch.setattr(pictures, "MOST_BYTES", len(whole) // 10)
    data, _ = picture(whole)
    assert len(data) <= len(whole) // 10
    assert size_of(data)[0] < 200


def test_a_picture_of_one_pixel_width_stays_one() -> None:
    data, _ = picture(encoded("png", (1000, 1)), most_pixels=100)
    assert size_of(data) == (316, 1)


@pytest.mark.parametrize("size", [(100_000, 100_000), (MOST_DECODED + 1, 1)])
def test_a_huge_picture_raises_from_its_header_alone(size: tuple[int, int]) -> None:
    with pytest.raises(ArgumentError, match=rf"of {size[0]} × {size[1]} pixels is too large"):
        picture(bomb(*size))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<?xml version='1.0'?><svg/>",
        b"<html><img src=x onerror=alert(1)></html>",
        b"%PDF-1.4",
        b"II*\x00",
        b"RIFF\x00\x00\x00\x00WAVE",
    ],
)
def test_other_data_raises_with_its_first_bytes(data: bytes) -> None:
    with pytest.raises(ArgumentError) as caught:
        picture(data)
    assert str(caught.value) == (
        "The image is of no type that is shown (PNG, JPEG, GIF, BMP, WebP): "
        f"it begins with {data[:16]!r}."
    )


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "webp"])
def test_half_a_picture_raises(kind: str) -> None:
    data = encoded(kind)
    with pytest.raises(ArgumentError, match=rf"of type image/{kind} is damaged: "):
        picture(data[: len(data) // 2])


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "webp"])
def test_a_byte_changed_anywhere_never_crashes(kind: str) -> None:
    data = encoded(kind, (9, 7))
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        try:
            shown, shown_kind = picture(bytes(damaged))
        except ArgumentError:
            continue
        assert shown == damaged or shown_kind == "image/png"


# --- in a cell --------------------------------------------------------------------


def test_a_cell_shows_the_first_image() -> None:
    images = Images(200, 150, (encoded("png", (200, 150)), encoded("jpeg")))
    bundle = images._repr_mimebundle_(include=None, exclude=None)
    assert bundle.keys() == {"text/plain", "image/png"}
    assert b64decode(bundle["image/png"]) == images.encoded[0]
    assert bundle["text/plain"] == "<2 images of 200 × 150 pixels>"


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (Images(0, 0, ()), "<0 images of 0 × 0 pixels>"),
        (Images(9, 9, (b"<svg>",)), "of no type that is shown"),
        (Images(9, 9, (bomb(100_000, 100_000),)), "is too large to be shown"),
    ],
)
def test_a_cell_says_why_it_shows_no_image(images: Images, words: str) -> None:
    bundle: dict[str, Any] = images._repr_mimebundle_()
    assert bundle.keys() == {"text/plain"}
    assert words in bundle["text/plain"]


def test_any_of_the_images_can_be_shown() -> None:
    images = Images(40, 30, (encoded("png"), encoded("jpeg", (400, 300))))
    data, kind = images.shown(1, most_pixels=1200)
    assert (size_of(data), kind) == ((40, 30), "image/png")


def test_in_a_cell_each_pixel_of_a_tiny_image_is_a_square() -> None:
    tiny = np.array([[0, 255], [255, 0]], np.uint8)
    out = io.BytesIO()
    Image.fromarray(tiny).save(out, "png")
    bundle: dict[str, Any] = Images(2, 2, (out.getvalue(),))._repr_mimebundle_()
    shown = Image.open(io.BytesIO(b64decode(bundle["image/png"])))
    assert np.array_equal(np.asarray(shown), np.kron(tiny, np.ones((80, 80), np.uint8)))
    assert bundle["text/plain"] == "<1 image of 2 × 2 pixels>"
