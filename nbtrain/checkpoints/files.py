"""Saves, lists and restores the checkpoints of a run.

Only the training thread calls a saver, between two steps, so a checkpoint is one consistent step.
TensorFlow writes the files first, and names them in the `checkpoint` state file last, by a rename.
So an incomplete checkpoint is never listed.
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
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from nbtrain.core import own_files
from nbtrain.core.errors import CheckpointError
from nbtrain.core.own_files import NotOwnError
from nbtrain.core.states import Checkpoint
from nbtrain.core.text.text_table import counted, some
from nbtrain.rundir.timeline import RunTimeline

# Bytes of a `checkpoint` file at most: one that names a thousand checkpoints has 100 kB.
_MOST_BYTES = 1 << 24

_PART = re.compile(r"(.+)\.data-\d{5}-of-(\d{5})")

# The place of an error in TensorFlow's runtime, which does not help a user.
_OP = re.compile(r"\{\{function_node .*?\}\}|\[Op:\w+\]|Graph execution error:")


@dataclass(frozen=True, slots=True)
class Lacking:
    """Trained variables that no checkpoint of a run contains.

    Attributes:
        owners: The objects that they belong to, in words, with counts.
        remedy: A sentence that says what to type to save them too.
    """

    owners: str
    remedy: str


@dataclass(frozen=True, slots=True, repr=False)
class Restored:
    """The result of a restore, variable by variable.

    Attributes:
        slots: The number of matched slots of an optimizer (momenta and the like); None if
            only weights were wanted, or if the variables are those of a graph.
        missing: Names of live variables that are not in the checkpoint; they are unchanged.
        renewed: The number of optimizer variables that are not in the checkpoint because the
            optimizer had made no step yet; they have the values from before its first step.
        unused: Names of values in the checkpoint without a live variable, such as those of an
            unbuilt model. They are saved again, and restored once the variable exists.
        late: Names of variables that were created after the restore, although the checkpoint
            contains their values: a step has trained them from other values.
        valueless: The names in `missing` of variables that the training changes.
        differing: Names of variables that the training changes and whose values differ from those
            in the checkpoint.
        lacking: Trained variables that no checkpoint of this run contains; None if there are none.
        stage: The stage of the training that begins here, with the weights of the checkpoint and
            new optimizers; None if the stage of the checkpoint continues.
        replaced: Learning rates that were a number and are a schedule now, or the reverse, in
            words.
    """

    step: int
    path: str
    matched: tuple[str, ...]
    slots: int | None
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    renewed: int = 0
    lacking: Lacking | None = None
    late: tuple[str, ...] = ()
    valueless: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    stage: str | None = None
    replaced: str = ""

    def __repr__(self) -> str:
        """Returns the result in one line."""
        matched = counted(len(self.matched), "variable")
        if self.valueless or self.differing:
            text = f"{Path(self.path).name} in part: {matched} of it"
        else:
            text = f"{Path(self.path).name}: {matched} matched"
        if self.slots is not None:
            text += f", {counted(self.slots, 'optimizer slot')} among them"
        if self.stage is not None:
            text += f"; stage {self.stage!r} has an optimizer of its own"
        if self.renewed:
            text += f"; {counted(self.renewed, 'optimizer slot')} as before the first step"
        if self.missing:
            text += f"; not in it: {some(self.missing)}"
        if self.differing:
            text += f"; other values than in it: {some(self.differing)}"
        if self.unused:
            text += f"; no variable here yet for: {some(self.unused)}"
        if self.replaced:
            text += f"; {self.replaced}"
        if self.lacking:
            owners, remedy = self.lacking.owners, self.lacking.remedy.rstrip(".")
            text += f"; not in the checkpoint: {owners}, which stay as they are. {remedy}"
        return text

    @property
    def gaps(self) -> str:
        """A warning for after the first step; empty if everything was matched."""
        name, parts = Path(self.path).name, []
        if self.missing:
            parts.append(f"{some(self.missing)} not in {name}, so not restored")
        if self.differing:
            parts.append(f"{some(self.differing)} with other values than in {name}")
        if self.unused:
            parts.append(f"nothing here takes its {some(self.unused)}")
        if self.late:
            parts.append(f"{some(self.late)} created since")
        return f"{name} was restored in part: {'; '.join(parts)}." if parts else ""


class Saver(Protocol):
    """Saves and restores the checkpoints of an engine; training thread only.

    Attributes:
        outlives_session: Whether it can still save and restore once its session is closed.
    """

    outlives_session: bool

    @property
    def mended(self) -> str | None:
        """A message if the folder was repaired; otherwise None."""

    @property
    def directory(self) -> Path:
        """The folder of the checkpoints."""

    def resume(self, timeline: RunTimeline | None = None) -> Restored | None:
        """Restores the latest checkpoint on the current branch; returns None if there is none.

        Args:
            timeline: The timeline of the run; None reads it from the journal beside the
                checkpoints.
        """

    def save(self, step: int) -> int:
        """Writes a checkpoint; returns the step that it contains and that is in its name.

        `step` is the run's own count; the global step of a graph takes precedence.
        """

    def restore(self, path: str) -> Restored:
        """Restores the variables from a checkpoint."""

    def restore_objects(self, path: str) -> Restored:
        """Restores the variables alone, without a position in the data."""

    def restored(self) -> Restored | None:
        """Returns the result of the latest restore, as it is by now; None if there was none.

        Variables that are created at the first step, such as an optimizer's slots, are restored
        then. This walks over the whole model, so do not call it at every step.
        """

    def non_finite(self) -> tuple[str, ...]:
        """Returns the names of variables that hold NaN or Inf; much faster than a save."""

    def largest(self) -> tuple[str, float]:
        """Returns the trainable variable with the largest absolute value, and that value.

        ("", 0.0) if there is none, or for a graph.
        """

    def weights(self) -> Sequence[Any]:
        """Returns the trainable variables of real numbers; none for a graph."""

    def lacking(self) -> Lacking | None:
        """Describes trained variables that are not saved; returns None if there are none.

        This walks over the whole model, so do not call it at every step.
        """

    def side_saver(self, name: str, keep: int) -> Saver | None:
        """Returns a saver for a subfolder of the checkpoints; None if that is not possible.

        Its checkpoints do not count towards the run's `keep`.
        """

    def random_states(self) -> Sequence[tf.Variable]:
        """Returns the states of the random generators of the model, such as a Dropout's."""

    def besides(self) -> Sequence[tf.Variable]:
        """Returns variables that the steps may change and no checkpoint contains: metrics."""

    @property
    def one_way(self) -> str | None:
        """Why a restore cannot go back in the data; None if it can, or draws no data."""

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other elements of the same data; None if there are none.

        In it, a restore does not go back in the data. Afterwards the next element is the one that
        it was before.
        """

    def vary_data(self, repeat: int, steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; returns whether it could.

        Args:
            repeat: The number of the repeat, from 1. A restore comes before each.
        """


