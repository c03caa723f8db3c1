"""Decides which curves share a chart: a training curve and its validation.

    charts_of(["loss", "val_loss"])    # {"val_loss": "loss"}

The names are those of Keras, of `nbtrain.fit` and of an evaluation (evaluator.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = "val"  # the name of a validation in the chart of its training curve

_VALIDATION = re.compile(r"(epoch_)?val_(.+)", re.DOTALL)


def charts_of(tags: Iterable[str]) -> dict[str, str]:
    """Maps each validation tag to the tag whose chart shows it; to itself if there is none.

    Args:
        tags: All tags of a run.
    """
    known = dict.fromkeys(tags)
    found = {}
    for tag in known:
        if match := _VALIDATION.fullmatch(tag):
            epoch, trained = match.groups(default="")
            # The loss of an evaluation during a fit is like a batch loss: it belongs to a single
            # step.
            wanted = [epoch + trained] if epoch else [trained, f"batch_{trained}"]
            found[tag] = next((other for other in wanted if other in known), tag)
    # A tag already in another's chart has no chart to share: "val_val_loss" has its own.
    return {tag: chart if chart not in found else tag for tag, chart in found.items()}
