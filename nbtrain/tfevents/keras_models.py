"""Decodes the model that Keras's TensorBoard callback writes: JSON of Keras 2 or 3.

A model is a scope that contains its layers; a model within a model is a scope within a scope. Edges
lead to the first layers of an inner model, and from its last layers.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbtrain.tfevents.graphs import Attributes, Graph, GraphBuilder, Node, path_of

_CHARACTERS = 400  # of a value that is shown
_HIDDEN = {"name", "layers", "input_layers", "output_layers", "build_input_shape"}


@dataclass(frozen=True, slots=True)
class _Source:
    """An output of a layer that is the input of another layer.

    Attributes:
        layer: The layer's name.
        output: The number of the output, from 0.
        shape: The shape in words; "" if unknown.
    """

    layer: str
    output: int
    shape: str


@dataclass(frozen=True, slots=True)
class _Ends:
    """The nodes at which edges enter and leave a layer; in a model, its first and last layers."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def of_keras_model(text: bytes) -> Graph:
    """Decodes a model's JSON.

    Raises:
        ValueError: The text is not the JSON of a model.
    """
    try:
        model = json.loads(text)
        builder = GraphBuilder()
        match model:
            case {"config": dict() | list()}:
                _layer(builder, model, ())
            case _:
                raise ValueError("it is JSON, but of no Keras model")
    except RecursionError:
        raise ValueError("it is nested too deeply for a Keras model") from None
    return builder.graph()


def _layer(
    builder: GraphBuilder, layer: dict[str, Any], scope: tuple[str, ...], shape: str = ""
) -> _Ends:
    """Adds a layer, or all layers of a model; `shape` is the shape of the output."""
    layers, own = _layers(layer), path_of(_name(layer), scope)
    if layers is None:
        attributes, shapes = functools.partial(_attributes, layer), (shape or _input_shape(layer),)
        node = Node(own, _text(layer.get("class_name")), "", attributes, lambda: shapes)
        index = builder.node(node)
        return _Ends((index,), (index,))
    if not any(map(_calls, layers)):
        return _chain(builder, layers, own)
    calls = [_calls(each) for each in layers]
    shown = {source.layer: source.shape for each in calls for call in each for source in call}
    named: dict[str, _Ends] = {}
    for each in layers:
        ends = _layer(builder, each, own, shown.get(_name(each), ""))
        named.setdefault(_name(each), ends)
    for each, several in zip(layers, calls, strict=True):
        for call in several:
            sources = [index for source in call for index in _taken(named, source)]
            _join(builder, sources, named[_name(each)])
    config = _dict(layer.get("config"))
    first, last = (
        [source for source in _sources(config.get(key)) if source.layer in named]
        for key in ("input_layers", "output_layers")
    )
    return _Ends(
        tuple(index for source in first for index in named[source.layer].inputs),
        tuple(index for source in last for index in _taken(named, source)),
    )


def _chain(builder: GraphBuilder, layers: Sequence[dict[str, Any]], own: tuple[str, ...]) -> _Ends:
    """Adds the layers of a Sequential model."""
    if not layers:
        return _Ends((), ())
    after = [*(_built(layer) for layer in layers[1:]), ""]
    ends = [_layer(builder, layer, own, shape) for layer, shape in zip(layers, after, strict=True)]
    for before, end in itertools.pairwise(ends):
        _join(builder, before.outputs, end)
    return _Ends(ends[0].inputs, ends[-1].outputs)


def _taken(named: Mapping[str, _Ends], source: _Source) -> Sequence[int]:
    """Returns the node of a layer's output; empty if there is no such layer."""
    outputs = named[source.layer].outputs if source.layer in named else ()
    return outputs[source.output : source.output + 1] or outputs[:1]


def _join(builder: GraphBuilder, sources: Sequence[int], end: _Ends) -> None:
    """Adds edges into a layer: one into each input, or from all to all if the counts differ."""
    if len(sources) == len(end.inputs):
        pairs = list(zip(sources, end.inputs, strict=True))
    else:
        pairs = [(source, target) for source in sources for target in end.inputs]
    for source, target in pairs:
        builder.edge(source, target)


def _layers(layer: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the layers of a model; None for a layer. Keras 2.2 writes them as the `config`."""
    config = layer.get("config")
    layers = config if isinstance(config, list) else _dict(config).get("layers")
    return [each for each in layers if isinstance(each, dict)] if isinstance(layers, list) else None


def _calls(layer: Mapping[str, Any]) -> list[list[_Source]]:
    """Returns the sources of each call of a layer."""
    calls = layer.get("inbound_nodes")
    found = [list(_sources(call)) for call in calls] if isinstance(calls, list) else []
    return [each for each in found if each]


def _sources(value: Any) -> Iterator[_Source]:
    """Yields the outputs of layers to which any part of a value refers.

    Keras 3 writes `{"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}`,
    Keras 2 writes `[name, 0, 0]`. Both write the inputs and outputs of a model as `[name, 0, 0]`.
    """
    match value:
        case {"class_name": "__keras_tensor__", "config": {"keras_history": [str(name), *more]}}:
            output = more[-1] if more and type(more[-1]) is int else 0
            yield _Source(name, max(output, 0), _shape(value["config"].get("shape")))
        case dict():
            for each in value.values():
                yield from _sources(each)
        case [str(name), int(), int(output), *rest]:
            yield _Source(name, max(output, 0), "")
            yield from _sources(rest)
        case list():
            for each in value:
                yield from _sources(each)


def _name(layer: Mapping[str, Any]) -> str:
    name = layer.get("name") or _dict(layer.get("config")).get("name")
    return _text(name or layer.get("class_name"))


def _attributes(layer: Mapping[str, Any]) -> Attributes:
    config = _dict(layer.get("config"))
    found = [(_text(name), _plain(value)) for name, value in config.items() if name not in _HIDDEN]
    module = layer.get("module")
    return [*found, *([("module", _text(module))] if module else [])]


def _plain(value: Any) -> str:
    """Returns a value of a configuration in words; an object as its class or name."""
    match value:
        case {"class_name": "DTypePolicy", "config": {"name": str(text)}}:
            pass
        case {"class_name": str(kind), "config": dict(config)}:
            given = [f"{name}={_plain(each)}" for name, each in config.items() if each is not None]
            text = f"{kind}({', '.join(given)})"
        case str():
            text = value
        case _:
            text = json.dumps(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def _input_shape(layer: Mapping[str, Any]) -> str:
    config = _dict(layer.get("config"))
    return _shape(config.get("batch_shape") or config.get("batch_input_shape"))


def _built(layer: Mapping[str, Any]) -> str:
    return _shape(_dict(layer.get("build_config")).get("input_shape")) or _input_shape(layer)


def _shape(value: Any) -> str:
    """Returns a shape in words, `[?, 4]`; "" if the value is not a shape."""
    if not isinstance(value, list) or not all(each is None or type(each) is int for each in value):
        return ""
    return f"[{', '.join('?' if each is None else str(each) for each in value)}]"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
