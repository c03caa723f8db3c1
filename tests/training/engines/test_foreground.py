"""`nbtrain.track` outside of a run: a loop of the program that trains where it stands."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.checkpoints.files import listed
from nbtrain.core.errors import ArgumentError, BusyError, PhaseError
from nbtrain.core.states import Phase
from nbtrain.run.boundary.session_host import owner
from nbtrain.steer import surroundings
from nbtrain.terminal.script import Script
from tests.gate import SOON, eventually
from tests.leaving import IS_KNOWN, failure

ROWS, BATCH, EPOCHS = 42, 8, 4
BATCHES = 6  # of an epoch


@pytest.fixture(autouse=True)
def at_rest() -> Iterator[None]:
    """No test leaves a run or a handler behind."""
    yield
    assert owner.get() is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert all(run.status.phase.ended for run in nbtrain.runs().values())


def shuffled() -> Any:
    """Shuffled anew in every epoch, batched and drawn ahead."""
    rows = tf.data.Dataset.range(ROWS).shuffle(12, seed=7, reshuffle_each_iteration=True)
    return rows.batch(BATCH).prefetch(2)


class Training:
    """A sum that tells every row, its step and its epoch."""

    def __init__(self) -> None:
        self.sum = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(sum=self.sum)
        self.taken: list[tuple[int, tuple[int, ...]]] = []  # each step's epoch and rows

    def step(self, epoch: int, batch: Any) -> Any:
        """Trains; returns the sum."""
        rows = tuple(int(row) for row in batch)
        self.sum.assign(31 * self.sum % 1_000_003 + sum(rows))
        self.taken.append((epoch, rows))
        return self.sum.read_value()

    def loop(
        self,
        name: str,
        after: Callable[[nbtrain.Run], object] = lambda _run: None,
        epochs: Iterable[int] = range(EPOCHS),
        **options: Any,
    ) -> nbtrain.Run:
        """Runs the loops of a tutorial in this thread."""
        data = shuffled()
        run = nbtrain.track(epochs, name=name, checkpoint=self.checkpoint, **options)
        for epoch in run:
            for batch in nbtrain.track(data):
                run.record(sum=self.step(epoch, batch))
                after(run)
        return run  # type: ignore[no-any-return]


def test_a_loop_makes_a_run_of_its_turns() -> None:
    run = nbtrain.track(range(5), name="flat")
    assert run.status.phase is Phase.CREATED
    threads: set[threading.Thread] = set()
    for number in run:
        assert run.status.phase is Phase.RUNNING
        threads.add(threading.current_thread())
        run.record(number=number)
    assert threads == {threading.main_thread()}
    assert (run.status.phase, run.status.step, run.status.total_steps) == (Phase.FINISHED, 5, 5)
    assert list(run.scalars["number"].values) == [0, 1, 2, 3, 4]
    assert run.wait(SOON) is run
    assert nbtrain.runs()["flat"] is run


def test_a_run_without_a_name_of_its_variable_is_found_among_the_runs() -> None:
    for number in nbtrain.track(range(3)):
        nbtrain.runs()["loop-1"].record(number=number)
    assert list(nbtrain.runs()["loop-1"].scalars["number"].steps) == [1, 2, 3]


def test_a_loop_within_it_has_the_steps_and_it_counts_epochs() -> None:
    training = Training()
    run = training.loop("nested")
    assert (run.status.step, run.status.total_steps) == (EPOCHS * BATCHES,) * 2
    assert (run.status.epoch, run.status.epochs) == (EPOCHS, EPOCHS)
    assert [epoch for epoch, _ in training.taken] == [e for e in range(EPOCHS) for _ in range(6)]
    assert [held.step for held in run.checkpoints] == [EPOCHS * BATCHES]


def test_commands_of_another_thread_are_executed_between_two_steps() -> None:
    run = nbtrain.track(itertools.count(), name="steered")
    answers: list[Any] = []

    def steer() -> None:
        answers.append(run.pause().wait(SOON))
        answers.append(run.status.phase)
        run.resume().wait(SOON)
        run.request_stop()

    thread = threading.Thread(target=steer)
    for number in run:
        if number == 3:
            thread.start()
    thread.join()
    assert answers[0].applied
    assert answers[0].step >= 4
    assert answers[1] is Phase.PAUSED
    assert run.status.phase is Phase.STOPPED


def test_a_stop_ends_each_tracked_loop_and_the_program_goes_on() -> None:
    training = Training()
    run = training.loop("stopped", lambda run: run.status.step == 8 and run.request_stop())
    assert (run.status.phase, run.status.step, len(training.taken)) == (Phase.STOPPED, 9, 9)
    assert listed(run.logdir / "checkpoints")[-1].step == 9


def test_a_stopped_loop_goes_on_with_the_next_batch_under_its_name() -> None:
    whole, first, then = Training(), Training(), Training()
    whole.loop("whole")
    first.loop("broken", steps=BATCHES + 1)
    run = then.loop("broken")
    assert first.taken + then.taken == whole.taken
    assert int(then.sum) == int(whole.sum)
    assert run.status.phase is Phase.FINISHED


def test_looping_over_the_same_run_again_goes_on_after_a_stop() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(range(9), name="twice", checkpoint=held)
    seen = []

    def loop() -> None:
        for number in run:
            seen.append(number)
            if number == 3:
                run.request_stop()

    loop()
    loop()
    assert seen == list(range(9))
    assert run.status.phase is Phase.FINISHED


@pytest.mark.parametrize(
    "data", [lambda: range(3), lambda: tf.data.Dataset.range(3), lambda: zip("abc", strict=True)]
)
def test_a_loop_that_has_ended_gives_nothing_and_says_so(data: Callable[[], Any]) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(data(), name="ended", checkpoint=held)
    assert len(list(run)) == 3
    assert run.status.message is None
    again = nbtrain.track(data(), name="ended", checkpoint=held)
    assert not list(again)
    assert again.status.message == (
        "Already at step 3, where its loops have ended: there is nothing left to train. Give "
        "fresh=True or another name= to start from scratch."
    )


def test_an_earlier_run_is_moved_aside_if_fresh() -> None:
    Training().loop("anew", steps=7)
    training = Training()
    run = training.loop("anew", fresh=True, steps=7)
    assert len(training.taken) == 7
    assert "earlier run was moved" in str(run.status.notice)


def test_a_break_finishes_the_run_with_a_last_checkpoint() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(range(9), name="broken", checkpoint=held)
    for number in run:
        run.record(number=number)
        if number == 3:
            break
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 4)
    assert listed(run.logdir / "checkpoints")[-1].step == 4


def test_a_return_finishes_the_run() -> None:
    def train() -> Any:
        run = nbtrain.track(range(9), name="returned")
        for number in run:
            run.record(number=number)
            if number == 3:
                return run
        return None

    run = train()
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 4)


def test_leaving_the_program_stops_the_run() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(range(9), name="exited", checkpoint=held)

    def train() -> None:
        for number in run:
            run.record(number=number)
            if number == 3:
                sys.exit(2)

    with pytest.raises(SystemExit):
        train()
    phase = Phase.STOPPED if IS_KNOWN else Phase.FAILED
    assert (run.status.phase, run.status.step) == (phase, 3)
    assert listed(run.logdir / "checkpoints")[-1].step == 3
    assert [*run] == [3, 4, 5, 6, 7, 8]


def test_a_loop_that_is_dropped_finishes_the_run() -> None:
    run = nbtrain.track(range(9), name="dropped")
    turns = iter(run)
    next(turns)
    next(turns)
    del turns
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 1)


def test_a_loop_that_another_thread_drops_finishes_the_run() -> None:
    run = nbtrain.track(range(9), name="collected")
    turns = [iter(run)]
    next(turns[0])
    thread = threading.Thread(target=turns.clear)
    thread.start()
    thread.join()
    eventually(lambda: run.status.phase is Phase.FINISHED)
    assert [*nbtrain.track(range(2), name="next")] == [0, 1]


@pytest.mark.parametrize("error", [ValueError("my own"), None])
def test_a_loop_that_is_kept_open_after_its_cell_or_process_repeats_its_step(
    error: Exception | None,
) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(range(9), name="kept", checkpoint=held)
    turns = iter(run)
    for number in (0, 1, 2):
        assert next(turns) == number
        run.record(number=number)
    run.attempt.abandon(error)
    phase = Phase.STOPPED if error is None else Phase.FAILED
    assert (run.status.phase, run.status.step) == (phase, 2)
    assert [*nbtrain.track(range(9), name="kept", checkpoint=held)] == [2, 3, 4, 5, 6, 7, 8]


def test_an_iterator_that_nobody_draws_from_starts_nothing() -> None:
    run = nbtrain.track(range(9), name="unused")
    assert [*zip((), run, strict=False)] == []
    assert run.status.phase is Phase.CREATED


def test_an_error_in_the_body_fails_the_run_and_comes_to_the_program_as_it_is() -> None:
    mine = ValueError("my own")
    run = nbtrain.track(range(9), name="failed")

    def train() -> None:
        for number in run:
            run.record(number=number)
            for _ in run.track(range(2)):
                if number == 4:
                    raise mine

    with pytest.raises(ValueError, match="my own") as raised:
        train()
    assert raised.value is mine
    assert [entry.name for entry in raised.traceback][1:] == ["train"]
    assert run.status.phase is Phase.FAILED
    assert failure("ValueError: my own").fullmatch(str(run.status.failure))
    assert "raise mine" in str(run.status.error)
    assert __file__ in str(run.status.error)
    with pytest.raises(BaseException) as again:  # noqa: PT011 - it is compared
        run.wait(SOON)
    assert again.value is run.error
    assert run.error is mine or not IS_KNOWN


def test_an_error_that_the_program_handles_fails_the_run_too() -> None:
    run = nbtrain.track(range(9), name="handled")
    phases = []
    try:
        for _ in enumerate(run):
            int("x")
    except ValueError:
        phases.append(run.status.phase)
    assert phases == [Phase.FAILED]
    known = failure("ValueError: invalid literal for int() with base 10: 'x'")
    assert known.fullmatch(str(run.status.failure))


def test_an_error_past_an_except_of_the_body_fails_the_run_and_its_step_does_not_count() -> None:
    run = nbtrain.track(range(9), name="past")

    def train() -> None:
        for number in run:
            run.record(number=number)
            try:
                1 / (number - 3)
            except KeyError:
                raise AssertionError from None

    with pytest.raises(ZeroDivisionError) as raised:
        train()
    assert (run.status.phase, run.status.step, run.error) == (Phase.FAILED, 3, raised.value)


def test_an_error_of_the_data_fails_the_run() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    run = nbtrain.track(broken(), name="data")
    with pytest.raises(OSError, match="the disk is gone"):
        for _ in run:
            pass
    assert run.status.phase is Phase.FAILED


def test_the_error_of_a_thread_of_the_run_is_raised_after_the_loop() -> None:
    def broken() -> None:
        raise OSError("no more room")

    run = nbtrain.track(itertools.count(), name="looper")
    turns = iter(run)
    next(turns)
    run.loop(0.01, broken)
    with pytest.raises(OSError, match="no more room"):
        for _ in turns:
            pass
    assert run.status.phase is Phase.FAILED


def test_the_first_interrupt_stops_the_run_after_its_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(itertools.count(), name="interrupted", checkpoint=held)
    for number in run:
        if number == 3:
            signal.raise_signal(signal.SIGINT)
            eventually(lambda: run.status.phase is Phase.STOPPING)
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 4)
    assert listed(run.logdir / "checkpoints")[-1].step == 4
    eventually(lambda: "saves a last checkpoint. A second interrupt" in capsys.readouterr().err)


def test_an_error_of_the_program_after_a_stop_fails_the_run() -> None:
    run = nbtrain.track(range(9), name="mine")

    def train() -> None:
        for _ in run:
            for batch in run.track(range(5)):
                if batch == 2:
                    run.request_stop()
            int("broken")

    with pytest.raises(ValueError, match="broken"):
        train()
    assert run.status.phase is Phase.FAILED
    assert failure("ValueError: invalid literal").match(run.status.failure or "")


def test_the_second_interrupt_ends_the_loop_at_once() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(range(99), name="interrupted", checkpoint=held)

    def train() -> None:
        for number in run:
            if number == 3:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train()
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 3)
    assert next(iter(run)) == 3


def test_a_wait_that_a_stop_cancels_is_no_failure() -> None:
    run = nbtrain.track(range(9), name="cancelled")
    queue = tf.queue.FIFOQueue(1, [tf.float32])

    def train() -> None:
        for _ in run:
            run.request_stop()
            queue.close()
            queue.enqueue(1.0)

    with pytest.raises(tf.errors.CancelledError):
        train()
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 0)


class Pressing(tf.train.experimental.PythonState):
    """A part of a checkpoint that presses Ctrl-C while it is saved for the last time."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times, self.is_last = times, False

    def serialize(self) -> str:
        """Returns what is saved."""
        times, self.times = (self.times, 0) if self.is_last else (0, self.times)
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return ""

    def deserialize(self, _text: str) -> None:
        """Restores nothing."""


