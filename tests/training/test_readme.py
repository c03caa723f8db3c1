"""The README: its Python runs, as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.utils.capture import capture_output

import nbtrain
from nbtrain.core.receipts import Outcome
from tests import ROOT
from tests.shells import own_shell

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """A fresh IPython."""
    with own_shell(tmp_path / "ipython") as shell:
        yield shell


def test_the_readme_is_short_and_begins_with_six_lines() -> None:
    assert len(TEXT.split()) <= 900
    assert len([row for row in BLOCKS[0].splitlines() if row]) == 6


@pytest.mark.filterwarnings("ignore")  # of the libraries that a reader uses
def test_every_block_of_the_readme_runs_after_the_other(shell: Any) -> None:
    first, second, *others, last = BLOCKS
    with capture_output():
        shell.run_cell(first).raise_error()
        results = [shell.run_cell(line) for line in second.splitlines()]
        for result in (*results, *map(shell.run_cell, others)):
            result.raise_error()
        shell.run_cell(last).raise_error()
    outcomes = [each.result for each in results if isinstance(each.result, Outcome)]
    assert all(outcome.applied for outcome in outcomes), outcomes
    texts = [re.sub(rf"ckpt-{each.step}\b", "ckpt-212", each.text) for each in outcomes]
    assert texts[:-1] == re.findall(r"text='(.*?)'", second)
    assert texts[-1].startswith("restored ckpt-212: ")
    for run in nbtrain.runs().values():
        assert run.status.error is None
    assert nbtrain.runs()["mine"].status.step > 0
