"""A chart of a layout, as a page draws it: which tags it shows, and in words which it lacks.

As TensorBoard's Custom Scalars: a regular expression means the tags at whose beginning it is
found, a margin chart the tags of exactly these names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from nbtrain.events.custom_scalars import Chart

MOST = 50  # tags of a chart that are drawn


def chart_of(chart: Chart, tags: Sequence[str]) -> dict[str, Any]:
    """What a page is told of a chart.

    Args:
        chart: What the layout has.
        tags: The tags that there are.
    """
    if chart.margins:
        return _margin(chart, tags)
    shown: dict[str, None] = {}
    words = []
    for expression in chart.tags:
        try:
            pattern = re.compile(expression)
        except re.error as error:
            words.append(f"{expression!r} is no regular expression: {error}.")
            continue
        found = [tag for tag in tags if pattern.match(tag)]
        shown |= dict.fromkeys(found)
        if not found:
            words.append(f"No run has a tag that {expression!r} matches.")
    if len(shown) > MOST:
        words.append(f"{len(shown)} tags match: drawn are the first {MOST}.")
    title = chart.title or ", ".join(chart.tags) or "untitled"
    return {"title": title, "tags": list(shown)[:MOST], "series": None, "words": words}


def _margin(chart: Chart, tags: Sequence[str]) -> dict[str, Any]:
    series = [
        {"value": each.value, "lower": each.lower, "upper": each.upper} for each in chart.margins
    ]
    named = dict.fromkeys(tag for each in series for tag in each.values())
    words = [f"No run has the tag {tag!r}." for tag in named if tag not in tags]
    title = chart.title or ", ".join(each.value for each in chart.margins)
    shown = [tag for tag in named if tag in tags]
    return {"title": title, "tags": shown, "series": series, "words": words}
