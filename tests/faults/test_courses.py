"""Random courses of saves, restores, trials and kills: the curves say which points led here."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.logdir.event_run import EventRun
from nbtrain.tfevents.names import ENDING
from tests.faults import rounds
from tests.forked import Forked

MOST = 1000  # steps


class Course:
    """A training that remembers of each step by which token it was taken, and is steered at random.

    Args:
        first: The token of its first step.
        kills: Whether the life ends by a kill, at the end of its acts or before.
    """

    def __init__(self, seed: int, first: int, *, kills: bool) -> None:
        self.at, self.tokens = tf.Variable(0), tf.Variable(tf.zeros([MOST], tf.int64))
        self.rate = tf.Variable(0.5)
        self.run: Any = None
        self._draw, self._token, self._kills, self._left = Random(seed), first, kills, 25

    def step(self) -> dict[str, Any]:
        """Takes a step, in up to 30 ms, so that some of the threads beside look between two."""
        draw, self._token = self._draw, self._token + 1
        self.at.assign_add(1)
        at = int(self.at.numpy())
        self.tokens.scatter_nd_update([[at]], [self._token])
        time.sleep(draw.choice([0.0, 0.0, 0.01, 0.03]))
        self._act(draw.random())
        return {"token": self._token}

    def _act(self, chance: float) -> None:
        run, known = self.run, [held.step for held in self.run.checkpoints]
        if chance < 0.2:
            run.save()
        elif chance < 0.35 and known:
            run.restore(self._draw.choice(known))
        elif chance < 0.45:
            run.trial(rate=self._draw.choice([0.25, [0.25, 0.75]]), steps=4, keep_if="max:token")
        else:
            return
        self._left -= 1
        if self._left <= 0 or (self._kills and chance < 0.03):
            if self._kills:
                os.kill(os.getpid(), signal.SIGKILL)
            run.request_stop()


def live(pipe: Connection, seed: int, first: int, kills: bool) -> None:
    """One life of the course; tells the tokens that led to its end, if it reaches it."""
    course = Course(seed, first, kills=kills)
    held = tf.train.Checkpoint(at=course.at, tokens=course.tokens, rate=course.rate)
    course.run = nbtrain.train(
        course.step,
        steps=MOST - 1,
        checkpoint=held,
        hyperparameters={"rate": course.rate},
        keep=None,
        name="course",
        system=False,
        start=False,
    )
    course.run.start().wait()
    pipe.send((int(course.at.numpy()), course.tokens.numpy()))


def test_the_points_that_count_are_those_that_led_to_the_present_state(tmp_path: Path) -> None:
    for number, draw in enumerate(rounds(2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        lives = draw.randrange(2, 5)
        for life in range(lives):
            kills = life < lives - 1
            arguments = draw.randrange(10**9), (life + 1) * 10**6, kills
            with Forked(live, *arguments, folder=folder) as child:
                if kills:
                    assert child.wait() == -signal.SIGKILL, child.err
                else:
                    last, tokens = child.answer()
        logdir = folder / "runs/course"
        events = EventRun(str(logdir))
        events.scan(sorted(path.name for path in logdir.glob(f"*{ENDING}")))
        for _ in events.read():
            pass
        points = events.points("token")
        values = points.values.astype(np.int64)
        steps = np.minimum(points.steps, MOST - 1)
        led_here = (points.steps <= last) & (values == tokens[steps])
        wrong = np.flatnonzero(led_here == points.abandoned)
        assert not len(wrong), (
            f"seed {arguments}: steps {points.steps[wrong]} of tokens {values[wrong]}, "
            f"{points.abandoned[wrong]}"
        )
