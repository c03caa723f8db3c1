"""The order in which a run is copied to its mirror: it always holds a whole checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.run.outside.mirror_plan import (
    CopyStep,
    Snapshot,
    Version,
    complete,
    is_mirrored,
    lacking,
    latest,
    named,
    steps,
)

FOLDER, KIND = "checkpoints/", "data-00000-of-00001"
EVENTS = "events.out.tfevents.1.host.1.0.nbtrain"


class Run:
    """The checkpoints of a run and their mirror; a version stands for what a file holds."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.saved: dict[str, int] = {}  # the number of the save, by name
        self.saves = 0
        self.mirrored: dict[str, Version | None] = {}
        self.state: list[str] = []  # the names in the state file of the mirror

    def save(self, step: int) -> None:
        name = f"ckpt-{step}"
        self.saves += 1
        self.saved.pop(name, None)
        self.saved[name] = self.saves
        for old in list(self.saved)[: -self.keep]:
            del self.saved[old]

    def look(self) -> Snapshot:
        files = {f"{FOLDER}checkpoint": Version(1, self.saves, 1)}
        for name, save in self.saved.items():
            for ending in ("data-00000-of-00002", "data-00001-of-00002", "index"):
                files[f"{FOLDER}{name}.{ending}"] = Version(1, save, 1)
        return Snapshot(files, {FOLDER: state(*self.saved)}) if self.saved else Snapshot({})

    def do(self, step: CopyStep) -> None:
        if step.version is None:
            del self.mirrored[step.path]
        else:
            self.mirrored[step.path] = step.version
        if step.content is not None:
            self.state = list(named(step.content))

    @property
    def whole(self) -> list[str]:
        """The checkpoints of the mirror that can be restored."""
        found = complete(list(self.mirrored), FOLDER)
        return [
            name
            for name in self.state
            if name in found and len({self.mirrored[path] for path in found[name]}) == 1
        ]


def state(*names: str) -> bytes:
    """The state file that names some checkpoints."""
    lines = [f'model_checkpoint_path: "{names[-1]}"' if names else ""]
    return "\n".join([*lines, *(f'all_model_checkpoint_paths: "{n}"' for n in names)]).encode()


def short(found: Sequence[CopyStep]) -> list[str]:
    """The steps in words."""
    words = [step.path.removeprefix(FOLDER).replace("-00000-of-00001", "") for step in found]
    return [("" if step.version else "-") + word for step, word in zip(found, words, strict=True)]


def look(*names: str, save: int = 1) -> Snapshot:
    """A folder with checkpoints of one part each."""
    files = {f"{FOLDER}checkpoint": Version(1, save, 1)}
    for name in names:
        files |= {f"{FOLDER}{name}.{end}": Version(1, save, 1) for end in (KIND, "index")}
    return Snapshot(files, {FOLDER: state(*names)})


def test_the_newest_checkpoint_is_copied_first_and_named_when_it_is_whole() -> None:
    found = look("ckpt-1", "ckpt-2")
    assert short(steps(found, {})) == ["ckpt-2.data", "ckpt-2.index", "checkpoint"]
    first = {step.path: step.version for step in steps(found, {})}
    assert short(steps(found, first)) == ["ckpt-1.data", "ckpt-1.index"]
    assert len(lacking(found, {})) == 5
    assert lacking(found, first) == [f"{FOLDER}ckpt-1.{KIND}", f"{FOLDER}ckpt-1.index"]


def test_what_the_run_has_deleted_is_deleted_last_and_the_index_before_the_data() -> None:
    assert short(steps(look("ckpt-2"), {**look("ckpt-1").files, "steering.jsonl": None})) == [
        *("ckpt-2.data", "ckpt-2.index", "-ckpt-1.index", "-ckpt-1.data")
    ]


def test_a_checkpoint_saved_again_loses_its_index_first() -> None:
    assert short(steps(look("ckpt-1", save=2), look("ckpt-1").files)) == [
        *("-ckpt-1.index", "ckpt-1.data", "ckpt-1.index", "checkpoint")
    ]


def test_an_emptied_folder_empties_no_mirror() -> None:
    assert steps(Snapshot({}), look("ckpt-1").files) == []


def test_the_start_of_a_trial_leaves_the_mirror_with_the_trial() -> None:
    trial = {path.replace(FOLDER, "checkpoints/trial/"): None for path in look("ckpt-1").files}
    found = short(steps(look("ckpt-1"), {**look("ckpt-1").files, **trial}))
    assert found == ["-trial/checkpoint", "-trial/ckpt-1.index", "-trial/ckpt-1.data"]


def test_a_checkpoint_that_is_not_whole_is_not_copied() -> None:
    files = {path: version for path, version in look("ckpt-1").files.items() if "data" not in path}
    assert steps(Snapshot(files, {FOLDER: state("ckpt-1")}), {}) == []


def test_nothing_is_to_be_done_for_a_mirror_that_has_everything() -> None:
    found = look("ckpt-1", "ckpt-2")
    assert steps(found, found.files) == []
    assert latest(found, found.files) == "ckpt-2"
    assert latest(found, {}) is None


def test_the_journal_comes_before_a_checkpoint_and_the_event_files_after_it() -> None:
    found = look("ckpt-1")
    grown = {EVENTS: Version(2, 2, 1), "steering.jsonl": Version(1, 1, 1)}
    found = Snapshot({**found.files, **grown}, found.states)
    order = ["steering.jsonl", "ckpt-1.data", "ckpt-1.index", "checkpoint", EVENTS]
    assert short(steps(found, {})) == order
    assert short(steps(found, {**found.files, EVENTS: Version(1, 1, 1)})) == [EVENTS]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("steering.jsonl", True),
        ("checkpoints/checkpoint", True),
        ("checkpoints/trial/ckpt-1.index", True),
        ("model.ckpt-1.meta", True),
        ("checkpoints/last_good/ckpt-1.index", False),
        ("checkpoints/ckpt-1_temp/part-00000-of-00001.data-00000-of-00001", False),
        ("checkpoints/../../ckpt-1.index", False),
        ("mailbox/steering.jsonl", False),
        ("status.json", False),
        ("run.lock", False),
    ],
)
def test_checkpoints_curves_and_journal_are_mirrored(path: str, wanted: bool) -> None:
    assert is_mirrored(path) is wanted


def test_paths_of_another_machine_in_a_state_file_are_read_as_names() -> None:
    text = b'model_checkpoint_path: "/a/ckpt-2"\nall_model_checkpoint_paths: "/a/ckpt-2"\n'
    assert named(text) == ("ckpt-2",)
    assert named(None) == named(b"\xff") == ()


@given(
    keep=st.integers(2, 3),
    acts=st.lists(st.tuples(st.sampled_from(["new", "again"]), st.integers(0, 12))),
)
def test_the_mirror_holds_a_whole_checkpoint_wherever_it_breaks_off(
    keep: int, acts: list[tuple[str, int]]
) -> None:
    run = Run(keep)
    for number, (act, most) in enumerate(acts):
        if act == "new" or len(run.saved) < 2:
            run.save(number)
        else:
            run.save(int(list(run.saved)[-1].removeprefix("ckpt-")))
        had = len(run.whole)
        for step in steps(run.look(), run.mirrored)[:most]:
            run.do(step)
            assert run.whole or not had or len(run.saved) < 2
    while todo := steps(run.look(), run.mirrored):
        had = len(run.whole)
        for step in todo:
            run.do(step)
            assert run.whole or not had or len(run.saved) < 2
    assert sorted(run.whole) == sorted(run.saved)
    assert lacking(run.look(), run.mirrored) == []
