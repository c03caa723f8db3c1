"""The graph of a run's model in its event file: written once, or with words why there is none."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def

import nbtrain
from nbtrain.engines import keras_layers as layers
from nbtrain.keras.fit import FitRun
from nbtrain.logdir import run_media
from nbtrain.run import model_graph
from nbtrain.tfevents.graphs import FUNCTIONS
from tests.fitted import COLUMNS, KINDS, Back, X, Y, classifier, started
from tests.gate import SOON
from tests.supervised import Counting
from tests.training.graphs import edges, graph_in, shapes, siamese, write_keras

v1 = tf.compat.v1

# An older Keras makes a tuple of a list of inputs, and warns of it.
pytestmark = pytest.mark.filterwarnings("ignore:The structure of `inputs` doesn't match")


def zeros_of(tensors: Any) -> Any:
    found = [np.zeros((4, *each.shape[1:])) for each in tensors]
    return found if len(found) > 1 else found[0]


def fitted(model: keras.Model, name: str = "run", **given: Any) -> FitRun:
    """A run of one batch of zeros, or more, that has ended."""
    x: Any = X[:4]
    y: Any = np.zeros((4, 2))
    if model.built:
        x, y = zeros_of(model.inputs), zeros_of(model.outputs)
    model.compile(given.pop("optimizer", "sgd"), given.pop("loss", "mse"))
    run = nbtrain.fit(model, x, y, name=name, **given)
    run.wait(SOON)
    return run


def all_graphs(name: str = "run", tag: str = "keras") -> Any:
    return nbtrain.summaries(f"runs/{name}", "graphs")[".", tag]


def with_layers(*layers: Any) -> keras.Model:
    """A functional model, whose layers are an input, these, and an output."""
    inputs = x = keras.Input((3,), name="x")
    for layer in layers:
        x = layer(x)
    return keras.Model(inputs, keras.layers.Dense(2, name="out")(x), name="m")


def small() -> keras.Model:
    """A model of one layer, with names of its own."""
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])


class Applied(keras.layers.Layer):
    """A layer that Keras cannot save: it has no configuration."""

    def __init__(self, name: str, function: Any) -> None:
        super().__init__(name=name)
        self.function = function

    def call(self, x: Any) -> Any:
        return self.function(x)


def test_a_fit_writes_the_graph_that_keras_writes(tmp_path: Path) -> None:
    model = siamese()
    fitted(model)
    write_keras(tmp_path, model)
    ours, theirs = graph_in(Path("runs/run"), "keras"), graph_in(tmp_path, "keras", "train")
    assert [(node.name, node.op) for node in ours.nodes] == [
        (node.name, node.op) for node in theirs.nodes
    ]
    assert edges(ours) == edges(theirs)
    assert shapes(ours) == shapes(theirs)
    for our, their in zip(ours.nodes, theirs.nodes, strict=True):
        assert our.attributes() == their.attributes()


def test_tensorboard_draws_the_graph_of_a_fit() -> None:
    fitted(siamese())
    (path,) = Path("runs/run").glob("*.nbtrain")
    events = v1.train.summary_iterator(str(path))
    values = [value for event in events for value in event.summary.value]
    (value,) = (each for each in values if each.tag == "keras")
    assert value.metadata.plugin_data.plugin_name == "graph_keras_model"
    drawn = keras_model_to_graph_def(json.loads(value.tensor.string_val[0]))
    inputs = {node.name: list(node.input) for node in drawn.node}
    (added,) = inputs["siamese/out"]
    assert inputs[added] == ["siamese/both"]


def test_a_model_that_its_first_batch_builds_is_written_with_its_shapes() -> None:
    fitted(keras.Sequential([keras.layers.Dense(4, name="a"), keras.layers.Dense(2, name="b")]))
    graph = graph_in(Path("runs/run"), "keras")
    assert [node.path[-1] for node in graph.nodes][1:] == ["a", "b"]
    assert [*shapes(graph).values()][:2] == [f"[4, {COLUMNS}]", "[4, 4]"]


def test_a_layer_that_cannot_be_read_is_a_node_that_says_why() -> None:
    array = keras.initializers.Constant(np.ones(2000))
    own = {
        "a": (
            keras.layers.Dense(2, activation=lambda x: x * 2, name="a"),
            "it holds a lambda, which Keras would warn of",
        ),
        "b": (Applied("b", keras.ops.tanh), "NotImplementedError: Object Applied was created by"),
        "c": (
            keras.layers.Dense(2000, bias_initializer=array, name="c"),
            "it may hold an array of 2,000 elements",
        ),
        "d": (
            Wrapped("d", keras.Sequential([keras.Input((2000,)), keras.layers.Dense(2)])),
            "it holds a model",
        ),
    }
    run = fitted(with_layers(*(layer for layer, _ in own.values())))
    graph = graph_in(Path("runs/run"), "keras")
    names = ["m/x", *(f"m/{name}" for name in own), "m/out"]
    assert edges(graph) == {*itertools.pairwise(names)}
    for node, (_, why) in zip(graph.nodes[1:], own.values(), strict=False):
        assert dict(node.attributes())["configuration"].startswith(f"left out: {why}")
    assert run.status.message is None


class Wrapped(keras.layers.Wrapper):
    """A layer around a model."""

    def __init__(self, name: str, layer: Any) -> None:
        super().__init__(layer, name=name)

    def call(self, x: Any) -> Any:
        return self.layer(x)


class Halved(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule that Keras cannot save."""

    def __call__(self, step: Any) -> Any:
        return 0.5


