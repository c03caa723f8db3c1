"""A real JupyterLab, driven as a person would, through Chromium."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Error, Locator, Page, expect

from tests import ROOT
from tests.chromium import SECOND
from tests.ports import free_ports, wait_until_up
from tests.profiles import write_profile

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}

OPEN = "path => void jupyterapp.commands.execute('docmanager:open', { path })"
# Nothing is asked about what was not saved.
CLOSE = """\
() => {
  for (const widget of [...jupyterapp.shell.widgets("main")]) {
    if (widget.context) widget.context.model.dirty = false;
    widget.close();
  }
}"""
# A document is gone some time after it was closed; a launcher is then opened in its place.
CLOSED = """\
() => [...jupyterapp.shell.widgets("main")].every(widget => !widget.context)
  && !document.querySelector(".jp-Dialog")"""
# Takes away what a notebook of boards leaves in its kernel, for the next one; a kernel without an
# answer is no longer of use.
TIDY = """\
code => Promise.race([
  jupyterapp.shell.currentWidget.sessionContext.session.kernel
    .requestExecute({ code, silent: true, store_history: false })
    .done.then(reply => reply.content.status),
  new Promise(resolve => setTimeout(resolve, 20000, "late")),
])"""
LOST = "Error displaying widget: model not found"
FORGET = "import ipywidgets; ipywidgets.Widget.close_all(); get_ipython().reset()"


def home_in(folder: Path) -> dict[str, str]:
    """Write the settings of a Jupyter below a folder, and return the environment that uses them."""
    write_profile(folder / "ipython")
    for name, value in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return os.environ | {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def write_notebook(path: Path, cells: Iterable[str]) -> None:
    """Write a notebook of code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(made, path)


class Lab:
    """A JupyterLab server over a folder of its own.

    Each notebook gets a kernel of its own, which has imported TensorFlow while the test before was
    at work, and the page of that test, where it is as it was: both take longer than most tests.
    Notebooks that only look at boards have one after the other the same kernel.

    Args:
        folder: Its root, and the home of its settings.
    """

    def __init__(self, folder: Path) -> None:
        environment = home_in(folder)
        startup = folder / "ipython" / "profile_default" / "startup" / "warm_up.py"
        startup.parent.mkdir(parents=True)
        startup.write_text("import sklearn.datasets, tensorflow\ndel sklearn, tensorflow\n")
        self.root = folder / "root"
        self.root.mkdir(parents=True)
        (self.port,) = free_ports(1)
        words = [sys.executable, "-m", "tests.lab.server", "--no-browser", f"--port={self.port}"]
        words += ["--ServerApp.port_retries=0", "--IdentityProvider.token=", "--allow-root"]
        words += ["--ServerApp.disable_check_xsrf=True"]  # for `_ask`
        words += ["--expose-app-in-browser", f"--ServerApp.root_dir={self.root}"]
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), os.environ.get("PYTHONPATH", "")]
        ).strip(":")
        self._endings: list[threading.Thread] = []
        self._spare: str | None = None  # the kernel that waits for a notebook
        self._shared: str | None = None  # the one that boards have, one after the other
        self.page: Page | None = None  # the page that waits for one, after the first
        self._log = open(folder / "lab.log", "wb")  # noqa: SIM115 - closed in close()
        self._server = subprocess.Popen(
            words, env=environment, stdout=self._log, stderr=subprocess.STDOUT, cwd=self.root
        )
        wait_until_up(self._server, f"http://127.0.0.1:{self.port}/api", folder / "lab.log")

    def notebook(self, name: str, *cells: str) -> Path:
        """Write a notebook of code cells into the root."""
        path = self.root / f"{name}.ipynb"
        write_notebook(path, cells)
        return path

    def kernels(self) -> list[dict[str, str]]:
        """The server's list of kernels."""
        kernels: list[dict[str, str]] = self._ask("GET", "kernels")
        return kernels

    def give_kernel(self, path: Path, *, shared: bool) -> None:
        """Begin the session of a notebook, in a kernel of its own or in the `shared` one."""
        if shared:
            kernel = self._shared = self._shared or self._take_spare()
        else:
            kernel = self._take_spare()
        session = {"path": path.name, "name": path.name, "type": "notebook"}
        self._ask("POST", "sessions", session | {"kernel": {"id": kernel}})

    def spoil_shared(self) -> None:
        """Have the next notebook that would share a kernel begin with another one."""
        self._shared = None

    def end_kernels(self, *, wait: bool = False) -> None:
        """Have every kernel of a notebook shut down: one that trains on would slow the next test.

        That takes seconds, in which the next test can begin. A notebook that is opened again waits:
        else it is given the kernel that ends, and then starts another one.
        """
        for kernel in self.kernels():
            if kernel["id"] not in (self._spare, self._shared):
                ending = threading.Thread(target=self._end_kernel, args=[kernel["id"]])
                ending.start()
                self._endings.append(ending)
        if wait:
            for ending in self._endings:
                ending.join()

    def _end_kernel(self, kernel: str) -> None:
        # It restarts, and trains nothing; or it is shut down since the test before.
        with contextlib.suppress(urllib.error.HTTPError):
            self._ask("DELETE", f"kernels/{kernel}")

    def _take_spare(self) -> str:
        kernel = self._spare or self._start_kernel()
        self._spare = self._start_kernel()
        return kernel

    def _start_kernel(self) -> str:
        started: str = self._ask("POST", "kernels", {"name": "python3"})["id"]
        return started

    def _ask(self, method: str, what: str, body: object = None) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/{what}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method)) as answer:
            return json.loads(answer.read() or b"null")

    def close(self) -> None:
        """End the server, and with it its kernels."""
        for ending in self._endings:
            ending.join()
        self._server.terminate()
        try:
            self._server.wait(20)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._log.close()


