"""Messages for the user of a run, one for each topic."""

from __future__ import annotations


class Notes:
    """The messages by topic, in the order in which they came; any thread."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def note(self, topic: str, text: str | None) -> None:
        """Sets or (None) clears the message about a topic."""
        if text is None:
            self._texts.pop(topic, None)
        else:
            self._texts[topic] = text

    @property
    def texts(self) -> list[str]:
        """The messages."""
        return list(self._texts.values())
