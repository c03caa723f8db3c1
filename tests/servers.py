"""The Jupyter Server that has started a kernel, as the kernel sees it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def be_started_by_server(root: Path, runtime: Path, patch: pytest.MonkeyPatch) -> Path:
    """Have the process above this one be a server with a root; returns its file."""
    runtime.mkdir(exist_ok=True)
    patch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    file = runtime / f"jpserver-{os.getppid()}.json"
    file.write_text(json.dumps({"root_dir": str(root)}))
    return file
