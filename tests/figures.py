"""Pictures of runs, and their pixels."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from matplotlib.image import imread


def pixels_of(picture: bytes) -> npt.NDArray[np.float64]:
    """The pixels of a picture: height, width, RGBA."""
    return np.asarray(imread(io.BytesIO(picture)), dtype=np.float64)


def rgb(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def of(pixels: npt.NDArray[np.float64], colour: str) -> npt.NDArray[np.bool_]:
    """Marks the pixels with about this colour."""
    return np.asarray(np.abs(pixels - rgb(colour)).max(axis=2) < 0.05)
