"""Graphs in event files: what TensorFlow and Keras write, and what a page is told of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.logdir import graphs
from nbtrain.logdir.hierarchy import CHILDREN, Hierarchy
from nbtrain.panel.board import graph_requests
from nbtrain.tfevents.graphs import Graph
from tests.event_files import NAME, simple, start, written
from tests.other_events import event, tensor2
from tests.training.boards import ShownBoard, board_of
from tests.training.graphs import edges, graph_in, shapes, siamese, write_keras

v1 = tf.compat.v1
Message = dict[str, Any]


def summary_of(name: str, data: Any, plugin: str = "graph_keras_model") -> Any:
    return event(0, tensor2(name, plugin, data))


def graph_event(graph_def: Any, kind: str = "graph_def", wall_time: float = 1.7e9) -> Any:
    message = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    return v1.Event(wall_time=wall_time, **{kind: message})


def node_def(name: str, op: str = "NoOp", *inputs: str) -> Any:
    return v1.NodeDef(name=name, op=op, input=inputs)


def graph_def(*nodes: Any) -> Any:
    return v1.GraphDef(node=nodes)


# --- TensorFlow 1 -----------------------------------------------------------------


def write_v1(folder: Path) -> Any:
    """Write a graph of TensorFlow 1 as its FileWriter does; returns its GraphDef."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        with tf.name_scope("layer"), tf.device("/CPU:0"):
            weights = v1.get_variable("w", [4, 3], use_resource=False)
            out = tf.nn.relu(tf.matmul(x, weights), name="out")
        loss = tf.reduce_mean(out, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.summary.FileWriter(str(folder), graph) as writer:
            writer.add_meta_graph(v1.train.export_meta_graph(graph=graph))
        return graph.as_graph_def()


def test_a_graph_of_tensorflow_1_is_read_as_it_was_written(tmp_path: Path) -> None:
    definition = write_v1(tmp_path)
    assert list(nbtrain.summaries(tmp_path, "graphs")) == [(".", "graph")]
    graph = graph_in(tmp_path, "graph")
    assert [node.name for node in graph.nodes] == [node.name for node in definition.node]
    assert [node.op for node in graph.nodes] == [node.op for node in definition.node]
    inputs = {
        (each.removeprefix("^").split(":")[0], node.name)
        for node in definition.node
        for each in node.input
    }
    assert edges(graph) == inputs
    assert graph.missing == ()
    controls = sum(each.startswith("^") for node in definition.node for each in node.input)
    assert graph.edges[:, 3].sum() == controls > 0
    assert shapes(graph)["layer/out"] == "[?, 3]"
    out = next(node for node in graph.nodes if node.name == "layer/out")
    assert out.device.endswith("CPU:0")
    assert dict(out.attributes()) == {"T": "float"}


def test_a_meta_graph_is_shown_where_there_is_no_graph(tmp_path: Path) -> None:
    meta = v1.MetaGraphDef(graph_def=graph_def(node_def("a"), node_def("b", "NoOp", "a")))
    written(tmp_path / NAME, [graph_event(meta, "meta_graph_def")])
    assert list(nbtrain.summaries(tmp_path, "graphs")) == [(".", "meta_graph")]
    assert edges(graph_in(tmp_path, "meta_graph")) == {("a", "b")}


def test_the_newest_graph_is_shown_and_no_restart_abandons_one(tmp_path: Path) -> None:
    first, second = graph_def(node_def("a")), graph_def(node_def("b"), node_def("c"))
    events = [graph_event(first, wall_time=1.0), graph_event(second, wall_time=2.0)]
    written(tmp_path / "run" / NAME, [*events, start(0, 3.0), simple("loss", 0, 1.0, 4.0)])
    seen = asked(board_of(tmp_path), tag="graph", run="run")
    assert [item["label"] for item in seen["items"]] == ["b", "c"]


def test_attributes_are_told_in_words(tmp_path: Path) -> None:
    node = node_def("x", "Const")
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1.5, 2.5]))
    node.attr["large"].tensor.CopyFrom(tf.make_tensor_proto(np.zeros((9, 9))))
    node.attr["dtype"].type = 1
    node.attr["odd"].type = 999
    node.attr["shape"].shape.CopyFrom(tf.TensorShape([None, 3]).as_proto())
    node.attr["unknown"].shape.unknown_rank = True
    node.attr["text"].s = b"a\xff" + b"x" * 1000
    node.attr["numbers"].list.i.extend(range(20))
    node.attr["f"].func.name = "body"
    node.attr["none"].Clear()
    written(tmp_path / NAME, [graph_event(graph_def(node))])
    told = dict(graph_in(tmp_path, "graph").nodes[0].attributes())
    assert told.pop("text").startswith(r"a\xffxxx")
    assert told == {
        "value": "float [2]: [1.5, 2.5]",
        "large": "double [9, 9]",
        "dtype": "float",
        "odd": "type 999",
        "shape": "[?, 3]",
        "unknown": "[...]",
        "numbers": f"[{', '.join(map(str, range(16)))}, and 4 more]",
        "f": "body",
        "none": "",
    }


