"""The watch over the operations of a step, in functions and in eager execution."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nbtrain.inner import tensorflow as inner
from nbtrain.run.why.cause import fault_of, origin_of, share_of
from nbtrain.run.why.numerics import Watch
from tests.training.faulty import line_of


def derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return call


def log_of_part(x: Any) -> Any:
    """An infinity of the forward pass, from which the derivative makes NaN, without any scope."""
    chosen = tf.gather(tf.nn.softmax(x), [0])
    return tf.reduce_mean(tf.math.log(chosen))


def half_power(x: Any) -> Any:
    distance = tf.abs(x)
    return tf.reduce_sum(distance**0.5)


def angle(x: Any) -> Any:
    inside = tf.clip_by_value(x, -1.0, 1.0)
    return tf.reduce_sum(tf.acos(inside))


def direction(x: Any) -> Any:
    same = x * 1.0
    return tf.reduce_sum(tf.atan2(same, same))


# Functions that are finite, with the code whose derivative is not.
DERIVATIVES = [
    (half_power, "negative power of 0 in the derivative of Pow", "distance**0.5"),
    (angle, "division by 0 in the derivative of Acos", "tf.acos"),
    (direction, "division by 0 in the derivative of Atan2", "tf.atan2"),
    (log_of_part, "log of 0", "tf.math.log"),
]


@pytest.mark.parametrize(("function", "fault", "code"), DERIVATIVES)
def test_a_derivative_has_the_line_of_its_operation(
    function: Callable[[Any], Any], fault: str, code: str
) -> None:
    with Watch() as watch:
        tf.function(derivative(function))(tf.constant([0.0, 1e3, -1.0]))
    origin = origin_of(watch.found)
    assert fault_of(origin) == fault
    place = origin.lines[0]
    assert (place.function, place.line) == (function.__name__, line_of(function, code))


PROGRAMS = [
    (lambda x: -tf.math.log(x), [0.0, 0.5, 0.0], "log of 0", "2 of 3 values are 0"),
    (lambda x: x / tf.reduce_sum(x), [0.0, 0.0], "division by 0", "1 of 1 divisors is 0"),
    (derivative(log_of_part), [0.0, 1e3], "log of 0", "1 of 1 values is 0"),
    (derivative(tf.norm), [0.0, 0.0], "derivative of sqrt at 0", "1 of 1 values is 0"),
    (derivative(tf.math.reduce_std), [1.0, 1.0], "derivative of sqrt at 0", "1 of 1 values is 0"),
    (lambda x: tf.exp(x) - tf.exp(x), [100.0, 1.0], "overflow of exp(100) in float32", ""),
    (lambda x: tf.cast(x, tf.float16), [7e4, 1.0], "overflow in float16", "as large as 7e+04"),
    (lambda x: tf.reduce_sum(x**2), [1e30, 1.0], "overflow of Pow in float32", "large as 1e+30"),
    (lambda x: x**0.5, [-1.0, 1.0], "fractional power of a negative", "1 of 2 values is negative"),
    (lambda x: tf.nn.softmax(tf.where(x > 0, x, -np.inf)), [-1.0], "softmax over values", ""),
    (
        lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.math.log(y)), [0, x]),
        [2.0],
        "log of a negative number",
        "1 of 1 values is negative",
    ),
]


@pytest.mark.parametrize("compile_it", [tf.function, lambda function: function])
@pytest.mark.parametrize(("function", "values", "fault", "share"), PROGRAMS)
def test_the_fault_of_a_program_is_found(
    function: Callable[[Any], Any],
    values: list[float],
    fault: str,
    share: str,
    compile_it: Callable[[Any], Any],
) -> None:
    with Watch() as watch:
        compile_it(function)(tf.constant(values))
    origin = origin_of(watch.found)
    assert fault_of(origin).startswith(fault)
    assert share in share_of(origin)


@pytest.mark.parametrize(
    "function",
    [
        tf.reduce_logsumexp,
        lambda x: tf.nn.softmax(tf.where(x > 0, x, -1e9)),
        lambda x: tf.math.divide_no_nan(x, 0.0),
        keras.layers.BatchNormalization(),
    ],
)
def test_a_good_program_has_no_fault(function: Callable[[Any], Any]) -> None:
    with Watch() as watch:
        tf.function(function)(tf.constant([[100.0, -1.0], [0.0, 2.0]]))
    assert watch.found == []


def test_nested_functions_and_xla_are_watched_and_traced_as_before_afterwards() -> None:
    inside = tf.function(lambda x: tf.math.log(x), jit_compile=True)
    outside = tf.function(lambda x: inside(x) + 1.0)
    outside(tf.constant(1.0))
    with Watch() as watch:
        assert np.isneginf(outside(tf.constant(0.0)).numpy())
    assert watch.found[0].kind == "Log"
    count = len(watch.found)
    outside(tf.constant(0.0))
    assert len(watch.found) == count
    assert outside.experimental_get_tracing_count() == 1
    assert inner.callbacks() == []


def test_other_threads_are_not_watched() -> None:
    function, traced = tf.function(tf.math.log), []
    with Watch() as watch:
        thread = threading.Thread(target=lambda: traced.append(function(tf.constant(0.0))))
        thread.start()
        thread.join()
    assert len(traced) == function.experimental_get_tracing_count() == 1
    assert watch.found == []


def test_an_error_of_the_step_ends_the_watch() -> None:
    kind = type(tf.function(abs))
    before = kind.__call__
    with contextlib.suppress(ValueError), Watch():
        assert kind.__call__ is not before
        raise ValueError
    assert inner.callbacks() == []
    assert kind.__call__ is before
