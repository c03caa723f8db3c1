"""The Chromium of the browser tests: one for a session, and none where there is none."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MAC = "/Applications/Chromium.app/Contents/MacOS/Chromium"
# No sandbox: continuous integration runs as root. No background traffic: there may be no network.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SECOND = 1000.0  # of Playwright's milliseconds

expect.set_options(timeout=60 * SECOND)  # a machine that is busy elsewhere is no failure


def chromium() -> str | None:
    """The browser's path, or None where there is none."""
    found = [os.environ.get("NBTRAIN_CHROMIUM"), *map(shutil.which, NAMES), MAC]
    return next((path for path in found if path and Path(path).exists()), None)


def mark_those_below(folder: Path, items: list[pytest.Item]) -> None:
    """Mark the tests of a folder; skip them without a browser, except where CI is set."""
    for item in items:
        if folder in item.path.parents:
            item.add_marker("browser")
            if chromium() is None and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """Chromium, without a screen."""
    path = chromium()
    assert path is not None, "CI is set, and there is no Chromium: tests/chromium.sh"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