# --- TensorFlow 2 -----------------------------------------------------------------


@tf.function
def looped(x: Any) -> Any:
    with tf.name_scope("start"):
        y = tf.matmul(x, x)
    for _ in tf.range(3):
        y = y + 1.0
    return tf.reduce_sum(y)


def test_a_function_is_a_graph_and_its_library_a_scope_of_functions(tmp_path: Path) -> None:
    x = tf.zeros((2, 2))
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.graph(looped.get_concrete_function(x).graph)
        tf.summary.trace_on(graph=True, profiler=False)
        looped(x)
        tf.summary.trace_export("trace", step=7)
    for tag in ("graph", "trace"):
        graph = graph_in(tmp_path, tag)
        assert graph.missing == ()
        # Eager TensorFlow may have traced a graph of its own: then each is in a scope.
        library = "graph_1/(functions)/" if graph.nodes[0].path[0] == "graph_1" else "(functions)/"
        names = {node.name.removeprefix(library) for node in graph.nodes if library in node.name}
        functions = {name.split("/")[0] for name in names}
        assert sorted(name.split("_")[1] for name in functions) == ["body", "cond"]
        assert {node.op for node in graph.nodes} >= {"MatMul", "StatelessWhile", "_Arg", "_Retval"}
        for function in functions:
            own = f"{library}{function}/"
            crossing = [pair for pair in edges(graph) if sum(own in name for name in pair) == 1]
            assert crossing == []
            assert any(own in source for source, _ in edges(graph))
    board = board_of(tmp_path)
    found = board.hear(t="find", id=1, run=".", tag="graph", text="while")[0]["found"]
    loop = next(each for each in found if each["name"] == "while" and each["scopes"] != [])
    told = detail(board, loop["number"], tag="graph")
    assert {each["name"].split("_")[1] for each in told["calls"]} == {"body", "cond"}


def test_a_trace_without_a_graph_says_so(tmp_path: Path) -> None:
    empty = summary_of("trace", b"", "graph_run_metadata_graph")
    written(tmp_path / NAME, [empty])
    with pytest.raises(ArgumentError, match="'trace' has not the form of graphs: the trace holds"):
        graph_in(tmp_path, "trace")


def test_the_graphs_of_several_functions_are_scopes(tmp_path: Path) -> None:
    from tensorboard.compat.proto import config_pb2

    trace = config_pb2.RunMetadata()
    for name in ("a", "b"):
        graph = trace.function_graphs.add().pre_optimization_graph
        graph.node.add(name=name, op="NoOp")
    written(
        tmp_path / NAME,
        [summary_of("trace", trace.SerializeToString(), "graph_run_metadata_graph")],
    )
    names = [node.name for node in graph_in(tmp_path, "trace").nodes]
    assert names == ["graph_1/a", "graph_2/b"]


# --- Keras ------------------------------------------------------------------------


def test_a_model_as_keras_writes_it_is_a_scope_of_its_layers(tmp_path: Path) -> None:
    write_keras(tmp_path, siamese())
    graph = graph_in(tmp_path, "keras", "train")
    inner = [node.name for node in graph.nodes if "/shared/" in node.name]
    first, last = inner[0], inner[-1]
    assert len(inner) == 3  # with an input layer of its own
    assert edges(graph) == {
        ("siamese/left", first),
        ("siamese/right", first),
        (inner[0], inner[1]),
        (inner[1], inner[2]),
        (last, "siamese/both"),
        ("siamese/both", "siamese/add"),
        ("siamese/add", "siamese/out"),
        ("siamese/both", "siamese/flat"),
    }
    told = {node.path[-1]: node for node in graph.nodes}
    assert (told["out"].op, told["add"].op) == ("Dense", "Add")
    assert dict(told["out"].attributes())["units"] == "2"
    assert dict(told["out"].attributes())["kernel_initializer"] == "GlorotUniform()"
    assert shapes(graph)["siamese/both"] == "[?, 6]"
    assert shapes(graph)["siamese/left"] == "[?, 5]"


