"""An IPython whose outputs a bare page shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comm
import pytest

import nbtrain
from nbtrain.core.errors import NbtrainError
from tests.page.kernel import Comm, Kernel, Publisher
from tests.shells import own_shell


@contextlib.contextmanager
def page_shell(kernel: Kernel, folder: Path) -> Iterator[Any]:
    """An IPython with the extension loaded, its profile in this folder."""
    with pytest.MonkeyPatch.context() as patch, own_shell(folder) as shell:
        patch.setattr(comm, "create_comm", lambda **arguments: Comm(kernel, **arguments))
        shell.display_pub = Publisher(parent=shell)
        shell.display_pub.kernel = kernel
        patch.setattr(NbtrainError, "_render_traceback_", None, raising=False)
        nbtrain._meet_ipython()  # as when it is imported in a notebook
        shell.run_line_magic("load_ext", "nbtrain")
        yield shell
