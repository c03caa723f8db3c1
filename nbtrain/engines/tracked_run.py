"""A run that trains by a `for` loop of the program, in the thread that loops.

run = track(dataset, name="mine")   # created
for batch in run:                   # starts: this thread trains, and the panel is shown
    run.record(loss=step(batch))    # the end of each turn is a step boundary
                                    # finished, stopped or failed; the program continues
"""

from __future__ import annotations

import _thread
import ast
import contextlib
import contextvars
import linecache
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any, NoReturn

from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.core.text.tracebacks import callers
from nbtrain.engines.loops import LoopEngine, LoopRun
from nbtrain.run.boundary.session_host import owner
from nbtrain.run.own_waiting import words_of_pause
from nbtrain.run.process import endings
from nbtrain.run.process.interrupts import Interrupts
from nbtrain.run.program import for_loops
from nbtrain.run.program.leaving import UnknownError, left_by
from nbtrain.run.run import LAST_ROUND_SECS, Run
from nbtrain.rundir.folder import Logdir
from nbtrain.steer import registry
from nbtrain.steer.options import Settings
from nbtrain.steer.surroundings import Wait
from nbtrain.steer.waiting import Pauses


class TrackedRun(LoopRun, Iterable[Any]):
    """A run that trains while the program loops over it.

    Looping over it again starts it again: it continues from its latest checkpoint.

    Args:
        engine: The engine.
        logdir: The run's folder.
        settings: How long to train and when to save.
        iterable: The elements.
    """

    in_foreground = True
    _how_to_start = "write `for batch in run:`, where it trains"

    def __init__(
        self,
        engine: LoopEngine,
        logdir: Logdir,
        settings: Settings,
        iterable: Iterable[Any],
    ) -> None:
        super().__init__(engine, logdir, settings)
        self._iterable = iterable
        self._made = callers()
        self._loops: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()
        self._interrupts = Interrupts(self.name, self.request_stop)

    def start(self) -> NoReturn:
        """Refuses to start: the run trains where it is looped over."""
        raise PhaseError(
            f"The run {self.name!r} trains where it is looped over: write `for batch in run:`."
        )

    def branch(self, *_args: object, **_hyperparameters: object) -> NoReturn:
        """Refuses to branch: a branch would train in the background."""
        raise PhaseError(
            f"The run {self.name!r} of nbtrain.track cannot be branched: a branch trains in the "
            "background. Write its loop in a cell under %%nbtrain, or as a function under "
            "@nbtrain.background."
        )

    def __iter__(self) -> Iterator[Any]:
        """Returns an iterator that trains: the thread that draws from it is the training thread.

        Its first element starts the run.

        Raises:
            ArgumentError: An untracked loop around it would start the run in each turn.
            PhaseError: The run trains already, or the thread trains another run.
            BusyError: Another run uses the folder or the model.
            CheckpointError: The latest checkpoint cannot be restored.
            BaseException: The error of a thread of the run.
        """
        if current_run() is None:  # otherwise its first element is refused
            self._check_around()
        turns = self._turns()
        self._loops.add(turns)
        return turns

    def _turns(self) -> Generator[Any, None, None]:
        if (other := current_run()) is not None:
            raise PhaseError(
                f"The run {self.name!r} cannot start, as this thread trains {other!r}: finish that "
                "loop first, or write nbtrain.track(...) in it for a loop of the same run."
            )
        self._engine.trained.functions = current_loop()
        super().start()
        try:
            self._interrupts.catch()
            with self._reporting_pauses():
                self.attempt.begin(self._engine.session)
                self._engine.begin(self)
                with self.handle.summaries():  # also those of the body, which this thread runs
                    yield from self._engine.tracks.over(self._iterable, self.handle)
        except GeneratorExit:
            self._end(self.handle.track.abandoned_by or left_by(), is_closed=True)
            raise
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)
        if (late := self.attempt.error) is not None:
            raise late.with_traceback(self.attempt.traceback)

    @contextlib.contextmanager
    def _reporting_pauses(self) -> Iterator[None]:
        """Reports pauses below the cell that loops, within a block."""
        pauses = Pauses(partial(words_of_pause, self.attempt.context, Wait.LOOP))
        here = contextvars.copy_context()
        forget = self.on_tick(lambda: here.run(pauses.report))
        try:
            yield
        finally:
            forget()

    def _check_around(self) -> None:
        """Checks that no loop of the program, untracked, would start the run in each turn.

        Runs with names of their own may be made in the turns of a loop.
        """
        code, line = callers()[0]
        source = "".join(linecache.getlines(code.co_filename))
        tree = for_loops.parsed(source)
        is_lambda = code.co_name == "<lambda>"  # a loop around it may not be around its call
        loops = [] if tree is None or is_lambda else for_loops.around(tree, line)
        loop = next((each for each in loops if self._is_again_in(each, code.co_filename)), None)
        if loop is None:
            return
        given, tracked = for_loops.tracked_line(loop, source, "nbtrain.track")
        write = f"write `{tracked}`" if tracked else "write nbtrain.track(...) in this line"
        raise ArgumentError(
            f"The loop around it would start a run in each turn. Line {loop.lineno}, "
            f"`{given}`: {write}, and `for ... in nbtrain.track(...)` within it has the steps of "
            "the same run. For a run of each turn, make each there and with another name=."
        )

    def _is_again_in(self, loop: ast.For, filename: str) -> bool:
        """Returns whether each turn of a loop would start this run, or one that continues it."""
        lines = [line for code, line in self._made if code.co_filename == filename]
        if self._folder.numbered or not any(for_loops.has_in_body(loop, each) for each in lines):
            return True
        is_made_here = self._made[0][0].co_filename == filename
        fixed = is_made_here and for_loops.are_fixed(loop, lines[0], ("name", "logdir"))
        return fixed and not self._settings.fresh

    def _end(self, error: BaseException | None, *, is_closed: bool = False) -> None:
        """Ends the run; it has failed with an error, unless the user or the program ended it.

        Args:
            is_closed: Whether the program has left the loop, so that no error can be raised in it.
        """
        if threading.get_ident() != self.attempt.context.commands.thread:
            # The garbage collector closes the loop, perhaps in a thread of the run.
            name = f"nbtrain end {self.name}"
            threading.Thread(
                target=self._end_attempt, args=(error,), name=name, daemon=True
            ).start()
        else:
            self._end_attempt(error, is_closed=is_closed)

    def _end_attempt(self, error: BaseException | None, *, is_closed: bool = True) -> None:
        self._interrupts.release()
        complete, is_asked_to = error is None, isinstance(error, (KeyboardInterrupt, SystemExit))
        if isinstance(error, UnknownError):
            # The error may be that of a second interrupt, or of a wait that the stop has cancelled.
            is_cancelled = self.coord.should_stop() and _is_of_tensorflow(error)
            is_asked_to = self._interrupts.has_come or is_cancelled
        if is_asked_to:
            self.coord.request_stop()
            error = None
        with self._interrupts.holding() as held:
            self.attempt.end(error, complete=complete)
            # Waits so that the picture, or the line of a script, is complete.
            self.attempt.monitor_threads.join(LAST_ROUND_SECS)
            if threading.current_thread() is threading.main_thread():
                endings.await_signal(self.attempt.context.settings.grace)
        if held.is_set() and not is_asked_to:
            if not is_closed:
                raise KeyboardInterrupt
            _thread.start_new_thread(_thread.interrupt_main, ())

    def _abandon(self, error: BaseException | None = None) -> None:
        self.handle.track.abandoned_by = error or SystemExit()
        for turns in list(self._loops):
            turns.close()


