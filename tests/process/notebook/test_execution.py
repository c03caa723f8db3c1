"""A cell shows the run that it starts, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import run_kernel

from tests import ROOT
from tests.kernels import executed, forked_kernels

FIRST = """\
%load_ext nbtrain
import gc, threading, time, weakref, nbtrain
def start(name, **more):
    return nbtrain.train(lambda: {"loss": 1.0}, name=name, steps=20, **more)
"""
# By their names; `start` starts a run that ends soon, so that its cell may end before or after.
CELLS = {
    "assignment": "run = start('assigned')",
    "nothing after it": "start('bare')",
    "waits": "run = start('waited')\nprint(run.wait(60).status.step)",
    "waits at its end": "start('waited_for').wait(60)",
    "semicolon": "start('quiet');",
    "nested, semicolon": "_ = get_ipython().run_cell(\"run = start('nested');\")",
    "timed, semicolon": "%%time\nrun = start('timed');",
    "shell command": "run = start('beside_shell')\n!true \\(",  # no Python, and no semicolon
    "shows it": "run = start('displayed')\ndisplay(run)\nprint('after')",
    "shows it before the start": "run = start('early', start=False)\ndisplay(run)\nrun.start();"
    "\nrun = None",
    "magic": "%%nbtrain --name magic --steps 20\nwhile not run.should_stop(): pass",
    "show magic": "run = start('magic_show')\n%nbtrain show magic_show\nrun = None",
    "error": "run = start('unharmed')\n1 / 0",
    "refused": "run = nbtrain.train(lambda: {}, name='unharmed_too')\nstart('unharmed_too')",
    "several": "runs = [start('one'), start('two')]",
    "several, one shown": "three, four = start('three'), start('four')\nthree",
    "the same twice": "run = start('twice').wait(60)\nrun = run.start()",
    "not started": "run = start('later', start=False)",
    "started later": "_ = run.start()",
    "decorator": "@nbtrain.background\ndef loop(run):\n    run.should_stop()",
    "captured": "%%capture told\nrun = start('captured').wait(60)",
    "what was captured": "print(len(told.outputs))",
    "another thread": "thread = threading.Thread(target=start, args=['beside'])\n"
    "thread.start(); thread.join()",
    "a listener": "def then(mark): start('then')\n"
    "run = start('before', start=False)\n_ = run.on('finished', then)\nrun.start().wait(60);\n"
    "while 'then' not in nbtrain.runs(): time.sleep(0.01)\nrun = None",
    "a cell after that": "run = nbtrain.runs()['then'].wait(60)",
    "one after the other": "runs = weakref.WeakSet()\n"
    "for n in range(12): run = start(f'passing-{n}').wait(60); runs.add(run)\n"
    "run = None; _ = gc.collect(); print(len(runs) < 12)",
}
PANEL = "nbtrain run"


@pytest.fixture(scope="module", autouse=True)
def forked() -> Iterator[None]:
    """The kernels of this module have TensorFlow loaded from their start."""
    with forked_kernels():
        yield


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Returns the output of each cell: texts, prints and names of errors; pictures have no text."""
    folder = tmp_path_factory.mktemp("execution")
    cells = executed([FIRST, *CELLS.values()], folder, allow_errors=True)
    return {
        name: [word for output in cell.outputs if (word := told(output))]
        for name, cell in zip(CELLS, cells[1:], strict=True)
    }


def told(output: Any) -> str:
    """An output in a word."""
    if output.output_type == "stream":
        return str(output.text).strip()
    return str(output.ename if output.output_type == "error" else output.data["text/plain"])


pytestmark = pytest.mark.filterwarnings("ignore")  # the client of the kernel has warnings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("assignment", [PANEL]),
        ("nothing after it", [PANEL]),
        ("waits", ["20", PANEL]),
        ("waits at its end", [PANEL]),
        ("shell command", [PANEL]),
        ("shows it", [PANEL, "after"]),
        ("shows it before the start", [PANEL]),
        ("magic", [PANEL]),
        ("show magic", [PANEL]),
        ("the same twice", [PANEL]),
        ("not started", []),
        ("started later", [PANEL]),
        ("decorator", [PANEL]),
    ],
)
def test_a_cell_shows_the_run_that_it_starts_once(
    shown: dict[str, list[str]], name: str, expected: list[str]
) -> None:
    assert shown[name] == expected


@pytest.mark.parametrize("name", ["semicolon", "nested, semicolon", "timed, semicolon"])
def test_a_cell_that_ends_with_a_semicolon_shows_none(
    shown: dict[str, list[str]], name: str
) -> None:
    assert PANEL not in shown[name]


def test_runs_that_a_cell_has_started_are_not_kept_until_its_end(
    shown: dict[str, list[str]],
) -> None:
    assert shown["one after the other"] == ["True"]  # each would hold its model


def test_a_cell_with_several_runs_shows_only_the_requested_ones(
    shown: dict[str, list[str]],
) -> None:
    assert shown["several"] == []
    assert shown["several, one shown"] == [PANEL]


def test_below_an_error_the_run_that_trains_on_is_shown(shown: dict[str, list[str]]) -> None:
    assert shown["error"] == ["ZeroDivisionError", PANEL]
    assert shown["refused"] == ["BusyError", PANEL]


def test_a_captured_cell_keeps_the_panel_with_its_other_outputs(
    shown: dict[str, list[str]],
) -> None:
    assert shown["captured"] == []
    assert shown["what was captured"] == ["1"]


@pytest.mark.parametrize("name", ["another thread", "a listener", "a cell after that"])
def test_a_run_that_no_cell_starts_is_shown_by_none(shown: dict[str, list[str]], name: str) -> None:
    expected = [PANEL] if name == "a listener" else []  # its own run
    assert shown[name] == expected


def test_a_run_that_a_button_starts_is_not_shown_by_the_next_cell(tmp_path: Path) -> None:
    """A click is a message between two cells; of its run nothing is left to be shown."""
    button = """\
import ipywidgets
from nbtrain.notebook import execution
button = ipywidgets.Button()
button.on_click(lambda _: start("clicked"))
print(button.comm.comm_id)"""
    collect = """\
step = nbtrain.runs()["clicked"].wait(60).status.step
print(step, [run for each in execution._executions.values() for run in each.started])"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with run_kernel(cwd=str(tmp_path)) as client:
            (comm,) = outputs_of(client, FIRST + button)
            content = {"comm_id": comm, "data": {"method": "custom", "content": {"event": "click"}}}
            client.shell_channel.send(client.session.msg("comm_msg", content))
            assert outputs_of(client, collect) == ["20 []"]


def outputs_of(client: Any, source: str) -> list[str]:
    """Returns the output of a cell."""
    outputs: list[str] = []

    def keep(message: Any) -> None:
        if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            outputs.append(told(nbformat.v4.output_from_msg(message)))

    client.execute_interactive(source, timeout=120, output_hook=keep)
    return outputs
