"""Resolves a chart of a layout: the tags that it shows, and what is missing.

The rules are those of TensorBoard's Custom Scalars: a regular expression selects the tags whose
beginning it matches; a margin chart contains the exact names of its tags. The expressions come from
an untrusted file, so they are matched by RE2, whose time grows with the tag's length: Python's `re`
may never end, and would block every thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import re2

from nbtrain.logdir.custom_scalars import Chart

MOST = 50  # tags of a chart that are drawn
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # errors are shown on the page


def chart_of(chart: Chart, tags: Sequence[str]) -> dict[str, Any]:
    """Describes a chart for the page.

    Args:
        chart: The chart in the layout.
        tags: The tags of the logdir.
    """
    if chart.margins:
        return _margin(chart, tags)
    shown: dict[str, None] = {}
    words = []
    for expression in chart.tags:
        try:
            pattern = re2.compile(expression, _OPTIONS)
        except re2.error as error:
            why = error.args[0].decode()
            words.append(f"{expression!r} is not a regular expression of RE2: {why}.")
            continue
        found = [tag for tag in tags if pattern.match(tag)]
        shown |= dict.fromkeys(found)
        if not found:
            words.append(f"No run has a tag that {expression!r} matches.")
    if len(shown) > MOST:
        words.append(f"{len(shown)} tags match; the first {MOST} are drawn.")
    title = chart.title or ", ".join(chart.tags) or "untitled"
    return {"title": title, "tags": list(shown)[:MOST], "series": None, "words": words}


def _margin(chart: Chart, tags: Sequence[str]) -> dict[str, Any]:
    series = [
        {"value": each.value, "lower": each.lower, "upper": each.upper} for each in chart.margins
    ]
    named = dict.fromkeys(tag for each in series for tag in each.values())
    there = named.keys() & set(tags)
    words = [f"No run has the tag {tag!r}." for tag in named if tag not in there]
    title = chart.title or ", ".join(each.value for each in chart.margins)
    shown = [tag for tag in named if tag in there]
    return {"title": title, "tags": shown, "series": series, "words": words}
