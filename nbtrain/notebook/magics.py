"""The magics: parse a line, call the run, show the answer.

%load_ext nbtrain
%nbtrain                      list the runs
%nbtrain pause [NAME]         and: show, resume, stop, save, restore, wait
%nbtrain set learning_rate=1e-4    give hyperparameters other values
%nbtrain actions [NUMBER]     list the actions of the newest marks, or carry one out
%nbtrain log [NAME]           show what it has printed and logged
%nbtrain runs [LOGDIR]        show the runs below a folder, as a tree of branches
%nbtrain replay LOGDIR [RUN]  show what was done to a run, or do it to another
%nbtrain open LOGDIR          show a run of another process, and steer it
%nbtrain scalars LOGDIR       show what its event files hold; and: images, histograms, ...
%%nbtrain --name digits       run the cell in the background, as the loop of a run
%%nbtrain --detach --with 1-3 run the cell as a program, in a process of its own
"""

from __future__ import annotations

import argparse
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from nbtrain.core.commands import Receipt
from nbtrain.core.errors import NbtrainError, WaitError
from nbtrain.core.log_lines import selected
from nbtrain.core.text_table import in_columns
from nbtrain.notebook.cells import loop_of
from nbtrain.notebook.completion import complete_in
from nbtrain.notebook.detach import detached
from nbtrain.notebook.display import AnyRun, show, show_below, show_panel
from nbtrain.notebook.kernel import at_hand, attached, find_run, runs
from nbtrain.notebook.listed_actions import action_by_number, list_actions
from nbtrain.notebook.options import HelpShown, cell_parser, line_parser, parsed
from nbtrain.notebook.run_tree import tree
from nbtrain.notebook.verb_options import TABS
from nbtrain.remote.attach import attach
from nbtrain.remote.attached import AttachedRun
from nbtrain.run.replay import replay

if TYPE_CHECKING:
    from nbtrain.run.run import Run

# The options of a cell that are no settings of its run.
_OF_THE_CELL = frozenset({"detach", "cells", "checkpoint", "hyperparameters", "evaluate"})

# Seconds that a verb waits for its answer, so that the cell can show it; a step takes less.
_ANSWER_SECS = 1.0


