"""Texts for a board's page about what it cannot show."""

from __future__ import annotations

from nbtrain.logdir.history import StaleError, fact_of


def refusal(error: Exception) -> str:
    """Returns the text of an error for a board's page, and what the reader can do."""
    if isinstance(error, StaleError):
        return f"{fact_of(error)} Run the cell again to read the folder as it is now."
    return str(error)
