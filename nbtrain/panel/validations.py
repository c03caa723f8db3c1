"""Which curves share a chart: what is trained, and its validation.

    charts_of(["loss", "val_loss"])    # {"val_loss": "loss"}

The names are those of Keras, of `nbtrain.fit` and of an evaluation (evaluator.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = "val"  # what a validation is called in the chart of what it validates

_VALIDATION = re.compile(r"(epoch_)?val_(.+)", re.DOTALL)


def charts_of(tags: Iterable[str]) -> dict[str, str]:
    """For each tag of a validation the one in whose chart it is: its own where there is no other.

    Args:
        tags: All tags of a run.
    """
    known = dict.fromkeys(tags)
    found = {}
    for tag in known:
        if match := _VALIDATION.fullmatch(tag):
            epoch, trained = match.groups(default="")
            # The loss of an evaluation during a fit is of a batch's kind: of a single step.
            wanted = [epoch + trained] if epoch else [trained, f"batch_{trained}"]
            found[tag] = next((other for other in wanted if other in known), tag)
    # What is a line of another's chart has none to share: "val_val_loss" has its own.
    return {tag: chart if chart not in found else tag for tag, chart in found.items()}
