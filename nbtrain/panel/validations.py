"""Decides which curves share a chart or a colour: a training curve and its validation.

    charts_of(["loss", "val_loss"])                  # {"val_loss": "loss"}
    fits_of(["a/train", "a/validation", "b"])        # {"a/train": [...], "b": ["b"]}

The names are those of Keras, of `nbtrain.fit` and of an evaluation (evaluator.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Sequence

NAME = "val"  # the name of a validation in the chart of its training curve

# The prefixes of the tags to which a validation may belong, the best first; and the prefixes for a
# validation that is also recorded for each epoch.
_TRAINED, _VALIDATED = ("", "batch_", "epoch_"), ("", "epoch_", "batch_")
_VALIDATION_RUN = re.compile(r"(^|/)validation\Z")
_VALIDATION = re.compile(r"(epoch_)?val_(.+)", re.DOTALL)


def fits_of(runs: Iterable[str]) -> dict[str, list[str]]:
    """Groups runs by fits: Keras writes one fit as two runs, `train` and `validation`.

    Returns:
        The runs of each fit, by the run that names the fit: the training, or the only run.
    """
    known = dict.fromkeys(runs)
    found: dict[str, list[str]] = {}
    for run in known:
        lead = _VALIDATION_RUN.sub(r"\1train", run)
        found.setdefault(lead if lead in known else run, []).append(run)
    return found


def name_of(lead: str, runs: Sequence[str], known: Container[str]) -> str:
    """Returns the name of a fit: the name of its folder, if no other run has this name.

    Args:
        lead: The run that names the fit.
        runs: The runs of the fit.
        known: All runs.
    """
    if len(runs) < 2:
        return lead
    folder = lead.removesuffix("train")
    name = folder.removesuffix("/")
    return name if name and name not in known else f"{folder}train + validation"


def folder_of(names: Sequence[str]) -> str:
    """Returns the folders that all names have in common, with the last slash."""
    if len(names) < 2:
        return ""
    common = os.path.commonprefix(names)  # noqa: RUF071 - it is cut at a slash below
    return common[: common.rfind("/") + 1]


def charts_of(tags: Iterable[str]) -> dict[str, str]:
    """Maps each validation tag to the tag whose chart shows it; to itself if it has its own chart.

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
