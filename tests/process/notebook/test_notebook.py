"""A run in a cell: the live panel, and the picture that takes its place in the saved notebook."""

from __future__ import annotations

import ast
import base64
import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import run_kernel

from tests import ROOT
from tests.kernels import executed, forked_kernels

CELLS = [
    """\
import threading, nbtrain
values = iter([1.0, 0.5, float("nan"), 0.25])
gate = threading.Event()
def step():
    gate.wait(60)
    return {"loss": next(values)}
run = nbtrain.train(step, name="shown", on_nan=None)
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

# Two cells bind the same names, at once.
TWO = """\
%%nbtrain --name {name} --steps 100
mine = {value}
def report():
    run.record(**{{"{name}": mine}})
while not run.should_stop():
    report()
    both.wait(60)"""

# Each ends with an error, in a kernel in which the run "live" trains.
REFUSED = {
    "train": "def start():\n    nbtrain.train(lambda: {}, name='live')\nstart()",
    "cell": "%%nbtrain --name live\nwhile not run.should_stop(): pass",
    "argument": "nbtrain.train(3)",
    "steps": "nbtrain.train(lambda: {}, steps=-5)",
    "save_secs": "nbtrain.train(lambda: {}, save_secs=-5)",
    "folder": "nbtrain.train(lambda: {}, logdir='runs/live')",
    "attribute": "live.stop()",
    "wait": "nbtrain.runs()['own'].wait(60)",
    "wait magic": "%nbtrain wait own",
    # Raised again within, to say that the name stands for another variable.
    "variable": "w = tf.Variable(2.0); nbtrain.train(step, checkpoint=tf.train.Checkpoint(w=kept))",
}


@pytest.fixture(scope="module", autouse=True)
def forked() -> Iterator[None]:
    """The kernels of this module have TensorFlow loaded from their start."""
    with forked_kernels():
        yield


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cells, executed by a real kernel."""
    return executed(CELLS, tmp_path_factory.mktemp("notebook"))


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The outputs of the cells of `REFUSED`, and what is told of the two cells."""
    first = """\
%load_ext nbtrain
import threading
import nbtrain
import tensorflow as tf
both = threading.Barrier(2)
pace = threading.Event()
w = kept = tf.Variable(1.0)
def step():
    return {"loss": float(pace.wait(0.01)), "w": w}
live = nbtrain.train(step, name="live", checkpoint=tf.train.Checkpoint(w=w))"""
    two = [TWO.format(name="one", value=1.0), TWO.format(name="two", value=2.0)]
    told = """\
one, two = nbtrain.runs()["one"].wait(60), nbtrain.runs()["two"].wait(60)
print(dict(one.status.values), dict(two.status.values))"""
    own = (
        "%%nbtrain --name own\n\nwhile not run.should_stop():\n    run.record(loss=[1, 2])  # mine"
    )
    sources = [first, own, *two, told, *REFUSED.values(), "live.request_stop()\nlive.wait(60)"]
    cells = executed(sources, tmp_path_factory.mktemp("refused"), allow_errors=True)
    outputs = [cell.outputs for cell in cells[4:]]
    return dict(zip(["told", *REFUSED], outputs, strict=False))


def traceback(output: Any) -> str:
    """The traceback of an output, without its colours."""
    assert output.output_type == "error"
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))


pytestmark = pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings


def picture(cell: Any) -> dict[str, Any]:
    """The last output of a cell."""
    output = cell.outputs[-1]
    assert output.output_type in ("display_data", "execute_result")
    return dict(output.data)


@pytest.mark.parametrize("index", [0, 1])
def test_a_picture_stays_in_place_of_a_live_run(cells: Any, index: int) -> None:
    gone, shown, _ = (output.data for output in cells[index].outputs)
    assert set(gone) == set(shown) == {"image/png", "text/plain"}, "and no dead widget"
    assert len(base64.b64decode(gone["image/png"])) < 100, "a pixel"
    assert len(base64.b64decode(shown["image/png"])) > 1000


@pytest.mark.parametrize("index", [0, 1])
def test_below_the_picture_stands_what_shows_the_records(cells: Any, index: int) -> None:
    page = html.unescape(picture(cells[index])["text/html"])
    assert "To see the recorded data: <code>nbtrain.scalars('runs/shown')</code>" in page
    assert "To go on" not in page, "the picture says so, of a run that can"


@pytest.mark.parametrize("index", [2, 3])
def test_a_wait_for_a_run_that_an_earlier_cell_shows_is_answered_by_one_line(
    cells: Any, index: int
) -> None:
    (output,) = cells[index].outputs
    assert output.data == {"text/plain": "nbtrain run: shown in an earlier cell"}


@pytest.mark.parametrize("index", [0, 1, 4])
def test_the_text_form_is_the_same_on_every_execution(cells: Any, index: int) -> None:
    assert "".join(each.data["text/plain"] for each in cells[index].outputs) == "nbtrain run"


def test_below_the_picture_of_a_failed_run_stands_its_traceback(cells: Any) -> None:
    shown, below = (output.data for output in cells[4].outputs)
    assert set(shown) == {"image/png", "text/plain"}
    assert len(base64.b64decode(shown["image/png"])) > 1000
    assert "ValueError: my own &lt;mistake&gt;" in below["text/html"]
    assert "<img" not in below["text/html"], "the picture is saved once"


def test_cells_that_train_at_once_have_each_their_own_run_and_names(
    refused: dict[str, list[Any]],
) -> None:
    (told,) = refused["told"]
    assert told.text == "{'one': 1.0} {'two': 2.0}\n"


def test_a_refusal_shows_no_run_that_an_earlier_cell_shows(refused: dict[str, list[Any]]) -> None:
    (error,) = refused["train"]
    assert error.ename == "BusyError"


def test_below_a_refusal_of_another_cell_no_second_panel_is_shown(tmp_path: Path) -> None:
    """A front end names the cell; one that is run again has cleared its own view."""
    train = REFUSED["train"]
    shown: dict[str, list[str]] = {}
    with run_kernel(cwd=str(tmp_path), env=dict(os.environ, PYTHONPATH=str(ROOT))) as client:
        for cell, source in {
            "load": "%load_ext nbtrain\nimport nbtrain",
            "first": f"{train}\nnbtrain.runs()['live']",
            "second": train,
            "third": "%%nbtrain --name live\nwhile not run.should_stop(): pass",
            "first again": train,
            "last": "run = nbtrain.runs()['live']; run.request_stop(); run.wait(60)",
        }.items():
            client.session.metadata = {"cellId": cell.removesuffix(" again")}
            outputs: list[Any] = []
            client.execute_interactive(source, output_hook=outputs.append, timeout=120)
            shown[cell] = [each["header"]["msg_type"] for each in outputs]
    # The panel of the first cell, and its picture, may change meanwhile.
    own = [kind for kind in shown["second"] if kind not in ("update_display_data", "comm_msg")]
    assert own[1:-1] == ["execute_input", "error"]
    assert "display_data" not in shown["third"]
    assert shown["first again"].count("display_data") == 3, "the panel, its picture and words"


# A page names the cell of each execution, as a client without pages does not.
WIDGETS = """\
from ipywidgets.widgets import widget
print(*sorted(type(each).__name__ for each in widget._instances.values()))"""
START = """\
import threading, nbtrain
gate = threading.Event()
run = nbtrain.train(lambda: {"loss": float(gate.wait(60))}, steps=2, name="again")"""


class Page:
    """Executes cells as a page does."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def execute(self, cell: str, source: str) -> list[dict[str, Any]]:
        """Executes a cell, and returns the messages about it."""
        self._client.session.metadata = {"cellId": cell}
        messages: list[dict[str, Any]] = []
        self._client.execute_interactive(source, output_hook=messages.append, timeout=120)
        return messages

    def widgets(self) -> str:
        """Returns the kinds of all widgets in the kernel."""
        parts = contents(self.execute("count", WIDGETS), "stream")
        return "".join(part["text"] for part in parts).strip()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A kernel of its own."""
    with run_kernel(cwd=str(tmp_path), env=dict(os.environ, PYTHONPATH=str(ROOT))) as client:
        yield Page(client)


def contents(messages: list[dict[str, Any]], kind: str) -> list[Any]:
    """Returns the contents of the messages of a type."""
    return [each["content"] for each in messages if each["header"]["msg_type"] == kind]


def shown(messages: list[dict[str, Any]]) -> list[Any]:
    """Returns the data of all outputs of a cell, in the order in which they were shown."""
    return [content["data"] for content in contents(messages, "display_data")]


VIEW = "application/vnd.jupyter.widget-view+json"


def test_the_panel_of_a_run_stays_after_its_end(page: Page) -> None:
    first, *_ = shown(page.execute("start", START))
    ended = page.execute("end", "gate.set()\nrun.wait(60)")
    assert shown(ended) == [{"text/plain": "nbtrain run: shown in an earlier cell"}]
    updates = contents(ended, "update_display_data")
    places = [update["transient"]["display_id"].rpartition("-")[2] for update in updates]
    assert "picture" in places
    assert "live" not in places, "the widget is not replaced"
    again, picture, words = shown(page.execute("view", "run"))
    assert again[VIEW] == first[VIEW]
    assert len(picture["image/png"]) > 1000
    assert "nbtrain-still" in words["text/html"]
    assert page.widgets() == "Panel"


def test_a_wait_shows_the_run_if_the_cell_that_showed_it_was_executed_again(page: Page) -> None:
    page.execute("start", START + "\ngate.set()")
    (line,) = shown(page.execute("line", "run.wait(60)"))
    assert VIEW not in line
    page.execute("start", "pass")
    first, *_ = shown(page.execute("end", "run.wait(60)"))
    assert VIEW in first, "the line of another cell shows no run"


def test_a_cell_that_is_executed_again_leaves_nothing_of_before(page: Page) -> None:
    page.execute("start", START)
    for _ in range(3):
        page.execute("view", "run")
    page.execute("end", "gate.set()\n_ = run.wait(60)")
    for _ in range(3):
        page.execute("boards", "display(nbtrain.scalars('runs'), nbtrain.scalars('.'))")
    page.execute("board", "nbtrain.scalars('runs')")
    assert page.widgets() == "Board Board Board Panel"
    page.execute("view", "pass")
    page.execute("start", START.replace("again", "other") + "\ngate.set()\n_ = run.wait(60)")
    assert page.widgets() == "Board Board Board Panel", "that of the other run"


def test_a_refused_cell_names_the_live_run(refused: dict[str, list[Any]]) -> None:
    (error,) = (output for output in refused["cell"] if output.output_type != "error")
    assert error.text.startswith("UsageError: ")
    assert "held by the run 'live' in this kernel" in error.text


def test_an_error_of_nbtrain_shows_the_users_own_lines_and_no_others(
    refused: dict[str, list[Any]],
) -> None:
    (error,) = refused["argument"]
    assert "----> 1 nbtrain.train(3)" in traceback(error)
    assert "File " not in traceback(error)
    text = traceback(refused["train"][0])
    assert "----> 3 start()" in text
    assert "----> 2     nbtrain.train(lambda: {}, name='live')" in text
    assert "File " not in text


@pytest.mark.parametrize("what", ["steps", "save_secs", "variable", "folder", "attribute"])
def test_a_refusal_shows_no_line_of_what_nbtrain_calls(
    refused: dict[str, list[Any]], what: str
) -> None:
    text = traceback(refused[what][0])
    assert f"----> 1 {REFUSED[what]}" in text
    assert text.count("---->") == 1
    assert "File " not in text
    assert "above exception" not in text
    assert what != "variable" or "In the notebook w stands for something new" in text


@pytest.mark.parametrize("how", ["wait", "wait magic"])
def test_the_line_where_the_training_raised_is_never_hidden(
    refused: dict[str, list[Any]], how: str
) -> None:
    errors = [output for output in refused[how] if output.output_type == "error"]
    text = traceback(errors[0])
    assert "Cell In[2], line 4" in text, "the numbers are those that the user sees"
    assert "----> 4     run.record(loss=[1, 2])  # mine" in text
    assert "'loss' is [1, 2], and a scalar was expected" in text
    assert not re.search(r"nbtrain/\w+\.py", text), "nbtrain's own lines"


ALIVE = """\
import nbtrain
run = nbtrain.train(dict, steps=3, name="alive").wait(60)
def told():
    return [line for line in (run.status.message or "").splitlines() if "NBTRAIN" in line]
print([told(), run.start().wait(60) and told()])"""


@pytest.mark.parametrize("given", ["x", "-1", "nan"])
def test_seconds_between_two_signs_of_life_that_are_none_are_named_once(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTRAIN_KEEP_ALIVE", given)
    (cell,) = executed([ALIVE], tmp_path)
    (printed,) = [output.text for output in cell.outputs if output.output_type == "stream"]
    (told,), again = ast.literal_eval(printed)
    assert told.startswith(
        f"NBTRAIN_KEEP_ALIVE={given!r} is not a number of seconds, so 30 is used"
    )
    assert again == []
