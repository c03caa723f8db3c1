"""Tracked loops of a program: their turns are a run's steps, and a run goes on within them."""

from __future__ import annotations

import contextlib
import gc
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase
from tests.gate import SOON, Gate
from tests.models import applied

ROWS, BATCH, EPOCHS = 42, 8, 4
BATCHES = 6  # of an epoch


def shuffled() -> Any:
    """Shuffled anew in every epoch, batched and drawn ahead."""
    rows = tf.data.Dataset.range(ROWS).shuffle(12, seed=7, reshuffle_each_iteration=True)
    return rows.batch(BATCH).prefetch(2)


def listed() -> list[Any]:
    """Batches that are no pipeline."""
    return [tf.range(at, min(at + BATCH, ROWS), dtype=tf.int64) for at in range(0, ROWS, BATCH)]


KINDS: dict[str, Callable[[], Any]] = {
    "dataset": shuffled,
    "unknown size": lambda: shuffled().filter(lambda _rows: True),
    "list": listed,
    "generator": lambda: (batch for _ in range(EPOCHS) for batch in listed()),
    "enumerate": lambda: enumerate(listed()),
}


class Training:
    """A sum that tells every row, its step and its epoch."""

    def __init__(self, at_step: Callable[[int], object] = lambda _count: None) -> None:
        self.sum = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(sum=self.sum)
        self.taken: list[tuple[int, tuple[int, ...]]] = []  # each step's epoch and rows
        self.ended: list[int] = []  # epochs whose end was reached
        self._at_step = at_step

    def step(self, epoch: int, batch: Any) -> Any:
        """Trains; returns the sum."""
        rows = tuple(int(row) for row in (batch[1] if isinstance(batch, tuple) else batch))
        self._at_step(len(self.taken) + 1)
        self.sum.assign(31 * self.sum % 1_000_003 + sum(rows))
        self.taken.append((epoch, rows))
        return self.sum.read_value()

    def start(
        self, data: Any, name: str, epochs: Iterable[int] = range(EPOCHS), **options: Any
    ) -> nbtrain.Run:
        """Starts the loops of a tutorial."""

        @nbtrain.background(name=name, checkpoint=self.checkpoint, **options)
        def loop(run: Any) -> None:
            for epoch in run.track(epochs):
                for batch in run.track(data):
                    run.record(sum=self.step(epoch, batch))
                self.ended.append(epoch)

        return loop  # type: ignore[no-any-return]


def test_each_turn_of_the_innermost_loop_is_a_step() -> None:
    training = Training()
    run = training.start(shuffled(), "steps").wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.status.step == run.status.total_steps == EPOCHS * BATCHES
    assert (run.status.epoch, run.status.epochs) == (EPOCHS, EPOCHS)
    assert list(run.scalars["sum"].steps) == list(range(1, EPOCHS * BATCHES + 1))
    assert [epoch for epoch, _ in training.taken] == [e for e in range(EPOCHS) for _ in range(6)]
    assert training.ended == list(range(EPOCHS))


