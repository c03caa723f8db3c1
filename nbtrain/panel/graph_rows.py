"""Places the nodes of a small graph in rows, for a picture without a page; the page uses dagre."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

_SWEEPS = 4


def rows(items: Sequence[int], edges: Iterable[tuple[int, int]], most: int = 6) -> list[list[int]]:
    """Returns the items row by row: edges lead downwards, except those that close a cycle.

    Args:
        items: Distinct numbers.
        edges: Pairs of items; those to themselves are ignored.
        most: Items in a row.
    """
    after: dict[int, list[int]] = {item: [] for item in items}
    for source, target in edges:
        if source != target:
            after[source].append(target)
    downwards = _without_cycles(after)
    ranks = _ranks(downwards)
    found: list[list[int]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for item in items:
        found[ranks[item]].append(item)
    _untangle(found, downwards)
    return [rank[at : at + most] for rank in found if rank for at in range(0, len(rank), most)]


def _without_cycles(after: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Leaves out the edges that lead back to an item on the way to them."""
    kept: dict[int, list[int]] = {item: [] for item in after}
    done: set[int] = set()
    for first in after:
        way = [(first, iter(after[first]))] if first not in done else []
        on_way = {first}
        while way:
            item, rest = way[-1]
            for target in rest:
                if target in on_way:
                    continue
                kept[item].append(target)
                if target not in done:
                    way.append((target, iter(after[target])))
                    on_way.add(target)
                    break
            else:
                done.add(item)
                on_way.discard(item)
                way.pop()
    return kept


def _ranks(after: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """The rank of each item: below all that lead to it, and a source just above where it leads."""
    waits = dict.fromkeys(after, 0)
    for target in itertools.chain.from_iterable(after.values()):
        waits[target] += 1
    sources = [item for item, count in waits.items() if not count]
    ranks, ready = dict.fromkeys(after, 0), list(sources)
    while ready:
        item = ready.pop()
        for target in after[item]:
            ranks[target] = max(ranks[target], ranks[item] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    for item in sources:
        ranks[item] = min((ranks[target] - 1 for target in after[item]), default=0)
    return ranks


def _untangle(found: list[list[int]], after: Mapping[int, Collection[int]]) -> None:
    """Sorts each rank by where the neighbours of its items stand, some times down and up."""
    before: dict[int, list[int]] = {item: [] for item in after}
    for item, targets in after.items():
        for target in targets:
            before[target].append(item)
    places = {item: at - (len(rank) - 1) / 2 for rank in found for at, item in enumerate(rank)}
    for sweep in range(_SWEEPS):
        neighbours: Mapping[int, Collection[int]] = after if sweep % 2 else before
        for rank in reversed(found) if sweep % 2 else found:
            wanted = {item: _mean(places, neighbours[item], places[item]) for item in rank}
            rank.sort(key=wanted.__getitem__)
            places |= {item: at - (len(rank) - 1) / 2 for at, item in enumerate(rank)}


def _mean(places: Mapping[int, float], items: Collection[int], otherwise: float) -> float:
    return sum(places[item] for item in items) / len(items) if items else otherwise
