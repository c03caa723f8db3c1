"""Models of every kind go on in another process as if there had been no break."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from tests.forked import Forked
from tests.gate import SOON
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


class StopAfter(keras.callbacks.Callback):
    """Stops a run of `nbtrain.fit` after some batches."""

    run: nbtrain.Run

    def __init__(self, batches: int) -> None:
        super().__init__()
        self._batches = batches

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch + 1 == self._batches:
            self.run.request_stop()


def by_fit(
    made: Made, _held: tf.train.Checkpoint, *, steps: int, name: str, save_steps: int
) -> nbtrain.Run:
    stop = StopAfter(steps if steps < STEPS else 0)
    assert isinstance(made.model, keras.Model)
    made.model.compile(made.optimizer, "mse", jit_compile=False)
    run = nbtrain.fit(
        made.model, data(), name=name, save_steps=save_steps, callbacks=[stop], start=False
    )
    stop.run = run
    return run.start().wait(SOON)


WAYS: dict[str, Callable[..., nbtrain.Run]]
WAYS = {way.__name__: way for way in (by_train, by_a_loop_over_data, by_tracked_loops)}
WAYS |= {"in_the_foreground": in_the_foreground, "by_fit": by_fit}

# What trains only by a step of its own.
NOT_FITTED = {kind for kind in ZOO if "tf.Module" in kind or "two networks" in kind} | {
    "a layer used now and then"
}


# How many kinds a way trains in the usual tests; a soak trains all, by every way.
MOST = {"by_tracked_loops": 17, "in_the_foreground": 4, "by_fit": 21}


def lives(pipe: Connection, way: str, kinds: list[str], *, again: bool) -> None:
    """Trains all kinds, whole and broken off, or goes on; sends what each has come to."""
    parts = {"broken": STEPS} if again else {"whole": STEPS, "broken": BROKEN_AT}
    tag = "batch_loss" if way == "by_fit" else "loss"
    before = [keras.layers.Dense(1) for _ in range(3 * again)]  # other numbers in Keras's names
    for number, kind in enumerate(kinds):
        for name, steps in parts.items():
            keras.utils.set_random_seed(2 if again else 1)
            made = ZOO[kind]()
            held = tf.train.Checkpoint(**made.objects)
            options: dict[str, Any] = {"steps": steps, "name": f"{name}{number}", "save_steps": 1}
            run = WAYS[way](made, held, **options)
            assert run.status.phase.ended, (kind, run.status)
            loss = nbtrain.scalars("runs")[f"{name}{number}", tag]
            curve = dict(zip(loss.steps.tolist(), loss.values.tolist(), strict=True))
            pipe.send((name, kind, curve, made.numbers(), str(run.status.message or "")))
    pipe.send(len(before))


@pytest.mark.parametrize("way", WAYS if "NBTRAIN_SOAK_SECS" in os.environ else ["by_train", *MOST])
def test_every_model_goes_on_in_another_process_as_without_a_break(way: str) -> None:
    kinds = kinds_of(way)
    found: dict[str, dict[str, Any]] = {"whole": {}, "broken": {}}
    for again in (False, True):
        with Forked(partial(lives, again=again), way, kinds) as child:
            while isinstance(answer := child.answer(), tuple):
                name, kind, *what = answer
                found[name][kind] = what
    wrong = [kind for kind in kinds if not same(found["whole"][kind], found["broken"][kind])]
    assert wrong == [], [(kind, found["whole"][kind], found["broken"][kind]) for kind in wrong[:1]]
    told = {kind: found["broken"][kind][2] for kind in kinds if found["broken"][kind][2]}
    assert told == {}


def kinds_of(way: str) -> list[str]:
    """The kinds that a way trains."""
    kinds = [kind for kind in ZOO if way != "by_fit" or kind not in NOT_FITTED]
    if "NBTRAIN_SOAK_SECS" in os.environ:
        return kinds
    return [kind for kind in kinds if "train_step" not in kind][: MOST.get(way)]


def same(whole: Any, broken: Any) -> bool:
    """Returns whether losses and all numbers are equal, bit for bit."""
    curve, numbers, _ = whole
    curve_after, numbers_after, _ = broken
    return bool(
        curve == curve_after
        and numbers.keys() == numbers_after.keys()
        and all(np.array_equal(numbers[name], numbers_after[name]) for name in numbers)
    )
