"""Encoded pictures of a file that anybody may have written, made fit for a page.

What a picture is, its first bytes say, not its writer; it is decoded only when it is shown,
and only after its header was looked at: a few kilobytes can hold gigabytes of pixels.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

# Pixels and bytes up to which a picture is given as it is, and pixels that are decoded at most:
# 128 MB of them.
MOST_PIXELS, MOST_BYTES, MOST_DECODED = 1 << 22, 1 << 22, 1 << 25

# A side up to which a picture in a cell is enlarged.
FEW_PIXELS = 160

# By the first bytes: the type, and Pillow's class. These classes are called by themselves:
# `Image.open` would try its other formats, and only warn of what is too large.
_FORMATS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "PngImagePlugin.PngImageFile"),
    (b"\xff\xd8\xff", "image/jpeg", "JpegImagePlugin.JpegImageFile"),
    (b"GIF8", "image/gif", "GifImagePlugin.GifImageFile"),
    (b"BM", "image/bmp", "BmpImagePlugin.BmpImageFile"),
)
_WEBP = ("image/webp", "WebPImagePlugin.WebPImageFile")


def picture(
    encoded: bytes, *, most_pixels: int = MOST_PIXELS, most_bytes: int = MOST_BYTES
) -> tuple[bytes, str]:
    """A picture that a page can show, and its type: the same bytes, or a smaller PNG.

    Args:
        encoded: PNG, JPEG, GIF, BMP or WebP.
        most_pixels: Pixels above which it is scaled down.
        most_bytes: Bytes above which it is.

    Raises:
        ArgumentError: It is none of these, damaged, or too large to be decoded.
    """
    kind = _format_of(encoded)[0]
    try:
        image = _opened(encoded)
        width, height = image.size
        if width * height <= MOST_DECODED:
            return _fit(image, encoded, kind, most_pixels, most_bytes)
    except Exception as error:  # Pillow raises anything over a damaged picture
        raise ArgumentError(f"The image of type {kind} is damaged: {error}.") from error
    raise ArgumentError(
        f"The image of {width} × {height} pixels is too large to be shown: write a smaller one; "
        f"at most {MOST_DECODED} pixels are decoded."
    )


def enlarged(encoded: bytes, kind: str) -> tuple[bytes, str]:
    """A picture of `picture`, and its type; one of few pixels with each of them as a square."""
    image = _opened(encoded)
    scale = FEW_PIXELS // max(image.size)
    if scale < 2:
        return encoded, kind
    width, height = image.size
    out = io.BytesIO()
    _in_usual_mode(image).resize((width * scale, height * scale), 0).save(out, "png")
    return out.getvalue(), "image/png"


def _opened(encoded: bytes) -> ImageFile:
    module, plugin = _format_of(encoded)[1].split(".")
    image: ImageFile = getattr(import_module(f"PIL.{module}"), plugin)(io.BytesIO(encoded))
    return image


def _format_of(encoded: bytes) -> tuple[str, str]:
    for begin, kind, name in _FORMATS:
        if encoded.startswith(begin):
            return kind, name
    if encoded[:4] == b"RIFF" and encoded[8:12] == b"WEBP":
        return _WEBP
    raise ArgumentError(
        "The image is of no type that is shown (PNG, JPEG, GIF, BMP, WebP): "
        f"it begins with {encoded[:16]!r}."
    )


def _fit(
    image: ImageFile, encoded: bytes, kind: str, most_pixels: int, most_bytes: int
) -> tuple[bytes, str]:
    width, height = image.size
    scale = min(1.0, (most_pixels / (width * height)) ** 0.5)
    if scale == 1 and len(encoded) <= most_bytes:
        image.load()  # raises an error where it is damaged
        return encoded, kind
    image.draft("RGB", (int(width * scale), int(height * scale)))  # a JPEG can be decoded smaller
    whole = _in_usual_mode(image)
    while True:
        size = (max(1, int(width * scale)), max(1, int(height * scale)))
        out = io.BytesIO()
        whole.resize(size).save(out, "png")
        if out.tell() <= most_bytes or max(size) == 1:
            return out.getvalue(), "image/png"
        scale /= 2


def _in_usual_mode(image: ImageFile) -> Image:
    """An image whose pixels can be averaged, 8 bits a channel."""
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return image
    if image.mode == "I;16":
        return image.point(lambda value: value / 256).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")
