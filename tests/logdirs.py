"""Logdirs that a board shows: curves, cards, and tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom
from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import summary as hparams_summary
from tensorboard.plugins.pr_curve import summary as pr

from nbtrain.media import Audio, Histogram, PRCurve
from nbtrain.media.encoding import encoded
from nbtrain.media.samples import Sample
from nbtrain.tfevents.writer import EventWriter

v1 = tf.compat.v1

TRIALS: list[dict[str, Any]] = [
    {"optimizer": "adam", "learning_rate": 0.001, "batch_size": 64, "dropout": 0.3},
    {"optimizer": "adam", "learning_rate": 0.01, "batch_size": 9, "dropout": 0.1},
    {"optimizer": "sgd", "learning_rate": 0.1, "batch_size": 128, "dropout": 0.3},
    {"optimizer": "sgd", "learning_rate": 0.02, "batch_size": 128, "dropout": 0.0},
]
ENDS = {0: api_pb2.STATUS_SUCCESS, 1: api_pb2.STATUS_FAILURE, 3: api_pb2.STATUS_RUNNING}
chart, category = layout_pb2.Chart, layout_pb2.Category
multiline, margin = layout_pb2.MultilineChartContent, layout_pb2.MarginChartContent


def clock(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """A second for each step."""
    return np.asarray(steps + 1.7e9, np.float64)


def write_curve(folder: Path, tag: str, values: npt.ArrayLike, start: int = 0) -> None:
    """Write a curve into a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    writer, array = EventWriter(folder), np.asarray(values, np.float64)
    steps = np.arange(start, start + len(array))
    writer.scalars(steps, clock(steps), {tag: array})
    writer.close()


def write_curves(logdir: Path) -> None:
    """Write two curves of three runs, and a short one that is not always finite."""
    noise, t = np.random.default_rng(1), np.arange(3000)
    for n, run in enumerate(["adam", "sgd", "rmsprop"]):
        falling = np.exp(-t / (400 + 300 * n))
        loss = falling + 0.05 * n + noise.normal(0, 0.03, 3000)
        write_curve(logdir / run, "train/loss", loss)
        write_curve(logdir / run, "validation/accuracy", 1 - falling)
    write_curve(logdir / "adam", "rate", [1.0, float("nan"), 0.5, 0.25])


def write_cards(logdir: Path, steps: range) -> None:
    """Write images, histograms, texts and sounds of two runs."""
    noise, time = np.random.default_rng(1), np.linspace(0, 1, 8000, dtype="f")[None, :, None]
    for n, run in enumerate(("adam", "sgd")):
        with tf.summary.create_file_writer(str(logdir / run)).as_default():
            for step in steps:
                grey = np.clip(noise.normal(0.1 + step / 40, 0.1 + n / 10, (3, 24, 24, 1)), 0, 1)
                tf.summary.image("samples/digits", grey, step=step)
                values = noise.normal(step / 20, 0.3 + n, 500)
                tf.summary.histogram("dense/kernel", values, step=step)
                tf.summary.text(
                    "notes/run", f"# Step {step}\n\n- **run** {n}\n- `lr` &rarr; &no;", step=step
                )
                tf.summary.audio("sounds/tone", np.sin(2000 * time), 8000, step=step)


def write_pr_curves(logdir: Path, steps: range) -> None:
    """Write precision-recall curves of two classes in two runs."""
    noise = np.random.default_rng(1)
    labels = noise.random(300) < 0.4
    for n, run in enumerate(("adam", "sgd")):
        with tf.summary.create_file_writer(str(logdir / run)).as_default():
            for step in steps:
                shift = labels * (0.2 + 0.1 * n + step / 40)
                scores = np.clip(shift + noise.normal(0.3, 0.2, 300), 0, 1)
                for tag in ("cat", "dog"):
                    found = pr.pb(tag, labels, scores, num_thresholds=51)
                    found.value[0].tag = tag
                    data = found.SerializeToString()
                    tf.summary.experimental.write_raw_pb(data, step=step)


