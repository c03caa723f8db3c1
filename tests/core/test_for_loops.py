"""The loops around a line, and the line that tracks a loop."""

from __future__ import annotations

import ast

import pytest

from nbtrain.core.for_loops import around, parsed, tracked_line

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
    ("line", "loop"), [(1, None), (2, 1), (4, 2), (5, 4), (7, None), (8, 7), (10, 2), (12, None)]
)
def test_the_loop_around_a_line_is_the_innermost_of_its_function(
    line: int, loop: int | None
) -> None:
    found = around(ast.parse(PROGRAM), line)
    assert (found and found.lineno) == loop


def test_a_loop_on_one_line_is_not_around_itself() -> None:
    assert around(ast.parse("for batch in track(data): step(batch)"), 1) is None


def test_the_data_of_a_loop_are_tracked_within_a_progress_bar() -> None:
    loop = around(ast.parse(PROGRAM), 4)
    assert loop is not None
    assert tracked_line(loop, PROGRAM, "run.track") == (
        'for epoch in tqdm(range(5), desc="epoch"):',
        'for epoch in tqdm(run.track(range(5)), desc="epoch"):',
    )


def test_a_loop_over_several_lines_is_not_rewritten() -> None:
    loop = around(ast.parse(PROGRAM), 14)
    assert loop is not None
    assert tracked_line(loop, PROGRAM, "run.track") == ("for number in (", None)


@pytest.mark.parametrize("text", ["for", "\0", "(" * 500])
def test_what_is_no_program_has_no_tree(text: str) -> None:
    assert parsed(text) is None
