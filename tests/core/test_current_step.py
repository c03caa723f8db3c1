"""The count of an attempt's steps."""

from __future__ import annotations

from nbtrain.core.current_step import StepCounter


def test_taking_a_step_counts() -> None:
    steps = StepCounter()
    steps.step += 3
    assert (steps.step, steps.steps_done) == (3, 3)


def test_moving_back_keeps_the_steps_done() -> None:
    steps = StepCounter()
    steps.step = 10
    steps.move_to(4)
    assert (steps.step, steps.steps_done) == (4, 10)
    steps.step += 1
    assert (steps.step, steps.steps_done) == (5, 11)


def test_continuing_from_a_checkpoint_takes_no_step() -> None:
    steps = StepCounter()
    steps.move_to(100)
    assert (steps.step, steps.steps_done) == (100, 0)
