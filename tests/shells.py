"""An IPython of a test's own, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from nbtrain.steer import surroundings


@contextlib.contextmanager
def own_shell(folder: Path) -> Iterator[Any]:
    """A shell that keeps no history, its profile in this folder; then its process is a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surroundings, "current", surroundings.current)
        patch.setenv("IPYTHONDIR", str(folder))
        shell = InteractiveShell.instance()
        shell.history_manager.enabled = False
        yield shell
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()


class Outputs(DisplayPublisher):
    """Remembers what is displayed, as a page that shows it.

    Attributes:
        shown: The bundles by their `display_id`, in the order in which they were first shown.
        published: Every bundle, also one in the place of another.
    """

    def __init__(self, shell: Any) -> None:
        self.shown: dict[str, dict[str, Any]] = {}
        self.published: list[dict[str, Any]] = []
        super().__init__(shell)

    def publish(  # type: ignore[override,unused-ignore] # IPython's has one that is deprecated
        self, data: Any, *_: Any, transient: Any = None, **__: Any
    ) -> None:
        """Show a bundle, new or in the place of one."""
        self.published.append(data)
        self.shown[(transient or {}).get("display_id", str(len(self.shown)))] = data