def by_zip(first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
    """Pairs of two tracked iterables."""
    return zip(first, second, strict=True)


def by_next(first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
    """The same, with an iterator that is drawn on in each turn of a loop."""
    seconds = iter(second)
    for each in first:
        yield each, next(seconds)


@pytest.mark.parametrize("pairs", [by_zip, by_next])
def test_two_loops_that_are_drawn_from_by_turns_are_refused_with_the_line_to_write(
    pairs: Callable[..., Iterable[Any]],
) -> None:
    drawn: list[object] = []

    @nbtrain.background(name="turns", system=False)
    def run(run: Any) -> None:
        for pair in pairs(run.track(range(5)), run.track("abcde")):
            drawn.append(pair)

    with pytest.raises(ArgumentError, match="are drawn from by turns, as by zip") as refusal:
        run.wait(SOON)
    assert str(refusal.value).endswith("`for x, y in run.track(zip(a, b)):`.")
    assert (drawn, run.status.step) == ([(0, "a")], 0)


def test_a_tracked_zip_counts_a_step_for_each_pair_and_knows_its_place() -> None:
    for steps in (2, None):
        held = tf.train.Checkpoint(count=tf.Variable(0))

        @nbtrain.background(name="pairs", system=False, steps=steps, checkpoint=held)
        def run(run: Any) -> None:
            for number, letter in run.track(zip(range(5), "abcde", strict=True)):
                run.record(number=number, same="abcde"[number] == letter)

        run.wait(SOON)
    assert run.status.step == 5
    assert list(run.scalars["number"].values) == [0, 1, 2, 3, 4]
    assert set(run.scalars["same"].values) == {1.0}


def test_the_status_tells_where_the_turn_of_the_outermost_loop_began() -> None:
    seen: list[tuple[int | None, ...]] = []

    @nbtrain.background(name="turns")
    def run(run: Any) -> None:
        for _ in run.track(range(2)):
            for _ in run.track(range(3)):
                for _ in run.track(range(4)):
                    told = run.status
                    seen.append((told.epoch, told.epoch_began, told.epoch_steps))

    run.wait(SOON)
    assert seen == [(1, 0, 12)] * 12 + [(2, 12, 12)] * 12


def test_the_end_is_known_after_the_first_pass_over_data_of_unknown_size() -> None:
    totals: list[int | None] = []
    training = Training(lambda _count: totals.append(runs[0].status.total_steps))
    runs = [training.start(KINDS["unknown size"](), "learnt", start=False)]
    runs[0].start().wait(SOON)
    assert totals == [None] * BATCHES + [EPOCHS * BATCHES] * (EPOCHS - 1) * BATCHES


def test_turns_with_several_loops_have_a_beginning_but_no_known_length() -> None:
    seen: list[tuple[int | None, ...]] = []

    @nbtrain.background(name="several")
    def run(run: Any) -> None:
        for _ in run.track(range(2)):
            for many in (3, 2):
                for _ in run.track(range(many)):
                    told = run.status
                    seen.append((told.epoch, told.epoch_began, told.epoch_steps))

    run.wait(SOON)
    assert seen[3:] == [(1, 0, None)] * 2 + [(2, 5, None)] * 5


def test_a_loop_without_another_around_it_counts_steps_too() -> None:
    @nbtrain.background(name="flat")
    def run(run: Any) -> None:
        for number in run.track(range(7)):
            run.record(number=number)

    run.wait(SOON)
    assert (run.status.step, run.status.total_steps) == (7, 7)
    assert list(run.scalars["number"].values) == [0, 1, 2, 3, 4, 5, 6]


def test_a_value_recorded_after_the_inner_loop_belongs_to_its_last_step() -> None:
    @nbtrain.background(name="validated")
    def run(run: Any) -> None:
        for epoch in run.track(range(2)):
            for number in run.track(range(3)):
                run.record(number=number)
            run.record(val_loss=epoch)

    run.wait(SOON)
    assert list(run.scalars["val_loss"].steps) == [3, 6]
    assert run.status.step == 6


def test_a_stop_ends_all_loops_at_once_after_its_step() -> None:
    gate = Gate()
    training = Training(gate)
    run = training.start(shuffled(), "stopped")
    gate.wait_for_arrivals()
    gate.allow(8)
    gate.wait_for_arrivals(8)
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 9)
    assert len(training.taken) == 9


@pytest.mark.parametrize("where", ["before its loop", "after its loop"])
def test_a_stop_in_an_epoch_outside_of_its_loop_leaves_no_epoch_without_a_step(where: str) -> None:
    taken: list[list[int]] = []

    def start(name: str) -> nbtrain.Run:
        held = tf.train.Checkpoint(weight=tf.Variable(0.0))

        @nbtrain.background(name=name, checkpoint=held)
        def loop(run: Any) -> None:
            for epoch in run.track(range(EPOCHS)):
                if where == "before its loop" and epoch == 1 and len(taken) == 1:
                    run.request_stop()
                steps: list[int] = []
                for number in run.track(range(BATCHES)):
                    steps.append(number)
                taken.append(steps)
                if where == "after its loop" and len(taken) == 2:
                    run.request_stop()

        return loop.wait(SOON)  # type: ignore[no-any-return]

    stopped = start("between")
    assert stopped.status.phase is Phase.STOPPED
    whole = [*range(BATCHES)]
    assert taken == [whole, [0] if where == "before its loop" else whole]
    then = start("between")
    assert then.status.phase is Phase.FINISHED
    assert then.status.step == EPOCHS * BATCHES
    assert [number for steps in taken for number in steps] == EPOCHS * whole


def test_a_stop_ends_the_program_before_its_next_tracked_loop() -> None:
    ended: list[int] = []

    @nbtrain.background(name="no more")
    def loop(run: Any) -> None:
        for epoch in range(EPOCHS):
            for number in run.track(range(BATCHES)):
                if (epoch, number) == (1, 3):
                    run.request_stop()
            ended.append(epoch)

    loop.wait(SOON)
    assert ended == [0, 1]
    assert loop.status.phase is Phase.STOPPED
    assert loop.status.step == BATCHES + 4


def test_steps_end_a_tracked_loop() -> None:
    training = Training()
    run = training.start(shuffled(), "limited", steps=8).wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 8)