def test_neither_loss_nor_optimizer_matter_and_a_lambda_gives_no_warning() -> None:
    layer = keras.layers.Lambda(lambda x: x * 2, name="own")
    rate, loss = keras.optimizers.SGD(Halved()), lambda y, out: keras.ops.mean((y - out) ** 2)
    run = fitted(with_layers(layer), optimizer=rate, loss=loss)
    assert [node.op for node in graph_in(Path("runs/run"), "keras").nodes][1] == "Lambda"
    assert (run.status.message, run.status.notice) == (None, None)


def test_a_folder_has_a_graph_once_however_often_the_run_starts() -> None:
    model = small()
    fitted(model)
    run = fitted(model, epochs=2)
    assert len(all_graphs()) == 1
    run.branch(1, "branch").wait(SOON)
    assert len(all_graphs("branch")) == 1
    fitted(small(), epochs=3)  # its layers have other names
    assert len(all_graphs()) == 2
    fitted(model, fresh=True)
    assert len(all_graphs()) == 1


def test_a_folder_that_takes_long_to_read_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted(small())
    other = small()  # its layers have other names
    with monkeypatch.context() as patch:
        patch.setattr(run_media, "READ_SECS", 0.0)
        patch.setattr(model_graph, "LAST_SECS", 0.0)
        fitted(other, epochs=2)
    assert len(all_graphs()) == 1
    fitted(other, epochs=3)
    assert len(all_graphs()) == 2


def test_going_back_writes_no_other_graph() -> None:
    back = Back(2, 4)
    run = started(classifier(), "run", back, epochs=1, **KINDS["arrays"]())
    run.wait(SOON)
    assert all(receipt.outcome.applied for receipt in back.receipts)
    assert len(all_graphs()) == 1


def step_of(model: keras.Model) -> Any:
    return lambda: {"loss": tf.reduce_mean(model(X[:4]))}


def dense_model(name: str) -> keras.Model:
    return keras.Sequential([keras.layers.Dense(2, name=f"{name}_layer")], name=name)


def test_a_step_writes_the_graph_of_the_model_in_its_checkpoint() -> None:
    model = dense_model("m")
    held = tf.train.Checkpoint(model=model, sum=tf.Variable(0.0))
    nbtrain.train(step_of(model), steps=3, checkpoint=held, name="run").wait(SOON)
    graph = graph_in(Path("runs/run"), "keras")
    assert [node.op for node in graph.nodes] == ["InputLayer", "Dense"]
    assert graph.nodes[-1].name == "m/m_layer"


