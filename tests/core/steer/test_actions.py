"""Advice on the marks of a run: which checkpoint is good, which edit is to blame."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.commands import Restore, Set
from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.core.values.ranges import Hyperparameter, Scale
from nbtrain.panel.live.mark_actions import MarkActions
from nbtrain.remote.attached import AttachedRun
from nbtrain.rundir import status_file
from nbtrain.rundir.journal import Mark, Marks
from nbtrain.rundir.status_file import SignOfLife, Writer
from nbtrain.rundir.timeline import RunTimeline, name_of
from nbtrain.steer.actions import Action, Actions

RATE = {"learning_rate": 0.001}


class History:
    """A run's history, written as the journal has it.

    Attributes:
        marks: The marks of its lines.
    """

    def __init__(self) -> None:
        self.marks = Marks()
        self.timeline = self.marks.timeline = RunTimeline(Path())
        self._files: dict[str, Checkpoint] = {}
        self._wall = itertools.count(1000)

    def log(self, event: str, step: int, **more: Any) -> History:
        """Adds a line."""
        line = {"event": event, "step": step, "wall_time": float(next(self._wall)), **more}
        if (mark := Mark.of(line, self.timeline.add_entry(line))) is not None:
            self.marks.add(mark)
        return self

    def save(self, *steps: int, event: str = "save") -> History:
        """Saves checkpoints."""
        for step in steps:
            self.timeline.save(step, "")  # as the policy does, before the line
            self.log(event, step)
            self._hold(step, f"checkpoints/ckpt-{step}")
        return self

    def copy(self, *steps: int, folder: str = "last_good") -> History:
        """Copies good states."""
        for step in steps:
            path = f"checkpoints/{folder}/ckpt-{step}"
            self.log("copy", step, checkpoint=path)._hold(step, path)
        return self

    def _hold(self, step: int, path: str) -> None:
        self._files[path] = Checkpoint(step, path, float(next(self._wall)))

    def delete(self, *steps: int) -> History:
        """Deletes checkpoints."""
        for step in steps:
            del self._files[f"checkpoints/ckpt-{step}"]
        return self

    def set(self, step: int, old: float, new: float, event: str = "set", **more: Any) -> History:
        """Changes the learning rate."""
        return self.log(event, step, edits={"learning_rate": [old, new]}, **more)

    def back(self, step: int, to: int, folder: str = "", event: str = "restore") -> History:
        """Restores a checkpoint."""
        path = str(Path("checkpoints", folder, f"ckpt-{to}"))
        self.log("back", to, checkpoint=path)
        return self.log(event, step, **({"to": to} if to != step else {}))

    def revert(self, step: int, to: int | None = None, folder: str = "trial") -> History:
        """Ends a trial that is not kept."""
        if to is not None:
            self.log("back", to, checkpoint=f"checkpoints/{folder}/ckpt-{to}")
        more = {} if to is None else {"to": to}
        return self.set(step, 0.9, 0.001, "try", kept=False, **more)

    def nan(self, step: int, good: int | None = None) -> History:
        """Goes bad."""
        return self.log("nan", step, good=good)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints, as they are listed."""
        folders: dict[Path, list[Checkpoint]] = {}
        for path, held in self._files.items():
            folders.setdefault(Path(path).parent, []).append(held)
        return self.timeline.ordered(*folders.values())

    def actions(
        self, phase: Phase = Phase.RUNNING, values: Mapping[str, float] | None = None
    ) -> Actions:
        """Returns the actions, with these values of the hyperparameters."""
        known = RATE if values is None else values
        tuned = tuple(Hyperparameter(n, v, 0.0, 1.0, Scale.LOG) for n, v in known.items())
        return Actions(self.marks, status(phase, self.checkpoints, tuned))

    def texts(
        self, at: int = -1, phase: Phase = Phase.RUNNING, values: Mapping[str, float] | None = None
    ) -> list[str]:
        """The texts of the actions of a mark, each with the reason against it."""
        return [str(action) for action in self.actions(phase, values).of(at)]


