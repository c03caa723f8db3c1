"""The verb `log`: what a run has printed and logged, and the process of a launched one."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.log_lines import LogLine, selected
from nbtrain.rundir.folder import LOG
from nbtrain.rundir.log_text import LogTail
from nbtrain.terminal.exits import DONE, NoRunError, run_in

# Seconds between two looks for more.
_SECS = 0.2


def show(options: argparse.Namespace) -> int:
    """Prints the last lines, and follows the file until the run has ended if asked to."""
    if options.lines < 0:
        raise ArgumentError(f"--lines {options.lines}: give 0 or more.")
    with opened(Path(options.folder).expanduser()) as file:
        last = list(deque(file, options.lines))
        if options.json:
            print(json.dumps({"file": file.name, "lines": [each.rstrip("\n") for each in last]}))
            return DONE
        sys.stdout.writelines(last)
        if options.follow:
            with run_in(options.folder) as run:
                while True:
                    ended = run.status.phase.ended
                    sys.stdout.write(file.read())
                    sys.stdout.flush()
                    if ended:
                        break
                    time.sleep(_SECS)
    return DONE


def opened(folder: Path) -> TextIO:
    """Opens the log of a run.

    Raises:
        NoRunError: It has none.
    """
    path = folder / LOG
    if not path.is_file():
        raise NoRunError(
            f"{path} is not there: only a process that nbtrain.launch() or %%nbtrain --detach has "
            "started keeps its prints. Those of others are where they were started."
        )
    return open(path, encoding="utf-8", errors="replace")
