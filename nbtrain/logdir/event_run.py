"""The events of one run: its scalars in columns, and the file positions of all other values."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nbtrain.logdir.series import Index, Places, Points, Series
from nbtrain.rundir.entries import FILE
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tfevents import messages
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.framing import FOOTER, HEADER
from nbtrain.tfevents.tail import Other, Piece, Tail

# The kinds that are kept beside scalars, by the names of TensorBoard's plugins.
KINDS = ("images", "histograms", "text", "audio", "hparams", "custom_scalars")
_SCALARS = ("scalars", None)  # for a tag without a stated kind
_FIELDS = {"simple_value": "scalars", "image": "images", "histo": "histograms", "audio": "audio"}


class EventRun:
    """The events of one folder; for one thread at a time.

    Attributes:
        series: The scalars by tag, in the order in which the tags first appeared.
        indexes: By kind (one of `KINDS`) and tag, the file positions of other values.
        starts: Step and wall time of each restart of the program.
        before: How many points of each tag came before each of these.
        skipped: Bytes of the files that could not be read, being damaged.
        doubtful: Records that were read in spite of a wrong checksum.
        unreadable: Files that could not be read since the last look, and why.
    """

    def __init__(self, folder: str, *, verify: bool = True) -> None:
        self.folder = folder
        self.unreadable: dict[str, str] = {}
        self._decoder = Decoder(verify=verify)
        self._reset()

    def _reset(self) -> None:
        self.series: dict[str, Series] = {}
        self.indexes: dict[str, dict[str, Index]] = {}
        self.starts: list[tuple[int, float]] = []
        self.before: list[dict[str, int]] = []
        self.skipped = self.doubtful = 0
        self._decoder = Decoder(verify=self._decoder.verify)
        self._kinds: dict[str, str] = {}  # of the tags, from the first metadata of each
        self._tails: dict[str, Tail] = {}

    @property
    def files(self) -> set[str]:
        """The names of the files of which anything was read."""
        return set(self._tails)

    @property
    def left(self) -> int:
        """Bytes of its files that have not been read."""
        return sum(tail.size - tail.offset for tail in self._tails.values())

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(tail.size for tail in self._tails.values())

    def look(self, names: list[str]) -> None:
        """Checks what there is to read in its files; `names` in order of creation."""
        for name in names:
            if name not in self._tails:
                self._tails[name] = Tail(f"{self.folder}/{name}", self._decoder)
        replaced = False
        self.unreadable.clear()
        for tail in self._tails.values():
            with self._trying(tail):
                replaced |= tail.look()
        if replaced:
            self._reset()
            self.look(names)

    def read(self) -> Iterator[None]:
        """Reads what is new, and pauses after every piece.

        Another thread may look during a pause: if a file was replaced, everything is read again.
        """
        tails = self._tails
        for file, tail in enumerate(list(tails.values())):
            with self._trying(tail):
                while self._take(tail.poll(), file):
                    yield  # holding nothing, so that other readers may pause too
                    if self._tails is not tails:
                        yield from self.read()
                        return

    @contextlib.contextmanager
    def _trying(self, tail: Tail) -> Iterator[None]:
        """Keeps what was read of a file even if an error follows."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            self.unreadable[tail.path] = error.strerror or str(error)

    def of(self, kind: str) -> Mapping[str, Series | Index]:
        """Returns the values of a kind, by tag."""
        return self.series if kind == "scalars" else self.indexes.get(kind, {})

    def points(self, tag: str) -> Points:
        """Returns all points of a tag.

        The journal of a run tells which of them were abandoned. TensorBoard's rule is for folders
        without one, and with other restarts than the journal's.
        """
        points = self.series[tag].points(self.starts)
        timeline = _timeline(self.folder, _state_of_journal(self.folder)) if self.starts else None
        if timeline is not None and timeline.begins == [step - 1 for step, _ in self.starts]:
            limits = timeline.limits
            bounds = [0, *(counts.get(tag, 0) for counts in self.before), len(points)]
            for segment, (begin, end) in enumerate(itertools.pairwise(bounds)):
                points.abandoned[begin:end] = points.steps[begin:end] > limits.get(segment, -1)
        return points

    def places(self, kind: str, tag: str) -> Places:
        """Returns the file positions of all values of a tag."""
        paths = tuple(tail.path for tail in self._tails.values())
        return self.indexes[kind][tag].places(paths, self.starts)

    def _take(self, piece: Piece | None, file: int) -> bool:
        if piece is None:
            return False
        self.skipped += piece.skipped
        self.doubtful += piece.doubtful
        restarts: list[int] = []  # their rows
        found = [*piece.scalars, *self._one_by_one(piece.others, file, restarts)]
        parts: dict[int, list[Decoded]] = {}
        for scalars in found:
            for tag, part in _by_tag(scalars):
                if not scalars.bare or self._kinds.get(self._decoder.tags[tag]) in _SCALARS:
                    parts.setdefault(tag, []).append(part)
        counts = {name: each.count for name, each in self.series.items()}
        before = [counts.copy() for _ in restarts]
        for number, several in parts.items():
            name = self._decoder.tags[number]
            series = self.series.setdefault(name, Series())
            points = Decoded.joined(several)
            for row, count in zip(restarts, before, strict=True):
                count[name] = series.count + int((points.rows < row).sum())
            series.extend(points.steps, points.wall_times, points.values)
        self.before += before
        return True

    def _one_by_one(self, others: list[Other], file: int, restarts: list[int]) -> Iterator[Decoded]:
        """Yields the scalars of records that also hold other things; notes these, and restarts."""
        for other in others:
            if messages.is_file_version(other.payload):
                continue
            scalars = self._decoder.decode_one(other.row, other.payload)
            if scalars is not None:
                yield from scalars
                continue
            try:
                event = messages.event(other.payload)
            except ValueError:
                self.skipped += len(other.payload) + HEADER + FOOTER
                continue
            if event.session_log.status == event.session_log.START:
                self.starts.append((event.step, event.wall_time))
                restarts.append(other.row)
            for which, value in enumerate(event.summary.value):
                kind = self._kind(value)
                if kind in KINDS:
                    index = self.indexes.setdefault(kind, {}).setdefault(value.tag, Index())
                    record = (file, other.offset, len(other.payload), which)
                    index.add(event.step, event.wall_time, record)
                elif kind == "scalars" and (number := _number(value)) is not None:
                    yield Decoded(
                        np.array([other.row]),
                        np.array([self._decoder.tag_id(value.tag)]),
                        np.array([event.step]),
                        np.array([event.wall_time]),
                        np.array([number], np.float64),
                    )

    def _kind(self, value: Any) -> str:
        """Returns the kind of a value; many writers state it only with the first value of a tag."""
        said = _FIELDS.get(value.WhichOneof("value"), value.metadata.plugin_data.plugin_name)
        if said:
            self._kinds.setdefault(value.tag, said)
        return said or self._kinds.get(value.tag, "scalars")