def _is_of_tensorflow(error: BaseException) -> bool:
    """Returns whether code of TensorFlow or Keras has raised an error."""
    part = error.__traceback__
    while part is not None and part.tb_next is not None:
        part = part.tb_next
    name = "" if part is None else part.tb_frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0] in ("tensorflow", "keras")


def current_loop() -> Callable[[], Sequence[Any]]:
    """Returns a callable that returns the program's loop over the run, as a function in a tuple.

    It must be called in the same thread while the loop runs, and reads the names of that moment.
    """
    code, line = callers()[0]
    tree = for_loops.parsed("".join(linecache.getlines(code.co_filename)))
    loop = None if tree is None else for_loops.begun_at(tree, line)
    if loop is None:
        return lambda: ()

    def functions() -> Sequence[Any]:
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        if frame is None:
            return ()
        names = {**frame.f_globals, **frame.f_locals}
        found = for_loops.as_function(loop, code.co_filename, names)
        return () if found is None else (found,)

    return functions


def current_run() -> Run | None:
    """Returns the run that trains in the calling thread; None if there is none."""
    host = owner.get()
    run = None if host is None else registry.runs.get(host.name)
    if not isinstance(run, Run) or run.handle.host is not host:
        return None
    return run if run.attempt.context.commands.thread == threading.get_ident() else None
