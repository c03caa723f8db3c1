"""Checkpoints of a run: save, list, restore, and prove what was restored.

A saver is called by the training thread alone, between two steps: so a checkpoint
is one consistent step. TensorFlow writes the files first and names them in the
`checkpoint` state file last, by a rename: one that was cut short is never listed.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.timeline import RunTimeline

_PART = re.compile(r"(.+)\.data-\d{5}-of-(\d{5})")

# Where in its runtime TensorFlow met an error: nothing that a user could do something about.
_OP = re.compile(r"\{\{function_node .*?\}\}|\[Op:\w+\]|Graph execution error:")


@dataclass(frozen=True, slots=True)
class Restored:
    """The proof of a restore.

    Attributes:
        step: Steps that the restored state has behind it.
        path: The checkpoint's path.
        matched: Names of the variables that took a value from it.
        slots: How many of these are slots of an optimizer (momenta and the like).
        missing: Names of live variables that it does not hold: unchanged.
        renewed: How many variables of an optimizer it does not hold, as it had made no step yet:
            they are as they were before its first.
        unused: Names of its values that have no variable here. TensorFlow hands them to
            variables that are created later, such as those of an unbuilt model.
        lacking: What is trained and no checkpoint of this run holds, in words.
    """

    step: int
    path: str
    matched: tuple[str, ...]
    slots: int
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    renewed: int = 0
    lacking: str = ""

    def __str__(self) -> str:
        """The proof in one line."""
        text = f"{Path(self.path).name}: {_count(len(self.matched), 'variable')} matched"
        text += f", {_count(self.slots, 'optimizer slot')} among them"
        if self.renewed:
            text += f"; {_count(self.renewed, 'optimizer slot')} as before the first step"
        if self.missing:
            text += f"; not in it: {some(self.missing)}"
        if self.unused:
            text += f"; no variable here yet for: {some(self.unused)}"
        if self.lacking:
            text += f"; not in the checkpoint: {self.lacking}, which stay as they are"
        return text

    @property
    def gaps(self) -> str:
        """What to warn of where a step has been done since; empty where all is matched."""
        name, parts = Path(self.path).name, []
        if self.missing:
            parts.append(f"{some(self.missing)} not in {name}, so not restored")
        if self.unused:
            parts.append(f"nothing here takes its {some(self.unused)}")
        return f"{name} was restored in part: {'; '.join(parts)}." if parts else ""


class Saver(Protocol):
    """What an engine saves and restores with; training thread only.

    Attributes:
        mended: What the user should know of a folder that was mended; None when all was well.
    """

    mended: str | None

    @property
    def directory(self) -> Path:
        """The folder of the checkpoints."""

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Go on from the latest checkpoint; None where there is none.

        Args:
            timeline: What the run has saved and gone back to; None reads it in the journal that
                is beside the checkpoints.
        """

    def save(self, step: int) -> int:
        """Write a checkpoint, and return the step that it holds and is named by.

        `step` is the run's own count; a graph that has a global step knows better.
        """

    def restore(self, path: str) -> Restored:
        """Set the variables from a checkpoint."""

    def proof(self) -> Restored | None:
        """The proof of the latest restore, looked at again; None where nothing was restored.

        Variables that are created at the first step, such as an optimizer's slots, take their
        values then. Walks over the whole model: not for every step.
        """

    def non_finite(self) -> tuple[str, ...]:
        """Names of the variables that hold NaN or Inf; a fraction of what a save costs."""

    def lacking(self) -> str:
        """The owners of what is trained and this does not hold, with counts, in words.

        Empty where there are none. Walks over the whole model: not for every step.
        """

    def side_saver(self, name: str, keep: int) -> Saver | None:
        """What saves the newest few in a folder of this name beside them; None where nothing can.

        `keep` of the run does not count these.
        """


def listed(directory: Path) -> tuple[Checkpoint, ...]:
    """The complete checkpoints of a folder, in the order they were saved; any thread.

    They are those that its `checkpoint` file names and that stand beside it, wherever
    the folder was when it was written.
    """
    state, complete = state_of(directory), complete_in(directory)
    if state is None:
        return ()
    times = list(state.all_model_checkpoint_timestamps)
    found = []
    for number, name in enumerate(map(_name, state.all_model_checkpoint_paths)):
        step = step_in_name(name)
        if step is not None and name in complete:
            path = directory / name
            with contextlib.suppress(FileNotFoundError):  # it has just been deleted
                saved = times[number] if number < len(times) else _saved_at(path)
                found.append(Checkpoint(step, str(path), saved))
    return tuple(found)


