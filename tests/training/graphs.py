"""Graphs and Keras models to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import keras

import nbtrain
from nbtrain.tfevents.graphs import Graph


def graph_in(folder: Path, tag: str, run: str = ".") -> Graph:
    graph = nbtrain.summaries(folder, "graphs")[run, tag][-1]
    assert isinstance(graph, Graph)
    return graph


def edges(graph: Graph) -> set[tuple[str, str]]:
    pairs = graph.edges[:, :2].tolist()
    return {(graph.nodes[source].name, graph.nodes[target].name) for source, target in pairs}


def shapes(graph: Graph) -> Mapping[str, str]:
    return {node.name: ", ".join(node.shapes()) for node in graph.nodes}


def write_keras(folder: Path, model: keras.Model) -> None:
    """Write a model as Keras's callback does."""
    callback = keras.callbacks.TensorBoard(str(folder), write_graph=True)
    callback.set_model(model)
    callback.on_train_begin()
    callback.on_train_end()


def siamese() -> keras.Model:
    """A model with two inputs, a shared model, an operation with a number, and two outputs."""
    shared = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(3)], name="shared")
    left, right = keras.Input((5,), name="left"), keras.Input((5,), name="right")
    both = keras.layers.Concatenate(name="both")([shared(left), shared(right)])
    shifted = both + 1.0
    out = keras.layers.Dense(2, name="out")(shifted)
    return keras.Model(
        [left, right], [out, keras.layers.Flatten(name="flat")(both)], name="siamese"
    )
