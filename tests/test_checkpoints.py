"""Checkpoints: listed when complete, restored with a proof, refused without a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbtrain.checkpoints import ObjectSaver, as_checkpoint, find, listed
from nbtrain.errors import ArgumentError, CheckpointError
from nbtrain.states import Checkpoint
from tests.models import Line


def saver_of(line: Line, folder: Path, keep: int | None = 5) -> ObjectSaver:
    """A saver of a model and its optimizer."""
    return ObjectSaver(line.checkpoint, folder, keep=keep)


def trained(steps: int, **options: Any) -> Line:
    """A line after some steps."""
    line = Line(**options)
    for _ in range(steps):
        line.step()
    return line


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
    proof = saver.restore(listed(tmp_path)[-1].path)
    assert_equal(line.state(), saved)
    assert proof.step == 3
    assert proof.path == listed(tmp_path)[-1].path
    assert proof.slots == 4, "two momenta each of kernel and bias"
    assert len(proof.matched) == 2 + 4 + 2, "the weights, their slots, iterations, learning rate"
    assert proof.missing == ()
    assert proof.unused == ()
    assert str(proof) == "ckpt-3: 8 variables matched, 4 optimizer slots among them"


def test_a_restore_into_a_new_model_gives_it_the_saved_state(tmp_path: Path) -> None:
    line, other = trained(3), Line()
    saver_of(line, tmp_path).save(3)
    proof = saver_of(other, tmp_path).resume()
    assert proof is not None
    assert (proof.step, proof.slots) == (3, 4)
    assert_equal(other.state(), line.state())


def test_what_the_checkpoint_lacks_is_named_and_keeps_its_value(tmp_path: Path) -> None:
    line, other = trained(3), trained(1)
    ObjectSaver(tf.train.Checkpoint(model=line.model), tmp_path, keep=5).save(3)
    momenta = [variable.numpy() for variable in other.optimizer.variables]
    proof = saver_of(other, tmp_path).restore(listed(tmp_path)[-1].path)
    assert proof.slots == 0
    assert len(proof.matched) == 2
    assert len(proof.missing) == 6
    assert any("momentum" in name for name in proof.missing)
    assert "; not in it: " in str(proof)
    assert "and 3 more" in str(proof)
    assert_equal([variable.numpy() for variable in other.optimizer.variables], momenta)


def test_what_has_no_variable_yet_is_named(tmp_path: Path) -> None:
    saver_of(trained(3), tmp_path).save(3)
    bare = Line()
    proof = ObjectSaver(tf.train.Checkpoint(model=bare.model), tmp_path, keep=5).resume()
    assert proof is not None
    assert len(proof.matched) == 2
    assert len(proof.unused) == 6
    assert all(name.startswith("optimizer/") for name in proof.unused)
    assert "; waiting for their variables: " in str(proof)


def test_an_optimizer_built_after_the_restore_gets_its_slots(tmp_path: Path) -> None:
    line, fresh = trained(3), Line(build=False)
    saver_of(line, tmp_path).save(3)
    proof = saver_of(fresh, tmp_path).resume()
    assert proof is not None
    assert proof.slots == 0
    assert len(proof.unused) == 4, "the slots wait for their variables"
    fresh.optimizer.build(fresh.model.trainable_variables)
    assert_equal(fresh.state(), line.state())
    line.step()
    fresh.step()
    assert_equal(fresh.state(), line.state())


def test_a_model_of_other_shapes_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    saver_of(trained(3), tmp_path).save(3)
    other = trained(1, units=2)
    before = other.state()
    with pytest.raises(CheckpointError, match=r"ckpt-3 does not fit this model: .*shape"):
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
    with pytest.raises(CheckpointError, match="does not fit this model"):
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
    with pytest.raises(
        CheckpointError, match=r"ckpt-3 holds no variable of this model; nothing was restored\."
    ):
        saver_of(line, tmp_path).resume()
    assert_equal(line.state(), before)


def test_a_checkpoint_of_a_tf1_graph_is_refused_in_words(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        tf.compat.v1.get_variable("weight", initializer=7.0)
        sess.run(tf.compat.v1.global_variables_initializer())
        path = tf.compat.v1.train.Saver().save(sess, str(tmp_path / "model.ckpt"), global_step=3)
    with pytest.raises(CheckpointError):
        saver_of(Line(), tmp_path / "other").restore(path)


def test_a_checkpoint_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    line = trained(1)
    saver = saver_of(line, tmp_path)
    saver.save(1)
    before = line.state()
    path = listed(tmp_path)[-1].path
    (index,) = tmp_path.glob("ckpt-1.index")
    index.write_bytes(b"not an index")
    with pytest.raises(CheckpointError, match="ckpt-1"):
        saver.restore(path)
    assert_equal(line.state(), before)


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


def test_a_later_life_keeps_counting_the_checkpoints_of_the_earlier(tmp_path: Path) -> None:
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
    proof = saver.resume()
    assert proof is not None
    assert proof.step == 1


def test_a_checkpoint_whose_files_are_gone_is_not_listed(tmp_path: Path) -> None:
    saver = saver_of(trained(1), tmp_path)
    saver.save(1)
    saver.save(2)
    for path in tmp_path.glob("ckpt-2.*"):
        path.unlink()
    assert [checkpoint.step for checkpoint in listed(tmp_path)] == [1]


def test_a_folder_that_was_moved_still_lists_its_checkpoints(tmp_path: Path) -> None:
    line = trained(2)
    saver_of(line, tmp_path / "old").save(2)
    (tmp_path / "old").rename(tmp_path / "new")
    (checkpoint,) = listed(tmp_path / "new")
    assert checkpoint.path == str(tmp_path / "new" / "ckpt-2")
    other = Line()
    saver_of(other, tmp_path / "new").restore(checkpoint.path)
    assert_equal(other.state(), line.state())


def test_tensorflow_reads_the_checkpoint_without_nbtrain(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    saver_of(line, tmp_path).save(2)
    path = tf.train.latest_checkpoint(str(tmp_path))
    other.checkpoint.restore(path).assert_existing_objects_matched()
    assert_equal(other.state(), line.state())


def test_a_checkpoint_that_tensorflow_wrote_is_restored_by_its_name(tmp_path: Path) -> None:
    line, other = trained(2), Line()
    tf.train.CheckpointManager(line.checkpoint, str(tmp_path), None).save(checkpoint_number=20)
    proof = saver_of(other, tmp_path).resume()
    assert proof is not None
    assert proof.step == 20
    assert_equal(other.state(), line.state())


def test_saving_leaves_the_users_checkpoint_as_it_was(tmp_path: Path) -> None:
    line = Line()
    before = set(tf.train.TrackableView(line.checkpoint).children(line.checkpoint))
    saver_of(line, tmp_path).save(1)
    saver_of(line, tmp_path).resume()
    after = set(tf.train.TrackableView(line.checkpoint).children(line.checkpoint))
    assert after - {"save_counter"} == before - {"save_counter"}


THREE = tuple(Checkpoint(step, f"/runs/a/ckpt-{step}", 0.0) for step in (10, 1000, 20))


@pytest.mark.parametrize(
    ("wanted", "step"),
    [(None, 20), (10, 10), (1000, 1000), ("/runs/a/ckpt-10", 10), ("ckpt-1000", 1000)],
)
def test_a_checkpoint_is_found_by_step_by_path_by_name_or_as_the_latest(
    wanted: int | str | None, step: int
) -> None:
    assert find(THREE, wanted).step == step


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
