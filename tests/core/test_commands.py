"""Commands and their receipts: requested, then applied at a step, or refused with a reason."""

from __future__ import annotations

import threading

import pytest

from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.commands import (
    WITHOUT_ARGUMENTS,
    Evaluate,
    LookInside,
    Pause,
    Restore,
    Resume,
    Save,
    Set,
    Stop,
    Try,
    WhyNan,
    WhySlow,
)
from nbtrain.core.errors import WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.values.hyperparameters import Edit

DONE = Outcome(applied=True, step=1240, text="saved ckpt-1240")


@pytest.fixture
def queue() -> CommandQueue:
    """A queue whose training thread has started."""
    queue = CommandQueue(limit=3)
    queue.open()
    return queue


def test_a_posted_command_is_requested_until_it_is_answered(queue: CommandQueue) -> None:
    receipt = queue.post(Save())
    assert receipt.outcome is None
    assert repr(receipt) == "<save: requested>"
    taken = queue.get()
    assert taken is receipt
    assert receipt.outcome is None
    taken.answer(DONE)
    assert receipt.outcome == DONE
    assert receipt.wait(0) == DONE
    assert repr(receipt) == "<save: applied at step 1,240: saved ckpt-1240>"
    assert str(receipt.wait(0)) == "applied at step 1,240: saved ckpt-1240"


def test_a_refused_command_is_answered_with_the_reason(queue: CommandQueue) -> None:
    receipt = queue.post(Pause())
    receipt.answer(Outcome(applied=False, step=7, text="Cannot pause while paused"))
    assert not receipt.wait(0).applied
    assert repr(receipt) == "<pause: refused at step 7: Cannot pause while paused>"


def test_commands_are_taken_in_posting_order(queue: CommandQueue) -> None:
    posted = [queue.post(command) for command in (Pause(), Save(), Resume())]
    assert [queue.get(), queue.get(), queue.get(), queue.get()] == [*posted, None]
    assert [receipt.number for receipt in posted] == sorted(r.number for r in posted)


def test_an_empty_queue_returns_none_without_blocking(queue: CommandQueue) -> None:
    assert queue.get() is None


def test_a_waiting_take_returns_the_next_command(queue: CommandQueue) -> None:
    taken: list[Receipt | None] = []
    thread = threading.Thread(target=lambda: taken.append(queue.get(wait=True)))
    thread.start()
    receipt = queue.post(Resume())
    thread.join(10)
    assert taken == [receipt]


def test_wake_makes_a_waiting_take_return_none(queue: CommandQueue) -> None:
    taken: list[Receipt | None] = []
    thread = threading.Thread(target=lambda: taken.append(queue.get(wait=True)))
    thread.start()
    queue.wake()
    thread.join(10)
    assert taken == [None]


def test_a_wake_before_the_wait_is_not_lost(queue: CommandQueue) -> None:
    queue.wake()
    assert queue.get(wait=True) is None


def test_a_woken_queue_still_returns_waiting_commands(queue: CommandQueue) -> None:
    queue.wake()
    receipt = queue.post(Save())
    assert queue.get(wait=True) is receipt


def test_a_command_before_the_start_is_refused_at_once() -> None:
    receipt = CommandQueue().post(Pause())
    assert receipt.wait(0) == Outcome(applied=False, step=0, text="the run has not been started")


def test_a_call_before_the_first_start_is_kept() -> None:
    queue = CommandQueue()
    queue.call()
    assert queue.attention


def test_closing_refuses_waiting_and_later_commands_with_the_reason(queue: CommandQueue) -> None:
    waiting = [queue.post(Save()), queue.post(Pause())]
    queue.close("the run has ended", step=42)
    late = queue.post(Stop(), step=42)
    refused = Outcome(applied=False, step=42, text="the run has ended")
    assert [receipt.wait(0) for receipt in (*waiting, late)] == [refused] * 3
    assert repr(late) == "<stop: refused at step 42: the run has ended>"


def test_a_closed_queue_can_be_opened_for_the_next_start(queue: CommandQueue) -> None:
    queue.wake()
    queue.close("the run has ended", step=42)
    queue.open()
    receipt = queue.post(Save())
    assert receipt.outcome is None
    assert queue.get() is receipt


def test_a_full_queue_refuses_new_commands_and_keeps_the_waiting_ones(queue: CommandQueue) -> None:
    waiting = [queue.post(Save()) for _ in range(3)]
    refused = queue.post(Save(), step=7).wait(0)
    assert str(refused) == (
        "refused at step 7: 3 commands wait already; the step at hand is still running"
    )
    assert [receipt.outcome for receipt in waiting] == [None] * 3
    assert [queue.get() for _ in range(4)] == [*waiting, None]


def test_a_full_queue_accepts_a_stop(queue: CommandQueue) -> None:
    for _ in range(3):
        queue.post(Save())
    stop = queue.post(Stop())
    assert stop.outcome is None
    assert [queue.get() for _ in range(4)][-1] is stop


def test_a_wait_that_times_out_says_what_to_do(queue: CommandQueue) -> None:
    receipt = queue.post(Save())
    with pytest.raises(WaitError, match=r"No answer to save within 0\.01 s.*Wait again"):
        receipt.wait(0.01)
    assert receipt.outcome is None
    assert queue.get() is receipt


def test_a_trial_without_an_answer_is_told_to_be_answered_at_its_end() -> None:
    with pytest.raises(WaitError, match=r"No answer to try .*: a trial is answered at its end"):
        Receipt(Try({"rate": 0.1})).wait(0.01)


