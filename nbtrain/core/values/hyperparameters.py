"""The hyperparameters of a run that can be changed while it trains.

hyperparameters = Hyperparameters({"learning_rate": variable})
hyperparameters.read()                                # training thread, between two steps
edits = hyperparameters.set({"learning_rate": 1e-4})  # the same: all of them, or none
hyperparameters.known                                 # any thread: the values last read
"""

from __future__ import annotations

import contextlib
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.ranges import Hyperparameter, checked

# The prefix of their curves' tags.
PREFIX = "hyperparameters/"

# The name of a factor ends with this, after the name of what it acts on.
FACTOR = "_factor"

# The largest rounding error of a low-precision variable; beyond it, the value overflowed or became
# zero.
_ROUNDING = 0.01

# The relative difference of two values that are equal in a 32-bit variable.
_SAME = 1e-7


class Variable(ABC):
    """Holds the value of a hyperparameter; training thread only.

    Attributes:
        whole: Whether it holds only whole numbers.
    """

    whole: bool

    @abstractmethod
    def read(self) -> float:
        """Returns the value that the next step uses."""

    @abstractmethod
    def write(self, value: float) -> None:
        """Sets the value for the next step."""

    def begin(self, *, restored: bool) -> None:  # noqa: B027 - most need not know
        """Notes that a run begins, or was `restored`: the next step is the first from here."""

    def unused_reason(self) -> str:
        """Returns why the steps do not use the value of `read`; "" if unknown.

        The text follows the name of the hyperparameter.
        """
        return ""

    def watch(self, attend: Callable[[], object]) -> None:  # noqa: B027 - most are only read
        """Calls `attend` whenever the program assigns to it."""

    def unwatch(self) -> None:  # noqa: B027 - as above
        """Stops calling `attend`."""

    @property
    def assigned(self) -> bool:
        """True if the program has assigned to it since the last call of `now`."""
        return False

    def now(self) -> Any:
        """Returns its value, not read yet, if it may have changed since the last call; else None.

        A value may have changed after an assignment, and always if each step may change it without
        notice.
        """
        return None

    def distrust(self) -> None:  # noqa: B027 - as above
        """Notes that it has changed without notice: from now on, `now` returns its value."""

    def number(self, value: Any) -> float:
        """Converts a value of `now` to a number. Any thread may call it."""
        return float(value)

    def moment(self) -> Any:
        """Returns the position of the schedule under a factor, not read yet; None if no factor."""
        return None

    def rate(self, moment: int) -> float:
        """Returns the schedule's rate at a moment, without the factor. Any thread may call it."""
        raise NotImplementedError


NO_VARIABLES: Mapping[str, Variable] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Edit:
    """A changed value."""

    name: str
    old: float
    new: float

    def __str__(self) -> str:
        """Returns name, old and new value: `learning_rate 0.001 → 0.0001`."""
        return f"{self.name} {self.old:.10g} → {self.new:.10g}"