def status(
    phase: Phase, checkpoints: Sequence[Checkpoint], tuned: Iterable[Hyperparameter]
) -> Status:
    return Status(
        name="digits",
        engine="train",
        phase=phase,
        step=0,
        total_steps=None,
        steps_per_s=None,
        eta_s=None,
        elapsed_s=0.0,
        values={},
        checkpoints=tuple(checkpoints),
        hyperparameters=tuple(tuned),
    )


def test_an_action_says_what_it_does_and_what_to_type() -> None:
    history = History().save(300).nan(400, good=300)
    halve, restore = history.actions().latest()
    assert halve == Action(
        "Restore step 300 and halve learning_rate", Restore("checkpoints/ckpt-300", "learning_rate")
    )
    assert repr(halve) == "run.restore('checkpoints/ckpt-300', halve='learning_rate')"
    assert restore == Action("Restore step 300", Restore("checkpoints/ckpt-300"))
    assert repr(restore) == "run.restore('checkpoints/ckpt-300')"
    (undo, _) = History().save(300).set(400, 1.0, 2.0).actions().of(-1)
    assert undo == Action("Set learning_rate back to 1", Set({"learning_rate": 1.0}))
    assert repr(undo) == "run.set({'learning_rate': 1.0})"


def test_the_actions_of_the_newest_marks_are_each_listed_once() -> None:
    history = History().save(300).log("pause", 400).log("resume", 400).set(400, 1, 2)
    assert [str(action) for action in history.actions(values=RATE).latest()] == [
        "Set learning_rate back to 1",
        "Restore step 300",
    ]
    many = History().save(100).log("pause", 150).save(*range(200, 900, 100))
    assert [str(action) for action in many.actions().latest()] == [
        f"Restore step {step}" for step in range(800, 200, -100)
    ]


@pytest.mark.parametrize("later", ["pause", "set", "evaluate"])
def test_the_actions_of_a_nan_come_first_until_the_run_goes_on_or_back(later: str) -> None:
    history = History().save(300).copy(380).nan(400, good=380).log(later, 410)
    history.log("evaluate", 410)
    halve = "Restore step 380 and halve learning_rate"
    assert history.actions().latest()[0].text == halve
    for _ in range(10):
        history.log("evaluate", 410)
    assert history.actions().latest()[0].text == halve, "however many marks came since"


@pytest.mark.parametrize("event", ["resume", "restore", "try"])
def test_after_a_nan_that_is_over_the_actions_of_the_newest_mark_come_first(event: str) -> None:
    history = History().save(300).copy(380).nan(400, good=380)
    if event == "resume":
        history.log("resume", 410)
    else:
        history.back(410, 300, event=event)
    assert history.log("pause", 420).actions().latest()[0].text == "Restore step 300"


def test_a_nan_is_open_until_the_run_goes_on_or_back() -> None:
    def bad() -> History:
        return History().nan(100).log("resume", 100).save(200, 290).nan(300)

    def step(history: History) -> int | None:
        found = history.actions()
        return None if found.open_nan is None else found.marks[found.open_nan].step

    assert step(bad()) == 300
    assert step(bad().set(300, 1.0, 0.5).log("pause", 300).log("evaluate", 300)) == 300
    assert step(bad().log("resume", 300)) is None
    assert step(bad().back(305, 200)) is None
    assert step(bad().log("restore", 300)) is None, "to the step where it stood"
    assert step(bad().back(305, 200, event="recovery")) is None
    assert step(History().save(200)) is None


def test_why_an_action_cannot_be_done_is_told_of_any_mark() -> None:
    history = History().save(200, 300).back(400, 200).save(300)
    replaced, *_ = history.actions().of(1)
    assert history.actions().refusal(replaced) == "a later save of this step has replaced it"
    (last,) = history.actions().of(3)
    assert history.actions().refusal(last) is None
    for _ in range(10):
        history.log("evaluate", 410)
    assert history.actions().refusal(last) is None, "though it is none of the newest"
    assert history.actions(Phase.STOPPING).refusal(last) == "the run is stopping"


