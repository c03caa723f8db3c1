"""The front ends: how each shows one notebook, in which a run trains."""

from __future__ import annotations

import abc
import contextlib
import json
import os
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Browser, Error, Locator, Page, expect

from tests.chromium import SECOND
from tests.lab.lab import NotebookPage, home_in, write_notebook
from tests.page.marimo import marimo
from tests.ports import free_ports, served

TRAIN = """\
%load_ext nbtrain
import itertools, pathlib, time
import nbtrain
numbers = itertools.count(1)
def step():
    time.sleep(0.01)
    return {"loss": 1 / next(numbers)}
run = nbtrain.train(step, name="mine", steps=10**6)
run"""
OTHER = """\
other = nbtrain.train(step, name="other", steps=10**6)
other"""
SLEEP = """\
while not pathlib.Path("go").exists():
    time.sleep(0.1)"""
CELLS = (TRAIN, OTHER, SLEEP, "run", "nbtrain.scalars('runs')")
FIRST, SECOND_RUN, SLEEPING, AGAIN, BOARD = range(len(CELLS))

TOKEN = "t0k"
KEY = f"?token={TOKEN}"


class NotThereError(Exception):
    """A front end does not have what is asked for; the message says why."""


class FrontEnd(abc.ABC):
    """The notebook in a page of its own.

    Args:
        python: The executable of its environment.
        folder: An empty one: the notebook, its runs and the server's settings.
        browser: The browser.
    """

    title: ClassVar[str]
    clicks_wait: ClassVar[bool] = False  # for the running cell

    def __init__(self, python: Path, folder: Path, browser: Browser) -> None:
        self.python, self.folder, self.browser = python, folder, browser
        self.page: Page
        self.errors: list[str] = []  # of scripts in the page

    @abc.abstractmethod
    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """The notebook is open in `page` while the block runs."""

    def environment(self) -> dict[str, str]:
        """The environment of a Jupyter whose kernels import TensorFlow before the first cell."""
        env = home_in(self.folder / "home")
        startup = self.folder / "home" / "ipython" / "profile_default" / "startup"
        startup.mkdir()
        (startup / "warm_up.py").write_text("import tensorflow\ndel tensorflow\n")
        return env | {"PATH": os.pathsep.join([str(self.python.parent), env["PATH"]])}

    def new_page(self) -> Page:
        """A page whose errors are kept."""
        page = self.browser.new_page(viewport={"width": 1100, "height": 1600})
        page.set_default_timeout(60 * SECOND)
        page.on("pageerror", self._note)
        return page

    def _note(self, error: Error) -> None:
        """Keep an error of a widget, whose script comes from an address of its own kind."""
        if any(each in (error.stack or "") for each in ("blob:", "data:", "/@file/")):
            self.errors.append(error.stack or str(error))

    def execute(self, index: int, *, wait: bool = True) -> None:  # noqa: B027 - some have done it
        """Have a cell executed, if that has not been done as the page was opened."""

    @abc.abstractmethod
    def shown(self, index: int) -> Locator:
        """The panel or board below a cell."""

    @abc.abstractmethod
    def turn_dark(self) -> None:
        """Have the page shown in dark colours."""

    def reload(self) -> None:
        """Load the page again."""
        self.page.reload()

    @abc.abstractmethod
    def reopen_without_kernel(self) -> Locator:
        """Save, end the kernel, open the notebook again; the output of the first cell."""

    @property
    def red(self) -> Locator:
        """The boxes that tell of errors."""
        return self.page.locator(
            ", ".join(
                f"{each}:visible"
                for each in (
                    "[data-mime-type='application/vnd.jupyter.stderr']",
                    "[data-mime-type='application/vnd.jupyter.error']",
                    ".output_stderr",
                    ".output_error",
                    ".jupyter-widgets-error-widget",
                    ".marimo-error",
                    ":text('Error displaying widget')",
                    ":text('Loading widget')",
                    ":text('Error creating widget')",
                )
            )
        )


class Lab(FrontEnd):
    """JupyterLab."""

    title = "JupyterLab"
    application: ClassVar[str] = "lab"
    address: ClassVar[str] = "doc/tree"
    options: ClassVar[Sequence[str]] = ("--expose-app-in-browser",)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        write_notebook(self.folder / "matrix.ipynb", CELLS)
        (port,) = free_ports(1)
        self.server = f"http://127.0.0.1:{port}"
        words = [str(self.python.with_name("jupyter")), self.application, "--no-browser"]
        words += [f"--port={port}", "--allow-root", f"--IdentityProvider.token={TOKEN}"]
        words += [f"--ServerApp.root_dir={self.folder}", *self.options]
        env = self.environment()
        with served(words, env, self.folder, f"{self.server}/api{KEY}"):
            self.open_page()
            yield
            self.page.close()

    def open_page(self) -> None:
        """Open the notebook in a new page."""
        self.page = self.new_page()
        self.notebook = NotebookPage(self.page, f"{self.server}/{self.address}/matrix.ipynb{KEY}")

    def execute(self, index: int, *, wait: bool = True) -> None:
        self.notebook.run(index, wait=wait)

    def cell(self, index: int) -> Locator:
        """A cell."""
        return self.notebook.cells.nth(index)

    def shown(self, index: int) -> Locator:
        return self.cell(index).locator(".nbt")

    def turn_dark(self) -> None:
        self.notebook.theme("JupyterLab Dark")

    def save(self) -> None:
        """Save the notebook."""
        self.notebook.save()

    def reload(self) -> None:
        self.save()
        super().reload()

    def reopen_without_kernel(self) -> Locator:
        self.save()
        self.page.close(run_before_unload=False)
        with urllib.request.urlopen(f"{self.server}/api/kernels{KEY}") as answer:
            kernels = json.loads(answer.read())
        for each in kernels:
            asked = urllib.request.Request(f"{self.server}/api/kernels/{each['id']}{KEY}")
            asked.method = "DELETE"
            urllib.request.urlopen(asked).close()
        self.open_page()
        return self.cell(FIRST)