def test_answering_a_receipt_wakes_its_waiters(queue: CommandQueue) -> None:
    receipt = queue.post(Save())
    got: list[Outcome] = []
    thread = threading.Thread(target=lambda: got.append(receipt.wait(10)))
    thread.start()
    receipt.answer(DONE)
    thread.join(10)
    assert got == [DONE]


def test_commands_of_many_threads_are_each_taken_once() -> None:
    queue = CommandQueue(limit=10_000)
    queue.open()
    posted: list[list[Receipt]] = [[] for _ in range(4)]

    def post(mine: list[Receipt]) -> None:
        mine.extend(queue.post(Save()) for _ in range(200))

    threads = [threading.Thread(target=post, args=(mine,)) for mine in posted]
    for thread in threads:
        thread.start()
    taken = [queue.get(wait=True) for _ in range(800)]
    for thread in threads:
        thread.join(10)
    assert queue.get() is None
    wanted = [receipt for mine in posted for receipt in mine]
    assert len(set(map(id, taken))) == 800
    assert set(map(id, taken)) == set(map(id, wanted))
    for mine in posted:  # each thread's own order is kept
        order = [id(receipt) for receipt in taken if receipt in mine]
        assert order == [id(receipt) for receipt in mine]


def test_every_command_has_a_name() -> None:
    assert {
        "stop": Stop,
        "pause": Pause,
        "resume": Resume,
        "save": Save,
        "restore": Restore,
        "evaluate": Evaluate,
        "why_nan": WhyNan,
        "why_slow": WhySlow,
        "look_inside": LookInside,
    } == WITHOUT_ARGUMENTS
    assert [Receipt(make()).name for make in WITHOUT_ARGUMENTS.values()] == list(WITHOUT_ARGUMENTS)
    assert Receipt(Set({"learning_rate": 0.1})).name == "set"


def test_commands_compare_by_value() -> None:
    assert Restore(10) == Restore(10)
    assert Restore(10) != Restore("ckpt-10")
    assert Restore() == Restore(None)


def test_an_outcome_reads_as_a_sentence() -> None:
    outcome = Outcome(applied=True, step=3, text="lr 1 → 2", edits=(Edit("lr", 1.0, 2.0),))
    assert repr(outcome) == "Outcome(applied=True, step=3, text='lr 1 → 2')"


def test_a_planned_command_precedes_waiting_ones_at_its_step() -> None:
    queue = CommandQueue()
    queue.open()
    late, soon = queue.post(Save(), at=20), queue.post(Pause(), at=10)
    asked = queue.post(Resume())
    assert queue.next_step == 10
    assert [queue.get(10), queue.get(10), queue.get(10)] == [soon, asked, None]
    assert queue.next_step == 20
    assert queue.get(25) is late
    assert queue.next_step == float("inf")


def test_a_planned_command_never_reached_is_refused_at_the_end() -> None:
    queue = CommandQueue()
    queue.open()
    receipt = queue.post(Save(), at=20)
    queue.close("the run has ended", step=7)
    assert receipt.wait().text == "the run has ended before step 20"


def test_planned_commands_do_not_count_as_waiting() -> None:
    queue = CommandQueue(limit=1)
    queue.open()
    planned = [queue.post(Save(), at=step) for step in range(10, 20)]
    assert all(receipt.outcome is None for receipt in (*planned, queue.post(Save())))


def test_only_planned_commands_may_precede_the_first_start() -> None:
    queue = CommandQueue()
    planned = queue.post(Save(), at=3)
    assert not queue.post(Save()).wait(0).applied
    queue.open()
    assert queue.get(3) is planned
    queue.close("the run has ended", step=9)
    assert queue.post(Save(), at=12).wait(0).text == "the run has ended"


def test_standing_commands_come_again_after_going_back() -> None:
    queue = CommandQueue()
    queue.open()
    for at in (2, 4, 9):
        queue.post(Set({"rate": at}), at=at, standing=True)
    for step in (2, 4):
        taken(queue, step).answer(Outcome(applied=True, step=step, text="done"))
    queue.rewind(3, nothing_led)
    assert queue.next_step == 4
    taken(queue, 4)
    assert queue.next_step == 9
    taken(queue, 9)
    assert queue.get(99) is None, "each comes once"


def test_a_settled_standing_command_does_not_come_again() -> None:
    queue = CommandQueue()
    queue.open()
    for at in (2, 4):
        queue.post(Set({"rate": at}), at=at, standing=True)
    taken(queue, 2).answer(Outcome(applied=True, step=2, text="done"))
    queue.rewind(1, nothing_led)
    queue.drop_standing(2)
    queue.rewind(0, nothing_led)
    assert queue.next_step == 4


def test_standing_commands_come_again_in_a_later_start() -> None:
    queue = CommandQueue()
    queue.post(Set({"rate": 1}), at=4, standing=True)
    queue.open()
    queue.close("the run has ended", step=2)
    queue.open()
    queue.rewind(2, nothing_led)
    assert queue.next_step == 4


def test_a_standing_command_is_not_planned_before_a_step_that_it_led_to() -> None:
    queue = CommandQueue()
    queue.open()
    first = queue.post(Set({"rate": 1}), at=4, standing=True)
    taken(queue, 4).answer(Outcome(applied=True, step=4, text="done"))
    queue.rewind(2, nothing_led)
    assert queue.next_step == 4
    queue.rewind(9, lambda receipt: receipt is first)
    assert queue.get(99) is None
    queue.rewind(2, nothing_led)
    assert queue.next_step == 4


def nothing_led(_receipt: Receipt) -> bool:
    """Nothing that was done led to where the run continues from."""
    return False


def taken(queue: CommandQueue, step: int) -> Receipt:
    """Returns the command for a step."""
    receipt = queue.get(step)
    assert receipt is not None
    return receipt