def at(path: Path) -> Checkpoint | None:
    """The checkpoint at a path; None where there is none, or not all of it."""
    step = step_in_name(path.name)
    if step is None or path.name not in complete_in(path.parent):
        return None
    return Checkpoint(step, str(path), _saved_at(path))


def delete_all(directory: Path) -> None:
    """Delete the checkpoints of a folder, and the folder if nothing else is in it."""
    with contextlib.suppress(OSError):
        for held in listed(directory):
            for file in directory.glob(f"{glob.escape(Path(held.path).name)}.*"):
                file.unlink()
        (directory / "checkpoint").unlink(missing_ok=True)
        directory.rmdir()


def find(checkpoints: Sequence[Checkpoint], wanted: int | str | None) -> Checkpoint:
    """The checkpoint of a step, at a path, or (None) the latest.

    Raises:
        CheckpointError: There is no such checkpoint; it says which there are.
    """
    if not checkpoints and not isinstance(wanted, str):
        raise CheckpointError("There is no checkpoint to restore yet; save one first.")
    if wanted is None:
        return checkpoints[-1]
    for checkpoint in reversed(checkpoints):
        with contextlib.suppress(ValueError):  # an array
            if wanted in (checkpoint.step, checkpoint.path, _with_folder(checkpoint.path)):
                return checkpoint
    if isinstance(wanted, str):
        if named := [held for held in reversed(checkpoints) if Path(held.path).name == wanted]:
            # Copies of this name stand in folders below that of their own.
            return min(named, key=lambda held: len(Path(held.path).parts))
        if (held := at(Path(wanted).absolute())) is not None:
            return held
    steps = ", ".join(f"{checkpoint.step:,}" for checkpoint in checkpoints) or "none"
    raise CheckpointError(f"There is no checkpoint {wanted!r}; there are those of steps: {steps}.")


@contextlib.contextmanager
def writing(directory: Path, name: str) -> Iterator[None]:
    """Write a checkpoint of some name into a folder, which is made where it has vanished.

    Raises:
        CheckpointError: It cannot be written, and nothing is left of it; what TensorFlow says
            of it is its cause.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, ValueError, tf.errors.OpError) as error:
        shutil.rmtree(directory / f"{name}_temp", ignore_errors=True)  # TensorFlow leaves it
        raise CheckpointError(
            f"{directory} cannot be written: {_reason(error)}. Make room or mend the "
            "folder, then save again."
        ) from error


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Read a checkpoint.

    Raises:
        CheckpointError: It cannot be read; what TensorFlow says of it is its cause.
    """
    try:
        yield
    except (OSError, IndexError, ValueError, tf.errors.OpError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {_reason(error)}. Nothing was restored. Restore another "
            f"checkpoint; delete the files {Path(path).name}.* to go on from the one before."
        ) from error


def misfit(path: str, why: str) -> CheckpointError:
    """What to raise for a checkpoint of something else than what is trained."""
    return CheckpointError(
        f"{path} does not fit what is trained here: {why}. Nothing was restored. To go on from "
        "it, build the model as it was; to start anew, give another name= or logdir=."
    )


def step_in_name(path: str) -> int | None:
    """The step that a checkpoint is named by, or None."""
    found = re.search(r"-(\d+)$", path)
    return int(found.group(1)) if found else None


def state_of(directory: Path | str) -> Any:
    """What the `checkpoint` file of a folder says; None where there is none that can be read."""
    try:
        return tf.train.get_checkpoint_state(str(directory))
    except ValueError:  # it is empty, or no text
        return None


def complete_in(directory: Path) -> set[str]:
    """The names of the checkpoints of a folder of which every file is there."""
    try:
        files = {path.name for path in directory.iterdir()}
    except OSError:
        return set()
    parts = Counter(found.groups() for file in files if (found := _PART.fullmatch(file)))
    return {
        name
        for (name, total), there in parts.items()
        if there == int(total) and name + ".index" in files
    }


def some(names: Sequence[str]) -> str:
    """The first three of some names, and how many more there are."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


def _saved_at(path: Path) -> float:
    return Path(f"{path}.index").stat().st_mtime


def _name(path: str) -> str:
    return Path(path).name


def _reason(error: Exception) -> str:
    """Why a file could not be written or read, in the system's words where there are such."""
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return "there is a file where a folder should be"
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    words = [word for number in errno.errorcode if (word := os.strerror(number)) in text]
    if words:
        return max(words, key=len)
    lines = [line for line in _OP.sub("", text).splitlines() if line.strip()]
    return lines[0].strip().rstrip(".") if lines else type(error).__name__


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _with_folder(path: str) -> str:
    """A checkpoint's own name, with its folder."""
    own = Path(path)
    return f"{own.parent.name}/{own.name}"
