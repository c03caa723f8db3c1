"""The magics: parse a line, call the run, show the answer.

%load_ext nbtrain
%nbtrain                      list the runs
%nbtrain pause [NAME]         and: show, resume, stop, save, restore, wait
%%nbtrain --name digits       run the cell in the background, as the loop of a run
"""

from __future__ import annotations

import argparse
import shlex
from collections import ChainMap
from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from nbtrain import notebook
from nbtrain.engines.steps import background
from nbtrain.errors import NbtrainError
from nbtrain.panel.view import sentence
from nbtrain.run import Run, find_run, runs


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser for which a wrong line is an error of the cell, not of the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")

    def exit(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise _HelpShown


class _HelpShown(Exception):  # noqa: N818 - no error: the help was asked for
    """The help was printed; there is nothing more to do."""


def line_parser() -> argparse.ArgumentParser:
    """The parser of `%nbtrain`."""
    parser = _Parser(prog="%nbtrain", description="Steer the runs of this kernel.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    for verb, text in VERBS.items():
        sub = verbs.add_parser(verb, help=text, description=text)
        if verb == "list":
            continue
        sub.add_argument("name", nargs="?", help="a run's name; without it, the last one started")
        if verb == "restore":
            sub.add_argument(
                "--step", type=int, help="the checkpoint of this step; else the latest"
            )
        if verb != "show":
            sub.add_argument("--timeout", type=float, help="seconds to wait at most")
    return parser


def cell_parser() -> argparse.ArgumentParser:
    """The parser of `%%nbtrain`."""
    parser = _Parser(
        prog="%%nbtrain",
        description="Run the cell in the background as the loop of a run. The cell asks "
        "run.should_stop() once a step, and records with run.record(loss=...).",
    )
    add = parser.add_argument
    add("--name", help="the run's name; without it, a new numbered one")
    add("--logdir", help="the run's folder; without it, runs/NAME")
    add("--steps", type=int, help="the step at which the run finishes")
    add("--checkpoint", metavar="EXPR", help="what to save: a tf.train.Checkpoint of this notebook")
    add("--save-secs", type=float, default=600.0, help="seconds between two checkpoints (600)")
    add("--save-steps", type=int, help="steps between two checkpoints")
    add("--keep", type=int, default=5, help="how many checkpoints stay (5)")
    return parser


VERBS = {
    "list": "list the runs",
    "show": "show the panel",
    "pause": "take no further step until resumed",
    "resume": "go on after a pause",
    "stop": "end the run after the step at hand, with a last checkpoint",
    "save": "write a checkpoint now",
    "restore": "go back to a checkpoint",
    "wait": "wait for the end, and show it",
}


class _CellNames(ChainMap[str, Any]):
    """The notebook's names, with `run` always the run that the cell belongs to."""

    def __init__(self, run: Run, names: dict[str, Any]) -> None:
        super().__init__({"run": run}, names)

    def __setitem__(self, name: str, value: Any) -> None:
        self.maps[1][name] = value

    def __delitem__(self, name: str) -> None:
        del self.maps[1][name]


@magics_class
class NbtrainMagics(Magics):
    """`%nbtrain` and `%%nbtrain`."""

    @line_cell_magic
    def nbtrain(self, line: str, cell: str | None = None) -> Any:
        """Steer the runs of this kernel, or run a cell in the background as a run's loop.

        %nbtrain [list|show|pause|resume|stop|save|restore|wait] [NAME]
        %%nbtrain [--name NAME] [--logdir DIR] [--steps N] [--checkpoint EXPR]
                  [--save-secs S] [--save-steps N] [--keep N]

        `%nbtrain -h`, `%nbtrain restore -h` and `%%nbtrain -h` explain each option.
        """
        try:
            if cell is None:
                return self._line(line)
            return self._cell(line, cell)
        except _HelpShown:
            return None
        except NbtrainError as error:
            raise UsageError(str(error)) from error

    def _line(self, line: str) -> Any:
        options = line_parser().parse_args(shlex.split(line))
        if options.verb in (None, "list"):
            return self._list()
        run = find_run(options.name)
        if options.verb == "show":
            notebook.show_panel(run)
            return None
        if options.verb == "wait":
            return run.wait(options.timeout)
        post: dict[str, Callable[[], Any]] = {
            "pause": run.pause,
            "resume": run.resume,
            "stop": run.request_stop,
            "save": run.save,
            "restore": lambda: run.restore(options.step),
        }
        receipt = post[options.verb]()
        if options.timeout is not None:
            receipt.wait(options.timeout)
        return receipt

    def _list(self) -> None:
        known = runs()
        for run in known.values():
            print(sentence(run.status))
        if not known:
            print("No run has been started in this kernel.")

    def _cell(self, line: str, cell: str) -> Run:
        options = cell_parser().parse_args(shlex.split(line))
        shell: Any = self.shell
        checkpoint = None
        if options.checkpoint is not None:
            checkpoint = eval(options.checkpoint, shell.user_ns)  # noqa: S307 - the user's own cell
        source = shell.transform_cell(cell)
        # IPython's own cache of cells: a traceback shows the cell's lines.
        code = compile(source, shell.compile.cache(source), "exec")

        def loop(run: Run) -> None:
            exec(code, shell.user_ns, _CellNames(run, shell.user_ns))  # noqa: S102 - as above

        run: Run = background(
            loop,
            steps=options.steps,
            checkpoint=checkpoint,
            logdir=options.logdir,
            name=options.name,
            save_secs=options.save_secs,
            save_steps=options.save_steps,
            keep=options.keep,
            start=False,
        )
        before = {name: shell.user_ns[name] for name in ("run",) if name in shell.user_ns}
        shell.user_ns["run"] = run  # functions that the cell defines look for it there
        try:
            return run.start()
        except BaseException:
            del shell.user_ns["run"]
            shell.user_ns.update(before)
            raise


def _complete(_shell: Any, event: Any) -> list[str]:
    """Verbs, then names of runs and options, for IPython's completer."""
    if event.line.lstrip().startswith("%%"):
        return [option for action in cell_parser()._actions for option in action.option_strings]
    words = event.line.split()
    if len(words) < 2 or (len(words) == 2 and not event.line.endswith(" ")):
        return list(VERBS)
    return [*runs(), "--timeout", *(["--step"] if words[1] == "restore" else [])]


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and their completion: `%load_ext nbtrain`."""
    shell.register_magics(NbtrainMagics)
    for name in ("%nbtrain", "%%nbtrain"):
        shell.set_hook("complete_command", _complete, str_key=name)