@magics_class
class NbtrainMagics(Magics):
    """`%nbtrain` and `%%nbtrain`."""

    @line_cell_magic
    def nbtrain(self, line: str, cell: str | None = None) -> Any:
        """Controls the runs of this kernel, or runs a cell in the background as a run's loop.

        %nbtrain [list|show|pause|resume|stop|save|restore|evaluate|wait] [NAME]
        %nbtrain set [NAME] HYPERPARAMETER=VALUE ...
        %nbtrain try [NAME] HYPERPARAMETER=VALUE ... [--steps N] [--keep-if TAG]
        %nbtrain actions [NAME] [NUMBER]
        %nbtrain log [NAME] [-n LINES] [--level LEVEL] [--source SOURCE] [--search TEXT]
        %nbtrain note TEXT | tag [TAG ...] [--run NAME]
        %nbtrain runs [LOGDIR] [--tag TAG] [--search TEXT]
        %nbtrain replay LOGDIR [RUN] | open LOGDIR
        %nbtrain scalars LOGDIR [--runs RE] [--tags RE] [--follow] [--smooth S]
                  [--x step|relative|wall]
        %nbtrain images|histograms|distributions|text|audio|hparams LOGDIR [--runs RE]
                  [--tags RE] [--follow]
        %nbtrain custom_scalars|compare LOGDIR [the options of scalars]
        %%nbtrain [--name NAME] [--logdir DIR] [--steps N] [--checkpoint EXPR]
                  [--hyperparameters EXPR] [--evaluate EXPR] [--evaluate-secs S]
                  [--evaluate-steps N] [--save-secs S] [--save-steps N] [--keep N]
                  [--on-nan pause|recover|none] [--jump FACTOR] [--grace SECS]
                  [--mirror URL] [--fresh] [--prints cell|log] [--no-system] [--tags TAG,TAG]
        %%nbtrain --detach [--with CELLS] [the options above]

        `%nbtrain -h`, `%nbtrain restore -h` and `%%nbtrain -h` explain each option.
        """
        __tracebackhide__ = True
        try:
            return self._line(line) if cell is None else self._cell(line, cell)
        except HelpShown:
            return None
        except NbtrainError as error:
            if any(run.error is error for run in runs().values()):
                raise  # the traceback points to the user's own line
            show_below(error)
            raise UsageError(str(error)) from error

    def _line(self, line: str) -> Any:
        __tracebackhide__ = True
        options = parsed(line_parser(), line)
        if options.verb in (None, "list"):
            print(table(at_hand()))
            return None
        if options.verb == "runs":
            print(tree(options.logdir, options.tag, options.search))
            return None
        if options.verb == "replay":
            plan = replay(options.logdir)
            if options.name is None:
                return plan
            return _answered(plan.apply(find_run(options.name)), options.timeout)
        if options.verb == "open":
            return show(_opened(options.logdir))
        if options.verb in TABS:
            _show_board(options)
            return None
        if options.verb == "actions" and options.name not in (
            None,
            *(run.name for run in at_hand()),
        ):
            raise UsageError(
                f"{options.name!r} is neither a run of this kernel nor the number of an action; "
                "%nbtrain actions lists them"
            )
        run = find_run(options.name)
        if options.verb == "show":
            show_panel(run)
            return None
        if options.verb == "log":
            _print_log(run, options)
            return None
        if options.verb == "wait":
            return run.wait(options.timeout)
        if options.verb == "actions" and options.number is None:
            print(list_actions(run))
            return None
        return _steered(run, options)

    def _cell(self, line: str, cell: str) -> Run | AttachedRun:
        __tracebackhide__ = True
        options = parsed(cell_parser(), line)
        shell: Any = self.shell
        if options.detach:
            shell.user_ns["run"] = attached = detached(shell, options, cell)
            return attached
        from nbtrain.engines.loops import background  # loads TensorFlow

        if options.cells:
            raise UsageError("--with is for --detach: a cell of this kernel has all its names.")
        checkpoint = self._value(
            "--checkpoint", options.checkpoint, "a tf.train.Checkpoint of this notebook"
        )
        hyperparameters = self._value(
            "--hyperparameters",
            options.hyperparameters,
            "a dict of this notebook, name to variable",
        )
        evaluate = self._value(
            "--evaluate", options.evaluate, "a function of this notebook that returns scalars"
        )
        settings = {
            name: value for name, value in vars(options).items() if name not in _OF_THE_CELL
        }
        if settings["on_nan"] == "none":
            settings["on_nan"] = None
        run = background(
            self._loop(cell),
            checkpoint=checkpoint,
            hyperparameters=hyperparameters,
            evaluate=evaluate,
            start=False,
            **settings,
        )
        return self._started(run)

    def _started(self, run: Run) -> Run:
        """Starts a run, which the name `run` of the notebook refers to from now on."""
        __tracebackhide__ = True
        shell: Any = self.shell
        names = shell.user_ns
        before = {"run": names["run"]} if "run" in names else {}
        names["run"] = run  # before the start: functions of other cells may look it up
        try:
            return run.start()
        except BaseException:
            del names["run"]
            names.update(before)
            raise

    def _loop(self, cell: str) -> Callable[[Run], object]:
        """Compiles the cell into a function, with the line numbers that the user sees."""
        shell: Any = self.shell
        blank = cell[: len(cell) - len(cell.lstrip())].count("\n")  # IPython removes them
        source = "\n" * (1 + blank) + shell.transform_cell(cell)
        # IPython's own cache of cells: a traceback shows the cell's lines.
        number = len(shell.history_manager.input_hist_parsed) - 1  # the number in In[number]
        filename = shell.compile.cache(source, number)
        try:
            return loop_of(source, filename, shell.user_ns, shell.compile)
        except SyntaxError as error:
            raise UsageError(_explained(error)) from error

    def _value(self, option: str, expression: str | None, wanted: str) -> Any:
        """Evaluates an option's expression in the notebook."""
        __tracebackhide__ = True
        if expression is None:
            return None
        shell: Any = self.shell
        try:
            return eval(expression, shell.user_ns)  # noqa: S307 - the user's own cell
        except Exception as error:
            below = error.__traceback__ and error.__traceback__.tb_next
            if below and below.tb_next:
                raise  # raised in a function that it calls: a traceback shows where
            raise UsageError(
                f"{option} {expression}: {type(error).__name__}: {error}. Give {wanted}, or an "
                "expression that makes one."
            ) from error


