"""The pure floors are tested without TensorFlow: a module that imports it is named."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def tensorflow_stays_out(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a module that has imported TensorFlow; another folder's may have done so before."""
    before = "tensorflow" in sys.modules
    yield
    if "tensorflow" in sys.modules and not before:
        pytest.fail(f"{request.module.__name__} has imported TensorFlow.")
