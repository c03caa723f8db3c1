"""Detects that the next step would not train what the program and the panel show."""

from __future__ import annotations

import time

from nbtrain.run.context import Context

_REMEDY = (
    "a further step would train the new. Stop this run before you start another; to go on with "
    "it, bind what it started with again and resume."
)

_IDLE = (
    "set that back and resume; or stop this run, define the step again (or compile the model), and "
    "start it: so it is traced with the change, and goes on from the last checkpoint."
)

_UNUSED = "set it to what they use and resume, or stop this run and start it again."

# Looking at hundreds of layers takes a millisecond.
_LOOK_SECS = 1.0


class UnusedCheck:
    """Checks the names, the model and the hyperparameters of one attempt; training thread only."""

    def __init__(self, context: Context) -> None:
        self._bindings = context.bindings
        self._hyperparameters = context.hyperparameters
        self._look_at = 0.0

    def reason(self, *, due: bool = False) -> str:
        """Says why a further step would train other objects, and what to do; else empty."""
        if names := self._bindings.unused_reason():
            return f"{names}; {_REMEDY}"
        if idle := self._idle(due=due):
            return f"{idle}; {_IDLE}"
        unused = self._hyperparameters.unused_reason()
        return f"{unused}; {_UNUSED}" if unused else ""

    def elsewhere(self, *, can_save: bool) -> str | None:
        """Describes the names that refer to new objects, which the run does not train; or None.

        Args:
            can_save: Whether a run that is started again continues from a checkpoint.
        """
        if not (names := self._bindings.elsewhere()):
            return None
        it, stand = ("it", "stands") if len(names) == 1 else ("they", "stand")
        text = (
            f"In the notebook {' and '.join(names)} {stand} for something new: this run trains "
            f"what {it} stood for when it started."
        )
        if not can_save:
            return text
        return (
            f"{text} To have that by name, stop the run or wait for its end, and run the cell "
            "again: it goes on from the last checkpoint."
        )

    def _idle(self, *, due: bool) -> str:
        """Describes a change of the model that has no effect; walks over its layers."""
        if not due and time.monotonic() < self._look_at:
            return ""
        self._look_at = time.monotonic() + _LOOK_SECS
        return self._bindings.without_effect()
