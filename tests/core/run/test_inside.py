"""The findings of `look_inside`, and its table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nbtrain.run.why.inside import Finding, findings, table, told
from nbtrain.run.why.look import Activations, Observed

SEEN = Activations(mean=0.1, spread=1.0, zeros=0.2, dead=0.0, saturated=0.0, rows=64.0)
PLAIN = Observed(
    "dense",
    "Dense",
    size=100,
    weights=10.0,
    gradient=1.0,
    update=1e-3,
    is_changed=True,
    is_trained=True,
    is_connected=True,
    activations=SEEN,
)


def part(name: str, **more: Any) -> Observed:
    return replace(PLAIN, name=name, **more)


def texts(*parts: Observed) -> list[str]:
    return [each.text for each in findings(parts)]


def test_nothing_stands_out_in_usual_layers() -> None:
    assert texts(part("first", gradient=0.01), part("last"), part("w", activations=None)) == []


def test_dead_units_of_a_relu_are_counted() -> None:
    seen = replace(SEEN, dead=0.62)
    assert texts(part("hidden", activation="relu", activations=seen)) == [
        "62% of the units of hidden are 0 in all 64 rows: dead ReLUs"
    ]
    assert texts(part("hidden", activation="linear", activations=seen)) == []


def test_a_saturated_sigmoid_is_named() -> None:
    seen = replace(SEEN, saturated=0.9)
    gate = part("gate", activation="sigmoid", activations=seen)
    (text,) = texts(gate, part("last"))
    assert text.startswith("90% of the outputs of gate are at the ends of its sigmoid, where")
    assert texts(part("first"), gate) == [], "outputs that are right are at the ends"


def test_a_few_rows_show_no_dead_units() -> None:
    seen = replace(SEEN, dead=0.62, rows=15.0)
    assert texts(part("hidden", activation="relu", activations=seen)) == []


def test_gradients_of_rows_and_of_own_variables_are_not_compared_by_depth() -> None:
    sparse, own = part("emb", gradient=1e-4, is_sparse=True), part("scale", kind="", gradient=1e4)
    assert texts(sparse, own, part("last")) == []


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (1e-4, "Gradients vanish: one gets 10,000 times less per weight than three"),
        (1e4, "Gradients explode: one gets 10,000 times more per weight than three"),
    ],
)
def test_gradients_are_compared_by_depth_and_per_weight(first: float, text: str) -> None:
    parts = part("one", gradient=first), part("two", gradient=1e-9), part("three")
    assert texts(*parts) == [text]
    larger = part("one", gradient=10.0, size=100 * 10**4)  # as much per weight as 0.1 of 100
    assert texts(larger, part("three")) == []


def test_a_layer_without_a_gradient_is_named_with_the_reason() -> None:
    cut = part("cut", is_connected=False, gradient=float("nan"), is_changed=False)
    zero = part("zero", gradient=0.0)
    idle = part("idle", is_trained=False, is_connected=False, is_changed=False)
    assert texts(cut, zero, idle, part("last")) == [
        "No gradient reaches cut: the loss does not depend on it",
        "The gradient of zero is 0 for this batch",
        "The step does not train idle",
    ]


def test_a_step_that_changes_nothing_is_said_once() -> None:
    still = {"is_changed": False, "update": 0.0}
    (text,) = texts(part("one", **still), part("two", **still))
    assert text.startswith("The step changes no weights, as with a learning rate of 0, or between")


@pytest.mark.parametrize(("update", "size"), [(0.3, "much"), (1e-6, "little")])
def test_updates_far_from_the_usual_share_are_named(update: float, size: str) -> None:
    (text,) = texts(part("dense", update=update))
    assert text.startswith(f"A step changes dense by {update:.2g} of its weights, which is {size}:")


def test_values_that_are_not_finite_come_first() -> None:
    seen = replace(SEEN, dead=1.0)
    first, *_ = texts(
        part("hidden", activation="relu", activations=seen), part("bad", gradient=float("inf"))
    )
    assert first.startswith("bad has values that are NaN or infinite: run.why_nan() finds")
    assert "| bad |" in table([part("bad", gradient=float("inf")), part("last")], [])


def test_the_table_has_what_stands_out_first_and_the_last_look_beside_it() -> None:
    parts = [part("one", gradient=0.01), part("two", is_frozen=True), part("three")]
    found = [Finding(("three",), "Three stands out")]
    before = {"one": part("one", gradient=0.5, weights=9.0)}
    lines = table(parts, found, 40, before).splitlines()
    assert lines[0] == "- Three stands out"
    assert "after that of step 40" in lines[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[6:]]
    assert [row[0] for row in rows] == ["three", "one", "two (frozen)"]
    assert rows[1][1:4] == ["9 → 10", "0.5 → 0.01", "▇▇▇▇▇▇"]
    assert rows[0][1:4] == ["10", "1", "▇▇▇▇▇▇▇▇"]


def test_the_table_leaves_what_is_not_known_empty() -> None:
    lines = table([Observed("w", size=4, weights=2.0)], []).splitlines()
    assert lines[-1] == "| w | 2 |  |  |  |  |  |  |"


def test_the_fields_have_no_numbers_that_json_lacks() -> None:
    fields = part("w", gradient=float("nan"), weights=float("inf")).fields
    assert "gradient" not in fields
    assert "weights" not in fields
    assert fields["zeros"] == 0.2


def test_many_findings_are_counted() -> None:
    parts = [part(f"w{number}", gradient=0.0) for number in range(6)]
    found = [*findings(parts)]
    assert len(found) == 6
    assert told(parts, found).endswith(
        "The gradient of w3 is 0 for this batch. 2 more are in the table"
    )
