"""The page that `make matrix` writes."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

PAGE = """\
# Front ends and versions

`make matrix` installs nbtrain with each of these front ends in an environment of its own, opens one
notebook in Chromium, and looks at ten promises. It wrote this page on {day}, with Python {python},
TensorFlow {tensorflow} and Keras {keras}: ✓ is kept, *later* after the running cell has ended, ✗
is broken, – does not exist there.

{table}

{notes}

## The promises

{promises}

## Not tried

- **Colab** runs in Google's cloud only. Tried in its place: JupyterLab with a kernel that, as
  Colab's does, drops what a thread sends while the kernel executes nothing
  (`tests/lab/test_silent.py`), and with clicks that wait for the running cell. Panel and boards ask
  for what they have missed, once a second, and the panel says so.
- **VS Code** shows widgets by a bundle of its own, which is published. Tried in its place: panel
  and board within that bundle, in its light, dark and two high-contrast themes
  (`tests/page/test_vscode.py`). A click waits for the running cell, and the panel says so.
"""
SIGNS = {"kept": "✓", "later": "later", "broken": "✗", "not there": "–"}
VERSIONS = ("ipykernel", "ipywidgets", "anywidget")


@dataclass(frozen=True)
class Answer:
    """The answer to one promise.

    Attributes:
        kind: The sign in the table stands for it.
        words: What a reader should know about it, or nothing.
    """

    kind: Literal["kept", "later", "broken", "not there"]
    words: str = ""


@dataclass(frozen=True)
class Row:
    """The answers of one environment.

    Attributes:
        front_end: The name and version of the front end.
        versions: Those of all packages.
        answers: By promise.
    """

    front_end: str
    versions: Mapping[str, str]
    answers: Mapping[str, Answer]


def page(rows: Sequence[Row], promises: Mapping[str, str]) -> str:
    """The page, in Markdown.

    Args:
        rows: One for each environment.
        promises: The meaning of each, in a sentence.
    """
    installed = rows[0].versions
    return PAGE.format(
        day=datetime.date.today().isoformat(),
        python=platform.python_version(),
        tensorflow=installed["tensorflow"],
        keras=installed["keras"],
        table="\n".join(_table(rows, list(promises))),
        notes="\n".join(_notes(rows)),
        promises="\n".join(f"- **{name}**: {words}" for name, words in promises.items()),
    )


def _table(rows: Sequence[Row], promises: Sequence[str]) -> Iterator[str]:
    yield _line(["", *VERSIONS, *promises])
    yield _line(["---"] * (1 + len(VERSIONS)) + [":-:"] * len(promises))
    for row in rows:
        versions = [row.versions.get(package, "–") for package in VERSIONS]
        signs = [SIGNS[row.answers[promise].kind] for promise in promises]
        yield _line([row.front_end, *versions, *signs])


def _line(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        for promise, answer in row.answers.items():
            if answer.words:
                yield f"- {row.front_end}, *{promise}*: {answer.words.rstrip('.')}."
