"""Decodes graphs from TensorFlow's messages: GraphDef, MetaGraphDef and RunMetadata."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nbtrain.tfevents.graphs import FUNCTIONS, Attributes, Graph, GraphBuilder, Node, path_of
from nbtrain.tfevents.messages import array_of

if TYPE_CHECKING:
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

_SHAPES = "_output_shapes"  # written by add_shapes=True
# Most elements of a list and of a tensor, and characters of a value, that are shown.
_LISTED, _ELEMENTS, CHARACTERS = 16, 16, 400


def of_graph_def(data: bytes) -> Graph:
    """Decodes a serialized GraphDef.

    Raises:
        ValueError: The data is not a GraphDef, or has too many nodes.
    """
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    return _joined([_parsed(GraphDef, data)])


def of_meta_graph_def(data: bytes) -> Graph:
    """Decodes the graph in a serialized MetaGraphDef.

    Raises:
        ValueError: The data is not a MetaGraphDef, or has too many nodes.
    """
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    return _joined([_parsed(MetaGraphDef, data).graph_def])


def of_run_metadata(data: bytes) -> Graph:
    """Decodes the graphs of a trace: each function as it was before optimization.

    Raises:
        ValueError: The data is not a RunMetadata, contains no graph, or has too many nodes.
    """
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    trace = _parsed(RunMetadata, data)
    graphs = [each.pre_optimization_graph for each in trace.function_graphs]
    graphs = graphs or list(trace.partition_graphs)
    if not any(graph.node for graph in graphs):
        raise ValueError("the trace holds no graph: a function is traced at its first call only")
    return _joined(graphs)


def _parsed(kind: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError as error:
        words = f"{len(data):,} bytes that are no {kind.__name__}: {error}"
        raise ValueError(words) from error


def _joined(graphs: Sequence[GraphDef]) -> Graph:
    """Joins graphs into one; if there are several, in the scopes `graph_1`, `graph_2`, ..."""
    builder = GraphBuilder()
    for number, graph in enumerate(graphs, 1):
        scope = (f"graph_{number}",) if len(graphs) > 1 else ()
        builder.inputs(_nodes(builder, graph.node, scope))
        for function in graph.library.function:
            builder.inputs(_function(builder, function, (*scope, FUNCTIONS)))
    return builder.graph()


def _nodes(
    builder: GraphBuilder, nodes: Sequence[NodeDef], scope: tuple[str, ...]
) -> Iterator[tuple[str, int, Sequence[str]]]:
    for node in nodes:
        attributes = functools.partial(_attributes, node)
        shapes = functools.partial(_shapes, node)
        made = Node(path_of(node.name, scope), node.op, node.device, attributes, shapes)
        yield node.name, builder.node(made), node.input


def _function(
    builder: GraphBuilder, function: Any, scope: tuple[str, ...]
) -> Iterator[tuple[str, int, Sequence[str]]]:
    """Yields a function's arguments, nodes and results."""
    signature = function.signature
    own = (*scope, signature.name or "(unnamed)")
    for argument in signature.input_arg:
        yield argument.name, _argument(builder, argument, own, "_Arg"), ()
    yield from _nodes(builder, function.node_def, own)
    for result in signature.output_arg:
        source = function.ret.get(result.name, "")
        inputs = [source] if source else []
        yield f"^{result.name}", _argument(builder, result, own, "_Retval"), inputs  # not an input


def _argument(builder: GraphBuilder, argument: Any, scope: tuple[str, ...], op: str) -> int:
    typed: Attributes = [("T", type_name(argument.type))] if argument.type else []
    return builder.node(Node(path_of(argument.name, scope), op, "", lambda: typed, lambda: ()))


def _shapes(node: NodeDef) -> Sequence[str]:
    if _SHAPES not in node.attr:  # reading a missing attribute would add it
        return ()
    return [shape_text(shape) for shape in node.attr[_SHAPES].list.shape]


def _attributes(node: NodeDef) -> Attributes:
    return [
        (name, _attribute_text(node.attr[name])) for name in sorted(node.attr) if name != _SHAPES
    ]


def _attribute_text(value: AttrValue) -> str:
    """Returns the value of an attribute in words."""
    kind = value.WhichOneof("value")
    if kind == "list":
        listed = [
            _element(field.name, element)
            for field, elements in value.list.ListFields()
            for element in elements[:_LISTED]
        ]
        more = sum(len(elements) for _, elements in value.list.ListFields()) - len(listed)
        return f"[{', '.join(listed)}{f', and {more} more' if more else ''}]"
    return "" if kind is None else _element(kind, getattr(value, kind))


def _element(kind: str, value: Any) -> str:
    match kind:
        case "s":
            text = value[:CHARACTERS].decode(errors="backslashreplace")
        case "type":
            text = type_name(value)
        case "shape":
            text = shape_text(value)
        case "tensor":
            text = _tensor(value)
        case "func":
            text = value.name
        case _:
            text = str(value)
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"


def _tensor(tensor: Any) -> str:
    shape = f"{type_name(tensor.dtype)} {shape_text(tensor.tensor_shape)}"
    try:
        array = array_of(tensor)
    except ValueError:
        return shape
    return f"{shape}: {array.tolist()}" if array.size <= _ELEMENTS else shape


def type_name(number: int) -> str:
    """Returns the name of a type: `float`, `int32`."""
    from tensorboard.compat.proto.types_pb2 import DataType

    try:
        return str(DataType.Name(number)).removeprefix("DT_").lower()
    except ValueError:
        return f"type {number}"


def shape_text(shape: Any) -> str:
    """Returns a shape in words: `[?, 4]`; `[...]` for a shape of unknown rank."""
    if shape.unknown_rank:
        return "[...]"
    return f"[{', '.join('?' if dim.size < 0 else str(dim.size) for dim in shape.dim)}]"