@pytest.mark.parametrize("stopped_at", [1, 5, 6, 7, 12, 17, 23])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_goes_on_with_the_next_batch(kind: str, stopped_at: int) -> None:
    """In the same epoch, as if it had not been stopped."""
    whole = Training()
    whole.start(KINDS[kind](), "whole").wait(SOON)
    first = Training()
    first.start(KINDS[kind](), "broken", steps=stopped_at).wait(SOON)
    then = Training()
    run = then.start(KINDS[kind](), "broken").wait(SOON)
    assert first.taken + then.taken == whole.taken
    assert int(then.sum) == int(whole.sum)
    assert run.status.step == len(whole.taken)
    assert run.status.phase is Phase.FINISHED


@pytest.mark.parametrize("kind", ["dataset", "list"])
@pytest.mark.parametrize("stopped_at", [3, BATCHES, BATCHES + 4, 2 * BATCHES + 1])
def test_a_save_before_the_loops_have_begun_holds_where_they_go_on(
    kind: str, stopped_at: int
) -> None:
    def start(name: str, *, save: bool = False, **options: Any) -> Training:
        training, data = Training(), KINDS[kind]()

        @nbtrain.background(name=name, checkpoint=training.checkpoint, **options)
        def loop(run: Any) -> None:
            if save:
                receipts.append(run.save())
                run.request_stop()
            for batch in run.track(listed()):
                training.step(-1, batch)
            for epoch in run.track(range(2)):
                for batch in run.track(data):
                    training.step(epoch, batch)

        loop.wait(SOON)
        return training

    receipts: list[Any] = []
    whole = start("whole")
    first = start("broken", steps=stopped_at)
    assert start("broken", save=True).taken == []
    assert applied(receipts[0]).step == stopped_at
    assert first.taken + start("broken").taken == whole.taken


def test_a_save_after_a_restore_between_two_turns_holds_the_restored_position() -> None:
    """The loop that was restored has not begun again, and then the program fails."""
    receipts: list[Any] = []

    def start(name: str, *, back: bool = False, **options: Any) -> Training:
        training, data = Training(), shuffled()

        @nbtrain.background(name=name, checkpoint=training.checkpoint, **options)
        def loop(run: Any) -> None:
            for epoch in run.track(range(EPOCHS)):
                if receipts and back:
                    raise ValueError("before the loop that was restored")
                for batch in run.track(data):
                    training.step(epoch, batch)
                if back and epoch == 1:
                    receipts.extend([run.restore(4), run.save()])

        loop.wait(SOON)
        return training

    whole = start("whole")
    with pytest.raises(ValueError, match="before the loop"):
        start("broken", back=True, save_steps=4, keep=None)
    assert [applied(receipt).step for receipt in receipts] == [2 * BATCHES, 4]
    assert start("broken").taken == whole.taken[4:]


