"""Lists the runs below a folder, from any kernel, as a tree of branches.

run           phase     step        branch
adam          finished  500 of 500
├─ adam-1     running   412 of 500  from step 300, learning_rate 0.01 → 0.001
│  └─ slower  failed    350 of 500  from step 340
└─ adam-2     stopped   220 of 500  from step 200
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from nbtrain.core.text.text_table import in_columns
from nbtrain.core.values.config import word_of
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.logdir.last_step import last_step
from nbtrain.notebook.kernel import runs
from nbtrain.notebook.ranking import ranking
from nbtrain.panel.wording import duration
from nbtrain.remote.liveness import Liveness
from nbtrain.rundir import status_file
from nbtrain.rundir.about import About
from nbtrain.rundir.entries import ENDS, FILE, Entry, edits_of, entries, parent_of, step_of
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import BASE
from nbtrain.rundir.lock import is_locked

_HEAD = ("run", "phase", "step", "branch", "config", "tags", "last note")

# Follows the phase of a run that another process trains.
_ELSEWHERE = " in another process"

# Characters of a note and of a config in the list.
_NOTE_CHARS = _CONFIG_CHARS = 60


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run, as read from its files.

    Attributes:
        path: The folder.
        phase: The current or last phase, in words.
        step: The number of completed steps according to the event file or the journal.
        total_steps: The step at which the run finishes; None if unknown.
        parent: The folder of the run from which this one branches; None if it is not a branch.
        branch: The step and the edits with which the branch begins, in words.
        about: Its config, tags, notes and duration.
    """

    path: Path
    phase: str
    step: int
    total_steps: int | None
    parent: Path | None
    branch: str
    about: About

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """Reads a folder."""
        try:
            lines = list(entries(path))
        except FileNotFoundError:  # the run has just begun
            lines = []
        except OSError as error:
            phase = f"{FILE} cannot be read: {error.strerror}"
            return cls(path, phase, 0, None, None, "", About.of([]))
        starts = [number for number, entry in enumerate(lines) if entry["event"] == "start"]
        last = lines[starts[-1] :] if starts else lines
        ends = [entry["event"] for entry in last if entry["event"] in ENDS]
        steps = [step_of(entry) for entry in lines if entry["event"] != "start"]
        start = next((entry for entry in last if entry["event"] == "start"), {})
        total = start.get("total_steps")
        step = steps[-1] if steps else 0
        if not ends:  # the steps after the last line are in the event files alone
            step = max(step, last_step(path))
        born = next((entry for entry in lines if parent_of(entry)), None)
        parent = parent_of(born) if born is not None else None
        return cls(
            path=path,
            phase=ends[-1] if ends else _unended(path),
            step=step,
            total_steps=total if type(total) is int else None,
            parent=None if parent is None else (path / parent["logdir"]).resolve(),
            branch="" if parent is None else _branch(parent["step"], lines),
            about=About.of(lines).until(status_file.alive(path)),
        )

    def row(
        self, folder: Path, entries: Sequence[str], lead: str = "", *, below: bool = False
    ) -> tuple[str, ...]:
        """Formats the run as a row.

        Args:
            folder: The folder that is listed.
            entries: The entries of the config to show.
            lead: Precedes the name of the run.
            below: Whether the row stands below that of the parent, which it need not name.
        """
        name, branch = os.path.relpath(self.path, folder), self.branch
        if self.parent is not None and not below:
            branch = f"of {os.path.relpath(self.parent, folder)} {branch}"
        phase, step, total = self.phase, self.step, self.total_steps
        for run in runs().values():
            status = run.status
            if run.logdir.resolve() == self.path and not status.phase.ended:
                phase, step, total = str(status.phase), status.step, status.total_steps
        steps = f"{step:,} of {total:,}" if total else f"{step:,}"
        note = self.about.notes[-1] if self.about.notes else ""
        config = _cut(", ".join(self._words(entries)), _CONFIG_CHARS)
        tags = ", ".join(self.about.tags)
        name = f"{lead}{self.path.name if name == '.' else name}"
        return name, phase, steps, branch, config, tags, _cut(note, _NOTE_CHARS)

    def fits(self, tag: str | None, search: str) -> bool:
        """Returns whether the run has a tag, and a text in its words (ignoring case)."""
        about = self.about
        words = (self.path.name, *self._words(about.config), *about.tags, *about.notes)
        has_text = search.casefold() in "\n".join(words).casefold()
        return has_text and (tag is None or tag in about.tags)

    def _words(self, entries: Iterable[str]) -> list[str]:
        """Returns the entries of the config that the run has, such as "units=64"."""
        held = self.about.config
        return [f"{name}={word_of(held[name])}" for name in entries if name in held]


