"""The causes of a slow training, with the lines to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtrain.run.why.answer import shown
from nbtrain.run.why.operation import CodeLine


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that makes the input or the step slow.

    Attributes:
        what: The first part of a sentence that describes it.
        change: The second part: how to write it instead.
        place: The line to change; None if unknown.
    """

    what: str
    change: str
    place: CodeLine | None = None

    @property
    def text(self) -> str:
        """The cause and the change, in a sentence."""
        where = f" ({shown(self.place)})" if self.place else ""
        return f"{self.what}{where}: {self.change}"

    @property
    def fields(self) -> dict[str, Any]:
        """The same, as plain data."""
        found: dict[str, Any] = {"text": self.text, "change": self.change}
        if self.place is not None:
            found |= self.place.fields
        return found
