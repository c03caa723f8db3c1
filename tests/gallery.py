"""Saves a picture of each notebook for the gallery, as its cells show it: `make screenshots`."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

from PIL import Image

from tests import ROOT

NOTEBOOKS = ROOT / "notebooks"
LEAST_HEIGHT, WIDTH = 250, 800  # pixels


def pictures(path: Path) -> list[Image.Image]:
    """The pictures in the outputs of a notebook that are high enough to show something."""
    outputs = [
        output
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", ())
    ]
    found = [
        Image.open(io.BytesIO(base64.b64decode("".join(output["data"]["image/png"]))))
        for output in outputs
    ]
    return [picture for picture in found if picture.height >= LEAST_HEIGHT]


def main() -> None:
    """Save the first picture of each notebook."""
    (NOTEBOOKS / "pictures").mkdir(exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        found = pictures(path)
        assert found, f"{path.name} has no picture of {LEAST_HEIGHT} pixels or more"
        picture = found[0].convert("RGBA").convert("RGB")
        picture.thumbnail((WIDTH, WIDTH))
        small = picture.quantize(128, dither=Image.Dither.NONE)
        small.save(NOTEBOOKS / "pictures" / f"{path.stem}.png", optimize=True)


if __name__ == "__main__":
    main()
