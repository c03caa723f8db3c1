"""Rows of nodes, for the picture of a graph."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from nbtrain.panel.graph_rows import rows

numbers = st.integers(0, 11)


def test_edges_lead_downwards_and_a_source_is_just_above_where_it_leads() -> None:
    edges = [(1, 2), (2, 3), (3, 4), (9, 4)]
    assert [*map(sorted, rows([1, 9, 2, 3, 4], edges))] == [[1], [2], [3, 9], [4]]


def test_edges_are_untangled() -> None:
    edges = [(1, 4), (2, 3), (3, 5), (4, 6)]
    first, second, third = rows([1, 2, 3, 4, 5, 6], edges)
    assert [first.index(1), second.index(4), third.index(6)] in ([0, 0, 0], [1, 1, 1])


def test_a_row_with_too_many_is_several() -> None:
    assert rows(list(range(5)), [], most=2) == [[0, 1], [2, 3], [4]]


def test_a_long_chain_needs_no_deep_stack() -> None:
    chain = list(range(5000))
    assert rows(chain, itertools.pairwise(chain)) == [[item] for item in chain]


@given(st.lists(st.tuples(numbers, numbers)), st.integers(1, 6))
def test_every_item_has_one_place_and_only_cycles_lead_up(
    edges: list[tuple[int, int]], most: int
) -> None:
    found = rows(list(range(12)), edges, most)
    assert sorted(item for row in found for item in row) == list(range(12))
    assert max(map(len, found)) <= most
    place = {item: at for at, row in enumerate(found) for item in row}
    reach = {item: {item} for item in range(12)}
    for _ in range(12):
        for source, target in edges:
            reach[source] |= reach[target]
    for source, target in edges:
        if source not in reach[target]:
            assert place[source] < place[target]