def saved_while_pressed(pressing: Pressing, name: str, last: int = 99) -> Any:
    """A run that an interrupt has stopped at its fourth turn; its last save is interrupted."""
    held = tf.train.Checkpoint(weight=tf.Variable(0.0), pressing=pressing)
    run = nbtrain.track(range(last), name=name, checkpoint=held, save_steps=3)

    def train() -> None:
        for number in run:
            if number == 3:
                pressing.is_last = True
                if last > 4:
                    signal.raise_signal(signal.SIGINT)
                    eventually(lambda: run.status.phase is Phase.STOPPING)

    with pytest.raises(KeyboardInterrupt):
        train()
    return run


def test_an_interrupt_of_the_last_save_waits_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    run = saved_while_pressed(Pressing(1), "waits")
    assert (run.status.phase, run.status.step) == (Phase.STOPPED, 4)
    assert (run.status.failure, run.status.message) == (None, None)
    assert listed(run.logdir / "checkpoints")[-1].step == 4
    told = "ends with its last checkpoint, and the interrupt follows"
    eventually(lambda: told in capsys.readouterr().err)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_of_the_last_save_of_a_loop_at_its_end_comes_after_it() -> None:
    run = saved_while_pressed(Pressing(1), "at its end", 4)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 4)
    assert listed(run.logdir / "checkpoints")[-1].step == 4


