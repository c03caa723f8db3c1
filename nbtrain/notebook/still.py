"""The picture below a widget, which a notebook shows once its kernel has gone.

still = Still(panel, "nbtrain run", words, draw, state)
still.show(first)    # three outputs: the widget, and below it the picture and words, which a live
                     # widget hides; other threads may print between them
still.draw_if_due()  # regularly: redraws the picture in a separate thread if that is due
still.redraw()       # redraws the picture at once if it has changed
still.settle()       # the same for the last time; an error is shown below the widget
still.finish()       # the same, and empties the output of the widget

A saved notebook contains the three outputs. The first is the widget, which JupyterLab cannot show
without its kernel ("model not found"). The others are the picture, and HTML whose style hides the
output of the widget. Updates reach the outputs of a page by their `display_id`. A reloaded page
knows none of these ids, so the picture and the HTML are also sent to the page as a message, and the
page puts them into its notebook.

Only the pixels of the picture differ from one execution to the next, so nbval, which compares texts
and HTML, finds the outputs unchanged.
"""

from __future__ import annotations

import atexit
import contextvars
import dataclasses
import functools
import html
import itertools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython import get_ipython
from IPython.core.displaypub import CapturingDisplayPublisher

from nbtrain.media.drawing import DRAWING
from nbtrain.notebook.bundles import BLANK, Bundle, bundle
from nbtrain.notebook.execution import Place, is_cleared, place
from nbtrain.panel.widget import Shown

if TYPE_CHECKING:
    from IPython.core.displaypub import DisplayPublisher

EACH_SECS = 60.0
# Seconds between two pictures if the phase changed or the first curves appeared.
SOON_SECS = 5.0
SENDING_SECS = 0.002  # for the kernel's threads to send a widget, which drawing would delay
# The share of time spent on drawing: a picture of many charts takes a second.
_SHARE = 0.01
# While no page is open, pictures queue up in the server. So the wait between two pictures is at
# least this share of the time since the last message of a page.
_UNHEARD = 0.1
_VIEW = "application/vnd.jupyter.widget-view+json"
_CLASS = "nbtrain-still"
# Hides an output before the words that contains only the text of a widget ("model not found"). A
# live widget contains elements.
_STYLE = (
    "<style>.jp-OutputArea-child:has(> .jp-OutputArea-output:not([data-mime-type], iframe))"
    ":not(:has(> .jp-OutputArea-output > *)):has(~ .jp-OutputArea-child "
    f".{_CLASS}) {{ display: none }}"
    # A picture has a light ground. In a dark theme its lightness is inverted, and its hues stay.
    '[data-jp-theme-light="false"] .jp-OutputArea-child:has(~ .jp-OutputArea-child '
    f".{_CLASS}) img.jp-needs-light-background {{ filter: invert(0.9) hue-rotate(180deg) }}"
    "</style>"
)
# JupyterLab marks the picture by a class; other front ends ignore this.
_METADATA = {"needs_background": "light"}

_numbers = itertools.count(1)
_leaving = threading.Event()  # set when the process ends: then only the last pictures are drawn


# `endings` waits for the picture being drawn, after it has asked the runs to stop.
atexit.register(_leaving.set)


@dataclasses.dataclass(frozen=True)
class _Outputs:
    """The three outputs of one showing.

    Attributes:
        name: The prefix of each `display_id`.
        place: The cell.
        publisher: The publisher that showed them; None in a cell whose output is captured.
    """

    name: str
    place: Place
    publisher: DisplayPublisher | None

    def replace(self, which: str, data: Bundle) -> None:
        """Replaces one of the outputs.

        A cell whose output is being captured does not capture the message. The message is sent as
        an answer to the running cell, whatever the context of the calling thread: nbclient drops
        answers to earlier cells.
        """
        publisher = self.publisher or getattr(get_ipython(), "display_pub", None)
        if publisher is not None:
            transient = {"display_id": f"{self.name}-{which}"}
            publish = functools.partial(publisher.publish, transient=transient, update=True)
            contextvars.Context().run(publish, data, _METADATA if which == "picture" else {})


