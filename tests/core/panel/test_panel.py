"""The panel's kernel side: what it sends, when it is silent, and how it handles clicks."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.commands import (
    Command,
    Evaluate,
    Pause,
    Restore,
    Resume,
    Save,
    Sender,
    Set,
    Stop,
    Try,
)
from nbtrain.core.errors import NbtrainError
from nbtrain.core.receipts import Outcome
from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.values.ranges import Hyperparameter
from nbtrain.panel.live import panel as room
from nbtrain.panel.live.panel import IDLE_SECS, PULLED_SECS, UNCONFIRMED, UNSEEN_SECS, Panel
from nbtrain.panel.widget import LEASE_SECS
from nbtrain.rundir.journal import Mark
from nbtrain.rundir.mailbox import Address
from tests.front_end import FrontEnd
from tests.panels import Clock, FakeRun, ShownPanel
from tests.stores import TAGS, add
from tests.wires import assert_equal, size


@pytest.fixture
def source() -> FakeRun:
    """A running training."""
    return FakeRun()


@pytest.fixture
def clock() -> Clock:
    """A clock that the test moves."""
    return Clock()


@pytest.fixture
def panel(source: FakeRun, clock: Clock) -> ShownPanel:
    """A panel that no page has opened yet."""
    return ShownPanel(source, clock)


@pytest.fixture
def opened(panel: ShownPanel) -> ShownPanel:
    """A panel whose page has its snapshot."""
    panel.hear(t="hello")
    assert panel.kinds() == ["snap"]
    return panel


# --- what it sends --------------------------------------------------------------


def test_nothing_is_sent_before_a_page_asks(panel: ShownPanel, source: FakeRun) -> None:
    add(source.scalars, "loss", 1, 0.5)
    panel.tick()
    assert panel.sent == []


def test_the_last_values_of_another_process_are_those_of_its_curves(
    opened: ShownPanel, source: FakeRun
) -> None:
    source.trained_by = "process 4711 on lab-3"
    source.now(values={"loss": 0.5, "accuracy": 0.9})
    add(source.scalars, "loss", 1, 0.75, 0.25)
    opened.tick()
    assert opened.page.status["last"] == {"loss": "0.25", "accuracy": "0.9"}


def test_a_page_that_opens_is_answered_at_once(panel: ShownPanel, source: FakeRun) -> None:
    add(source.scalars, "loss", 1, 0.5, 0.25)
    panel.hear(t="hello")
    assert panel.kinds() == ["snap"]
    assert panel.page.status["phase"] == "running"
    assert_equal(panel.page, source.scalars)


def test_pages_that_open_together_share_the_snapshot_of_the_next_tick(
    opened: ShownPanel, source: FakeRun
) -> None:
    opened.hear(t="hello")
    opened.hear(t="hello")
    assert opened.kinds() == []
    add(source.scalars, "loss", 1, 0.5, 0.25)
    opened.tick()
    assert opened.kinds() == ["snap"]
    assert_equal(opened.page, source.scalars)


def test_a_page_that_cannot_ask_gets_a_snapshot_every_two_seconds(
    panel: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    panel.unasked = True
    for _ in range(6):
        panel.tick()
        clock.now += 1.0
    assert panel.kinds() == ["snap"] * 3
    panel.hear(t="hello")
    for step in range(1, 7):
        add(source.scalars, "loss", step, 1.0)
        panel.tick()
        clock.now += 1.0
    assert panel.kinds() == ["snap", *["pts"] * 6], "now the page asks"


def test_later_messages_hold_only_what_is_new(opened: ShownPanel, source: FakeRun) -> None:
    opened.tick()
    assert opened.sent == []
    add(source.scalars, "loss", 1, 0.5)
    source.now(step=1, values={"loss": 0.5})
    opened.tick()
    ((content, _buffers),) = opened.sent
    assert set(content["status"]) == {"step", "line", "last", "higher"}
    assert content["series"] == [[0, 1, 0, 1, "loss", 0, False]]
    assert_equal(opened.page, source.scalars)


def test_a_checkpoint_saved_while_a_message_is_made_is_not_told_as_deleted(
    opened: ShownPanel, source: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, early = source.status, iter([True])

    def taken(_run: FakeRun) -> Status:
        if next(early, False):  # the run saves as soon as the status is taken
            source.marks.add(Mark("save", 300, 0.0, "ckpt-300", order=1.0))
            return now
        held = Checkpoint(300, "checkpoints/ckpt-300", 0.0, order=1.0)
        return dataclasses.replace(now, checkpoints=(held,))

    monkeypatch.setattr(FakeRun, "status", property(taken), raising=False)
    opened.hear(t="alive", seq=opened.page.seq)
    opened.tick()
    opened.tick()
    told = [row for content, _ in opened.sent for row in content.get("actions", ())]
    restore = ["Restore step 300", "restore", {"checkpoint": "checkpoints/ckpt-300"}, None]
    assert told == [[0, [restore]]]


def test_a_page_is_told_which_mark_an_open_nan_is(opened: ShownPanel, source: FakeRun) -> None:
    source.marks.add(Mark("save", 300, 0.0, "ckpt-300", order=1.0))
    source.marks.add(Mark("nan", 400, 1.0, "loss was NaN", order=2.0))
    opened.hear(t="alive", seq=opened.page.seq)
    opened.tick()
    assert opened.page.status["open_nan"] == 1
    source.marks.add(Mark("resume", 400, 2.0, order=3.0))
    opened.tick()
    assert opened.page.status["open_nan"] is None


def test_a_reopened_page_gets_everything(opened: ShownPanel, source: FakeRun) -> None:
    add(source.scalars, "loss", 1, *[0.5] * 3000)
    opened.tick()
    opened.page = FrontEnd()
    opened.hear(t="hello")
    opened.kinds()
    opened.tick()
    assert opened.kinds() == ["snap"]
    assert_equal(opened.page, source.scalars)
    add(source.scalars, "loss", 3001, 0.5)
    opened.tick()
    assert opened.kinds() == ["pts"]
    assert_equal(opened.page, source.scalars)


def test_a_long_curve_reaches_the_page_in_small_updates(
    opened: ShownPanel, source: FakeRun
) -> None:
    add(source.scalars, "loss", 1, *[0.5] * 5000)
    for _ in range(20):
        opened.tick()
    assert all(size(message) < 2000 for message in opened.sent)
    assert_equal(opened.page, source.scalars)


@pytest.mark.parametrize("length", [100, 1_000_000])
def test_an_update_stays_below_two_kilobytes_at_any_length(
    opened: ShownPanel, source: FakeRun, length: int
) -> None:
    source.now(
        total_steps=20_000_000,
        steps_per_s=85_123.0,
        eta_s=12_345.0,
        checkpoints=tuple(Checkpoint(k, f"/runs/digits/ckpt-{k}", 1.0) for k in range(5)),
    )
    step = length
    for tag in TAGS:
        add(source.scalars, tag, 1, *[0.5] * length)
    opened.hear(t="hello")
    opened.tick()
    opened.kinds()
    for _ in range(10):
        for tag in TAGS:
            add(source.scalars, tag, step + 1, *[0.125] * 8000)
        step += 8000
        source.now(step=step, values=dict.fromkeys(TAGS, 0.125), elapsed_s=step / 1000)
        opened.tick()
    assert [content["t"] for content, _ in opened.sent] == ["pts"] * 10
    assert max(map(size, opened.sent)) < 2000


def test_an_update_stays_below_two_kilobytes_for_any_number_of_tags(
    opened: ShownPanel, source: FakeRun
) -> None:
    tags = [f"encoder/block_{n}/attention/kernel_norm" for n in range(60)]
    stack = '  File "/home/somebody/project/train.py", line 17, in step\n    wait()\n'
    source.now(total_steps=20_000_000, steps_per_s=85.0, eta_s=12_345.0, message=stack * 30)
    for step in range(1, 31):
        for tag in tags:
            add(source.scalars, tag, step, 1 / step)
        source.now(step=step, values=source.scalars.last_values())
        opened.tick()
    new, later = opened.sent[:6], opened.sent[6:]
    assert all("message" not in content["status"] for content, _ in opened.sent[1:])
    assert max(map(size, new[1:])) < 3000, "the names of the tags travel once"
    assert max(map(size, later)) < 2000
    assert opened.page.status["last"].keys() == set(tags)
    for _ in range(60):
        opened.tick()
    assert_equal(opened.page, source.scalars)
    assert set(opened.page.status["last"].values()) == {"0.03333"}


def test_a_mark_is_sent_once_and_again_to_a_reloaded_page(
    opened: ShownPanel, source: FakeRun
) -> None:
    source.marks.add(Mark("save", 7, 5.0, "saved ckpt-7"))
    opened.tick()
    opened.tick()
    assert opened.kinds() == ["pts"]
    assert list(opened.page.marks) == [["save", 7, 5.0, "saved ckpt-7", "●", 21]]
    opened.hear(t="hello")
    opened.tick()
    assert list(opened.page.marks) == [["save", 7, 5.0, "saved ckpt-7", "●", 21]]


def test_marks_that_were_put_in_front_of_the_others_reach_the_page(
    opened: ShownPanel, source: FakeRun
) -> None:
    failed, saved = Mark("failed", 0, 2.0), Mark("save", 7, 1.0)
    source.marks.add(failed)
    opened.tick()
    source.marks.recall([saved, failed], before=1)
    opened.tick()
    assert list(opened.page.marks) == [
        ["save", 7, 1.0, "", "●", 21],
        ["failed", 0, 2.0, "", "⊗", 1],
    ]
    opened.tick()
    assert opened.kinds() == ["pts", "snap"], "they are all sent once"


def test_a_new_start_sends_the_changed_actions_of_all_marks_at_once(
    opened: ShownPanel, source: FakeRun
) -> None:
    steps = range(20)
    held = [Checkpoint(step, f"checkpoints/ckpt-{step}", 1.0) for step in steps]
    for step in steps:
        line = {"event": "save", "step": step, "wall_time": 1.0}
        source.marks.add(Mark("save", step, 1.0, order=source.marks.timeline.add_entry(line)))
    source.now(phase=Phase.STOPPED, checkpoints=source.marks.timeline.ordered(held))
    opened.tick()
    ((content, _buffers),) = opened.sent
    reasons = {row[3] for _, rows in content["actions"] for row in rows}
    assert reasons == {"the run has ended: start it again to continue"}
    opened.sent.clear()
    source.now(phase=Phase.PREPARING)
    opened.tick()
    ((content, _buffers),) = opened.sent
    assert [row[3] for _, rows in content["actions"] for row in rows] == [None] * len(steps)
    opened.sent.clear()
    source.now(phase=Phase.RUNNING)
    opened.tick()
    assert opened.kinds() == ["pts"]


# --- when it keeps quiet --------------------------------------------------------


def grow(panel: ShownPanel, source: FakeRun) -> list[str]:
    """Takes a step and ticks; returns what was sent."""
    step = source.status.step + 1
    source.now(step=step)
    add(source.scalars, "loss", step, 0.5)
    panel.tick()
    return panel.kinds()


def test_updates_continue_while_the_page_is_alive(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    for _ in range(20):
        clock.now += 4.0
        opened.hear(t="alive", seq=opened.page.seq)
        assert grow(opened, source) == ["pts"]


def test_a_page_that_is_gone_costs_a_message_every_ten_seconds(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    clock.now += LEASE_SECS
    sent = []
    for tenth in range(600):
        clock.now += 0.1
        if grow(opened, source):
            sent.append(tenth)
    assert len(sent) <= 60 / IDLE_SECS + 1
    assert sent, "a page that was only asleep finds its way back"


def test_a_paused_run_without_a_viewer_is_silent(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    source.now(phase=Phase.PAUSED)
    sent = []
    for second in range(600):
        clock.now += 1.0
        source.now(elapsed_s=float(second))  # a panel shows this during a pause, too
        opened.tick()
        sent += [second] * len(opened.kinds())
    assert sent
    assert sent[-1] <= UNSEEN_SECS
    opened.hear(t="alive", seq=opened.page.seq)
    opened.tick()
    assert opened.kinds() == ["pts"]


def test_an_idle_run_sends_a_message_every_ten_seconds(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    source.now(phase=Phase.PAUSED)
    opened.tick()
    opened.kinds()
    for _ in range(3):
        clock.now += IDLE_SECS - 0.1
        opened.hear(t="alive", seq=opened.page.seq)
        opened.tick()
        assert opened.kinds() == []
        clock.now += 0.1
        opened.tick()
        opened.tick()
        assert opened.sent == [({"t": "here"}, [])]
        opened.kinds()


def test_updates_resume_at_once_when_the_page_is_visible(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    clock.now += LEASE_SECS
    grow(opened, source)
    clock.now += 1.0
    assert grow(opened, source) == []
    opened.hear(t="alive", seq=opened.page.seq)
    assert grow(opened, source) == ["pts"]
    assert_equal(opened.page, source.scalars)


def test_a_page_that_confirms_nothing_is_waited_for(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    sent = sum(bool(grow(opened, source)) for _ in range(3 * UNCONFIRMED))
    assert sent == UNCONFIRMED
    opened.hear(t="alive", seq=opened.page.seq)
    assert grow(opened, source) == ["pts"]
    while opened.page.series[0].rows[-1, 0] < source.status.step:
        assert grow(opened, source) == ["pts"]
    assert opened.page.hellos == 0, "nothing was lost, it was only late"
    assert_equal(opened.page, source.scalars)


def test_an_old_alive_message_confirms_nothing(opened: ShownPanel, source: FakeRun) -> None:
    opened.hear(t="alive", seq=opened.page.seq)
    opened.hear(t="alive", seq=-1)
    assert sum(bool(grow(opened, source)) for _ in range(3 * UNCONFIRMED)) == UNCONFIRMED


@pytest.mark.parametrize("seq", ["12", None, [1], 2.5, True, 10**400], ids=lambda seq: f"{seq}"[:9])
def test_confirming_an_unsent_message_is_ignored_with_a_note(
    opened: ShownPanel, source: FakeRun, seq: object
) -> None:
    opened.kinds()
    opened._hear(opened, {"t": "alive", "seq": seq}, [])
    assert opened.kinds() == ["note"]
    assert sum(bool(grow(opened, source)) for _ in range(3 * UNCONFIRMED)) == UNCONFIRMED


def test_the_end_is_sent_whole_even_to_a_closed_page(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    clock.now += LEASE_SECS
    grow(opened, source)
    source.now(phase=Phase.FINISHED)
    add(source.scalars, "loss", 10, *[0.5] * 5000)
    assert grow(opened, source) == ["snap"]
    assert opened.page.status["phase"] == "finished"
    assert_equal(opened.page, source.scalars)


def test_a_page_that_pulls_gets_what_is_new_at_once(opened: ShownPanel, source: FakeRun) -> None:
    add(source.scalars, "loss", 1, 0.5, 0.25)
    opened.hear(t="pull", seq=1)
    opened.hear(t="pull", seq=2)
    assert [(content["t"], content["pulled"]) for content, _ in opened.sent] == [
        ("pts", True),
        ("here", True),
    ]
    assert_equal(opened.page, source.scalars)


def test_a_page_that_pulls_once_a_second_keeps_up_with_a_fast_run(
    opened: ShownPanel, source: FakeRun
) -> None:
    for n in range(4):
        for tag in TAGS:
            add(source.scalars, tag, 1 + 100 * n, *[0.5] * 100)
        opened.hear(t="pull", seq=opened.page.seq)
        assert_equal(opened.page, source.scalars)


def test_a_page_that_pulls_before_it_has_anything_gets_everything(
    panel: ShownPanel, source: FakeRun
) -> None:
    add(source.scalars, "loss", 1, 0.5, 0.25)
    panel.hear(t="pull", seq=-1)
    panel.hear(t="pull", seq=-1)  # the answer was lost
    assert panel.kinds() == ["snap", "snap"]


def test_a_page_that_pulls_and_has_missed_a_message_gets_everything(
    opened: ShownPanel, source: FakeRun
) -> None:
    add(source.scalars, "loss", 1, 0.5)
    opened.tick()
    assert opened.kinds() == ["pts"]
    opened.hear(t="pull", seq=1)
    assert opened.kinds() == ["snap"]
    assert_equal(opened.page, source.scalars)


def test_the_looper_sends_a_word_a_second_to_a_page_that_pulls(
    opened: ShownPanel, source: FakeRun, clock: Clock
) -> None:
    for n in range(4):
        opened.hear(t="pull", seq=opened.page.seq)
        opened.sent.clear()
        for _ in range(10):
            add(source.scalars, "loss", n + 1, 0.5)
            opened.tick()
            clock.now += 0.1
        assert [content for content, _ in opened.sent] == [{"t": "here"}]
    clock.now += PULLED_SECS - 1
    opened.sent.clear()
    opened.tick()
    assert opened.kinds() == ["pts"]
    assert_equal(opened.page, source.scalars)


def test_the_end_is_sent_to_a_page_that_pulls(opened: ShownPanel, source: FakeRun) -> None:
    opened.hear(t="pull", seq=1)
    opened.sent.clear()
    source.now(phase=Phase.FINISHED)
    opened.tick()
    assert opened.kinds() == ["snap"]
    opened.hear(t="pull", seq=1)  # which has not received it
    assert opened.kinds() == ["snap"]
    assert opened.page.status["phase"] == "finished"


def test_a_run_that_has_not_started_is_shown_as_such(panel: ShownPanel, source: FakeRun) -> None:
    source.now(phase=Phase.CREATED)
    panel.hear(t="hello")
    assert panel.kinds() == ["snap"], "nobody ticks before the start"
    assert panel.page.status["phase"] == "created"


# --- clicks ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("click", "command"),
    [
        ({"command": "stop"}, Stop()),
        ({"command": "pause"}, Pause()),
        ({"command": "resume"}, Resume()),
        ({"command": "save"}, Save()),
        ({"command": "restore", "checkpoint": None}, Restore()),
        ({"command": "restore", "checkpoint": "/runs/a/ckpt-5"}, Restore("/runs/a/ckpt-5")),
        ({"command": "pause", "checkpoint": None}, Pause()),
        ({"command": "set", "values": {"learning_rate": 1e-4}}, Set({"learning_rate": 1e-4})),
        ({"command": "set", "values": {"learning_rate": "abc"}}, Set({"learning_rate": "abc"})),
        ({"command": "evaluate"}, Evaluate()),
        (
            {"command": "try", "values": {"rate": 1e-4}, "steps": 9, "keep_if": "loss"},
            Try({"rate": 1e-4}, 9, "loss"),
        ),
    ],
)
def test_a_click_is_posted_and_acknowledged_at_once(
    opened: ShownPanel, source: FakeRun, click: dict[str, Any], command: Command
) -> None:
    opened.hear(t="cmd", id="click-1", **click)
    assert source.posted == [command]
    assert opened.sent == [({"t": "ack", "id": "click-1", "text": "requested"}, [])]


def test_a_receipt_carries_the_id_of_its_click(opened: ShownPanel, source: FakeRun) -> None:
    source.post(Save())  # from a magic, not a click
    opened.hear(t="cmd", id="click-1", command="pause")
    opened.tick()
    shown = opened.page.status["receipts"]
    assert [(entry["id"], entry["state"]) for entry in shown] == [
        (None, "requested"),
        ("click-1", "requested"),
    ]
    source.receipts[-1].answer(Outcome(applied=True, step=7, text="paused"))
    opened.tick()
    assert opened.page.status["receipts"][-1] == {
        "id": "click-1",
        "command": "pause",
        "state": "applied",
        "text": "paused (step 7)",
    }


def test_a_click_that_came_through_the_mailbox_is_told_and_not_posted_again(
    opened: ShownPanel, source: FakeRun
) -> None:
    source.post(Pause(), sender=Sender("click-1", "the panel, through the run's folder"))
    opened.tick()
    assert [entry["id"] for entry in opened.page.status["receipts"]] == ["click-1"]
    opened.hear(t="cmd", id="click-1", command="pause")
    assert opened.sent[-1] == ({"t": "ack", "id": "click-1", "text": "requested"}, [])
    waiting = [source.queue.get(), source.queue.get()]
    assert waiting == [source.receipts[0], None]


def test_the_mailbox_is_told_once_and_again_when_the_run_is_started_again(
    opened: ShownPanel, source: FakeRun, tmp_path: Path
) -> None:
    def told() -> list[object]:
        opened.tick()
        statuses = [content["status"] for content, _ in opened.sent]
        opened.sent.clear()
        return [status["mailbox"]["attempt"] for status in statuses if "mailbox" in status]

    source.mailbox = Address(tmp_path / "digits", "9f6c")
    assert told() == ["9f6c"]
    assert str(tmp_path / "digits") in opened.page.status["mailbox"]["folders"]
    source.now(step=1)
    assert told() == []
    source.mailbox = Address(tmp_path / "digits", "a001")
    assert told() == ["a001"]


def test_the_page_shows_a_receipt_together_with_its_effect(
    opened: ShownPanel, source: FakeRun
) -> None:
    receipt = source.post(Set({"learning_rate": 0.5}))
    before, after = (Hyperparameter.of("learning_rate", rate, whole=False) for rate in (0.1, 0.5))
    source.now(hyperparameters=(before,))

    class Setting(FakeRun):
        """A run whose training thread executes the command just as its status is read."""

        @property
        def status(self) -> Status:
            receipt.answer(Outcome(applied=True, step=7, text="learning_rate 0.1 → 0.5"))
            return dataclasses.replace(self.stands, hyperparameters=(after,))

        @status.setter
        def status(self, status: Status) -> None:
            self.stands = status

    source.__class__ = Setting
    source.stands = source.__dict__.pop("status")  # type: ignore[attr-defined]
    opened.tick()
    assert opened.page.status["receipts"][-1]["state"] == "requested"
    opened.tick()
    assert opened.page.status["receipts"][-1]["state"] == "applied"
    assert opened.page.status["values"][0] == 0.5


def test_an_edit_of_many_hyperparameters_stays_below_two_kilobytes(
    opened: ShownPanel, source: FakeRun
) -> None:
    known = [Hyperparameter.of(f"generator_learning_rate_{n}", 0.1, whole=False) for n in range(99)]
    source.now(hyperparameters=tuple(known))
    opened.tick()
    source.now(hyperparameters=tuple(each.at(math.pi * 1e-4) for each in known), step=1)
    for tag in TAGS:
        add(source.scalars, tag, 1, *[0.5] * 10_000)
    opened.sent.clear()
    opened.tick()
    assert size(opened.sent[-1]) < 2000
    assert opened.page.status["values"][0] == math.pi * 1e-4


@pytest.mark.parametrize("command", ["explode", None, "Stop", "", "set"])
def test_an_unknown_command_is_answered_and_posts_nothing(
    opened: ShownPanel, source: FakeRun, command: Any
) -> None:
    opened.hear(t="cmd", id="click-1", command=command)
    assert source.posted == []
    (message, buffers) = opened.sent[0]
    assert (message["t"], message["id"], buffers) == ("ack", "click-1", [])
    wrong = "values: None is no use here" if command == "set" else f"no command {command!r}"
    assert wrong in message["text"]


def test_an_unknown_message_does_nothing(opened: ShownPanel, source: FakeRun) -> None:
    opened.hear(t="weather")
    opened.hear(nothing=True)
    assert source.posted == []
    assert opened.sent == []


# --- after the end --------------------------------------------------------------


def test_a_page_opened_after_the_end_gets_everything_without_a_tick(
    panel: ShownPanel, source: FakeRun
) -> None:
    add(source.scalars, "loss", 1, 0.5)
    source.now(phase=Phase.FAILED, error="Traceback: ...")
    panel.hear(t="hello")
    assert panel.kinds() == ["snap"]
    assert panel.page.status["error"] == "Traceback: ..."
    assert [name for name, can in panel.page.status["controls"].items() if can] == ["note"]


def test_a_click_after_the_end_is_refused_on_the_page_without_a_tick(
    opened: ShownPanel, source: FakeRun
) -> None:
    source.now(phase=Phase.STOPPED)
    source.queue.close("the run has ended", step=9)
    opened.tick()
    opened.kinds()
    opened.hear(t="cmd", id="click-1", command="save")
    assert opened.kinds() == ["ack", "snap"]
    (shown,) = opened.page.status["receipts"]
    assert (shown["id"], shown["state"]) == ("click-1", "refused")
    assert shown["text"].startswith("the run has ended")


def test_a_missing_front_end_says_what_to_do(
    source: FakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(room, "BUNDLE", tmp_path / "panel.js")
    with pytest.raises(NbtrainError, match=r"front end is missing \(panel\.js\): install nbtrain"):
        Panel(source)