def test_two_interrupts_of_the_last_save_end_it_and_the_run_says_what_is_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = saved_while_pressed(Pressing(2), "given up")
    assert (run.status.phase, run.status.failure) == (Phase.STOPPED, None)
    told = (
        "The last save was interrupted, and the run 'given up' has not saved step 4. Its last "
        f"checkpoint is {listed(run.logdir / 'checkpoints')[-1]}."
    )
    assert run.status.message == told
    assert f"nbtrain: {told}\n" in capsys.readouterr().err
    assert next(iter(run)) == 3


def test_a_program_that_handles_interrupts_keeps_its_handler() -> None:
    caught: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: caught.append(number))
    try:
        for number in nbtrain.track(range(3), name="own handler"):
            if number == 1:
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert caught == [signal.SIGINT]


@pytest.mark.parametrize("where", ["script", "notebook"])
def test_a_pause_is_told_once_with_what_ends_it(
    where: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Script() if where == "script" else surroundings.Surroundings()
    monkeypatch.setattr(surroundings, "current", here)
    run = nbtrain.track(range(9), name="paused")
    told: list[str] = []

    def resume() -> None:
        def is_told() -> bool:
            told.append(capsys.readouterr().err)
            return "is paused" in told[-1]

        eventually(is_told)
        run.request_stop()

    thread = threading.Thread(target=resume)
    thread.start()
    for number in run:
        if number == 3:
            run.pause()
    thread.join()
    assert run.status.step == 4
    assert "The run 'paused' is paused at step 4, and so is its loop." in told[-1]
    stops = (
        "Ctrl-C here stops the run" if where == "script" else "Interrupting the cell stops the run"
    )
    assert stops in told[-1]
    assert "is paused" not in capsys.readouterr().err


def test_patience_ends_the_loop_and_the_best_state_is_kept() -> None:
    held = tf.train.Checkpoint(weight=tf.Variable(0.0))
    run = nbtrain.track(
        range(99), name="patient", checkpoint=held, keep_best="val_loss", patience=3
    )
    for number in run:
        held.weight.assign(number)
        run.record(val_loss=abs(number - 5.0))
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 9)
    assert [held.step for held in run.checkpoints if "best" in str(held.path)] == [6]


