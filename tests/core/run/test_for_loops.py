"""The loops around a line, and the line that tracks a loop."""

from __future__ import annotations

import ast

import pytest

from nbtrain.run.program.for_loops import (
    are_fixed,
    around,
    as_function,
    begun_at,
    parsed,
    tracked_line,
)

PROGRAM = """\
for fold in folds:
    for epoch in tqdm(range(5), desc="epoch"):
        if epoch:
            for batch in data:
                step(batch)
        def inner():
            for row in rows:
                step(row)
        rows = [step(each)
                for each in data]
for number in (
    1, 2
):
    step(number)
"""


@pytest.mark.parametrize(
    ("line", "loops"),
    [(1, []), (2, [1]), (4, [2, 1]), (5, [4, 2, 1]), (7, []), (8, [7]), (10, [2, 1]), (12, [])],
)
def test_the_loops_around_a_line_are_those_of_its_function(line: int, loops: list[int]) -> None:
    assert [found.lineno for found in around(ast.parse(PROGRAM), line)] == loops


def test_a_loop_on_one_line_is_not_around_itself() -> None:
    assert around(ast.parse("for batch in track(data): step(batch)"), 1) == []


def test_a_loop_is_around_a_line_with_a_lambda() -> None:
    program = (
        "for epoch in epochs:\n    for batch in track(data, evaluate=lambda: 1):\n        step()"
    )
    assert [found.lineno for found in around(ast.parse(program), 2)] == [1]


def test_the_data_of_a_loop_are_tracked_within_a_progress_bar() -> None:
    loop = around(ast.parse(PROGRAM), 4)[0]
    assert tracked_line(loop, PROGRAM, "run.track") == (
        'for epoch in tqdm(range(5), desc="epoch"):',
        'for epoch in tqdm(run.track(range(5)), desc="epoch"):',
    )


def test_a_loop_over_several_lines_is_not_rewritten() -> None:
    loop = around(ast.parse(PROGRAM), 14)[0]
    assert tracked_line(loop, PROGRAM, "run.track") == ("for number in (", None)


@pytest.mark.parametrize("text", ["for", "\0", "(" * 500])
def test_what_is_no_program_has_no_tree(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize(
    ("arguments", "fixed"),
    [
        ("name='x'", True),
        ("name=name", True),
        ("name=f'{name}-x', steps=rate", True),
        ("logdir='runs/x'", True),
        ("name=f'x-{rate}'", False),
        ("name='x', logdir=f'runs/{rate}'", False),
        ("name=other", False),
        ("name=next(names)", False),
        ("name=options.name", False),
        ("**options", False),
        ("", False),
    ],
)
def test_a_call_in_a_loop_has_the_same_name_in_each_turn_or_another(
    arguments: str, *, fixed: bool
) -> None:
    program = f"for rate in rates:\n    other = rate + 1\n    track(\n        data, {arguments})"
    loop = around(ast.parse(program), 4)[0]
    assert are_fixed(loop, 3, ("name", "logdir")) is fixed


@pytest.mark.parametrize(
    ("line", "loop"), [(1, 1), (2, 2), (3, None), (4, 4), (10, None), (12, 11), (14, None)]
)
def test_a_loop_begins_in_the_lines_of_its_head(line: int, loop: int | None) -> None:
    found = begun_at(ast.parse(PROGRAM), line)
    assert (found and found.lineno) == loop


@pytest.mark.parametrize(
    ("body", "is_possible"),
    [
        ("return step(x)", True),
        ("yield step(x)", True),
        ("await step(x)", True),
        ("yield from step(x)\n    await x", False),
        ("nonlocal x", False),
    ],
)
def test_a_loop_is_a_function_of_what_it_reads(body: str, *, is_possible: bool) -> None:
    loop = begun_at(ast.parse(f"for x in data:\n    {body}"), 1)
    assert loop is not None
    names: dict[str, object] = {"data": [], "step": 1}
    found = as_function(loop, "cell", names)
    assert (found is not None) == is_possible
    if found is not None:
        assert found.__code__.co_filename == "cell"
        assert {*found.__code__.co_names} == {*names}
        assert found.__globals__ is names
