"""The view: the text that users read, in every phase."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.commands import Restore, Save, Sender, Try
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Phase, Status, Usage
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.ranges import Hyperparameter, Scale
from nbtrain.panel.live.trial_table import without_results
from nbtrain.panel.live.view import (
    answers,
    controls,
    fields,
    headline,
    line,
    used,
)
from nbtrain.panel.wording import cut, duration, number, speed
from nbtrain.rundir.mailbox import Address
from tests.servers import be_started_by_server

RUNNING = Status(
    name="digits",
    engine="step function",
    phase=Phase.RUNNING,
    step=1240,
    total_steps=10_000,
    steps_per_s=8512.3,
    eta_s=12.4,
    elapsed_s=62.0,
    values={"loss": 0.123456, "accuracy": float("nan")},
    checkpoints=(Checkpoint(500, "a/ckpt-500", 1.0), Checkpoint(1000, "a/ckpt-1000", 2.0)),
    hyperparameters=(Hyperparameter("learning_rate", 1e-4, 1e-5, 0.1, Scale.LOG),),
)


def test_the_head_line_says_step_speed_time_left_and_elapsed() -> None:
    assert line(RUNNING) == [
        ("step", "1,240 of 10,000"),
        ("speed", "8,512 steps/s"),
        ("left", "0:12"),
        ("elapsed", "1:02"),
    ]


def test_the_head_line_says_the_epoch_where_it_is_known() -> None:
    status = dataclasses.replace(RUNNING, epoch=2, epochs=1200)
    assert line(status)[:2] == [("epoch", "2 of 1,200"), ("step", "1,240 of 10,000")]
    assert headline(status).startswith("digits · running · epoch 2 of 1,200 · step 1,240 of 10,000")
    endless = dataclasses.replace(RUNNING, epoch=2, total_steps=None)
    assert line(endless)[:2] == [("epoch", "2"), ("step", "1,240")]


def test_a_single_epoch_is_not_shown() -> None:
    assert line(dataclasses.replace(RUNNING, epoch=1, epochs=1)) == line(RUNNING)


def test_unknown_values_are_not_shown() -> None:
    status = Status(name="digits", engine="step function", phase=Phase.PREPARING)
    assert line(status) == [("step", "0"), ("elapsed", "0:00")]


def test_usage_is_shown_in_whole_percents_and_gigabytes() -> None:
    shares = {"step": 0.8149, "input": 0.122, "save": 0.004}
    usage = Usage({"step": 8.0}, shares, 0.0123, 1.424, 1_240_000_000, 8_000_000_000)
    status = dataclasses.replace(RUNNING, usage=usage)
    assert fields(status)["usage"] == {
        "shares": [["step", 81], ["input", 12]],
        "beside": "display 1%",
        "process": "CPU 142% · memory 1.2 of 8.0 GB",
    }
    small = dataclasses.replace(usage, display=0.001, gpu_memory=812_000_000)
    assert used(small)["beside"] == "display <1%"
    assert str(used(small)["process"]).endswith(" · GPU memory 812 MB")


def test_the_head_line_says_how_many_threads_fill_the_queues() -> None:
    status = Status("a", "Supervisor", Phase.RUNNING, threads=("QueueRunnerThread-batch", "loop"))
    assert line(status)[-1] == ("threads", "2")
    assert fields(status)["progress"] is None
    assert fields(status)["total"] is None


def test_the_head_line_says_how_far_behind_the_mirror_is() -> None:
    status = dataclasses.replace(RUNNING, mirror="ckpt-1000, 2 files behind")
    assert line(status)[-1] == ("mirror", "ckpt-1000, 2 files behind")


def test_a_value_from_an_earlier_start_shows_its_step() -> None:
    status = dataclasses.replace(
        RUNNING, values={"loss": 0.123456, "val_loss": 0.5}, values_at={"val_loss": 1200}
    )
    assert fields(status)["last"] == {"loss": "0.1235", "val_loss": "0.5 (step 1,200)"}


def test_the_page_is_told_of_which_tags_the_highest_value_is_the_best() -> None:
    values = {"loss": 0.5, "val_accuracy": 0.5, "val_top3": 0.5, "elbo": 1.0}
    values |= {"hyperparameters/error": 1.0}
    status = dataclasses.replace(RUNNING, values=values, directions={"top3": "max"})
    assert fields(status)["higher"] == {"loss": False, "val_accuracy": True, "val_top3": True}


def test_the_fields_are_those_of_the_wire() -> None:
    assert set(fields(RUNNING)) == {
        "name", "engine", "trained_by", "phase", "step", "total", "progress", "line", "last",
        "checkpoints", "controls", "receipts", "message", "notice", "error", "usage",
        "failure", "log", "media", "hyperparameters", "values", "rates",
        "validations", "higher", "mailbox", "tasks", "tags", "config", "epochs",
        "latest", "open_nan", "rate",
    }  # fmt: skip


def test_the_fields_are_plain_json_without_nan() -> None:
    json.dumps(fields(RUNNING), allow_nan=False)


def test_a_mailbox_is_told_with_symbolic_links_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "ada")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = Path("~/work/../runs").expanduser()
    shown: Any = fields(RUNNING, mailbox=Address(folder, "9f6c"))["mailbox"]
    real = tmp_path.resolve() / "ada"
    assert shown == {
        "folders": [str(tmp_path / "home/runs"), str(real / "runs")],
        "homes": [str(tmp_path / "home"), str(real)],
        "path": None,
        "attempt": "9f6c",
    }


def mailbox_of(folder: Path) -> Any:
    return fields(RUNNING, mailbox=Address(folder, "9f6c"))["mailbox"]


def test_a_mailbox_is_told_from_the_root_of_the_server_that_has_started_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_started_by_server(tmp_path / "work", tmp_path / "runtime", monkeypatch)
    assert mailbox_of(tmp_path / "work/../work/runs")["path"] == ["runs"]
    assert mailbox_of(tmp_path / "work")["path"] == []
    assert mailbox_of(tmp_path / "worker" / "runs")["path"] is None


@pytest.mark.parametrize("root", ["link", "work"])
@pytest.mark.parametrize("folder", ["link", "work"])
def test_root_and_folder_may_be_written_with_symbolic_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str, folder: str
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "work")
    be_started_by_server(tmp_path / root, tmp_path / "runtime", monkeypatch)
    assert mailbox_of(tmp_path / folder / "runs/mine")["path"] == ["runs", "mine"]


@pytest.mark.parametrize("written", [None, "{", "[]", "{}"])
def test_without_a_server_there_is_no_way_to_the_mailbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str | None
) -> None:
    file = be_started_by_server(tmp_path, tmp_path / "runtime", monkeypatch)
    file.unlink() if written is None else file.write_text(written)
    assert mailbox_of(tmp_path / "runs")["path"] is None


def test_a_user_without_a_home_has_a_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUPYTER_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("JUPYTER_DATA_DIR", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as for such a user
    assert mailbox_of(tmp_path / "runs")["path"] is None


def test_a_validation_names_the_tag_of_its_chart() -> None:
    assert fields(RUNNING)["validations"] == {}
    validated = dataclasses.replace(RUNNING, values={**RUNNING.values, "val_loss": 0.5})
    assert fields(validated)["validations"] == {"val_loss": "loss"}


def test_the_phase_is_a_word_and_the_progress_a_fraction() -> None:
    shown = fields(RUNNING)
    assert type(shown["phase"]) is str
    assert shown["phase"] == "running"
    assert shown["progress"] == pytest.approx(0.124)
    beyond = dataclasses.replace(RUNNING, step=12_000)
    assert fields(beyond)["progress"] == 1.0


def test_checkpoints_are_listed_newest_first_with_step_and_time() -> None:
    assert fields(RUNNING)["checkpoints"] == [
        ["a/ckpt-1000", 1000, 2, False],
        ["a/ckpt-500", 500, 1, False],
    ]


# Phase: pause, resume, stop, save, restore, set.
CONTROLS = {
    "created": "------",
    "preparing": "--xxxx",
    "running": "x-xxxx",
    "paused": "-xxxxx",
    "stopping": "------",
    "finished": "------",
    "stopped": "------",
    "failed": "------",
}


@pytest.mark.parametrize("phase", list(Phase))
def test_a_button_is_enabled_if_it_has_an_effect(phase: Phase) -> None:
    enabled = controls(dataclasses.replace(RUNNING, phase=phase))
    names = ("pause", "resume", "stop", "save", "restore", "set")
    assert "".join("x" if enabled[name] else "-" for name in names) == CONTROLS[phase]


def test_a_run_has_no_button_for_what_it_lacks() -> None:
    assert controls(RUNNING)["try"]
    assert "evaluate" not in controls(RUNNING)
    able = dataclasses.replace(RUNNING, evaluates=True, phase=Phase.STOPPING, hyperparameters=())
    assert controls(able)["evaluate"] is False
    assert "try" not in controls(able)


def test_without_a_checkpoint_restore_is_disabled() -> None:
    assert not controls(dataclasses.replace(RUNNING, checkpoints=()))["restore"]


def test_without_hyperparameters_set_is_disabled() -> None:
    assert not controls(dataclasses.replace(RUNNING, hyperparameters=()))["set"]


def test_a_hyperparameter_is_shown_with_its_value_and_range() -> None:
    assert fields(RUNNING)["hyperparameters"] == [["learning_rate", 1e-5, 0.1, "log"]]
    assert fields(RUNNING)["values"] == [1e-4]


@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, "∞")])
def test_a_hyperparameter_that_is_nan_is_shown_by_name(value: float, text: str) -> None:
    spoilt = dataclasses.replace(RUNNING, hyperparameters=(RUNNING.hyperparameters[0].at(value),))
    assert fields(spoilt)["values"] == [text]


def test_only_the_first_hyperparameters_have_a_row() -> None:
    many = tuple(Hyperparameter.of(f"rate_{n}", 1.0, whole=False) for n in range(100))
    shown = fields(dataclasses.replace(RUNNING, hyperparameters=many))["hyperparameters"]
    assert isinstance(shown, list)
    assert [row[0] for row in shown] == [f"rate_{n}" for n in range(8)]
    assert len(json.dumps(shown)) < 1000


def test_receipts_are_shown_with_their_clicks() -> None:
    save, restore = Receipt(Save(), sender=Sender("click-1")), Receipt(Restore(500))
    save.answer(Outcome(applied=True, step=1240, text="saved ckpt-1240"))
    shown = fields(RUNNING, answers([save, restore]))["receipts"]
    assert shown == [
        {
            "id": "click-1",
            "command": "save",
            "state": "applied",
            "text": "saved ckpt-1240 (step 1,240)",
        },
        {"id": None, "command": "restore", "state": "requested", "text": "requested"},
    ]


def test_the_answer_to_a_command_of_another_process_says_who_asked() -> None:
    receipt = Receipt(Save(), sender=Sender("a1", "ada@lab-3, process 4711"))
    receipt.answer(Outcome(applied=False, step=1240, text="nothing to save"))
    (told,) = answers([receipt])
    assert told["text"] == "nothing to save (step 1,240, asked by ada@lab-3, process 4711)"


def test_a_refusal_is_shown_as_one() -> None:
    receipt = Receipt(Save())
    receipt.answer(Outcome(applied=False, step=3, text="No space left"))
    shown = fields(RUNNING, answers([receipt]))["receipts"]
    assert isinstance(shown, list)
    assert (shown[0]["state"], shown[0]["text"]) == ("refused", "No space left (step 3)")


def test_only_the_latest_receipts_are_shown() -> None:
    receipts = [Receipt(Save(), sender=Sender(f"click-{number}")) for number in range(10)]
    shown = fields(RUNNING, answers(receipts))["receipts"]
    assert isinstance(shown, list)
    assert [entry["id"] for entry in shown] == [f"click-{number}" for number in range(6, 10)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.123456, "0.1235"),
        (1234567.0, "1.235e+06"),
        (-3.0, "-3"),
        (float("nan"), "NaN"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_a_value_has_four_digits_and_nan_its_name(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8512.3, "8,512 steps/s"),
        (9.96, "10.0 steps/s"),
        (1.0, "1.0 steps/s"),
        (0.25, "4.0 s/step"),
        (0.0, "0.0 steps/s"),
    ],
)
def test_a_speed_below_one_is_shown_as_seconds_per_step(value: float, text: str) -> None:
    assert speed(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0:00"), (59.9, "0:59"), (60.0, "1:00"), (3599.0, "59:59"), (90061.0, "25:01:01")],
)
def test_a_duration_reads_like_a_clock(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_name_phase_and_numbers_fit_a_line() -> None:
    assert headline(RUNNING) == (
        "digits · running · step 1,240 of 10,000 · speed 8,512 steps/s · left 0:12 · elapsed 1:02"
    )


def test_only_the_newest_checkpoints_are_offered() -> None:
    checkpoints = tuple(Checkpoint(step, f"ckpt-{step}", float(step)) for step in range(1000))
    shown = fields(Status("a", "loop", Phase.RUNNING, checkpoints=checkpoints))
    assert shown["checkpoints"] == [[f"ckpt-{n}", n, n, False] for n in range(999, 979, -1)]


def test_the_checkpoint_that_a_restore_goes_back_to_is_offered_however_old_it_is() -> None:
    held = [Checkpoint(step, f"run/ckpt-{step}", 5.0, abandoned=step > 40) for step in range(100)]
    held.append(Checkpoint(40, "run/last_good/ckpt-40", 5.0))
    shown = fields(Status("a", "loop", Phase.PAUSED, checkpoints=tuple(held)))["checkpoints"]
    assert isinstance(shown, list)
    assert shown[0] == ["last_good/ckpt-40", 40, 5.0, False]
    assert shown[-1] == ["run/ckpt-40", 40, 5.0, False]
    assert len(shown) == 21


def test_copies_of_the_best_value_do_not_push_that_checkpoint_off_the_list() -> None:
    own = Checkpoint(5, "run/ckpt-5", 5.0)
    held = (own, *(Checkpoint(step, f"run/best/ckpt-{step}", 5.0) for step in range(6, 30)))
    shown = fields(Status("a", "loop", Phase.PAUSED, checkpoints=held))["checkpoints"]
    assert isinstance(shown, list)
    assert shown[-1] == ["run/ckpt-5", 5, 5.0, False]


def test_a_restore_that_names_none_goes_back_to_the_newest_that_is_no_copy() -> None:
    def latest(*held: Checkpoint) -> object:
        return fields(Status("a", "loop", Phase.PAUSED, checkpoints=held))["latest"]

    five, seven = Checkpoint(5, "run/ckpt-5", 0.0), Checkpoint(7, "run/trial/ckpt-7", 1.0)
    left = Checkpoint(300, "run/ckpt-300", 2.0, abandoned=True)
    good, best = Checkpoint(9, "run/last_good/ckpt-9", 3.0), Checkpoint(9, "run/best/ckpt-9", 4.0)
    assert latest() is None
    assert latest(good, best) is None
    assert latest(five, good, best) == "run/ckpt-5"
    assert latest(five, seven, good) == "trial/ckpt-7"
    assert latest(left, good) == "run/ckpt-300"
    assert latest(five, left, good) == "run/ckpt-5"


def test_only_abandoned_checkpoints_are_offered_if_there_is_no_other() -> None:
    held = tuple(Checkpoint(step, f"ckpt-{step}", 5.0, abandoned=True) for step in range(30))
    shown = fields(Status("a", "loop", Phase.PAUSED, checkpoints=held))["checkpoints"]
    assert shown == [[f"ckpt-{n}", n, 5.0, True] for n in range(29, 9, -1)]


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert cut("as it is", 8) == "as it is"
    text = "Asked to stop: " + 1000 * "." + " here it stands"
    assert len(cut(text, 200)) == 200
    assert cut(text, 200).startswith("Asked to stop: ...")
    assert cut(text, 200).endswith("... here it stands")
    assert " … " in cut(text, 200)


def test_a_long_text_is_cut_between_words() -> None:
    text = " ".join(f"word-{n}" for n in range(100))
    for limit in range(60, 90):
        first, last = cut(text, limit).split(" … ")
        assert text.startswith(f"{first} ")
        assert text.endswith(f" {last}")
        assert limit - 16 < len(cut(text, limit)) <= limit


def test_messages_have_bounded_size() -> None:
    receipt = Receipt(Save())
    receipt.answer(Outcome(applied=False, step=3, text="x" * 10_000))
    status = dataclasses.replace(RUNNING, message="y" * 10_000, notice="z" * 10_000)
    assert len(json.dumps(fields(status, answers([receipt])))) < 3000


def test_the_results_of_a_trial_are_in_its_table_and_not_in_its_text() -> None:
    others = "(the others: rate 0.2 loss 0.5 → 0.4; rate 0.3 the loss became NaN)"
    pairing = "not paired: the first step gave loss 1 and 2 from the same state, so they differed"
    repeats = "the repeats had the same batches, which the run does not draw itself"
    texts = {
        f"kept rate 0.1 loss 0.5 → 0.1 {others}": "kept rate 0.1 loss 0.5 → 0.1",
        f"kept rate 0.1 loss 0.5 → 0.1 {others}; {pairing}": (
            f"kept rate 0.1 loss 0.5 → 0.1; {pairing}"
        ),
        f"back to step 9, a 0.5 again: the choice is yours: a 1 loss 1 → 2; a 2 NaN; {repeats}": (
            f"back to step 9, a 0.5 again: the choice is yours; {repeats}"
        ),
        "back to step 9: of 2 settings none was better: a loss 1 → 2 (the others: b loss 1 → 3)": (
            "back to step 9: of 2 settings none was better"
        ),
        "back to step 9: suggested rate 0.1, where it fell fastest": (
            "back to step 9: suggested rate 0.1, where it fell fastest"
        ),
    }
    assert {text: without_results(text) for text in texts} == texts


def test_the_answer_to_a_trial_of_several_values_is_short() -> None:
    receipt = Receipt(Try({"rate": [1.0, 2.0]}))
    arms = (ArmResult("rate 1", {"rate": 1.0}, "loss", 1.0, (2.0,)),)
    text = "back to step 9, rate 0.5 again: the choice is yours: rate 1 loss 1 → 2; not paired: x"
    receipt.answer(Outcome(True, 9, text, kept=False, arms=arms))
    (told,) = answers([receipt])
    assert told["text"] == "back to step 9, rate 0.5 again: the choice is yours (step 9)"
