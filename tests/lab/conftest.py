"""A JupyterLab, for what needs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chromium import mark_those_below
from tests.lab.lab import Lab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here."""
    mark_those_below(Path(__file__).parent, items)


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