def _opened(logdir: str) -> AnyRun:
    """Returns the run of a folder; the one that is attached already, if there is one."""
    folder = Path(logdir).expanduser().absolute()
    return next((run for run in attached() if run.logdir == folder), None) or attach(logdir)


def _print_log(run: AnyRun, options: argparse.Namespace) -> None:
    lines = selected(run.log, level=options.level, source=options.source, text=options.search)
    print("\n".join(map(str, lines[max(0, len(lines) - max(0, options.lines)) :])))


def _steered(run: AnyRun, options: argparse.Namespace) -> Receipt:
    """Posts the command of a line, and waits for its answer."""
    __tracebackhide__ = True
    post: dict[str, Callable[[], Receipt]] = {
        "pause": run.pause,
        "resume": run.resume,
        "stop": run.request_stop,
        "save": run.save,
        "restore": lambda: run.restore(options.step),
        "set": lambda: run.set(**options.values),
        "try": lambda: run.trial(
            options.values,
            steps=options.steps,
            keep_if=options.keep_if,
            repeats=options.repeats,
        ),
        "find_learning_rate": lambda: run.find_learning_rate(
            options.low, options.high, steps=options.steps, tag=options.tag, name=options.rate
        ),
        "evaluate": run.evaluate,
        "note": lambda: run.note(" ".join(options.words)),
        "tag": lambda: run.tag(*options.words),
        "actions": lambda: run.do(action_by_number(run, options.number)),
    }
    return _answered(post[options.verb](), options.timeout)


def _show_board(options: argparse.Namespace) -> None:
    from nbtrain.notebook import boards  # the extension is loaded without them

    given = {**vars(options)}
    logdir = os.path.expanduser(given.pop("logdir"))  # noqa: PTH111 - it may be gs://
    scalars, unread = boards.opened(logdir, given.pop("runs"), given.pop("tags"))
    text = f"<{given['verb']} in {logdir!r}>"  # the same on every execution
    boards.show(scalars, unread=unread, tab=given.pop("verb"), text=text, **given)


def _explained(error: SyntaxError) -> str:
    """Says what is wrong with a cell, and where."""
    _, *shown = traceback.format_exception_only(SyntaxError, error)
    advice = "; the cell runs as a loop, in a thread of its own" if "outside" in error.msg else ""
    return f"line {error.lineno} of the cell: {error.msg}{advice}\n{''.join(shown[:-1])}".rstrip()


def _answered(receipt: Receipt, timeout: float | None) -> Receipt:
    """Waits for the answer to a receipt; None waits as long as it takes."""
    try:
        receipt.wait(_ANSWER_SECS if timeout is None else timeout)
    except WaitError:
        if timeout is not None:
            raise
    return receipt


def table(listed: Sequence[AnyRun]) -> str:
    """Formats runs as a table: name, phase, step and folder."""
    if not listed:
        return "No run has been started in this kernel."
    rows = [("run", "phase", "step", "folder")]
    for run in listed:
        total = f" of {run.total_steps:,}" if run.total_steps else ""
        step = f"{run.status.step:,}{total}"
        rows.append((run.name, str(run.status.phase), step, os.path.relpath(run.logdir)))
    return in_columns(rows)


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics and their completion: `%load_ext nbtrain`."""
    shell.register_magics(NbtrainMagics)
    complete_in(shell)
