"""The checkpoints that the Supervisor saves: when, under which name, and whole."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.tf1.supervising.step_services import ByStepServices
from tests.gate import eventually
from tests.supervised import (
    Background,
    Counting,
    checkpoints,
    events,
    held,
    in_background,
    kind_of,
    kinds,
    points,
    train_until,
)
from tests.training.torn import lockstep_graph, steps_in

v1 = tf.compat.v1


def named_as_held(logdir: Path) -> list[int]:
    """The steps of all checkpoints, each of which holds the step of its name."""
    steps = checkpoints(logdir)
    assert [int(held(logdir, step)) for step in steps] == steps
    return steps


def test_a_last_checkpoint_is_saved(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_secs=600), 100))
    assert named_as_held(tmp_path)[-1] == 100
    assert held(tmp_path, 100, "weight") == 200.0


def test_a_step_that_is_saved_already_is_not_saved_twice(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_steps=5), 5))
    assert named_as_held(tmp_path) == [5]
    assert kinds(tmp_path).count("CHECKPOINT") == 1


def test_checkpoints_are_saved_by_seconds(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=0.02)
    train_until(count, sv, lambda: len(checkpoints(tmp_path)) >= 4)
    assert named_as_held(tmp_path)


def test_checkpoints_are_saved_by_steps(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_steps=10), 35))
    assert named_as_held(tmp_path) == [10, 20, 30, 35]


def test_checkpoints_are_saved_by_steps_also_where_a_run_takes_several(tmp_path: Path) -> None:
    count = Counting(by=5)
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_steps=10), 7))
    assert named_as_held(tmp_path) == [10, 20, 30, 35]


def test_runs_that_do_not_train_are_no_steps(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=2)

    def use() -> None:
        with sv.managed_session() as sess:
            for _ in range(5):
                sess.run(count.loss)
                sess.run(count.train_op)

    in_background(use)
    assert named_as_held(tmp_path) == [2, 4, 5]


def test_checkpoints_are_saved_by_steps_and_seconds(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        saver = v1.train.Saver(max_to_keep=0)
    sv = count.supervisor(tmp_path, saver=saver, save_model_steps=50, save_model_secs=0.05)

    def both() -> bool:
        saved = checkpoints(tmp_path)
        return 100 in saved and any(step % 50 for step in saved)

    train_until(count, sv, both)
    assert {50, 100} <= set(named_as_held(tmp_path))


@pytest.mark.parametrize("saver", [True, False], ids=["0 seconds", "no saver"])
def test_no_checkpoint_is_saved(saver: bool, tmp_path: Path) -> None:
    count = Counting()
    none: dict[str, Any] = {} if saver else {"saver": None, "save_model_secs": 1}
    in_background(lambda: count.trained(count.supervisor(tmp_path, **none), 10))
    assert checkpoints(tmp_path) == []


def test_the_loop_need_not_ask_whether_to_stop_to_be_saved(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=0.02)

    def use() -> None:
        with sv.managed_session() as sess:
            step = sess.make_callable(count.train_op)
            while len(checkpoints(tmp_path)) < 3:
                step()

    in_background(use)
    assert named_as_held(tmp_path)


def test_a_training_thread_that_does_something_else_is_saved_too(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=0.02)

    def use() -> None:
        with sv.managed_session() as sess:
            sess.run(count.train_op)
            eventually(lambda: 1 in checkpoints(tmp_path))

    in_background(use)


def metas(logdir: Path) -> list[int]:
    """The steps of the checkpoints that have the graph beside them."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in logdir.glob("model.ckpt-*.meta"))


def test_every_checkpoint_has_the_graph_beside_it(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_steps=1), 20))
    assert metas(tmp_path) == checkpoints(tmp_path) == [16, 17, 18, 19, 20]


