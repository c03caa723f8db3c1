"""TensorFlow's log lines of a thread are kept, except those that the panel shows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import tensorflow as tf

from nbtrain.run.output.tensorflow_log import Log, hushed


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


def test_messages_shown_in_the_panel_are_not_in_the_log_of_the_run_either() -> None:
    log, logger = Log(), tf.get_logger()
    with log.listening(), hushed():
        with hushed():
            logger.info("Restoring parameters from model.ckpt-8")
        logger.warning("mind the gap")
    assert log.lines == ("WARNING: mind the gap",)


@pytest.mark.parametrize("quiet", [contextlib.nullcontext, hushed])
def test_deprecation_warnings_of_tensorflows_saver_are_not_logged(
    quiet: Callable[[], contextlib.AbstractContextManager[None]], caplog: pytest.LogCaptureFixture
) -> None:
    log, text = Log(), "From %s: %s is deprecated"
    with log.listening(), quiet():
        tf.get_logger().warning(text, "lib/tensorflow/python/training/saver.py:9", "remove_it")
        tf.get_logger().warning(text, "program.py:9", "a_call_of_its_own")
    assert log.lines == ("WARNING: From program.py:9: a_call_of_its_own is deprecated",)


def test_lines_after_a_silence_are_in_the_log() -> None:
    log = Log()
    with log.listening():
        with hushed():
            tf.get_logger().info("told")
        tf.get_logger().info("by the user's own hook")
    assert log.lines == ("by the user's own hook",)
