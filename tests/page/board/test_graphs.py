"""The board's graphs: scopes that fold, nodes that tell what they are, and a search."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect

import nbtrain
from tests.event_files import NAME, written
from tests.gate import SOON
from tests.logdirs import write_graph
from tests.models import reached
from tests.page.bare import BarePage

v1 = tf.compat.v1

WICKED = '<img src=x onerror="window.wicked=1">'


@pytest.fixture
def logdir(own_folder: Path) -> Path:
    """A logdir of one graph."""
    wicked = v1.NodeDef(name=WICKED, op="<script>window.wicked=2</script>", input=["call"])
    wicked.attr["a"].s = b"<b>bold</b>"
    write_graph(own_folder / "logs" / "tf1", wicked)
    return own_folder / "logs"


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of its graph."""
    return opened(page, "graphs logs")


def opened(page: BarePage, line: str) -> Locator:
    board = page.line(line).locator(".nbt-board")
    expect(board.locator(".nbt-item").first).to_be_visible()
    return board


def item(board: Locator, name: str) -> Locator:
    return board.locator(f'.nbt-item[data-name="{name}"]')


def shows(board: Locator, count: int) -> None:
    expect(board.locator(".nbt-graph-frame")).to_have_attribute("data-items", str(count))


def names(board: Locator) -> list[str]:
    found: list[str] = board.locator(".nbt-item").evaluate_all(
        "all => all.map(e => e.dataset.name)"
    )
    return sorted(found)


def place(board: Locator, name: str) -> Any:
    box = item(board, name).locator("rect").bounding_box()
    assert box is not None
    return box


def test_a_graph_begins_folded_with_its_edges_counted(board: Locator) -> None:
    expect(board.get_by_role("tab")).to_have_text(["Scalars", "Graphs"])
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 1 graph")
    shows(board, 7)
    assert names(board) == sorted(
        ["(functions)/body", WICKED, "back", "call", "layer", "loop", "x"]
    )
    expect(item(board, "layer")).to_have_attribute("aria-label", "layer, 3 nodes in this scope")
    edge = board.locator(".nbt-edge", has_text="2 edges, 1 control dependency")
    expect(edge.locator("text")).to_have_text("× 2")
    expect(board.locator("[data-role=graph-words]")).to_have_text(
        "1 input leads to no node: 'gone:2' of 'loop'."
    )


def test_a_click_opens_a_scope_where_it_is_and_another_folds_it(
    page: BarePage, board: Locator
) -> None:
    before = place(board, "layer")
    item(board, "layer").click()
    shows(board, 10)
    expect(item(board, "layer")).to_have_attribute("aria-expanded", "true")
    outer, inner = place(board, "layer"), place(board, "mul")
    assert outer["x"] == pytest.approx(before["x"], abs=1.5)
    assert outer["y"] == pytest.approx(before["y"], abs=1.5)
    assert outer["x"] <= inner["x"]
    assert inner["y"] + inner["height"] <= outer["y"] + outer["height"]
    details = board.locator("[data-role=details]")
    expect(details).to_contain_text("3 nodes")
    expect(details).to_contain_text("MatMul1")
    item(board, "layer").locator("text").click()
    shows(board, 7)
    expect(item(board, "layer")).to_have_attribute("aria-expanded", "false")


def test_a_node_tells_what_it_is_and_its_neighbours_lead_on(board: Locator) -> None:
    item(board, "call").click()
    details = board.locator("[data-role=details]")
    expect(details.locator("h4")).to_have_text("call")
    for text in ("operationPartitionedCall", "Inputs (3)", "layer/w control", "fbody"):
        expect(details).to_contain_text(text)
    expect(board.locator(".nbt-edge.nbt-selected")).to_have_count(2)
    details.get_by_role("button", name="layer/w").click()
    expect(details.locator("h4")).to_have_text("layer/w")
    expect(details).to_contain_text("/job:ps/task:1")
    expect(item(board, "w")).to_have_class(re.compile("nbt-selected"))
    shows(board, 10)


def test_a_function_is_a_scope_to_which_its_call_leads(board: Locator) -> None:
    item(board, "call").click()
    calls = board.locator("[data-role=details] li").first
    expect(calls).to_have_text("(functions)/body")
    calls.get_by_role("button").click()
    expect(board.locator("[data-role=details]")).to_contain_text("2 nodes")
    item(board, "(functions)/body").click()
    expect(item(board, "a")).to_be_visible()


