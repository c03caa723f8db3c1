"""A selection of a logdir's runs and tags by regular expressions."""

from __future__ import annotations

import contextlib
import copy
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from nbtrain.core.errors import ArgumentError, UnknownTagError
from nbtrain.core.text.natural import natural
from nbtrain.core.text.text_table import counted
from nbtrain.core.values.side_tags import SYSTEM
from nbtrain.logdir.event_run import KINDS
from nbtrain.logdir.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Selection(Mapping[tuple[str, str], T]):
    """Runs and tags with their values of one kind; any thread may use it.

    It contains the data written up to the last `refresh`.

    Args:
        reader: Reads the event files.
        kind: "scalars", or another of the reader's `KINDS`.
        runs: A regular expression, found anywhere in the names of the runs.
        tags: A regular expression, found anywhere in the tags.
    """

    def __init__(
        self, reader: Reader, kind: str, runs: str | None = None, tags: str | None = None
    ) -> None:
        self._reader = reader
        self._kind = kind
        self._runs = _patterns("runs", runs)
        self._tags = _patterns("tags", tags)

    @abstractmethod
    def _of(self, run: str, tag: str) -> T:
        """Returns the values of a tag of a run; raises a KeyError if there is no such tag."""

    @property
    def runs(self) -> list[str]:
        """The sorted names of the runs that have values: their paths below the logdir."""
        return list(dict.fromkeys(run for run, _ in self))

    @property
    def tags(self) -> list[str]:
        """The tags of all runs, sorted; numbers in tags are compared by value."""
        return sorted({tag for _, tag in self}, key=natural)

    @property
    def kind(self) -> str:
        """The kind of the values: "scalars", "images" etc."""
        return self._kind

    @property
    def reader(self) -> Reader:
        """The reader of the event files, shared with every `filter` of this selection."""
        return self._reader

    def filter(self, runs: str | None = None, tags: str | None = None) -> Self:
        """Selects some of these runs and tags.

        Args:
            runs: A regular expression, found anywhere in the names of the runs; None for all.
            tags: A regular expression, found anywhere in the tags; None for all.

        Raises:
            ArgumentError: A pattern is not a regular expression.
        """
        fewer = copy.copy(self)
        fewer._runs = [*_patterns("runs", runs), *self._runs]
        fewer._tags = [*_patterns("tags", tags), *self._tags]
        return fewer

    def like(self, other: Selection[Any]) -> Self:
        """Selects the runs and tags of another selection."""
        same = copy.copy(self)
        same._runs, same._tags = other._runs, other._tags
        return same

    def chooses(self, run: str) -> bool:
        """Returns whether a run's name is selected."""
        return _found(self._runs, run)

    def having(self, tag: str) -> list[str]:
        """Returns the sorted names of the runs that have a tag."""
        return [run for run in self._reader.runs if (run, tag) in self]

    def count(self, run: str, tag: str) -> int:
        """Returns the number of points or values of a tag in a run; 0 if there is no such tag."""
        chosen = self.chooses(run) and _found(self._tags, tag)
        return self._reader.count(run, tag, self._kind) if chosen else 0

    def there(self) -> Iterator[tuple[tuple[str, str], T]]:
        """Yields the items, except while another thread reads a replaced file again."""
        for key in self:
            with contextlib.suppress(UnknownTagError):
                yield key, self[key]

    def refresh(self) -> bool:
        """Reads what was written since the last call; returns whether anything was."""
        self._reader.scan()
        return self._reader.read()

    def follow(self, secs: float = 1.0) -> Iterator[Self]:
        """Yields the selection now and whenever something was written, without end.

        Args:
            secs: Seconds between two scans of the files.
        """
        yield self
        while True:
            time.sleep(secs)
            if self.refresh():
                yield self

    def __getitem__(self, key: tuple[str, str]) -> T:
        """Returns a copy of the values of a tag in a run.

        Raises:
            UnknownTagError: There is no such run, or the run has no such tag.
        """
        if key in self:
            with contextlib.suppress(KeyError):  # another thread may have found its file replaced
                return self._of(*key)
        if not isinstance(key, tuple) or len(key) != 2:
            raise UnknownTagError(
                f"{self._kind}[{key!r}]: give a run and a tag, {self._kind}['run', 'tag']."
            )
        run, tag = key
        if run not in self.runs:
            raise UnknownTagError(f"There is no run {run!r}; there are: {_listed(self.runs)}.")
        tags = [each for other, each in self if other == run]
        raise UnknownTagError(f"The run {run!r} has no tag {tag!r}; it has: {_listed(tags)}.")

    def __contains__(self, key: object) -> bool:
        match key:
            case (str(run), str(tag)):
                return self.count(run, tag) > 0
        return False

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for run in self._reader.runs:
            if self.chooses(run):
                tags = self._reader.tags(run, self._kind)
                yield from ((run, tag) for tag in tags if _found(self._tags, tag))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        where, runs = f"in {self._reader.logdir!r}", self._reader.runs
        if not runs:
            return f"<no event files {where} yet>"
        if not len(self):
            if any(self._reader.tags(run, self._kind) for run in runs):
                return f"<no {self._kind} {where} that the chosen runs and tags leave>"
            kinds = ("scalars", *KINDS)
            held = [kind for kind in kinds if any(self._reader.tags(run, kind) for run in runs)]
            holding = ", ".join(held) or "nothing that is shown"
            hold = "run holds" if len(runs) == 1 else f"{len(runs)} runs hold"
            return f"<no {self._kind} {where}: its {hold} {holding}{self._damaged()}>"
        # The usage of the machine is recorded only if a run lasts long enough, and a saved notebook
        # must have the same text on every execution.
        tags = [tag for tag in self.tags if not tag.startswith(SYSTEM)] or self.tags
        found = f"{counted(len(self.runs), 'run')} and {counted(len(tags), 'tag')}"
        return f"<{self._kind} of {found} {where}{self._damaged()}>"

    def _damaged(self) -> str:
        """Returns a text that says how much of the selected runs was skipped; "" for nothing."""
        size = sum(size for run, size in self._reader.skipped().items() if self.chooses(run))
        return f"; {size:,} damaged bytes were skipped" if size else ""


def _patterns(name: str, given: str | None) -> list[re.Pattern[str]]:
    """Returns the patterns that a name must match; empty if none was given, to save matching."""
    try:
        return [re.compile(given)] if given is not None else []
    except (re.error, TypeError) as error:
        raise ArgumentError(f"{name}={given!r} is no regular expression: {error}.") from None


def _found(patterns: list[re.Pattern[str]], name: str) -> bool:
    return all(pattern.search(name) for pattern in patterns)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none yet"