def test_hyperparameters_are_set_between_two_steps() -> None:
    generator, critic = (tf.keras.optimizers.SGD(rate) for rate in (0.5, 0.25))
    run = nbtrain.track(range(4), name="rates", hyperparameters=[generator, critic])
    rates = []
    for number in run:
        rates.append(float(critic.learning_rate.numpy()))
        if number == 1:
            run.set(critic_learning_rate=0.125)
    assert rates == [0.25, 0.25, 0.125, 0.125]


def test_an_evaluation_runs_between_two_steps() -> None:
    run = nbtrain.track(
        range(6), name="evaluated", evaluate=lambda: {"score": 1.0}, evaluate_steps=2
    )
    for _ in run:
        pass
    assert list(run.scalars["val_score"].steps) == [2, 4, 6]


# --- within another run ---------------------------------------------------------------


def test_in_the_background_it_is_the_track_of_the_run_at_hand() -> None:
    @nbtrain.background(name="background")
    def run(run: Any) -> None:
        for epoch in nbtrain.track(range(2)):
            for number in nbtrain.track(range(3)):
                run.record(number=3 * epoch + number)

    run.wait(SOON)
    assert (run.status.step, run.status.epochs) == (6, 2)
    assert [*nbtrain.runs()] == ["background"]


def test_options_within_a_run_are_refused() -> None:
    for _ in nbtrain.track(range(1), name="outer"):
        with pytest.raises(ArgumentError, match=r"track\(..., name=...\) was called within the lo"):
            nbtrain.track(range(3), name="inner")
        with pytest.raises(ArgumentError, match="save_secs= where that run starts"):
            nbtrain.track(range(3), save_secs=3)


