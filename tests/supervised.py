"""Helpers for the tests of the Supervisor: graphs, a background, and files on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import nbtrain
from tests.gate import SOON

v1 = tf.compat.v1


class Counting:
    """A graph whose train op counts the global step and twice as fast a weight.

    Args:
        kind: How the global step is made: "usual", "resource", "ref", "rank 1", "int32" or
            "none".
        by: What one run of the train op adds to it.
    """

    def __init__(self, kind: str = "usual", *, by: int = 1) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.global_step = self._step(kind)
            self.weight = v1.get_variable("weight", initializer=0.0)
            counted = [] if kind == "none" else [v1.assign_add(self.global_step, self._one(by))]
            self.train_op = tf.group(self.weight.assign_add(2.0), *counted)
            self.loss = tf.identity(self.weight, name="loss")
            v1.summary.scalar("twice", self.weight)

    def _one(self, by: int) -> Any:
        step = self.global_step
        return tf.fill(step.shape, tf.cast(by, step.dtype.base_dtype))

    def _step(self, kind: str) -> Any:
        if kind == "none":
            return None
        if kind == "usual":
            return v1.train.get_or_create_global_step()
        shape, dtype = ([1] if kind == "rank 1" else []), np.int64
        return v1.get_variable(
            "global_step",
            initializer=np.zeros(shape, np.int32 if kind == "int32" else dtype),
            use_resource=kind != "ref",
            trainable=False,
        )

    def supervisor(self, logdir: Path | str | None, **kwargs: Any) -> nbtrain.Supervisor:
        """A Supervisor that does nothing by itself, but for what is given."""
        nothing = {"save_model_secs": 0, "save_summaries_secs": 0, "stop_grace_secs": 20}
        return nbtrain.Supervisor(
            self.graph, logdir=logdir and str(logdir), **{**nothing, **kwargs}
        )

    def trained(self, sv: nbtrain.Supervisor, steps: int) -> None:
        """Train so many steps under it, from beginning to end."""
        with sv.managed_session() as sess:
            for _ in range(steps):
                sess.run(self.train_op)


def in_background(use: Callable[[], Any]) -> Any:
    """Call something in a thread of its own, as a notebook trains; its result, or its error."""
    return Background(use).result()


def train_until(count: Counting, sv: nbtrain.Supervisor, ready: Callable[[], Any]) -> int:
    """Train in the background until something is so; the steps taken."""

    def use() -> int:
        with sv.managed_session() as sess:
            sess.run(count.train_op)
            while not ready():
                sess.run(count.train_op)
            return int(sess.run(count.global_step))

    return int(in_background(use))


class Background:
    """Something called in a thread of its own."""

    def __init__(self, use: Callable[[], Any]) -> None:
        self._use = use
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._call, name="test background", daemon=True)
        self._thread.start()

    def _call(self) -> None:
        try:
            self._result = self._use()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        """Returns the result of the thread, or raises its error."""
        self._thread.join(SOON)
        assert not self._thread.is_alive(), "it has not ended"
        if self._error is not None:
            raise self._error
        return self._result


def events(logdir: Path) -> list[Any]:
    """Every event on disk, in the order of writing; a last one that is half there left out."""

    def read(path: Path) -> Iterator[Any]:
        try:
            yield from v1.train.summary_iterator(str(path))
        except tf.errors.DataLossError:
            return

    return [event for path in sorted(logdir.glob("events.*")) for event in read(path)]


def kinds(logdir: Path) -> list[str]:
    """Returns the kinds of the events: "file_version", "graph_def", "START", "twice", ..."""
    return [kind_of(event) for event in events(logdir)]


def kind_of(event: Any) -> str:
    """Returns the kind of an event."""
    what = event.WhichOneof("what")
    if what == "session_log":
        return str(v1.SessionLog.SessionStatus.Name(event.session_log.status))
    return str(event.summary.value[0].tag) if event.summary.value else str(what)


def points(logdir: Path, tag: str) -> list[tuple[int, float]]:
    """A tag's steps and values."""
    return [
        (event.step, value.simple_value)
        for event in events(logdir)
        for value in event.summary.value
        if value.tag == tag
    ]


def checkpoints(logdir: Path) -> list[int]:
    """The steps in the names of the checkpoints on disk."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in logdir.glob("model.ckpt-*.index"))


def held(logdir: Path, step: int, name: str = "global_step") -> Any:
    """Returns the contents of a checkpoint."""
    value = tf.train.load_checkpoint(str(logdir / f"model.ckpt-{step}")).get_tensor(name)
    return np.ravel(value)[0]


def services() -> list[str]:
    """The names of the service threads that are alive."""
    known = ("summaries", "steps a second", "checkpoints", "flush")
    names = {f"nbtrain {kind}" for kind in known}
    return sorted(thread.name for thread in threading.enumerate() if thread.name in names)


def fail() -> None:
    """Fails in a thread."""
    raise ValueError("of the thread")
