"""Saves and restores the objects of a run that has ended: its models and optimizers.

The calling thread does this at once, since nothing trains. Meanwhile it locks the run's folder and
models. The run stays ended, and its curve does not change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nbtrain.core.commands import Restore, Save, Sender
from nbtrain.core.errors import ArgumentError, BusyError, CheckpointError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.steer import registry

if TYPE_CHECKING:
    from nbtrain.run.attempt import Attempt


def execute(
    attempt: Attempt, models: Callable[[], list[object]], command: Save | Restore, sender: Sender
) -> Receipt:
    """Saves or restores the objects of an ended attempt; returns the answered receipt.

    The command is refused if another run trains in the folder or the models by now, or if the
    folder is gone. A save is also refused if another start has trained in the folder since.

    Args:
        models: Returns the objects that only one run at a time may train.
    """
    receipt, step = Receipt(command, sender=sender), attempt.step
    try:
        with _locked(attempt, models), attempt.boundary.policy.in_closed_session():
            if isinstance(command, Save):
                _check_is_last(attempt)
            attempt.context.monitor.write_from_here()
            outcome = attempt.boundary.executor.execute_at_once(receipt)
            attempt.context.monitor.write_journal()
    except (ArgumentError, BusyError, CheckpointError, OSError) as error:
        outcome = Outcome(False, step, f"After the end of the run, this cannot be done: {error}")
    receipt.answer(outcome)
    return receipt


def _check_is_last(attempt: Attempt) -> None:
    """Raises a CheckpointError if another start has trained in the folder since."""
    own = attempt.monitor_threads.address
    with contextlib.suppress(OSError, Untrusted):
        sign = status_file.read(attempt.context.folder.path)
        if own is not None and sign.writer.attempt != own.attempt:
            raise CheckpointError(
                f"another start has trained here since, to step {sign.status.step:,}. Save what "
                "the objects hold with tf.train.Checkpoint, in a folder of its own."
            )


@contextlib.contextmanager
def _locked(attempt: Attempt, models: Callable[[], list[object]]) -> Iterator[None]:
    """Locks the folder and the models of a run inside the block."""
    folder, phase = attempt.context.folder, attempt.context.lifecycle.phase
    if not folder.path.is_dir():
        raise ArgumentError(f"its folder {folder.path} is gone.")
    registry.claim(folder.name, models, lambda: f"{phase}, and saves or restores")
    try:
        folder.lock.acquire()
        try:
            yield
        finally:
            folder.lock.release()
    finally:
        registry.release(folder.name)