class Hyperparameters:
    """The hyperparameters of one run.

    Attributes:
        effects: The learning rates that result from factors; any thread.
    """

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self.effects: Mapping[str, float] = {}
        self._known: tuple[Hyperparameter, ...] = ()
        self._knowing = threading.Lock()  # protects the known values: two threads change them
        self._learnt: dict[str, Hyperparameter] = {}  # as first read
        self._variables = dict(variables)

    def bind(self, variables: Mapping[str, Variable]) -> None:
        """Replaces the variables by those that were made later; training thread only."""
        self.unwatch()
        self._variables = dict(variables)

    @property
    def known(self) -> tuple[Hyperparameter, ...]:
        """The values last read, in the order given; empty before. Any thread may read it."""
        effects = self.effects
        return tuple(replace(each, rate=effects.get(each.name)) for each in self._known)

    @property
    def values(self) -> dict[str, float]:
        """Name to value, as last read. Any thread may read it."""
        return {each.name: each.value for each in self._known}

    def __len__(self) -> int:
        """The number of hyperparameters, read or not."""
        return len(self._variables)

    def read(self) -> None:
        """Reads all of them; training thread, between two steps."""
        known = []
        for name, variable in self._variables.items():
            value = variable.read()
            if name not in self._learnt:
                self._learnt[name] = Hyperparameter.of(name, value, whole=variable.whole)
            known.append(self._learnt[name].at(value))
        with self._knowing:
            self._known = tuple(known)

    def live(self) -> dict[str, float]:
        """Reads and returns the values, without updating `known`; training thread only."""
        return {name: variable.read() for name, variable in self._variables.items()}

    def watch(self, attend: Callable[[], object]) -> None:
        """Calls `attend` whenever the program assigns to one."""
        for variable in self._variables.values():
            variable.watch(attend)

    def unwatch(self) -> None:
        """Stops calling `attend`."""
        for variable in self._variables.values():
            variable.unwatch()

    @property
    def assigned(self) -> bool:
        """True if the program has assigned to one since the last call of `changed`."""
        return any(variable.assigned for variable in self._variables.values())

    def changed(self, *, assigned_alone: bool = False) -> dict[str, Any]:
        """Returns the values, not read yet, that may have changed since the last call, by name.

        Args:
            assigned_alone: Whether to skip hyperparameters that may change without notice.
        """
        now = {
            name: variable.now()
            for name, variable in self._variables.items()
            if variable.assigned or not assigned_alone
        }
        return {name: value for name, value in now.items() if value is not None}

    def distrust(self, name: str) -> None:
        """Notes that this one has changed without notice."""
        self._variables[name].distrust()

    def number(self, name: str, value: Any) -> float:
        """Converts a value of `changed` to a number. Any thread may call it."""
        return self._variables[name].number(value)

    def note(self, name: str, value: float) -> None:
        """Updates the known value of one. Any thread may call it."""
        with self._knowing:
            known = self._known
            self._known = tuple(each.at(value) if each.name == name else each for each in known)

    def moments(self) -> dict[str, Any]:
        """Returns the positions of the schedules, not read yet, by the names of their factors."""
        found = {name: variable.moment() for name, variable in self._variables.items()}
        return {name: moment for name, moment in found.items() if moment is not None}

    def rate(self, name: str, moment: int) -> float:
        """Returns the rate of the schedule under a factor, without it. Any thread may call it."""
        return self._variables[name].rate(moment)

    def begin(self, *, restored: bool) -> None:
        """Notes that the run begins, or was `restored`; training thread, before its next step."""
        for variable in self._variables.values():
            variable.begin(restored=restored)

    def unused_reason(self) -> str:
        """Returns which values the steps do not use, and why, in words; "" if none are known."""
        found = ((name, variable.unused_reason()) for name, variable in self._variables.items())
        return "; ".join(f"{name} {why}" for name, why in found if why)

    def set(self, values: Mapping[str, object]) -> tuple[Edit, ...]:
        """Sets some of them, all or none; training thread, between two steps.

        Raises:
            ArgumentError: An unknown name, or an impossible value; nothing has changed.
            Exception: The error of a variable; the others have their old values.
        """
        asked = self.check(values)
        old = {name: self._variables[name].read() for name in _factors_first(asked)}
        with self._putting_back(old):
            self._write(asked)
            edits = tuple(Edit(name, old[name], self._variables[name].read()) for name in asked)
            for edit in edits:
                value = asked[edit.name]
                if not math.isclose(edit.new, value, rel_tol=_ROUNDING):
                    raise ArgumentError(
                        f"{edit.name}={value:.10g}: its variable cannot hold that, and would be "
                        f"{edit.new:.10g}."
                    )
            self.read()
        return edits

    def set_back(self, values: Mapping[str, float]) -> None:
        """Sets values that some have had before; training thread, between two steps."""
        self._write(values)
        self.read()

    def _write(self, values: Mapping[str, float]) -> None:
        for name in _factors_first(values):
            self._variables[name].write(values[name])

    def check(self, values: Mapping[str, object]) -> dict[str, float]:
        """Returns the values as numbers.

        Raises:
            ArgumentError: An unknown name, an impossible value, or no values.
        """
        if not values:
            names = ", ".join(self._variables) or "none, as it was started without any"
            raise ArgumentError(f"No value is given: hyperparameters are {names}.")
        return {name: self._checked(name, value) for name, value in values.items()}

    def check_changes(self, values: Mapping[str, object]) -> None:
        """Raises an ArgumentError if nothing would change."""
        wanted = self.check(values)
        has = {name: self._variables[name].read() for name in wanted}
        if all(math.isclose(has[name], wanted[name], rel_tol=_SAME) for name in wanted):
            same = ", ".join(f"{name} is {value:.10g}" for name, value in has.items())
            raise ArgumentError(f"{same} already: give another value to try.")

    def check_undo(self, names: Iterable[str]) -> None:
        """Raises an ArgumentError if changes of these could not be undone."""
        try:
            self.check({name: self._variables[name].read() for name in names})
        except ArgumentError as error:
            raise ArgumentError(f"What is tried could not be set back: {error}") from None

    @contextlib.contextmanager
    def _putting_back(self, old: Mapping[str, float]) -> Any:
        """Undoes what was written inside the block before an error."""
        try:
            yield
        except BaseException as error:
            stuck = [name for name, value in old.items() if not self._undo(name, value)]
            with contextlib.suppress(Exception):
                self.read()
            if stuck:
                raise ArgumentError(
                    f"{error} What was set could not be put back: {', '.join(stuck)}."
                ) from error
            raise

    def _undo(self, name: str, value: float) -> bool:
        """Returns whether a variable has its old value again, or still."""
        variable = self._variables[name]
        try:
            if variable.read() != value:
                variable.write(value)
        except Exception:  # noqa: BLE001 - reported by the caller, with the first error
            return False
        return True

    def _checked(self, name: str, value: object) -> float:
        """Returns the value as a number, or raises an ArgumentError."""
        if name not in self._variables:
            has = f"it has: {', '.join(self._variables)}" if self._variables else "it has none"
            advice = "" if self._variables else "; give hyperparameters= when it is started"
            if (factor := f"{name}{FACTOR}") in self._variables:
                advice = f". A schedule gives the {name}; {factor} multiplies it"
            raise ArgumentError(f"There is no hyperparameter {name!r} in this run; {has}{advice}.")
        return checked(name, value, whole=self._variables[name].whole)


def _factors_first(names: Iterable[str]) -> list[str]:
    """Orders names as they are written: writing a factor also writes the value that it acts on."""
    return sorted(names, key=lambda name: not name.endswith(FACTOR))