def test_a_run_started_again_in_its_process_goes_on_within_its_loops() -> None:
    gate = Gate()
    training = Training(gate)
    run = training.start(shuffled(), "again")
    gate.wait_for_arrivals()
    gate.allow(8)
    gate.wait_for_arrivals(8)
    run.request_stop()
    gate.open()
    run.wait(SOON)
    run.start().wait(SOON)
    whole = Training()
    whole.start(shuffled(), "whole").wait(SOON)
    assert training.taken == whole.taken


def test_more_epochs_go_on_after_those_that_are_done() -> None:
    training = Training()
    training.start(shuffled(), "more", range(2)).wait(SOON)
    again = Training()
    run = again.start(shuffled(), "more", range(2)).wait(SOON)
    assert run.status.step == 2 * BATCHES
    assert "where its loops have ended: there is nothing left to train. Give fresh=True or" in (
        str(run.status.message)
    )
    assert again.taken == []
    more = Training()
    assert more.start(shuffled(), "more", range(EPOCHS)).wait(SOON).status.message is None
    whole = Training()
    whole.start(shuffled(), "whole").wait(SOON)
    assert training.taken + more.taken == whole.taken


def test_the_end_of_all_loops_is_told_at_the_end_of_the_program() -> None:
    data = listed()
    told: list[str | None] = []

    @nbtrain.background(name="plain")
    def loop(run: Any) -> None:
        for epoch in range(4):
            for _ in run.track(data):
                if epoch == 2 and not told[3:]:
                    run.request_stop()
            told.append(run.status.message)

    loop.wait(SOON)
    loop.start().wait(SOON)
    assert told == [None] * 7
    assert loop.status.message is None
    loop.start().wait(SOON)
    assert told == [None] * 11
    assert "Its loops have ended: there is nothing left to train" in str(loop.status.message)


@pytest.mark.parametrize("kind", ["dataset", "list"])
@pytest.mark.parametrize(("saved", "left"), [(3, 5), (4, 8), (6, 8), (8, 20)])
def test_a_restore_goes_back_to_the_batch_and_the_epoch(kind: str, saved: int, left: int) -> None:
    """The outer loop's own variable shows the restored epoch from its next turn on."""
    gate = Gate()
    training = Training(gate)
    run = training.start(KINDS[kind](), "back", save_steps=saved, keep=None)
    gate.wait_for_arrivals()
    gate.allow(left)
    gate.wait_for_arrivals(left)
    restored = run.restore(saved)
    gate.open()
    assert restored.wait(SOON).applied
    run.wait(SOON)
    whole = Training()
    whole.start(KINDS[kind](), "whole").wait(SOON)
    rows = [each for _, each in training.taken]
    expected = [each for _, each in whole.taken]
    assert rows == expected[: left + 1] + expected[saved:]
    assert int(training.sum) == int(whole.sum)
    assert run.status.step == run.status.total_steps == EPOCHS * BATCHES
    assert training.ended[-1] == EPOCHS - 1


def test_a_run_goes_on_with_the_rest_of_an_iterator_that_an_earlier_one_has_begun() -> None:
    def taken(batches: Iterable[int], last: int | None = None) -> tuple[list[int], str | None]:
        found: list[int] = []
        held = tf.train.Checkpoint(weight=tf.Variable(0.0))

        @nbtrain.background(name="live", checkpoint=held)
        def loop(run: Any) -> None:
            for number in run.track(batches):
                found.append(number)
                if number == last:
                    run.request_stop()

        return found, loop.wait(SOON).status.notice

    numbers = (number for number in range(60))
    assert taken(numbers, 27)[0] == [*range(28)]
    assert taken(numbers, 40)[0] == [*range(28, 41)]
    found, notice = taken(number for number in range(60))
    assert found == [*range(41, 60)]
    assert "The first 41 elements of the generator were drawn again" in str(notice)


