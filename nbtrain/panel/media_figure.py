"""Draws the newest pictures and media of a run into its picture for the saved notebook."""

from __future__ import annotations

import functools
import io
import textwrap
import wave
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.logdir.history import fact_of
from nbtrain.logdir.run_media import RunMedia
from nbtrain.panel.figure import COLOURS, GREY, INK, frame, short, writable
from nbtrain.panel.media_wire import counting
from nbtrain.panel.pr_curves import shown
from nbtrain.tfevents.pr_curves import PrCurve
from nbtrain.tfevents.values import Audio, Histogram, Images, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Card = Callable[["Axes"], None]

CARDS = 6  # the first tags are drawn
_IMAGES, _PIXELS = 4, 1 << 16  # images side by side, and pixels of each
_WIDTH, _LINES = 44, 9  # characters in a line of a text, and its lines
_FRAMES = 2000  # of a sound: as many as can be told apart


def cards(media: RunMedia) -> tuple[list[Card], str]:
    """Returns what draws the newest value of the first tags, and in words which are left out."""
    found: list[Card] = []
    tags = media.tags()
    for kind, tag, _ in tags[:CARDS]:
        try:
            kept = counting(history := media.history(kind, tag))
            if not len(kept):  # the run has gone back behind all of it
                continue
            value: object = media.value(kind, tag, int(kept[-1]))[0]
            title = f"{short(tag)}  step {history.steps[kept[-1]]:,}"
        except (NbtrainError, OSError) as error:
            value, title = fact_of(error), short(tag)
        found.append(functools.partial(_draw, value=value, title=title))
    more = len(tags) - CARDS
    return (
        found,
        f"Not in this picture: {more} more tags of pictures and media." if more > 0 else "",
    )


def _draw(axes: Axes, *, value: Any, title: str) -> None:
    try:
        _DRAWN[type(value)](axes, value)
    except Exception as error:  # noqa: BLE001 - a damaged value must not cost the whole picture
        axes.clear()
        _words(axes, f"It cannot be drawn: {error}")
    axes.set_title(writable(title), fontsize=9, loc="left", parse_math=False, color=INK)


def _images(axes: Axes, value: Images) -> None:
    from PIL import Image

    shown = []
    for index in range(min(_IMAGES, len(value.encoded))):
        data, _ = value.shown(index, most_pixels=_PIXELS)
        with Image.open(io.BytesIO(data)) as opened:
            shown.append(np.asarray(opened.convert("RGBA")))
    height = max(image.shape[0] for image in shown)
    gap = max(1, height // 14)
    width = sum(image.shape[1] for image in shown) + gap * (len(shown) - 1)
    whole = np.zeros((height, width, 4), np.uint8)
    left = 0
    for image in shown:
        whole[: image.shape[0], left : left + image.shape[1]] = image
        left += image.shape[1] + gap
    axes.imshow(whole, interpolation="nearest" if height < 100 else None)
    axes.set_anchor("NW")
    axes.set_axis_off()


def draw_text(axes: Axes, value: Text) -> None:
    """Draws the first lines of a text."""
    _words(axes, str(value))


def _words(axes: Axes, text: str) -> None:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _WIDTH) or [""]]
    if len(lines) > _LINES:
        lines[_LINES - 1 :] = ["…"]
    said = "\n".join(map(writable, lines))
    axes.text(0, 1, said, fontsize=8, va="top", color=INK, parse_math=False)
    axes.set_axis_off()


def _histogram(axes: Axes, value: Histogram) -> None:
    buckets = value.buckets[np.isfinite(value.buckets).all(axis=1)]
    if len(buckets):
        edges = np.append(buckets[:, 0], buckets[-1, 1])
        axes.stairs(buckets[:, 2], edges, fill=True, color=COLOURS[0], alpha=0.35)
        axes.stairs(buckets[:, 2], edges, color=COLOURS[0])
    frame(axes)


def _curve(axes: Axes, value: PrCurve) -> None:
    rows, _ = shown(value)
    axes.plot(rows[6], rows[5], color=COLOURS[0], lw=1.3)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("recall", fontsize=8, color=INK)
    axes.set_ylabel("precision", fontsize=8, color=INK)
    frame(axes)


def draw_sound(axes: Axes, value: Audio) -> None:
    """Draws the wave of the first channel of the first clip.

    Raises:
        ArgumentError: It is no WAV file of whole numbers.
    """
    try:
        with wave.open(io.BytesIO(value.clips[0])) as file:
            rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            data = np.frombuffer(file.readframes(file.getnframes()), np.uint8)
    except (wave.Error, EOFError) as error:
        raise ArgumentError(f"Only WAV files of whole numbers can be drawn: {error}.") from error
    data = data[: len(data) // width * width].reshape(-1, width)[::channels]
    wide = np.zeros((len(data), 4), np.uint8)
    wide[:, 4 - width :] = data ^ 128 if width == 1 else data  # samples of 8 bits are unsigned
    frames = wide.view("<i4").ravel()
    every = max(1, len(frames) // _FRAMES)
    shown = frames[: len(frames) // every * every].reshape(-1, every)
    seconds = np.arange(len(shown)) * every / rate
    axes.fill_between(seconds, shown.min(axis=1), shown.max(axis=1), color=GREY, lw=0.5)
    axes.set_xlabel("seconds", fontsize=8, color=INK)
    axes.set_yticks([])
    frame(axes)


_DRAWN: dict[type, Callable[[Axes, Any], None]] = {
    Audio: draw_sound,
    Histogram: _histogram,
    Images: _images,
    PrCurve: _curve,
    Text: draw_text,
    str: _words,
}
