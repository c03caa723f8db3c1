"""The positions of a program's tracked loops, saved and restored with a checkpoint.

    for epoch in run.track(range(50)):        # path: [(0, epochs done)]
        for batch in run.track(dataset):      # path: [(0, epochs done), (0, batches done)]

A path has a pair for each open loop, from the outermost: its number among the loops in the same
turn of the loop around it, and its turns that are done. A program that is started again runs from
its first line. Loops that were completed yield nothing, and the others continue where they were.
Until they have begun, a save writes the path and the states of their data as they were read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from nbtrain.core.epoch import Epoch
from nbtrain.engines.data.as_read import AsRead, as_json
from nbtrain.engines.data.iterators import Iterators
from nbtrain.engines.data.passes import TrackedPasses
from nbtrain.engines.data.position import Position
from nbtrain.engines.data.sources import Key, Sources
from nbtrain.engines.data.turns import Turns, size_of
from nbtrain.run.boundary.track_loop import LoopEnd
from nbtrain.run.handle import LoopHandle
from nbtrain.run.why.experiment import LoopSource

Path = list[tuple[int, int]]

# The name of the path in a checkpoint.
_TRACKS = "tracks"

_ELSEWHERE = (
    "The checkpoint was saved in another loop, to which a program cannot go: the data go on where "
    "they were. Track the loop around both too, as in `for epoch in run.track(range(50)):`."
)
_ELSEWHERE_WITHIN = (
    "The checkpoint was saved in another loop of its turn, to which a program cannot go: the data "
    "go on where they were."
)
_ENDED = (
    "{} have ended: there is nothing left to train. Give fresh=True or another name= to start from "
    "scratch."
)


@dataclass(slots=True)
class OpenLoop:
    """A tracked loop that has begun and has not ended; training thread only.

    Attributes:
        source: Its elements.
        size: The number of elements; None if unknown.
        key: The numbers of the loops around it, and its own.
        before: Completed steps when its present pass began.
        again: Whether further loops over the same data may follow: an untracked loop is around it,
            or an earlier outermost loop was over the same data.
        turn: The turn to which `inner` belongs.
        inner: Loops that have ended within this turn.
    """

    source: TrackedPasses | Turns
    size: int | None
    key: Key
    before: int
    again: bool = False
    turn: int = 0
    inner: int = 0

    def next_inner(self) -> int:
        """Returns the number of the next loop within the present turn."""
        if self.turn != self.source.number:
            self.turn, self.inner = self.source.number, 0
        return self.inner


class Tracks(Position):
    """The tracked loops of a run; training thread only.

    Attributes:
        total: The step at which the present loops end; None if unknown, or if others may follow
            over the same data. Any thread may read it.
        epoch: The turn of the outermost loop; None if the loop of the steps has no other around
            it. Any thread may read it.
    """

    names: ClassVar[Sequence[str]] = (_TRACKS, *TrackedPasses.names)

    def __init__(self) -> None:
        self.total: int | None = None
        self.epoch: Epoch | None = None
        self._open: list[OpenLoop] = []
        self._sources = Sources()
        self._data: tuple[Key, TrackedPasses] | None = None  # the last pipeline
        self._next = 0  # the number of the next outermost loop
        self._uneven = False  # whether turns have had more than one loop, or one that was broken
        self._ended: Path = []  # the path at a stop, an error or the end of the loops
        self._resume: Path = []  # the path from which the loops continue
        self._resumed = 0  # loops that have continued
        # The data of a checkpoint, which the loop of this key restores once it begins.
        self._read: tuple[Key, AsRead] | None = None
        self._loop: LoopHandle | None = None

    def begin(self, *, again: bool) -> None:
        """Begins a start of the run: the program runs from its first line.

        Args:
            again: Whether the loops continue from the position of an earlier start.
        """
        held = self._ended or self._waiting() if again else []
        self._open, self._next, self._loop = [], 0, None
        self._sources.begin()
        self._resume, self._resumed, self._ended = held, 0, []

    def end(self) -> None:
        """Ends a start of the run; notes it if the program had nothing left to train."""
        loop = self._loop
        if loop is None or not self._resume or loop.steps_done or loop.track.must_end:
            return
        where = f"Already at step {loop.step:,}, where its loops" if loop.step else "Its loops"
        loop.note("loops", _ENDED.format(where))

    # --- loops ------------------------------------------------------------------------

    @property
    def within(self) -> bool:
        """True in a tracked loop."""
        return bool(self._open)

    def over(
        self, iterable: Iterable[Any], loop: LoopHandle, around: str | None = None
    ) -> Iterator[Any]:
        """Yields the elements of a loop, with a step boundary after each.

        Args:
            iterable: The elements.
            loop: The run's loop.
            around: A message about a loop around it that is not tracked; None without one.
        """
        opened: list[OpenLoop] = []

        def begin() -> LoopSource:
            opened.append(self._begin_loop(iterable, loop, again=around is not None))
            if around is not None and not self._next:
                loop.inform_too(around)
            return opened[0].source

        def end(how: LoopEnd) -> None:
            stopped = loop.track.must_end or opened[0].source.is_behind
            self._end_loop(opened[0], how, stopped=stopped)

        return loop.track.turns(begin, end)

    def _begin_loop(self, iterable: Iterable[Any], loop: LoopHandle, *, again: bool) -> OpenLoop:
        if loop.track.must_end:  # the loop has no turn, and the position stays that of the stop
            return OpenLoop(Turns(()), None, (), loop.step)
        self._ended = []
        self._sources.end_failed()
        around = self._open[-1] if self._open else None
        number = self._next if around is None else around.next_inner()
        key = (*(around.key if around else ()), number)
        done, size = self._done_before(len(self._open), number), size_of(iterable)
        was_read = self._read is not None and self._read[0] == key
        again = again or (around is None and self._sources.has_earlier(key, iterable))
        # An earlier start has drawn a pass in each turn of the loop around.
        passes = 0 if was_read or around is None else around.source.number - 1
        if done is None:
            self._sources.complete(key, iterable, passes)
            source: TrackedPasses | Turns = Turns(())
        else:
            source = self._sources.get(key, iterable, passes)
        source.begin(loop)
        if isinstance(source, TrackedPasses):
            if self._data is None and not was_read:
                loop.copy_soon()
            self._data = key, source
            size = size or source.size
        if isinstance(source, TrackedPasses) and was_read and self._read is not None:
            source.restore(self._read[1])
            self._read = None
        else:
            source.seek(done or 0)
        before = loop.step - source.number
        opened = OpenLoop(source, size, key, before, again)
        self._open.append(opened)
        self._loop = loop
        self._uneven |= len(key) > 1 and number > 0
        self._measure()
        return opened

    def _done_before(self, depth: int, number: int) -> int | None:
        """Returns the turns of a loop that an earlier start has done; None if it was completed."""
        if depth != self._resumed or depth >= len(self._resume):
            return 0
        if depth and self._open[-1].source.number != self._resume[depth - 1][1] + 1:
            self._resume = []  # that turn has passed without this loop
            return 0
        at, done = self._resume[depth]
        if number < at:
            return None
        self._resumed += 1
        return done

    def _end_loop(self, left: OpenLoop, how: LoopEnd, *, stopped: bool) -> None:
        """Ends a loop, and the loops within it that are still open after an error."""
        if left not in self._open:
            return
        skipped = bool(self._waiting()) and left.key[-1] < self._resume[len(left.key) - 1][0]
        failed = how in (LoopEnd.FAILED, LoopEnd.CUT)
        if stopped or how is LoopEnd.CUT:
            self._ended = self._ended or self._waiting() or self._path()
        elif failed:
            self._ended = self._ended or self._path_within_turn()
        elif how is LoopEnd.BROKEN:
            left.source.end_pass()
            self.total = None
            self._uneven |= left is not self._open[0]
        left.source.failed |= failed
        depth = self._open.index(left)
        for each in self._open[depth:]:
            each.source.elements = iter(())  # the elements refer to the source, which has threads
        del self._open[depth:]
        if depth:
            self._open[-1].inner += 1
            return
        self._next += 1
        self._sources.drop_before(left.key)
        if stopped or failed or skipped:
            return
        # Only a range or a list may grow.
        at_end = how is LoopEnd.BROKEN or isinstance(left.source, TrackedPasses)
        self._ended = [(self._next, 0) if at_end else (left.key[0], left.source.number)]

    def _measure(self) -> None:
        """Computes the step at which the open loops end, and the epoch."""
        *around, inner = self._open
        sizes = [each.size for each in self._open]
        known = not self._uneven and None not in sizes[1:]
        unit = math.prod(size or 0 for size in sizes[1:]) if known else None
        self.epoch = self._turn_of(around[0], unit) if around else None
        if self._uneven or self._open[0].again or None in sizes:
            self.total = None
            return
        unit = left = inner.size or 0
        for each in reversed(around):
            size = each.size or 0
            left += max(0, size - each.source.number) * unit
            unit *= size
        self.total = inner.before + left

    def _turn_of(self, outer: OpenLoop, steps: int | None) -> Epoch:
        """Returns the present turn of the outermost loop, whose inner loops are open."""
        *between, inner = self._open[1:]
        number, known = outer.source.number, self.epoch
        began = known.began if known is not None and known.number == number else None
        # A later loop of the turn, or a later turn between the two, begins after the turn has.
        if not any(inner.key[1:]) and all(each.source.number == 1 for each in between):
            began = inner.before
        return Epoch(number, outer.size, began, steps)

    # --- the position -------------------------------------------------------------------

    def _path(self) -> Path:
        """Returns the path at a step boundary: only the loops around others are within a turn."""
        around = [(each.key[-1], max(0, each.source.number - 1)) for each in self._open[:-1]]
        return [*around, *((each.key[-1], each.source.number) for each in self._open[-1:])]

    def _path_within_turn(self) -> Path:
        """Returns the path after an error: the innermost open loop's turn, without ended loops."""
        if waiting := self._waiting(within_turn=True):
            return waiting
        path = [(each.key[-1], max(0, each.source.number - 1)) for each in self._open]
        inner = self._open[-1].next_inner()
        return [*path, (inner, 0)] if inner else path

    def _waiting(self, *, within_turn: bool = False) -> Path:
        """Returns the path of the loops that continue and have not begun yet; empty if none.

        Args:
            within_turn: Whether the innermost open loop is within a turn, not at a step boundary.
        """
        if self._resumed == len(self._resume):
            return []
        for each, (number, done) in zip(self._open, self._resume, strict=False):
            if each.key[-1] < number:  # completed, so that it yields nothing
                break
            within = within_turn or each is not self._open[-1]
            if each.key[-1] > number or each.source.number != done + within:
                return []  # that turn has passed without the loop
        return self._resume

    @property
    def iterators(self) -> Iterators | None:
        """The iterators of the present pipeline that are saved; None if there are none."""
        return None if self._data is None else self._data[1].iterators

    @property
    def one_way(self) -> str | None:
        """Why elements that were drawn cannot be drawn again; None if they can."""
        return next(filter(None, (each.source.one_way for each in self._open)), None)

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other elements of the innermost loop's data."""
        source = self._open[-1].source if self._open else None
        return source.apart() if isinstance(source, TrackedPasses) else None

    def saved(self) -> dict[str, Any]:
        """Returns the objects that save the position, by name; none if no loop was tracked."""
        path = self._ended or self._waiting() or self._path()
        if not path:
            return {}
        key, data = self._data or self._read or (None, None)
        found = {} if data is None else data.saved()
        return {**found, _TRACKS: as_json({"path": path, "data": key})}

    def restore(self, read: AsRead) -> None:
        """Restores the position of a checkpoint, also while loops are open."""
        self._ended = self._resume = []
        if (held := read.json(_TRACKS)) is None:
            return  # the loops continue where they are
        self._read = None
        if held["data"] is not None:
            self._read, self._data = (tuple(held["data"]), read), None
        wanted: Path = [(number, done) for number, done in held["path"]]
        common = list(zip(self._open, wanted, strict=False))
        if all(each.key[-1] == number for each, (number, _) in common):
            self._resume, self._resumed = wanted, len(common)
            self._seek([done for _, (_, done) in common], read.step)
        elif self._open and wanted[0][0] > self._open[0].key[0]:
            # The program reaches that loop later; until then its loops have no turn.
            self._resume, self._resumed = wanted, 0
            for each in self._open:
                each.source.elements = iter(())
        elif self._loop is not None:
            self._read = None
            within = wanted[0][0] == self._open[0].key[0]
            self._loop.note("track", _ELSEWHERE_WITHIN if within else _ELSEWHERE)

    def _seek(self, turns: list[int], step: int | None) -> None:
        """Moves the open loops to their turns, and the others to their start; their bodies run on.

        Args:
            turns: The turns done of each open loop, from the outermost.
            step: The step of the checkpoint; None if unknown.
        """
        stuck = False
        for each, done in itertools.zip_longest(self._open, turns, fillvalue=0):
            assert isinstance(each, OpenLoop)
            if isinstance(each.source, TrackedPasses) and self._read and self._read[0] == each.key:
                each.source.restore(self._read[1])
                self._read, self._data = None, (each.key, each.source)
                continue
            # The present turn of a loop around others becomes the one after those that are done.
            wanted = done if each is self._open[-1] else done + 1
            each.source.seek(wanted)
            each.turn = each.source.number
            stuck |= each.source.number > wanted
        if self._loop is not None:
            text = "An iterator cannot go back: its loop goes on where it was." if stuck else None
            self._loop.note("track", text)
        if self._open and step is not None:
            self._open[-1].before = step - self._open[-1].source.number
            self._measure()
