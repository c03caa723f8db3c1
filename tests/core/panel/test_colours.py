"""The colours of runs on a board."""

from __future__ import annotations

from nbtrain.panel.board.colours import COLOURS, looks_of

MANY = [f"run-{number}" for number in range(30)]


def test_each_run_has_the_next_colour_by_its_age() -> None:
    assert looks_of(["a", "b", "c"], ["c", "a", "b"]) == {"c": 0, "a": 1, "b": 2}


def test_the_runs_of_a_fit_have_one_colour() -> None:
    runs = ["a/train", "a/validation", "b"]
    assert looks_of(runs, runs) == {"a/train": 0, "a/validation": 0, "b": 1}
    assert looks_of(["a/validation", "b"], runs) == {"a/validation": 0, "b": 1}


def test_neither_a_choice_of_runs_nor_a_new_run_changes_a_colour() -> None:
    before = looks_of(["a", "b", "c"], ["c", "a", "b"])
    for shown in (["b"], ["a", "c"]):
        assert looks_of(shown, ["c", "a", "b"]) == {run: before[run] for run in shown}
    assert looks_of(["0", "a", "b", "c"], ["c", "a", "b", "0"]) == before | {"0": 3}


def test_runs_of_one_colour_differ_by_their_dashes_if_both_are_shown() -> None:
    count = len(COLOURS)
    assert looks_of(MANY, MANY) == {run: number for number, run in enumerate(MANY)}
    assert looks_of(["run-13"], MANY) == {"run-13": 1}
    assert looks_of(["run-25", "run-13"], MANY) == {"run-13": 1, "run-25": 1 + count}


def test_a_run_that_has_appeared_since_the_ages_were_read_is_the_newest() -> None:
    assert looks_of(["a", "new"], ["b", "a"]) == {"a": 1, "new": 2}