class Still:
    """The outputs of one widget, and their picture.

    Args:
        text: The plain text of the widget, the same on every execution.
        words: HTML with the code to type without the kernel, the same on every execution.
        draw: Returns a picture (see `bundle`), optionally with HTML to show below it, or only a
            text if there is no picture.
        state: Returns the state that the picture shows, the phase first.
    """

    def __init__(
        self,
        widget: Shown,
        text: str,
        words: str,
        draw: Callable[[], Bundle],
        state: Callable[[], tuple[object, ...]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._widget, self._text, self._words = widget, text, words
        self._model = widget.model_id  # kept, because a closed widget has none
        self._draw, self._state, self._clock = draw, state, clock
        self._drawn: tuple[object, ...] = ()  # the state in the last picture
        self._drawn_at = clock()
        self._cost = 0.0
        self._outputs: list[_Outputs] = []
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def show(
        self, first: Bundle | None = None, *, before: Callable[[], object] = lambda: None
    ) -> None:
        """Shows the widget in the calling cell, and below it `first`, or a picture if it is None.

        The widget is shown before the picture is drawn, which may take a second, and before
        `before` is called: a page that reaches the kernel during a cell fills the widget meanwhile.
        Without a picture, the text is shown with the words; an error of drawing is shown instead of
        the picture.
        """
        from IPython.display import display

        publisher = getattr(get_ipython(), "display_pub", None)
        captured = isinstance(publisher, CapturingDisplayPublisher)
        name = f"nbtrain-{id(self)}-{next(_numbers)}"
        outputs = _Outputs(name, place(), None if captured else publisher)
        view = {"model_id": self._model, "version_major": 2, "version_minor": 0}
        # A page that cannot show widgets, or does not trust the notebook, shows the pixel.
        live = {_VIEW: view, **bundle(None, self._text)}
        display(live, raw=True, display_id=f"{name}-live")
        time.sleep(SENDING_SECS)
        self.is_cleared()  # otherwise each execution of a cell would leave one more to replace
        self._outputs.append(outputs)
        if first is None:
            before()
            first = self._first()
        for which, data in self._below(first).items():
            metadata = _METADATA if which == "picture" else {}
            display(data, raw=True, display_id=f"{name}-{which}", metadata=metadata)

    def _first(self) -> Bundle:
        """Draws the first picture; returns words in its place if that fails."""
        state = self._state()
        try:
            picture = self._draw()
        except Exception as error:  # noqa: BLE001 - shown where it is missing; the widget works
            return {"text/plain": f"{self._text}\n{lack(error)}"}
        self._drawn = state
        return picture

    def is_cleared(self) -> bool:
        """Returns whether all outputs have gone because their cells were executed again."""
        before = self._outputs
        self._outputs = [each for each in before if not is_cleared(each.place)]
        return bool(before) and not self._outputs

    def forget(self, where: Place) -> bool:
        """Forgets the outputs in a place that the program has cleared; returns whether any were."""
        before = self._outputs
        self._outputs = [each for each in before if each.place != where]
        return len(self._outputs) < len(before)

    def draw_if_due(self) -> None:
        """Draws a picture if one is due. Any thread may call it, one at a time.

        Raises:
            Exception: The last picture could not be drawn, or no thread can be started.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if not self._outputs or (self._thread and self._thread.is_alive()) or not self._is_due():
            return
        self._drawn_at = self._clock()  # before start(), which may fail: no retry at each call
        thread = threading.Thread(target=self._refresh, name="nbtrain picture", daemon=True)
        thread.start()
        self._thread = thread

    def redraw(self) -> None:
        """Draws the picture in the calling thread if it has changed."""
        with DRAWING:
            if not _leaving.is_set():
                self._redraw()

    def _redraw(self) -> None:
        if self._outputs and self._state() != self._drawn:
            self._update()

    def settle(self) -> None:
        """Draws the last picture; the widget stays.

        If drawing fails, the words below the widget say so: the caller may be in another cell.
        """
        if thread := self._thread:
            thread.join()
        try:
            self._redraw()
        except Exception as error:  # noqa: BLE001 - shown where it is missing
            words = self._below({"text/plain": f"{self._text}\n{lack(error)}"})["words"]
            for outputs in self._outputs:
                outputs.replace("words", words)

    def finish(self) -> None:
        """Draws the last picture and empties the outputs of the widget."""
        self.settle()
        shown, self._outputs = self._outputs, []
        for outputs in shown:
            outputs.replace("live", bundle(None, self._text))

    def _is_due(self) -> bool:
        now = self._clock()
        since = now - self._drawn_at
        wait = max(self._cost / _SHARE, (now - self._widget.heard_at) * _UNHEARD)
        if since < max(wait, SOON_SECS):
            return False
        state = self._state()
        if state == self._drawn:
            return False
        return since >= EACH_SECS or state[:1] != self._drawn[:1]

    def _refresh(self) -> None:
        try:
            with DRAWING:
                if not _leaving.is_set():
                    self._update()
        except Exception as error:  # noqa: BLE001 - raised at the next call of draw_if_due
            self._failure = error
        finally:
            self._drawn_at = self._clock()

    def _update(self) -> None:
        state = self._state()  # read before drawing: later changes are drawn the next time
        began = time.thread_time()
        try:
            drawn = self._below(self._draw())
        finally:
            self._cost = time.thread_time() - began
        self._drawn = state
        for outputs in list(self._outputs):
            for which, data in drawn.items():
                outputs.replace(which, data)
        self._widget.send({"t": "still", "id": self._model, **drawn})

    def _below(self, drawn: Bundle) -> dict[str, Bundle]:
        """Returns the two outputs below the widget; the plain text is in the widget's output."""
        picture = {"image/png": drawn.get("image/png", BLANK), "text/plain": ""}
        text = "" if "image/png" in drawn else f"<pre>{html.escape(drawn['text/plain'])}</pre>"
        page = f'{_STYLE}<div class="{_CLASS}">{self._words}{drawn.get("text/html", text)}</div>'
        return {"picture": picture, "words": {"text/html": page, "text/plain": ""}}


def lack(error: Exception) -> str:
    """Returns a message that there is no picture because of an error."""
    return f"The picture cannot be drawn: {type(error).__name__}: {error}"
