"""Tries nbtrain in each front end, in versions old and new: `make matrix`.

Each row has an environment of its own. `python -m tests.matrix WORD ...` tries the rows whose name
has one of the words and prints them; without a word all are tried, and the table is written to
`docs/compatibility.md`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from tests import ROOT
from tests.chromium import launched
from tests.matrix.front_ends import Classic, FrontEnd, Lab, Marimo, Notebook, NotThereError, Voila
from tests.matrix.promises import PROMISES
from tests.matrix.report import Answer, Row, page

ENVIRONMENTS = ROOT / ".venv-matrix"
OLD = ("ipykernel==6.29.*", "ipywidgets==8.1.0", "jupyterlab-widgets==3.0.8")


@dataclass(frozen=True)
class Environment:
    """One row of the table.

    Attributes:
        front_end: How to use it.
        package: The package of the front end.
        others: What else is installed beside nbtrain.
    """

    front_end: type[FrontEnd]
    package: str
    others: tuple[str, ...] = ("ipykernel",)

    @property
    def name(self) -> str:
        """The front end and what else it names: of the folder too."""
        return " ".join([self.package, *self.others]).replace(".*", "").replace("==", " ")


TABLE = [
    Environment(Lab, "jupyterlab==4.2.*", OLD),
    Environment(Lab, "jupyterlab", ("ipykernel==7.0.*",)),
    Environment(Lab, "jupyterlab"),
    Environment(Notebook, "notebook==7.2.*", OLD),
    Environment(Notebook, "notebook"),
    Environment(Classic, "nbclassic"),
    Environment(Voila, "voila"),
    Environment(Marimo, "marimo", ()),
]


def install(row: Environment) -> Path:
    """Install the environment of a row, and return its Python."""
    folder = ENVIRONMENTS / row.name.replace(" ", "-")
    uv = Path(sys.executable).with_name("uv")
    made: list[str | Path] = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder]
    subprocess.run(made, check=True)
    words: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", folder]
    subprocess.run([*words, "--editable", ROOT, row.package, *row.others], check=True)
    return folder / "bin" / "python"


def versions(python: Path) -> dict[str, str]:
    """The versions of what is installed."""
    code = "import importlib.metadata as m\nfor d in m.distributions(): print(d.name, d.version)"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    return dict(line.split(maxsplit=1) for line in told.splitlines())


def look(front: FrontEnd, shots: Path) -> dict[str, Answer]:
    """Look at each promise: one that is broken does not end the others."""
    answers = {}
    for promise, kept in PROMISES.items():
        try:
            later = kept(front)
            answer = Answer("later", later) if later else Answer("kept")
        except NotThereError as error:
            answer = Answer("not there", str(error))
        except Exception as error:
            shot = shots / f"{promise.replace(' ', '-')}.png"
            front.page.screenshot(path=shot)
            print(f"see {shot}")
            first = (str(error) or type(error).__name__).splitlines()[0]
            answer = Answer("broken", first)
        print(f"  {promise}: {answer.kind} {answer.words}", flush=True)
        answers[promise] = answer
    return answers


def tried(row: Environment, browser: Browser, folder: Path) -> Row:
    """Try one environment."""
    print(row.name, flush=True)
    python = install(row)
    found = versions(python)
    package = row.package.partition("=")[0]
    root, shots = folder / f"{row.name}-root", folder / row.name
    root.mkdir()
    shots.mkdir()
    front = row.front_end(python, root, browser)
    with front.opened():
        return Row(f"{row.front_end.title} {found[package]}", found, look(front, shots))


def main(*words: str) -> bool:
    """Try the rows, and write the page if these are all; whether a promise is broken."""
    rows = [row for row in TABLE if not words or any(word in row.name for word in words)]
    folder = Path(tempfile.mkdtemp(prefix="nbtrain-matrix-"))
    meanings = {name: kept.__doc__ or "" for name, kept in PROMISES.items()}
    with launched() as browser:
        found = [tried(row, browser, folder) for row in rows]
    text = page(found, meanings)
    if not words:
        (ROOT / "docs" / "compatibility.md").write_text(text, encoding="utf-8")
    print(text)
    return any(each.kind == "broken" for row in found for each in row.answers.values())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
