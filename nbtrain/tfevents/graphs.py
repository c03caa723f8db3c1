"""Graphs of TensorFlow and models of Keras: nodes, and the edges between them.

Graphs are decoded without TensorFlow. The functions of a graph's library are graphs of their own,
below the scope `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nbtrain.core.values.arrays import IntArray

FUNCTIONS = "(functions)"  # no name in TensorFlow has parentheses
MOST, MOST_EDGES = 500_000, 1_000_000  # nodes and edges of a graph that is decoded
_UNNAMED = "(unnamed)"

Attributes = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph, or a layer of a model.

    Attributes:
        path: The scopes that contain the node, then its own name.
        op: The type of the operation, or the class of the layer.
        device: The device; "" if none was assigned.
        attributes: Returns names and values in words.
        shapes: Returns the shapes of the outputs; empty if they were not written.
    """

    path: tuple[str, ...]
    op: str
    device: str
    attributes: Callable[[], Attributes]
    shapes: Callable[[], Sequence[str]]

    @property
    def name(self) -> str:
        """The full name."""
        return "/".join(self.path)


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph; cycles, and several nodes of one name, are possible.

    Attributes:
        nodes: The nodes.
        edges: int64 of shape (n, 4): the index of the source node, the index of the target node,
            the number of the source's output, and 1 for a control dependency, else 0.
        missing: Inputs that name no node: the index of the node, and the input.
    """

    nodes: tuple[Node, ...]
    edges: IntArray
    missing: tuple[tuple[int, str], ...]

    def __repr__(self) -> str:
        return f"<a graph of {len(self.nodes):,} nodes and {len(self.edges):,} edges>"


class GraphBuilder:
    """Collects the nodes and edges of a graph."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._edges: list[tuple[int, int, int, int]] = []
        self._missing: list[tuple[int, str]] = []

    def node(self, node: Node) -> int:
        """Adds a node and returns its index.

        Raises:
            ValueError: The graph would have more than `MOST` nodes.
        """
        if len(self._nodes) == MOST:
            raise ValueError(f"it has more than {MOST:,} nodes, the most that are shown")
        self._nodes.append(node)
        return len(self._nodes) - 1

    def edge(self, source: int, target: int, output: int = 0, *, control: bool = False) -> None:
        """Adds an edge between two nodes.

        Raises:
            ValueError: The graph would have more than `MOST_EDGES` edges.
        """
        if len(self._edges) == MOST_EDGES:
            raise ValueError(f"it has more than {MOST_EDGES:,} edges, the most that are shown")
        self._edges.append((source, target, output, int(control)))

    def inputs(self, scope: Iterable[tuple[str, int, Sequence[str]]]) -> None:
        """Adds the edges between nodes that share their names.

        Args:
            scope: The name of each node, its index, and its inputs: `name`, `name:1`, `name:out:1`,
                or `^name` for a control dependency. If nodes share a name, the first one is used.
        """
        listed = list(scope)
        named: dict[str, int] = {}
        for name, index, _ in listed:
            named.setdefault(name, index)
        for _, index, inputs in listed:
            for each in inputs:
                control = each.startswith("^")
                name, *rest = each.removeprefix("^").split(":")
                source = named.get(name)
                if source is None:
                    self._missing.append((index, each))
                else:
                    last = rest[-1] if rest else ""
                    output = int(last) if last.isdecimal() and len(last) < 6 else 0
                    self.edge(source, index, output, control=control)

    def graph(self) -> Graph:
        """Returns the graph of the collected nodes and edges."""
        edges = np.array(self._edges, np.int64).reshape(-1, 4)
        return Graph(tuple(self._nodes), edges, tuple(self._missing))


def path_of(name: str, scope: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Returns the path of a node by its name; empty parts are left out."""
    return scope + (tuple(filter(None, name.split("/"))) or (_UNNAMED,))