def test_a_node_is_found_by_its_name_and_opened(page: BarePage, board: Locator) -> None:
    board.locator("[data-role=find]").fill("OUT")
    found = board.locator("[data-role=found]")
    expect(found.get_by_role("button")).to_have_text(["layer/out"])
    page.page.keyboard.press("Enter")
    expect(item(board, "out")).to_have_class(re.compile("nbt-selected"))
    expect(board.locator("[data-role=details]")).to_contain_text("output[?, 3]")
    frame, there = board.locator(".nbt-graph-frame").bounding_box(), place(board, "out")
    assert frame is not None
    middle = there["x"] + there["width"] / 2
    assert middle == pytest.approx(frame["x"] + frame["width"] / 2, abs=3)
    board.locator("[data-role=find]").fill("nothing")
    expect(found).to_have_text("No node name contains nothing.")
    page.page.keyboard.press("Escape")
    expect(found).to_be_hidden()


def test_the_drawing_is_moved_and_enlarged_by_pointer_and_keyboard(
    page: BarePage, board: Locator
) -> None:
    drawing, keyboard = board.locator(".nbt-graph-frame > svg"), page.page.keyboard
    first = place(board, "x")
    box = drawing.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 60, box["y"] + 50, steps=3)
    page.page.mouse.up()
    assert place(board, "x")["x"] == pytest.approx(first["x"] + 40, abs=1)
    assert place(board, "x")["y"] == pytest.approx(first["y"] + 30, abs=1)
    drawing.focus()
    keyboard.press("ArrowLeft")
    assert place(board, "x")["x"] == pytest.approx(first["x"] + 80, abs=1)
    keyboard.press("+")
    assert place(board, "x")["width"] > first["width"] * 1.2
    keyboard.press("0")
    assert place(board, "x")["x"] == pytest.approx(first["x"], abs=1)
    keyboard.down("Control")
    page.page.mouse.wheel(0, -200)
    keyboard.up("Control")
    page.page.wait_for_function(
        "([e, width]) => e.getBoundingClientRect().width > width * 1.2",
        arg=[item(board, "x").locator("rect").element_handle(), first["width"]],
    )
    board.get_by_role("button", name="fit the whole graph").click()
    assert place(board, "x")["x"] == pytest.approx(first["x"], abs=1)


def test_dragging_over_a_node_is_no_click(page: BarePage, board: Locator) -> None:
    there = place(board, "layer")
    page.page.mouse.move(there["x"] + 10, there["y"] + 10)
    page.page.mouse.down()
    page.page.mouse.move(there["x"] + 80, there["y"] + 10, steps=3)
    page.page.mouse.up()
    assert place(board, "layer")["x"] == pytest.approx(there["x"] + 70, abs=1)
    shows(board, 7)
    expect(board.locator("[data-role=details] h4")).to_have_count(0)


def test_the_keyboard_leads_from_node_to_node_and_opens(page: BarePage, board: Locator) -> None:
    keyboard = page.page.keyboard
    board.locator(".nbt-graph-frame > svg").focus()
    keyboard.press("Tab")
    focused = board.locator(".nbt-item:focus")
    expect(focused).to_have_count(1)
    item(board, "x").focus()
    keyboard.press("ArrowDown")
    expect(item(board, "layer")).to_be_focused()
    keyboard.press("Enter")
    shows(board, 10)
    expect(item(board, "layer")).to_be_focused()
    keyboard.press("Enter")
    shows(board, 7)
    keyboard.press("Escape")
    expect(board.locator(".nbt-graph-frame > svg")).to_be_focused()


def test_nothing_of_a_graph_runs(page: BarePage, board: Locator) -> None:
    item(board, "call").click()
    board.locator("[data-role=details]").get_by_role("button", name="onerror").click()
    details = board.locator("[data-role=details]")
    expect(details.locator("h4")).to_have_text(WICKED)
    expect(details).to_contain_text("<script>window.wicked=2</script>")
    expect(details).to_contain_text("<b>bold</b>")
    board.locator("[data-role=find]").fill("<img")
    expect(board.locator("[data-role=found] button")).to_have_text([WICKED])
    assert board.locator(":is(img, script, b)").count() == 0
    assert page.page.evaluate("window.wicked ?? null") is None


