"""The answer to a command as plain data."""

from __future__ import annotations

import json
import math

import pytest

from nbtrain.core.receipts import Outcome
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.hyperparameters import Edit
from nbtrain.rundir.answers import fields_of, fields_of_entry, outcome_of

KEPT = Outcome(True, 300, "rate 0.1 → 0.2", (Edit("rate", 0.1, 0.2),), kept=True)


ARMS = (
    ArmResult("rate 0.1", {"rate": 0.1}, "loss", 2.0, (1.0, 1.5)),
    ArmResult("bold", {"rate": 9.0}, "loss", 2.0, (math.inf,), "loss is inf"),
)


@pytest.mark.parametrize(
    "outcome",
    [
        KEPT,
        Outcome(False, 7, "no"),
        Outcome(True, 9, "kept", kept=True, arms=ARMS, curve=((0.1, 2.0),)),
    ],
)
def test_an_outcome_is_read_as_it_was_written(outcome: Outcome) -> None:
    assert outcome_of(json.loads(json.dumps(fields_of("try", outcome)))) == outcome


def test_an_answer_is_json_for_every_reader() -> None:
    told = fields_of("set", Outcome(True, 3, "", (Edit("rate", math.inf, math.nan),)))
    text = json.dumps(told, allow_nan=False)
    read = outcome_of(json.loads(text))
    assert read is not None
    assert str(read.edits[0]) == "rate inf → nan"


def test_the_journal_answers_as_the_run_would_have() -> None:
    line = {"event": "try", "step": 300, "applied": True, "text": KEPT.text, "kept": True}
    line |= {"edits": {"rate": [0.1, 0.2]}, "id": "a1", "by": "ada", "wall_time": 1.0}
    assert fields_of_entry(line) == fields_of("try", KEPT)
    assert fields_of_entry({"event": "stop", "step": 3})["state"] == "applied"


@pytest.mark.parametrize("fields", [{}, {"state": "requested"}, {"state": ["applied"]}])
def test_an_answer_before_the_last_has_no_outcome(fields: dict[str, object]) -> None:
    assert outcome_of(fields) is None


def test_what_is_damaged_in_an_answer_is_left_out() -> None:
    damaged = {"state": "refused", "step": "3", "edits": {"a": 3, "b": [1], "c": ["x", 2]}}
    assert outcome_of({**damaged, "kept": "yes"}) == Outcome(False, 0, "")
    assert outcome_of({**damaged, "edits": [1]}) == Outcome(False, 0, "")
    assert outcome_of({**damaged, "curve": [1, [2]]}) == Outcome(False, 0, "")
    assert outcome_of({**damaged, "arms": [1, {"values": 2}]}) == Outcome(False, 0, "")
    (arm,) = outcome_of({**damaged, "arms": [{"values": {"a": "x"}, "after": [None]}]}).arms  # type: ignore[union-attr]
    assert (arm.name, arm.values, len(arm.after)) == ("", {}, 1)