def test_the_step_of_a_run_that_counts_itself_cannot_track() -> None:
    def step() -> dict[str, float]:
        for _ in nbtrain.track(range(3)):
            pass
        return {}

    run = nbtrain.train(step, steps=1, name="counts")
    with pytest.raises(ArgumentError, match="'counts', which counts its steps itself"):
        run.wait(SOON)


def test_a_run_cannot_start_within_the_loop_of_another() -> None:
    second = nbtrain.track(range(3), name="second")
    for _ in nbtrain.track(range(1), name="first"):
        with pytest.raises(PhaseError, match="'second' cannot start, as this thread trains <nbt"):
            next(iter(second))
    assert [*second] == [0, 1, 2]


def test_another_thread_cannot_loop_over_the_same_run() -> None:
    run = nbtrain.track(range(3), name="two threads")
    errors: list[BaseException] = []

    def loop() -> None:
        try:
            next(iter(run))
        except nbtrain.NbtrainError as error:
            errors.append(error)

    for number in run:
        if number == 0:
            thread = threading.Thread(target=loop)
            thread.start()
            thread.join()
    assert "Cannot start while running" in str(errors[0])
    assert run.status.phase is Phase.FINISHED


def test_two_threads_may_train_a_run_each() -> None:
    meet = threading.Barrier(2, timeout=SOON)

    def loop(name: str) -> None:
        for number in nbtrain.track(range(3), name=name):
            if number == 1:
                meet.wait()

    threads = [threading.Thread(target=loop, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [run.status.step for run in nbtrain.runs().values()] == [3, 3]


def test_an_untracked_loop_around_it_is_refused_with_the_line_to_write() -> None:
    def train() -> None:
        for epoch in range(2):
            for _ in nbtrain.track(range(3)):
                raise AssertionError(epoch)

    with pytest.raises(ArgumentError) as raised:
        train()
    assert (
        "`for epoch in range(2):`: write `for epoch in nbtrain.track(range(2)):`, and "
        "`for ... in nbtrain.track(...)` within it has the steps of the same run."
    ) in str(raised.value)


def test_a_run_that_an_untracked_loop_would_start_in_each_turn_is_refused() -> None:
    run = nbtrain.track(range(3), name="before")

    def train() -> None:
        for _ in enumerate([7]):
            list(run)

    with pytest.raises(
        ArgumentError, match=r"write `for _ in enumerate\(nbtrain.track\(\[7\]\)\):`"
    ):
        train()
    assert run.status.phase is Phase.CREATED


def test_a_loop_may_draw_by_next_from_a_run_that_begins_before_it() -> None:
    turns = iter(nbtrain.track(range(3), name="drawn"))
    for number in range(3):
        assert next(turns) == number
    assert next(turns, None) is None


def test_a_run_that_has_the_same_name_in_each_turn_is_refused() -> None:
    def train() -> None:
        for rate in (0.5, 0.25):
            for _ in (7, 8):
                list(nbtrain.track(range(3), name=f"rate-{rate}"))

    with pytest.raises(ArgumentError, match=r"write `for _ in nbtrain.track\(\(7, 8\)\):`"):
        train()
    assert not nbtrain.runs()


def test_a_lambda_among_the_arguments_of_a_run_does_not_hide_the_loop_around_it() -> None:
    def train() -> None:
        for _ in range(2):
            list(nbtrain.track(range(3), evaluate=lambda: {"accuracy": 1.0}))

    with pytest.raises(ArgumentError, match=r"write `for _ in nbtrain.track\(range\(2\)\):`"):
        train()
    assert not nbtrain.runs()


def test_a_loop_is_not_around_the_call_of_a_lambda_that_is_made_in_it() -> None:
    made: list[Callable[[], list[int]]] = []
    for _ in range(2):
        made += [lambda: list(nbtrain.track(range(3), name="made"))]
    assert made[0]() == [0, 1, 2]


def test_a_run_that_begins_anew_in_each_turn_may_have_the_same_name() -> None:
    held, drawn = tf.train.Checkpoint(weight=tf.Variable(0.0)), []
    for _ in range(2):
        run = nbtrain.track(range(3), name="anew", checkpoint=held, fresh=True)
        drawn += list(run)
    assert drawn == [0, 1, 2] * 2


def test_a_function_may_make_a_run_of_each_turn_that_calls_it() -> None:
    def run_of(rate: float) -> Any:
        return nbtrain.track(range(3), name=f"rate-{rate}")

    for rate in (0.5, 0.25):
        list(run_of(rate))
    assert [run.status.step for run in nbtrain.runs().values()] == [3, 3]


def test_a_run_of_each_turn_may_have_a_name_of_its_own() -> None:
    for rate in (0.5, 0.25):
        for _ in nbtrain.track(range(3), name=f"rate-{rate}"):
            pass
    assert [run.status.step for run in nbtrain.runs().values()] == [3, 3]


# --- refusals -------------------------------------------------------------------------


def test_something_without_turns_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"track\(3\): give something to loop over"):
        nbtrain.track(3)  # type: ignore[arg-type]
    assert not Path("runs").exists()


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match=r"does not take save_step=\. Did you mean save_steps=\?"):
        nbtrain.track(range(3), save_step=3)  # type: ignore[call-arg]