def test_an_iterator_that_cannot_go_back_is_told() -> None:
    gate = Gate()
    training = Training(gate)
    batches = (batch for _ in range(EPOCHS) for batch in listed())
    run = training.start(batches, "stuck", range(1), save_steps=3)
    gate.wait_for_arrivals()
    gate.allow(4)
    gate.wait_for_arrivals(4)
    restored = run.restore(3)
    gate.allow(1)
    assert restored.wait(SOON).applied
    assert "An iterator cannot go back: its loop goes on where it was." in str(run.status.message)
    gate.open()
    run.wait(SOON)
    assert [rows[0] for _, rows in training.taken[:7]] == [0, 8, 16, 24, 32, 40, 0]


def test_the_end_of_a_loop_that_is_entered_again_is_not_that_of_the_run() -> None:
    totals: list[int | None] = []

    def take(run: Any, data: Any) -> None:
        for _ in run.track(data):
            totals.append(run.status.total_steps)

    @nbtrain.background(name="totals")
    def loop(run: Any) -> None:
        data = listed()
        for _ in range(2):
            take(run, data)
        take(run, range(BATCHES))  # another loop, which may be the last

    loop.wait(SOON)
    assert totals == [BATCHES] * BATCHES + [None] * BATCHES + [3 * BATCHES] * BATCHES


def test_a_loop_that_is_not_tracked_is_told_with_the_line_to_write() -> None:
    seen: list[tuple[int | None, str | None]] = []

    @nbtrain.background(name="told")
    def loop(run: Any) -> None:
        for _ in range(2):
            for _ in run.track(range(3)):
                seen.append((run.status.total_steps, run.status.notice))

    loop.wait(SOON)
    assert {total for total, _ in seen} == {None}
    assert "`for _ in range(2):`, is not tracked, so the end of the run is unknown" in str(seen[0])
    assert "To leave them out, write `for _ in run.track(range(2)):`." in str(seen[0])


def test_a_tracked_loop_around_another_is_not_told() -> None:
    run = Training().start(listed(), "quiet").wait(SOON)
    assert run.status.notice is None
    assert run.status.total_steps == EPOCHS * BATCHES


def test_a_checkpoint_of_another_loop_is_told() -> None:
    gate = Gate()
    training = Training(gate)
    run = plain(training, shuffled(), shuffled(), "elsewhere", save_steps=3)
    run.start()
    gate.wait_for_arrivals()
    gate.allow(8)
    gate.wait_for_arrivals(8)
    restored = run.restore(3)
    gate.allow(1)
    assert restored.wait(SOON).applied
    assert "Track the loop around both too" in str(run.status.message)
    gate.open()
    run.wait(SOON)
    whole = Training()
    plain(whole, shuffled(), shuffled(), "whole").start().wait(SOON)
    assert training.taken == whole.taken


def test_values_of_a_loop_within_a_step_are_told() -> None:
    @nbtrain.background(name="within")
    def loop(run: Any) -> None:
        for _ in run.track(range(3)):
            for number in range(5):
                run.record(loss=float(number))

    loop.wait(SOON)
    assert loop.scalars["loss"].values.tolist() == [4.0] * 3
    assert str(loop.status.message).startswith("loss was recorded more than once in a step: the")


def test_a_break_ends_its_loop_alone_and_counts_what_was_recorded() -> None:
    totals: list[int | None] = []

    @nbtrain.background(name="broken")
    def run(run: Any) -> None:
        for epoch in run.track(range(3)):
            for number in run.track(range(10)):
                run.record(number=10 * epoch + number)
                totals.append(run.status.total_steps)
                if number == 1:
                    break

    run.wait(SOON)
    assert list(run.scalars["number"].values) == [0, 1, 10, 11, 20, 21]
    assert run.status.step == 6
    assert totals == [30, 30, None, None, None, None]
    assert run.status.total_steps is None


