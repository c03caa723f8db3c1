"""Repairs the `checkpoint` files of a run's folders before TensorFlow reads them.

TensorFlow trusts these files. Without a repair, TensorFlow would search for the checkpoints of a
moved folder in the old place, continue from a latest checkpoint that was deleted, and refuse a file
that is empty or damaged after a power cut. TensorFlow also forgets checkpoints that are older than
the file's `last_preserved_timestamp`; after the clock was set back, all of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.checkpoints.files import at, complete_in, state_of
from nbtrain.checkpoints.listing import timeline_of
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.names import ASIDE


def mend_states(directory: Path) -> str | None:
    """Repairs the `checkpoint` files of a folder and its copies; returns a message or None.

    The caller must have locked the folder.
    """
    messages = [_mended(directory), *(_mended(directory / name) for name in ASIDE)]
    return " ".join(filter(None, messages)) or None


def _mended(directory: Path) -> str | None:
    """Repairs a folder; returns a message. An error becomes a message too."""
    try:
        return mend_state(directory)
    except OSError as error:
        return (
            f"{directory} cannot be written: {error.strerror or error}. What is there can be "
            "restored; mend the folder, so that checkpoints can be saved."
        )


def mend_given(directory: str) -> str | None:
    """Repairs the `checkpoint` file of a folder of the user's; returns a message or None.

    Changes nothing unless the file cannot be read, or names the latest checkpoint by the place
    where the folder was before a move.
    """
    there = Path(directory)
    if not (there / "checkpoint").exists():  # or it is in a network store
        return None
    state = state_of(directory)
    if state is not None:
        latest = Path(state.model_checkpoint_path)
        is_there = latest.parent.resolve() == there.resolve()
        if is_there or latest.name not in complete_in(there):
            return None
    return mend_state(there)


def mend_state(directory: Path, *, saves: bool = False) -> str | None:
    """Makes the `checkpoint` file of one folder name the existing checkpoints by relative paths.

    Args:
        saves: Whether a `tf.train.CheckpointManager` saves there next. Then a
            `last_preserved_timestamp` is removed, so that TensorFlow forgets no checkpoints.
    """
    state, complete = state_of(directory), complete_in(directory)
    if state is None or _is_cut(state):
        return _rebuild(directory, complete, "cannot be read, as after a power cut")
    named = list(state.all_model_checkpoint_paths)
    kept = [number for number, path in enumerate(named) if Path(path).name in complete]
    if complete and not kept:
        return _rebuild(directory, complete, "names only checkpoints that are not there")
    names = [Path(named[number]).name for number in kept]
    as_they_are = [str(directory / name) for name in names] == named
    if as_they_are and not (saves and state.last_preserved_timestamp):
        return None
    times = list(state.all_model_checkpoint_timestamps)
    _write(directory, names, [times[number] for number in kept] if times else [])
    return None


def _is_cut(state: Any) -> bool:
    """Returns whether the end of the file is missing: a complete one names the latest twice."""
    paths, times = state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps
    return state.model_checkpoint_path not in paths or len(times) not in (0, len(paths))


def _rebuild(directory: Path, complete: set[str], why: str) -> str | None:
    """Creates the file from the readable checkpoints, in the order of the run's journal.

    If there was no file, only checkpoints in the journal are used: others may not be the run's.
    """
    file, timeline = directory / "checkpoint", timeline_of(directory)
    was_there = file.exists()
    there = [held for name in complete if (held := at(directory / name)) is not None]
    known = [held for held in there if timeline.knows(held)]
    found = [held for held in known or there * was_there if _can_be_read(held)]
    if not was_there and not found:
        return None
    found.sort(key=lambda held: held.step)
    found = list(timeline.ordered(found))
    _write(directory, [Path(each.path).name for each in found], [each.wall_time for each in found])
    why = why if was_there else "is missing"
    if not found:
        return f"{file} {why}, and no checkpoint is beside it: it was deleted."
    steps = ", ".join(f"{held.step:,}" for held in found)
    return f"{file} {why}. It was written again from the checkpoints beside it, of steps {steps}."


def _can_be_read(held: Checkpoint) -> bool:
    try:
        tf.train.load_checkpoint(held.path)
    except (OSError, IndexError, ValueError, tf.errors.OpError):
        return False
    return True


def _write(directory: Path, names: Sequence[str], times: Sequence[float]) -> None:
    """Writes the file in one act, by a rename; deletes it if there is nothing to name."""
    file, written = directory / "checkpoint", directory / "checkpoint.mended"
    if not names:
        file.unlink(missing_ok=True)
        return
    state = tf.compat.v1.train.generate_checkpoint_state_proto(
        str(directory.absolute()), names[-1], names, times or None
    )
    written.write_text(str(state), encoding="utf-8")
    written.replace(file)
