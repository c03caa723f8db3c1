"""Trains TensorFlow models in the background of a notebook, controlled from the cell."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtrain import cluster as cluster
    from nbtrain import media as media
    from nbtrain import tf1 as tf1
    from nbtrain.core.errors import NbtrainError
    from nbtrain.engines.foreground import track
    from nbtrain.engines.loading import load
    from nbtrain.engines.loops import background
    from nbtrain.engines.steps import train
    from nbtrain.keras.callback import RunCallback
    from nbtrain.keras.fit import fit
    from nbtrain.logdir.comparison import compare
    from nbtrain.logdir.hparams import hparams
    from nbtrain.logdir.scalars import scalars
    from nbtrain.logdir.summaries import summaries
    from nbtrain.notebook.kernel import runs
    from nbtrain.notebook.magics import load_ipython_extension
    from nbtrain.remote.attach import attach
    from nbtrain.remote.attached import AttachedRun
    from nbtrain.remote.launch import launch
    from nbtrain.run.run import Run
    from nbtrain.steer.replay import replay
    from nbtrain.tf1 import *  # noqa: F403 - the spellings of before `nbtrain.tf1`

__version__ = "0.1.0"
__all__ = [
    "NbtrainError",
    "Run",
    "RunCallback",
    "attach",
    "background",
    "cluster",
    "compare",
    "fit",
    "hparams",
    "launch",
    "load",
    "load_ipython_extension",
    "media",
    "replay",
    "runs",
    "scalars",
    "summaries",
    "tf1",
    "track",
    "train",
]

# The module of each name, loaded on first use, so that `import nbtrain` is fast.
_HOMES = {
    "NbtrainError": "nbtrain.core.errors",
    "Run": "nbtrain.run.run",
    "RunCallback": "nbtrain.keras.callback",
    "attach": "nbtrain.remote.attach",
    "background": "nbtrain.engines.loops",
    "compare": "nbtrain.logdir.comparison",
    "fit": "nbtrain.keras.fit",
    "hparams": "nbtrain.logdir.hparams",
    "launch": "nbtrain.remote.launch",
    "load": "nbtrain.engines.loading",
    "load_ipython_extension": "nbtrain.notebook.magics",
    "replay": "nbtrain.steer.replay",
    "runs": "nbtrain.notebook.kernel",
    "scalars": "nbtrain.logdir.scalars",
    "summaries": "nbtrain.logdir.summaries",
    "track": "nbtrain.engines.foreground",
    "train": "nbtrain.engines.steps",
}

# TensorFlow 1's classes are in `nbtrain.tf1`; their older names, such as `nbtrain.Supervisor`,
# still work.
_IN_TF1 = (
    "Coordinator",
    "EvalHook",
    "LooperThread",
    "QueueRunner",
    "RunHook",
    "Saver",
    "SessionManager",
    "Supervisor",
    "monitor",
    "supervise",
)
_HOMES |= dict.fromkeys(_IN_TF1, "nbtrain.tf1")


def __getattr__(name: str) -> Any:
    if name in ("cluster", "media", "tf1"):
        return importlib.import_module(f"nbtrain.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'nbtrain' has no attribute {name!r}")
    found = _public(name)
    if "nbtrain.steer.surroundings" in sys.modules and not (_shell() or _in_marimo()):
        importlib.import_module("nbtrain.terminal.script").register()
    return found


@functools.cache
def _public(name: str) -> Any:
    """Returns a public object; a function suggests a name for an unknown keyword argument."""
    found = getattr(importlib.import_module(_HOMES[name]), name)
    if name in _IN_TF1 or isinstance(found, type):
        return found
    return importlib.import_module("nbtrain.core.keywords").refusing(found, "nbtrain")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _show(run: Run | AttachedRun) -> None:
    """Shows a run in the calling cell; loads the panel."""
    importlib.import_module("nbtrain.notebook.display").show(run)


def _shell() -> Any:
    """Returns the running IPython; None if there is none."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _meet_ipython() -> None:
    """Registers nbtrain with a running IPython, which then shows runs, boards and errors."""
    if (shell := _shell()) is not None:
        from nbtrain.core.errors import NbtrainError
        from nbtrain.notebook.surroundings import Notebook
        from nbtrain.steer import surroundings

        surroundings.current = Notebook(shell)
        formatter = shell.display_formatter.ipython_display_formatter
        formatter.for_type_by_name("nbtrain.run.run", "Run", _show)
        formatter.for_type_by_name("nbtrain.remote.attached", "AttachedRun", _show)
        formatter.for_type_by_name(
            "nbtrain.logdir.scalars",
            "Scalars",
            lambda scalars: importlib.import_module("nbtrain.notebook.boards").show(scalars),
        )
        for module, name, tab in (
            ("hparams", "HParams", "hparams"),
            ("comparison", "Comparison", "compare"),
            ("summaries", "Summaries", None),
        ):
            formatter.for_type_by_name(
                f"nbtrain.logdir.{module}",
                name,
                lambda found, tab=tab: importlib.import_module("nbtrain.notebook.boards").show(
                    found.scalars, tab=tab or found.kind, text=repr(found)
                ),
            )
        NbtrainError._render_traceback_ = lambda error: importlib.import_module(
            "nbtrain.notebook.display"
        ).traceback_of(error)


def _in_marimo() -> bool:
    """Returns whether marimo runs this process; False for a marimo that cannot tell."""
    running = getattr(sys.modules.get("marimo"), "running_in_notebook", None)
    return running is not None and bool(running())


_meet_ipython()
if _in_marimo():
    importlib.import_module("nbtrain.notebook.marimo").register()