def test_one_of_several_graphs_is_chosen_and_each_remembers_what_is_open(
    page: BarePage, logdir: Path
) -> None:
    write_graph(logdir / "other")
    board = opened(page, "graphs logs")
    choice = board.locator("[data-role=graph]")
    expect(choice.locator("option")).to_have_text(["other · graph", "tf1 · graph"])
    item(board, "layer").click()
    shows(board, 9)
    choice.select_option(label="tf1 · graph")
    shows(board, 7)
    choice.select_option(label="other · graph")
    shows(board, 9)
    board.locator('[data-run="other"] input').uncheck()
    expect(choice).to_be_hidden()
    shows(board, 7)
    board.locator('[data-run="tf1"] input').uncheck()
    expect(board.locator(".nbt-graph")).to_be_hidden()
    expect(board.locator("[data-role=tag-count]")).to_have_text("0 of 2 graphs")
    board.locator('[data-run="tf1"] input').check()
    shows(board, 7)


def test_a_graph_that_is_written_again_begins_folded(page: BarePage, logdir: Path) -> None:
    board = opened(page, "graphs logs --follow")
    item(board, "layer").click()
    shows(board, 10)
    nodes = [v1.NodeDef(name=name, op="NoOp") for name in ("layer/a", "layer/b", "new")]
    again = v1.GraphDef(node=nodes).SerializeToString()
    written(logdir / "tf1" / f"{NAME}.9", [v1.Event(wall_time=1.8e9, graph_def=again)])
    expect(item(board, "new")).to_be_visible()
    shows(board, 2)


def test_the_graph_of_a_fit_is_shown_while_it_is_paused(page: BarePage, own_folder: Path) -> None:
    model = keras.Sequential([keras.layers.Dense(4, name="a"), keras.layers.Dense(1, name="b")])
    model.compile("sgd", "mse")
    run = nbtrain.fit(model, np.zeros((8, 3)), np.zeros((8, 1)), epochs=10**6, name="digits")
    reached(run, lambda run: run.status.step >= 1)
    run.pause().wait(SOON)
    board = page.line("scalars runs --follow").locator(".nbt-board")
    board.get_by_role("tab", name="Graphs").click()
    expect(item(board, "b")).to_be_visible()
    edges = board.locator(".nbt-edge")
    expect(edges).to_have_count(2)
    item(board, "b").click()
    expect(board.locator("[data-role=details]")).to_contain_text("units1")
    run.request_stop()
    run.wait(SOON)


def large(count: int) -> Any:
    """A graph of many nodes: scopes of five hundred nodes each."""
    graph = v1.GraphDef()
    for number in range(count):
        scope = f"tower_{number % 4}/block_{number // 500}"
        node = graph.node.add(name=f"{scope}/op_{number}", op="MatMul")
        for back in (1, 7, 50):
            if number >= back:
                before = number - back
                node.input.append(f"tower_{before % 4}/block_{before // 500}/op_{before}")
    return graph


def test_twenty_thousand_nodes_are_shown_as_far_as_they_can_be_read(
    page: BarePage, own_folder: Path
) -> None:
    data = large(20_000).SerializeToString()
    written(own_folder / "logs" / NAME, [v1.Event(wall_time=1.7e9, graph_def=data)])
    board = opened(page, "graphs logs")
    shows(board, 4)
    for number in range(4):
        item(board, f"tower_{number}").press("Enter")  # it may be out of sight
        shows(board, 4 + 40 * (number + 1))
    item(board, "block_0").first.press("Enter")
    words = board.locator("[data-role=graph-words]")
    expect(words).to_contain_text("tower_0/block_0 cannot be opened too: at most 200 nodes")
    shows(board, 164)
    item(board, "tower_0").press("Enter")
    shows(board, 124)
    board.locator("[data-role=find]").fill("op_19996")
    board.locator("[data-role=found] button").click()
    expect(item(board, "op_19996")).to_have_count(1)
    expect(board.locator("[data-role=details] h4")).to_have_text("tower_0/block_39/op_19996")


def test_a_damaged_graph_is_told_in_words(page: BarePage, own_folder: Path) -> None:
    written(own_folder / "logs" / NAME, [v1.Event(wall_time=1.7e9, graph_def=b"nonsense")])
    board = page.line("graphs logs").locator(".nbt-board")
    expect(board.locator(".nbt-page > .nbt-problem")).to_contain_text("no GraphDef")
    expect(board.locator(".nbt-item")).to_have_count(0)


def test_a_graph_fits_a_narrow_page_in_a_dark_theme(page: BarePage, board: Locator) -> None:
    page.theme("dark")
    page.page.set_viewport_size({"width": 480, "height": 1200})
    expect(board).to_have_attribute("data-theme", "dark")
    frame = board.locator(".nbt-graph-frame").bounding_box()
    assert frame is not None
    assert frame["x"] + frame["width"] <= 480
    assert board.evaluate("e => e.scrollWidth <= e.clientWidth")
