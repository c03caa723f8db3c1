"""The values that `run.record` and `evaluate=` take besides scalars, images, figures and texts.

Each says what an array means, which nbtrain could not tell from its shape:
`run.record(weights=nbtrain.media.Histogram(layer.kernel))`.
"""

from __future__ import annotations

from nbtrain.media.samples import Audio, ConfusionMatrix, Histogram, PRCurve

__all__ = ["Audio", "ConfusionMatrix", "Histogram", "PRCurve"]
