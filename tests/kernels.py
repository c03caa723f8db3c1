"""Kernels of Jupyter for tests, forked with TensorFlow loaded: two seconds less than others.

    @pytest.fixture(scope="module", autouse=True)
    def forked() -> Iterator[None]:
        with forked_kernels():
            yield

The server of `tests/lab` has such kernels, too.

Everything of Jupyter is real: a client or a manager starts a kernel as ever, and ipykernel runs
in a process of its own, with the environment that it was given. Only its interpreter is a copy
of one that has imported TensorFlow; nbtrain is imported by the kernel itself. A fresh kernel is
needed to test what a kernel imports and when, and how its process ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests import ROOT
from tests.forked import PRELOADED, SERVER, Forked

# pyplot and the inline backend look for the kernel's shell when they are imported, and stay out.
# Most kernels of a process that forks nothing else use these, too.
_OF_KERNELS = ["ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets"]
_OF_NOTEBOOKS = ["sklearn.datasets", "matplotlib.backends.backend_agg", "PIL.PngImagePlugin"]


def load_ahead() -> None:
    """Import what kernels use, in a process of its own while this one goes on.

    Called in a process that forks nothing but kernels, before the first of them.
    """
    # ipykernel sets the same before a kernel imports matplotlib, which reads it only then.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    SERVER.set_forkserver_preload([*PRELOADED, *_OF_KERNELS, *_OF_NOTEBOOKS])
    forkserver.ensure_running()


@contextlib.contextmanager
def forked_kernels() -> Iterator[None]:
    """Fork the kernels that this process starts meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jupyter_client.provisioning.local_provisioner.launch_kernel", _launched)
        yield


def executed(sources: Iterable[str], folder: Path, **options: Any) -> list[Any]:
    """The cells of a notebook, executed in a folder; what a cell prints in a row is one output.

    Args:
        options: More of `NotebookClient`'s.
    """
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    client = NotebookClient(
        nbformat.v4.new_notebook(cells=cells),
        timeout=120,
        resources={"metadata": {"path": str(folder)}},
        **options,
    )
    client.execute(env=dict(os.environ, PYTHONPATH=str(ROOT)))
    for cell in cells:
        cell.outputs = _in_one_piece(cell.outputs)
    return cells


def _in_one_piece(outputs: list[Any]) -> list[Any]:
    """Returns outputs in which no text is divided; a kernel sends one at any time."""
    merged: list[Any] = []
    for output in outputs:
        if merged and output.get("name") and output.get("name") == merged[-1].get("name"):
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


class _Process:
    """A forked kernel as Jupyter looks at it, which expects a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, child: Forked) -> None:
        self._child = child
        self.pid = child.pid
        self.kill = self.terminate = child.kill

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._child.exitcode is None:
            self._child.signal(number)

    def poll(self) -> int | None:
        """Its exit code, or None while it lives."""
        if self._child.exitcode is not None:
            self._child.kill()  # its files are closed
        return self._child.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code, once it has ended."""
        self._child.wait()
        return self.poll()


def _launched(cmd: list[str], *, env: dict[str, str], cwd: str | None = None, **_more: Any) -> Any:
    """Starts a kernel as Jupyter does, and signals the kernel's group."""
    arguments = cmd[cmd.index("-f") :]
    child = Forked(_serve, arguments, env, folder=Path(cwd or "."))
    assert child.answer() == "leads its group"
    return _Process(child)


def _serve(pipe: Connection, arguments: list[str], env: dict[str, str]) -> None:
    """Be a kernel until it is shut down."""
    os.setsid()
    pipe.send("leads its group")
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["ipykernel_launcher.py", *arguments]
    for name in [name for name in sys.modules if name.split(".")[0] == "nbtrain"]:
        del sys.modules[name]  # it meets IPython when it is imported
    import ipywidgets
    from ipykernel import kernelapp

    ipywidgets.register_comm_target()  # as at its import, which was before there was a kernel
    kernelapp.launch_new_instance()
