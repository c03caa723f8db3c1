"""The board's cards: images, histograms, text and audio, each read when it is asked for."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import nbtrain
from nbtrain.panel import media
from nbtrain.panel.board.index import selections
from nbtrain.panel.board.requests import BANDS, RIDGES
from nbtrain.panel.histograms import BINS, PERCENTILES
from tests.event_files import NAME, simple, start, written
from tests.other_events import WAV, event, png, tensor2
from tests.training.boards import ShownBoard, board_of

Answer = tuple[dict[str, Any], Sequence[bytes]]


def images(tag: str, *encoded: bytes) -> Any:
    return tensor2(tag, "images", np.array([b"2", b"3", *encoded], object))


def histogram(tag: str, *buckets: Sequence[float]) -> Any:
    return tensor2(tag, "histograms", np.array(buckets, np.float64).reshape(-1, 3))


def text(tag: str, data: Any) -> Any:
    return tensor2(tag, "text", np.array(data, object))


def audio(tag: str, clips: Sequence[Sequence[bytes]]) -> Any:
    return tensor2(tag, "audio", np.array(clips, object))


def logdir_of(folder: Path, *values: Any) -> ShownBoard:
    """A board of one run that wrote these values at steps 0, 10, 20, ..."""
    written(folder / "adam" / NAME, [event(10 * i, each, 5.0 + i) for i, each in enumerate(values)])
    return board_of(folder)


def summary(board: ShownBoard, kind: str, tag: str = "x", at: int = -1, **more: Any) -> Answer:
    asked = {"t": "summary", "id": 4, "kind": kind, "run": "adam", "tag": tag, "at": at}
    return board.hear(**asked | more)


def floats(buffer: bytes) -> Any:
    return np.frombuffer(buffer, "<f8")


# --- what there is ----------------------------------------------------------------


def test_there_is_a_tab_for_each_kind_that_is_there_and_one_of_scalars(tmp_path: Path) -> None:
    content, _ = logdir_of(tmp_path, images("a", png()), text("b", "hello")).hear(t="hello")
    assert content["tabs"] == ["scalars", "images", "text"]
    assert content["runs"] == ["adam"]
    assert content["kinds"]["images"] == {"tags": ["a"], "sets": [[0]], "of": [0]}
    where = f"no scalars in {str(tmp_path)!r}"
    assert content["empty"] == {"scalars": f"{where}: its run holds images, text"}


def test_histograms_have_two_tabs(tmp_path: Path) -> None:
    content, _ = logdir_of(tmp_path, histogram("a", [0, 1, 2])).hear(t="hello")
    assert content["tabs"] == ["scalars", "histograms", "distributions"]


def test_a_tab_that_was_asked_for_and_has_nothing_says_what_there_is(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [simple("loss", 0, 1.0)])
    written(tmp_path / "b" / NAME, [event(0, text("b", "hello"))])
    content, _ = board_of(tmp_path, tab="images").hear(t="hello")
    assert content["tabs"] == ["scalars", "images", "text"]
    where = f"no images in {str(tmp_path)!r}"
    assert content["empty"] == {"images": f"{where}: its 2 runs hold scalars, text"}


def test_cards_are_of_the_runs_and_tags_that_the_board_was_asked_for(tmp_path: Path) -> None:
    for run in ("a", "b"):
        written(tmp_path / run / NAME, [event(0, text(f"{run}/x", "1")), simple("loss", 0, 1.0)])
    found = selections(nbtrain.scalars(tmp_path, runs="a").filter(tags="x"))
    assert list(found["text"]) == [("a", "a/x")]
    assert list(found["scalars"]) == []


# --- histories --------------------------------------------------------------------


def history(board: ShownBoard, **more: Any) -> Answer:
    return board.hear(**{"t": "history", "id": 3, "kind": "text", "run": "adam", "tag": "x"} | more)


def test_a_history_has_steps_and_wall_times_and_is_sent_once(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, text("x", "a"), text("x", "b"))
    content, (buffer,) = history(board)
    assert floats(buffer).tolist() == [0, 10, 5, 6]
    assert history(board, known=content["known"]) == ({"t": "same", "id": 3}, [])


def test_a_history_and_its_places_are_without_what_was_abandoned(tmp_path: Path) -> None:
    events = [event(step, text("x", f"old {step}"), 10.0 + step) for step in range(4)]
    events += [start(2, 19.0), event(2, text("x", "new 2"), 20.0)]
    written(tmp_path / "adam" / NAME, events)
    board = board_of(tmp_path)
    assert floats(history(board)[1][0]).tolist() == [0, 1, 2, 10, 11, 20]
    assert summary(board, "text", at=2)[0]["rows"] == [["new 2"]]
    content, _ = summary(board, "text", at=1)
    assert (content["rows"], content["step"]) == ([["old 1"]], 1)


def test_a_tag_whose_points_were_all_abandoned_is_named(tmp_path: Path) -> None:
    written(
        tmp_path / "adam" / NAME,
        [start(0, 0.5), event(5, histogram("x", [0, 1, 2]), 1.0), start(0, 2.0)],
    )
    board = board_of(tmp_path)
    for asked in (history(board, kind="histograms"), summary(board, "histograms")):
        assert asked[0]["text"] == "All that was written here was abandoned: the run went back."


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "moon"}, "kind='moon' is not a kind; there are: images, text, audio, "),
        ({"kind": ["text"]}, "kind=\"['text']\" is not a kind"),
        ({"run": "moon"}, "There is no run 'moon'"),
        ({"tag": None}, "The run 'adam' has no tag"),
        ({"at": 1}, "at=1 is not an index of 1 steps"),
        ({"at": True}, "at=True is not an index"),
        ({"at": -2}, "at=-2 is not an index"),
    ],
)
def test_a_wrong_question_is_refused_in_words(
    tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    board = logdir_of(tmp_path, text("x", "a"))
    content, _ = summary(board, **{"kind": "text"} | wrong)
    assert (content["t"], content["id"]) == ("refused", 4)
    assert words in content["text"]


def test_a_file_that_has_vanished_is_told_in_words(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, text("x", "a"))
    (tmp_path / "adam" / NAME).unlink()
    content, _ = summary(board, "text")
    assert content["t"] == "refused"
    assert content["text"] == (
        f"{tmp_path / 'adam' / NAME} has gone since it was looked at. Run the cell again to read "
        "the folder as it is now."
    )


def test_a_value_of_another_form_is_told_in_words(tmp_path: Path) -> None:
    content, _ = summary(logdir_of(tmp_path, tensor2("x", "histograms", [1.0])), "histograms")
    assert content["t"] == "refused"
    assert "has not the form of histograms" in content["text"]


# --- images -----------------------------------------------------------------------


def test_the_images_of_a_step_are_sent_as_they_were_written(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, images("x", png(colour=1), png(colour=2)), images("x", png()))
    content, buffers = summary(board, "images", at=0)
    assert (content["width"], content["height"], content["more"]) == (2, 3, 0)
    assert content["samples"] == [{"type": "image/png", "scaled": False}] * 2
    assert buffers == [png(colour=1), png(colour=2)]


def test_a_huge_image_comes_smaller_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "PIXELS", 100)
    content, (data,) = summary(logdir_of(tmp_path, images("x", png(40, 20))), "images")
    assert content["samples"] == [{"type": "image/png", "scaled": True}]
    width, height = Image.open(io.BytesIO(data)).size
    assert width * height <= 100


def test_data_that_are_not_an_image_are_described_beside_the_images(tmp_path: Path) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    content, buffers = summary(logdir_of(tmp_path, images("x", svg, png())), "images")
    first, second = content["samples"]
    assert "The image is of no type that is shown" in first["problem"]
    assert second == {"type": "image/png", "scaled": False}
    assert buffers == [png()]


def test_no_more_samples_are_sent_than_a_card_shows(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, images("x", *[png()] * 20), audio("y", [[WAV, b""]] * 20))
    assert summary(board, "images")[0]["more"] == 20 - media.SAMPLES
    content, buffers = summary(board, "audio", "y")
    assert (content["more"], len(buffers)) == (20 - media.SAMPLES, media.SAMPLES)


# --- text -------------------------------------------------------------------------


def test_a_text_is_sent_as_text_whatever_it_holds(tmp_path: Path) -> None:
    content, buffers = summary(logdir_of(tmp_path, text("x", "<b>ü</b>".encode())), "text")
    fields = {"rows": [["<b>ü</b>"]], "table": False, "note": ""}
    assert content == {"t": "summary", "id": 4, "step": 0, **fields}
    assert buffers == []


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((2,), [["0"], ["1"]]), ((2, 2), [["0", "1"], ["2", "3"]]), ((0,), []), ((0, 2), [])],
)
def test_texts_of_one_and_two_dimensions_are_tables(
    tmp_path: Path, shape: tuple[int, ...], rows: Any
) -> None:
    data = np.arange(np.prod(shape)).astype(str).astype("S").astype(object).reshape(shape)
    content, _ = summary(logdir_of(tmp_path, text("x", data)), "text")
    assert (content["table"], content["rows"]) == (True, rows)


def test_only_the_first_part_of_more_dimensions_is_shown_with_a_note(tmp_path: Path) -> None:
    data = np.array([[[b"a", b"b"]], [[b"c", b"d"]]], object)
    content, _ = summary(logdir_of(tmp_path, text("x", data)), "text")
    assert content["rows"] == [["a", "b"]]
    assert "The text has the shape (2, 1, 2)" in content["note"]


def test_a_long_text_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "CHARACTERS", 5)
    content, _ = summary(logdir_of(tmp_path, text("x", [b"abc", b"defg", b"hij"])), "text")
    assert content["rows"] == [["abc"], ["de"], [""]]
    assert "The text is longer: at most 5 characters" in content["note"]


def test_a_large_table_is_cut_and_says_so(tmp_path: Path) -> None:
    data = np.full((media.ROWS + 1, media.COLUMNS + 1), b"", object)
    content, _ = summary(logdir_of(tmp_path, text("x", data)), "text")
    assert len(content["rows"]) == media.ROWS
    assert len(content["rows"][0]) == media.COLUMNS
    assert "The text is longer" in content["note"]


# --- audio ------------------------------------------------------------------------


def tone(seconds: float) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * round(8000 * seconds)))
    return out.getvalue()


def test_sounds_come_with_their_labels_and_lengths(tmp_path: Path) -> None:
    beyond = tone(0.5).replace(b"fmt \x10\0\0\0", b"fmt \x10\0\0\xaa")  # a chunk of gigabytes
    sounds = [[tone(0.5), b"low"], [WAV, b""], [beyond, b"odd"]]
    content, buffers = summary(logdir_of(tmp_path, audio("x", sounds)), "audio")
    assert content["samples"] == [
        {"label": "low", "type": "audio/wav", "seconds": 0.5},
        {"label": "", "type": "audio/wav", "seconds": None},
        {"label": "odd", "type": "audio/wav", "seconds": None},
    ]
    assert buffers == [tone(0.5), WAV, beyond]


def test_an_invalid_or_large_sound_is_described_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "BYTES", 20)
    values = audio("x", [[b"<script>", b""]]), audio("y", [[WAV, b""], [tone(1), b"long"]])
    board = logdir_of(tmp_path, *values)
    content, buffers = summary(board, "audio")
    assert "Only WAV sounds can be played" in content["samples"][0]["problem"]
    assert buffers == []
    content, buffers = summary(board, "audio", "y")
    assert "is too large for a page" in content["samples"][1]["problem"]
    assert buffers == [WAV]


# --- histograms -------------------------------------------------------------------


def test_histograms_come_in_bins_in_common(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, histogram("x", [0, 1, 4]), histogram("x", [2, 3, 8]))
    content, (buffer,) = summary(board, "histograms")
    assert content["shown"] == [0, 1]
    edges, counts = np.split(floats(buffer), [BINS + 1])
    assert (edges[0], edges[-1]) == (0, 3)
    np.testing.assert_allclose(counts.reshape(2, BINS).sum(axis=1), [4, 8])


def test_some_of_many_histograms_are_shown_including_the_requested_one(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, *[histogram("x", [0, 1, n]) for n in range(RIDGES * 4)])
    for at in (0, 101, RIDGES * 4 - 1):
        shown = summary(board, "histograms", at=at)[0]["shown"]
        assert len(shown) == RIDGES
        assert at in shown
        assert shown == sorted(set(shown))


def test_distributions_are_the_percentiles_of_each_step(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, histogram("x", [0, 1, 4]), histogram("x", [2, 4, 8]))
    content, (buffer,) = summary(board, "distributions")
    assert content["shown"] == [0, 1]
    rows = floats(buffer).reshape(2, len(PERCENTILES))
    assert rows[:, [0, 4, 8]].tolist() == [[0, 0.5, 1], [2, 3, 4]]


def test_distributions_of_many_steps_are_of_some(tmp_path: Path) -> None:
    board = logdir_of(tmp_path, *[histogram("x", [0, 1, n]) for n in range(BANDS + 50)])
    assert len(summary(board, "distributions")[0]["shown"]) == BANDS
