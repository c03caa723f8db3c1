"""A bare page in Chromium for each test, and the shell whose outputs it shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

import nbtrain
from tests.chromium import mark_those_below
from tests.page.bare import BarePage, phase
from tests.page.kernel import Kernel
from tests.page.paced import Paced
from tests.page.shell import page_shell


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here."""
    mark_those_below(Path(__file__).parent, items)


@pytest.fixture(scope="session")
def kernel() -> Iterator[Kernel]:
    """The other end of every page."""
    kernel = Kernel()
    yield kernel
    kernel.close()


@pytest.fixture(scope="module")
def shell(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An IPython with the extension loaded, which displays in the page."""
    folder = tmp_path_factory.mktemp("ipython")
    with page_shell(kernel, folder) as shell:
        yield shell


@pytest.fixture(scope="session")
def spare() -> list[Page]:
    """The page of the test before, if it is as it was."""
    return []


@pytest.fixture
def page(browser: Browser, spare: list[Page], kernel: Kernel, shell: Any) -> Iterator[BarePage]:
    """A page without outputs; the runs and widgets that a test has made are ended after it."""
    page = BarePage(spare.pop() if spare else browser.new_page(), kernel, shell)
    yield page
    kernel.go_on()  # a test that has failed may have left it silent
    if emptied := page.empty():
        spare.append(emptied)
    page.end()


@pytest.fixture
def paced() -> Paced:
    """The training."""
    return Paced()


@pytest.fixture
def run(page: BarePage, paced: Paced) -> nbtrain.Run:
    """A running training that has two hyperparameters; it is stopped before the page goes."""
    return paced.train()


@pytest.fixture
def panel(page: BarePage, run: nbtrain.Run) -> Locator:
    """Its panel."""
    panel = page.panel(run)
    phase(panel, "running")
    return panel
