"""The scopes of a graph: what is seen of it while some of them are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.logdir.hierarchy import CHILDREN, EDGES, ITEMS, Hierarchy, View
from nbtrain.tfevents.graphs import Graph, GraphBuilder, Node, path_of


def node(name: str, op: str = "NoOp") -> Node:
    return Node(path_of(name), op, "", list, list)


def graph_of(*nodes: tuple[str, Sequence[str]]) -> Graph:
    """A graph by the name of each node and its inputs."""
    builder = GraphBuilder()
    builder.inputs([(name, builder.node(node(name)), inputs) for name, inputs in nodes])
    return builder.graph()


def names(hierarchy: Hierarchy, view: View) -> list[str]:
    """The full names of what is seen; the rest of a scope as `scope+`."""
    return [
        hierarchy.name(item.number) if item.number >= 0 else f"{hierarchy.name(item.parent)}+"
        for item in view.items
    ]


def ends(hierarchy: Hierarchy, view: View) -> set[tuple[str, str, int, int]]:
    return {
        (hierarchy.name(each.source), hierarchy.name(each.target), each.count, each.control)
        for each in view.edges
    }


def number(hierarchy: Hierarchy, name: str) -> int:
    """The number of the scope of this name, or else of the node."""
    found = [item for item in hierarchy.find(name) if hierarchy.name(item) == name]
    return sorted(found, key=lambda item: not hierarchy.is_scope(item))[0]


def test_a_graph_begins_folded_and_its_edges_are_counted() -> None:
    hierarchy = Hierarchy(
        graph_of(
            ("x", ()),
            ("a/w", ()),
            ("a/mul", ("x", "a/w")),
            ("a/add", ("a/mul", "x:1")),
            ("b/out", ("a/add", "a/mul", "^a/w", "^x")),
        )
    )
    folded = hierarchy.view()
    assert [(item.label, item.count, item.is_scope) for item in folded.items] == [
        ("x", 1, False),
        ("a", 3, True),
        ("b", 1, True),
    ]
    assert ends(hierarchy, folded) == {("x", "a", 2, 0), ("a", "b", 2, 1), ("x", "b", 0, 1)}
    opened = hierarchy.view([number(hierarchy, "a")])
    assert names(hierarchy, opened) == ["x", "a", "a/w", "a/mul", "a/add", "b"]
    assert ("a/mul", "a/add", 1, 0) in ends(hierarchy, opened)
    assert ("a/w", "b", 0, 1) in ends(hierarchy, opened)


def test_an_open_scope_in_a_folded_one_is_not_seen() -> None:
    hierarchy = Hierarchy(graph_of(("a/x", ()), ("a/b/y", ()), ("a/b/z", ("a/b/y",))))
    inner = number(hierarchy, "a/b")
    view = hierarchy.view([inner])
    assert names(hierarchy, view) == ["a"]
    assert view.edges == []


def test_a_name_that_is_both_a_node_and_a_scope_is_in_the_scope() -> None:
    hierarchy = Hierarchy(graph_of(("a", ("a/b",)), ("a/b", ()), ("c", ("a",))))
    view = hierarchy.view([number(hierarchy, "a")])
    assert [item.label for item in view.items] == ["a", "(a)", "b", "c"]
    assert {(each.source, each.target) for each in view.edges} == {
        (hierarchy.items[1], hierarchy.items[0]),
        (hierarchy.items[0], hierarchy.items[2]),
    }


def test_scopes_that_hold_only_a_scope_are_one() -> None:
    deep = "/".join(f"s{depth}" for depth in range(100))
    hierarchy = Hierarchy(graph_of((f"{deep}/x", ()), (f"{deep}/y", ()), ("z", ())))
    scope, z = hierarchy.view().items
    assert scope.label.startswith("s0/s1/s2")
    assert (scope.count, z.label) == (2, "z")
    inner = hierarchy.view([scope.number]).items
    assert [item.label.split("/")[-1] for item in inner] == [
        scope.label.split("/")[-1],
        "x",
        "y",
        "z",
    ]
    assert hierarchy.name(inner[1].number) == f"{deep}/x"


def test_a_hundred_scopes_with_something_in_each_end_in_names_with_slashes() -> None:
    parts = [f"s{depth}" for depth in range(100)]
    paths = [("/".join([*parts[:depth], "x"]), ()) for depth in range(101)]
    hierarchy = Hierarchy(graph_of(*paths))
    wanted: list[int] = []
    depth = 0
    while True:
        view = hierarchy.view(wanted)
        folded = [item.number for item in view.items if item.is_scope and not item.is_open]
        if not folded or view.unopened:
            break
        wanted += folded
        depth += 1
    assert 20 < depth < 40
    assert sum(item.count for item in view.items if not item.is_scope) == len(paths)
    assert any(item.label.endswith("s99/x") for item in view.items)


def test_a_scope_with_too_many_nodes_is_cut_and_one_that_is_looked_for_is_seen() -> None:
    many = [(f"a/n{i}", ()) for i in range(CHILDREN + 50)]
    last = many[-1][0]
    hierarchy = Hierarchy(graph_of(("x", ()), *many, ("y", (last, many[0][0]))))
    scope = number(hierarchy, "a")
    view = hierarchy.view([scope])
    assert len(view.items) == 3 + CHILDREN + 1
    (rest,) = (item for item in view.items if item.number < 0)
    assert (rest.count, rest.parent) == (50, scope)
    y = hierarchy.items[-1]
    assert {(each.source, each.target) for each in view.edges} == {
        (rest.number, y),
        (hierarchy.items[1], y),
    }
    looked_for = hierarchy.view([scope], hierarchy.items[-2])
    assert last in names(hierarchy, looked_for)
    assert next(item.count for item in looked_for.items if item.number < 0) == 49


def test_no_scope_is_opened_beyond_what_can_be_seen_at_once() -> None:
    scopes = [(f"s{i}/n{j}", ()) for i in range(10) for j in range(60)]
    hierarchy = Hierarchy(graph_of(*scopes))
    wanted = [number(hierarchy, f"s{i}") for i in range(10)]
    view = hierarchy.view(wanted)
    assert len(view.items) <= ITEMS
    assert [item.number for item in view.items if item.is_open] == wanted[:3]
    assert view.unopened == wanted[3:]


def test_there_is_room_for_what_is_looked_for_first() -> None:
    scopes = [(f"s{i}/n{j}", ()) for i in range(10) for j in range(60)]
    hierarchy = Hierarchy(graph_of(*scopes))
    wanted = [number(hierarchy, f"s{i}") for i in range(10)]
    view = hierarchy.view(wanted, number(hierarchy, "s9/n59"))
    assert {item.number for item in view.items if item.is_open} == {wanted[9], *wanted[:2]}
    assert "s9/n59" in names(hierarchy, view)
    assert view.unopened == wanted[2:9]


def test_the_thickest_edges_are_seen_and_the_others_counted() -> None:
    sources = [f"n{i}" for i in range(40)]
    targets = [(f"t{i}", tuple(sources)) for i in range(30)]
    thick = ("last", ("n0", "n0:1", "n0:2"))
    hierarchy = Hierarchy(graph_of(*((name, ()) for name in sources), *targets, thick))
    view = hierarchy.view()
    assert len(view.edges) == EDGES
    assert view.edges[0].count == 3
    assert view.left_out == 40 * 30 + 1 - EDGES


def test_an_edge_from_a_node_to_itself_is_seen_only_if_the_node_is() -> None:
    hierarchy = Hierarchy(graph_of(("a/x", ("a/x",)), ("a/y", ("a/x",)), ("z", ("z",))))
    assert ends(hierarchy, hierarchy.view()) == {("a", "a", 1, 0), ("z", "z", 1, 0)}


@pytest.mark.parametrize("name", ["", "/", "//", "a//b", "/a", "a/"])
def test_a_name_with_empty_parts_is_a_node_all_the_same(name: str) -> None:
    hierarchy = Hierarchy(graph_of((name, ()), ("a/b", ("x", ""))))
    assert sum(item.count for item in hierarchy.view().items) == 2
    assert all(item.label for item in hierarchy.view().items)


def test_nodes_of_one_name_are_all_there_and_the_first_is_meant() -> None:
    graph = graph_of(("a", ()), ("a", ()), ("b", ("a", "gone", "^gone:0")))
    assert graph.edges.tolist() == [[0, 2, 0, 0]]
    assert graph.missing == ((2, "gone"), (2, "^gone:0"))
    assert len(Hierarchy(graph).view().items) == 3


def test_a_graph_without_nodes_shows_nothing() -> None:
    hierarchy = Hierarchy(graph_of())
    assert hierarchy.view([1, -1, 7], 3) == View([], [], 0, [])


# --- the same as its plain definition ---------------------------------------------

parts = st.sampled_from(["a", "b", "c"])
paths = st.lists(parts, min_size=1, max_size=4).map("/".join)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    found = draw(st.lists(paths, min_size=1, max_size=12))
    index = st.integers(0, len(found) - 1)
    edges = draw(st.lists(st.tuples(index, index, st.booleans()), max_size=30))
    builder = GraphBuilder()
    for name in found:
        builder.node(node(name))
    for source, target, control in edges:
        builder.edge(source, target, control=control)
    return builder.graph()


def seen(hierarchy: Hierarchy, item: int, opened: set[int]) -> int:
    """Returns what is seen for an item: the outermost closed scope around it, or the item."""
    return next(each for each in (*hierarchy.scopes_of(item), item) if each not in opened)


@given(graphs(), st.sets(st.integers(0, 40)))
def test_edges_are_counted_between_what_is_seen_of_their_nodes(
    graph: Graph, wanted: set[int]
) -> None:
    hierarchy = Hierarchy(graph)
    view = hierarchy.view(sorted(wanted))
    opened = {item.number for item in view.items if item.is_open}
    expected: Counter[tuple[int, int, bool]] = Counter()
    for source, target, _, control in graph.edges.tolist():
        pair = [seen(hierarchy, hierarchy.items[node], opened) for node in (source, target)]
        if pair[0] != pair[1] or source == target:
            expected[pair[0], pair[1], bool(control)] += 1
    found = Counter({(each.source, each.target, False): each.count for each in view.edges})
    found += Counter({(each.source, each.target, True): each.control for each in view.edges})
    assert found == expected
    assert len({(each.source, each.target) for each in view.edges}) == len(view.edges)


@given(graphs(), st.sets(st.integers(0, 40)))
def test_every_node_is_counted_once_in_what_is_seen(graph: Graph, wanted: set[int]) -> None:
    hierarchy = Hierarchy(graph)
    view = hierarchy.view(sorted(wanted))
    assert sum(item.count for item in view.items if not item.is_open) == len(graph.nodes)
    places = {item.number: at for at, item in enumerate(view.items)}
    assert all(places[each.parent] < at for at, each in enumerate(view.items) if each.parent)
    for edge in view.edges:
        first = graph.edges[edge.first].tolist()
        opened = {item.number for item in view.items if item.is_open}
        pair = [seen(hierarchy, hierarchy.items[node], opened) for node in first[:2]]
        assert pair == [edge.source, edge.target]


@given(graphs())
def test_what_is_found_has_the_text_in_its_name_in_any_case(graph: Graph) -> None:
    hierarchy = Hierarchy(graph)
    found = {hierarchy.name(item) for item in hierarchy.find("B/A")}
    every = {node.name for node in graph.nodes if "b/a" in node.name}
    assert every <= found
    assert all("b/a" in name for name in found)
