"""Formats a table as plain text, for cells that can show nothing else."""

from __future__ import annotations

from collections.abc import Sequence

# The most characters of a cell, rows and columns that are shown; the number of others is stated.
WIDTH, ROWS, COLUMNS = 28, 60, 10

Cell = float | str | bool | None


def text_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, width: int = WIDTH) -> str:
    """Formats heads and rows, one a line, with aligned columns; None is an empty cell.

    Args:
        width: The most characters of a cell.
    """
    shown = [heads[:COLUMNS], *(row[:COLUMNS] for row in rows[:ROWS])]
    lines = [in_columns([[on_a_line(cell, width) for cell in row] for row in shown])]
    left = [(len(rows) - ROWS, "rows"), (len(heads) - COLUMNS, "columns")]
    more = " and ".join(f"{count} more {what}" for count, what in left if count > 0)
    return "\n".join([*lines, f"… {more}"] if more else lines)


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Formats rows of words, one a line, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def on_a_line(cell: Cell, width: int = WIDTH) -> str:
    """Formats a cell in one short line of printable characters."""
    if cell is None:
        return ""
    text = f"{cell:g}" if isinstance(cell, float) else str(cell)
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= width else text[: width - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: "1 file", "2,000 files"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def some(names: Sequence[str]) -> str:
    """Returns the first three of some names, and the number of the others."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest
