"""A restore gives each trained variable its value, or the run does not go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.commands import Pause, Restore
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Phase
from nbtrain.engines.named_variables import survey
from nbtrain.engines.object_saver import ObjectSaver
from tests.gate import SOON
from tests.models import applied, reached
from tests.on_disk import journal
from tests.zoo import BATCHES, ZOO, Chain, Dense, Made, in_list


def made(**options: Any) -> Made:
    """A model with its layers in a list."""
    return Made(in_list(lambda: Dense(3), lambda: Dense(1))(), **options)


def partly(model: Any) -> Any:
    """Keeps a layer where TensorFlow finds it, and one where it does not."""
    model.first, model.rest = Dense(3), [Dense(1)]
    return lambda: [model.first, *model.rest]


def saved_by_tensorflow(trained: Made, folder: Path, **objects: Any) -> None:
    """A checkpoint of step 3, without nbtrain's names, as earlier versions wrote them."""
    for batch in BATCHES[:3]:
        trained.step(batch)
    checkpoint = tf.train.Checkpoint(**objects)
    tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=1).save(checkpoint_number=3)


def train_once(made: Made) -> None:
    """Trains on a batch, without a trace."""
    getattr(made.step, "python_function", made.step)(BATCHES[0])


def data() -> Any:
    """One batch for each step."""
    xs, ys = zip(*BATCHES, strict=True)
    return tf.data.Dataset.from_tensor_slices((np.stack(xs), np.stack(ys)))


def started(made: Made, **options: Any) -> nbtrain.Run:
    """A run of its step, which goes on from the checkpoint of step 3."""
    held = tf.train.Checkpoint(**made.objects)
    return nbtrain.train(made.step, data=data(), checkpoint=held, name="run", **options)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_checkpoint_of_an_earlier_version_gives_layers_in_lists_their_values(
    *, compiled: bool
) -> None:
    first = made()
    saved_by_tensorflow(first, Path("runs/run/checkpoints"), **first.objects)
    second = made(compiled=compiled)
    run = started(second, steps=4).wait(SOON)
    # The checkpoint holds no position in the data, and an eager step is taken once more.
    first.step(BATCHES[0 if compiled else 1])
    assert run.status.phase is Phase.FINISHED
    for name, value in first.numbers().items():
        np.testing.assert_array_equal(value, second.numbers()[name], name)


def test_a_trained_variable_without_a_value_pauses_the_run_and_nothing_is_saved() -> None:
    first = Made(Chain(partly))
    saved_by_tensorflow(first, Path("runs/run/checkpoints"), model=first.model)
    run = started(Made(Chain(partly)), steps=6)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = str(run.status.message)
    assert "Paused at step 3: ckpt-3 has no value for chain" in message
    assert "matched" not in str(run.status.notice)
    outcome = run.save().wait(SOON)
    assert not outcome.applied
    assert "ckpt-3 has no value for chain" in outcome.text
    assert [held.step for held in run.checkpoints] == [3]
    applied(run.resume())
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert [held.step for held in run.checkpoints][-1] == 6


def test_a_restore_of_a_running_run_without_a_value_pauses_before_another_step() -> None:
    first = Made(Chain(partly))
    saved_by_tensorflow(first, Path("other/checkpoints"), model=first.model)
    second = Made(Chain(partly))
    run = started(second, start=False)
    restore = run.post(Restore("other/checkpoints/ckpt-3"), at=5)
    run.start()
    assert restore.wait(SOON).applied
    assert run.status.phase is Phase.PAUSED, "by the time that the restore is answered"
    assert run.status.step == 3
    assert "Paused at step 3: ckpt-3 has no value for chain" in str(run.status.message)
    applied(run.request_stop())
    run.wait(SOON)


def test_a_restore_of_a_paused_run_without_a_value_says_so_until_a_complete_one() -> None:
    first = Made(Chain(partly))
    saved_by_tensorflow(first, Path("other/checkpoints"), model=first.model)
    run = started(Made(Chain(partly)), start=False)
    pause = run.post(Pause(), at=2)
    run.start()
    applied(pause)
    applied(run.save())
    restore = run.restore("other/checkpoints/ckpt-3")
    assert restore.wait(SOON).applied
    message = str(run.status.message)
    assert "Paused at step 3: ckpt-3 has no value for chain" in message, "by the time of the answer"
    assert not run.save().wait(SOON).applied
    assert [line["event"] for line in journal(run)][-3:] == ["restore", "pause", "save"], "once"
    applied(run.restore())
    assert (run.status.phase, run.status.message) == (Phase.PAUSED, None)
    applied(run.save())
    applied(run.request_stop())
    run.wait(SOON)


def test_a_run_that_stops_without_a_value_keeps_the_checkpoint_it_had() -> None:
    first = Made(Chain(partly))
    saved_by_tensorflow(first, Path("runs/run/checkpoints"), model=first.model)
    run = started(Made(Chain(partly)), steps=6)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    applied(run.request_stop())
    run.wait(SOON)
    assert [held.step for held in run.checkpoints] == [3]


def test_values_of_variables_that_do_not_exist_yet_are_saved_again(tmp_path: Path) -> None:
    first, unbuilt, third = made(), made(), made()
    for batch in BATCHES[:3]:
        first.step(batch)
    ObjectSaver(tf.train.Checkpoint(**first.objects), tmp_path, keep=5).save(3)
    between = ObjectSaver(tf.train.Checkpoint(**unbuilt.objects), tmp_path, keep=5)
    restored = between.resume()
    assert restored is not None
    assert "model/blocks/0/kernel" in restored.unused
    between.save(4)
    between.side_saver("trial", 1).save(4)
    third.model(BATCHES[0][0])
    third.optimizer.build(list(survey({"model": third.model}).variables.values()))
    for folder in (tmp_path, tmp_path / "trial"):
        restored = ObjectSaver(tf.train.Checkpoint(**third.objects), folder, keep=5).resume()
        assert restored is not None
        assert (restored.step, restored.missing, restored.unused) == (4, (), ())
        for name, value in first.numbers().items():
            np.testing.assert_array_equal(value, third.numbers()[name], name)


def test_names_do_not_depend_on_what_was_made_before() -> None:
    for kind in ("layers in a list", "MultiOptimizer", "models in models", "a layer in a set"):
        one, other = ZOO[kind](), ZOO[kind]()
        for each in (one, other):
            train_once(each)
        assert one.numbers().keys() == other.numbers().keys()


def test_every_variable_of_a_model_and_an_optimizer_has_one_name() -> None:
    for kind in ZOO:
        if kind == "a layer used now and then":
            continue  # its optimizer is an attribute of the model too
        each = ZOO[kind]()
        train_once(each)
        found = {id(variable) for variable in survey(each.objects).variables.values()}
        models = [
            item
            for value in each.objects.values()
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, keras.Model | keras.optimizers.Optimizer)
        ]
        wanted = {id(variable) for model in models for variable in model.variables}
        assert wanted <= found, kind


def test_a_layer_that_the_checkpoint_lacks_is_refused_if_nothing_fits(tmp_path: Path) -> None:
    line = keras.Sequential([keras.Input((2,)), Dense(1)])
    ObjectSaver(tf.train.Checkpoint(other=tf.Variable(1.0)), tmp_path, keep=5).save(3)
    with pytest.raises(CheckpointError, match="it holds no variable of this model"):
        ObjectSaver(tf.train.Checkpoint(model=line), tmp_path, keep=5).resume()
