"""The mailbox in a run's folder, through which other processes steer the run.

mailbox/ID.json           a command, put here by write, sync and rename
mailbox/taken/ID.json     a command that the run has read, without its last answer
mailbox/answers/ID.json   its answer: "requested", later "applied" or "refused"

send(folder, "4f2a", {"command": "pause", "by": "ada"})   # another process
letter = mailbox.receive()[0]                             # the run, five times a second
mailbox.answer("4f2a", {"state": "requested"})            # the run: twice, the second time
mailbox.close("4f2a", {"state": "applied", "step": 300})  #   for good
answer_to(folder, "4f2a")                                 # another process

A rename decides who has a command: the run that reads it, or the sender that withdraws it. So no
command is executed twice, and each gets one last answer. A command for an earlier start of the run,
of another user, too large or malformed is refused with a reason. Notes and tags are for any start,
because they do not change the training: a click while the kernel ends must not lose them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import files
from nbtrain.rundir.answers import outcome_of
from nbtrain.rundir.files import Malformed, Untrusted
from nbtrain.rundir.names import MAILBOX

TAKEN = "taken"
ANSWERS = "answers"

# The version of this protocol, in the status and in every answer.
VERSION = 1

# The largest command: a replay of a thousand edits has 60 kB.
MOST_BYTES = 1 << 18

# The number of newest answers to keep for their senders, and the least seconds to keep any.
ANSWERS_KEPT = 1000
ANSWERS_SECS = 3600.0

# Seconds until a file that is not JSON or cannot be read, and does not change, is refused. Until
# then it may be incomplete, or a share may show it late.
WRITING_SECS = 2.0

# Commands that the next start executes too.
_FOR_ANY_START = ("note", "tag")

# The rule for the name of a command, as advice.
ID_ADVICE = "give letters, digits, - and _, at most 80 characters"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True, slots=True)
class Address:
    """The place to which commands for one start of a run are sent.

    Attributes:
        folder: The run's folder, absolute.
        attempt: Identifies the start: a later one refuses the commands.
    """

    folder: Path
    attempt: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A command that the run has found in its mailbox.

    Attributes:
        id: The name of the file, without `.json`.
        fields: The command and its arguments; empty if it is refused.
        refusal: Why it cannot be a command for this run; "" if it can.
        is_early: Whether it was sent before this start, and is not for it.
    """

    id: str
    fields: Mapping[str, Any]
    refusal: str = ""
    is_early: bool = False


class _State(NamedTuple):
    """The state of a file, which differs after a change."""

    at: float
    size: int


