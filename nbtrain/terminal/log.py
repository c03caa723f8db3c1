"""The verb `log`: what a run has printed and logged, and the process of a launched one."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.log_lines import LogLine, at_return, selected
from nbtrain.core.text.visible import say
from nbtrain.rundir.log_file import line_of
from nbtrain.rundir.names import LOG
from nbtrain.terminal.exits import DONE, NoRunError, run_in

# Bytes at the end of a log that are read at most.
_MOST_BYTES = 1 << 28

# Seconds between two looks for more.
_SECS = 0.2


def show(options: argparse.Namespace) -> int:
    """Prints the last lines, and follows the file until the run has ended if asked to."""
    if options.lines < 0:
        raise ArgumentError(f"--lines {options.lines}: give 0 or more.")
    path = Path(options.folder).expanduser() / LOG
    with opened(path) as file:
        chosen = Chosen(options)
        last = list(deque(filter(chosen, lines_of(file)), options.lines))
        if options.json:
            told = {"file": str(path), "lines": [each.rstrip("\n") for each in last]}
            say(json.dumps(told), sys.stdout)
            return DONE
        _show(last)
        if options.follow:
            with run_in(options.folder) as run:
                while True:
                    ended = run.status.phase.ended
                    _show(filter(chosen, lines_of(file)))
                    if ended:
                        break
                    time.sleep(_SECS)
    return DONE


def _show(lines: Iterable[str]) -> None:
    """Prints lines; of one that a progress bar has written over and over, the last text."""
    for line in lines:
        text = line.removesuffix("\n")
        say(at_return(text).rstrip("\r"), sys.stdout, end=line[len(text) :])
    sys.stdout.flush()


class Chosen:
    """Tells which lines of a log are asked for; called with each line, in their order."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._filter = {"level": options.level, "source": options.source, "text": options.search}
        self._before: LogLine | None = None

    def __call__(self, text: str) -> bool:
        """Returns whether the next line is one of them."""
        self._before = line_of(text.rstrip("\n"), self._before)
        return bool(selected([self._before], **self._filter))


def opened(path: Path, most_bytes: int = _MOST_BYTES) -> FileIO:
    """Opens the log of a run, at the last `most_bytes` of it.

    Raises:
        NoRunError: It has none, or it cannot be read.
    """
    try:
        file = own_files.opened(path)
    except (FileNotFoundError, NotADirectoryError):
        raise NoRunError(
            f"{path} is not there: the run has printed and logged nothing, or an earlier version "
            "of nbtrain has trained it."
        ) from None
    except OSError as error:
        raise NoRunError(f"{path} cannot be read: {error.strerror or error}.") from None
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - most_bytes))
    return file


def lines_of(file: FileIO) -> Iterator[str]:
    """Yields the lines of a log from where it was read to."""
    return (line.decode("utf-8", "replace") for line in own_files.lines(file))
