"""The images, histograms, text, audio, precision-recall curves and graphs of a logdir.

log = nbtrain.summaries("runs", "images")   # every run below the folder
log["adam", "samples"].steps                # of one run and tag
log["adam", "samples"][-1]                  # the last, read from its file now; a cell shows it
"""

from __future__ import annotations

import os

from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.folders import path_of
from nbtrain.logdir.history import History
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.selection import Selection
from nbtrain.tfevents.values import DECODERS


class Summaries(Selection[History]):
    """Runs and tags with their histories: `summaries["run", "tag"][-1]`; any thread may use it.

    It contains the data written up to the last `refresh`. No value is kept in memory.

    Args:
        reader: Reads the event files.
        kind: "images", "histograms", "text", "audio", "pr_curves" or "graphs".
        runs: A regular expression, found anywhere in the names of the runs.
        tags: A regular expression, found anywhere in the tags.

    Raises:
        ArgumentError: There is no such kind, or a pattern is not a regular expression.
    """

    def __init__(
        self, reader: Reader, kind: str, runs: str | None = None, tags: str | None = None
    ) -> None:
        if kind not in DECODERS:
            kinds = ", ".join(map(repr, DECODERS))
            raise ArgumentError(f"kind={kind!r} is no kind of summaries; there are: {kinds}.")
        super().__init__(reader, kind, runs, tags)

    @property
    def scalars(self) -> Scalars:
        """The scalars of the selected runs and tags."""
        return Scalars(self._reader).like(self)

    def _of(self, run: str, tag: str) -> History:
        return History(self._kind, tag, self._reader.places(run, tag, self._kind))


def summaries(
    logdir: str | os.PathLike[str], kind: str, *, runs: str | None = None, tags: str | None = None
) -> Summaries:
    """Finds the images, histograms, text, audio, PR curves or graphs of every run in a folder.

    Summaries of all writers are found in the event files as in TensorBoard. Each value is read on
    request. Files are never changed, locked or kept open.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.
        kind: "images", "histograms", "text", "audio", "pr_curves" or "graphs".
        runs: A regular expression, found anywhere in the names of the runs.
        tags: A regular expression, found anywhere in the tags.

    Raises:
        ArgumentError: The folder cannot be read, there is no such kind, or a pattern is not a
            regular expression.
    """
    found = Summaries(Reader(path_of(logdir)), kind, runs, tags)
    found.refresh()
    return found
