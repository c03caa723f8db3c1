"""The values that `run.record` and `evaluate=` accept besides scalars, images, figures and texts.

Each class says what an array means, because the shape of the array does not:
`run.record(weights=nbtrain.media.Histogram(layer.kernel))`.
"""

from __future__ import annotations

from nbtrain.media.samples import Audio, ConfusionMatrix, Histogram, PRCurve

__all__ = ["Audio", "ConfusionMatrix", "Histogram", "PRCurve"]
