"""The words in and below the picture of a run."""

from __future__ import annotations

import io
import os
import sys
import threading
import traceback
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from PIL import Image

import nbtrain
from nbtrain.core.errors import CheckpointError
from nbtrain.notebook.display import display_of, picture_of, show, state_of
from tests.gate import SOON, Gate, eventually
from tests.models import Counter
from tests.shells import Outputs, own_shell

WHEN = "2026-11-23 16:17:51"


def test_the_picture_of_a_run_that_can_go_on_says_how(gate: Gate) -> None:
    run = nbtrain.train(Counter(gate).step, name="night", steps=9)
    go_on = f"As of {WHEN}. To continue the run, run its cells again with name='night'."
    assert state_of(run, WHEN) == go_on
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert state_of(run, WHEN) == go_on


def test_the_line_for_a_run_in_another_folder_names_the_folder(tmp_path: Path) -> None:
    run = nbtrain.train(dict, logdir=tmp_path / "own", start=False)
    folder = os.path.relpath(tmp_path / "own")
    assert f"run its cells again with logdir={folder!r}." in state_of(run, WHEN)


def test_a_run_that_has_finished_has_nothing_to_go_on_with() -> None:
    run = nbtrain.train(dict, steps=3, name="done").wait(SOON)
    assert state_of(run, WHEN) == f"As of {WHEN}."


def test_a_run_whose_checkpoint_does_not_fit_is_not_advised_to_go_on() -> None:
    def run_of(shape: list[int]) -> nbtrain.Run:
        kept = tf.train.Checkpoint(weights=tf.Variable(tf.zeros(shape)))
        return nbtrain.train(dict, checkpoint=kept, steps=3, name="night")

    run_of([2]).wait(SOON)
    run = run_of([3])
    with pytest.raises(CheckpointError):
        run.wait(SOON)
    assert state_of(run, WHEN) == f"As of {WHEN}."


def test_a_run_that_failed_before_its_first_step_has_nothing_to_continue() -> None:
    def broken() -> dict[str, float]:
        raise ValueError("mine")

    run = nbtrain.train(broken, name="night")
    with pytest.raises(ValueError, match="mine"):
        run.wait(SOON)
    assert state_of(run, WHEN) == f"As of {WHEN}."


def size(bundle: Any) -> tuple[int, int]:
    with Image.open(io.BytesIO(b64decode(bundle["image/png"]))) as image:
        return image.size


def open_for_who_waits(gate: Gate) -> None:
    """Opens a gate once the main thread waits for the curves of a run that has ended."""
    main = threading.main_thread().ident or 0
    eventually(
        lambda: (
            "wait_for_records"
            in [call.name for call in traceback.extract_stack(sys._current_frames()[main])]
        )
    )
    gate.open()


def test_a_run_that_ends_before_it_is_shown_is_shown_with_its_earlier_curves(
    gate: Gate, tmp_path: Path
) -> None:
    def made() -> nbtrain.Run:
        counter = Counter()
        return nbtrain.train(
            counter.step, steps=9, checkpoint=counter.checkpoint, name="again", start=False
        )

    made().start().wait(SOON)
    run = made()
    run.on_tick(gate)  # it stands before what the run has recorded earlier is read
    run.start()
    eventually(lambda: run.status.phase.ended)
    threading.Thread(target=open_for_who_waits, args=(gate,)).start()
    with own_shell(tmp_path / "ipython") as shell:
        outputs = shell.display_pub = Outputs(shell)
        show(run)
    gate.open()
    run.wait(SOON)
    assert size(outputs.published[0]) == size(picture_of(run))


def test_the_pages_are_told_of_an_end_in_the_midst_of_a_tick(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = nbtrain.train(Counter(gate).step, steps=9, name="told")
    phases: list[Any] = []
    ticks = threading.Event()
    with own_shell(tmp_path / "ipython") as shell:
        shell.display_pub = Outputs(shell)
        show(run)
        panel = display_of(run).panel
        panel._on_message(panel, {"t": "hello"}, [])
        tick, send = panel.tick, panel.send

        def held_tick() -> None:
            tick()
            ticks.set()
            eventually(lambda: run.status.phase.ended)

        def seen(content: dict[str, Any], *buffers: Any) -> None:
            phases.extend(filter(None, [content.get("status", {}).get("phase")]))
            send(content, *buffers)

        monkeypatch.setattr(panel, "send", seen)
        monkeypatch.setattr(panel, "tick", held_tick)
        assert ticks.wait(SOON)
        gate.open()
        run.wait(SOON)
    assert phases[-1] == "finished"
