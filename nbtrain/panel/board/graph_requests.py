"""Answers the requests of a board's page about graphs: a graph, a node, and a search.

    graph    the items and edges that are visible while some scopes are open
    node     the properties of a node, or the contents of a scope
    find     the nodes and scopes with a text in their names

The page has only the visible part: a graph of 20,000 nodes stays in the kernel.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.arrays import IntArray
from nbtrain.logdir.graphs import Graphs
from nbtrain.logdir.hierarchy import CHILDREN, ITEMS, Edge, Hierarchy, Item, View
from nbtrain.panel.media import Sent
from nbtrain.tfevents.graphs import FUNCTIONS

# The most neighbours, attributes, types of operations, and matches of a search that are sent, and
# characters of a name.
LISTED, ATTRIBUTES, OPS, FOUND, CHARACTERS = 50, 100, 20, 50, 300


def graph(graphs: Graphs, content: Mapping[str, object]) -> Sent:
    """Returns the visible part of a graph.

    Raises:
        ArgumentError: The message is malformed, or there is no such graph.
    """
    of, hierarchy = _asked(graphs, content)
    wanted, focus = content.get("open"), content.get("focus")
    if wanted is None or content.get("of") not in (of, None):  # the numbers are of another graph
        wanted, focus = beginning(hierarchy), None
    if not isinstance(wanted, list) or not all(type(each) is int for each in wanted):
        raise ArgumentError(f"open={wanted!r} is not a list of numbers.")
    if focus is not None and type(focus) is not int:
        raise ArgumentError(f"focus={focus!r} is not the number of a node.")
    known = f"{of} {wanted} {focus}"
    if known == content.get("known"):
        return {"t": "same"}, []
    view = hierarchy.view(wanted, focus if isinstance(focus, int) else None)
    return {
        "t": "graph",
        "known": known,
        "of": of,
        "open": [each.number for each in view.items if each.is_open],
        "items": [_item(hierarchy, each) for each in view.items],
        "edges": [_edge(hierarchy, each) for each in view.edges],
        "words": _words(hierarchy, view),
    }, []


def node(graphs: Graphs, content: Mapping[str, object]) -> Sent:
    """Returns the properties of a node, or the contents of a scope.

    Raises:
        ArgumentError: The message is malformed, or there is no such node.
    """
    of, hierarchy = _asked(graphs, content)
    number = content.get("number")
    if content.get("of") != of:
        raise ArgumentError("The graph was written again: this node belongs to the previous one.")
    if type(number) is not int or not (hierarchy.is_scope(number) or _is_node(hierarchy, number)):
        raise ArgumentError(f"number={number!r} is not a node of this graph.")
    name = _short(hierarchy.name(number))
    properties = (
        _scope(hierarchy, number) if hierarchy.is_scope(number) else _node(hierarchy, number)
    )
    return {"t": "node", "number": number, "name": name, **properties}, []


def find(graphs: Graphs, content: Mapping[str, object]) -> Sent:
    """Returns the nodes and scopes with a text in their names, in the order of the graph.

    Raises:
        ArgumentError: The message is malformed, or there is no such graph.
    """
    of, hierarchy = _asked(graphs, content)
    text = content.get("text")
    if not isinstance(text, str) or not text:
        raise ArgumentError(f"text={text!r} is not a text to find.")
    matches = list(itertools.islice(hierarchy.find(text), FOUND + 1))
    found = [_named(hierarchy, each) for each in matches[:FOUND]]
    return {"t": "found", "of": of, "found": found, "more": len(matches) > FOUND}, []


def _asked(graphs: Graphs, content: Mapping[str, object]) -> tuple[str, Hierarchy]:
    return graphs.hierarchy(str(content.get("run")), str(content.get("tag")))


def _is_node(hierarchy: Hierarchy, number: int) -> bool:
    return 0 < number < len(hierarchy.nodes) and hierarchy.nodes[number] >= 0


def beginning(hierarchy: Hierarchy) -> list[int]:
    """Returns the scopes that are open at first: if a model is the only scope, this scope."""
    top = hierarchy.children[0]
    return top if len(top) == 1 and hierarchy.is_scope(top[0]) else []


def _item(hierarchy: Hierarchy, item: Item) -> dict[str, Any]:
    number = item.number
    is_node = _is_node(hierarchy, number)
    return {
        "number": number,
        "parent": item.parent,
        "label": _short(item.label),
        "kind": "scope" if item.is_scope else "node" if is_node else "rest",
        "op": _short(hierarchy.graph.nodes[hierarchy.nodes[number]].op) if is_node else "",
        "count": item.count,
        "open": item.is_open,
    }


def _edge(hierarchy: Hierarchy, edge: Edge) -> dict[str, Any]:
    shape = ""
    if edge.count == 1 and not edge.control:
        source, _, output, _ = hierarchy.graph.edges[edge.first].tolist()
        shapes = hierarchy.graph.nodes[source].shapes()
        shape = shapes[output] if output < len(shapes) else ""
    numbers = {"source": edge.source, "target": edge.target, "count": edge.count}
    return {**numbers, "control": edge.control, "shape": _short(shape)}


def _words(hierarchy: Hierarchy, view: View) -> list[str]:
    """Returns sentences about missing parts of the picture, and about errors in the graph."""
    missing, words = hierarchy.graph.missing, []
    if not hierarchy.graph.nodes:
        words.append("The graph has no nodes.")
    if view.unopened:
        others = len(view.unopened) - 1
        more = f" and {others} more" if others else ""
        words.append(
            f"{_short(hierarchy.name(view.unopened[0]))}{more} cannot be opened too: at most "
            f"{ITEMS} nodes are shown at once. Fold another scope first."
        )
    if any(item.number < 0 for item in view.items):
        words.append(
            f"Scopes with more than {CHILDREN} nodes are cut: search for a node to see it."
        )
    if view.left_out:
        pairs = "pair" if view.left_out == 1 else "pairs"
        words.append(f"The thinnest edges are not shown: those of {view.left_out:,} {pairs}.")
    if missing:
        at, name = missing[0]
        lead = "1 input leads" if len(missing) == 1 else f"{len(missing):,} inputs lead"
        which = f"{_short(name)!r} of {_short(hierarchy.graph.nodes[at].name)!r}"
        words.append(f"{lead} to no node: {which}{', ...' if len(missing) > 1 else ''}.")
    return words


def _node(hierarchy: Hierarchy, number: int) -> dict[str, Any]:
    index = hierarchy.nodes[number]
    node = hierarchy.graph.nodes[index]
    edges = hierarchy.graph.edges
    missing = [name for at, name in hierarchy.graph.missing if at == index]
    attributes = list(node.attributes())
    return {
        "op": _short(node.op),
        "device": _short(node.device),
        "attributes": [[_short(name), text] for name, text in attributes[:ATTRIBUTES]],
        "inputs": _ends(hierarchy, edges[edges[:, 1] == index], 0),
        "outputs": _ends(hierarchy, edges[edges[:, 0] == index], 1),
        "missing": list(map(_short, missing[:LISTED])),
        "shapes": list(map(_short, filter(None, node.shapes()[:LISTED]))),
        "calls": _called(hierarchy, {node.op, *(text for _, text in attributes)}),
    }


def _ends(hierarchy: Hierarchy, edges: IntArray, end: int) -> dict[str, Any]:
    """The nodes at one end of some edges."""
    rows = edges[:LISTED, (end, 3)].tolist()
    return {
        "nodes": [
            {**_named(hierarchy, hierarchy.items[index]), "control": bool(control)}
            for index, control in rows
        ],
        "more": max(0, len(edges) - LISTED),
    }


def _named(hierarchy: Hierarchy, number: int) -> dict[str, Any]:
    name, scopes = _short(hierarchy.name(number)), hierarchy.scopes_of(number)
    return {"number": number, "name": name, "scopes": scopes}


def _called(hierarchy: Hierarchy, names: set[str]) -> list[dict[str, Any]]:
    """Returns the functions of the library that a node names."""
    found: dict[tuple[str, str], int] = {}  # by the library's scope: a trace may have several
    for item in filter(hierarchy.is_scope, range(1, len(hierarchy.nodes))):
        where, library, rest = hierarchy.name(item).partition(f"{FUNCTIONS}/")
        function = rest.partition("/")[0]
        if library and function in names:
            found.setdefault((where, function), item)  # a scope comes before its contents
    return [_named(hierarchy, item) for item in itertools.islice(found.values(), LISTED)]


def _scope(hierarchy: Hierarchy, number: int) -> dict[str, Any]:
    inside = _inside(hierarchy, number)
    ops = Counter(hierarchy.graph.nodes[index].op for index in inside)
    within = np.zeros(len(hierarchy.graph.nodes), np.bool_)
    within[inside] = True
    edges = hierarchy.graph.edges
    source, target = within[edges[:, 0]], within[edges[:, 1]]
    return {
        "nodes": len(inside),
        "ops": [
            [_short(op), -less] for less, op in sorted((-n, op) for op, n in ops.items())[:OPS]
        ],
        "other_ops": max(0, len(ops) - OPS),
        "inputs": _ends(hierarchy, edges[target & ~source], 0),
        "outputs": _ends(hierarchy, edges[source & ~target], 1),
    }


def _inside(hierarchy: Hierarchy, scope: int) -> list[int]:
    """The indices of the nodes in a scope."""
    found, waiting = [], [scope]
    while waiting:
        item = waiting.pop()
        waiting += hierarchy.children[item]
        if hierarchy.nodes[item] >= 0:
            found.append(hierarchy.nodes[item])
    return found


def _short(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"


GRAPHS: dict[str, Callable[[Graphs, Mapping[str, object]], Sent]] = {
    "graph": graph,
    "node": node,
    "find": find,
}
