"""The signatures of the classes that take the place of TensorFlow's."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from tests.models import Count

v1 = tf.compat.v1
CLASSES = [
    "ChiefSessionCreator",
    "Coordinator",
    "LooperThread",
    "QueueRunner",
    "Saver",
    "SessionManager",
    "Supervisor",
    "WorkerSessionCreator",
]
METHODS = [
    (kind, name)
    for kind in CLASSES
    for name in ["__init__", *dir(getattr(v1.train, kind))]
    if name == "__init__"
    or (name[0] != "_" and callable(inspect.getattr_static(getattr(v1.train, kind), name)))
]


def parameters(function: Any) -> list[inspect.Parameter]:
    """Returns the parameters of a function."""
    return list(inspect.signature(inspect.unwrap(function)).parameters.values())


@pytest.mark.parametrize("kind", CLASSES)
def test_the_class_is_a_subclass_of_tensorflows(kind: str) -> None:
    assert issubclass(getattr(nbtrain.tf1, kind), getattr(v1.train, kind))


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_a_method_takes_what_tensorflows_takes_in_the_same_order(kind: str, name: str) -> None:
    theirs = parameters(getattr(getattr(v1.train, kind), name))
    ours = parameters(getattr(getattr(nbtrain.tf1, kind), name))
    assert [(each.name, each.kind, each.default) for each in ours[: len(theirs)]] == [
        (each.name, each.kind, each.default) for each in theirs
    ]
    assert {each.kind for each in ours[len(theirs) :]} <= {inspect.Parameter.KEYWORD_ONLY}


def test_a_session_manager_takes_every_argument_by_position() -> None:
    count = Count()
    with count.graph.as_default():
        nothing, ready = tf.no_op(), v1.report_uninitialized_variables()
        options = v1.RunOptions(trace_level=0)
        given: Any = (nothing, ready, ready, count.graph, 7, options, {ready: []})
        ours, theirs = nbtrain.SessionManager(*given), v1.train.SessionManager(*given)
    assert {**vars(ours), "_coord": None} == {**vars(theirs), "_coord": None}


@pytest.mark.parametrize("kind", ["SessionManager", "Saver", "QueueRunner", "Supervisor"])
def test_an_argument_that_tensorflow_does_not_know_is_what_is_wrong(kind: str) -> None:
    with pytest.raises(TypeError, match=rf"{kind}\(\) got an unexpected keyword argument 'grph'"):
        getattr(nbtrain, kind)(grph=Count().graph)


@pytest.mark.parametrize("kind", ["SessionManager", "Saver", "QueueRunner"])
def test_more_arguments_than_tensorflow_takes_are_refused(kind: str) -> None:
    with pytest.raises(TypeError, match=rf"{kind}\(\) too many positional arguments"):
        getattr(nbtrain, kind)(*[None] * 16)


def test_arguments_of_a_coordinators_join_can_be_positional() -> None:
    coord = nbtrain.Coordinator((ValueError,))
    coord.request_stop(ValueError("a clean stop"))
    coord.join([], 1.0, True)
    assert coord.joined
