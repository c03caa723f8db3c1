"""The picture below a widget: when it is drawn, and that it stays small."""

from __future__ import annotations

import io
import threading
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import nbformat
import numpy as np
import pytest
from IPython.utils.capture import capture_output
from nbconvert import HTMLExporter
from PIL import Image

from nbtrain.notebook import bundles, still
from tests.panels import Clock
from tests.shells import Outputs, own_shell
from tests.stills import Shows, Widget


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An IPython."""
    with own_shell(tmp_path_factory.mktemp("ipython")) as shell:
        yield shell


@pytest.fixture
def outputs(shell: Any) -> Outputs:
    """The outputs of a notebook."""
    outputs = shell.display_pub = Outputs(shell)
    return outputs


@pytest.fixture
def shows(outputs: Outputs) -> Shows:
    """A widget that has just been shown, with words below it."""
    shows = Shows()
    shows.still.show(bundles.bundle(None, "text"))
    return shows


def test_a_widget_is_shown_before_its_picture_is_drawn(
    outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows = Shows()
    shown_at: list[int] = []

    def draw() -> bundles.Bundle:
        shown_at.append(len(outputs.shown))
        return bundles.bundle(None, "text")

    monkeypatch.setattr(shows.still, "_draw", draw)
    shows.still.show()
    assert shown_at == [1]
    live, _picture, _words = outputs.shown.values()
    assert still._VIEW in live


def test_a_first_picture_that_cannot_be_drawn_leaves_the_widget_and_says_why(
    outputs: Outputs,
) -> None:
    shows = Shows()
    shows.error = ValueError("no font")
    shows.still.show()
    live, _picture, words = outputs.shown.values()
    assert still._VIEW in live
    assert "The picture cannot be drawn: ValueError: no font" in words["text/html"]


def test_a_picture_is_drawn_once_a_minute_while_something_changes(shows: Shows) -> None:
    shows.widget.hear({"t": "alive"})
    assert shows.after(4, ("running", 1)) == 0
    assert shows.after(1) == 1, "the first one soon"
    for minute in range(3):
        shows.widget.hear({"t": "alive"})
        assert shows.after(59, ("running", 10 + minute)) == 0
        assert shows.after(1) == 1
    shows.widget.hear({"t": "alive"})
    assert shows.after(600) == 0, "none where nothing has changed"


def test_a_new_phase_is_drawn_soon(shows: Shows) -> None:
    assert shows.after(5) == 1
    assert shows.after(4, ("paused", 7)) == 0
    assert shows.after(1) == 1


def test_pictures_are_drawn_in_their_own_thread_and_sent_twice(shows: Shows) -> None:
    shows.after(5)
    assert shows.threads == ["nbtrain picture"]
    (sent,) = shows.widget.sent  # for a reloaded page, which knows no display_id
    assert sent["t"] == "still"
    assert sent["id"] == shows.widget.model_id
    assert sent["picture"]["text/plain"] == "", "the widget's own is enough"


def test_without_a_page_fewer_and_fewer_pictures_are_drawn(shows: Shows) -> None:
    drawn = sum(shows.after(60, ("running", minute)) for minute in range(8 * 60))
    assert 20 < drawn < 60, "of a night"
    shows.widget.hear({"t": "there"})
    assert shows.after(60, ("running", "morning")) == 1
    assert shows.widget.heard == [], "to be open is not to be looked at"


def test_drawing_takes_one_percent_of_the_time_at_most(shows: Shows) -> None:
    assert shows.after(5) == 1
    shows.still._cost = 2.0  # seconds: many charts
    shows.widget.hear({"t": "alive"})
    assert shows.after(199, ("running", 5)) == 0
    shows.widget.hear({"t": "alive"})
    assert shows.after(1) == 1


def test_the_last_picture_is_drawn_at_once_and_the_widgets_output_is_emptied(
    shows: Shows, outputs: Outputs
) -> None:
    shows.state = ("finished", 9)
    shows.still.finish()
    assert shows.threads == ["MainThread"]
    live, picture, words = outputs.shown.values()
    assert set(picture) == {"image/png", "text/plain"}
    assert "words" in words["text/html"]
    assert live == {"image/png": bundles.BLANK, "text/plain": "text"}
    published = len(outputs.published)
    shows.still.finish()
    assert len(outputs.published) == published


def test_the_last_picture_reaches_its_notebook_while_another_cell_is_captured(
    shows: Shows, outputs: Outputs
) -> None:
    shows.state = ("finished", 9)
    with capture_output() as captured:
        shows.still.finish()
    assert captured.outputs == []
    live, picture, _ = outputs.shown.values()
    assert live["text/plain"] == "text"
    assert picture in outputs.published[-3:]
    assert set(live) == {"image/png", "text/plain"}


def test_a_captured_cell_gets_its_outputs(outputs: Outputs) -> None:
    shows = Shows()
    with capture_output() as captured:
        shows.still.show(bundles.bundle(None, "text"))
        shows.still.finish()
    assert outputs.published == []
    assert captured.outputs[-1].data == {"image/png": bundles.BLANK, "text/plain": "text"}


@pytest.mark.parametrize("how", ["settle", "finish"])
def test_a_failed_last_picture_is_reported_below_the_widget(
    shows: Shows, outputs: Outputs, how: str
) -> None:
    shows.error = ValueError("no font")
    shows.state = ("finished", 9)
    getattr(shows.still, how)()
    live, _picture, words = outputs.shown.values()
    assert (still._VIEW in live) is (how == "settle")
    assert "The picture cannot be drawn: ValueError: no font" in words["text/html"]


def test_if_no_thread_can_be_started_a_later_look_retries(
    shows: Shows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            shows.after(5)
        assert shows.after(1) == 0, "not at each tick"
    assert shows.after(5) == 1
    shows.state = ("finished", 9)
    shows.still.finish()


def test_the_html_of_a_picture_is_shown_once_and_reaches_a_reloaded_page(
    shows: Shows, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = bundles.bundle(None, "text") | {"text/html": "<pre>my error</pre>"}
    monkeypatch.setattr(shows.still, "_draw", lambda: failed)
    shows.state = ("failed", 9)
    shows.still.finish()
    _, picture, words = outputs.shown.values()
    assert set(picture) == {"image/png", "text/plain"}, "the page shows HTML in place of a picture"
    assert "words<pre>my error</pre>" in words["text/html"]
    assert shows.widget.sent[-1]["words"] == words


def test_a_failed_picture_is_reported_and_drawn_later(shows: Shows) -> None:
    shows.error = ValueError("no font")
    assert shows.after(5) == 1
    with pytest.raises(ValueError, match="no font"):
        shows.still.draw_if_due()
    shows.error = None
    assert shows.after(60, ("running", 2)) == 1


def test_a_bundle_of_any_picture_stays_below_its_limit() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (900, 600, 4), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise, "RGBA").save(out, "png")
    bundle = bundles.bundle(out.getvalue(), "text")
    assert sum(len(each) for each in bundle.values()) < 200_000
    with Image.open(io.BytesIO(b64decode(bundle["image/png"]))) as image:
        assert image.width / image.height == pytest.approx(2 / 3, abs=0.01)


def test_below_a_widget_only_pixels_differ_from_one_execution_to_the_next(
    shows: Shows, outputs: Outputs
) -> None:
    live, picture, words = outputs.shown.values()
    shows.state = ("finished", 9)
    shows.still.finish()
    gone, last, same = outputs.shown.values()
    assert live["text/plain"] == gone["text/plain"] == "text"
    assert set(picture) == set(last) == set(gone) == {"image/png", "text/plain"}
    assert picture["text/plain"] == last["text/plain"] == ""
    assert words == same
    assert words["text/html"].endswith('<div class="nbtrain-still">words</div>')


def test_an_export_without_widget_state_shows_no_text_for_the_widget(
    shows: Shows, outputs: Outputs
) -> None:
    shown = [nbformat.v4.new_output("display_data", data) for data in outputs.shown.values()]
    cell = nbformat.v4.new_code_cell("run", outputs=shown)
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert '<div class="nbtrain-still">words</div>' in page
    assert "<pre>text" not in page


def test_a_widget_that_the_user_has_closed_still_gets_its_last_picture(outputs: Outputs) -> None:
    shows = Shows()
    shows.still.show()
    shows.widget.close()  # as `Widget.close_all()` does
    shows.state = ("ended", 1)
    shows.still.finish()
    assert "The picture cannot be drawn" not in str(outputs.shown)
    assert len(shows.threads) == 2, "the first and the last were drawn"


def test_a_text_without_a_picture_is_shown_with_the_words(outputs: Outputs) -> None:
    Shows().still.show({"text/plain": "<script>1</script>"})
    _, picture, words = outputs.shown.values()
    assert picture == {"image/png": bundles.BLANK, "text/plain": ""}
    assert "words<pre>&lt;script&gt;1&lt;/script&gt;</pre>" in words["text/html"]


def test_a_widget_opens_one_comm_and_closes_it() -> None:
    from ipywidgets.widgets import widget

    before = dict(widget._instances)
    shown = Widget(Clock())
    assert widget._instances.keys() - before.keys() == {shown.model_id}
    shown.close()
    assert widget._instances == before


@pytest.mark.parametrize("content", [None, 3, "alive", ["t", "alive"]])
def test_a_message_that_is_not_an_object_is_ignored_with_a_note(
    shows: Shows, content: object
) -> None:
    shows.widget.hear(content)
    assert shows.widget.heard == []
    (sent,) = shows.widget.sent
    assert sent["t"] == "note"
    assert repr(content) in sent["text"]
