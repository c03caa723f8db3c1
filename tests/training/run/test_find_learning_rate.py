"""The range test of a learning rate: a suggestion, and the state of before."""

from __future__ import annotations

import math
import re
import threading
from typing import Any

import keras
import numpy as np
import pytest

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import SOON, Gate
from tests.models import applied, reached, refused
from tests.training.slopes import Slope
from tests.training.tried import Tried, ended, paused
from tests.training.tuned import lines


def test_a_rate_is_suggested_and_the_run_is_as_before() -> None:
    slope = Slope()
    run = slope.run()
    step, weight, count = run.status.step, float(slope.w.numpy()), len(slope.rates)
    receipt = run.find_learning_rate(1e-5, 0.9, steps=60)
    run.resume()
    outcome = applied(receipt)
    applied(run.pause())
    tried = slope.rates[count : count + 60]
    assert tried == pytest.approx([1e-5 * 9e4 ** (at / 59) for at in range(60)], rel=1e-5)
    assert slope.rates[count + 60] == pytest.approx(1e-3)
    head = f"back to step {step:,}, learning_rate 0.001"
    assert outcome.text.startswith(head)
    assert " again: suggested learning_rate " in outcome.text
    assert "where loss fell fastest" in outcome.text
    assert outcome.kept is False
    begun = lines(run, "try")[0]
    assert begun["text"] == "1 of 1: learning_rate 1e-05 to 0.9 for 60 steps"
    rates = [rate for rate, _ in outcome.curve]
    assert rates == pytest.approx(tried[:-1], rel=1e-5)
    assert float(slope.w.numpy()) == pytest.approx(weight * (1 - 2e-3) ** (run.status.step - step))
    ended(run)


def test_the_suggestion_is_an_action_of_the_mark_and_is_not_applied_by_itself() -> None:
    run = Slope().run()
    receipt = run.find_learning_rate(1e-5, 0.9, steps=60)
    run.resume()
    outcome = applied(receipt)
    (suggested,) = outcome.arms
    assert (outcome.table, suggested.after) == ("", ())
    assert run.hyperparameters["learning_rate"] == pytest.approx(1e-3)
    action = run.actions()[0]
    assert str(action) == f"Continue with {suggested.name}"
    applied(run.do(action))
    assert run.hyperparameters["learning_rate"] == pytest.approx(suggested.values["learning_rate"])
    ended(run)


def test_a_loss_that_becomes_nan_ends_the_test_and_the_run_goes_on() -> None:
    slope = Slope(limit=0.1)
    run = slope.run()
    receipt = run.find_learning_rate(1e-5, 0.9, steps=60)
    run.resume()
    outcome = applied(receipt)
    assert 0 < len(outcome.curve) < 59
    assert run.status.phase is Phase.RUNNING
    assert max(slope.rates) < 0.2
    ended(run)
    assert math.isfinite(slope.w.numpy())


class Evaluated(Slope):
    """The same, which also records another scalar at every other step."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def step(self) -> dict[str, Any]:
        self.count += 1
        return super().step() | ({"rare_loss": 1.0} if self.count % 2 else {})


def test_the_loss_of_each_step_is_followed_although_an_evaluation_came_before() -> None:
    slope = Slope()
    run = nbtrain.train(
        lambda: {"error": slope.step()["loss"]},
        checkpoint=slope.checkpoint,
        hyperparameters={"learning_rate": slope.rate},
        evaluate=lambda: {"loss": slope.w},
        evaluate_steps=1,
        name="evaluated",
    )
    reached(run, lambda run: run.status.step > 3)
    outcome = applied(run.find_learning_rate(1e-5, 0.9, steps=60))
    assert "where error fell fastest" in outcome.text
    ended(run)


def test_a_scalar_that_not_every_step_records_gives_no_suggestion_and_the_reason() -> None:
    slope = Evaluated()
    run = slope.run()
    receipt = run.find_learning_rate(1e-5, 0.9, steps=60, tag="rare_loss")
    run.resume()
    reached(run, lambda _run: receipt.outcome is not None)
    assert receipt.outcome is not None
    text = r"recorded no 'rare_loss'(; it has: 'loss'\.|, which each step of a test must)"
    assert re.search(text, receipt.outcome.text)
    assert "none" in refused(run.find_learning_rate(tag="none")).text
    ended(run)


def test_few_executions_give_no_suggestion_and_say_what_to_give() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-3), "mse", steps_per_execution=16, jit_compile=False)
    x = np.random.default_rng(0).normal(size=(3200, 4))
    run = nbtrain.fit(model, x, x @ [[1], [2], [3], [4]], 10, epochs=10**6, name="executions")
    reached(run, lambda run: run.status.step > 3)
    assert "give steps=160 or more, or a smaller steps_per_execution" in (
        applied(run.find_learning_rate(1e-5, 1e-2, steps=100)).text
    )
    enough = applied(run.find_learning_rate(1e-5, 1e-2, steps=160))
    assert "steps_per_execution" not in enough.text
    assert len(enough.curve) > 2
    ended(run)


def test_a_pause_in_the_test_goes_back(gate: Gate) -> None:
    slope = Slope()
    run = slope.run()
    step = run.status.step
    receipt = run.find_learning_rate(1e-5, 0.9, steps=10**7)
    run.resume()
    reached(run, lambda run: run.status.step > step + 5)
    applied(run.pause())
    assert f"back to step {step:,}, learning_rate 0.001" in refused(receipt).text
    assert (run.status.step, slope.rate.numpy()) == (step, pytest.approx(1e-3))
    ended(run)


class Awaited(keras.utils.PyDataset):
    """Batches whose number is not known to the training thread until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def __len__(self) -> int:
        if threading.current_thread() is not threading.main_thread():
            assert self.go_on.wait(SOON)
        return 4

    def __getitem__(self, _index: int) -> tuple[Any, Any]:
        return np.ones((2, 4)), np.ones((2, 1))


def test_before_the_first_step_it_is_refused_with_what_to_do() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-3), "mse", jit_compile=False)
    data = Awaited()
    run = nbtrain.fit(model, data, epochs=10**6, name="early")
    receipt = run.find_learning_rate(1e-5, 1e-2, steps=20)
    data.go_on.set()
    assert "no step is done yet: ask again after the first" in refused(receipt).text
    ended(run)


def test_a_run_without_a_learning_rate_is_told_so(gate: Gate) -> None:
    run = paused(gate, Tried(gate))
    with pytest.raises(nbtrain.NbtrainError, match=r"no learning rate.*they are rate, dropout"):
        run.find_learning_rate()
    assert (
        "steps=5: a range test takes at least 10"
        in refused(run.find_learning_rate(name="rate", steps=5)).text
    )
    assert "give two positive numbers" in refused(run.find_learning_rate(1, 0.1, name="rate")).text
    assert run.hyperparameters["rate"] == 0.5
    ended(run)
    assert lines(run, "try")[0]["applied"] is False