class NotebookPage:
    """One notebook in one page of the browser: JupyterLab's, or Notebook's.

    Args:
        page: The page; another notebook of the same server may have been in it.
        address: Of the notebook.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.spoilt = False  # whether the test has changed what belongs to the page, or the kernel
        page.set_default_timeout(60 * SECOND)
        if page.url == "about:blank":
            page.goto(address)
        else:
            page.evaluate(OPEN, address.rpartition("/")[2])
        self.cells = page.locator(".jp-Notebook .jp-CodeCell")
        expect(self.cells.first).to_be_visible(timeout=60 * SECOND)
        self.wait_idle()
        self.theme("JupyterLab Light")  # the one before may have left it dark

    def run(self, index: int, *, wait: bool = True) -> Locator:
        """Click into a cell and press Shift+Enter; returns its output area."""
        cell = self.cells.nth(index)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        if wait:
            self.wait_done(index)
        return cell.locator(".jp-OutputArea").first

    def wait_done(self, index: int) -> None:
        """Wait until a cell has its number: it has been executed."""
        prompt = self.cells.nth(index).locator(".jp-InputPrompt")
        expect(prompt).not_to_have_text("[*]:", timeout=120 * SECOND)
        expect(prompt).not_to_have_text("[ ]:", timeout=120 * SECOND)

    def text(self, index: int) -> str:
        """The text of a cell's output."""
        return self.cells.nth(index).locator(".jp-OutputArea").first.inner_text()

    def panel(self, index: int) -> Locator:
        """The panel in a cell's output."""
        return self.cells.nth(index).locator(".nbt")

    def theme(self, name: str) -> None:
        """Switch the theme of the running page."""
        self.page.evaluate(
            "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name
        )

    def save(self) -> None:
        """Save the notebook."""
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

    def reload(self) -> None:
        """Load the page again, and once more if ipywidgets has lost its widgets.

        It waits two seconds for a widget, looks ten times a second, and not at the end: on a slow
        machine, one that arrives after the last look is "not found", though it is there.
        """
        for _ in range(3):
            self.page.reload()
            lost = self.page.locator(".jp-OutputArea-output", has_text=LOST)
            expect(self.page.locator(".nbt").or_(lost).first).to_be_attached(timeout=120 * SECOND)
            if not lost.count():
                return

    def wait_idle(self) -> None:
        """Wait until the kernel is there and idle."""
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell?.currentWidget?.sessionContext"
            "?.session?.kernel?.status === 'idle'",
            timeout=90 * SECOND,
        )

    def close(self, *, shared: bool) -> bool:
        """Close the notebook; whether the page, and a `shared` kernel, are as before it."""
        if self.spoilt or (shared and self.page.evaluate(TIDY, FORGET) != "ok"):
            return False
        self.page.evaluate(CLOSE)
        try:
            self.page.wait_for_function(CLOSED, timeout=10 * SECOND)
        except Error:
            return False
        return True


@contextlib.contextmanager
def opened(
    browser: Browser, lab: Lab, path: Path, *, shared: bool = False
) -> Iterator[NotebookPage]:
    """A notebook in a page that is its own for as long; another may have been there before.

    Args:
        browser: The browser.
        lab: The server.
        path: Of the notebook.
        shared: Whether others may have been in its kernel too: none of them trained there.
    """
    lab.give_kernel(path, shared=shared)
    page, lab.page = lab.page or browser.new_page(), None
    page.set_viewport_size({"width": 1100, "height": 1500})
    notebook = None
    try:
        notebook = NotebookPage(page, f"http://127.0.0.1:{lab.port}/doc/tree/{path.name}")
        yield notebook
    finally:
        if notebook is not None and notebook.close(shared=shared):
            lab.page = page
        else:
            page.close()
            if shared:
                lab.spoil_shared()
