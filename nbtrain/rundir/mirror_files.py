"""A run's folder and its mirror at the start of a run: looks, compares, and fetches.

opened("s3://bucket/runs", "digits", folder)   # fetches the run if the mirror has more of it
snapshot(folder)                               # the versions of the files to mirror
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core import mirror_plan, own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.mirror_plan import ASIDE, FOLDERS, JOURNAL, STATE, Snapshot, Step, Version
from nbtrain.core.own_files import NotOwnError
from nbtrain.rundir.store import PART, Store, words

# The folder in a run's folder that a fetch writes into: while it is there, the fetch has not ended.
FETCHING = ".mirror-fetch"

# The folder in a run's folder with links to what is being copied.
HELD = ".mirror-held"


@dataclass(frozen=True, slots=True)
class Opened:
    """A mirror that was compared with the folder.

    Attributes:
        store: The folder of the run in the store.
        mirrored: Its files; a version if it is the one of the folder.
        fetched: The number of files that were fetched.
    """

    store: Store
    mirrored: dict[str, Version | None]
    fetched: int = 0


def snapshot(folder: Path) -> Snapshot:
    """Returns the files of a folder that belong into its mirror.

    Raises:
        OSError: The folder cannot be read.
    """
    states: dict[str, bytes] = {}
    files: dict[str, Version] = {}
    for below in (*FOLDERS, *ASIDE):
        path = folder / below / STATE
        try:
            # The version first: if the file is replaced meanwhile, the next look sees another one.
            files[below + STATE] = _version(own_files.state(path))
            states[below] = _content(path)
        except (FileNotFoundError, NotADirectoryError, NotOwnError):
            files.pop(below + STATE, None)
    for below in (*FOLDERS, *ASIDE):
        try:
            with os.scandir(folder / below) as found:
                for each in found:
                    path_in = below + each.name
                    wanted = mirror_plan.is_mirrored(path_in) and each.name != STATE
                    if wanted and each.is_file(follow_symlinks=False):
                        files[path_in] = _version(each.stat(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            continue  # also a file that was deleted meanwhile: the next look finds the rest
    return Snapshot(files, states)


def _content(path: Path) -> bytes:
    with own_files.opened(path) as file:
        return file.read()


def _version(found: os.stat_result) -> Version:
    return Version(found.st_size, found.st_mtime_ns, found.st_ino)


@contextlib.contextmanager
def held(folder: Path, steps: Sequence[Step]) -> Iterator[dict[str, Path] | None]:
    """Links the newest checkpoint aside: the run may delete or replace it before it is copied.

    Args:
        folder: The run's folder.
        steps: What is to be done; the newest checkpoint is what comes before the state file.

    Yields:
        The places of its files by their paths; None if the run has deleted or replaced one. Without
        links in the file system it is empty.
    """
    last = max((number for number, step in enumerate(steps) if step.content is not None), default=0)
    copies = [step for step in steps[:last] if step.version is not None]
    if not copies:
        yield {}
        return
    aside = folder / HELD
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield _linked(folder, aside, copies)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _linked(folder: Path, aside: Path, copies: Sequence[Step]) -> dict[str, Path] | None:
    places = {step.path: aside / str(number) for number, step in enumerate(copies)}
    try:
        for step in copies:
            places[step.path].hardlink_to(folder / step.path)
            if _version(places[step.path].stat()) != step.version:
                return None
    except FileNotFoundError:
        return None
    except OSError:  # the file system has no links
        return {}
    return places


def opened(address: str, name: str, folder: Path, *, new: bool) -> Opened:
    """Compares the folder with its mirror, and fetches the run if the mirror has more of it.

    The journals decide, which are only appended to. If the folder has all lines of the mirror, the
    run goes on from the folder.

    Args:
        address: The folder of the store that holds the mirrors of runs.
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
        here = snapshot(folder)
        unfinished = (folder / FETCHING).exists()
        if unfinished or not (not sizes or _has_all_of(store, folder, here, sizes)):
            return Opened(store, *_fetched(store, folder, sizes))
        return Opened(store, _same(store, folder, here, sizes))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"The mirror {store.address} cannot be compared with {folder}: {words(error)}. Start "
            "again when it can be; without mirror= a run that only the mirror holds would begin "
            "from scratch."
        ) from error