def tree(
    logdir: str | os.PathLike[str] | None = None,
    tag: str | None = None,
    search: str = "",
    by: str | None = None,
) -> str:
    """Lists the runs below a folder, each branch below its parent, the oldest first.

    Args:
        logdir: The folder; None for `runs`.
        tag: Only runs that have this tag; None for all.
        search: Only runs with this text in their names, config, tags or notes.
        by: A metric, by whose best values the runs are sorted instead; see `ranking`.

    Raises:
        ArgumentError: The folder does not exist, or the runs cannot be sorted by the metric.
    """
    folder = Path(BASE if logdir is None else logdir).expanduser()
    if logdir is not None and not folder.is_dir():
        raise ArgumentError(f"There is no folder {os.fspath(logdir)!r}: give one with runs in it.")
    found = {path: RunFolder.read(path) for path in _folders(folder.resolve())}
    if not found:
        return f"No run has trained in {folder}, or below it."
    found = {path: each for path, each in found.items() if each.fits(tag, search)}
    if not found:
        wanted = [f"the tag {tag!r}"] * (tag is not None)
        wanted += [f"{search!r} in its name, config, tags or notes"] * bool(search)
        return f"No run in {folder}, or below it, has {' and '.join(wanted)}."
    members = sorted(found.values(), key=lambda each: (each.about.began, each.path))
    compared = _compared(members)
    if by is not None:
        return in_columns(_without_empty(_ranked(members, folder.resolve(), compared, by)))
    children: dict[Path, list[RunFolder]] = {}
    for each in members:
        if each.parent is not None and not _leads_to(each.path, each.parent, found):
            children.setdefault(each.parent, []).append(each)
    born = {child.path for parent in children if parent in found for child in children[parent]}
    rows: list[tuple[str, ...]] = [_HEAD]
    for each in members:
        if each.path not in born:
            rows += _rows(each, folder.resolve(), children, compared)
    return in_columns(_without_empty(rows))


def _ranked(
    members: Sequence[RunFolder], folder: Path, compared: Sequence[str], by: str
) -> list[tuple[str, ...]]:
    """Returns the rows of the runs, those first whose best value of a metric is best."""
    found = ranking(folder, by)
    names = {os.path.relpath(each.path, folder): each for each in members}
    rows: list[tuple[str, ...]] = [(*_HEAD[:4], *found.heading, "duration", *_HEAD[4:])]
    for name in dict.fromkeys([*found.cells, *names]):
        if name in names:
            row = names[name].row(folder, compared)
            results = (*found.cells.get(name, ("", "")), duration(names[name].about.secs))
            rows.append((*row[:4], *results, *row[4:]))
    return rows


def _without_empty(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the rows without the columns after the fourth that have only a heading."""
    shown = [each < 4 or any(row[each] for row in rows[1:]) for each in range(len(rows[0]))]
    return [tuple(itertools.compress(row, shown)) for row in rows]


def _compared(found: Collection[RunFolder]) -> list[str]:
    """Returns the entries of the configs by which the runs differ; for one run, all."""
    names = dict.fromkeys(name for each in found for name in each.about.config)
    return [
        name
        for name in names
        if len(found) == 1 or len({repr(each.about.config.get(name)) for each in found}) > 1
    ]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _rows(
    each: RunFolder,
    folder: Path,
    children: Mapping[Path, Sequence[RunFolder]],
    compared: Sequence[str],
    lead: str = "",
    mark: str = "",
) -> Iterator[tuple[str, ...]]:
    """Yields the row of a run and those of its branches; `mark` precedes the name of the run.

    Args:
        compared: The entries of the configs to show.
    """
    yield each.row(folder, compared, f"{lead}{mark}", below=bool(mark))
    lead += {"├─ ": "│  ", "└─ ": "   "}.get(mark, "")
    branches = children.get(each.path, ())
    for number, child in enumerate(branches, 1):
        next_mark = "└─ " if number == len(branches) else "├─ "
        yield from _rows(child, folder, children, compared, lead, next_mark)


def _folders(folder: Path) -> Iterator[Path]:
    """Yields the folders of runs in and below `folder`."""
    live = {run.logdir.resolve() for run in runs().values() if not run.status.phase.ended}
    seen = {Path(path) for path, _, files in os.walk(folder) if FILE in files}
    yield from seen | {path for path in live if folder in (path, *path.parents)}


def _leads_to(path: Path, parent: Path | None, found: Mapping[Path, RunFolder]) -> bool:
    """Returns whether a run is its own ancestor. No run writes such a folder."""
    seen: set[Path] = set()
    while parent is not None and parent not in seen:
        if parent == path:
            return True
        seen.add(parent)
        parent = found[parent].parent if parent in found else None
    return False


def _unended(path: Path) -> str:
    """Returns the phase of a run whose journal has no end, as `nbtrain ls` shows it."""
    held = is_locked(path)
    try:
        sign = status_file.read(path)
    except (OSError, Untrusted):  # of an earlier version of nbtrain
        return f"{Phase.RUNNING}{_ELSEWHERE}" if held else "no end was written"
    liveness = Liveness(path, sign)
    liveness.update(there=True)
    phase = liveness.status.phase
    if phase.ended:  # a sign of life of an earlier start
        phase = Phase.RUNNING if held else Phase.FAILED
    return str(phase) if phase.ended else f"{phase}{_ELSEWHERE}"


def _branch(step: int, lines: Sequence[Entry]) -> str:
    """Describes the step at which a run branches off, and the edits at its first boundary."""
    first = next((entry for entry in lines if entry["step"] == step and edits_of(entry)), {})
    return ", ".join([f"from step {step:,}", *(str(Edit(*edit)) for edit in edits_of(first))])
