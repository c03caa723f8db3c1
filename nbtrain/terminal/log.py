"""The verb `log`: what a run has printed and logged, and the process of a launched one."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import TextIO

from nbtrain.core.errors import ArgumentError
from nbtrain.core.log_lines import LogLine, selected
from nbtrain.rundir.log_text import line_of
from nbtrain.rundir.names import LOG
from nbtrain.terminal.exits import DONE, NoRunError, run_in

# Seconds between two looks for more.
_SECS = 0.2


def show(options: argparse.Namespace) -> int:
    """Prints the last lines, and follows the file until the run has ended if asked to."""
    if options.lines < 0:
        raise ArgumentError(f"--lines {options.lines}: give 0 or more.")
    with opened(Path(options.folder).expanduser()) as file:
        chosen = Chosen(options)
        last = list(deque(filter(chosen, file), options.lines))
        if options.json:
            print(json.dumps({"file": file.name, "lines": [each.rstrip("\n") for each in last]}))
            return DONE
        sys.stdout.writelines(last)
        if options.follow:
            with run_in(options.folder) as run:
                while True:
                    ended = run.status.phase.ended
                    sys.stdout.writelines(filter(chosen, file.readlines()))
                    sys.stdout.flush()
                    if ended:
                        break
                    time.sleep(_SECS)
    return DONE


class Chosen:
    """Tells which lines of a log are asked for; called with each line, in their order."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._filter = {"level": options.level, "source": options.source, "text": options.search}
        self._before: LogLine | None = None

    def __call__(self, text: str) -> bool:
        """Tells if the next line is one of them."""
        self._before = line_of(text.rstrip("\n"), self._before)
        return bool(selected([self._before], **self._filter))


def opened(folder: Path) -> TextIO:
    """Opens the log of a run.

    Raises:
        NoRunError: It has none.
    """
    path = folder / LOG
    if not path.is_file():
        raise NoRunError(
            f"{path} is not there: the run has printed and logged nothing, or an earlier version "
            "of nbtrain has trained it."
        )
    return open(path, encoding="utf-8", errors="replace")
