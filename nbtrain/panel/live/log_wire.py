"""Messages with the log of a run for a page: the extent in each status, the lines on request.

A page with a folded log gets the number of lines and the newest line. A page with an open log
requests the lines that it lacks, as soon as the status reports more.
"""

from __future__ import annotations

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.log_lines import LogLines
from nbtrain.panel.wording import cut

# Lines of one message, and characters of a line. `log.txt` has the whole lines.
MESSAGE_LINES = 2500
LINE_CHARS = 500
_LAST_CHARS = 120


def extent(lines: LogLines) -> dict[str, object] | None:
    """Returns the extent of a log for a status; None for a log without lines."""
    last = lines.last
    if last is None:
        return None
    counts = {"count": lines.count, "warnings": lines.warnings, "errors": lines.errors}
    return {**counts, "last": cut(last.text, _LAST_CHARS)}


def answer(lines: LogLines, have: object) -> dict[str, object]:
    """Returns a message with the lines after the first `have`, at most `MESSAGE_LINES` of them.

    Raises:
        ArgumentError: `have` is not a number of lines.
    """
    if type(have) is not int or have < 0:
        raise ArgumentError(f"A message was ignored: have={have!r:.80} is not a number of lines")
    first, found = lines.since(have, MESSAGE_LINES)
    rows = [
        [round(line.wall_time, 3), line.step, line.level, line.source, cut(line.text, LINE_CHARS)]
        for line in found
    ]
    return {"t": "log", "first": first, "count": lines.count, "rows": rows}