def test_a_fit_of_keras_writes_a_sequential_model_that_is_read(tmp_path: Path) -> None:
    layers = keras.layers
    inner = keras.Sequential([layers.Input((4,)), layers.Dense(3), layers.Dense(2)], name="inner")
    model = keras.Sequential([layers.Input((4,)), layers.Dense(4, name="in"), inner], name="outer")
    model.compile("sgd", "mse")
    callback = keras.callbacks.TensorBoard(str(tmp_path), write_graph=True)
    model.fit(np.zeros((4, 4)), np.zeros((4, 2)), verbose=0, callbacks=[callback])
    graph = graph_in(tmp_path, "keras", "train")
    names = [node.name for node in graph.nodes]
    assert len(names) == 5
    assert names[1] == "outer/in"
    assert all(name.startswith("outer/inner/") for name in names[2:])
    assert edges(graph) == set(itertools.pairwise(names))
    assert shapes(graph)["outer/in"] == "[?, 4]"


def layer2(kind: str, name: str, *inbound: Any) -> Message:
    """A layer as Keras 2 writes it."""
    return {"class_name": kind, "name": name, "config": {"name": name}, "inbound_nodes": [*inbound]}


def test_a_model_of_keras_2_is_read(tmp_path: Path) -> None:
    inner = layer2("Functional", "inner", [["x", 0, 0, {}]])
    inner["config"] |= {
        "layers": [layer2("InputLayer", "i"), layer2("Dense", "d", [["i", 0, 0, {}]])],
        "input_layers": [["i", 0, 0]],
        "output_layers": [["d", 0, 0]],
    }
    start_layer = layer2("InputLayer", "x")
    start_layer["config"]["batch_input_shape"] = [None, 7]
    added = layer2("TFOpLambda", "plus", ["inner", 1, 0, {"y": ["x", 0, 0], "name": None}])
    model = {
        "class_name": "Functional",
        "config": {
            "name": "m",
            "layers": [start_layer, inner, added],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["plus", 0, 0]],
        },
        "keras_version": "2.15.0",
    }
    written(tmp_path / NAME, [summary_of("keras", json.dumps(model).encode())])
    graph = graph_in(tmp_path, "keras")
    assert edges(graph) == {
        ("m/x", "m/inner/i"),
        ("m/inner/i", "m/inner/d"),
        ("m/inner/d", "m/plus"),
        ("m/x", "m/plus"),
    }
    assert shapes(graph)["m/x"] == "[?, 7]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no GraphDef|holds no graph"),
        ("{", "Expecting property name"),
        ("{}", "of no Keras model"),
        ('{"config": 3}', "of no Keras model"),
        ('{"config": {"layers": ' + "[" * 100_000, "nested too deeply|Expecting|maximum"),
        ('{"config": ' * 5000 + "1" + "}" * 5000, "nested too deeply|of no Keras model"),
    ],
)
def test_json_that_is_no_model_is_refused_in_words(tmp_path: Path, text: str, why: str) -> None:
    written(tmp_path / NAME, [summary_of("keras", text.encode())])
    with pytest.raises(ArgumentError, match=why):
        graph_in(tmp_path, "keras")


@pytest.mark.parametrize(
    "model",
    [
        {"config": {}},
        {"config": []},
        {"config": {"layers": [3, None, {}, {"config": 1}, {"name": ["x"]}]}},
        {"config": {"layers": [layer2("Dense", "a", [["gone", 0, 0]], 3, None, {"args": 1})]}},
        {"config": {"layers": [layer2("A", "a", [["a", 0, 0]]), layer2("A", "a", [["a", -9, 9]])]}},
        {"class_name": {"a": 1}, "config": {"name": 5, "dtype": {"class_name": 3}}},
        {"config": {"layers": [layer2("A", "a", [["b", 0, 0]]), layer2("B", "b", [["a", 0, 0]])]}},
        {"config": {"layers": [], "input_layers": "x", "output_layers": 7}},
    ],
)
def test_odd_models_are_shown_as_far_as_they_go(tmp_path: Path, model: Any) -> None:
    written(tmp_path / NAME, [summary_of("keras", json.dumps(model).encode())])
    graph = graph_in(tmp_path, "keras")
    assert all(isinstance(text, str) for node in graph.nodes for _, text in node.attributes())
    assert asked(board_of(tmp_path))["t"] == "graph"


