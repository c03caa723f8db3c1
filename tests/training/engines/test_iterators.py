"""Iterators of `tf.data` are ended on a thread of their own, whoever drops them last."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.engines.data.iterators import Iterators, ended_apart
from tests.fitted import KINDS, classifier
from tests.gate import SOON


class Ends:
    """Which thread ends what iterators hold."""

    def __init__(self) -> None:
        self.seen = threading.Event()
        self.threads: list[str] = []

    def watch(self, iterator: Any) -> None:
        weakref.finalize(iterator._iterator_resource, self._ended)

    def _ended(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.seen.set()


@pytest.fixture
def ends() -> Ends:
    return Ends()


def test_an_iterator_that_is_dropped_is_ended_by_another_thread(ends: Ends) -> None:
    iterator = ended_apart(iter(tf.data.Dataset.range(3)))
    ends.watch(iterator)
    assert int(next(iterator)) == 0
    del iterator
    assert ends.seen.wait(SOON)
    assert ends.threads == ["nbtrain: ending an iterator"]


def test_one_that_the_garbage_collector_drops_is_too(ends: Ends) -> None:
    last_good: list[Any] = [ended_apart(iter(tf.data.Dataset.range(3)))]
    ends.watch(last_good[0])
    last_good.append(last_good)
    del last_good
    gc.collect()
    assert ends.seen.wait(SOON)
    assert ends.threads == ["nbtrain: ending an iterator"]


def test_replaced_iterators_of_a_run_end_in_their_own_thread(ends: Ends) -> None:
    held = Iterators(lambda: iter(tf.data.Dataset.range(3)), True)
    held.start()
    ends.watch(held.at_hand)
    held.advance()
    assert ends.seen.wait(SOON)
    assert ends.threads == ["nbtrain: ending an iterator"]
    assert int(next(held.at_hand)) == 0


@pytest.mark.parametrize("kind", ["arrays", "PyDataset"])
def test_iterators_of_a_keras_fit_end_in_their_own_thread(
    ends: Ends, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    minded: list[Any] = []

    def remember(iterator: Any) -> Any:
        if not minded:
            minded.append(weakref.ref(iterator))
            ends.watch(iterator)
        return ended_apart(iterator)

    monkeypatch.setattr("nbtrain.keras.resumed_loss.ended_apart", remember)
    nbtrain.fit(classifier(), name="run", epochs=2, **KINDS[kind]()).wait(SOON)
    gc.collect()
    assert ends.seen.wait(SOON)
    assert ends.threads == ["nbtrain: ending an iterator"]


def test_other_objects_than_tf_data_iterators_are_left_alone() -> None:
    numbers = iter([1, 2])
    assert ended_apart(numbers) is numbers
    assert next(numbers) == 1