def is_id(text: object) -> bool:
    """Returns whether a text can name a command: 1 to 80 letters, digits, - and _."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


class Mailbox:
    """The mailbox as the run uses it; for one thread at a time.

    Args:
        folder: The run's folder.
        attempt: Identifies this start of the run.
        launch: Identifies the launch of this process, whose commands are for this start too; None
            if it was not launched.
        clock: Returns seconds that never go backwards. The times of files are those of the share.
    """

    def __init__(
        self,
        folder: Path,
        attempt: str,
        launch: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._box = folder / MAILBOX
        self._attempt, self._launch, self._clock = attempt, launch, clock
        self._taken, self._answers = self._box / TAKEN, self._box / ANSWERS
        self._owner: int | None = None
        self._unfinished: dict[str, tuple[_State, float]] = {}  # files, and since when so
        self._refused: set[str] = set()  # files that stay until their refusals are written
        self._early: set[str] = set()  # files that were there before this start
        self._waiting: deque[tuple[str, _State]] = deque()  # scanned, not read yet

    def open(self) -> list[str]:
        """Creates the folders, and lists the commands that were sent before this start.

        `receive` returns those of them that have waited since the launch of this process, and those
        for any start. The others are marked as early.

        Returns:
            The ids of commands that earlier starts have read, without a last answer. The journal
            may contain the answers.

        Raises:
            OSError: The folders cannot be created.
        """
        # First: whoever waits for the folders sends to this start.
        self._early = set(self._new()) if self._box.is_dir() else set()
        self.create()
        taken = [path.stem for path in sorted(self._taken.glob("*.json"))]
        return [key for key in taken if not self._is_closed(key)]

    def create(self) -> None:
        """Creates the folders if they do not exist.

        Raises:
            OSError: The folders cannot be created.
        """
        make(self._box.parent)
        for folder in (self._box, self._taken, self._answers):
            own_files.check_folder(folder)
            folder.mkdir(mode=0o700, exist_ok=True)
        files.sweep(self._answers)  # only this start writes there
        probe = files.temporary(self._answers / "owner.json")
        probe.touch()
        found = probe.stat()
        probe.unlink()
        # The owner of a new file, not the process's own user: a share may map it to another one.
        self._owner = found.st_uid if hasattr(os, "getuid") else None
        files.sweep(self._box, before=found.st_mtime - ANSWERS_SECS)  # others may be writing

    def _is_closed(self, key: str) -> bool:
        """Returns whether a command has its last answer; then its file is deleted here.

        A start that was killed after writing the answer has left the file.
        """
        try:
            fields = files.read(self._answers / f"{key}.json")
        except (OSError, Untrusted):
            return False
        if closed := outcome_of(fields) is not None:
            (self._taken / f"{key}.json").unlink()
        return closed

    def receive(self, most: int = sys.maxsize) -> list[Letter]:
        """Returns new commands, at most `most`, the oldest first, and moves their files to `taken`.

        Raises:
            OSError: The mailbox is gone or cannot be read.
        """
        taken: list[Letter] = []
        if not self._waiting:
            found = self._new()
            self._unfinished = {
                name: known for name, known in self._unfinished.items() if name in found
            }
            self._waiting.extend(sorted(found.items(), key=lambda each: (each[1].at, each[0])))
        while self._waiting and len(taken) < most:
            name, state = self._waiting.popleft()
            if name in self._refused:
                continue
            try:
                letter = self._opened(self._box / name)
            except FileNotFoundError:  # withdrawn
                continue
            except (OSError, Malformed) as error:
                if self._may_change(name, state):
                    continue
                lead = "it cannot be taken: " if isinstance(error, OSError) else ""
                why = f"{lead}{getattr(error, 'strerror', None) or error}"
                letter = self._refusal(self._box / name, why)
            if letter is not None:
                taken.append(self._judged(letter) if name in self._early else letter)
            self._early.discard(name)
        return taken

    def _judged(self, letter: Letter) -> Letter:
        """Returns a letter sent before this start, as early unless it is for this one too."""
        waited = self._launch is not None and letter.fields.get("attempt") == self._launch
        valid = waited or letter.refusal or letter.fields.get("command") in _FOR_ANY_START
        return letter if valid else Letter(letter.id, {}, is_early=True)

    def _new(self) -> dict[str, _State]:
        """Returns the states of the files of commands, by their names."""
        found = {}
        with os.scandir(self._box) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and not entry.name.startswith("."):
                    with contextlib.suppress(FileNotFoundError):  # withdrawn
                        state = entry.stat(follow_symlinks=False)
                        found[entry.name] = _State(state.st_mtime, state.st_size)
        return found

    def _may_change(self, name: str, state: _State) -> bool:
        """Returns whether a file may be readable in a moment, because it is new or has changed."""
        now = self._clock()
        known, since = self._unfinished.get(name, (None, now))
        if known == state and now - since >= WRITING_SECS:
            return False
        self._unfinished[name] = (state, since if known == state else now)
        return True

    def _opened(self, path: Path) -> Letter | None:
        """Reads one file and moves it to `taken`; returns None if it was answered already.

        Raises:
            OSError: The file cannot be read or moved; FileNotFoundError if it was withdrawn.
            Malformed: The file is not JSON; perhaps it is still being written.
        """
        name = path.name.removesuffix(".json")
        if (self._answers / path.name).exists():
            self._drop(path)
            return None
        if not is_id(name):
            return self._refusal(path, f"its name is {name!r}: {ID_ADVICE}")
        try:
            fields = files.read(path, most_bytes=MOST_BYTES, owner=self._owner)
        except Malformed:
            raise
        except Untrusted as why:
            return self._refusal(path, str(why))
        of_now = fields.get("attempt", self._attempt) in (self._attempt, self._launch or "")
        if not of_now and fields.get("command") not in _FOR_ANY_START:
            return self._refusal(path, "it was sent to an earlier start of the run")
        os.rename(path, self._taken / path.name)  # noqa: PTH104 - FileNotFoundError: withdrawn
        return Letter(name, fields)

    def _refusal(self, path: Path, why: str) -> Letter:
        """Refuses a file, which stays until the answer is written: a kill must lose neither."""
        self._refused.add(path.name)
        return Letter(path.name.removesuffix(".json"), {}, why)

    def _drop(self, path: Path) -> None:
        """Deletes a file that gets no answer."""
        with contextlib.suppress(OSError):  # perhaps a folder, which stays
            path.unlink()

    def answer(self, key: str, fields: Mapping[str, Any]) -> None:
        """Writes an answer that is not the last one.

        Raises:
            OSError: The answer cannot be written.
        """
        files.replace(self._answers / f"{key}.json", {"nbtrain": VERSION, "id": key, **fields})

    def close(self, key: str, fields: Mapping[str, Any]) -> None:
        """Writes the last answer to a command.

        Raises:
            OSError: The answer cannot be written; try again.
        """
        self.answer(key, fields)
        name = f"{key}.json"
        (self._taken / name).unlink(missing_ok=True)
        if name in self._refused:
            self._drop(self._box / name)
            self._refused.discard(name)

    def tidy(self) -> None:
        """Deletes old answers, which their senders have read or will never read."""
        with contextlib.suppress(OSError), os.scandir(self._answers) as entries:
            dated = sorted((each.stat().st_mtime, each.path) for each in entries)
            # By the clock of the share, which may differ from the clock of this machine.
            until = max(dated, default=(0.0, ""))[0] - ANSWERS_SECS
            for at, path in dated[:-ANSWERS_KEPT]:
                if at < until and not (self._taken / Path(path).name).exists():
                    Path(path).unlink(missing_ok=True)


def make(folder: Path) -> None:
    """Creates the mailbox of a run that has begun, or will begin.

    Raises:
        OSError: The mailbox cannot be created.
    """
    own_files.check_folder(folder / MAILBOX)
    (folder / MAILBOX).mkdir(mode=0o700, exist_ok=True)


# --- the side of another process ----------------------------------------------------------


def send(folder: Path, key: str, fields: Mapping[str, Any]) -> None:
    """Writes a command to a run's mailbox.

    Raises:
        ArgumentError: The id cannot name a command.
        OSError: The command cannot be written; FileNotFoundError if the run has no mailbox.
    """
    if not is_id(key):
        raise ArgumentError(f"id={key!r}: {ID_ADVICE}.")
    own_files.check_folder(folder / MAILBOX)
    files.replace(folder / MAILBOX / f"{key}.json", {"nbtrain": VERSION, **fields})


def answer_to(folder: Path, key: str) -> Mapping[str, Any] | None:
    """Returns the newest answer to a command; None before the first.

    Raises:
        OSError: The answer cannot be read.
    """
    own_files.check_folder(folder / MAILBOX, folder / MAILBOX / ANSWERS)
    try:
        return files.read(folder / MAILBOX / ANSWERS / f"{key}.json")
    except FileNotFoundError:
        return None
    except Untrusted:  # it is being replaced on a share that shows files late
        return None


def withdraw(folder: Path, key: str) -> bool:
    """Withdraws a command; returns True if the run had not read it, so that it is never done."""
    try:
        own_files.check_folder(folder / MAILBOX)
        (folder / MAILBOX / f"{key}.json").unlink()
    except OSError:
        return False
    return True
