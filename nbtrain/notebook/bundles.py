"""Pictures in the format that a cell shows and a notebook saves."""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any

Bundle = dict[str, Any]

# The most characters of a saved picture; a larger one is scaled down.
BYTES = 190_000
_COLOURS = 64

# One transparent pixel.
BLANK = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNgYAAAAAMAASsJTYQAAAAASUVORK5CYII="
)


def bundle(png: bytes | None, text: str) -> Bundle:
    """Returns a picture in the format shown by cells, exports and web sites without widgets."""
    encoded = BLANK if png is None else b64encode(_small(png)).decode()
    return {"image/png": encoded, "text/plain": text}


def _small(png: bytes) -> bytes:
    """Reduces the picture to a palette, a quarter of its bytes, and scales a large one down."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        whole = image.convert("RGBA")
    scale = 1.0
    while True:
        size = (max(1, int(whole.width * scale)), max(1, int(whole.height * scale)))
        scaled = whole if scale == 1 else whole.resize(size, Image.Resampling.LANCZOS)
        out = io.BytesIO()
        scaled.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE).save(out, "png", optimize=True)
        excess = out.tell() * 4 / 3 / BYTES
        if excess < 1 or max(size) == 1:
            return out.getvalue()
        scale *= 0.9 / excess**0.5
