"""Draws the first graph of a board, its scopes folded, as a picture for the saved notebook."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from nbtrain.core.errors import NbtrainError
from nbtrain.core.natural import natural
from nbtrain.logdir.graphs import Graphs
from nbtrain.logdir.hierarchy import Edge, Hierarchy, Item
from nbtrain.logdir.history import fact_of
from nbtrain.panel.figure import GREY, GROUND, INK, framed, saved, short, writable
from nbtrain.panel.graph_requests import beginning
from nbtrain.panel.graph_rows import rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The most nodes that are drawn, and in a row; characters of a name and of a line of words; inches.
_NODES, _IN_ROW, _NAME, _WORDS = 36, 5, 20, 90
_ROW, _HEAD, _LEAST = 0.5, 0.5, 1.2


def png(graphs: Graphs) -> bytes | None:
    """Draws the first graph; None if there is none."""
    keys = sorted(graphs, key=lambda key: [*map(natural, key[::-1])])
    if not keys:
        return None
    run, tag = keys[0]
    name = f"{short(tag)} of {short(graphs.reader.title(run))}"
    more = f", and {len(keys) - 1} more not shown" if len(keys) > 1 else ""
    try:
        _, hierarchy = graphs.hierarchy(run, tag)
    except (NbtrainError, OSError) as error:
        return _drawn(f"{name}{more}", [], [], fact_of(error))
    nodes = len(hierarchy.graph.nodes)
    counted = f"{nodes:,} {'node' if nodes == 1 else 'nodes'}"
    items, edges, words = _seen(hierarchy)
    return _drawn(f"{name}: {counted}{more}", items, edges, words)


def _seen(hierarchy: Hierarchy) -> tuple[list[Item], list[Edge], str]:
    """Returns the nodes and scopes that a page shows first, their edges, and what is left out."""
    view = hierarchy.view(beginning(hierarchy))
    closed = [item for item in view.items if not item.is_open and item.number >= 0]
    left_out = sum(item.number < 0 for item in view.items) > 0 or len(closed) > _NODES
    items = closed[:_NODES]
    shown = {item.number for item in items}
    edges = [edge for edge in view.edges if {edge.source, edge.target} <= shown]
    return items, edges, f"The first {len(items)} nodes are drawn." if left_out else ""


def _drawn(title: str, items: list[Item], edges: list[Edge], words: str) -> bytes:
    pairs = [(edge.source, edge.target) for edge in edges]
    found = rows([item.number for item in items], pairs, _IN_ROW)
    figure, (axes,) = framed(1, max(_LEAST, _ROW * len(found) + _HEAD))
    axes.set_axis_off()
    axes.set_title(writable(title), fontsize=9, loc="left", parse_math=False, color=INK)
    if words:
        lines = "\n".join(map(writable, textwrap.wrap(words, _WORDS)))
        told: dict[str, Any] = {"fontsize": 8, "va": "top", "color": INK, "parse_math": False}
        axes.text(0, 1, lines, transform=axes.transAxes, **told)
    _draw(axes, items, edges, found)
    return saved(figure)


def _draw(axes: Axes, items: list[Item], edges: list[Edge], found: list[list[int]]) -> None:
    places = {
        number: (at - (len(row) - 1) / 2, -float(down))
        for down, row in enumerate(found)
        for at, number in enumerate(row)
    }
    axes.set(xlim=(-_IN_ROW / 2, _IN_ROW / 2), ylim=(0.5 - len(found), 0.8))
    for edge in edges:
        if edge.source == edge.target:
            continue
        dashed = "--" if not edge.count else "-"
        arrow = {"arrowstyle": "-|>", "color": GREY, "lw": 0.8, "linestyle": dashed}
        arrow |= {"shrinkA": 9, "shrinkB": 9}
        axes.annotate("", places[edge.target], places[edge.source], arrowprops=arrow, zorder=1)
    for item in items:
        name = short(item.label, _NAME)
        text = f"{name} ({item.count:,})" if item.is_scope else name
        shape = "round" if item.is_scope else "round,rounding_size=0.9"
        box = {"boxstyle": shape, "fc": GROUND, "ec": INK, "lw": 1.2 if item.is_scope else 0.7}
        x, y = places[item.number]
        how: dict[str, Any] = {
            "fontsize": 7,
            "ha": "center",
            "va": "center",
            "color": INK,
            "parse_math": False,
        }
        axes.text(x, y, writable(text) or " ", bbox=box, zorder=2, **how)