def test_an_action_of_earlier_cannot_be_done() -> None:
    history = History().save(200, 300)
    earlier = history.actions().of(1)[0]
    again = history.back(400, 200).save(300).actions()
    assert again.of(-1) == (earlier,), "the same words, but another checkpoint"
    gone = "it is no longer one of its actions: call run.actions() again"
    assert again.refusal(earlier) == gone
    assert again.refusal(Action("Set learning_rate back to 7", Set({"learning_rate": 7.0}))) == gone


def test_only_the_marks_up_to_a_number_are_looked_at() -> None:
    history = History().save(200, 300)
    count, before = history.marks.count, history.checkpoints
    history.save(400)
    found = Actions(history.marks, status(Phase.RUNNING, before, ()), count)
    assert [str(action) for action in found.latest()] == ["Restore step 300", "Restore step 200"]


def test_an_edit_between_two_saves_of_a_step_counts_once_the_step_is_restored() -> None:
    history = History().save(300).set(300, 1, 2).save(300).back(400, 300)
    assert [mark.abandoned for mark in history.marks] == [False] * 4


def test_a_checkpoint_that_is_saved_after_the_status_was_taken_is_not_told_as_deleted() -> None:
    history = History().save(200)
    count, before = history.marks.count, history.checkpoints
    history.save(300)
    actions = MarkActions(history.marks)
    assert [*actions.of(status(Phase.RUNNING, before, ()), count)] == [0]
    now = actions.of(status(Phase.RUNNING, history.checkpoints, ()), history.marks.count)
    assert [str(action) for action in now[1]] == ["Restore step 300"]


def test_after_a_deleted_checkpoint_the_one_before_it_is_an_action() -> None:
    history = History().save(100, 200, event="checkpoint").delete(200)
    assert history.texts(1) == [
        "Restore step 200 (its checkpoint was deleted)",
        "Restore step 100",
    ]
    assert history.delete(100).texts(0) == ["Restore step 100 (its checkpoint was deleted)"]


def test_a_checkpoint_older_than_all_of_a_list_of_the_newest_is_not_told_as_deleted(
    tmp_path: Path,
) -> None:
    """The status file of a run, which an attached run reads, has the newest hundred."""
    history = History().save(*range(1, 151)).delete(150)
    writer = Writer("9f6c02d1", "lab-3", 4711, 0.0)
    sign = SignOfLife(writer, 0.0, status(Phase.RUNNING, history.checkpoints, ()))
    status_file.write(tmp_path, sign)
    read = status_file.read(tmp_path).status
    found = Actions(history.marks, read, most=AttachedRun.most_checkpoints)
    assert found.of(0) == (Action("Restore step 1", Restore(1)),)
    assert found.refusal(found.of(0)[0]) is None
    assert found.of(50)[0].command == Restore("checkpoints/ckpt-51")
    assert str(found.of(149)[0]) == "Restore step 150 (its checkpoint was deleted)"


def test_a_checkpoint_that_was_found_in_the_folder_has_a_mark() -> None:
    history = History().save(300)
    history.log("found", 200, checkpoint="checkpoints/ckpt-200")
    history.log("found", 250, checkpoint="checkpoints/last_good/ckpt-250")
    assert [(mark.event, mark.step, mark.text) for mark in history.marks][1:] == [
        ("checkpoint", 200, "ckpt-200")
    ]


def test_the_checkpoint_of_a_step_that_was_saved_again_is_another() -> None:
    history = History().save(200, 300).back(400, 200).save(300)
    assert history.texts(1) == [
        "Restore step 300 (a later save of this step has replaced it)",
        "Restore step 200",
    ]
    assert history.texts(3) == ["Restore step 300"]