def test_a_loop_writes_the_graph_of_each_model_in_its_checkpoint() -> None:
    one, two, own = dense_model("one"), dense_model("two"), Subclassed()
    run = nbtrain.track(range(3), checkpoint=tf.train.Checkpoint(G=one, D=two, S=own), name="run")
    for _ in run:
        run.record(step_of(one)() | step_of(two)())
    assert [tag for _, tag in nbtrain.summaries("runs", "graphs")] == ["keras/D", "keras/G"]
    names = [node.name for node in graph_in(Path("runs/run"), "keras/G").nodes]
    assert names[-1] == "one/one_layer"
    assert run.status.notice is None


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_fit_under_a_run_callback_writes_the_graph_of_its_model_once(*, is_saved: bool) -> None:
    model = classifier()

    def loop(run: nbtrain.Run) -> None:
        for _ in range(2):
            model.fit(X, Y, verbose=0, callbacks=[nbtrain.RunCallback(run)])

    held = tf.train.Checkpoint(model=model) if is_saved else None
    nbtrain.background(loop, checkpoint=held, name="run").wait(SOON)
    (graph,) = all_graphs()
    assert [node.op for node in graph.nodes] == ["InputLayer", "Dense", "Dropout", "Dense"]


class Subclassed(keras.Model):
    """A model of its own class."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.dense(x)


def test_a_model_of_unknown_connections_trains_without_a_graph_and_says_so() -> None:
    run = fitted(Subclassed())
    assert run.status.step == 1
    assert run.status.message is None
    assert run.status.notice == (
        "The boards show no graph of this model: Subclassed is neither a Sequential nor a "
        "functional model, and Keras does not know how the layers of others are connected."
    )
    assert [*nbtrain.summaries("runs", "graphs")] == []


def test_a_model_of_too_many_layers_trains_without_a_graph_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "MOST_LAYERS", 2)
    run = fitted(with_layers(keras.layers.Dense(2)))
    assert run.status.notice is not None
    assert "it has 4 layers, and at most 2 are described" in run.status.notice
    assert [*nbtrain.summaries("runs", "graphs")] == []


def test_any_error_of_a_description_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_LAYERS", "few")
    run = fitted(small())
    assert run.status.error is None
    assert "The boards show no graph of this model: TypeError: '>' not" in str(run.status.notice)


def test_a_fit_that_fails_has_its_graph() -> None:
    model = with_layers(keras.layers.Dense(2))
    model.compile("sgd", "mse")
    run = nbtrain.fit(model, X[:4], Y[:4], name="run")
    with pytest.raises(ValueError, match="x"):
        run.wait(SOON)
    assert len(all_graphs().steps) == 1


@pytest.mark.parametrize("start", [nbtrain.tf1.supervise, nbtrain.tf1.monitor])
def test_a_session_of_tensorflow_1_writes_its_graph_once(start: Any) -> None:
    count = Counting()
    start(count.train_op, scalars={"loss": count.loss}, steps=2, name="run").wait(SOON)
    start(count.train_op, scalars={"loss": count.loss}, steps=4, name="run").wait(SOON)
    (graph,) = all_graphs("run", "graph")
    names = {node.name for node in graph.nodes if node.path[0] != FUNCTIONS}
    assert names == {operation.name for operation in count.graph.get_operations()}


def test_a_graph_of_large_constants_trains_without_being_written_and_says_so() -> None:
    with tf.Graph().as_default():
        v1.get_variable("x", initializer=np.zeros((5000, 1000), np.float32))
        step = v1.train.get_or_create_global_step()
        train_op = v1.assign_add(step, 1)
    run = nbtrain.tf1.supervise(train_op, steps=2, name="run").wait(SOON)
    assert run.status.notice is not None
    assert re.search(
        r"its constants have 20,000,\d+ bytes, and at most 16,777,216", run.status.notice
    )
    assert [*nbtrain.summaries("runs", "graphs")] == []
