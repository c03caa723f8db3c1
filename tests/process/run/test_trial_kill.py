"""kill -9 in a trial of several values: the next start is at its beginning, and says so."""

from __future__ import annotations

import signal
from multiprocessing.connection import Connection
from typing import Any

import tensorflow as tf

import nbtrain
from tests.forked import Forked
from tests.models import applied, reached


class Rated:
    """A counter with a rate, which is also its loss."""

    def __init__(self) -> None:
        self.count, self.rate = tf.Variable(0, dtype=tf.int64), tf.Variable(0.5)
        self.checkpoint = tf.train.Checkpoint(count=self.count, rate=self.rate)

    def step(self) -> dict[str, Any]:
        self.count.assign_add(1)
        return {"loss": self.rate.read_value()}

    def run(self) -> nbtrain.Run:
        """A run that saves often, and is paused."""
        run = nbtrain.train(
            self.step,
            checkpoint=self.checkpoint,
            hyperparameters={"rate": self.rate},
            save_steps=5,
            name="killed",
        )
        reached(run, lambda run: run.status.step > 20)
        applied(run.pause())
        return run


def in_an_arm(pipe: Connection) -> None:
    """Begins a trial, and tells its first step once the second arm has trained some steps."""
    rated = Rated()
    run = rated.run()
    begun = run.status.step
    run.trial(rate=[0.25, 0.75], steps=3000, keep_if="loss")
    run.resume()
    reached(run, lambda run: run.hyperparameters["rate"] == 0.75 and run.status.step > begun + 200)
    pipe.send(begun)
    run.wait()


def again(pipe: Connection) -> None:
    """Starts the run again; tells where it is."""
    rated = Rated()
    run = nbtrain.train(
        rated.step,
        checkpoint=rated.checkpoint,
        hyperparameters={"rate": rated.rate},
        name="killed",
        start=False,
    )
    run.start()
    applied(run.pause())
    pipe.send((run.status.notice, float(rated.rate.numpy()), int(rated.count.numpy())))
    run.request_stop()
    run.wait()


def test_a_killed_arm_leaves_the_run_at_the_beginning_of_the_trial() -> None:
    with Forked(in_an_arm) as process:
        begun = process.answer()
        process.kill()
        assert process.exitcode == -signal.SIGKILL
    with Forked(again) as process:
        notice, at, count = process.answer()
        assert notice.startswith(f"Continues from ckpt-{begun}: ")
        assert notice.endswith(
            "A trial began there and was cut short: the run is back at its beginning, and nothing "
            "was decided."
        )
        assert at == 0.5
        assert begun <= count < begun + 3000
