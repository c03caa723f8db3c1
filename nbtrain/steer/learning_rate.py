"""The learning rate among a run's hyperparameters, and the command that tests its range."""

from __future__ import annotations

from collections.abc import Iterable

from nbtrain.core.commands import Try
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase, Status
from nbtrain.core.values.rate_range import no_range

# The names of a learning rate; the first that a run has is used. If there is a factor, the program
# sets the rate.
RATES = ("learning_rate_factor", "learning_rate")


def rate_of(names: Iterable[str]) -> str | None:
    """Returns the name of the learning rate, or of a factor on it; None if there is none."""
    known = set(names)
    return next((name for name in RATES if name in known), None)


def range_test(
    status: Status,
    low: float,
    high: float,
    *,
    steps: int,
    tag: str | None,
    name: str | None,
) -> Try:
    """Returns the command of a range test; the arguments are those of `run.find_learning_rate`.

    A run that is being prepared does not know its hyperparameters yet. The command then names
    `learning_rate`, and the run refuses the command if it has no such hyperparameter.

    Args:
        status: The status of the run.

    Raises:
        ArgumentError: The run has no learning rate among its hyperparameters, or a limit is not a
            number.
    """
    known = [each.name for each in status.hyperparameters]
    found = name or rate_of(known)
    if found is None and status.phase is Phase.PREPARING:
        found = "learning_rate"
    if found is None:
        raise ArgumentError(
            "This run has no learning rate among its hyperparameters; they are "
            f"{', '.join(known) or 'none'}. Start the run with hyperparameters=, or give name=."
        )
    try:
        limits = float(low), float(high)
    except (TypeError, ValueError):
        raise no_range(repr(low), repr(high)) from None
    return Try({found: limits[0]}, steps, tag, sweep=limits)
