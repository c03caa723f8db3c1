"""The operation from which a NaN comes, among all that gave a bad value in a step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nbtrain.run.why.answer import answer_of, bad_values, summary
from nbtrain.run.why.cause import fault_of, origin_of, share_of
from nbtrain.run.why.operation import DATA, CodeLine, Operation, Values

GOOD, NAN, INF, LOW = [1.0, 2.0], [1.0, math.nan], [math.inf, 1.0], [-math.inf, -math.inf]


def operation(
    kind: str,
    inputs: list[list[float]],
    output: list[float],
    number: int = -1,
    sources: tuple[int, ...] = (),
    *,
    name: str = "",
    forward: int | None = None,
) -> Operation:
    given = tuple(Values.of(np.array(each, np.float32)) for each in inputs)
    place = CodeLine("/home/ada/model.py", 7, "loss_fn")
    made = (Values.of(np.array(output, np.float32)),)
    return Operation(
        kind,
        made,
        given,
        name=name,
        lines=(place,),
        number=number,
        sources=sources,
        forward=number if forward is None else forward,
    )


def test_the_first_that_makes_nan_of_finite_values_is_the_origin() -> None:
    log = operation("Log", [[0.0, -1.0]], NAN, 3)
    later = operation("Mul", [NAN, GOOD], NAN, 4, (3,))
    assert origin_of([log, later]) is log


def test_an_infinity_is_followed_to_the_operation_that_has_made_it() -> None:
    harmless = operation("Exp", [[100.0, 1.0]], INF, 0)
    exp = operation("Exp", [[100.0, 1.0]], INF, 1)
    scaled = operation("Mul", [INF, GOOD], INF, 2, (1,))
    minus = operation("Sub", [INF, INF], NAN, 3, (2,))
    assert origin_of([harmless, exp, scaled, minus]) is exp


def test_an_infinity_that_the_program_has_set_is_no_origin() -> None:
    mask = operation("SelectV2", [INF, GOOD], LOW, 0)
    softmax = operation("Softmax", [LOW], NAN, 1, (0,))
    assert origin_of([mask, softmax]) is softmax
    assert fault_of(softmax) == "softmax over values that are all −∞"


def test_an_infinite_loss_comes_from_the_first_infinity() -> None:
    mask = operation("SelectV2", [INF, GOOD], INF, 0)
    log = operation("Log", [[0.0, 1.0]], [-math.inf, 0.0], 1)
    assert origin_of([mask, log]) is log
    assert origin_of([operation(DATA, [], INF), log]) is log, "data may have a mask"


def test_the_forward_operation_is_named_in_the_place_of_its_derivative() -> None:
    division = operation("RealDiv", [GOOD, [0.0, 1.0]], INF, 0, name="model/truediv")
    tape = "gradient_tape/model/truediv"
    derivative = operation("RealDiv", [GOOD, [0.0, 1.0]], INF, 1, name=f"{tape}/RealDiv", forward=0)
    product = operation("Mul", [INF, [0.0, 0.0]], NAN, 2, (1,), name=f"{tape}/Mul", forward=0)
    assert origin_of([division, derivative, product]) is division
    assert origin_of([derivative, product]) is derivative


def test_a_variable_that_is_read_is_an_origin_only_without_another() -> None:
    read = operation("ReadVariableOp", [], NAN, 0)
    log = operation("Log", [[0.0, -1.0]], NAN, 1)
    assert origin_of([read, log]) is log
    assert origin_of([read]) is read


def test_data_come_before_what_is_made_of_them() -> None:
    batch = operation(DATA, [], INF)
    minus = operation("Sub", [INF, INF], NAN, 3)
    assert origin_of([batch, minus]) is batch
    assert (fault_of(batch), share_of(batch)) == (
        "infinite in the data",
        "1 of 2 values is not finite, first in row 0",
    )


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "fault", "share"),
    [
        ("Log", [[0.0, 1.0]], INF, "log of 0", "1 of 2 values is 0"),
        ("Sqrt", [[-1.0, -2.0]], NAN, "sqrt of a negative number", "2 of 2 values are negative"),
        ("Reciprocal", [[0.0, 0.0]], INF, "division by 0", "2 of 2 values are 0"),
        ("Pow", [[0.0, 1.0], [-1.0]], INF, "negative power of 0", "1 of 2 values is 0"),
        ("Exp", [[89.0, 1.0]], INF, "overflow of exp(89) in float32", ""),
        ("Acos", [[2.0, 1.0]], NAN, "Acos of values for which it is not defined", ""),
        ("Xdivy", [[1.0], [0.0, 1.0]], INF, "division by 0", "1 of 2 divisors is 0"),
        ("Mul", [[1e30], [1e30]], INF, "overflow of Mul in float32", "as large as 1e+30"),
        ("Mul", [[1.0], [2.0]], INF, "Mul of values for which it is not defined", ""),
        ("Minimum", [NAN, GOOD], NAN, "Minimum of values that are NaN", ""),
    ],
)
def test_the_fault_in_words(
    kind: str, inputs: list[list[float]], output: list[float], fault: str, share: str
) -> None:
    found = operation(kind, inputs, output)
    assert fault_of(found).startswith(fault)
    assert share in share_of(found)


def test_an_answer_is_a_sentence_and_plain_data() -> None:
    text, answer = answer_of(12, [operation("Log", [[0.0, 1.0]], INF, name="losses/Log")], [])
    assert text == "log of 0 in loss_fn (model.py, line 7) at step 12: 1 of 2 values is 0"
    assert answer == {
        "step": 12,
        "fault": "log of 0",
        "operation": "Log",
        "name": "losses/Log",
        "share": "1 of 2 values is 0",
        "inputs": ["float32 (2,), 0 to 1, 1 zero"],
        "outputs": ["float32 (2,), 1 to 1, 1 infinite"],
        "rows": [0],
        "file": "/home/ada/model.py",
        "line": 7,
        "function": "loss_fn",
    }


def test_the_growth_of_the_weights_is_told_if_it_is_large() -> None:
    found = [operation("Mul", [[1e30], [1e30]], INF)]
    growth = [("first/kernel", 2.0), ("last/kernel", 7e6), ("last/kernel", 2.5e12)]
    text, answer = answer_of(12, found, [], growth=growth)
    assert text.endswith("; the largest weight, of last/kernel, grew from 2 to 2.5e+12 in 2 steps")
    assert answer["growth"] == {
        "variables": ["first/kernel", "last/kernel"],
        "values": [2.0, 7e6, 2.5e12],
    }
    for few in (growth[:1], [("kernel", 0.1), ("kernel", 3.0)], [*growth, ("kernel", math.inf)]):
        assert "growth" not in answer_of(12, found, [], growth=few)[1]


def test_a_hyperparameter_that_is_not_finite_is_the_cause() -> None:
    text, answer = bad_values(7, {"learning_rate": math.nan, "scale": math.inf})
    assert text == "learning_rate was NaN and scale was inf at step 7"
    assert answer["names"] == ["learning_rate", "scale"]


def test_a_step_of_which_nothing_was_seen_is_said() -> None:
    text, answer = answer_of(3, [], ["loss"], ["dense/kernel"])
    assert text.startswith(
        "loss and dense/kernel went bad at step 3, but no operation that is watched"
    )
    assert answer == {"step": 3, "names": ["loss", "dense/kernel"]}


def test_steps_that_differed_are_said_beside_the_cause() -> None:
    found = [operation("Log", [[0.0, 1.0]], INF)]
    text, answer = answer_of(12, found, ["loss"], differs=1_007)
    assert text.endswith(
        "1 of 2 values is 0; from step 1,007 on the scalars differed from the recorded ones"
    )
    assert answer["differs"] == 1_007


def test_a_loss_that_is_bad_does_not_come_from_a_derivative() -> None:
    """Scaled gradients of float16 overflow now and then; their step is left out."""
    log = operation("Log", [[0.0, 1.0]], INF, 0)
    cast = replace(operation("Cast", [[1e6, 1.0]], INF, 1), derivative_of="Cast")
    product = replace(operation("Mul", [INF, [0.0, 0.0]], NAN, 2, (1,)), derivative_of="Mul")
    assert origin_of([log, cast, product], loss_is_bad=True) is log
    assert origin_of([log, cast, product]) is cast
    mask = operation("SelectV2", [INF, GOOD], INF, 0)
    assert origin_of([mask, cast, product], loss_is_bad=True) is cast


def test_the_values_of_a_tensor_in_words() -> None:
    bad = np.array([[1.0, -2.0], [math.nan, math.inf], [0.0, 4.0]], np.float16)
    assert summary(Values.of(bad)) == (
        "float16 (3, 2), -2 to 4, 1 zero, 1 negative, 1 NaN, 1 infinite"
    )
    assert Values.of(bad).rows == (1,)
    assert summary(Values.of(np.zeros((0, 2), np.float32))) == "float32 (0, 2)"
    assert summary(Values.of(np.array(math.nan, np.float32))) == "float32 (), 1 NaN"
