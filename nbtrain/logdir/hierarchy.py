"""The scopes of a graph, folded and unfolded, and the part of the graph that is visible.

Each node and each scope is an item with a number; 0 is the graph itself. An item is visible if all
scopes that contain it are open. A folded scope is visible in place of the nodes in it, so the edges
of these nodes lead from and to the scope. Edges between the same two visible items become one, with
a count. Edges within a folded scope are not visible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nbtrain.core.values.arrays import IntArray
from nbtrain.tfevents.graphs import Graph

# The most visible items of one scope and of all open scopes, and edges between them: more can be
# neither read nor laid out within a second.
CHILDREN, ITEMS, EDGES = 80, 200, 400
_DEPTH = 30  # scopes within each other; the names of deeper scopes are joined into one label


@dataclass(frozen=True, slots=True)
class Item:
    """A visible item: a node, a scope, or the rest of a scope that has too many items.

    Attributes:
        number: The number of the item; the rest of the scope `n` has the number `-n - 1`.
        parent: The number of the item's scope.
        label: The name within the scope.
        count: The number of nodes that the item contains; 1 for a node.
        is_scope: Whether the item can be opened.
        is_open: Whether the item is open.
    """

    number: int
    parent: int
    label: str
    count: int
    is_scope: bool
    is_open: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """The edges between two items.

    Attributes:
        source: The number of an item that is a node, a folded scope or a rest.
        target: As `source`.
        count: The number of edges that carry data.
        control: The number of edges that are control dependencies.
        first: The index of the first edge in `Graph.edges`.
    """

    source: int
    target: int
    count: int
    control: int
    first: int


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of a graph with some scopes open.

    Attributes:
        items: The visible items; a scope comes before its contents.
        edges: The edges with the highest counts.
        left_out: How many other pairs of items have edges.
        unopened: Scopes that could not be opened, because too many items would be visible.
    """

    items: list[Item]
    edges: list[Edge]
    left_out: int
    unopened: list[int]


