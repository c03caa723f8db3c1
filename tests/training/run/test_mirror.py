"""A mirror on a disk: which of the two a run goes on from, and what is refused."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.run.run import Run
from tests.gate import SOON
from tests.models import Counter


@pytest.fixture
def mirror(own_folder: Path) -> str:
    """The address of a folder that does not exist yet."""
    return f"file://{own_folder}/mirror"


def ran(mirror: str | None, steps: int, *, save_steps: int = 5) -> Run:
    """A run that has ended at a step."""
    counter = Counter()
    run = nbtrain.train(
        counter.step,
        checkpoint=counter.checkpoint,
        save_steps=save_steps,
        keep=2,
        name="far",
        steps=steps,
        mirror=mirror,
    )
    return run.wait(SOON)


def sizes(folder: str) -> dict[str, int]:
    """The files of a folder, without those that no mirror has."""
    own = {"run.lock", "status.json"}
    found = (each for each in Path(folder).rglob("*") if each.is_file() and each.name not in own)
    return {str(each.relative_to(folder)): each.stat().st_size for each in found}


def test_a_run_without_its_folder_goes_on_from_its_mirror(mirror: str) -> None:
    first = ran(mirror, 10)
    assert first.status.mirror == "ckpt-10"
    assert sizes("mirror/far") == sizes("runs/far")
    shutil.rmtree("runs")
    run = ran(mirror, 20)
    assert run.scalars["count"].values.tolist() == list(range(1, 21))
    assert sizes("mirror/far") == sizes("runs/far")


def test_a_copy_that_was_killed_half_way_is_no_part_of_the_run(mirror: str) -> None:
    ran(mirror, 10)
    (event_file,) = Path("mirror/far").glob("events.*")
    part = event_file.with_name(f"{event_file.name}.part")
    part.write_bytes(event_file.read_bytes()[:100])
    shutil.rmtree("runs")
    ran(mirror, 20)
    assert not (Path("runs/far") / part.name).exists()
    assert not part.exists()


def test_a_folder_with_more_than_its_mirror_is_gone_on_from(mirror: str) -> None:
    ran(mirror, 10)
    ran(None, 20)
    run = ran(mirror, 30)
    assert len(run.scalars["count"]) == 30
    assert sizes("mirror/far") == sizes("runs/far")


def test_a_folder_with_less_than_its_mirror_gets_the_rest(mirror: str) -> None:
    ran(mirror, 10)
    shutil.copytree("runs", "before")
    ran(mirror, 20)
    shutil.rmtree("runs")
    Path("before").rename("runs")
    run = ran(mirror, 30)
    assert len(run.scalars["count"]) == 30
    assert sizes("mirror/far").keys() <= sizes("runs/far").keys()


def test_a_folder_and_a_mirror_of_different_runs_are_not_mixed(mirror: str) -> None:
    ran(mirror, 10)
    shutil.rmtree("runs")
    ran(None, 5)
    before = sizes("mirror/far"), sizes("runs/far")
    with pytest.raises(ArgumentError, match="hold different runs: their journals differ from lin"):
        ran(mirror, 20)
    assert (sizes("mirror/far"), sizes("runs/far")) == before


def test_a_mirror_without_a_whole_checkpoint_starts_no_run_from_scratch(mirror: str) -> None:
    ran(mirror, 10)
    for path in Path("mirror/far/checkpoints").glob("*.index"):
        path.unlink()
    shutil.rmtree("runs")
    with pytest.raises(ArgumentError, match="half written: it names the checkpoints ckpt-5, ckpt-"):
        ran(mirror, 20)
    assert not Path("runs").exists()


def test_a_fetch_that_broke_off_is_done_again(mirror: str) -> None:
    ran(mirror, 10)
    for name in ("steering.jsonl", "checkpoints/checkpoint"):  # the journal comes last
        Path("runs/far", name).unlink()
    Path("runs/far/.mirror-fetch").mkdir()
    assert len(ran(mirror, 20).scalars["count"]) == 20


def test_a_run_begun_after_a_fetch_that_broke_off_is_not_replaced_by_its_mirror(
    mirror: str,
) -> None:
    ran(mirror, 10)
    shutil.rmtree("runs")
    Path("runs/far/.mirror-fetch").mkdir(parents=True)
    ran(None, 5)
    before = sizes("runs/far")
    with pytest.raises(ArgumentError, match="hold different runs"):
        ran(mirror, 20)
    assert sizes("runs/far") == before


def test_a_branch_gets_a_mirror_of_its_own(mirror: str) -> None:
    run = ran(mirror, 10)
    branch = run.branch(5, "branch").wait(SOON)
    assert branch.status.mirror == "ckpt-10"
    assert sizes("mirror/branch") == sizes("runs/branch")
    shutil.rmtree("runs/branch")
    with pytest.raises(ArgumentError, match="mirror/branch holds a run already, and a branch"):
        run.branch(5, "branch")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mirror": "/mnt/disk"}, "give the address of a folder with its scheme, such as 's3:"),
        ({"mirror": "unknown://bucket/runs"}, "'unknown://bucket/runs' cannot be used: Protocol"),
        ({"mirror": "file:///proc/1/runs"}, "'file:///proc/1/runs' cannot be written: "),
        ({"mirror": "file:///tmp", "name": None}, "without name=: another machine finds the run"),
    ],
)
def test_an_address_that_cannot_be_used_starts_nothing(given: dict[str, Any], words: str) -> None:
    counter = Counter()
    with pytest.raises(ArgumentError, match=words):
        nbtrain.train(counter.step, steps=3, **{"name": "far", **given})
    assert not Path("runs").exists()


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(ArgumentError, match=r'missing \(.*\): pip install "nbtrain\[gcs\]"'):
        nbtrain.train(Counter().step, steps=3, name="far", mirror="gs://bucket/runs")