# --- what a page is told ----------------------------------------------------------


def asked(board: ShownBoard, tag: str = "keras", run: str = ".", **more: Any) -> Message:
    question = {"t": "graph", "id": 1, "run": run, "tag": tag, "of": None, "open": None}
    content, buffers = board.hear(**question | {"focus": None, "known": None} | more)
    assert list(buffers) == []
    return content


def detail(board: ShownBoard, number: int, tag: str = "graph", run: str = ".") -> Message:
    of = asked(board, tag, run)["of"]
    return board.hear(t="node", id=1, run=run, tag=tag, of=of, number=number)[0]


def board_with(folder: Path, *nodes: Any) -> ShownBoard:
    written(folder / NAME, [graph_event(graph_def(*nodes))])
    return board_of(folder)


def test_there_is_a_tab_of_graphs_where_there_are_some(tmp_path: Path) -> None:
    content, _ = board_with(tmp_path, node_def("a")).hear(t="hello")
    assert content["tabs"] == ["scalars", "graphs"]
    assert content["kinds"]["graphs"] == {"tags": ["graph"], "sets": [[0]], "of": [0]}


def test_a_model_begins_open_and_a_page_that_has_it_is_told_the_same(tmp_path: Path) -> None:
    write_keras(tmp_path, siamese())
    board = board_of(tmp_path)
    first = asked(board, run="train")
    (model,) = first["open"]
    assert [item["label"] for item in first["items"]][:3] == ["siamese", "left", "right"]
    shared = next(item for item in first["items"] if item["label"] == "shared")
    assert (shared["kind"], shared["count"], shared["open"]) == ("scope", 3, False)
    assert asked(board, run="train", known=first["known"]) == {"t": "same", "id": 1}
    opened = asked(board, run="train", of=first["of"], open=[model, shared["number"]])
    assert opened["open"] == [model, shared["number"]]
    assert len(opened["items"]) == len(first["items"]) + 3
    edge = next(each for each in first["edges"] if each["target"] == shared["number"])
    assert (edge["count"], edge["shape"]) == (1, "[?, 5]")


def test_numbers_of_a_graph_that_was_written_again_mean_nothing(tmp_path: Path) -> None:
    events = [graph_event(graph_def(node_def("s/a"), node_def("s/b"), node_def("c")))]
    written(tmp_path / NAME, events)
    scalars = nbtrain.scalars(tmp_path)
    board = ShownBoard(scalars)
    old = asked(board, "graph", open=[1])
    written(tmp_path / f"{NAME}.2", [graph_event(graph_def(node_def("x")), wall_time=1.8e9)])
    scalars.refresh()
    new = asked(board, "graph", of=old["of"], open=[1], known=old["known"])
    assert [item["label"] for item in new["items"]] == ["x"]
    assert new["of"] != old["of"]
    stale = board.hear(t="node", id=1, run=".", tag="graph", of=old["of"], number=1)[0]
    assert stale["t"] == "refused"
    assert "written again" in stale["text"]


def test_a_node_tells_its_operation_neighbours_and_attributes(tmp_path: Path) -> None:
    write_v1(tmp_path)
    board = board_of(tmp_path)
    found = board.hear(t="find", id=1, run=".", tag="graph", text="LAYER/matmul")[0]
    assert not found["more"]
    (name,) = (each for each in found["found"] if each["name"] == "layer/MatMul")
    told = detail(board, name["number"])
    assert (told["name"], told["op"], told["shapes"]) == ("layer/MatMul", "MatMul", ["[?, 3]"])
    assert [each["name"] for each in told["inputs"]["nodes"]] == ["x", "w/read"]
    outputs = {each["name"]: each["control"] for each in told["outputs"]["nodes"]}
    assert outputs["layer/out"] is False
    assert ["transpose_a", "False"] in told["attributes"]
    scope = detail(board, name["scopes"][0])
    assert scope["ops"] == [["MatMul", 1], ["Relu", 1]]
    assert {each["name"] for each in scope["inputs"]["nodes"]} == {"x", "w/read"}


