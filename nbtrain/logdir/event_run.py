"""The events of one run: its scalars in columns, and the file positions of all other values."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nbtrain.core.states import Status
from nbtrain.core.timeline import Timeline
from nbtrain.core.values.direction import Directions, read
from nbtrain.logdir.series import EVENT, Index, Places, Points, Series
from nbtrain.rundir import status_file
from nbtrain.rundir.about import About
from nbtrain.rundir.entries import FILE
from nbtrain.rundir.files import Polled, Untrusted
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tfevents import messages
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.framing import FOOTER, HEADER
from nbtrain.tfevents.messages import GRAPHS
from nbtrain.tfevents.names import ENDING, time_in
from nbtrain.tfevents.tail import Other, Piece, Tail, is_remote

# The kinds that are kept besides scalars, by the names of TensorBoard's plugins.
KINDS = (
    "images",
    "histograms",
    "text",
    "audio",
    "pr_curves",
    "graphs",
    "hparams",
    "custom_scalars",
)
_SCALARS = ("scalars", None)  # for a tag without a stated kind

# The folders that Keras writes below the folder of a fit.
_OF_KERAS = ("train", "validation")

# The most bytes of a run that is read together with others: about ten thousand scalars.
SMALL = 1 << 18
_FIELDS = {"simple_value": "scalars", "image": "images", "histo": "histograms", "audio": "audio"}
# The plugins whose values are graphs, and the tags of graphs that are events of their own.
_GRAPHS = ("graph_keras_model", "graph_run_metadata", "graph_run_metadata_graph")
_GRAPH, _META_GRAPH = "graph", "meta_graph"
_TAGS = dict(zip(GRAPHS, (_GRAPH, _META_GRAPH), strict=True))


def cannot_read(*whys: str) -> str:
    """Returns a sentence which says that curves of a run cannot be read, with the reasons."""
    return f"Some recorded curves cannot be read: {'; '.join(whys)}."


class EventRun:
    """The events of one folder; for one thread at a time.

    Args:
        folder: The folder.
        decoder: A decoder that knows the records of other runs; None for a new one.
        within: Whether the folder above it is one of the logdir's too. It is that of the run if
            this one is Keras's `train` or `validation`, and no run itself.

    Attributes:
        series: The scalars by tag, in the order in which the tags first appeared.
        indexes: By kind (one of `KINDS`) and tag, the file positions of other values.
        starts: Step and wall time of each restart of the program. As in TensorBoard, the first
            session of a folder is no restart. In a file of nbtrain's, each mark is a restart.
        before: For each restart, the number of earlier points of each tag.
        skipped: Bytes of the files that could not be read because they are damaged.
        doubtful: Records that were read in spite of a wrong checksum.
        unreadable: Files that could not be read since the last scan, and why.
    """

    def __init__(
        self, folder: str, decoder: Decoder | None = None, *, within: bool = False
    ) -> None:
        self.folder = folder
        self._own = Path(folder)
        self._has_above = within and self._own.name in _OF_KERAS
        self.unreadable: dict[str, str] = {}
        self._decoder = Decoder() if decoder is None else decoder
        self._timelines = Polled(RunTimeline.of, FILE)
        self._abouts = Polled(About.read, FILE)
        self._signs = Polled(status_file.read, status_file.FILE)
        self._reset()

    def _reset(self) -> None:
        self.series: dict[str, Series] = {}
        self.indexes: dict[str, dict[str, Index]] = {}
        self.starts: list[tuple[int, float]] = []
        self.before: list[dict[str, int]] = []
        self.skipped = self.doubtful = 0
        self._kinds: dict[str, str] = {}  # of the tags, from the first metadata of each
        self._has_begun = False  # whether a session was found
        self._tails: dict[str, Tail] = {}
        self._foreign: set[str] = set()  # tags with points in files of other writers

    @property
    def files(self) -> set[str]:
        """The names of the files that were found by a scan."""
        return set(self._tails)

    @property
    def began(self) -> float:
        """The least time in the names of the files, in seconds since the epoch; inf without one."""
        return min(map(time_in, self._tails), default=math.inf)

    @property
    def unread_bytes(self) -> int:
        """The number of bytes in the run's files that have not been read."""
        return sum(tail.size - tail.offset for tail in self._tails.values())

    @property
    def size(self) -> int:
        """The number of bytes in the run's files."""
        return sum(tail.size for tail in self._tails.values())

    def scan(self, names: list[str]) -> None:
        """Finds what there is to read in the files; `names` in order of creation."""
        for name in names:
            if name not in self._tails:
                self._tails[name] = Tail(f"{self.folder}/{name}", self._decoder)
        replaced = False
        self.unreadable.clear()
        for tail in self._tails.values():
            with self._trying(tail):
                replaced |= tail.scan()
        if replaced:
            self._reset()
            self.scan(names)

    def read(self) -> Iterator[None]:
        """Reads what is new, and pauses after every piece.

        Another thread may scan during a pause. If a file was replaced, everything is read again.
        """
        tails = self._tails
        for file, tail in enumerate(list(tails.values())):
            with self._trying(tail):
                while self._add(tail.poll(), file):
                    yield  # without any lock, so that other readers may pause too
                    if self._tails is not tails:
                        yield from self.read()
                        return

    @property
    def is_small(self) -> bool:
        """True if there is little to read, on this machine, and nothing was read yet."""
        tails = self._tails.values()
        unread = all(tail.offset == 0 for tail in tails)
        return unread and 0 < self.size <= SMALL and not is_remote(self.folder)

    def contents(self) -> list[bytes] | None:
        """Returns all bytes of the files as of the last scan; None if they have changed since."""
        try:
            found = [tail.contents() for tail in self._tails.values()]
        except OSError:
            return None  # `read` reports the error
        sizes = [tail.size for tail in self._tails.values()]
        return found if [len(each) for each in found] == sizes else None

    def add(self, pieces: list[tuple[Piece, int] | None]) -> None:
        """Adds what was decoded of `contents`, up to the first file that was not decoded."""
        for file, (tail, found) in enumerate(zip(self._tails.values(), pieces, strict=True)):
            if found is None:
                return
            piece, tail.offset = found
            self._add(piece, file)

    @contextlib.contextmanager
    def _trying(self, tail: Tail) -> Iterator[None]:
        """Records an error of reading a file, so that what was read before is kept."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            self.unreadable[tail.path] = error.strerror or str(error)

    def of(self, kind: str) -> Mapping[str, Series | Index]:
        """Returns the values of a kind, by tag.

        A meta graph is left out if the run has the graph itself, as in TensorBoard.
        """
        found = self.indexes.get(kind, {})
        if kind == "graphs" and _GRAPH in found:
            return {tag: index for tag, index in found.items() if tag != _META_GRAPH}
        return self.series if kind == "scalars" else found

    @property
    def directions(self) -> Directions:
        """The directions of the scalars, from the status file of the run."""
        status = self._status
        return read(status.directions) if status else Directions()

    @property
    def labels(self) -> tuple[str, ...]:
        """The words by which the run can be found, from its status file."""
        status = self._status
        return status.tags if status else ()

    @property
    def _home(self) -> Path | None:
        """The folder with the journal and the status of the run; None on another machine."""
        if is_remote(self.folder):
            return None
        return (
            self._own.parent if self._has_above and not (self._own / FILE).exists() else self._own
        )

    @property
    def _status(self) -> Status | None:
        """The contents of the status file of the run; None without one."""
        with contextlib.suppress(OSError, Untrusted):
            return self._signs.of(home).status if (home := self._home) else None
        return None

    def about(self) -> About | None:
        """Returns the config, tags, notes and duration of the run; None without a journal.

        Any thread may call it at any time.
        """
        home = self._home
        if home is None:
            return None
        try:
            found = self._abouts.of(home)
        except OSError:
            return None
        with contextlib.suppress(OSError, Untrusted):
            found = found.until(self._signs.of(home).alive)
        return found

    def points(self, tag: str) -> Points:
        """Returns all points of a tag.

        The journal of a run determines which of its own points were abandoned. TensorBoard's rule
        applies to tags of other writers, to folders without a journal, and to restarts that are not
        in the journal.
        """
        points = self.series[tag].points(self.starts)
        limits = None if tag in self._foreign else self._limits()
        if limits is not None:
            bounds = [0, *(counts.get(tag, 0) for counts in self.before), len(points)]
            for last, (begin, end) in zip(limits, itertools.pairwise(bounds), strict=True):
                points.abandoned[begin:end] = points.steps[begin:end] > last
        return points

    def places(self, kind: str, tag: str) -> Places:
        """Returns the file positions of all values of a tag."""
        paths = tuple(tail.path for tail in self._tails.values())
        places = self.indexes[kind][tag].places(paths, self.starts)
        begins = [wall_time for _, wall_time in self.starts]
        limits = self._limits() if begins == sorted(begins) else None
        if limits is not None:
            within = np.searchsorted(begins, places.wall_times, side="right")
            places.abandoned[:] = places.steps > np.array(limits)[within]
        return places

    def segments(self, timeline: Timeline) -> list[int] | None:
        """Returns the segment of a timeline that each restart opens; None if any is not known."""
        return timeline.opened_by([(step - 1, wall_time) for step, wall_time in self.starts])

    def _limits(self) -> list[float] | None:
        """Returns the last steps that count before the first restart and after each restart.

        Returns None if there are no restarts, or if one of them is not in the journal.
        """
        if not self.starts:
            return None
        try:
            timeline = self._timelines.of(Path(self.folder))
        except OSError:
            return None
        segments = self.segments(timeline)
        if segments is None:
            return None
        return [timeline.limits.get(number, -1) for number in (0, *segments)]

    def _add(self, piece: Piece | None, file: int) -> bool:
        if piece is None:
            return False
        self.skipped += piece.skipped
        self.doubtful += piece.doubtful
        restarts: list[int] = []  # the rows of restarts
        stated = self._first_stated(piece.scalars)
        others = list(self._one_by_one(piece.others, file, restarts, stated))
        for tag in stated:
            self._kinds.setdefault(tag, "scalars")
        names = self._by_name([*piece.scalars, *others])
        if restarts:
            counts = {name: each.count for name, each in self.series.items()}
            before = [counts.copy() for _ in restarts]
            self.before += before
            for name, points in names.items():
                for row, count in zip(restarts, before, strict=True):
                    count[name] = counts.get(name, 0) + int((points.rows < row).sum())
        if not self._is_own(file):
            self._foreign.update(names)
        for name, points in names.items():
            series = self.series.setdefault(name, Series())
            series.extend(points.steps, points.wall_times, points.values)
        return True

    def _is_own(self, file: int) -> bool:
        """Returns whether a run of nbtrain's wrote a file."""
        return list(self._tails)[file].endswith(ENDING)

    def _first_stated(self, scalars: Iterable[Decoded]) -> dict[str, int]:
        """Returns the first rows of the tags without a known kind that are stated to be scalars."""
        rows: dict[str, int] = {}
        for part in scalars:
            tag = self._decoder.tags[int(part.tags[0])]
            if not part.bare and tag not in self._kinds:
                row = int(part.rows[0])
                rows[tag] = min(row, rows.get(tag, row))
        return rows

    def _by_name(self, found: Iterable[Decoded]) -> dict[str, Decoded]:
        """Returns the scalars of each tag, in the order in which the tags appear."""
        parts: dict[int, list[Decoded]] = {}
        for part in found:
            tag = int(part.tags[0])
            if self._kinds.get(self._decoder.tags[tag]) in _SCALARS:
                parts.setdefault(tag, []).append(part)
        names = {self._decoder.tags[tag]: Decoded.joined(each) for tag, each in parts.items()}
        return dict(sorted(names.items(), key=lambda each: int(each[1].rows[0])))

    def _one_by_one(
        self, others: list[Other], file: int, restarts: list[int], stated: Mapping[str, int]
    ) -> Iterator[Decoded]:
        """Yields the scalars of records with other contents; indexes other values and restarts.

        Args:
            stated: The result of `_first_stated`.
        """
        for other in others:
            if messages.is_file_version(other.payload):
                continue
            scalars = self._decoder.decode_one(other.row, other.payload)
            if scalars is not None:
                for part in scalars:
                    if not part.bare:
                        self._kinds.setdefault(self._decoder.tags[int(part.tags[0])], "scalars")
                yield from scalars
                continue
            try:
                event = messages.event(other.payload)
            except ValueError:
                self.skipped += len(other.payload) + HEADER + FOOTER
                continue
            if event.session_log.status == event.session_log.START:
                mark = (event.step, event.wall_time)
                is_restart = self._has_begun or self._is_own(file)
                self._has_begun = True
                if is_restart and self.starts[-1:] != [mark]:  # a mark may be written twice
                    self.starts.append(mark)
                    restarts.append(other.row)
            record = (file, other.offset, len(other.payload))
            if tag := _TAGS.get(event.WhichOneof("what") or ""):
                self._index("graphs", tag).add(event.step, event.wall_time, (*record, EVENT))
            for which, value in enumerate(event.summary.value):
                kind = self._kind(value, is_later=stated.get(value.tag, other.row) < other.row)
                if kind in KINDS:
                    index = self._index(kind, value.tag)
                    index.add(event.step, event.wall_time, (*record, which))
                elif kind == "scalars" and (number := messages.number_of(value)) is not None:
                    yield Decoded(
                        np.array([other.row]),
                        np.array([self._decoder.tag_id(value.tag)]),
                        np.array([event.step]),
                        np.array([event.wall_time]),
                        np.array([number], np.float64),
                    )

    def _index(self, kind: str, tag: str) -> Index:
        return self.indexes.setdefault(kind, {}).setdefault(tag, Index())

    def _kind(self, value: Any, *, is_later: bool) -> str | None:
        """Returns the kind of a value; None if the tag has another kind.

        The first kind that is stated for a tag decides, as in TensorBoard. Many writers state the
        kind only with the first value of a tag.

        Args:
            is_later: Whether the tag was stated to be a scalar before.
        """
        said = _FIELDS.get(value.WhichOneof("value"), value.metadata.plugin_data.plugin_name)
        said = "graphs" if said in _GRAPHS else said
        known = self._kinds.get(value.tag, "scalars" if is_later else None)
        if said and known is None:
            known = self._kinds[value.tag] = said
        if known is None:
            return "scalars"
        return known if said in (known, "") else None