def test_a_value_that_cannot_be_used_is_refused_before_anything_starts() -> None:
    with pytest.raises(ArgumentError, match="patience=3 without keep_best="):
        nbtrain.track(range(3), patience=3)
    assert not Path("runs").exists()


def test_a_folder_in_use_is_refused() -> None:
    first = iter(nbtrain.track(range(3), name="held"))
    next(first)
    thread_error: list[BaseException] = []

    def loop() -> None:
        try:
            next(iter(nbtrain.track(range(3), name="held")))
        except BusyError as error:
            thread_error.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()
    assert "held is held by the run 'held' in this kernel" in str(thread_error[0])
    del first


def test_its_start_and_branch_are_refused_in_words() -> None:
    run = nbtrain.track(range(3), name="loop")
    with pytest.raises(PhaseError, match="write `for batch in run:`"):
        run.start()
    with pytest.raises(PhaseError, match="a branch trains in the background"):
        run.branch()


def test_a_value_recorded_outside_of_the_loop_is_refused() -> None:
    run = nbtrain.track(range(3), name="outside")
    for _ in run:
        pass
    for _ in nbtrain.track(range(3), name="other"):
        with pytest.raises(ArgumentError, match="in the loop of the run 'other': give that run a"):
            run.record(loss=1.0)
    with pytest.raises(ArgumentError, match="outside of its loop: record in the body"):
        run.record(loss=1.0)


def test_the_summaries_of_the_body_are_recorded_until_the_loop_ends() -> None:
    run = nbtrain.track(range(3), name="summed")
    for number in run:
        tf.summary.scalar("number", number)
        tf.summary.text("note", f"at {number}")
    run.media.tick(to_end=True)
    assert list(run.scalars["number"].values) == [0, 1, 2]
    assert list(run.scalars["number"].steps) == [1, 2, 3]
    assert [*map(int, run.media.history("text", "note").steps)] == [1, 2, 3]
    assert tf.summary.experimental.get_step() is None
    assert not tf.summary.should_record_summaries()