def _state_of_journal(folder: str) -> tuple[int, int] | None:
    """The time of the last change and the size of a run's journal; None without one."""
    try:
        found = Path(folder, FILE).stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=256)
def _timeline(folder: str, state: tuple[int, int] | None) -> RunTimeline | None:
    """The timeline of a run by its journal of this state, read once."""
    return None if state is None else RunTimeline.of(Path(folder))


def _by_tag(scalars: Decoded) -> Iterator[tuple[int, Decoded]]:
    tags = scalars.tags
    if (tags == tags[0]).all():
        yield int(tags[0]), scalars
        return
    short = tags.astype(np.uint16) if tags.max() <= 0xFFFF else tags  # much quicker to sort
    order = np.argsort(short, kind="stable")
    bounds = np.flatnonzero(np.diff(tags[order], prepend=-1, append=-1))
    for low, high in itertools.pairwise(bounds):
        part = order[low:high]
        yield int(tags[part[0]]), scalars.take(part)


def _number(value: Any) -> float | None:
    """Returns the scalar in a `Summary.Value`; None for other values."""
    if value.WhichOneof("value") == "simple_value":
        return float(value.simple_value)
    shape = [dim.size for dim in value.tensor.tensor_shape.dim]
    if not value.HasField("tensor") or math.prod(shape) != 1:
        return None
    try:
        array = messages.array_of(value.tensor)
    except ValueError:
        return None
    return float(array.reshape(())) if array.dtype.kind in "fiub" else None
