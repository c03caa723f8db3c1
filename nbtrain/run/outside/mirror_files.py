"""Lists, keeps aside, compares and fetches the files of a run's folder and its mirror.

opened("s3://bucket/runs", "digits", folder)   # fetches the run if the mirror has more of it
snapshot(folder)                               # the versions of the files to mirror
kept_aside(folder, steps)                      # keeps files that the run may delete meanwhile
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.own_files import NotOwnError
from nbtrain.run.outside import mirror_plan
from nbtrain.run.outside.mirror_plan import FOLDERS, JOURNAL, STATE, CopyStep, Snapshot, Version
from nbtrain.run.outside.store import PART, Store, words

# The folder in a run's folder that a fetch writes into. While it exists, the fetch has not ended.
FETCHING = ".mirror-fetch"

# The folder in a run's folder with links to the files that are being copied, and copies of the
# files that grow.
HELD = ".mirror-held"


@dataclass(frozen=True, slots=True)
class Opened:
    """A mirror that was compared with the folder.

    Attributes:
        store: The folder of the run in the store.
        mirrored: Its files by path, with the version of the folder's file if both are the same;
            otherwise None.
    """

    store: Store
    mirrored: dict[str, Version | None]


def snapshot(folder: Path) -> Snapshot:
    """Returns the files of a folder that belong in its mirror.

    Raises:
        OSError: The folder cannot be read.
    """
    states: dict[str, bytes] = {}
    files: dict[str, Version] = {}
    for below in FOLDERS:
        path = folder / below / STATE
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, NotOwnError):
            # The version first: if the file is replaced meanwhile, the next snapshot has another
            # one.
            version = _version(own_files.state(path))
            states[below] = _content(path)
            files[below + STATE] = version
    for below in FOLDERS:
        # A file that is deleted meanwhile ends the snapshot: the next one finds the rest.
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(folder / below) as found,
        ):
            for each in found:
                wanted = mirror_plan.is_mirrored(below + each.name) and each.name != STATE
                if wanted and each.is_file(follow_symlinks=False):
                    files[below + each.name] = _version(each.stat(follow_symlinks=False))
    return Snapshot(files, states)


def _content(path: Path) -> bytes:
    with own_files.opened(path) as file:
        return file.read()


def _version(found: os.stat_result) -> Version:
    return Version(found.st_size, found.st_mtime_ns, found.st_ino)


@contextlib.contextmanager
def kept_aside(folder: Path, steps: Sequence[CopyStep]) -> Iterator[dict[str, Path] | None]:
    """Keeps the files of some steps aside: the run may delete, replace or extend them meanwhile.

    Yields:
        The places of the files by their paths; None if the run has already replaced one.
    """
    aside = folder / HELD
    shutil.rmtree(aside, ignore_errors=True)  # left by a killed process
    aside.mkdir()
    try:
        copies = [step for step in steps if step.version is not None and step.content is None]
        places = {step.path: aside / str(number) for number, step in enumerate(copies)}
        is_held = all(_keep_aside(folder / step.path, places[step.path], step) for step in copies)
        yield places if is_held else None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _keep_aside(path: Path, place: Path, step: CopyStep) -> bool:
    """Links a file aside, or copies one that grows; returns whether its version is the step's.

    A file system without links gets a copy too.
    """
    try:
        if not mirror_plan.is_growing(step.path):
            with contextlib.suppress(OSError):
                place.hardlink_to(path)
        if not place.exists():
            with own_files.opened(path) as file, open(place, "xb") as copy:
                shutil.copyfileobj(file, copy)
        return mirror_plan.is_growing(step.path) or _version(own_files.state(path)) == step.version
    except FileNotFoundError:
        return False


def opened(address: str, name: str, folder: Path, *, new: bool) -> Opened:
    """Compares the folder with its mirror, and fetches the run if the mirror has more of it.

    Compares the journals, which are only appended to. If the folder's journal has all lines of the
    mirror's, the run continues from the folder.

    Args:
        address: The folder of the store that contains the mirrors of runs.
        name: The run's name.
        folder: The run's folder, which is locked.
        new: Whether the run must be a new one, such as a branch.

    Raises:
        ArgumentError: The store cannot be used; the folder and the mirror have both lines that the
            other lacks; or the mirror has no whole checkpoint. Nothing was changed.
    """
    store = Store(address, name)
    store.check()
    try:
        sizes = _sizes(store)
        if new and sizes:
            raise ArgumentError(
                f"{store.address} holds a run already, and a branch begins in a new folder: give "
                "another name=."
            )
        if sizes and _lacks_lines(store, folder, sizes):
            _fetch(store, folder, sizes)
        return Opened(store, _compared(store, folder, sizes))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"The mirror {store.address} cannot be compared with {folder}: {words(error)}. Start "
            "again when it can be; without mirror= a run that only the mirror holds would begin "
            "from scratch."
        ) from error


def _sizes(store: Store) -> dict[str, int]:
    """Returns the sizes of the mirror's files; deletes parts that a killed process has left."""
    sizes = {}
    for path, size in store.sizes().items():
        if mirror_plan.is_mirrored(path.removesuffix(PART)):
            if path.endswith(PART):
                store.delete(path)
            else:
                sizes[path] = size
    return sizes


