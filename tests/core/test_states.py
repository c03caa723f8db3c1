"""The phases of a run: every event in every phase, and the status."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from nbtrain.core.errors import NbtrainError, PhaseError
from nbtrain.core.states import ENDED, Checkpoint, Event, Lifecycle, Phase, Status, Usage
from nbtrain.core.values.ranges import Hyperparameter, Scale

# The specification by hand; a dot is an error.
TABLE = """
            start      pause   resume   stop      ready    loop-ended finished  stopped  failed
created     preparing  .       .        .         .        .          .         .        .
preparing   .          .       .        stopping  running  stopping   .         .        .
running     .          paused  .        stopping  .        stopping   .         .        .
paused      .          .       running  stopping  .        stopping   .         .        .
stopping    .          .       .        .         .        .          finished  stopped  failed
finished    preparing  .       .        .         .        .          .         .        .
stopped     preparing  .       .        .         .        .          .         .        .
failed      preparing  .       .        .         .        .          .         .        .
"""
POSSIBLE = {
    "created": "start",
    "preparing": "stop",
    "running": "pause, stop",
    "paused": "resume, stop",
    "stopping": "nothing",
    "finished": "start",
    "stopped": "start",
    "failed": "start",
}
WAY_TO = {
    "created": [],
    "preparing": ["start"],
    "running": ["start", "ready"],
    "paused": ["start", "ready", "pause"],
    "stopping": ["start", "stop"],
    "finished": ["start", "ready", "loop ended", "finished"],
    "stopped": ["start", "stop", "stopped"],
    "failed": ["start", "loop ended", "failed"],
}


def cases() -> list[tuple[str, str, str]]:
    """Every phase and event, with the phase that it leads to (or a dot)."""
    head, *rows = [row.split() for row in TABLE.strip().splitlines()]
    events = [word.replace("-", " ") for word in head]
    return [
        (row[0], event, after) for row in rows for event, after in zip(events, row[1:], strict=True)
    ]


def life_in(phase: str) -> Lifecycle:
    """Returns a lifecycle that events have moved to a phase."""
    attempt = Lifecycle()
    for event in WAY_TO[phase]:
        attempt.apply(Event(event))
    assert attempt.phase == phase
    return attempt


def test_the_table_names_every_phase_and_every_event() -> None:
    phases, events = {case[0] for case in cases()}, {case[1] for case in cases()}
    assert phases == {phase.value for phase in Phase}
    assert events == {event.value for event in Event}
    assert len(cases()) == 8 * 9


@pytest.mark.parametrize(("phase", "event", "after"), cases())
def test_an_event_moves_on_or_raises_and_changes_nothing(
    phase: str, event: str, after: str
) -> None:
    attempt = life_in(phase)
    assert attempt.allows(Event(event)) == (after != ".")
    if after != ".":
        assert attempt.apply(Event(event)) is Phase(after)
        assert attempt.phase is Phase(after)
        return
    with pytest.raises(PhaseError) as refusal:
        attempt.apply(Event(event))
    assert str(refusal.value) == f"Cannot {event} while {phase}; possible now: {POSSIBLE[phase]}."
    assert attempt.phase is Phase(phase)


def test_a_refused_event_raises_an_nbtrain_and_runtime_error() -> None:
    with pytest.raises(NbtrainError):
        Lifecycle().apply(Event.PAUSE)
    with pytest.raises(RuntimeError):
        Lifecycle().apply(Event.PAUSE)


@pytest.mark.parametrize("phase", [phase.value for phase in Phase])
def test_the_final_phases_have_ended(phase: str) -> None:
    ended = phase in ("finished", "stopped", "failed")
    assert Phase(phase).ended is ended
    assert (Phase(phase) in ENDED) is ended


def test_a_phase_equals_its_word() -> None:
    assert Phase("running") is Phase.RUNNING
    assert {"running": 1}[Phase.RUNNING] == 1
    assert f"{Phase.RUNNING}" == "running"
    assert f"{Event.LOOP_ENDED}" == "loop ended"


def test_exactly_one_of_many_threads_moves_the_run() -> None:
    for _ in range(50):
        attempt = life_in("running")
        together = threading.Barrier(8)
        answers: list[str] = []

        def ask(
            attempt: Lifecycle = attempt,
            together: threading.Barrier = together,
            answers: list[str] = answers,
        ) -> None:
            together.wait(10)
            try:
                answers.append(str(attempt.apply(Event.PAUSE)))
            except PhaseError as refusal:
                answers.append(str(refusal))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        refused = "Cannot pause while paused; possible now: resume, stop."
        assert sorted(answers) == [refused] * 7 + ["paused"]
        assert attempt.phase is Phase.PAUSED


def test_a_status_cannot_be_changed() -> None:
    status = Status(name="digits", engine="step function", phase=Phase.RUNNING)
    with pytest.raises(dataclasses.FrozenInstanceError):
        status.step = 3  # type: ignore[misc]
    assert status.step == 0


def test_a_status_knows_its_newest_checkpoint() -> None:
    older, newer = Checkpoint(10, "ckpt-10", 1.0), Checkpoint(20, "ckpt-20", 2.0)
    bare = Status(name="digits", engine="step function", phase=Phase.RUNNING)
    assert bare.last_checkpoint is None
    assert dataclasses.replace(bare, checkpoints=(older, newer)).last_checkpoint == newer


def test_a_cell_shows_a_line_for_each_field_that_is_set() -> None:
    status = Status(
        name="digits",
        engine="Keras fit",
        phase=Phase.RUNNING,
        step=1476,
        steps_per_s=94.7978,
        values={"batch_loss": 0.48966473, "accuracy": float("nan")},
        values_at={"accuracy": 1200},
        checkpoints=tuple(Checkpoint(100 * n, f"runs/ckpt-{100 * n}", 0.0) for n in range(7)),
        message="The last step took long.\nIt waits for data.",
        hyperparameters=(Hyperparameter("learning_rate", 1e-3, 1e-5, 0.1, Scale.LOG),),
        evaluates=True,
        usage=Usage({"step": 10.0, "input": 1.0}, {"step": 1.0}, 0.02, 0.75, 919568384, 10**10),
    )
    assert repr(status).splitlines() == [
        "name             digits",
        "engine           Keras fit",
        "phase            running",
        "step             1,476",
        "steps_per_s      94.7978",
        "elapsed_s        0",
        "values           batch_loss 0.489665",
        "                 accuracy nan",
        "values_at        accuracy 1,200",
        "checkpoints      … and 2 before",
        "                 step 200: runs/ckpt-200",
        "                 step 300: runs/ckpt-300",
        "                 step 400: runs/ckpt-400",
        "                 step 500: runs/ckpt-500",
        "                 step 600: runs/ckpt-600",
        "message          The last step took long.",
        "                 It waits for data.",
        "hyperparameters  learning_rate 0.001",
        "evaluates        yes",
        "usage            seconds step 10, input 1",
        "                 shares step 1",
        "                 display 0.02",
        "                 cpu 0.75",
        "                 memory 919,568,384",
        "                 memory_limit 10,000,000,000",
    ]
