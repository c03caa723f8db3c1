"""Methods of classes that some threads call in another way, for a while."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class ThreadMethod:
    """A method of a class that threads can replace, each for itself.

    The class has its own method again once no thread replaces it.

    Args:
        owner: The class.
        name: The name of the method.

    Attributes:
        original: The method of the class.
    """

    def __init__(self, owner: type, name: str) -> None:
        self.original: Callable[..., Any] = getattr(owner, name)
        self._owner, self._name = owner, name
        self._calls: dict[int, Callable[..., Any]] = {}  # by thread
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def replaced(self, call: Callable[..., Any]) -> Iterator[None]:
        """Makes the calling thread call a function instead, within a block."""
        thread = threading.get_ident()
        with self._lock:
            before = self._calls.get(thread)
            self._calls[thread] = call
            setattr(self._owner, self._name, self._method())
        try:
            yield
        finally:
            with self._lock:
                if before is None:
                    del self._calls[thread]
                else:
                    self._calls[thread] = before
                if not self._calls:
                    setattr(self._owner, self._name, self.original)

    def _method(self) -> Callable[..., Any]:
        calls, original = self._calls, self.original

        def method(item: Any, *args: Any, **kwargs: Any) -> Any:
            return calls.get(threading.get_ident(), original)(item, *args, **kwargs)

        return method