def test_a_break_of_the_only_loop_counts_what_was_recorded() -> None:
    @nbtrain.background(name="left")
    def run(run: Any) -> None:
        for _ in range(2):
            for number in run.track(range(10)):
                run.record(number=number)
                if number == 1:
                    break

    run.wait(SOON)
    assert list(run.scalars["number"].steps) == [1, 2, 3, 4]
    assert run.status.step == 4


def test_a_break_counts_a_turn_that_recorded_only_media() -> None:
    @nbtrain.background(name="left")
    def run(run: Any) -> None:
        for _ in range(2):
            for number in run.track(range(10)):
                run.record(note=str(number))
                if number == 1:
                    break

    run.wait(SOON)
    assert [*map(int, run.media.history("text", "note").steps)] == [1, 2, 3, 4]
    assert run.status.step == 4


def test_loops_that_were_completed_are_left_out_when_a_run_goes_on() -> None:
    seen: list[str] = []
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))

    def start(steps: int | None) -> nbtrain.Run:
        @nbtrain.background(name="phases", checkpoint=held, steps=steps)
        def loop(run: Any) -> None:
            for number in run.track(range(3)):
                seen.append(f"warm up {number}")
            for epoch in run.track(range(2)):
                for number in run.track(range(2)):
                    seen.append(f"first {epoch} {number}")
                for number in run.track(range(2)):
                    seen.append(f"second {epoch} {number}")

        return loop  # type: ignore[no-any-return]

    start(None).wait(SOON)
    whole, seen[:] = seen.copy(), []
    for steps in range(1, len(whole)):
        shutil.rmtree("runs/phases")
        start(steps).wait(SOON)
        assert start(None).wait(SOON).status.message is None
        assert seen == whole, steps
        seen.clear()


@pytest.mark.parametrize("stopped_at", [1, 3, 5, 6, 7, 8, 11, 15])
def test_each_of_several_pipelines_goes_on_with_its_next_pass(stopped_at: int) -> None:
    def start(name: str, steps: int | None = None) -> list[list[int]]:
        taken: list[list[int]] = []
        held = tf.train.Checkpoint(weight=tf.Variable(0.0))
        first, second = (tf.data.Dataset.range(9).shuffle(9, seed=seed).batch(3) for seed in (1, 2))

        @nbtrain.background(name=name, checkpoint=held, steps=steps)
        def loop(run: Any) -> None:
            for _ in run.track(range(3)):
                for data in (first, second):
                    for batch in run.track(data):
                        taken.append(batch.numpy().tolist())

        loop.wait(SOON)
        return taken

    assert start("broken", stopped_at) + start("broken") == start("whole")


def plain(training: Training, data: Any, more: Any, name: str, **options: Any) -> nbtrain.Run:
    """Returns a run of two tracked loops in a loop that is not tracked; it has not been started."""

    @nbtrain.background(name=name, checkpoint=training.checkpoint, start=False, **options)
    def loop(run: Any) -> None:
        for epoch in range(EPOCHS):
            for source in (data, more):
                for batch in run.track(source):
                    run.record(sum=training.step(epoch, batch))

    return loop  # type: ignore[no-any-return]


@pytest.mark.parametrize("stopped_at", [3, 6, 8, 13, 29])
@pytest.mark.parametrize("again", ["in its process", "in another"])
def test_loops_in_a_loop_that_is_not_tracked_go_on_with_the_order_of_their_data(
    stopped_at: int, again: str
) -> None:
    whole = Training()
    plain(whole, shuffled(), shuffled(), "whole").start().wait(SOON)
    runs: list[nbtrain.Run] = []
    first = Training(lambda count: count == stopped_at and runs[0].request_stop())
    runs.append(plain(first, shuffled(), shuffled(), "broken"))
    runs[0].start().wait(SOON)
    assert len(first.taken) == stopped_at
    if again == "in its process":
        runs[0].start().wait(SOON)
        assert first.taken == whole.taken
    else:
        then = Training()
        plain(then, shuffled(), shuffled(), "broken").start().wait(SOON)
        assert first.taken + then.taken == whole.taken


