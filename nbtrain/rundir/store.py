"""A folder in a store: a bucket, a disk, or whatever else fsspec knows by an address.

store = Store("s3://bucket/runs", "digits")    # ArgumentError: no such scheme, a missing extra
store.check()                                  # ArgumentError: no such bucket, no permission
store.put(path, "checkpoints/ckpt-300.index"); store.sizes(); store.delete("...")
"""

from __future__ import annotations

import contextlib
import importlib
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError

# Ends the name of a file on a disk that is being written.
PART = ".part"

# The extra that reads an address of a scheme.
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}

# Seconds to connect, and tries: the caller tries again, and says so.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 10, "retries": {"max_attempts": 2}}}
}
_TRIES = 2

_USER = re.compile(r"(?<=://)[^/@]*@")

# The most characters of an error that are told.
_CHARS = 300


class Store:
    """A folder in a store, of its own for each run; any thread.

    Args:
        address: The address of the folder that holds the folders of runs.
        name: The name of the run.

    Attributes:
        address: The address of the run's folder, without a password.

    Raises:
        ArgumentError: The address cannot be used.
    """

    def __init__(self, address: str, name: str) -> None:
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
            ArgumentError: That is not possible.
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

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the files in bytes, by their paths in the folder."""
        try:
            found = self._store.find(self._root, detail=True)
        except FileNotFoundError:
            return {}
        within = len(self._root.rstrip("/")) + 1
        return {path[within:]: int(about["size"]) for path, about in found.items()}

    def put(self, local: Path, path: str) -> None:
        """Copies a file of this machine, which replaces one of this path as a whole."""
        with self._replacing(path) as target:
            self._store.put_file(str(local), target)

    def write(self, content: bytes, path: str) -> None:
        """Writes a small file as a whole."""
        with self._replacing(path) as target:
            self._store.pipe_file(target, content)

    def read(self, path: str) -> bytes:
        """Returns the content of a small file."""
        content = self._store.cat_file(self._at(path))
        return bytes(content)

    def get(self, path: str, local: Path) -> None:
        """Copies a file to this machine."""
        local.parent.mkdir(parents=True, exist_ok=True)
        self._store.get_file(self._at(path), str(local))

    def delete(self, path: str) -> None:
        """Deletes a file; does nothing if it is gone."""
        with contextlib.suppress(FileNotFoundError):
            self._store.rm_file(self._at(path))

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    @contextlib.contextmanager
    def _replacing(self, path: str) -> Iterator[str]:
        """Gives the place to write to: stores replace a file at once, and disks by a rename."""
        target = self._at(path)
        if not self._is_local:
            yield target
            return
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        part = f"{target}{PART}"
        yield part
        Path(part).replace(target)


def words(error: BaseException) -> str:
    """Returns an error of a store in one line."""
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0][:_CHARS].rstrip(".") if lines else "") or type(error).__name__
