"""The marks from which the curves of scheduled rates are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from nbtrain.run.rates import Rates


def test_no_curve_leads_to_a_restored_step_from_a_mark_that_was_still_waiting() -> None:
    recorded: list[int] = []
    done = 0

    def record(step: int, _wall: float, _values: Mapping[str, float]) -> None:
        recorded.append(step)

    hyperparameters = SimpleNamespace(
        moments=lambda: {"learning_rate_factor": done},
        values={"learning_rate_factor": 1.0},
        rate=lambda _name, far: 0.1 / (1 + far),
        effects={},
    )
    rates = Rates(cast(Any, hyperparameters), cast(Any, None), record)
    done = 100
    rates.mark(100)
    done = 200  # a later checkpoint, which an earlier restore has left
    rates.mark(200, restart=True)
    rates.flush()
    assert recorded == [100, 200]
    done = 202
    rates.mark(202)
    rates.flush()
    assert recorded == [100, 200, 201, 202]