@pytest.mark.parametrize("around", [range, "tracked range"])
@pytest.mark.parametrize("kind", ["list", "dataset"])
def test_the_data_of_loops_that_are_over_are_freed(kind: str, around: Any) -> None:
    class Batches(list[Any]):
        """A list that can be referred to weakly."""

    held: list[weakref.ref[Any]] = []

    @nbtrain.background(name="freed")
    def loop(run: Any) -> None:
        for _ in range(20) if around is range else run.track(range(20)):
            data = Batches(listed()) if kind == "list" else shuffled()
            held.append(weakref.ref(data))
            for _ in run.track(data):
                pass

    gc.disable()
    try:
        loop.wait(SOON)
    finally:
        gc.enable()
    alive = sum(each() is not None for each in held)
    assert alive <= (1 if kind == "list" else 10), f"{alive} of 20: pipelines may be used again"


def test_the_size_is_known_to_who_asks_for_it() -> None:
    sizes: list[int] = []

    @nbtrain.background(name="sized")
    def run(run: Any) -> None:
        sizes.append(len(run.track(shuffled())))
        one = tf.distribute.MirroredStrategy(["CPU:0"])
        sizes.append(len(run.track(one.experimental_distribute_dataset(shuffled()))))
        with pytest.raises(TypeError, match="'generator' has no len"):
            len(run.track(number for number in range(3)))

    run.wait(SOON)
    assert sizes == [BATCHES, BATCHES]


def test_something_without_turns_is_refused() -> None:
    @nbtrain.background(name="refused")
    def run(run: Any) -> None:
        run.track(3)

    with pytest.raises(ArgumentError, match=r"track\(3\): give something to loop over"):
        run.wait(SOON)


def test_a_loop_in_another_thread_is_refused() -> None:
    run = Training().start(shuffled(), "elsewhere")
    with pytest.raises(ArgumentError, match="outside of its training thread"):
        next(iter(run.track(range(3))))  # type: ignore[attr-defined]
    run.wait(SOON)


def test_should_stop_and_track_do_not_mix() -> None:
    @nbtrain.background(name="mixed")
    def run(run: Any) -> None:
        while not run.should_stop():
            for _ in run.track(range(3)):
                pass

    with pytest.raises(ArgumentError, match="counts the steps already"):
        run.wait(SOON)


def test_should_stop_within_a_tracked_loop_only_tells() -> None:
    told: list[bool] = []

    @nbtrain.background(name="asked")
    def run(run: Any) -> None:
        for _ in run.track(range(4)):
            told.append(run.should_stop())

    run.wait(SOON)
    assert (run.status.step, told) == (4, [False] * 4)


def test_an_error_in_the_body_fails_the_run_and_keeps_its_steps() -> None:
    @nbtrain.background(name="failed")
    def run(run: Any) -> None:
        for number in run.track(range(9)):
            run.record(number=number)
            if number == 4:
                raise ValueError("my own")

    with pytest.raises(ValueError, match="my own"):
        run.wait(SOON)
    assert run.status.step == 4


