"""Pictures and media of a run: recorded, evaluated, read from its folder, drawn in its picture."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.pr_curve import summary as pr_curve
from tensorboard.util.tensor_util import make_ndarray

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.run_media import RunMedia
from nbtrain.media import Audio, ConfusionMatrix, Histogram, PRCurve
from nbtrain.media.encoding import encoded
from nbtrain.media.samples import Sample
from nbtrain.recording import sample_queue
from nbtrain.remote.attached import AttachedRun
from nbtrain.run.run import Run
from tests.gate import SOON

IMAGES = np.linspace(0, 1, 2 * 5 * 6 * 3).reshape(2, 5, 6, 3)
LABELS, GUESSES = np.array([1, 0, 1, 1, 0]), np.array([0.9, 0.6, 0.8, 0.3, 0.1])


def steps(run: Run, kind: str, tag: str) -> list[int]:
    """The steps at which an ended run has a tag."""
    run.wait(SOON)
    run.media.tick(to_end=True)
    return [*map(int, run.media.history(kind, tag).steps)]


def every_kind() -> dict[str, Any]:
    """A value of each kind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([1, 2])
    return {
        "samples": IMAGES,
        "tensor": tf.constant(IMAGES, tf.float32),
        "figure": figure,
        "said": "a *text*",
        "weights": Histogram(tf.Variable([1.0, 2.0, 2.0])),
        "sound": Audio(np.sin(np.arange(800) / 5), 8000),
        "confusion": ConfusionMatrix(np.eye(3, dtype=int), ["a", "b", "c"]),
        "quality": PRCurve(LABELS, GUESSES),
    }