def _lacks_lines(store: Store, folder: Path, sizes: Mapping[str, int]) -> bool:
    """Returns whether the folder has an earlier state of the mirror, by their journals.

    A folder without a journal counts as an earlier state if it is empty, or if a fetch into it has
    not ended.

    Raises:
        ArgumentError: Each journal has lines that the other lacks.
    """
    files = snapshot(folder).files
    own = _content(folder / JOURNAL) if JOURNAL in files else b""
    if not own and (not files or (folder / FETCHING).exists()):
        return True
    there = store.read(JOURNAL, sizes[JOURNAL]) if JOURNAL in sizes else b""
    if own.startswith(there):
        return False
    if own and there.startswith(own):
        return True
    pairs = zip(own.splitlines(), there.splitlines(), strict=False)
    line = next((number for number, (a, b) in enumerate(pairs, 1) if a != b), 1)
    raise ArgumentError(
        f"The folder {folder} and its mirror {store.address} hold different runs: their journals "
        f"differ from line {line} on. Give another name=; or delete the one of the two that is "
        "not wanted."
    )


def _compared(store: Store, folder: Path, sizes: Mapping[str, int]) -> dict[str, Version | None]:
    """Returns the mirror's files, each with the folder's version if both are the same.

    An index contains a checksum of each tensor, so the files of two checkpoints are the same if
    their indexes are. Files that are only appended to are the same if they have the same length.
    """
    found: dict[str, Version | None] = dict.fromkeys(sizes)
    files = snapshot(folder).files
    alike = {path for path, version in files.items() if sizes.get(path) == version.size}
    for path in filter(mirror_plan.is_growing, alike):
        found[path] = files[path]
    for below in FOLDERS:
        for parts in mirror_plan.complete(alike, below).values():
            if store.read(parts[-1]) == _content(folder / parts[-1]):
                found |= {path: files[path] for path in parts}
    return found


def _fetch(store: Store, folder: Path, sizes: Mapping[str, int]) -> None:
    """Copies the run from its mirror into the folder, its journal last.

    Raises:
        ArgumentError: A file has another size than it should, or no checkpoint is whole.
    """
    wanted = _wanted(store, sizes)
    temporary = folder / FETCHING
    was_there = temporary.exists()
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        for path in wanted:
            store.get(path, temporary / path, sizes[path])
            if (size := (temporary / path).stat().st_size) != sizes[path]:
                raise ArgumentError(
                    f"{store.address}/{path} has {sizes[path]:,} bytes, of which {size:,} came: is "
                    "another run writing there? Start again."
                )
    except BaseException:
        if not was_there:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    for path in sorted(wanted, key=lambda path: path == JOURNAL):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (temporary / path).replace(folder / path)
    shutil.rmtree(temporary)


def _wanted(store: Store, sizes: Mapping[str, int]) -> list[str]:
    """Returns the files of the mirror to fetch: all except parts of incomplete checkpoints.

    Raises:
        ArgumentError: The mirror names checkpoints, and none of them is whole.
    """
    wanted = [path for path in sizes if mirror_plan.is_growing(path)]
    named: list[str] = []
    whole: list[str] = []
    for below in FOLDERS:
        if (state := below + STATE) in sizes:
            wanted.append(state)
            named += mirror_plan.named(store.read(state, sizes[state]))
        for files in mirror_plan.complete(sizes, below).values():
            whole += files
    if named and not whole:
        raise ArgumentError(
            f"The mirror {store.address} is half written: it names the checkpoints "
            f"{', '.join(named)}, and has all files of none. If another machine still has the "
            "run, copy its folder here; or give another name= to begin from scratch."
        )
    return wanted + whole