def _sizes(store: Store) -> dict[str, int]:
    """Returns the sizes of the mirror's files; deletes what a killed process was writing."""
    found = store.sizes()
    for path in found:
        if path.endswith(PART) and mirror_plan.is_mirrored(path.removesuffix(PART)):
            store.delete(path)
    return {
        path: size
        for path, size in found.items()
        if mirror_plan.is_mirrored(path) and not path.endswith(PART)
    }


def _has_all_of(store: Store, folder: Path, here: Snapshot, sizes: Mapping[str, int]) -> bool:
    """Tells if the folder has all lines of the mirror's journal, and not the other way round.

    Raises:
        ArgumentError: Each has lines that the other lacks.
    """
    there = store.read(JOURNAL, sizes[JOURNAL]) if JOURNAL in sizes else b""
    own = _content(folder / JOURNAL) if JOURNAL in here.files else b""
    if not here.files or (own and own != there and there.startswith(own)):
        return False
    if own.startswith(there):
        return True
    pairs = zip(own.splitlines(), there.splitlines(), strict=False)
    line = next((number for number, (a, b) in enumerate(pairs, 1) if a != b), 1)
    raise ArgumentError(
        f"The folder {folder} and its mirror {store.address} hold different runs: their journals "
        f"differ from line {line} on. Give another name=; or delete the one of the two that is "
        "not wanted."
    )


def _same(
    store: Store, folder: Path, here: Snapshot, sizes: Mapping[str, int]
) -> dict[str, Version | None]:
    """Returns the files of the mirror, with the versions of those that the folder has too.

    An index holds a checksum of each tensor, so files of checkpoints are the same if the indexes
    are. Files that are only appended to are the same if they are as long.
    """
    found: dict[str, Version | None] = dict.fromkeys(sizes)
    alike = {path for path, version in here.files.items() if sizes.get(path) == version.size}
    for path in filter(mirror_plan.is_growing, alike):
        found[path] = here.files[path]
    for below in (*FOLDERS, *ASIDE):
        for files in mirror_plan.complete(list(here.files), below).values():
            if not alike.issuperset(files):
                continue
            if store.read(files[-1]) == _content(folder / files[-1]):
                found |= {path: here.files[path] for path in files}
    return found


def _fetched(
    store: Store, folder: Path, sizes: Mapping[str, int]
) -> tuple[dict[str, Version | None], int]:
    """Copies the run from its mirror into the folder, and returns the files of the mirror.

    Raises:
        ArgumentError: A file has another size than it should, or no checkpoint is whole.
    """
    wanted = _wanted(store, sizes)
    temporary = folder / FETCHING
    unfinished = temporary.exists()
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
        if not unfinished:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    for path in wanted:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (temporary / path).replace(folder / path)
    shutil.rmtree(temporary)
    here = snapshot(folder)
    mirrored: dict[str, Version | None] = dict.fromkeys(sizes)
    return mirrored | {path: here.files[path] for path in wanted if path in here.files}, len(wanted)


def _wanted(store: Store, sizes: Mapping[str, int]) -> list[str]:
    """Returns the files of the mirror that are worth fetching: no parts of checkpoints.

    Raises:
        ArgumentError: The mirror names checkpoints, and none of them is whole.
    """
    wanted = [path for path in sizes if mirror_plan.is_growing(path) or path.endswith(STATE)]
    for below in (*FOLDERS, *ASIDE):
        whole = mirror_plan.complete(list(sizes), below)
        wanted += [path for files in whole.values() for path in files]
        lost = mirror_plan.named(store.read(below + STATE)) if below + STATE in sizes else ()
        if lost and not whole and below in FOLDERS:
            raise ArgumentError(
                f"The mirror {store.address} is half written: it names the checkpoints "
                f"{', '.join(lost)}, and has all files of none. If another machine still has the "
                "run, copy its folder here; or give another name= to begin from scratch."
            )
    return wanted
