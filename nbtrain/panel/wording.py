"""Formats single values for display: numbers, speeds, durations, long texts."""

from __future__ import annotations

import math
import re


def number(value: float) -> str:
    """Formats a value with four digits; NaN and infinities by name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4g}"


def plain(value: float) -> float | str:
    """Converts a value for JSON; NaN and infinities by name."""
    return value if math.isfinite(value) else number(value)


def speed(steps_per_s: float) -> str:
    """Formats a speed, as seconds per step if a step takes longer than a second."""
    if 0 < steps_per_s < 1:
        return f"{1 / steps_per_s:.1f} s/step"
    return f"{steps_per_s:,.0f} steps/s" if steps_per_s >= 10 else f"{steps_per_s:.1f} steps/s"


def duration(seconds: float) -> str:
    """Formats seconds as `1:02:03`, or `2:03` below an hour; NaN and infinities by name."""
    if not math.isfinite(seconds):
        return number(seconds)
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def cut(text: str, limit: int) -> str:
    """Shortens a text of more than `limit` characters to its beginning and its end.

    Cuts between words unless they are very long. The end is the longer part, because the end of a
    stack or traceback says what happened last.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    first = re.sub(r"\s\S{0,20}$", "", text[: head + 1])[:head]
    last = re.sub(r"^\S{0,20}\s", "", text[head + 2 - limit :])[head + 3 - limit :]
    return f"{first} … {last}"