def test_a_step_that_was_saved_again_after_an_edit_has_the_edit() -> None:
    history = History().save(200, 300).set(300, 1, 2).save(300)
    assert history.texts(2) == ["Set learning_rate back to 1", "Restore step 200"]
    assert history.texts(1)[0].startswith("Restore step 300 (")


def test_an_edit_can_be_set_back_or_the_checkpoint_before_it_restored() -> None:
    history = History().save(200, 300).set(300, 0.00001, 0.001).save(400)
    assert history.texts(2) == ["Set learning_rate back to 1e-05", "Restore step 300"]


def test_an_edit_whose_old_value_is_there_again_is_none_to_set_back() -> None:
    history = History().set(300, 0.0003, 3.0)
    assert history.texts(values={"learning_rate": 0.0003}) == [
        "Set learning_rate back to 0.0003 (this is the present value)"
    ]
    assert history.texts(values={"learning_rate": 3.0}) == ["Set learning_rate back to 0.0003"]


def test_a_checkpoint_of_another_branch_or_saved_later_does_not_lie_before_a_mark() -> None:
    history = History().save(200, 400).back(500, 200).set(450, 1, 2).save(450)
    assert history.texts(3) == ["Set learning_rate back to 1", "Restore step 200"]
    history = History().save(200).log("pause", 400).back(500, 200).save(300)
    assert history.texts(1) == ["Restore step 200"]


def test_after_nan_the_good_step_is_offered_with_half_of_the_rate_if_there_is_one() -> None:
    history = History().save(200, 300).nan(300, good=200)
    both = ["Restore step 200 and halve learning_rate", "Restore step 200"]
    assert history.texts() == both
    assert history.texts(values={"dropout": 0.5}) == both[1:]
    factor = {"learning_rate": 0.1, "learning_rate_factor": 1.0}
    assert history.texts(values=factor)[0] == "Restore step 200 and halve learning_rate_factor"


def test_after_nan_a_good_copy_that_is_newer_than_the_checkpoints_is_offered() -> None:
    halve = "Restore step {} and halve learning_rate".format
    assert History().save(200).copy(290).nan(300, good=290).texts()[0] == halve(290)
    assert History().copy(150).save(200).nan(300, good=200).texts()[0] == halve(200)
    assert History().copy(0).nan(300, good=0).texts()[0] == halve(0)
    abandoned = History().save(200).copy(290).back(295, 200).nan(295, good=200)
    assert abandoned.texts()[0] == halve(200)


def test_after_nan_nothing_later_than_the_good_step_is_offered() -> None:
    assert History().save(200, 299).nan(300, good=200).texts(values={}) == ["Restore step 200"]
    assert History().copy(0, 299).nan(300, good=0).texts(values={}) == ["Restore step 0"]
    assert History().copy(0, 299).nan(1).texts() == []


def test_a_copy_that_the_run_has_gone_back_to_is_offered_again_but_no_abandoned_one() -> None:
    history = History().copy(280, 290).nan(300, good=290)
    again = history.back(300, 290, "last_good").nan(295, good=290)
    assert again.texts(values={}) == ["Restore step 290"]
    history = History().copy(280, 290).nan(300, good=290)
    behind = history.back(300, 280, "last_good").nan(295, good=280)
    assert behind.texts(values={}) == ["Restore step 280"]


def test_a_mark_means_its_own_checkpoint_and_not_a_copy_of_the_same_step() -> None:
    history = History().copy(300, folder="trial").save(300).copy(300)
    (action,) = history.actions().of(0)
    assert action.command == Restore("checkpoints/ckpt-300")


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        (Phase.STOPPING, "the run is stopping"),
        (Phase.FAILED, "the run has ended: start it again to continue"),
        (Phase.CREATED, "the run is created"),
    ],
)
def test_an_unavailable_action_says_why(phase: Phase, reason: str) -> None:
    history = History().save(200).set(300, 1, 2)
    assert history.texts(phase=phase) == [
        f"Set learning_rate back to 1 ({reason})",
        f"Restore step 200 ({reason})",
    ]


