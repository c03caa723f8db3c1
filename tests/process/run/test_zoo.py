"""Models of every kind go on in another process as if there had been no break."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from tests.forked import Forked
from tests.gate import SOON
from tests.shells import own_shell
from tests.zoo import BATCHES, STEPS, ZOO, Made

BROKEN_AT = 3


pytestmark = pytest.mark.timeout(600)  # many models, one after the other


def data() -> tf.data.Dataset:
    xs, ys = zip(*BATCHES, strict=True)
    return tf.data.Dataset.from_tensor_slices((np.stack(xs), np.stack(ys)))


def by_train(made: Made, held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    return nbtrain.train(made.step, data=data(), checkpoint=held, **options).wait(SOON)


def by_a_loop_over_data(made: Made, held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    @nbtrain.background(data=data(), checkpoint=held, **options)
    def run(run: Any, batches: Any) -> None:
        while not run.should_stop():
            run.record(made.step(next(batches)))

    return run.wait(SOON)  # type: ignore[no-any-return]


def by_tracked_loops(made: Made, held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    @nbtrain.background(checkpoint=held, **options)
    def run(run: Any) -> None:
        for half in run.track(range(2)):
            for batch in run.track(BATCHES[half * 4 : half * 4 + 4]):
                run.record(made.step(batch))

    return run.wait(SOON)  # type: ignore[no-any-return]


def in_the_foreground(made: Made, held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    run = nbtrain.track(data(), checkpoint=held, **options)
    for batch in run:
        run.record(made.step(batch))
    return run  # type: ignore[no-any-return]


def by_fit(made: Made, _held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    return fitted(made, data(), **options)


def fitted(made: Made, x: Any, y: Any = None, *, steps: int, **options: Any) -> nbtrain.Run:
    assert isinstance(made.model, keras.Model)
    assert steps == STEPS
    made.model.compile(made.optimizer, "mse", jit_compile=False)
    return nbtrain.fit(made.model, x, y, **options).wait(SOON)


@contextlib.contextmanager
def in_place(way: str) -> Iterator[None]:
    """Enters what the objects of a way are made in."""
    with strategy().scope() if way == "by_fit_of_replicas" else contextlib.nullcontext():
        yield


@functools.cache
def strategy() -> tf.distribute.Strategy:
    """Two replicas on the processor."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, devices)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def by_fit_of_replicas(made: Made, _held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    # The position in a distributed pipeline cannot be saved.
    xs, ys = (np.concatenate(each) for each in zip(*BATCHES, strict=True))
    return fitted(made, xs, ys, batch_size=len(BATCHES[0][0]), shuffle=False, **options)


def in_a_cell(made: Made, held: tf.train.Checkpoint, **options: Any) -> nbtrain.Run:
    with own_shell(Path("ipython")) as cells:
        cells.run_line_magic("load_ext", "nbtrain")
        cells.user_ns.update(made=made, held=held, batches=BATCHES)
        words = " ".join(f"--{name.replace('_', '-')} {each}" for name, each in options.items())
        cells.run_cell(
            f"%%nbtrain --checkpoint held {words}\n"
            "for batch in run.track(batches):\n"
            "    run.record(made.step(batch))"
        ).raise_error()
        return cells.user_ns["run"].wait(SOON)  # type: ignore[no-any-return]


WAYS: dict[str, Callable[..., nbtrain.Run]] = {
    "by_train": by_train,
    "by_a_loop_over_data": by_a_loop_over_data,
    "by_tracked_loops": by_tracked_loops,
    "in_the_foreground": in_the_foreground,
    "in_a_cell": in_a_cell,
    "by_fit": by_fit,
    "by_fit_of_replicas": by_fit_of_replicas,
}

# What trains only by a step of its own.
NOT_FITTED = {kind for kind in ZOO if "tf.Module" in kind or "two networks" in kind} | {
    "a layer used now and then"
}


# The kinds that each way trains in the usual tests; a soak trains all, by every way.
USUAL = [kind for kind in ZOO if "train_step" not in kind]
BY_ALL = ["layers in dicts"]
DEALT = {
    "in_the_foreground": USUAL[:3],
    "by_tracked_loops": USUAL[4:12],
    "by_fit": [kind for kind in USUAL[12:22] if kind not in NOT_FITTED],
    "in_a_cell": ["two networks and optimizers"],
    "by_fit_of_replicas": [],
    "by_train": [kind for kind in USUAL if kind in USUAL[22:] or kind in NOT_FITTED],
}


def lives(pipe: Connection, way: str, kinds: list[str], *, again: bool) -> None:
    """Trains all kinds, or goes on with each from a checkpoint; sends what it has come to."""
    tag = "batch_loss" if way.startswith("by_fit") else "loss"
    before = [keras.layers.Dense(1) for _ in range(3 * again)]  # other numbers in Keras's names
    for number, kind in enumerate(kinds):
        keras.utils.set_random_seed(2 if again else 1)
        with in_place(way):
            made = ZOO[kind]()
        held, name = tf.train.Checkpoint(**made.objects), f"run{number}"
        if again:
            break_off(Path("runs", name, "checkpoints"))
        run = WAYS[way](made, held, steps=STEPS, name=name, save_steps=BROKEN_AT)
        assert run.status.phase.ended, (kind, run.status)
        loss = run.scalars[tag]
        curve = dict(zip(loss.steps.tolist(), loss.values.tolist(), strict=True))
        pipe.send((kind, curve, made.numbers(), str(run.status.message or "")))
    pipe.send(len(before))


def break_off(folder: Path) -> None:
    """Leaves of a run what it has when it is killed after its first checkpoint."""
    first = listed(folder)[0]
    assert first.step == BROKEN_AT
    run = folder.parent
    for path in run.iterdir():
        if path != folder:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    tf.compat.v1.train.update_checkpoint_state(str(folder), first.path, [first.path])


@pytest.mark.parametrize("way", WAYS if "NBTRAIN_SOAK_SECS" in os.environ else DEALT)
def test_every_model_goes_on_in_another_process_as_without_a_break(way: str) -> None:
    kinds = kinds_of(way)
    found: list[dict[str, Any]] = [{}, {}]
    for again in (False, True):
        with Forked(functools.partial(lives, again=again), way, kinds) as child:
            while isinstance(answer := child.answer(), tuple):
                kind, *what = answer
                found[again][kind] = what
    whole, broken = found
    wrong = [kind for kind in kinds if not same(whole[kind], broken[kind])]
    assert wrong == [], [(kind, whole[kind], broken[kind]) for kind in wrong[:1]]
    assert {kind: broken[kind][2] for kind in kinds if broken[kind][2]} == {}


def kinds_of(way: str) -> list[str]:
    """The kinds that a way trains."""
    if "NBTRAIN_SOAK_SECS" in os.environ:
        return [kind for kind in ZOO if "fit" not in way or kind not in NOT_FITTED]
    return list(dict.fromkeys([*BY_ALL, *DEALT[way]]))


def same(whole: Any, broken: Any) -> bool:
    """Returns whether losses after the break and all numbers are equal, bit for bit."""
    curve, numbers, _ = whole
    curve_after, numbers_after, _ = broken
    assert [*curve] == list(range(1, STEPS + 1))
    return bool(
        curve_after == {step: loss for step, loss in curve.items() if step > BROKEN_AT}
        and numbers.keys() == numbers_after.keys()
        and all(np.array_equal(numbers[name], numbers_after[name]) for name in numbers)
    )
