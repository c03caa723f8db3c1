"""The pages of `docs/`: their Python runs, page by page, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.utils.capture import capture_output

import nbtrain
from tests import ROOT
from tests.shells import own_shell

PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
BLOCKS = {
    name: blocks
    for name, text in PAGES.items()
    if (blocks := re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
}


@pytest.mark.filterwarnings("ignore")  # of the libraries that a reader uses
@pytest.mark.parametrize("page", BLOCKS)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    with own_shell(tmp_path / "ipython") as shell:
        try:
            for block in BLOCKS[page]:
                with capture_output():
                    # A reader has time to look on; a test needs no tenth of it.
                    result = shell.run_cell(block.replace("epochs=50", "epochs=4"))
                result.raise_error()
        finally:
            runs = list(nbtrain.runs().values())
            for run in runs:
                run.request_stop()
                run.wait(60)
    assert [run.status.error for run in runs] == [None] * len(runs)


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^[a-z0-9_]+$", PAGES["index"], re.M))
    assert listed == set(PAGES) - {"index"}


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", PAGES[page])
    missing = [to for to in targets if "://" not in to and not (ROOT / "docs" / to).exists()]
    assert not missing