def test_an_edit_of_a_hyperparameter_that_is_gone_cannot_be_set_back() -> None:
    assert History().set(300, 1, 2).texts(values={}) == [
        "Set learning_rate back to 1 (there is no hyperparameter learning_rate)"
    ]


def test_without_a_checkpoint_there_is_nothing_to_restore() -> None:
    assert History().log("evaluate", 5).log("something", 6).texts() == []


def test_a_reverted_trial_is_not_offered_to_be_done_again() -> None:
    assert History().save(100).revert(300, 100, "").texts() == ["Restore step 100"]


HERE = ["Restore step 320 and halve learning_rate", "Restore step 320"]
BEHIND = "Restore step 280, before learning_rate 0.001 → 0.9"


def raised(history: History, event: str = "set", step: int = 300) -> History:
    return history.set(step, 0.001, 0.9, event)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(
            raised(History().save(280).copy(300, folder="trial"), "try").revert(310, 300),
            id="by a trial",
        ),
        pytest.param(raised(History().save(280), "try").revert(310), id="without a save"),
        pytest.param(raised(History().save(280, 300)).back(310, 300), id="by a restore"),
        pytest.param(raised(History().save(280, 300)).back(300, 300), id="at the same step"),
    ],
)
def test_an_edit_that_was_undone_is_not_to_blame(history: History) -> None:
    assert history.save(320).nan(330, good=320).texts() == HERE


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(raised(History().save(280)), id="a plain edit"),
        pytest.param(
            raised(raised(History().save(280)).copy(300, folder="trial"), "try").revert(310, 300),
            id="before a trial",
        ),
        pytest.param(
            raised(History().save(280), "try").log("try", 310, kept=True), id="a kept trial"
        ),
        pytest.param(raised(History().save(280)).save(300).back(310, 300), id="saved"),
    ],
)
def test_the_way_back_behind_an_edit_is_offered_if_the_good_state_came_after_it(
    history: History,
) -> None:
    assert history.save(320).nan(330, good=320).texts() == [*HERE, BEHIND]


def test_an_edit_shortly_before_the_good_state_is_undone_first() -> None:
    soon = raised(History().save(280)).save(301).nan(304, good=301)
    assert soon.texts()[0] == BEHIND


def test_lowering_a_rate_is_no_harm() -> None:
    history = raised(History().save(280)).save(320).nan(330, good=320).back(330, 320)
    assert history.set(320, 0.9, 0.45).nan(350, good=320).texts()[0] == BEHIND


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(raised(History().save(280, 320), step=325).nan(330, good=320), id="later"),
        pytest.param(
            raised(History().save(280)).save(320).set(325, 0.9, 300).nan(330, good=320),
            id="the last one was later",
        ),
        pytest.param(
            raised(History().save(280)).save(320).back(330, 280).save(290).nan(330, good=290),
            id="abandoned",
        ),
        pytest.param(raised(History()).save(320).nan(330, good=320), id="nothing is older"),
    ],
)
def test_the_good_state_alone_is_restored_if_it_lacks_the_edit(history: History) -> None:
    assert len(history.texts()) == 2


def test_the_way_back_behind_an_edit_may_lead_to_a_copy() -> None:
    history = raised(History().copy(290)).copy(320).nan(330, good=320)
    assert history.texts()[-1] == BEHIND.replace("280", "290")


