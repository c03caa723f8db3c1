"""A folder in a store: a bucket, a disk, or any other place that fsspec knows by an address.

store = Store("s3://bucket/runs", "digits")    # ArgumentError: no such scheme, a missing extra
store.check()                                  # ArgumentError: no such bucket, no permission
store.put(path, "checkpoints/ckpt-300.index"); store.sizes(); store.delete("...")
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError

# The ending of the name of a file that is being written to a disk.
PART = ".part"

# The extra that reads an address of a scheme.
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}

# Seconds without an answer after which a request fails. A slow line needs longer for a large file:
# one more second for each `_BYTES_A_SEC`. A store reports its progress at least after each part of
# `_PART_BYTES`.
ANSWER_SECS = 30.0
_BYTES_A_SEC, _PART_BYTES = 250_000, 100 << 20

# Seconds to connect, and the number of tries: the caller tries again, and reports it.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 10, "retries": {"max_attempts": 2}}}
}
_TRIES = 2

_USER = re.compile(r"(?<=://)[^/@]*@")

# The most characters of an error that are reported.
_CHARS = 300


class Store:
    """The folder of one run in a store; any thread.

    Args:
        address: The address of the folder that contains the folders of runs.
        name: The name of the run.

    Attributes:
        address: The address of the run's folder, without a password.

    Raises:
        ArgumentError: The address cannot be used.
    """

    def __init__(self, address: str, name: str) -> None:
        self._pending: _Pending | None = None
        if not address.partition("://")[2].strip("/") and "://" in address:
            raise ArgumentError(
                f"mirror={address!r} names no folder: give one, such as s3://bucket/runs, "
                "gs://bucket/runs or file:///mnt/disk/runs."
            )
        self.address = _USER.sub("", f"{address.rstrip('/')}/{name}")
        scheme = address.partition("://")[0]
        options = dict(_OPTIONS.get(_EXTRAS.get(scheme, ""), {}))
        # Its own instance, without a cache: others write there too.
        options |= {"skip_instance_cache": True, "use_listings_cache": False}
        try:
            fsspec = importlib.import_module("fsspec.core")
            self._store, self._root = fsspec.url_to_fs(f"{address.rstrip('/')}/{name}", **options)
        except ImportError as error:
            extra = _EXTRAS.get(scheme)
            advice = f'pip install "nbtrain[{extra}]"' if extra else "pip install fsspec"
            why = f"a library is missing ({error})"
            raise ArgumentError(f"{self._given} cannot be used: {why}: {advice}") from None
        except Exception as error:
            raise ArgumentError(
                f"{self._given} cannot be used: {words(error)}. Give the address of a folder with "
                "its scheme, such as s3://bucket/runs, gs://bucket/runs or file:///mnt/disk/runs."
            ) from error
        if hasattr(self._store, "retries"):
            self._store.retries = _TRIES
        self._is_local = "file" in (self._store.protocol, *self._store.protocol)

    @property
    def _given(self) -> str:
        return f"mirror={self.address.rpartition('/')[0]!r}"

    def check(self) -> None:
        """Writes a file and deletes it.

        Raises:
            ArgumentError: The store cannot be written.
        """
        probe = f".nbtrain-{secrets.token_hex(4)}"
        try:
            self.write(b"nbtrain", probe)
            self.delete(probe)
        except Exception as error:
            raise ArgumentError(
                f"{self._given} cannot be written: {words(error)}. Mend that; or leave mirror= "
                "out, and then a run that only the mirror holds begins from scratch."
            ) from error

    @property
    def stalled_secs(self) -> float | None:
        """Seconds without an answer, beyond those that a large file needs on a slow line.

        0 while bytes move; None if nothing waits for an answer. Any thread.
        """
        return (
            None
            if (pending := self._pending) is None
            else max(0.0, ANSWER_SECS - pending.seconds_left)
        )

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the files in bytes, by their paths in the folder."""
        try:
            found = self._ask(lambda _: self._act("find", self._root, detail=True))
        except FileNotFoundError:
            return {}
        within = len(self._root.rstrip("/")) + 1
        return {path[within:]: int(about["size"]) for path, about in found.items()}

    def put(self, local: Path, path: str) -> None:
        """Copies a file of this machine to a path, and replaces a file there as a whole."""

        def put(callback: Any) -> Any:
            with self._replacing(path) as target:
                return self._act("put_file", str(local), target, callback=callback)

        self._ask(put, local.stat().st_size)

    def write(self, content: bytes, path: str) -> None:
        """Writes a small file as a whole."""

        def write(_callback: Any) -> Any:
            with self._replacing(path) as target:
                return self._act("pipe_file", target, content)

        self._ask(write, len(content))

    def read(self, path: str, size: int = 0) -> bytes:
        """Returns the content of a small file.

        Args:
            size: Its size in bytes; 0 if it is not known.
        """
        content = self._ask(lambda _: self._act("cat_file", self._at(path)), size)
        return bytes(content)

    def get(self, path: str, local: Path, size: int = 0) -> None:
        """Copies a file to this machine; see `read`."""
        local.parent.mkdir(parents=True, exist_ok=True)

        def get(callback: Any) -> Any:
            return self._act("get_file", self._at(path), str(local), callback=callback)

        self._ask(get, size)

    def delete(self, path: str) -> None:
        """Deletes a file; does nothing if it is gone."""
        with contextlib.suppress(FileNotFoundError):
            self._ask(lambda _: self._act("rm_file", self._at(path)))

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    def _act(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of the file system; one with its own loop returns a coroutine."""
        name = f"_{method}" if self._store.async_impl else method
        return getattr(self._store, name)(*args, **kwargs)

    def _ask(self, act: Callable[[Any], Any], size: int = 0) -> Any:
        """Waits for an answer, as long as bytes move.

        Args:
            act: Asks the file system; gets a callback of fsspec's for the progress.
            size: The number of bytes that `act` moves.

        Raises:
            TimeoutError: There was no answer. The request is cancelled, if the store can do that.
        """
        pending = self._pending = _Pending(ANSWER_SECS + min(size, _PART_BYTES) / _BYTES_A_SEC)
        hooks = {"moved": pending.moved}
        callback = importlib.import_module("fsspec.callbacks").Callback(hooks=hooks)
        try:
            answer = self._asked(functools.partial(act, callback))
            while not wait([answer], pending.seconds_left).done:
                if pending.seconds_left == 0.0:
                    answer.cancel()
                    raise TimeoutError(f"no answer within {pending.secs:.0f} s")
            return answer.result()
        finally:
            self._pending = None

    def _asked(self, act: Callable[[], Any]) -> Future[Any]:
        """Starts a request, in the loop of the file system or in a new thread."""
        if self._store.async_impl:
            return asyncio.run_coroutine_threadsafe(act(), self._store.loop)
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()  # a thread cannot be cancelled

        def run() -> None:
            try:
                answer.set_result(act())
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                answer.set_exception(error)

        threading.Thread(target=run, name="nbtrain store", daemon=True).start()
        return answer

    @contextlib.contextmanager
    def _replacing(self, path: str) -> Iterator[str]:
        """Yields the path to write to: stores replace a file at once, and disks by a rename."""
        target = self._at(path)
        if not self._is_local:
            yield target
            return
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        part = f"{target}{PART}"
        yield part
        Path(part).replace(target)


class _Pending:
    """A request that waits for its answer, for some seconds since bytes last moved."""

    def __init__(self, secs: float) -> None:
        self.secs = secs
        self.moved()

    def moved(self, *_: object, **__: object) -> None:
        """Starts the seconds again; a hook of fsspec's."""
        self._until = time.monotonic() + self.secs

    @property
    def seconds_left(self) -> float:
        """Seconds until the request fails."""
        return max(0.0, self._until - time.monotonic())


def words(error: BaseException) -> str:
    """Returns an error of a store in one line."""
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0][:_CHARS].rstrip(".") if lines else "") or type(error).__name__
