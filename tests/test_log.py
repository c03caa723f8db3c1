"""What TensorFlow logs in a thread: its lines kept, what cannot be made a line too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf

from nbtrain.log import Log


@pytest.fixture(autouse=True)
def talkative() -> Iterator[None]:
    """The verbosity of a notebook."""
    logger = tf.get_logger()
    before = logger.level
    logger.setLevel("INFO")
    yield
    logger.setLevel(before)
    assert logger.filters == []


def test_a_line_that_fits_not_its_values_is_kept_as_it_was_written() -> None:
    log = Log()
    with log.listening():
        tf.get_logger().info("%d items", "three")
        tf.get_logger().info("%d items", 4)
    assert log.lines == ("%d items", "4 items")