def test_actions_are_computed_again_only_if_something_they_depend_on_has_changed() -> None:
    history = History().save(200).set(300, 0.001, 0.9)
    actions = MarkActions(history.marks)

    def found(phase: Phase = Phase.RUNNING, *, rate: float = 0.9, other: float = 0.0) -> Any:
        values = {"learning_rate": rate, "momentum": other}
        tuned = [Hyperparameter(n, v, 0.0, 1.0, Scale.LOG) for n, v in values.items()]
        return actions.of(status(phase, history.checkpoints, tuned), history.marks.count)

    first = found()
    assert [len(each) for each in first.values()] == [1, 2]
    assert found(other=0.5) is first, "no mark is about this one"
    for rate in (0.3, float("nan"), float("nan")):
        assert found(rate=rate) is first, "it is not what it was before the edit"
    assert str(found(rate=0.001)[1][0]).endswith("(this is the present value)")
    assert str(found(Phase.FINISHED)[0][0]).endswith(
        "(the run has ended: start it again to continue)"
    )
    history.delete(200)
    assert str(found()[0][0]).endswith("(its checkpoint was deleted)")
    history.log("pause", 400)
    assert len(found()) == 3


# A run may do this: train and save, copy, set, go back to one of the checkpoints, go bad.
DEEDS = st.lists(
    st.tuples(st.sampled_from(["save", "copy", "set", "back", "nan", "pause"]), st.integers(0, 9)),
    max_size=25,
)


@given(DEEDS)
def test_checkpoints_of_actions_led_to_the_mark(deeds: Sequence[tuple[str, int]]) -> None:
    """The plain definition: the past of a state is carried along, and restored with it."""
    history = History()
    past: tuple[str, ...] = ()  # names of the checkpoints that led to the present state
    pasts: dict[str, tuple[str, ...]] = {}  # by checkpoint, with itself
    before: list[tuple[str, ...]] = []  # by mark
    for step, (deed, number) in enumerate(deeds, 1):  # so that no step is saved twice
        if deed == "save":
            before.append(past)
            history.save(step)
        elif deed == "copy":
            history.copy(step)
        elif deed == "set":
            before.append(past)
            history.set(step, 1.0, 2.0)
        elif deed == "back" and pasts:
            name = list(pasts)[number % len(pasts)]
            to = int(name.rpartition("-")[2])
            history.back(step, to, "last_good" if name.startswith("last_good") else "")
            past = pasts[name]
            before.append(past)
        elif deed in ("nan", "pause"):
            before.append(past)
            history.log(deed, step, good=step)
        if deed in ("save", "copy"):
            name = f"{'checkpoints' if deed == 'save' else 'last_good'}/ckpt-{step}"
            past = pasts[name] = (*past, name)
    assert {name_of(held.path) for held in history.checkpoints if not held.abandoned} == {*past}
    found = history.actions()
    assert len(found.marks) == len(before)
    for at, (mark, led) in enumerate(zip(found.marks, before, strict=True)):
        commands = [action.command for action in found.of(at)]
        restored = [each.checkpoint for each in commands if isinstance(each, Restore)]
        own = [name for name in led if name.startswith("checkpoints")]
        if mark.event == "save":
            assert restored == [f"checkpoints/ckpt-{mark.step}"]
        elif mark.event == "nan":
            assert {*led[-1:]} <= {*restored} <= {*led}
        else:
            assert restored == own[-1:]


def test_a_trial_without_a_decision_offers_each_of_its_values() -> None:
    arms = [{"name": "a", "values": {"learning_rate": 0.01}}, {"values": {"learning_rate": 0.001}}]
    history = History().save(100).log("try", 150, to=100, kept=False, arms=arms, text="yours")
    first, second, *_rest = history.actions().of(-1)
    assert (str(first), repr(first)) == (
        "Continue with learning_rate 0.01",
        "run.set({'learning_rate': 0.01})",
    )
    assert second.reason == "this is the present value"


def test_a_trial_that_was_kept_offers_no_other_value() -> None:
    arms = [{"values": {"learning_rate": 0.01}}]
    history = History().save(100).log("try", 150, kept=True, arms=arms)
    assert not any(action.text.startswith("Go on") for action in history.actions().of(-1))
