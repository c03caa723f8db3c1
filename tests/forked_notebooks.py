"""A plugin of pytest for nbval: the kernels of the notebooks are forked, each with TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernels import forked_kernels, load_ahead


@pytest.fixture(scope="session", autouse=True)
def forked() -> Iterator[None]:
    """Fork the kernels of the session."""
    load_ahead()
    with forked_kernels():
        yield
