"""A server of marimo over one notebook."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT
from tests.ports import free_ports, served


@contextlib.contextmanager
def marimo(folder: Path, python: str, *, theme: str) -> Iterator[str]:
    """The address of a page that executes all cells of `notebook.py` as it is opened.

    Args:
        folder: With the notebook; settings and log are written there.
        python: The executable that has marimo and TensorFlow.
        theme: "dark", or "system" for that of the browser.
    """
    (folder / "marimo").mkdir()
    settings = f'[runtime]\nauto_instantiate = true\n[display]\ntheme = "{theme}"\n'
    (folder / "marimo" / "marimo.toml").write_text(settings)
    (port,) = free_ports(1)
    words = [python, "-m", "marimo", "edit", "notebook.py", f"--port={port}", "--headless"]
    words += ["--no-token", "--skip-update-check"]
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(folder))
    env = os.environ | homes | {"PYTHONPATH": str(ROOT)}
    address = f"http://127.0.0.1:{port}"
    with served(words, env, folder, f"{address}/health"):
        yield address
