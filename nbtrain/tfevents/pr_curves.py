"""Precision-recall curves, as TensorBoard's plugin `pr_curves` writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nbtrain.core.values.arrays import FloatArray
from nbtrain.tfevents.messages import array_of

_ROWS = 6  # tensorboard/plugins/pr_curve/metadata.py


@dataclass(frozen=True, slots=True)
class PrCurve:
    """The precision-recall curve of one step; all arrays have one number for each threshold.

    Attributes:
        thresholds: float64 of shape (n,): evenly spaced from 0 to 1.
        true_positives: float64 of shape (n,): a count, or a sum of weights.
        false_positives: As `true_positives`.
        true_negatives: As `true_positives`.
        false_negatives: As `true_positives`.
        precision: float64 of shape (n,): from 0 to 1.
        recall: float64 of shape (n,): from 0 to 1.
    """

    thresholds: FloatArray
    true_positives: FloatArray
    false_positives: FloatArray
    true_negatives: FloatArray
    false_negatives: FloatArray
    precision: FloatArray
    recall: FloatArray

    def __repr__(self) -> str:
        return f"<precision and recall at {len(self.thresholds)} thresholds>"


def pr_curve(value: Any) -> PrCurve:
    """Decodes the curve in a `Summary.Value`.

    The highest thresholds, at which nothing is predicted to be positive, are left out, as in
    TensorBoard, because precision is undefined there.

    Raises:
        ValueError: The value is not a curve.
    """
    array = array_of(value.tensor)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"it holds {array.dtype}, not numbers")
    if array.ndim != 2 or len(array) != _ROWS:
        raise ValueError(f"its shape is {array.shape}, not ({_ROWS}, thresholds)")
    if not array.size:
        raise ValueError("it has no thresholds")
    rows = array.astype(np.float64)
    predicted = np.flatnonzero(rows[0] + rows[1] != 0)
    end = int(predicted[-1]) + 1 if len(predicted) else 1
    thresholds = np.linspace(0.0, 1.0, rows.shape[1])
    return PrCurve(thresholds[:end], *rows[:, :end])
