"""The answers of a panel about pictures and media, and the cost of its updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtrain.logdir.run_media import RunMedia
from nbtrain.media.encoding import encoded
from nbtrain.media.samples import Sample
from nbtrain.panel.live.media_wire import RIDGES, STEPS, answer, extent
from nbtrain.tfevents.writer import EventWriter
from tests.logdirs import write_media
from tests.panels import Clock, FakeRun, ShownPanel

Told = tuple[dict[str, Any], list[bytes]]


def of(folder: Path) -> RunMedia:
    media = RunMedia(folder)
    media.tick(to_end=True)
    return media


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> RunMedia:
    """Thirty steps of each kind."""
    folder = tmp_path_factory.mktemp("media")
    write_media(folder, range(10, 310, 10))
    return of(folder)


def ask(media: RunMedia, about: str, kind: str = "", tag: str = "", **more: Any) -> Told:
    return answer(media, {"t": "media", "id": 7, "about": about, "kind": kind, "tag": tag, **more})


def columns(buffer: bytes, count: int) -> list[list[float]]:
    return np.frombuffer(buffer).reshape(count, -1).tolist()


def test_the_status_tells_only_how_many_there_are(media: RunMedia, tmp_path: Path) -> None:
    assert extent(media) == {"tags": 5, "count": 150}
    assert extent(of(tmp_path)) is None


def test_the_tags_come_with_their_kinds_and_counts(media: RunMedia) -> None:
    told, _ = ask(media, "tags")
    assert (told["id"], told["more"]) == (7, 0)
    assert {(kind, tag): count for kind, tag, count in told["tags"]} == {
        ("images", "samples"): 30,
        ("text", "notes"): 30,
        ("pr_curves", "quality"): 30,
        ("histograms", "kernel"): 30,
        ("audio", "tone"): 30,
    }


def test_a_history_has_steps_wall_times_and_indices_and_is_sent_once(media: RunMedia) -> None:
    told, (buffer,) = ask(media, "history", "images", "samples", known=None)
    steps, walls, indices = columns(buffer, 3)
    assert steps == [*range(10, 310, 10)]
    assert walls == [1.7e9 + step for step in steps]
    assert indices == [*range(30)]
    assert told["count"] == 30
    again, _ = ask(media, "history", "images", "samples", known=told["known"])
    assert again["about"] == "same"


def test_a_long_history_is_thinned_evenly_and_keeps_the_newest(tmp_path: Path) -> None:
    writer, made = EventWriter(tmp_path), encoded(Sample("notes", 1, 0.0, "text"))[0]
    for step in range(3 * STEPS):
        writer.summary(made, step, 1.7e9)
    writer.close()
    told, (buffer,) = ask(of(tmp_path), "history", "text", "notes", known=None)
    steps = columns(buffer, 3)[0]
    assert (told["count"], len(steps), steps[-1]) == (3 * STEPS, STEPS, 3 * STEPS - 1)
    assert set(np.diff(steps)) <= {2, 3, 4}


@pytest.mark.parametrize(("kind", "tag"), [("images", "samples"), ("text", "notes")])
def test_a_value_is_that_of_its_step(media: RunMedia, kind: str, tag: str) -> None:
    told, buffers = ask(media, "value", kind, tag, at=3)
    assert told["step"] == 40
    if kind == "text":
        assert told["rows"] == [["at step 40"]]
    else:
        assert (
            [each["type"] for each in told["samples"]]
            == ["image/png"] * 3
            == len(buffers) * ["image/png"]
        )


def test_histograms_come_with_those_of_other_steps(media: RunMedia) -> None:
    told, (buffer,) = ask(media, "value", "histograms", "kernel", at=4)
    assert told["steps"][told["marked"]] == told["step"] == 50
    assert RIDGES <= len(told["steps"]) <= RIDGES + 1
    assert (len(buffer) // 8 - 1) % (len(told["steps"]) + 1) == 0


def test_a_curve_comes_as_recall_precision_and_thresholds(media: RunMedia) -> None:
    _, (buffer,) = ask(media, "value", "pr_curves", "quality", at=0)
    recall, precision, thresholds = columns(buffer, 3)
    assert recall == sorted(recall, reverse=True)
    assert recall[0] == 1.0
    assert thresholds == sorted(thresholds)
    assert all(0 <= each <= 1 for each in precision)


@pytest.mark.parametrize(
    ("about", "kind", "tag", "at", "text"),
    [
        ("history", "images", "none", None, "The run has no 'images' under the tag 'none'."),
        ("value", "scalars", "loss", 0, "The run has no 'scalars' under the tag 'loss'."),
        ("value", "images", "samples", 30, "30 is none of the 30 values of 'samples'."),
        ("value", "images", "samples", "x", "at='x' is not the index of a value."),
        ("value", "images", "samples", True, "at=True is not the index of a value."),
    ],
)
def test_what_there_is_not_is_refused(
    media: RunMedia, about: str, kind: str, tag: str, at: Any, text: str
) -> None:
    told, buffers = ask(media, about, kind, tag, at=at)
    assert (told["about"], told["text"], buffers) == ("refused", text, [])


def test_a_file_that_has_gone_is_told(tmp_path: Path) -> None:
    write_media(tmp_path)
    media = of(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    told, _ = ask(media, "value", "text", "notes", at=0)
    assert told["text"] == f"{path} has gone since it was looked at."


@pytest.mark.parametrize("content", [{}, {"id": 1}, {"id": "1", "about": "tags"}, {"about": 3}])
def test_a_message_that_is_no_question_is_told_in_the_panel(content: dict[str, Any]) -> None:
    run = FakeRun()
    panel = ShownPanel(run, Clock())
    panel.hear(t="media", **content)
    (note,) = [each for each, _ in panel.sent if each["t"] == "note"]
    assert "is not a request about media" in note["text"]
