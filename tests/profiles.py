"""The profile of IPython for the kernels of tests, which keep no history.

Kernels that share a history wait for each other to write it. After 5 seconds IPython gives up, and
prints that under whichever cell runs. Importing this module gives the profile to every process that
is started from this one; `make notebooks` imports it as a plugin of pytest.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "nbtrain-ipython-"


def write_profile(folder: Path) -> Path:
    """Write the profile below a folder for IPYTHONDIR, and return the profile's own folder."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text('c.HistoryManager.hist_file = ":memory:"\n')
    return profile


if not Path(os.environ.get("IPYTHONDIR", "")).name.startswith(_PREFIX):  # a worker inherits it
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix=_PREFIX)
    write_profile(Path(os.environ["IPYTHONDIR"]))
    atexit.register(shutil.rmtree, os.environ["IPYTHONDIR"], ignore_errors=True)
