"""Decides which curves share a chart: a training curve and its validation.

    charts_of(["loss", "val_loss"])    # {"val_loss": "loss"}

The names are those of Keras, of `nbtrain.fit` and of an evaluation (evaluator.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = "val"  # the name of a validation in the chart of its training curve

# The beginnings of the tags that a validation may belong to, the best first; and those of a
# validation that is also recorded for each epoch.
_TRAINED, _VALIDATED = ("", "batch_", "epoch_"), ("", "epoch_", "batch_")
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
            # An evaluation during a fit belongs to a single step, as a batch loss does. If each
            # epoch ends with the same validation, both are one curve, in the chart of the epochs.
            begins = (epoch,) if epoch else _TRAINED
            if not epoch and f"epoch_val_{trained}" in known:
                begins = _VALIDATED
            found[tag] = next((other for each in begins if (other := each + trained) in known), tag)
    # A tag already in another's chart has no chart to share: "val_val_loss" has its own.
    return {tag: chart if chart not in found else tag for tag, chart in found.items()}