KINDS = {
    "samples": "images",
    "tensor": "images",
    "figure": "images",
    "said": "text",
    "weights": "histograms",
    "sound": "audio",
    "confusion": "images",
    "quality": "pr_curves",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that has recorded all kinds at its second step of three."""

    def step() -> dict[str, float]:
        if run.status.step == 1:
            run.record(every_kind())
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=3, logdir=tmp_path_factory.mktemp("media"), start=False)
    run.start().wait(SOON)
    assert run.status.message is None
    return run


# --- recording ------------------------------------------------------------------------


@pytest.mark.parametrize(("tag", "kind"), KINDS.items())
def test_each_kind_is_recorded_at_its_step(recorded: Run, tag: str, kind: str) -> None:
    assert steps(recorded, kind, tag) == [2]


def test_the_values_are_those_that_were_recorded(recorded: Run) -> None:
    def value(tag: str) -> Any:
        return recorded.media.value(KINDS[tag], tag, 0)[0]

    for tag in ("samples", "tensor"):
        images = value(tag)
        assert (images.width, images.height, len(images.encoded)) == (6, 5, 2)
        pixels = tf.io.decode_png(images.encoded[1]).numpy()
        np.testing.assert_allclose(pixels, np.round(IMAGES[1] * 255), atol=1)
    assert (value("figure").width, value("figure").height) == (200, 100)
    assert str(value("said")) == "a *text*"
    assert value("weights").buckets[:, 2].sum() == 3
    assert value("sound").content_type == "audio/wav"
    sound, rate = tf.audio.decode_wav(value("sound").clips[0])
    np.testing.assert_allclose(sound[:, 0], np.sin(np.arange(800) / 5), atol=1e-4)
    assert rate == 8000


def test_a_curve_is_that_of_tensorboards_plugin() -> None:
    summary = tf.compat.v1.Summary.FromString(
        encoded(Sample("pr", 1, 0.0, PRCurve(LABELS, GUESSES)))[0]
    )
    (theirs,) = pr_curve.pb("pr", LABELS.astype(bool), GUESSES).value
    (ours,) = summary.value
    np.testing.assert_array_equal(make_ndarray(ours.tensor), make_ndarray(theirs.tensor))
    assert ours.metadata.plugin_data == theirs.metadata.plugin_data


def test_loops_of_every_kind_record_at_the_step_of_their_scalars() -> None:
    @nbtrain.background(steps=4)
    def asks(run: Run) -> None:
        while not run.should_stop():
            step = run.status.step
            run.record(loss=1.0)
            if step % 2:
                run.record(said=f"after {step}")

    @nbtrain.background
    def tracked(run: nbtrain.Run) -> None:
        for epoch in run.track(range(2)):  # type: ignore[attr-defined]
            for batch in run.track(range(3)):  # type: ignore[attr-defined]
                run.record(loss=1.0)
                if batch == 1:
                    run.record(said=f"{epoch}")
            run.record(epoch=f"epoch {epoch}")

    @nbtrain.background
    def counts(run: Run) -> None:
        run.record(step=4, said="before the first boundary")
        for step in (5, 6, 7):
            if run.should_stop():
                break
            run.record(step=step, loss=1.0, said="at a step of its own")

    assert steps(asks, "text", "said") == [2, 4]
    assert steps(tracked, "text", "said") == [2, 5]
    assert steps(tracked, "text", "epoch") == [3, 6]
    assert steps(counts, "text", "said") == [4, 5, 6, 7]
    assert tracked.scalars["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_nothing_is_encoded_by_the_training_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    by: list[str] = []

    def noting(sample: Sample) -> Any:
        by.append(threading.current_thread().name)
        return encoded(sample)

    monkeypatch.setattr(sample_queue, "encoded", noting)
    seen = threading.Event()

    @nbtrain.background(name="threads")
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(said="text")
            if by or seen.wait(0.01):
                break

    loop.wait(SOON)
    assert by[0] == "nbtrain encode threads"


def test_pyplot_and_a_figures_canvas_are_left_alone() -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure()
    canvas, known = figure.canvas, plt.get_fignums()

    @nbtrain.background(steps=1)
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(figure=figure)

    assert steps(loop, "images", "figure") == [1]
    assert figure.canvas is canvas
    assert plt.get_fignums() == known
    plt.close(figure)


def test_a_figure_that_is_recorded_again_before_it_was_drawn_is_told() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    written: list[int] = []
    waiting = sample_queue.SampleQueue(lambda sample, _: written.append(sample.step))
    for step in (1, 2):
        waiting.append(Sample("figure", step, 0.0, figure))
    waiting.finish(SOON)
    assert written == [2]


def test_what_a_loop_records_wrongly_fails_it_with_what_to_give() -> None:
    @nbtrain.background
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record(samples=np.zeros((2, 3, 4, 5, 6)))

    with pytest.raises(ArgumentError, match=r"'samples' has the shape \(2, 3, 4, 5, 6\), and a sc"):
        loop.wait(SOON)

    @tf.function
    def traced(run: Run) -> None:
        run.record(samples=tf.zeros((1, 4, 4, 3)))

    @nbtrain.background
    def graph(run: Run) -> None:
        while not run.should_stop():
            traced(run)

    with pytest.raises(Exception, match=r"call tf.summary.image and the like in it"):
        graph.wait(SOON)


def test_a_step_that_returns_images_is_told_of_tf_summary() -> None:
    @tf.function
    def step() -> dict[str, Any]:
        return {"loss": tf.constant(1.0), "samples": tf.zeros((1, 4, 4, 3))}

    with pytest.raises(ArgumentError, match=r"give pictures to tf.summary.image\(...\) in the ste"):
        nbtrain.train(step)


# --- evaluations ------------------------------------------------------------------------


def test_an_evaluation_returns_pictures_beside_its_scalars() -> None:
    run = nbtrain.train(
        lambda: {"loss": 1.0},
        steps=4,
        evaluate=lambda: {"loss": 0.5, **every_kind()},
        evaluate_steps=2,
    )
    for tag, kind in KINDS.items():
        assert steps(run, kind, f"val_{tag}") == [2, 4]
    assert run.scalars["val_loss"].steps.tolist() == [2, 4]


def test_an_evaluation_may_return_pictures_alone() -> None:
    pictures = {"val_samples": IMAGES}
    run = nbtrain.train(lambda: {"loss": 1.0}, steps=2, evaluate=lambda: pictures, evaluate_steps=2)
    assert steps(run, "images", "val_samples") == [2]
    assert run.status.message is None


def test_an_evaluation_with_a_wrong_value_is_told() -> None:
    run = nbtrain.train(
        lambda: {"loss": 1.0}, steps=2, evaluate=lambda: {"x": np.zeros(4)}, evaluate_steps=1
    )
    run.wait(SOON)
    assert "No evaluation at step 2: 'x' has the shape (4,), and a scalar" in str(
        run.status.message
    )


# --- reading ------------------------------------------------------------------------------


def test_the_extent_and_the_tags_are_those_of_the_folder(recorded: Run) -> None:
    assert recorded.media.extent == (8, 8)
    assert {(kind, tag, 1) for tag, kind in KINDS.items()} == {*recorded.media.tags()}
    later = RunMedia(recorded.logdir)
    later.tick()
    assert later.tags() == recorded.media.tags()


def test_what_there_is_not_is_refused(recorded: Run) -> None:
    with pytest.raises(ArgumentError, match="no 'images' under the tag 'none'"):
        recorded.media.history("images", "none")
    with pytest.raises(ArgumentError, match="no 'scalars' under the tag 'loss'"):
        recorded.media.history("scalars", "loss")
    with pytest.raises(ArgumentError, match="7 is none of the 1 values of 'said'"):
        recorded.media.value("text", "said", 7)


def test_images_of_a_monitored_graph_are_found_too() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        weights = v1.get_variable("weights", [4])
        step = v1.train.get_or_create_global_step()
        loss = tf.reduce_sum(weights**2)
        train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        v1.summary.image("picture", tf.zeros((1, 4, 4, 3)))
        run = nbtrain.tf1.monitor(train_op, scalars={"loss": loss}, steps=150)
        run.wait(SOON)
    run.media.tick(to_end=True)
    assert [tag for _, tag, _ in run.media.tags()] == ["picture/image/0"]


def test_a_folder_that_is_not_there_yet_has_none(tmp_path: Path) -> None:
    media = RunMedia(tmp_path / "later")
    media.tick()
    assert (media.extent, media.tags()) == ((0, 0), [])


def test_an_attached_run_has_its_pictures(recorded: Run) -> None:
    far = nbtrain.attach(recorded.logdir)
    assert isinstance(far, AttachedRun)
    with far:
        far.read(SOON)
        far.media.tick(to_end=True)
        assert far.media.tags() == recorded.media.tags()
        assert str(far.media.value("text", "said", 0)[0]) == "a *text*"


def test_a_fresh_start_shows_nothing_of_the_run_that_it_moved_aside(tmp_path: Path) -> None:
    def loop(run: Run) -> None:
        while not run.should_stop():
            run.record({f"said by {run.name}": "text"})

    first = nbtrain.background(steps=2, logdir=tmp_path, name="first")(loop).wait(SOON)
    second = nbtrain.background(steps=1, logdir=tmp_path, name="second", fresh=True)(loop)
    second.wait(SOON)
    second.media.tick(to_end=True)
    assert [tag for _, tag, _ in second.media.tags()] == ["said by second"]
    assert [tag for _, tag, _ in first.media.tags()] == ["said by first"]


def test_a_way_back_abandons_what_came_after_the_checkpoint() -> None:
    count = tf.Variable(0)

    @nbtrain.background(
        steps=6, checkpoint=tf.train.Checkpoint(count=count), save_steps=2, keep=None
    )
    def loop(run: Run) -> None:
        went_back = False
        while not run.should_stop():
            count.assign_add(1)
            run.record(said=f"{int(count)}, {'later' if went_back else 'before'}")
            if int(count) == 4 and not went_back:
                went_back = True
                run.restore(2)

    taken = steps(loop, "text", "said")
    history = loop.media.history("text", "said")
    counting = [str(history[at]) for at in np.flatnonzero(~history.abandoned)]
    assert counting == [
        "1, before",
        "2, before",
        "3, later",
        "4, later",
        "5, later",
        "6, later",
    ]
    assert len(taken) >= len(counting)
