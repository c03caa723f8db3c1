"""Groups the curves of a run into the lines of charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbtrain.core.values.side_tags import is_metric
from nbtrain.panel.validations import charts_of
from nbtrain.recording.parts import Curve


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart: a tag, or all validations.

    Attributes:
        tag: The tag; for several validations in a chart, the tag with the newest value.
        validates: Whether the line is a validation: orange, with visible points if there are few.
        curves: The curves of all segments.
    """

    tag: str
    validates: bool
    curves: list[Curve]

    @property
    def kept(self) -> list[Curve]:
        """The curves that were not abandoned."""
        return [curve for curve in self.curves if len(curve.buckets.steps) and not curve.abandoned]


def lines_of(curves: Sequence[Curve]) -> list[list[Line]]:
    """Returns the lines of each chart of the training's scalars, training before validation."""
    segments: dict[str, list[Curve]] = {}
    for curve in sorted(curves, key=lambda curve: curve.segment):  # recalled segments came last
        if is_metric(curve.tag):
            segments.setdefault(curve.tag, []).append(curve)
    charts = charts_of(segments)
    found: dict[str, list[Line]] = {
        tag: [Line(tag, tag in charts, of_tag)]
        for tag, of_tag in segments.items()
        if charts.get(tag, tag) == tag
    }
    for tag, chart in charts.items():
        if tag != chart:
            both = [*(curve for line in found[chart][1:] for curve in line.curves), *segments[tag]]
            found[chart][1:] = [Line(_newest(both), True, both)]
    return list(found.values())


def _newest(curves: Sequence[Curve]) -> str:
    """Returns the tag with the newest value; abandoned curves count only if there is no other."""
    found = [curve for curve in curves if len(curve.buckets.steps)] or curves
    kept = [curve for curve in found if not curve.abandoned] or found
    return max(kept, key=lambda curve: curve.buckets.steps[-1:].sum()).tag
