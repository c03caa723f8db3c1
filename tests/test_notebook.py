"""A run in a cell: the live panel, and the picture that takes its place in the saved notebook."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
CELLS = [
    """\
import threading, nbtrain
values = iter([1.0, 0.5, float("nan"), 0.25])
gate = threading.Event()
def step():
    gate.wait(60)
    return {"loss": next(values)}
run = nbtrain.train(step, name="shown")
run""",
    "run",
    "gate.set()\nrun.wait(60)",
    "await run",
    """\
def broken():
    raise ValueError("my own <mistake>")
failed = nbtrain.train(broken, name="failed")
try:
    failed.wait(60)
except ValueError:
    pass
failed""",
]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cells, executed by a real kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    folder: Path = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        client.execute()
    return notebook.cells


pytestmark = pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings


def picture(cell: Any) -> dict[str, Any]:
    """The only output of a cell."""
    (output,) = cell.outputs
    assert output.output_type in ("display_data", "execute_result")
    return dict(output.data)


@pytest.mark.parametrize("index", [0, 1])
def test_where_a_live_run_was_shown_a_picture_stays(cells: Any, index: int) -> None:
    assert set(picture(cells[index])) == {"image/png", "text/plain"}
    assert base64.b64decode(picture(cells[index])["image/png"]).startswith(b"\x89PNG")


@pytest.mark.parametrize("index", [2, 3])
def test_the_collecting_cell_shows_the_picture_again(cells: Any, index: int) -> None:
    assert set(picture(cells[index])) == {"image/png", "text/plain"}


@pytest.mark.parametrize("index", range(5))
def test_the_text_form_is_the_same_on_every_execution(cells: Any, index: int) -> None:
    assert picture(cells[index])["text/plain"] == "nbtrain run"


def test_the_picture_of_a_failed_run_has_its_traceback(cells: Any) -> None:
    page = picture(cells[4])["text/html"]
    assert "ValueError: my own &lt;mistake&gt;" in page
    assert '<img alt="' in page
