"""Waiting for steps in JupyterLab."""

from __future__ import annotations

from tests.lab.lab import NotebookPage


def wait_for_step(page: NotebookPage, index: int, step: int) -> None:
    page.page.wait_for_function(
        "([index, step]) => Number(document.querySelectorAll('.jp-CodeCell')[index]"
        ".querySelector('.nbt')?.dataset.step ?? 0) >= step",
        arg=[index, step],
    )


# As with ipykernel 6: clicks wait for the running cell.
UNROUTED = """\
from nbtrain.notebook import display
display.harden = lambda widget: None
"""
