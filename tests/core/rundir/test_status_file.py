"""A status that was written is read as it was; what is no status is said to be none."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtrain.core.states import Checkpoint, Phase, Status, Usage
from nbtrain.core.tasks import Task, TaskState
from nbtrain.core.values.ranges import Hyperparameter, Scale
from nbtrain.panel.live.view import line
from nbtrain.remote.liveness import Liveness
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.status_file import SignOfLife, Writer
from nbtrain.terminal import listing

WRITER = Writer("9f6c02d1", "lab-3", 4711, 1790000000.25)


def full(folder: Path) -> Status:
    return Status(
        name="digits",
        engine="step function",
        phase=Phase.PAUSED,
        step=1240,
        total_steps=10_000,
        epoch=3,
        epoch_began=200,
        epoch_steps=100,
        epochs=20,
        steps_per_s=812.5,
        eta_s=10.5,
        elapsed_s=3.25,
        values={"loss": 0.5, "bad": math.inf, "worse": -math.inf},
        values_at={"val_loss": 1000},
        checkpoints=(Checkpoint(1200, str(folder / "checkpoints" / "ckpt-1200"), 1.5, 3.0, True),),
        threads=("input",),
        message="a message",
        notice="a notice",
        error="a traceback",
        failure="NaN",
        log=("one", "two"),
        hyperparameters=(
            Hyperparameter("learning_rate", 1e-3, 1e-5, 0.1, Scale.LOG),
            Hyperparameter("size", math.inf, 1, 10, Scale.WHOLE, 0.5),
        ),
        evaluates=True,
        usage=Usage({"step": 1.5}, {"step": 0.75}, 0.01, 1.5, 10**9, 2 * 10**9, None),
        tasks=(Task("worker", 1, TaskState.LOST, "lab-3:2223", 12.0, "the end"),),
    )


def test_a_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    sign = SignOfLife(WRITER, 1790000321.5, full(tmp_path))
    status_file.write(tmp_path, sign)
    read = status_file.read(tmp_path)
    assert read == sign
    assert read.status.checkpoints[0].abandoned
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


def test_the_smallest_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    sign = SignOfLife(WRITER, 1.0, Status(name="a", engine="b", phase=Phase.PREPARING))
    status_file.write(tmp_path, sign)
    assert status_file.read(tmp_path) == sign


def test_nan_is_read_as_nan(tmp_path: Path) -> None:
    status = Status(name="a", engine="b", phase=Phase.RUNNING, values={"loss": math.nan})
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, status))
    told = json.loads((tmp_path / "status.json").read_text(), parse_constant=pytest.fail)
    assert told["values"] == {"loss": "NaN"}
    assert math.isnan(status_file.read(tmp_path).status.values["loss"])


def test_a_text_that_is_the_word_of_a_number_stays_text(tmp_path: Path) -> None:
    status = Status(name="NaN", engine="b", phase=Phase.RUNNING, log=("Infinity",))
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, status))
    assert status_file.read(tmp_path).status.name == "NaN"
    assert status_file.read(tmp_path).status.log == ("Infinity",)


def test_a_status_of_many_scalars_is_read(tmp_path: Path) -> None:
    values = {f"layers/{number:05}/gradient_norm": 0.1 + number for number in range(30_000)}
    status = Status(name="a", engine="b", phase=Phase.RUNNING, values=values)
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, status))
    assert status_file.read(tmp_path).status == status


def test_checkpoints_are_found_where_the_folder_is_mounted(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    status_file.write(here, SignOfLife(WRITER, 1.0, full(here)))
    here.rename(there)
    (held,) = status_file.read(there).status.checkpoints
    assert held.path == str(there / "checkpoints" / "ckpt-1200")


def test_fields_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, full(tmp_path)))
    told = json.loads((tmp_path / "status.json").read_text())
    (tmp_path / "status.json").write_text(json.dumps({**told, "weather": "fine"}))
    assert status_file.read(tmp_path).status == full(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", '{"attempt": 1}', '{"phase": "running"}', "null", '{"usage": {"a": 1}}'],
)
def test_what_is_no_status_is_not_believed(tmp_path: Path, content: str) -> None:
    (tmp_path / "status.json").write_text(content)
    with pytest.raises(Untrusted):
        status_file.read(tmp_path)


@pytest.mark.parametrize("field", ["phase", "checkpoints", "hyperparameters", "usage", "values"])
def test_a_damaged_field_is_not_believed(tmp_path: Path, field: str) -> None:
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, full(tmp_path)))
    told = json.loads((tmp_path / "status.json").read_text())
    (tmp_path / "status.json").write_text(json.dumps({**told, field: 7}))
    with pytest.raises(Untrusted, match="not the status of a run"):
        status_file.read(tmp_path)


WRONG = ["x", -1, 1.5, True, None, [], {}, [[1]], {"a": []}, 10**400, 2**63, "NaN", math.inf]


def paths(told: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in JSON."""
    inner = told.items() if isinstance(told, dict) else enumerate(told)
    for key, value in inner:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*above, key))


def test_a_value_of_a_wrong_type_harms_no_reader(tmp_path: Path) -> None:
    host = socket.gethostname()
    writer = Writer("9f6c02d1", host, 4711, 1790000000.25)
    status_file.write(tmp_path, SignOfLife(writer, 1790000321.5, full(tmp_path)))
    whole = (tmp_path / "status.json").read_text()
    read = 0
    for path in list(paths(json.loads(whole))):
        for wrong in WRONG:
            told = part = json.loads(whole)
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = wrong
            (tmp_path / "status.json").write_text(json.dumps(told))
            try:
                sign = status_file.read(tmp_path)
            except Untrusted:
                continue
            read += 1
            liveness = Liveness(tmp_path, sign)
            liveness.update(there=True)
            assert repr(liveness.status)
            assert line(liveness.status) is not None
            assert status_file.fields_of(sign, tmp_path)
            assert listing._row(listing.Listed(tmp_path, sign, liveness.status))
    assert read > 100


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    values = {"loss": np.float32(0.5), "count": np.int64(3)}
    status = Status(name="a", engine="b", phase=Phase.RUNNING, step=np.int64(7), values=values)  # type: ignore[arg-type]
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, status))
    read = status_file.read(tmp_path).status
    assert (read.step, read.values) == (7, {"loss": 0.5, "count": 3.0})


def test_a_wrong_type_is_said_with_the_field(tmp_path: Path) -> None:
    status_file.write(tmp_path, SignOfLife(WRITER, 1.0, full(tmp_path)))
    told = json.loads((tmp_path / "status.json").read_text())
    (tmp_path / "status.json").write_text(json.dumps({**told, "step": "x"}))
    with pytest.raises(Untrusted, match="not the status of a run: step: 'x' is no whole number"):
        status_file.read(tmp_path)