class Hierarchy:
    """The scopes of a graph; immutable.

    Attributes:
        graph: The graph.
        labels: For each item, the name within its scope.
        parents: For each item, the number of its scope.
        children: For each item, the items in it, in the order of the graph's nodes.
        nodes: For each item, the index of its node; -1 for a scope.
        counts: For each item, the number of nodes that it contains; 1 for a node.
        items: For each node of the graph, its item.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.labels, self.parents, self.nodes = [""], [0], [-1]
        first = [-1]  # the index of the first node in each item
        scopes: dict[tuple[int, str], int] = {}
        homes: list[int] = []
        for index, node in enumerate(graph.nodes):
            home = 0
            for part in node.path[: min(len(node.path), _DEPTH) - 1]:
                known = scopes.get((home, part))
                if known is None:
                    known = scopes[home, part] = self._item(part, home, -1)
                    first.append(index)
                home = known
            homes.append(home)
        self.items = []
        for index, (node, home) in enumerate(zip(graph.nodes, homes, strict=True)):
            label = "/".join(node.path[_DEPTH - 1 :]) or node.path[-1]
            # As in TensorBoard, a node with the name of a scope is shown inside the scope.
            inner = scopes.get((home, label))
            if inner is not None:
                home, label = inner, f"({label})"
            self.items.append(self._item(label, home, index))
            first.append(index)
        self._join_chains(len(scopes))
        self._count(first)

    def _item(self, label: str, parent: int, node: int) -> int:
        self.labels.append(label)
        self.parents.append(parent)
        self.nodes.append(node)
        return len(self.labels) - 1

    def _join_chains(self, scopes: int) -> None:
        """Joins each scope that contains only another scope with that scope."""
        within = Counter(self.parents[1:])
        below = [0] * len(self.labels)
        for item in range(1, len(self.labels)):
            below[self.parents[item]] = item
        for scope in range(1, scopes + 1):
            only = below[scope]
            if within[scope] == 1 and self.nodes[only] < 0:
                self.labels[only] = f"{self.labels[scope]}/{self.labels[only]}"
                self.parents[only] = self.parents[scope]
                self.parents[scope] = -1  # the scope no longer exists

    def _count(self, first: Sequence[int]) -> None:
        self.children: list[list[int]] = [[] for _ in self.labels]
        self.counts = [int(node >= 0) for node in self.nodes]
        for item in sorted(range(1, len(self.labels)), key=first.__getitem__):
            if self.parents[item] >= 0:
                self.children[self.parents[item]].append(item)
        for item in range(len(self.labels) - 1, 0, -1):  # a scope comes before its contents
            if self.parents[item] >= 0:
                self.counts[self.parents[item]] += self.counts[item]

    def is_scope(self, item: int) -> bool:
        """Returns whether an item is a scope."""
        return 0 <= item < len(self.nodes) and self.nodes[item] < 0 and self.parents[item] >= 0

    def name(self, item: int) -> str:
        """Returns the full name of an item."""
        if self.nodes[item] >= 0:
            return self.graph.nodes[self.nodes[item]].name
        return "/".join(self.labels[each] for each in (*self.scopes_of(item), item) if each)

    def scopes_of(self, item: int) -> list[int]:
        """Returns the scopes that contain an item, outermost first, without the graph itself."""
        found: list[int] = []
        while item and (item := self.parents[item]):
            found.insert(0, item)
        return found

    def find(self, text: str) -> Iterator[int]:
        """Yields the nodes and scopes whose names contain a text, ignoring case."""
        wanted = text.lower()
        for item in range(1, len(self.labels)):
            if self.parents[item] >= 0 and wanted in self.name(item).lower():
                yield item

    def view(self, wanted: Sequence[int] = (), focus: int | None = None) -> View:
        """Returns the visible part of the graph.

        Args:
            wanted: The open scopes, in the order in which they were opened. A scope within a folded
                scope is folded too.
            focus: An item that is visible even in a scope with too many items, if the scopes that
                contain the item are open; they are opened before the others.
        """
        kept, order = {*wanted}, list(wanted)
        if focus is not None and self._has(focus):
            scopes = self.scopes_of(focus)
            kept |= {focus, *scopes}
            order = [*(scope for scope in scopes if scope in wanted), *wanted]
        seen = {0: self._seen_in(0, kept)}
        room, unopened = ITEMS - len(seen[0]), []
        for scope in order:
            if scope in seen or not self.is_scope(scope) or self.parents[scope] not in seen:
                continue
            found = self._seen_in(scope, kept)
            if len(found) > room:
                unopened.append(scope)
            else:
                room -= len(found)
                seen[scope] = found
        edges = self._edges(seen)
        return View(list(self._listed(0, seen)), edges[:EDGES], len(edges[EDGES:]), unopened)

    def _has(self, item: int) -> bool:
        return 0 <= item < len(self.labels) and self.parents[item] >= 0

    def _seen_in(self, scope: int, kept: Collection[int]) -> list[int]:
        """Returns the visible items of a scope; the last may be the rest of the scope."""
        children = self.children[scope]
        if len(children) <= CHILDREN:
            return children
        late = [item for item in children[CHILDREN:] if item in kept]
        return [*children[:CHILDREN], *late, -scope - 1]

    def _listed(self, scope: int, seen: dict[int, list[int]]) -> Iterator[Item]:
        counted = 0
        for item in seen[scope]:
            if item < 0:
                rest = self.counts[scope] - counted
                yield Item(item, scope, "", rest, is_scope=False, is_open=False)
                continue
            counted += self.counts[item]
            is_scope, is_open = self.nodes[item] < 0, item in seen
            yield Item(item, scope, self.labels[item], self.counts[item], is_scope, is_open)
            if is_open:
                yield from self._listed(item, seen)

    def _edges(self, seen: dict[int, list[int]]) -> list[Edge]:
        """Returns the edges between visible items, those with the highest count first."""
        if not len(self.graph.edges):
            return []
        shown = {item for items in seen.values() for item in items}
        place = list(range(len(self.labels)))  # for each item, the one that is visible in its place
        for item in range(1, len(place)):
            parent = self.parents[item]
            if parent not in seen:
                place[item] = place[parent] if parent >= 0 else 0
            elif item not in shown:
                place[item] = -parent - 1
        ends = np.array(place)[np.array(self.items)][self.graph.edges[:, :2]]
        outside = (ends[:, 0] != ends[:, 1]) | (self.graph.edges[:, 0] == self.graph.edges[:, 1])
        pairs, first, which = _distinct(ends[outside])
        control = self.graph.edges[outside, 3]
        every = np.bincount(which, minlength=len(pairs))
        controls = np.bincount(which, control, len(pairs)).astype(np.int64)
        rows = np.flatnonzero(outside)[first]
        columns = (*pairs.T, every - controls, controls, rows)
        listed = zip(*(column.tolist() for column in columns), strict=True)
        return [Edge(*each) for each in sorted(listed, key=lambda each: (-each[2] - each[3], each))]


def _distinct(pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Returns the distinct rows, the first place of each, and the index of each row among them."""
    found, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    return found, first, which.reshape(-1)
