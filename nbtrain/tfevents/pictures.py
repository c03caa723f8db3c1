"""Prepares encoded pictures from untrusted files for a page.

The type of a picture is read from its first bytes; the writer's word for it is not trusted. A
picture is decoded only when it is shown, and after a check of its header, because a few kilobytes
can contain gigabytes of pixels.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

# Pictures with more pixels or bytes are scaled down. No picture with more than MOST_DECODED pixels
# is decoded: that many pixels need 128 MB.
MOST_PIXELS, MOST_BYTES, MOST_DECODED = 1 << 22, 1 << 22, 1 << 25

# Pictures with a shorter side are enlarged in a cell.
FEW_PIXELS = 160

# Type and Pillow's class by the first bytes. These classes are called directly: `Image.open` would
# try other formats, and only warn of oversized pictures.
_FORMATS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "PngImagePlugin.PngImageFile"),
    (b"\xff\xd8\xff", "image/jpeg", "JpegImagePlugin.JpegImageFile"),
    (b"GIF8", "image/gif", "GifImagePlugin.GifImageFile"),
    (b"BM", "image/bmp", "BmpImagePlugin.BmpImageFile"),
)
_WEBP = ("image/webp", "WebPImagePlugin.WebPImageFile")


def picture(encoded: bytes, *, most_pixels: int = MOST_PIXELS) -> tuple[bytes, str]:
    """Returns a picture that a page can show, and its type: the same bytes, or a smaller PNG.

    Raises:
        ArgumentError: The picture is of another type, damaged, or too large to be decoded.
    """
    kind = _format_of(encoded)[0]
    try:
        image = _opened(encoded)
        width, height = image.size
        if width * height <= MOST_DECODED:
            return _fit(image, encoded, kind, most_pixels)
    except Exception as error:  # Pillow raises any error for a damaged picture
        raise ArgumentError(f"The image of type {kind} is damaged: {error}.") from error
    raise ArgumentError(
        f"The image of {width} × {height} pixels is too large to be shown: write a smaller one; "
        f"at most {MOST_DECODED} pixels are decoded."
    )


def enlarged(encoded: bytes, kind: str) -> tuple[bytes, str]:
    """Enlarges each pixel of a small picture to a square; returns the picture and its type."""
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


def _fit(image: ImageFile, encoded: bytes, kind: str, most_pixels: int) -> tuple[bytes, str]:
    width, height = image.size
    scale = min(1.0, (most_pixels / (width * height)) ** 0.5)
    if scale == 1 and len(encoded) <= MOST_BYTES:
        image.load()  # raises an error if it is damaged
        return encoded, kind
    image.draft("RGB", (int(width * scale), int(height * scale)))  # a JPEG can be decoded smaller
    whole = _in_usual_mode(image)
    while True:
        size = (max(1, int(width * scale)), max(1, int(height * scale)))
        out = io.BytesIO()
        whole.resize(size).save(out, "png")
        if out.tell() <= MOST_BYTES or max(size) == 1:
            return out.getvalue(), "image/png"
        scale /= 2


def _in_usual_mode(image: ImageFile) -> Image:
    """Converts an image so that its pixels can be averaged, 8 bits a channel."""
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return image
    if image.mode == "I;16":
        return image.point(lambda value: value / 256).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")