class Fails:
    """Raises an error at one step."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __call__(self, count: int) -> None:
        if count == self._at:
            raise ValueError("my own")


@pytest.mark.parametrize("failed_at", [1, 5, 6, 7, 12, 13, 24])
@pytest.mark.parametrize("kind", [*KINDS][:-1])  # the last ends after an epoch
def test_a_run_that_failed_repeats_the_step_and_goes_on(kind: str, failed_at: int) -> None:
    whole = Training()
    whole.start(KINDS[kind](), "whole").wait(SOON)
    first = Training(Fails(failed_at))
    with pytest.raises(ValueError, match="my own"):
        first.start(KINDS[kind](), "failed").wait(SOON)
    then = Training()
    then.start(KINDS[kind](), "failed").wait(SOON)
    assert first.taken + then.taken == whole.taken
    assert int(then.sum) == int(whole.sum)


def test_a_run_that_failed_after_the_inner_loop_does_not_repeat_that() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))

    def start(name: str, failed_at: int | None) -> list[str]:
        seen: list[str] = []

        @nbtrain.background(name=name, checkpoint=held)
        def loop(run: Any) -> None:
            for epoch in run.track(range(3)):
                for number in run.track(range(2)):
                    seen.append(f"train {epoch} {number}")
                if epoch == failed_at:
                    raise ValueError("my own")
                for number in run.track(range(2)):
                    seen.append(f"validate {epoch} {number}")

        if failed_at is None:
            loop.wait(SOON)
        else:
            with pytest.raises(ValueError, match="my own"):
                loop.wait(SOON)
        return seen

    whole = start("whole", None)
    assert start("failed", 1) + start("failed", None) == whole


class Away:
    """Five numbers, the third of which cannot be read in one of the passes."""

    def __init__(self, fails_in: int | None, error: Exception | None = None) -> None:
        self._fails_in, self._passes = fails_in, 0
        self._error = error or OSError("away")

    def __len__(self) -> int:
        return 5

    def __iter__(self) -> Iterator[int]:
        self._passes += 1
        for number in range(5):
            if self._passes == self._fails_in and number == 2:
                raise self._error
            yield number


AWAY: dict[str, Callable[[int | None], Any]] = {
    "a list of one's own": Away,
    "an index": lambda fails_in: Away(fails_in, IndexError("away")),
    "a pipeline": lambda fails_in: tf.data.Dataset.from_generator(
        Away(fails_in).__iter__, output_signature=tf.TensorSpec((), tf.int64)
    ),
}


@pytest.mark.parametrize("fails_in", [1, 2, 3])
@pytest.mark.parametrize("kind", AWAY)
def test_an_error_of_the_data_keeps_the_position(kind: str, fails_in: int) -> None:
    seen: list[tuple[int, int]] = []
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))

    def start(data: Any) -> nbtrain.Run:
        @nbtrain.background(name="away", checkpoint=held)
        def loop(run: Any) -> None:
            for epoch in run.track(range(3)):
                for number in run.track(data):
                    seen.append((epoch, int(number)))

        run: nbtrain.Run = loop
        return run

    with pytest.raises((OSError, IndexError, tf.errors.UnknownError), match="away"):
        start(AWAY[kind](fails_in)).wait(SOON)
    assert start(AWAY[kind](None)).wait(SOON).status.step == 15
    assert seen == [(epoch, number) for epoch in range(3) for number in range(5)]


@pytest.mark.parametrize("kind", AWAY)
def test_a_program_that_handles_an_error_of_the_data_goes_on_with_the_next_pass(kind: str) -> None:
    seen: list[int] = []
    data = AWAY[kind](2)

    @nbtrain.background(name="handled")
    def loop(run: Any) -> None:
        for _ in run.track(range(3)):
            with contextlib.suppress(OSError, IndexError, tf.errors.UnknownError):
                for number in run.track(data):
                    seen.append(int(number))

    assert loop.wait(SOON).status.step == len(seen)
    assert seen == [*range(5), *range(2), *range(5)]


def test_a_program_that_handles_the_error_of_a_loop_goes_on_with_the_next_pass() -> None:
    taken: dict[str, list[list[int]]] = {"broken": [], "failed": []}

    @nbtrain.background(name="handled")
    def loop(run: Any) -> None:
        for way, rows in taken.items():
            data = tf.data.Dataset.range(9).shuffle(9, seed=3).batch(3)
            for _ in run.track(range(3)):
                with contextlib.suppress(ValueError):
                    for batch in run.track(data):
                        rows.append(batch.numpy().tolist())
                        if len(rows) == 2 and way == "failed":
                            raise ValueError("my own")
                        if len(rows) == 2:
                            break

    loop.wait(SOON)
    assert taken["failed"] == taken["broken"]
    assert len(taken["broken"]) == 8
