"""Traces a step function before a run starts, and checks its result."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.recording.tags import check_real


class Trace:
    """The tracing of a `tf.function` in its own thread, so that a slow one does not block the cell.

    Its result must be scalars by name. A plain Python function is not called here; its first result
    is checked.

    Args:
        step: The function.
        args: Specifications of its arguments; None if unknown: then nothing is traced.

    Attributes:
        graph: The graph of the function, a `FuncGraph`; None before, or for a plain function.
    """

    def __init__(self, step: Any, args: Sequence[Any] | None = ()) -> None:
        self.step = step
        self.graph: Any = None
        self._args = args
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._check, name="nbtrain trace", daemon=True)
        self._thread.start()

    def again(self) -> Trace:
        """Returns a new trace of the same function."""
        return Trace(self.step, self._args)

    @property
    def failed(self) -> bool:
        """True if the tracing has failed."""
        return self._error is not None

    def join(self, timeout: float | None = None) -> None:
        """Waits for the end, at most `timeout` seconds, and raises the error of the tracing."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error

    def _check(self) -> None:
        try:
            if hasattr(self.step, "get_concrete_function") and self._args is not None:
                traced = self.step.get_concrete_function(*self._args)
                _check_result(traced.structured_outputs)
                self.graph = traced.graph
        except BaseException as error:  # noqa: BLE001 - kept, and raised by join()
            self._error = error


def _check_result(result: Any) -> None:
    """Raises an ArgumentError unless the result is scalars by name."""
    if not isinstance(result, Mapping):
        raise ArgumentError(
            f"step() returns {_described(result)}: return a dict of scalars, such as "
            '{"loss": loss}.'
        )
    for tag, tensor in result.items():
        shape = getattr(tensor, "shape", None)
        if not isinstance(tag, str) or shape is None or shape.rank not in (0, None):
            raise ArgumentError(
                f"step() returns {_described(tensor)} as {tag!r}: return scalars by name, such as "
                "tf.reduce_mean(...) gives."
            )
        check_real(tag, tensor)


def _described(value: object) -> str:
    shape = getattr(value, "shape", None)
    kind = "None" if value is None else f"a {type(value).__name__}"
    return kind if shape is None else f"{kind} of shape {shape}"