@pytest.mark.parametrize("keep", [1, 2])
def test_the_graph_stays_beside_the_checkpoints_that_are_kept(keep: int, tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        saver = v1.train.Saver(max_to_keep=keep, sharded=True)
    sv = count.supervisor(tmp_path, saver=saver, save_model_steps=1)
    in_background(lambda: count.trained(sv, 4))
    assert metas(tmp_path) == checkpoints(tmp_path) == [3, 4][-keep:]


def test_a_checkpoint_can_be_loaded_with_its_meta_graph(tmp_path: Path) -> None:
    count = Counting()
    in_background(lambda: count.trained(count.supervisor(tmp_path, save_model_steps=100), 5))
    with tf.Graph().as_default(), v1.Session() as sess:
        path = str(tmp_path / "model.ckpt-5")
        v1.train.import_meta_graph(f"{path}.meta").restore(sess, path)
        assert sess.run("weight/Read/ReadVariableOp:0") == 10.0


def test_the_basename_is_that_of_the_files(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, checkpoint_basename="mine", save_model_steps=1)
    in_background(lambda: count.trained(sv, 1))
    assert (tmp_path / "mine-1.index").exists()


@pytest.mark.parametrize("kind", ["usual", "resource", "ref", "rank 1", "int32"])
def test_a_global_step_of_any_kind_names_checkpoints_and_summaries(
    kind: str, tmp_path: Path
) -> None:
    count = Counting(kind)
    sv = count.supervisor(tmp_path, save_model_secs=600, save_summaries_secs=600)

    def use() -> None:
        with sv.managed_session() as sess:
            for _ in range(6):
                sess.run(count.train_op)
            sv.summary_computed(sess, b"")

    in_background(use)
    assert named_as_held(tmp_path)[-1] == 6
    assert points(tmp_path, "twice")[-1] == (6, 12.0)
    (start,) = [event.step for event in events(tmp_path) if kind_of(event) == "START"]
    assert start == 0


def test_a_graph_without_a_global_step_is_saved_without_a_number(tmp_path: Path) -> None:
    count = Counting("none")
    sv = count.supervisor(tmp_path, save_model_secs=600, save_summaries_secs=600)
    in_background(lambda: count.trained(sv, 3))
    reader = tf.train.load_checkpoint(str(tmp_path / "model.ckpt"))
    assert reader.get_tensor("weight") == 6.0
    assert points(tmp_path, "twice")[-1] == (0, 6.0)
    assert "global_step/sec" not in kinds(tmp_path)
    assert "START" not in kinds(tmp_path)


# --- never torn ------------------------------------------------------------------


def test_no_checkpoint_of_60_at_50_a_second_is_torn_or_misnamed(tmp_path: Path) -> None:
    train_op, looked = lockstep_graph(), []
    with train_op.graph.as_default():
        saver = v1.train.Saver(max_to_keep=2)
        sv = nbtrain.Supervisor(saver=saver, logdir=str(tmp_path), save_model_secs=0.02)

    save = saver.save

    def save_and_look(*args: Any, **kwargs: Any) -> Any:
        path = save(*args, **kwargs)
        looked.append(steps_in(path))
        return path

    saver.save = save_and_look

    def use() -> None:
        with sv.managed_session() as sess:
            while len(looked) < 60:
                sess.run(train_op)

    Background(use).result()
    assert len(looked) >= 60
    assert [len(steps) for steps in looked] == [1] * len(looked)
    told = [step for (step,) in looked]
    assert told == sorted(told)
    assert told[-1] > 45, "it trained on between the saves"


def test_a_session_that_another_thread_trains_is_saved_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    with count.graph.as_default():
        saver = v1.train.Saver(max_to_keep=0)
    sv = count.supervisor(tmp_path, saver=saver, save_model_secs=0.02)
    save, saves = saver.save, list[str]()

    def train_while_saving(sess: Any, *args: Any, **kwargs: Any) -> Any:
        in_background(lambda: sess.run(count.train_op))
        saves.append(save(sess, *args, **kwargs))
        return saves[-1]

    saver.save = train_while_saving
    sv.prepare_or_wait_for_session()
    eventually(lambda: len(saves) >= 5)
    sv.stop()
    assert len(checkpoints(tmp_path)) == len(saves)
    assert caplog.text.count("Train in the thread that prepares the session") == 1


def test_steps_that_only_another_thread_trains_are_told_once_before_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=2)
    sess = sv.prepare_or_wait_for_session()
    warning = "nothing is saved or summarized by steps"

    def told() -> bool:
        in_background(lambda: sess.run(count.train_op))
        return warning in caplog.text

    eventually(told)
    assert checkpoints(tmp_path) == []
    eventually(lambda: told() and sess.run(count.global_step) > 20)
    sv.stop()
    assert caplog.text.count(warning) == 1


