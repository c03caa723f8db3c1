"""Summaries of a graph: computed under a Supervisor, and read back from its event file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

import nbtrain
from tests.digits import Digits
from tests.gate import SOON

v1 = tf.compat.v1
IMAGES, _ = load_digits(return_X_y=True)


def values(folder: Path, tag: str) -> list[tuple[int, Any]]:
    """Step and value of every summary of a tag, in the order of the event file."""
    (file,) = folder.glob("events.out.tfevents.*")
    return [
        (event.step, value)
        for event in v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag == tag
    ]


def scalar(digits: Digits) -> None:
    v1.summary.scalar("seen", digits.accuracy)


def histogram(digits: Digits) -> None:
    v1.summary.histogram("seen", digits.weight)


def image(digits: Digits) -> None:
    v1.summary.image("seen", IMAGES[:3].reshape(3, 8, 8, 1).astype("float32"), max_outputs=1)


def audio(digits: Digits) -> None:
    v1.summary.audio("seen", IMAGES[:1].reshape(1, 64).astype("float32") / 16, 64.0)


def text(digits: Digits) -> None:
    v1.summary.text("seen", tf.constant("handwritten"))


def is_a_weight(value: Any) -> bool:
    return bool(value.histo.num == 640)


def is_a_picture(value: Any) -> bool:
    return (value.image.height, value.image.width) == (8, 8)


def is_a_sound(value: Any) -> bool:
    return bool((value.audio.sample_rate, value.audio.length_frames) == (64.0, 64))


def is_a_word(value: Any) -> bool:
    return bool(tf.make_ndarray(value.tensor) == b"handwritten")


def is_an_accuracy(value: Any) -> bool:
    return bool(0.0 <= value.simple_value <= 1.0)


@pytest.mark.parametrize(
    ("add", "tag", "is_it"),
    [
        (scalar, "seen", is_an_accuracy),
        (histogram, "seen", is_a_weight),
        (image, "seen/image", is_a_picture),
        (audio, "seen/audio/0", is_a_sound),
        (text, "seen", is_a_word),
    ],
    ids=["scalar", "histogram", "image", "audio", "text"],
)
def test_a_summary_of_each_kind_lands_in_the_event_file_under_its_step(
    add: Callable[[Digits], None], tag: str, is_it: Callable[[Any], bool], tmp_path: Path
) -> None:
    digits = Digits()
    with digits.graph.as_default():
        add(digits)
    sv = nbtrain.Supervisor(
        digits.graph, logdir=str(tmp_path), save_summaries_secs=0, save_summaries_steps=2
    )
    with sv.managed_session() as sess:
        for _ in range(6):
            sess.run(digits.train_op)
    found = values(tmp_path, tag)
    assert [step for step, _ in found] == [2, 4, 6], "and the last is not written twice"
    assert all(is_it(value) for _, value in found)


def test_a_file_writer_made_in_the_graph_is_written_by_any_thread(tmp_path: Path) -> None:
    digits = Digits()
    with digits.graph.as_default():
        summary = v1.summary.scalar("loss_seen", digits.loss)
        writer = v1.summary.FileWriter(str(tmp_path / "mine"), digits.graph)
    sv = nbtrain.Supervisor(digits.graph, logdir=None)

    def write(sess: Any) -> None:
        writer.add_summary(*sess.run([summary, digits.global_step]))
        writer.flush()
        sv.request_stop()

    with sv.managed_session() as sess:
        sv.loop(3600.0, write, (sess,))
        sv.coord.wait_for_stop(SOON)
    writer.close()
    assert [step for step, _ in values(tmp_path / "mine", "loss_seen")] == [0]


def test_a_variable_is_recorded_by_its_name_or_itself() -> None:
    digits = Digits()
    scalars = {"by name": "global_step:0", "itself": digits.global_step}
    run = nbtrain.supervise(digits.train_op, scalars=scalars, steps=3).wait(SOON)
    for tag in scalars:
        assert run.scalars[tag].values[-1] in (2.0, 3.0), "read before or after it was counted"
