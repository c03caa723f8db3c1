"""A JupyterLab and a Chromium for the browser tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.lab.lab import Lab

NAMES = ("chromium", "chromium-browser", "google-chrome")
MAC = "/Applications/Chromium.app/Contents/MacOS/Chromium"
# No sandbox: continuous integration runs as root. No background traffic: there may be no network.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


def chromium() -> str | None:
    """The browser's path, or None where there is none."""
    found = [os.environ.get("NBTRAIN_CHROMIUM"), *map(shutil.which, NAMES), MAC]
    return next((path for path in found if path and Path(path).exists()), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here; skip it without a browser, except where CI is set."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")
            if chromium() is None and not os.environ.get("CI"):
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a screen."""
    path = chromium()
    assert path is not None, "CI is set, and there is no Chromium: tests/lab/chromium.sh"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab, over an empty folder."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture(autouse=True)
def no_kernel_is_left(lab: Lab) -> Iterator[None]:
    """Each test has the machine to itself."""
    yield
    lab.end_kernels()