@pytest.mark.parametrize("step", [1, 5])
def test_a_step_that_the_training_thread_may_have_trained_is_not_unseen(step: int) -> None:
    services = ByStepServices(lambda: 0)
    services.add(2, lambda: None)
    services.start(0)
    assert not services.are_unseen(0, in_call=False)
    services.run_due()
    assert not services.are_unseen(step, in_call=False), "it has called the session since"
    assert not services.are_unseen(step, in_call=False), "no step was trained since"
    assert not services.are_unseen(6, in_call=True)
    assert not services.are_unseen(7, in_call=False), "its call has just ended"
    assert services.are_unseen(8, in_call=False)


def test_a_thread_that_evaluates_beside_the_training_tears_no_checkpoint(
    tmp_path: Path,
) -> None:
    train_op = lockstep_graph()
    with train_op.graph.as_default():
        saver = v1.train.Saver(max_to_keep=0)
        evaluated = tf.identity(v1.train.get_global_step())
        sv = nbtrain.Supervisor(
            saver=saver, logdir=str(tmp_path), save_model_steps=5, save_model_secs=0
        )
    sess = sv.prepare_or_wait_for_session()
    steps: list[int] = []

    def evaluate() -> None:
        while not sv.should_stop():
            steps.append(int(sess.run(evaluated)))

    beside = Background(evaluate)
    while len(checkpoints(tmp_path)) < 30:
        sess.run(train_op)
    sv.request_stop()
    beside.result()
    sv.stop()
    held = {step: steps_in(str(tmp_path / f"model.ckpt-{step}")) for step in checkpoints(tmp_path)}
    assert held == {step: {step} for step in held}
    assert [step % 5 for step in sorted(held)[:30]] == [0] * 30
    assert len(set(steps)) > 1, "it evaluated meanwhile"


# --- two folders ------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_two_supervisors_of_one_graph_leave_each_other_their_checkpoints(
    given: bool, tmp_path: Path
) -> None:
    count = Counting()
    if given:  # as a program does, for its settings
        with count.graph.as_default():
            v1.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver(max_to_keep=2))
    most = 2 if given else 5
    first, second = (
        count.supervisor(tmp_path / name, save_model_steps=1) for name in ("first", "second")
    )
    for sv in (first, second, first, second):
        in_background(functools.partial(count.trained, sv, 4))
    for name in ("first", "second"):
        steps = named_as_held(tmp_path / name)
        assert steps == list(range(9 - most, 9))
        state = tf.train.get_checkpoint_state(str(tmp_path / name))
        assert [Path(path).name for path in state.all_model_checkpoint_paths] == [
            f"model.ckpt-{step}" for step in steps
        ]


def test_the_saver_of_the_graph_is_that_of_its_first_supervisor_and_of_the_next_there(
    tmp_path: Path,
) -> None:
    count = Counting()
    with count.graph.as_default():
        saver = v1.train.Saver()
        v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
    assert count.supervisor(tmp_path / "here").saver is saver
    other = count.supervisor(tmp_path / "there").saver
    assert type(other) is type(saver)
    assert other is not saver
    assert count.supervisor(tmp_path / "here").saver is saver


def test_a_saver_that_has_saved_elsewhere_goes_on_there_alone(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default(), v1.Session() as sess:
        saver = v1.train.Saver(max_to_keep=1)
        v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
        sess.run(v1.global_variables_initializer())
        mine = saver.save(sess, str(tmp_path / "mine"))
    count.trained(count.supervisor(tmp_path / "run", save_model_steps=1), 3)
    assert checkpoints(tmp_path / "run") == [3]
    assert Path(f"{mine}.index").exists()


def test_a_saver_that_is_given_is_the_supervisors_own(tmp_path: Path) -> None:
    count = Counting()
    with count.graph.as_default():
        saver = v1.train.Saver()
    for name in ("here", "there"):
        assert count.supervisor(tmp_path / name, saver=saver).saver is saver


@pytest.mark.parametrize("copied", [False, True], ids=["moved", "copied"])
def test_the_checkpoints_of_a_folder_that_was_moved_are_those_beside_it(
    tmp_path: Path, *, copied: bool
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    count = Counting()
    count.trained(count.supervisor(old, save_model_secs=600), 5)
    shutil.copytree(old, new) if copied else old.rename(new)
    before = {path.name for path in old.iterdir()} if copied else set()
    again = Counting()
    again.trained(again.supervisor(new, save_model_secs=600), 3)
    assert checkpoints(new)[-1] == 8
    assert held(new, 8, "weight") == 16.0
    if copied:
        assert {path.name for path in old.iterdir()} == before