def listed(directory: Path) -> tuple[Checkpoint, ...]:
    """Returns the complete checkpoints of a folder in the order they were saved; any thread.

    These are the checkpoints that the `checkpoint` file names and that are in its folder, even if
    the folder was moved since.
    """
    state, complete = state_of(directory), complete_in(directory)
    if state is None:
        return ()
    times = list(state.all_model_checkpoint_timestamps)
    found = []
    for number, saved_path in enumerate(state.all_model_checkpoint_paths):
        name = Path(saved_path).name
        step = step_in_name(name)
        if step is not None and name in complete:
            path = directory / name
            with contextlib.suppress(FileNotFoundError):  # the checkpoint has just been deleted
                saved = times[number] if number < len(times) else _saved_at(path)
                found.append(Checkpoint(step, str(path), saved))
    return tuple(found)


def at(path: Path) -> Checkpoint | None:
    """Returns the checkpoint at a path; None if it does not exist or is incomplete."""
    step = step_in_name(path.name)
    if step is None or path.name not in complete_in(path.parent):
        return None
    return Checkpoint(step, str(path), _saved_at(path))


def delete_all(directory: Path) -> None:
    """Deletes the checkpoints of a folder, and the folder if nothing else is in it."""
    with contextlib.suppress(OSError):
        for held in listed(directory):
            for file in directory.glob(f"{glob.escape(Path(held.path).name)}.*"):
                file.unlink()
        (directory / "checkpoint").unlink(missing_ok=True)
        directory.rmdir()


@contextlib.contextmanager
def writing(directory: Path, name: str) -> Iterator[None]:
    """Creates the folder for a checkpoint that the block writes, and reports errors.

    Raises:
        CheckpointError: The checkpoint cannot be written; its files were deleted. The error of
            TensorFlow is the cause.
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
    """Reports errors of a block that reads a checkpoint.

    Raises:
        CheckpointError: The checkpoint cannot be read. The error of TensorFlow is the cause.
    """
    try:
        yield
    except (OSError, IndexError, ValueError, tf.errors.OpError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {_reason(error)}. Nothing was restored. Restore another "
            f"checkpoint; delete the files {Path(path).name}.* to continue from the one before."
        ) from error


def misfit(path: str, why: str, advice: str = "") -> CheckpointError:
    """Returns the error to raise for a checkpoint that does not fit the model.

    Args:
        advice: Another way to continue, written before the advice to start a run of its own.
    """
    return CheckpointError(
        f"{path} does not fit what is trained here: {why}. Nothing was restored. To continue "
        f"from it, build the model as it was; {advice}for a run of its own, from the values that "
        "the model holds now, give another name= or logdir=."
    )


def step_in_name(path: str) -> int | None:
    """Returns the step in the name of a checkpoint, or None."""
    return int(found[1]) if (found := re.search(r"-(\d+)$", path)) else None


def state_of(directory: Path | str) -> Any:
    """Returns the content of a folder's `checkpoint` file; None if it cannot be read."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # a network store, too
        try:
            if own_files.state(f"{directory}/checkpoint").st_size > _MOST_BYTES:
                return None
        except NotOwnError:  # TensorFlow would read a device without an end
            return None
    try:
        return tf.train.get_checkpoint_state(str(directory))
    except ValueError:  # the file is empty or not text
        return None


def complete_in(directory: Path) -> set[str]:
    """Returns the names of a folder's checkpoints whose files all exist."""
    try:
        with os.scandir(directory) as found:
            # Links are followed: an archive may hold the data elsewhere. A pipe is not opened.
            files = {each.name for each in found if each.is_file()}
    except OSError:
        return set()
    parts = Counter(part.groups() for file in files if (part := _PART.fullmatch(file)))
    return {
        name
        for (name, total), there in parts.items()
        if there == int(total) and name + ".index" in files
    }


def _saved_at(path: Path) -> float:
    return Path(f"{path}.index").stat().st_mtime


def _reason(error: Exception) -> str:
    """Returns why a file could not be written or read, in the system's words if possible."""
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return "there is a file where a folder should be"
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    words = [word for number in errno.errorcode if (word := os.strerror(number)) in text]
    if words:
        return max(words, key=len)
    lines = [line for line in _OP.sub("", text).splitlines() if line.strip()]
    return lines[0].strip().rstrip(".") if lines else type(error).__name__
