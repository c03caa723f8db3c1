"""Traces a step function before a run starts, and checks its result."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.recording.tags import by_tag, check_real, described
from nbtrain.run.thread.summaries import for_tracing, theirs


class Trace:
    """The tracing of a `tf.function` in its own thread, so that a slow one does not block the cell.

    Its result must be scalars by name. A plain Python function is not called here.

    Args:
        step: The function.
        args: Specifications of its arguments; None if unknown, so that nothing is traced.

    Attributes:
        graph: The function's `FuncGraph`; None before, or for a plain function.
    """

    def __init__(self, step: Any, args: Sequence[Any] | None = ()) -> None:
        self.step = step
        self.graph: Any = None
        self._args = args
        self._start()

    def retry(self) -> None:
        """Traces again after an error, whose cause may be fixed by now."""
        if self._error is not None:
            self._start()

    def join(self, timeout: float | None = None) -> None:
        """Waits at most `timeout` seconds for the end, and raises the error of the tracing."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error

    def _start(self) -> None:
        self._error: BaseException | None = None
        self._theirs = theirs()
        self._thread = threading.Thread(target=self._check, name="nbtrain trace", daemon=True)
        self._thread.start()

    def _check(self) -> None:
        try:
            if hasattr(self.step, "get_concrete_function") and self._args is not None:
                with self._theirs(), for_tracing():
                    traced = self.step.get_concrete_function(*self._args)
                _check_result(traced.structured_outputs)
                self.graph = traced.graph
        except BaseException as error:  # noqa: BLE001 - kept, and raised by join()
            self._error = error


def _check_result(result: Any) -> None:
    for tag, tensor in by_tag(result).items():
        shape = getattr(tensor, "shape", None)
        if not isinstance(tag, str) or shape is None or shape.rank not in (0, None):
            raise ArgumentError(
                f"step() returns {described(tensor)} as {tag!r}: return scalars by name, such as "
                "tf.reduce_mean(...) gives, and give pictures to tf.summary.image(...) in the step."
            )
        check_real(tag, tensor)