class Notebook(Lab):
    """Notebook 7."""

    title = "Notebook"
    application = "notebook"
    address = "notebooks"


class Classic(Lab):
    """The classic Notebook, as the package nbclassic keeps it."""

    title = "nbclassic"
    application = "nbclassic"
    address = "notebooks"
    options = ()

    def open_page(self) -> None:
        self.page = self.new_page()
        self.page.goto(f"{self.server}/{self.address}/matrix.ipynb{KEY}")
        self.wait_idle()

    def wait_idle(self) -> None:
        """Wait for the kernel."""
        self.page.wait_for_function("() => window.Jupyter?.notebook?.kernel?.is_connected()")
        expect(self.page.locator("#kernel_indicator_icon.kernel_idle_icon")).to_be_visible()

    def execute(self, index: int, *, wait: bool = True) -> None:
        self.page.evaluate("index => Jupyter.notebook.execute_cells([index])", index)
        if wait:
            prompt = self.cell(index).locator(".input_prompt")
            expect(prompt).not_to_contain_text("*")

    def cell(self, index: int) -> Locator:
        return self.page.locator(".code_cell").nth(index)

    def turn_dark(self) -> None:
        raise NotThereError("the classic Notebook has no dark theme")

    def save(self) -> None:
        self.page.evaluate("() => Jupyter.notebook.save_notebook()")
        expect(self.page.locator("#notification_notebook")).to_contain_text("saved")


class Voila(FrontEnd):
    """voila, which executes the notebook before it shows the page."""

    title = "voila"

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        (self.folder / "go").touch()
        write_notebook(self.folder / "matrix.ipynb", CELLS)
        (port,) = free_ports(1)
        self.server = f"http://127.0.0.1:{port}/"
        words = [str(self.python.with_name("voila")), "matrix.ipynb", "--no-browser"]
        words += [f"--port={port}"]
        env = self.environment()
        with served(words, env, self.folder, f"{self.server}voila/static/voila.js"):
            self.page = self.new_page()
            self.page.goto(f"{self.server}?theme=dark")
            yield
            self.page.close()

    def execute(self, index: int, *, wait: bool = True) -> None:
        if index == SLEEPING:
            raise NotThereError("voila shows the page once all cells have been executed")

    def shown(self, index: int) -> Locator:
        outputs = [FIRST, SECOND_RUN, AGAIN, BOARD]
        return self.page.locator(".nbt").nth(outputs.index(index))

    def turn_dark(self) -> None:
        """The page is dark from the beginning."""

    def reload(self) -> None:
        raise NotThereError(
            "each page executes the notebook in a kernel of its own; to show one run in all pages, "
            "the notebook attaches it: `nbtrain.attach('runs/mine')`"
        )

    def reopen_without_kernel(self) -> Locator:
        raise NotThereError("each page executes the notebook in a kernel of its own")


class Marimo(FrontEnd):
    """marimo, which executes all cells as the page is opened."""

    title = "marimo"
    clicks_wait = True

    NOTEBOOK = """
import marimo
app = marimo.App()

@app.cell
def trained():
    import itertools, pathlib, time
    import nbtrain
    numbers = itertools.count(1)
    def step():
        time.sleep(0.01)
        return {"loss": 1 / next(numbers)}
    run = nbtrain.train(step, name="mine", steps=10**6)
    run
    return nbtrain, pathlib, run, step, time

@app.cell
def beside(nbtrain, run, step):
    other = nbtrain.train(step, name="other", steps=10**6)
    other
    return (other,)

@app.cell
def asleep(other, pathlib, time):
    while not pathlib.Path("go").exists():
        time.sleep(0.1)
    woken = True
    return (woken,)

@app.cell
def again(run, woken):
    run
    return

@app.cell
def board(nbtrain, woken):
    nbtrain.scalars("runs")
    return
"""

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        (self.folder / "notebook.py").write_text(self.NOTEBOOK)
        with marimo(self.folder, str(self.python), theme="system") as address:
            self.page = self.new_page()
            self.page.goto(address)
            yield
            self.page.close()

    def shown(self, index: int) -> Locator:
        return self.page.locator(".marimo-cell").nth(index).locator(".nbt")

    def turn_dark(self) -> None:
        self.page.emulate_media(color_scheme="dark")

    def reopen_without_kernel(self) -> Locator:
        raise NotThereError("marimo's notebook is a program without outputs")
