"""Checkpoints: listed when complete, restored with a result, refused without a change."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.checkpoints.listing import find
from nbtrain.core.commands import Pause, Save
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint
from tests.gate import SOON
from tests.models import Counter, Line, applied
from tests.on_disk import journal
from tests.room import no_room

NAN = float("nan")


def saver_of(line: Line, folder: Path, keep: int | None = 5) -> ObjectSaver:
    """A saver of a model and its optimizer."""
    return ObjectSaver(line.checkpoint, folder, keep=keep)


def trained(steps: int, **options: Any) -> Line:
    """A line after some steps."""
    line = Line(**options)
    for _ in range(steps):
        line.step()
    return line


def numbers(optimizer: Any) -> list[Any]:
    """Returns the values of an optimizer's variables."""
    return [each.numpy() for each in optimizer.variables]


def assert_equal(one: list[Any], other: list[Any]) -> None:
    """The same numbers throughout."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_restore_gives_back_every_number_and_proves_it(tmp_path: Path) -> None:
    line = trained(3)
    saver = saver_of(line, tmp_path)
    assert saver.save(3) == 3
    saved = line.state()
    line.step()
    restored = saver.restore(listed(tmp_path)[-1].path)
    assert_equal(line.state(), saved)
    assert restored.step == 3
    assert restored.path == listed(tmp_path)[-1].path
    assert restored.slots == 4, "two momenta each of kernel and bias"
    assert len(restored.matched) == 2 + 4 + 2, "the weights, their slots, iterations, learning rate"
    assert restored.missing == ()
    assert restored.unused == ()
    assert str(restored) == "ckpt-3: 8 variables matched, 4 optimizer slots among them"


def test_a_restore_into_a_new_model_gives_it_the_saved_state(tmp_path: Path) -> None:
    line, other = trained(3), Line()
    saver_of(line, tmp_path).save(3)
    restored = saver_of(other, tmp_path).resume()
    assert restored is not None
    assert (restored.step, restored.slots) == (3, 4)
    assert_equal(other.state(), line.state())


def test_a_variable_missing_in_the_checkpoint_is_named_and_keeps_its_value(tmp_path: Path) -> None:
    line, other = trained(3), trained(1)
    ObjectSaver(tf.train.Checkpoint(model=line.model), tmp_path, keep=5).save(3)
    momenta = [variable.numpy() for variable in other.optimizer.variables]
    restored = saver_of(other, tmp_path).restore(listed(tmp_path)[-1].path)
    assert restored.slots == 0
    assert len(restored.matched) == 2
    assert len(restored.missing) == 6
    assert any("momentum" in name for name in restored.missing)
    assert "; not in it: " in str(restored)
    assert "and 3 more" in str(restored)
    assert_equal([variable.numpy() for variable in other.optimizer.variables], momenta)


@pytest.mark.parametrize(
    "optimizer",
    [
        tf.keras.optimizers.Adam(0.1),
        tf.keras.optimizers.Nadam(0.1),
        tf.keras.optimizers.Adagrad(0.1),
        tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 9, 0.9), 0.9),
        tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(0.1)),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_a_restore_resets_slots_that_the_optimizer_had_not_created_yet(
    optimizer: Any, tmp_path: Path
) -> None:
    variable = tf.keras.Variable([1.0, 2.0], name="weights")
    checkpoint = tf.train.Checkpoint(variable=variable, optimizer=optimizer)
    saver = ObjectSaver(checkpoint, tmp_path, keep=5)
    saver.save(0)
    optimizer.build([variable])
    began = [each.numpy() for each in optimizer.variables]
    for gradient in (3.0, NAN):
        optimizer.apply([tf.constant([gradient, 1.0])])
    assert not all(np.array_equal(a, b) for a, b in zip(began, numbers(optimizer), strict=True))
    restored = saver.restore(listed(tmp_path)[-1].path)
    assert_equal(numbers(optimizer), began)
    again = saver.restored()
    assert again is not None
    for each in (restored, again):
        assert each.renewed > 0
        assert (each.missing, each.gaps) == ((), "")
        assert str(each).endswith(" as before the first step")


def test_an_optimizer_that_cannot_be_made_again_stays_as_it_is_and_is_named(
    tmp_path: Path,
) -> None:
    class Own(tf.keras.optimizers.SGD):
        def __init__(self, needed: float) -> None:
            super().__init__(needed, momentum=0.9)

    variable, optimizer = tf.keras.Variable([1.0]), Own(0.1)
    checkpoint = tf.train.Checkpoint(variable=variable, optimizer=optimizer)
    saver = ObjectSaver(checkpoint, tmp_path, keep=5)
    saver.save(0)
    optimizer.apply([tf.constant([3.0])], [variable])
    restored = saver.restore(listed(tmp_path)[-1].path)
    assert restored.renewed == 0
    assert ["momentum" in name for name in restored.missing] == [True]
    assert float(optimizer.variables[-1].numpy()[0]) != 0


def test_an_object_without_variables_yet_is_named(tmp_path: Path) -> None:
    saver_of(trained(3), tmp_path).save(3)
    bare = Line()
    restored = ObjectSaver(tf.train.Checkpoint(model=bare.model), tmp_path, keep=5).resume()
    assert restored is not None
    assert len(restored.matched) == 2
    assert len(restored.unused) == 6
    assert all(name.startswith("optimizer/") for name in restored.unused)
    assert "; no variable here yet for: optimizer/" in str(restored)


def test_an_optimizer_that_made_no_step_yet_is_built_by_the_restore_and_gets_its_slots(
    tmp_path: Path,
) -> None:
    line, fresh = trained(3), Line(build=False)
    saver_of(line, tmp_path).save(3)
    restored = saver_of(fresh, tmp_path).resume()
    assert restored is not None
    assert str(restored) == "ckpt-3: 8 variables matched, 4 optimizer slots among them"
    assert restored.gaps == ""
    assert_equal(fresh.state(), line.state())
    line.step()
    fresh.step()
    assert_equal(fresh.state(), line.state())


def test_a_model_of_other_shapes_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    saver_of(trained(3), tmp_path).save(3)
    other = trained(1, units=2)
    before = other.state()
    with pytest.raises(CheckpointError, match=r"ckpt-3 does not fit .*: .* has the shape "):
        saver_of(other, tmp_path / "other").restore(listed(tmp_path)[-1].path)
    assert_equal(other.state(), before)


def deep(last: int) -> tf.keras.Model:
    """Two layers, of which the first always has the same shape."""
    layers = tf.keras.layers
    return tf.keras.Sequential([tf.keras.Input((2,)), layers.Dense(3), layers.Dense(last)])


def test_a_model_that_fits_in_part_only_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    ObjectSaver(tf.train.Checkpoint(model=deep(2)), tmp_path, keep=5).save(3)
    model = deep(4)
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(CheckpointError, match="does not fit what is trained here"):
        ObjectSaver(tf.train.Checkpoint(model=model), tmp_path, keep=5).resume()
    assert_equal([variable.numpy() for variable in model.variables], before)


def test_after_a_refusal_variables_made_later_do_not_take_its_values(tmp_path: Path) -> None:
    ObjectSaver(tf.train.Checkpoint(model=deep(2)), tmp_path, keep=5).save(3)
    tracked = tf.train.Checkpoint(model=deep(4))
    saver = ObjectSaver(tracked, tmp_path / "other", keep=5)
    with pytest.raises(CheckpointError):
        saver.restore(listed(tmp_path)[-1].path)
    assert saver.save(1) == 1


def test_a_checkpoint_of_something_else_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    ObjectSaver(tf.train.Checkpoint(weight=tf.Variable(7.0)), tmp_path, keep=5).save(3)
    line = trained(1)
    before = line.state()
    with pytest.raises(CheckpointError, match=r"ckpt-3 does .*: it holds no variable of this mod"):
        saver_of(line, tmp_path).resume()
    assert_equal(line.state(), before)


def test_a_checkpoint_of_a_tf1_graph_is_refused_in_words(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        tf.compat.v1.get_variable("weight", initializer=7.0)
        sess.run(tf.compat.v1.global_variables_initializer())
        path = tf.compat.v1.train.Saver().save(sess, str(tmp_path / "model.ckpt"), global_step=3)
    with pytest.raises(CheckpointError, match=r"a tf\.compat\.v1\.train\.Saver wrote it"):
        saver_of(Line(), tmp_path / "other").restore(path)


def test_a_checkpoint_that_does_not_fit_is_refused_with_advice(tmp_path: Path) -> None:
    saver_of(trained(3), tmp_path).save(3)
    with pytest.raises(CheckpointError) as refusal:
        saver_of(Line(units=2), tmp_path).resume()
    assert str(refusal.value).endswith(
        ". Nothing was restored. To continue from it, build the model as it was; for a run of its "
        "own, from the values that the model holds now, give another name= or logdir=."
    )


@pytest.mark.parametrize("broken", ["ckpt-1.index", "ckpt-1.data-00000-of-00001"])
def test_a_checkpoint_that_cannot_be_read_is_refused_in_words(broken: str, tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    line.step()
    before = line.state()
    path = listed(tmp_path)[-1].path
    (tmp_path / broken).write_bytes(b"not an index")
    with pytest.raises(CheckpointError, match=r"ckpt-1 cannot be read: ") as refusal:
        saver.restore(path)
    assert str(refusal.value).endswith(
        ". Nothing was restored. Restore another checkpoint; delete the files ckpt-1.* to "
        "continue from the one before."
    )
    assert len(str(refusal.value)) < 400
    assert_equal(line.state(), before)
    assert saver.restored() is None


@pytest.mark.parametrize("stands", ["checkpoints", "."])
def test_a_file_in_the_place_of_the_folder_is_a_refusal_in_words(
    stands: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run" / "checkpoints"
    saver = saver_of(trained(1), folder)
    saver.save(1)
    blocked = (tmp_path / "run" / stands).resolve()
    blocked.rename(tmp_path / "moved")
    blocked.write_text("a file")
    with pytest.raises(CheckpointError) as refusal:
        saver.save(2)
    assert str(refusal.value) == (
        f"{folder} cannot be written: there is a file where a folder should be. Make room or mend "
        "the folder, then save again."
    )


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path / "run" / "checkpoints")
    saver.save(1)
    shutil.rmtree(tmp_path / "run")
    saver.save(2)
    assert [checkpoint.step for checkpoint in listed(tmp_path / "run" / "checkpoints")] == [2]


def test_a_write_that_the_system_refuses_is_an_error_in_its_words(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(x=tf.Variable(tf.zeros([10_000])))
    saver = ObjectSaver(checkpoint, tmp_path, keep=5)
    saver.save(1)
    with no_room(10_000), pytest.raises(CheckpointError) as raised:
        saver.save(2)
    refusal = "File too large. Make room or mend the folder, then save again."
    assert str(raised.value) == f"{tmp_path} cannot be written: {refusal}"
    left = ["checkpoint", "ckpt-1.data-00000-of-00001", "ckpt-1.index"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    saver.save(3)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1, 3]


def test_the_newest_are_kept_and_the_others_are_deleted(tmp_path: Path) -> None:
    saver = saver_of(Line(), tmp_path, keep=2)
    for step in (1, 2, 3, 4):
        saver.save(step)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [3, 4]
    assert sorted(path.name for path in tmp_path.glob("*.index")) == [
        "ckpt-3.index",
        "ckpt-4.index",
    ]


def test_keep_none_keeps_all(tmp_path: Path) -> None:
    saver = saver_of(Line(), tmp_path, keep=None)
    for step in range(1, 9):
        saver.save(step)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == list(range(1, 9))


def test_a_later_start_keeps_counting_the_checkpoints_of_earlier_ones(tmp_path: Path) -> None:
    first = saver_of(Line(), tmp_path, keep=2)
    first.save(1)
    first.save(2)
    saver_of(Line(), tmp_path, keep=2).save(3)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [2, 3]


def test_a_step_saved_again_is_listed_once_and_as_the_newest(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    saver.save(2)
    line.step()
    saver.save(1)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [2, 1]
    saved = line.state()
    line.step()
    saver.restore(listed(tmp_path)[-1].path)
    assert_equal(line.state(), saved)


def test_a_checkpoint_is_listed_with_step_path_and_time(tmp_path: Path) -> None:
    saver_of(Line(), tmp_path).save(1240)
    (checkpoint,) = listed(tmp_path)
    assert checkpoint.step == 1240
    assert checkpoint.path == str(tmp_path / "ckpt-1240")
    index = Path(checkpoint.path + ".index")
    assert abs(checkpoint.wall_time - index.stat().st_mtime) < 60


def test_a_checkpoint_whose_file_vanishes_while_it_is_looked_at_is_not_listed(
    tmp_path: Path,
) -> None:
    saver = saver_of(Line(), tmp_path)
    saver.save(1)
    saver.save(2)
    both = [str(tmp_path / f"ckpt-{step}") for step in (1, 2)]
    # Without the times of saving, as a graph's Saver writes it: they are looked for.
    tf.compat.v1.train.update_checkpoint_state(str(tmp_path), both[1], both)
    index = tmp_path / "ckpt-1.index"
    index.unlink()
    index.symlink_to("nowhere")  # its name is there, and it is not: as between two looks
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [2]


def test_a_folder_without_checkpoints_lists_none(tmp_path: Path) -> None:
    assert listed(tmp_path) == ()
    assert listed(tmp_path / "nowhere") == ()
    assert saver_of(Line(), tmp_path).resume() is None


def test_a_checkpoint_that_was_cut_short_is_never_listed(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    for name in ("ckpt-2.data-00000-of-00001", "ckpt-2.index.tempstate1", "ckpt-3.index"):
        (tmp_path / name).write_bytes(b"half")  # files that a kill leaves without their name
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1]
    restored = saver.resume()
    assert restored is not None
    assert restored.step == 1


@pytest.mark.parametrize("gone", ["ckpt-2.*", "ckpt-2.index", "ckpt-2.data-*"])
def test_a_checkpoint_with_a_missing_file_is_not_listed(gone: str, tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    saver.save(2)
    for path in tmp_path.glob(gone):
        path.unlink()
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1]
    with pytest.raises(CheckpointError, match="those of steps: 1"):
        find(listed(tmp_path), str(tmp_path / "ckpt-2"))
    later = saver_of(Line(), tmp_path).resume()
    assert later is not None
    assert later.step == 1
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "ckpt-1")


def test_a_checkpoint_that_lacks_one_of_its_data_files_is_not_listed(tmp_path: Path) -> None:
    saver_of(Line(), tmp_path).save(1)
    (data,) = tmp_path.glob("ckpt-1.data-*")
    data.rename(tmp_path / "ckpt-1.data-00000-of-00002")
    assert listed(tmp_path) == ()
    shutil.copy(tmp_path / "ckpt-1.data-00000-of-00002", tmp_path / "ckpt-1.data-00001-of-00002")
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1]


def test_a_run_starts_over_if_all_its_checkpoints_are_gone(tmp_path: Path) -> None:
    saver_of(Line(), tmp_path).save(1)
    for path in tmp_path.glob("ckpt-1.*"):
        path.unlink()
    saver = saver_of(Line(), tmp_path)
    assert saver.resume() is None
    saver.save(1)
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1]


@pytest.mark.parametrize("left_behind", [False, True])
def test_a_run_continues_in_a_moved_folder(left_behind: bool, tmp_path: Path) -> None:
    line, other = trained(2), Line()
    old, new = tmp_path / "old", tmp_path / "new"
    saver_of(line, old).save(1)
    old.rename(new)
    state = new / "checkpoint"
    state.write_text(state.read_text().replace('"ckpt-', f'"{old}/ckpt-'))  # absolute paths
    if left_behind:  # by now another's
        Line().checkpoint.write(str(old / "ckpt-1"))
    assert [checkpoint.path for checkpoint in listed(new)] == [str(new / "ckpt-1")]
    saver = saver_of(other, new)
    restored = saver.resume()
    assert restored is not None
    assert restored.path == str(new / "ckpt-1")
    assert_equal(other.state(), line.state())
    saver.save(2)
    assert [checkpoint.path for checkpoint in listed(new)] == [
        str(new / "ckpt-1"),
        str(new / "ckpt-2"),
    ]


# --- the `checkpoint` file ------------------------------------------------------------

# As a power cut leaves it.
TORN = {
    "empty": b"",
    "zeros": bytes(200),
    "noise": b"\xff\xfe\x00noise",
    "cut in a line": b'model_checkpoint_path: "ckpt-9"\nall_model_ch',
    "cut after a line": b'model_checkpoint_path: "ckpt-9"\nall_model_checkpoint_paths: "ckpt-5"\n',
    "gone": None,
    "of a checkpoint that is nowhere": (
        b'model_checkpoint_path: "ckpt-99"\nall_model_checkpoint_paths: "ckpt-99"\n'
    ),
}
# What is said of it, if not that it cannot be read.
SAID = {
    "gone": "is missing",
    "of a checkpoint that is nowhere": "names only checkpoints that are not there",
}


@pytest.mark.parametrize("torn", TORN)
def test_a_run_goes_on_from_the_checkpoints_beside_a_file_that_cannot_be_read(torn: str) -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=9, name="a", start=False)
    run.post(Save(), at=5)
    run.start().wait(SOON)
    file, content = run.logdir / "checkpoints" / "checkpoint", TORN[torn]
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    counter = Counter()
    again = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, steps=12, name="a", start=False
    )
    paused = again.post(Pause(), at=11)
    again.start()
    applied(paused)
    told = again.status.message or ""
    assert told.startswith(f"{file} {SAID.get(torn, 'cannot be read')}")
    assert told.endswith("It was written again from the checkpoints beside it, of steps 5, 9.")
    assert "Continues from ckpt-9:" in str(again.status.notice)
    applied(again.save())
    assert again.status.message is None
    applied(again.resume())
    again.wait(SOON)
    assert int(counter.count.numpy()) == 12
    assert [held.step for held in again.checkpoints] == [5, 9, 11, 12]


def test_a_copy_from_before_the_journal_was_deleted_is_not_gone_on_from() -> None:
    counter = Counter()
    run = nbtrain.train(
        counter.step, checkpoint=counter.checkpoint, steps=9, save_steps=3, name="a"
    )
    run.wait(SOON)
    first = Counter()  # its first state was copied, and the journal was deleted after that
    ObjectSaver(first.checkpoint, run.logdir / "checkpoints" / "last_good", keep=3).save(0)
    lines = (run.logdir / "steering.jsonl").read_text().splitlines(keepends=True)
    later = [line for line in lines if json.loads(line)["step"] >= 6]
    (run.logdir / "steering.jsonl").write_text("".join(later))
    counter = Counter()
    again = nbtrain.train(counter.step, checkpoint=counter.checkpoint, steps=12, name="a")
    again.wait(SOON)
    assert "resume" in [line["event"] for line in journal(again) if line["step"] == 9]
    assert int(counter.count.numpy()) == 12


@pytest.mark.parametrize("target", ["/dev/zero", "a pipe", "a link"])
def test_a_checkpoint_file_that_is_no_file_is_not_read(tmp_path: Path, target: str) -> None:
    line = trained(1)
    saver_of(line, tmp_path).save(1)
    file = tmp_path / "checkpoint"
    (tmp_path / "elsewhere").write_bytes(file.read_bytes())
    file.unlink()
    if target == "a pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(target if target == "/dev/zero" else tmp_path / "elsewhere")
    assert listed(tmp_path) == ()
    saver = saver_of(line, tmp_path)
    assert "was written again from the checkpoints beside it, of steps 1" in str(saver.mended)
    assert not file.is_symlink()
    assert saver.resume() is not None


def test_copies_whose_file_cannot_be_read_are_found_too(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    saver.side_saver("last_good", 3).save(2)
    (tmp_path / "last_good" / "checkpoint").write_bytes(b"")
    restored = saver_of(line, tmp_path).resume()
    assert restored is not None
    assert restored.step == 2


def test_a_checkpoint_file_with_nothing_beside_it_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"")
    saver = saver_of(Line(), tmp_path)
    assert saver.mended is not None
    assert saver.mended.endswith("and no checkpoint is beside it: it was deleted.")
    assert saver.resume() is None


def test_a_checkpoint_beside_it_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    saver.save(2)
    (tmp_path / "ckpt-2.index").write_bytes(b"half")
    (tmp_path / "checkpoint").write_bytes(b"")
    restored = saver_of(line, tmp_path).resume()
    assert restored is not None
    assert restored.step == 1


def test_checkpoints_forgotten_by_a_manager_after_a_clock_change_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    line = trained(1)
    for hours in range(3):
        monkeypatch.setattr(time, "time", lambda hours=hours: now - 3600.0 * hours)
        saver_of(line, tmp_path).save(hours + 1)
    assert [held.step for held in listed(tmp_path)] == [1, 2, 3]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert len(state.all_model_checkpoint_timestamps) == 3
    saver = ObjectSaver(line.checkpoint, tmp_path, keep=2)
    saver.save(4)
    assert [held.step for held in listed(tmp_path)] == [3, 4], "of all of them the oldest go"


def test_tensorflow_reads_the_checkpoint_without_nbtrain(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    saver_of(line, tmp_path).save(2)
    path = tf.train.latest_checkpoint(str(tmp_path))
    other.checkpoint.restore(path).assert_existing_objects_matched()
    assert_equal(other.state(), line.state())


def test_a_checkpoint_that_tensorflow_wrote_is_restored_by_its_name(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    tf.train.CheckpointManager(line.checkpoint, str(tmp_path), None).save(checkpoint_number=20)
    restored = saver_of(other, tmp_path).resume()
    assert restored is not None
    assert restored.step == 20
    assert_equal(other.state(), line.state())


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Returns TensorFlow's log lines up to now, warnings and worse."""
    lines: list[str] = []

    class CheckpointPolicy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    policy = CheckpointPolicy(logging.WARNING)
    tf.get_logger().addHandler(policy)
    yield lines
    tf.get_logger().removeHandler(policy)


