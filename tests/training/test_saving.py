"""The keeper's list of what can be restored, apart from a run."""

from __future__ import annotations

import shutil
from pathlib import Path

from nbtrain.core.cadence import Every
from nbtrain.core.step_counter import StepCounter
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.health import Health
from nbtrain.run.monitor import Monitor
from nbtrain.run.saving import CheckpointPolicy
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Marks
from tests.models import Counter


def test_a_folder_that_came_and_went_between_two_looks_is_listed_as_empty(tmp_path: Path) -> None:
    recorder = Recorder(ScalarStore(), None)
    folder = Logdir(None, "kept", kind="train")
    folder.acquire()
    monitor, steps = Monitor(recorder, folder, Marks(), grace_secs=5.0), StepCounter()
    policy = CheckpointPolicy(Every(), monitor, Health(recorder, monitor, steps), steps)
    saver = ObjectSaver(Counter().checkpoint, tmp_path / "checkpoints", keep=3)
    policy.take_up(saver)
    policy.list_again()
    steps.step = 1
    policy.save()
    assert [held.step for held in policy.checkpoints] == [1]
    shutil.rmtree(saver.directory)
    policy.list_again()
    assert policy.checkpoints == ()
    recorder.close()
    folder.release()
