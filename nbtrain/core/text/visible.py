r"""Cleans texts for a terminal: names, tags and messages may come from other people's files.

visible("\x1b[2Jdigits")     # "digits": a sequence would clear the screen, or set its title
say("line", sys.stdout)      # prints a cleaned text, whatever the stream can encode
"""

from __future__ import annotations

import re
import sys
from typing import Any

# Colours, movements of the cursor, and titles: ESC, or its form in one character.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)

# Control characters except line feed and tab, half characters, and those that turn the direction
# of the text that follows.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Returns a text without sequences for the terminal; other control characters become "�"."""
    text = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def on_one_line(text: str) -> str:
    """Returns a visible text in one line."""
    return re.sub(r"[\n\t]", " ", visible(text))


def say(text: object, file: Any = None, *, end: str = "\n", flush: bool = False) -> None:
    """Prints a visible text; what the stream cannot encode becomes an escape.

    Args:
        file: The stream; None for the standard error.
    """
    file = sys.stderr if file is None else file
    if file is None:  # a process without one
        return
    encoding = getattr(file, "encoding", None) or "utf-8"
    shown = visible(str(text)).encode(encoding, "backslashreplace").decode(encoding)
    print(shown, file=file, end=end, flush=flush)