class OwnCheckpoint(tf.train.Checkpoint):
    """A kind of the user's own."""

    def __init__(self, line: Line) -> None:
        super().__init__(model=line.model, optimizer=line.optimizer)


@pytest.mark.parametrize(
    "made",
    [
        lambda line: line.checkpoint,
        OwnCheckpoint,
        lambda line: tf.train.Checkpoint(line.model, optimizer=line.optimizer),
        lambda line: tf.train.Checkpoint(line=line.checkpoint),
    ],
    ids=["checkpoint", "subclass", "of a root", "of a checkpoint"],
)
def test_one_checkpoint_serves_runs_and_its_owner_in_turn_without_a_warning(
    made: Any, tmp_path: Path, logged: list[str]
) -> None:
    line = trained(2)
    checkpoint = made(line)
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path / "mine"), max_to_keep=3)
    manager.save()
    for attempt in range(3):
        saver = ObjectSaver(checkpoint, tmp_path / "runs", keep=3)
        restored = saver.resume()
        assert (restored is None) == (attempt == 0)
        if restored is not None:
            assert (len(restored.matched), restored.slots, restored.gaps) == (8, 4, "")
        saver.save(attempt + 1)
        path = saver.directory / f"ckpt-{attempt + 1}"
        checkpoint.restore(str(path)).assert_existing_objects_matched()
        saver.restore(str(path))
        manager.save()
        manager.restore_or_initialize()
    fresh = Line(build=False)
    again = ObjectSaver(made(fresh), tmp_path / "runs", keep=3)
    again.resume()
    fresh.optimizer.build(fresh.model.trainable_variables)
    assert_equal(fresh.state(), line.state())
    del saver, again, checkpoint, manager, fresh
    gc.collect()  # TensorFlow tells of what was not restored when it is deleted
    assert logged == []


