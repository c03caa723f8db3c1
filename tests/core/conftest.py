"""Tests the pure packages without TensorFlow, and names a module that imports it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def tensorflow_stays_out(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a module that has imported TensorFlow, unless another folder's tests did before."""
    before = "tensorflow" in sys.modules
    yield
    if "tensorflow" in sys.modules and not before:
        pytest.fail(f"{request.module.__name__} has imported TensorFlow.")
