"""The messages between a page and its kernel are those that protocol.d.ts declares.

TypeScript's own compiler checks them: each is written as a constant of its declared type.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtrain.core.commands import WITHOUT_ARGUMENTS
from nbtrain.core.states import Checkpoint, Phase, Usage
from nbtrain.core.tasks import Task, TaskState
from nbtrain.core.text.log_lines import LogLine
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.ranges import Hyperparameter, Scale
from nbtrain.logdir.run_media import RunMedia
from nbtrain.panel.board.curves import AXES
from nbtrain.panel.board.index import KIND_OF
from nbtrain.rundir.journal import Mark
from nbtrain.rundir.mailbox import Address
from tests import ROOT
from tests.logdirs import write_cards, write_graph, write_media, write_pr_curves, write_tables
from tests.panels import Clock, FakeRun, ShownPanel
from tests.stills import Shows
from tests.stores import add
from tests.training.boards import ShownBoard, board_of, run_of

PROTOCOL = ROOT / "nbtrain/panel/js/protocol.d.ts"
TSC = ROOT / "node_modules/.bin/tsc"
Message = dict[str, Any]

needs_typescript = pytest.mark.skipif(not TSC.exists(), reason="needs TypeScript: run npm ci")


def errors(folder: Path, **messages: Sequence[Message]) -> list[str]:
    """Returns TypeScript's errors about messages, by the name of their declared type."""
    lines = [
        f"export const {name}{number}: protocol.{name} = {as_json(message)};"
        for name, each in messages.items()
        for number, message in enumerate(each)
    ]
    return compiled(folder, lines)