def test_a_checkpoint_made_of_a_root_is_matched_from_there(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    ObjectSaver(tf.train.Checkpoint(line.model), tmp_path, keep=3).save(2)
    restored = ObjectSaver(tf.train.Checkpoint(other.model), tmp_path, keep=3).resume()
    assert restored is not None
    assert (len(restored.matched), restored.gaps) == (2, "")
    assert_equal(other.model.get_weights(), line.model.get_weights())


def test_a_saved_value_without_a_variable_is_named_without_tensorflows_warning(
    tmp_path: Path, logged: list[str]
) -> None:
    saver_of(trained(3), tmp_path).save(3)
    model = Line().model
    saver = ObjectSaver(tf.train.Checkpoint(model=model, more=tf.Variable(1.0)), tmp_path, keep=5)
    saver.resume()
    restored = saver.restored()
    assert restored is not None
    assert restored.gaps == (
        "ckpt-3 was restored in part: Variable not in ckpt-3, so not restored; nothing here takes "
        "its optimizer/iterations, optimizer/learning_rate, "
        "optimizer/momentums/model/layers/1/bias and 3 more."
    )
    del saver
    gc.collect()
    assert logged == []


def test_a_restore_by_the_user_uses_all_of_a_runs_checkpoint(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    saver_of(line, tmp_path).save(2)
    other.checkpoint.restore(str(tmp_path / "ckpt-2")).assert_consumed()
    assert_equal(other.state(), line.state())


THREE = tuple(Checkpoint(step, f"/runs/a/ckpt-{step}", 0.0) for step in (10, 1000, 20))


@pytest.mark.parametrize(
    ("wanted", "step"),
    [(None, 20), (10, 10), (1000, 1000), ("/runs/a/ckpt-10", 10), ("ckpt-1000", 1000)],
)
def test_a_checkpoint_is_found_by_step_by_path_by_name_or_as_the_latest(
    wanted: int | str | None, step: int
) -> None:
    assert find(THREE, wanted).step == step


@pytest.mark.parametrize("wanted", ["ckpt-10", "trial/ckpt-10"])
def test_a_copy_does_not_pass_for_the_checkpoint_of_its_name(wanted: str) -> None:
    copy = Checkpoint(10, "/runs/a/trial/ckpt-10", 9.0)
    assert find((*THREE, copy), wanted).path == f"/runs/a/{wanted}"


def test_a_checkpoint_of_another_folder_is_found_by_its_path(tmp_path: Path) -> None:
    saver_of(Line(), tmp_path).save(7)
    found = find((), str(tmp_path / "ckpt-7"))
    assert (found.step, found.path) == (7, str(tmp_path / "ckpt-7"))


@pytest.mark.parametrize("wanted", [11, "ckpt-11", "/nowhere/ckpt-10", "latest", ""])
def test_a_checkpoint_that_is_not_there_is_refused_with_those_there_are(wanted: int | str) -> None:
    with pytest.raises(CheckpointError, match=r"those of steps: 10, 1,000, 20\.$"):
        find(THREE, wanted)


@pytest.mark.parametrize("wanted", [None, 10])
def test_before_the_first_save_there_is_nothing_to_restore(wanted: int | None) -> None:
    with pytest.raises(CheckpointError, match="There is no checkpoint to restore yet; save one"):
        find((), wanted)


def test_something_else_than_a_checkpoint_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"checkpoint=Sequential object: give tf\.train\.Check"):
        as_checkpoint(deep(1))
    assert as_checkpoint(None) is None


def test_an_empty_checkpoint_is_refused_with_what_to_name() -> None:
    empty, used = tf.train.Checkpoint(), tf.train.Checkpoint()
    used.save(str(Path("saved")))
    for each in (empty, used):
        with pytest.raises(ArgumentError, match=r"holds nothing.*tf\.train\.Checkpoint\(model=mod"):
            as_checkpoint(each)
    unbuilt = tf.train.Checkpoint(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
    assert as_checkpoint(unbuilt) is unbuilt


def test_a_run_that_was_stopped_before_its_model_was_built_can_start_again() -> None:
    def unbuilt() -> tf.train.Checkpoint:
        return tf.train.Checkpoint(model=tf.keras.Sequential([tf.keras.layers.Dense(1)]))

    ObjectSaver(unbuilt(), Path("held"), keep=5).save(0)
    again = ObjectSaver(unbuilt(), Path("held"), keep=5)
    restored = again.resume()
    assert restored is not None
    assert (restored.step, restored.matched, restored.missing) == (0, (), ())
    built = deep(1)
    with pytest.raises(CheckpointError, match="it holds no variable of this model"):
        ObjectSaver(tf.train.Checkpoint(model=built), Path("held"), keep=5).resume()