def test_inputs_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    board = board_with(tmp_path, node_def("a", "Add", "gone:1", "^lost"), node_def("b", "Id", "a"))
    seen = asked(board, "graph")
    assert seen["words"] == ["2 inputs lead to no node: 'gone:1' of 'a', ...."]
    assert detail(board, seen["items"][0]["number"])["missing"] == ["gone:1", "^lost"]


def test_a_cycle_and_an_edge_to_itself_are_edges_like_others(tmp_path: Path) -> None:
    nodes = node_def("a", "Merge", "b", "a"), node_def("b", "NextIteration", "a")
    seen = asked(board_with(tmp_path, *nodes), "graph")
    a, b = (item["number"] for item in seen["items"])
    assert {(each["source"], each["target"]) for each in seen["edges"]} == {(b, a), (a, a), (a, b)}


def test_names_are_cut_and_hold_whatever_they_hold(tmp_path: Path) -> None:
    wicked, long = "<img src=x onerror=alert(1)>", "x" * 10_000
    seen = asked(board_with(tmp_path, node_def(wicked), node_def(long), node_def("")), "graph")
    labels = [item["label"] for item in seen["items"]]
    assert labels == [wicked, "x" * graph_requests.CHARACTERS + "…", "(unnamed)"]


def test_a_large_scope_is_cut_and_says_so(tmp_path: Path) -> None:
    board = board_with(tmp_path, *(node_def(f"n{i}") for i in range(CHILDREN + 20)))
    seen = asked(board, "graph")
    assert seen["items"][-1] | {"number": 0} == {
        "number": 0,
        "parent": 0,
        "label": "",
        "kind": "rest",
        "op": "",
        "count": 20,
        "open": False,
    }
    assert f"more than {CHILDREN} nodes are cut" in seen["words"][0]
    found = board.hear(t="find", id=1, run=".", tag="graph", text="n")[0]
    assert (len(found["found"]), found["more"]) == (graph_requests.FOUND, True)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"t": "graph", "tag": "gone"}, "has no tag 'gone'"),
        ({"t": "graph", "run": "gone"}, "no run 'gone'"),
        ({"t": "graph", "open": 5}, "open=5 is not a list of numbers"),
        ({"t": "graph", "open": ["x"]}, "is not a list of numbers"),
        ({"t": "graph", "open": [], "focus": "x"}, "focus='x' is not the number"),
        ({"t": "node", "number": 99}, "number=99 is not a node"),
        ({"t": "node", "number": True}, "number=True is not a node"),
        ({"t": "node", "number": -1}, "number=-1 is not a node"),
        ({"t": "find", "text": ""}, "text='' is not a text to find"),
        ({"t": "find", "text": None}, "text=None is not a text to find"),
    ],
)
def test_odd_questions_are_refused_in_words(tmp_path: Path, question: Message, why: str) -> None:
    board = board_with(tmp_path, node_def("a"))
    of = asked(board, "graph")["of"]
    content, _ = board.hear(**{"id": 7, "run": ".", "tag": "graph", "of": of} | question)
    assert (content["t"], content["id"]) == ("refused", 7)
    assert why in content["text"]


@pytest.mark.parametrize("data", [b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05ab", b"nonsense"])
def test_a_damaged_graph_is_refused_in_words(tmp_path: Path, data: bytes) -> None:
    written(tmp_path / NAME, [graph_event(data)])
    content = asked(board_of(tmp_path), "graph")
    assert content["t"] == "refused"
    assert "bytes that are no GraphDef" in content["text"]


def test_a_graph_is_decoded_once_for_all_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Graph] = []

    class Counted(Hierarchy):
        def __init__(self, graph: Graph) -> None:
            made.append(graph)
            super().__init__(graph)

    monkeypatch.setattr(graphs, "Hierarchy", Counted)
    board = board_with(tmp_path, node_def("a"))
    for _ in range(3):
        detail(board, asked(board, "graph")["items"][0]["number"])
    assert len(made) == 1