def lacking(folder: Path, **messages: Sequence[Message]) -> list[str]:
    """Returns TypeScript's errors if these are taken as all kinds of the type."""
    seen = {name: {message["t"]: True for message in each} for name, each in messages.items()}
    lines = [
        f'export const {name}: Record<protocol.{name}["t"], true> = {as_json(kinds)};'
        for name, kinds in seen.items()
    ]
    return compiled(folder, lines)


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def compiled(folder: Path, lines: Sequence[str]) -> list[str]:
    """The errors that TypeScript finds in these lines."""
    path = folder / "messages.ts"
    path.write_text("\n".join([f'import type * as protocol from "{PROTOCOL}";', *lines]), "utf-8")
    how = ["--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler"]
    told = subprocess.run(
        [TSC, "--ignoreConfig", *how, path], cwd=folder, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0 or "error TS" in told.stdout, told.stdout + told.stderr
    return [line for line in told.stdout.splitlines() if "error TS" in line]


@pytest.fixture
def panel(tmp_path: Path) -> tuple[ShownPanel, list[Message]]:
    """A panel that has sent what it can send, and what it was sent."""
    run, clock = FakeRun(), Clock()
    run.mailbox = Address(Path("/home/ada/runs/digits"), "9f6c02d1")
    shown = ShownPanel(run, clock)
    heard: list[Message] = []

    def hear(**content: Any) -> None:
        heard.append(content)
        shown.hear(**content)
        clock.now += 1.0
        shown.tick()

    tuned = Hyperparameter("learning_rate", 1e-3, 1e-5, 1.0, Scale.LOG)
    factor = Hyperparameter("learning_rate_factor", float("nan"), 0.0, 1.0, Scale.LINEAR, rate=0.1)
    add(run.scalars, "loss", 0, 1.0, 0.5, 0.25)
    for mark in (
        Mark("save", 3, 1.7e9, "saved"),
        Mark("set", 4, 1.7e9, "set", edits=(("learning_rate", 1e-3, float("inf")),)),
        Mark("try", 4, 1.7e9, kept=True),
        Mark("try", 4, 1.7e9, arm=(0, "learning_rate 0.1")),
        Mark("try", 4, 1.7e9, kept=False, arms=(ArmResult("a", {"a": 1.0}, "loss", 1.0, (2.0,)),)),
        Mark("try", 4, 1.7e9, kept=False, arms=(ArmResult("a", {}, "loss", 1.0, (2.0, 3.0), "x"),)),
        Mark("nan", 4, 1.7e9, "NaN", good=3),
        Mark("restore", 4, 1.7e9, to=3),
    ):
        run.marks.add(mark)
    hear(t="hello")
    add(run.scalars, "loss", 3, 0.2)
    add(run.scalars, "val_loss", 3, float("nan"))
    run.marks.add(Mark("pause", 9, 1.7e9))
    run.now(
        phase=Phase.PAUSED,
        step=9,
        total_steps=10,
        epoch=2,
        epoch_began=5,
        epoch_steps=5,
        steps_per_s=2.0,
        eta_s=0.5,
        values={"loss": 0.5, "val_loss": float("nan")},
        checkpoints=(Checkpoint(3, "runs/digits/checkpoints/ckpt-3", 1.7e9),),
        message="It has gone bad.",
        notice="It is warm.",
        hyperparameters=(tuned, factor),
        evaluates=True,
        usage=Usage({"step": 9.0}, {"step": 0.9}, 0.01, 1.5, 10**9, 8 * 10**9),
        tasks=(Task("worker", 0, TaskState.RUNNING), Task("ps", 0, TaskState.LOST, silent_s=3.0)),
    )
    hear(t="alive", seq=1)
    run.log.add([LogLine(1.7e9, 3, "WARNING", "logging", "a line")])
    hear(t="log", have=0)
    write_media(tmp_path / "media")
    run.media = RunMedia(tmp_path / "media")
    run.media.tick()
    hear(t="media", id=1, about="tags")
    for kind, tag, _ in run.media.tags():
        hear(t="media", id=2, about="history", kind=kind, tag=tag, known=None)
        hear(t="media", id=3, about="history", kind=kind, tag=tag, known="1:1")
        hear(t="media", id=4, about="value", kind=kind, tag=tag, at=0)
    hear(t="media", id=5, about="value", kind="images", tag="none", at=0)
    hear(t="cmd", id="n", command="note", text="good")
    hear(t="cmd", id="g", command="tag", tags=["adam"])
    for name in WITHOUT_ARGUMENTS.keys() - {"restore"}:
        hear(t="cmd", id=name, command=name)
    hear(t="cmd", id="r1", command="restore", checkpoint="ckpt-3")
    hear(t="cmd", id="r2", command="restore", checkpoint=None)
    hear(t="cmd", id="r3", command="restore", checkpoint="ckpt-3", halve="learning_rate")
    hear(t="cmd", id="s", command="set", values={"learning_rate": 0.1, "factor": "x"})
    hear(t="cmd", id="t", command="try", values={"learning_rate": 1}, steps=9, keep_if=None)
    several = {"values": {"learning_rate": [0.1, "x"], "factor": 1}, "repeats": 2}
    hear(t="cmd", id="t2", command="try", steps=9, keep_if="loss", **several)
    swept = {"values": {"learning_rate": 1e-6}, "sweep": [1e-6, 1.0]}
    hear(t="cmd", id="t3", command="try", steps=9, keep_if=None, **swept)
    hear(t="there")
    hear(t="alive", seq=10**6)  # is told of in a note
    clock.now += 11.0
    shown.hear(t="alive", seq=1)
    shown.tick()
    hear(t="pull", seq=1)
    hear(t="pull", seq=shown.page.seq)
    run.now(phase=Phase.FAILED, error="Traceback", failure="ValueError: no")
    hear(t="hello")
    return shown, heard


@pytest.fixture
def board(tmp_path: Path) -> tuple[ShownBoard, list[Message]]:
    """A board that has sent what it can send, and what it was sent."""
    write_cards(tmp_path, range(2))
    write_tables(tmp_path)
    write_pr_curves(tmp_path, range(2))
    write_graph(tmp_path / "adam")
    run_of(tmp_path / "other", [1.0, float("nan"), 0.5])
    shown, heard = board_of(tmp_path), list[Message]()

    def hear(**content: Any) -> Message:
        heard.append(content)
        return shown.hear(**content)[0]

    hear(t="hello")
    hear(t="alive", version=1)
    hear(t="there")
    hear(t="follow", on=True)
    hear(t="options", text="{}")
    shown.notify()
    shown.notify(reading=True)
    shown.note("odd")
    want = {"tag": "loss", "runs": None, "log_x": False, "range": None, "smooth": 0.5}
    for axis in AXES:
        hear(t="want", id=1, known=None, **want, x=axis)
    hear(t="want", id=1, known=None, **want | {"runs": ["other"], "range": [0, 1]}, x="step")
    hear(t="want", id=1, known=None, **want | {"smooth": 2}, x="step")  # refused
    hear(t="csv", id=1, **want, x="step")
    plain = {"tag": "loss", "dash": None, "validates": False}
    lines = [
        {"run": "adam", "name": "adam", "look": 0, "bounds": ["low", "high"], **plain},
        {"run": "other", "name": "", "look": None, "bounds": None, **plain},
    ]
    hear(t="svg", id=1, **want, x="step", lines=lines, log=False, outliers=True)
    index = next(content for content, _ in shown.sent if content["t"] == "index")
    for kind, source in KIND_OF.items():
        if kind not in ("scalars", "pr_curves", "graphs"):
            which = {"kind": kind, "run": "adam", "tag": index["kinds"][source]["tags"][0]}
            hear(t="history", id=2, **which)
            hear(t="summary", id=2, at=0, **which)
    ask_for_curves_and_graphs(hear)
    for name in ("hparams", "layout"):
        known = hear(t=name, id=3, known=None)["known"]
    hear(t="layout", id=3, known=known)
    hear(t="compare", id=4, runs=["trial-0", "other"], tags=None, known=None)
    hear(t="compare", id=4, runs=["trial-0", "other"], tags=["loss"], known=None)
    return shown, heard


def ask_for_curves_and_graphs(hear: Callable[..., Message]) -> None:
    """Asks for precision-recall curves, and for a graph and what is in it."""
    for run, known in (("adam", None), ("gone", None)):
        place = {"run": run, "at": -1, "known": known}
        found = hear(t="pr_curves", id=5, tag="cat", runs=[place])["runs"]
        if "known" in found[0]:
            again = place | {"known": found[0]["known"]}
            hear(t="pr_curves", id=5, tag="cat", runs=[again])
    which = {"run": "adam", "tag": "graph"}
    wanted = {**which, "id": 6, "of": None, "open": None, "focus": None}
    graph = hear(t="graph", known=None, **wanted)
    hear(t="graph", known=graph["known"], **wanted)
    for item in graph["items"]:
        hear(t="node", id=7, of=graph["of"], number=item["number"], **which)
    scope = graph["items"][0]["number"]
    opened = {"of": graph["of"], "open": [scope], "focus": scope}
    hear(t="graph", known=None, **wanted | opened)
    hear(t="find", id=8, text="a", **which)


@needs_typescript
def test_the_messages_of_a_panel_are_declared(
    panel: tuple[ShownPanel, list[Message]], tmp_path: Path
) -> None:
    shown, heard = panel
    shows = Shows()
    shows.still._update()
    sent = [content for content, _ in shown.sent] + list(shows.widget.sent)
    assert errors(tmp_path, FromPanel=sent, ToPanel=heard) == []
    assert lacking(tmp_path, FromPanel=sent, ToPanel=heard) == []
    assert {answer["text"] for answer in sent if answer["t"] == "ack"} == {"requested"}
    assert len([None for message in sent if message["t"] == "note"]) == 1
    media = [message for message in sent if message["t"] == "media"]
    assert {each["about"] for each in media} == {"tags", "history", "same", "value", "refused"}
    sent_actions = [each for message in sent for _, each in message.get("actions", ())]
    assert {action[1] for actions in sent_actions for action in actions} == {"restore", "set"}


@needs_typescript
def test_the_messages_of_a_board_are_declared(
    board: tuple[ShownBoard, list[Message]], tmp_path: Path
) -> None:
    shown, heard = board
    sent = [content for content, _ in shown.sent]
    assert errors(tmp_path, FromBoard=sent, ToBoard=heard) == []
    assert lacking(tmp_path, FromBoard=[*sent, {"t": "still"}], ToBoard=heard) == []
    assert len([None for message in sent if message["t"] == "refused"]) == 1


@needs_typescript
@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ({"t": "ack", "id": "1"}, "FromPanel"),
        ({"t": "ack", "id": "1", "text": "", "at": 1}, "at"),
        ({"t": "ack", "id": 1, "text": ""}, "number"),
        ({"t": "pts", "seq": 1, "status": {"stop": 1}, "series": []}, "stop"),
    ],
)
def test_a_message_that_is_not_as_declared_is_found(
    message: Message, wrong: str, tmp_path: Path
) -> None:
    (error,) = errors(tmp_path, FromPanel=[message])
    assert re.search(rf"\b{wrong}\b", error)
