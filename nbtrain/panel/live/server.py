"""Finds the path of a folder from the root of the Jupyter Server that has started this kernel."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil


def path_below_root(folder: str) -> list[str] | None:
    """Returns the parts of the path from the server's root to a folder.

    None if no server has started this kernel, or if the folder is not below its root. Root and
    folder may be written with symbolic links or without.
    """
    if (root := _root()) is None:
        return None
    for written in (folder, os.path.realpath(folder)):
        for start in (os.path.normpath(root), os.path.realpath(root)):
            with contextlib.suppress(ValueError):
                return list(Path(written).relative_to(start).parts)
    return None


def _root() -> str | None:
    """Returns the root of the server's files: each server describes itself in a file.

    Between server and kernel there may be a script that prepares the kernel's environment.
    """
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:  # as in marimo
        return None
    for process in _parents():
        # A user without a home has no such folder: that is a RuntimeError.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RuntimeError):
            path = Path(jupyter_runtime_dir(), f"jpserver-{process}.json")
            return str(json.loads(path.read_text(encoding="utf-8"))["root_dir"])
    return None


def _parents() -> Iterator[int]:
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process().parents():
            yield process.pid
