"""The length of the passes over data, and where the present one began, in steps."""

from __future__ import annotations


class PassLength:
    """Tells the length of the passes; the training thread changes it, any thread reads it.

    Args:
        size: The elements of a pass; None while unknown.
        passes: The number of passes; None if there is no end.

    Attributes:
        total: The elements of all passes; None if endless, or unknown from the beginning.
        began: The completed steps when the present pass began; None if unknown.
        single: Whether each step has drawn one element.
    """

    def __init__(self, size: int | None, passes: int | None) -> None:
        self.total = passes * size if passes and size else None
        self.began: int | None = None
        self._size = size
        self.single = True

    @property
    def steps(self) -> int | None:
        """The steps of a pass, as far as the data or the last pass tell; None if unknown."""
        return self._size if self.single else None

    def begin(self, step: int) -> None:
        """Notes the step at which the pass began, if each of its elements was a step."""
        self.began = step if self.single else None

    def end(self, size: int) -> None:
        """Notes that the pass ends after so many elements."""
        self._size = size