def write_graph(folder: Path, *more: Any) -> None:
    """Write a graph of TensorFlow 1 with a function, and further nodes."""
    named = [
        ("layer/w", "VariableV2", ()),
        ("layer/mul", "MatMul", ("x", "layer/w")),
        ("layer/out", "Relu", ("layer/mul",)),
        ("x", "Placeholder", ()),
        ("call", "PartitionedCall", ("layer/out", "layer/out:1", "^layer/w")),
        ("loop", "Merge", ("loop", "back", "gone:2")),
        ("back", "NextIteration", ("loop",)),
    ]
    nodes = [v1.NodeDef(name=name, op=op, input=inputs) for name, op, inputs in named]
    nodes[0].device = "/job:ps/task:1"
    nodes[2].attr["_output_shapes"].list.shape.add().CopyFrom(tf.TensorShape([None, 3]).as_proto())
    nodes[4].attr["f"].func.name = "body"
    graph = v1.GraphDef(node=[*nodes, *more])
    function = graph.library.function.add()
    function.signature.name = "body"
    function.signature.input_arg.add(name="a", type=1)
    function.node_def.add(name="inner/twice", op="Add", input=["a", "a"])
    folder.mkdir(parents=True, exist_ok=True)
    event = v1.Event(wall_time=1.7e9, graph_def=graph.SerializeToString())
    with tf.io.TFRecordWriter(str(folder / "events.out.tfevents.2.graph")) as writer:
        writer.write(event.SerializeToString())


def write_media(folder: Path, steps: Iterable[int] = (1,)) -> None:
    """Write a value of each kind that a run records, at each step."""
    folder.mkdir(parents=True, exist_ok=True)
    noise, writer = np.random.default_rng(1), EventWriter(folder)
    for step in steps:
        chances = noise.uniform(size=100)
        for tag, value in {
            "samples": noise.uniform(size=(3, 8, 8, 1)),
            "notes": f"at step {step}",
            "kernel": Histogram(noise.normal(step / 10, 1, 200)),
            "tone": Audio(np.sin(np.arange(800)), 8000),
            "quality": PRCurve(chances > 0.5, np.clip(chances + noise.normal(0, 0.2, 100), 0, 1)),
        }.items():
            sample = Sample(tag, step, 1.7e9 + step, value)
            writer.summary(encoded(sample)[0], step, 1.7e9 + step)
    writer.close()


def write_trial(folder: Path, n: int) -> None:
    """Write the hyperparameters of a trial, its curves, and how it ended."""
    noise, steps = np.random.default_rng(n), np.arange(200)
    with tf.summary.create_file_writer(str(folder)).as_default():
        hp.hparams({**TRIALS[n], "layers": 2, "shuffle": True})
        if n in ENDS:
            end = hparams_summary.session_end_pb(ENDS[n])
            tf.summary.experimental.write_raw_pb(end.SerializeToString(), step=0)
    loss = np.exp(-steps * 0.01 * (n + 1)) + noise.normal(0, 0.01, 200)
    bounds = {"loss_low": loss - 0.1, "loss_high": loss + 0.1 + 0.2 / (1 + steps)}
    writer = EventWriter(folder)
    writer.scalars(steps, clock(steps), {"loss": loss, "validation/accuracy": 1 - loss * 0.8})
    writer.scalars(steps, clock(steps), bounds)
    writer.close()


def write_layout(logdir: Path, *categories: Any) -> None:
    """Write a layout of Custom Scalars."""
    layout = custom.pb(layout_pb2.Layout(category=categories))
    with tf.summary.create_file_writer(str(logdir)).as_default():
        tf.summary.experimental.write_raw_pb(layout.SerializeToString(), step=0)


def write_tables(logdir: Path) -> None:
    """Write four trials, and a layout of their curves in which something is wrong."""
    for n in range(len(TRIALS)):
        write_trial(logdir / f"trial-{n}", n)
    bounds = margin.Series(value="loss", lower="loss_low", upper="loss_high")
    lacking = margin.Series(value="loss", lower="no", upper="loss_high")
    charts = [
        chart(title="losses", multiline=multiline(tag=[r"loss.*"])),
        chart(title="loss with its bounds", margin=margin(series=[bounds])),
    ]
    wrong = [
        chart(title="wrong", multiline=multiline(tag=["(", "nothing.*", "loss$"])),
        chart(title="lacking", margin=margin(series=[lacking])),
    ]
    write_layout(
        logdir, category(title="training", chart=charts), category(title="odd ones", chart=wrong)
    )
