"""What `run.record` and `evaluate=` take besides scalars, images, figures and texts.

Each wraps arrays of which nobody could tell the meaning:
`run.record(weights=nbtrain.media.Histogram(layer.kernel))`.
"""

from __future__ import annotations

from nbtrain.recording.samples import Audio, ConfusionMatrix, Histogram, PRCurve

__all__ = ["Audio", "ConfusionMatrix", "Histogram", "PRCurve"]
