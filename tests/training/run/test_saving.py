"""The keeper's list of what can be restored, apart from a run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from nbtrain.core.cadence import Every
from nbtrain.core.current_step import StepCounter
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.saving.catalog import Catalog
from nbtrain.run.saving.health import Health
from nbtrain.run.saving.policy import CheckpointPolicy
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.names import LAST_GOOD
from tests.models import Counter


def test_a_folder_that_came_and_went_between_two_looks_is_listed_as_empty(tmp_path: Path) -> None:
    recorder = Recorder(ScalarStore(), None)
    folder = Logdir(None, "kept", kind="train")
    folder.acquire()
    monitor, steps = Monitor(recorder, folder, Marks(), grace_secs=5.0), StepCounter()
    policy = CheckpointPolicy(Every(), monitor, Health(recorder, monitor, steps), steps)
    saver = ObjectSaver(Counter().checkpoint, tmp_path / "checkpoints", keep=3)
    policy.resume(saver)
    policy.list_again()
    steps.step = 1
    policy.save()
    assert [held.step for held in policy.checkpoints] == [1]
    shutil.rmtree(saver.directory)
    policy.list_again()
    assert policy.checkpoints == ()
    recorder.close()
    folder.release()


@pytest.mark.parametrize(
    ("steps", "told"), [((0,), "from step 0: run.restore(0)"), ((0, 10), "from steps 0, 10: run.")]
)
def test_without_a_checkpoint_the_copies_are_named(steps: tuple[int, ...], told: str) -> None:
    catalog = Catalog(Monitor.__new__(Monitor))
    path = f"checkpoints/{LAST_GOOD}/ckpt-"
    catalog.checkpoints = tuple(Checkpoint(step, f"{path}{step}", 0.0) for step in steps)
    with pytest.raises(CheckpointError, match=re.escape(told)):
        catalog.on_the_way()
