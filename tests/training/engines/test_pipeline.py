"""The steps of a cluster that are under way: a command waits for them, and says for whom."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from nbtrain.engines.ps import pipeline
from nbtrain.engines.ps.pipeline import Pipeline
from tests.gate import SOON


class Remote:
    """The value of a step, which a worker has computed once it is fetched."""

    def __init__(self) -> None:
        self._has_fetched_to_local = False
        self._values: dict[str, Any] = {}

    def done(self) -> None:
        """The worker has answered."""
        self._has_fetched_to_local = True

    def fetch(self) -> dict[str, float]:
        """Returns the scalars of the step."""
        return {"loss": 1.0}


class Cluster:
    """Two steps, one of which stays under way, and the loop that they belong to."""

    def __init__(self, ended: list[str]) -> None:
        self.remotes = [Remote(), Remote()]
        self.counted: list[dict[str, float]] = []
        self.notes: list[tuple[str, str | None]] = []
        self.told = threading.Event()
        left = iter(self.remotes)
        connection: Any = SimpleNamespace(
            description=SimpleNamespace(
                of=lambda job: ["worker 0"] if job == "worker" else [], tasks=[]
            ),
            coordinator=SimpleNamespace(done=lambda: False),
            schedule=lambda: next(left),
            lost_workers=list,
        )
        loop: Any = SimpleNamespace(
            steps_left=2,
            count=self.counted.append,
            end_silent=lambda: ended,
            lost_tasks=["worker 0"],
            answer=lambda: ended == ["the run"],
        )
        self.remotes[0].done()
        self.pipeline = Pipeline(loop, connection, self._note)

    def _note(self, topic: str, text: str | None) -> None:
        self.notes.append((topic, text))
        self.told.set()

    def complete(self) -> list[tuple[str, str | None]]:
        """Lets a command wait for the steps; answers the last one when something was told."""
        assert self.pipeline() == {"loss": 1.0}
        waiting = threading.Thread(target=self.pipeline.complete)
        waiting.start()
        assert self.told.wait(SOON)
        self.remotes[1].done()
        waiting.join(SOON)
        return self.notes


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time until a silent worker is asked about."""
    monkeypatch.setattr(pipeline, "_PATIENCE_SECS", 0.0)
    monkeypatch.setattr(pipeline, "_PATIENCE", 0.0)


def test_a_command_that_waits_for_a_silent_worker_says_so_until_it_answers() -> None:
    cluster = Cluster(ended=[])
    first, *_, last = cluster.complete()
    words = "A command waits for 1 step under way, and worker 0 gives no answer."
    assert first[0] == "silent"
    assert str(first[1]).startswith(words)
    assert last == ("silent", None)
    assert cluster.counted == [{"loss": 1.0}], "the step was counted"


def test_commands_are_executed_while_no_step_is_completed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "_IDLE_SECS", 0.0)
    cluster = Cluster(ended=["the run"])
    assert cluster.pipeline() == {"loss": 1.0}
    with pytest.raises(StopIteration):
        cluster.pipeline()


def test_a_silent_worker_of_this_process_is_ended() -> None:
    (topic, text), *_ = Cluster(ended=["worker 0"]).complete()
    assert topic == "ended"
    assert text == "worker 0 gave no sign of life while a command waited: it was ended."
