"""The verb `log`: the lines that a run has printed and logged, or the process of a launched run."""

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

# The most bytes that are read at the end of a log.
_MOST_BYTES = 1 << 28

# Seconds between two polls of the log.
_SECS = 0.2


def show(options: argparse.Namespace) -> int:
    """Prints the last lines; with `--follow`, also all new lines until the run has ended."""
    if options.lines < 0:
        raise ArgumentError(f"--lines {options.lines}: give 0 or more.")
    path = Path(options.folder).expanduser() / LOG
    with opened(path) as file:
        chosen = Chosen(options)
        last = list(deque(filter(chosen, lines_of(file)), options.lines))
        if options.json:
            fields = {"file": str(path), "lines": [each.rstrip("\n") for each in last]}
            say(json.dumps(fields), sys.stdout)
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
    """Prints lines; of a line that a progress bar has overwritten, only the last text."""
    for line in lines:
        text = line.removesuffix("\n")
        say(at_return(text).rstrip("\r"), sys.stdout, end=line[len(text) :])
    sys.stdout.flush()


class Chosen:
    """Selects the lines of a log that match the options; called with each line, in order."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._filter = {"level": options.level, "source": options.source, "text": options.search}
        self._before: LogLine | None = None

    def __call__(self, text: str) -> bool:
        """Returns whether the next line is selected."""
        self._before = line_of(text.rstrip("\n"), self._before)
        return bool(selected([self._before], **self._filter))


def opened(path: Path, most_bytes: int = _MOST_BYTES) -> FileIO:
    """Opens the log of a run, at its last `most_bytes` bytes.

    Raises:
        NoRunError: The run has no log, or the log cannot be read.
    """
    try:
        file = own_files.opened(path)
    except (FileNotFoundError, NotADirectoryError):
        raise NoRunError(
            f"There is no {path}: the run has printed and logged nothing, or an earlier version of "
            "nbtrain has trained it."
        ) from None
    except OSError as error:
        raise NoRunError(f"{path} cannot be read: {error.strerror or error}.") from None
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - most_bytes))
    return file


def lines_of(file: FileIO) -> Iterator[str]:
    """Yields the lines of a log that were not read before."""
    return (line.decode("utf-8", "replace") for line in own_files.lines(file))
