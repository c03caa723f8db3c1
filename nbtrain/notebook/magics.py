"""The magics: each parses a line, steers a run, and shows the answer.

%load_ext nbtrain
%nbtrain                      list the runs
%nbtrain pause [NAME]         steer a run; `%nbtrain -h` lists the verbs
%nbtrain scalars LOGDIR       show the scalars of event files; also images, histograms, ...
%%nbtrain --name digits       run the cell in the background, as the loop of a run
%%nbtrain --detach --with 1-3 run the cell as a program, in a separate process
"""

from __future__ import annotations

import argparse
import inspect
import os
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from nbtrain.core.errors import NbtrainError
from nbtrain.notebook.options import HelpShown, cell_parser, in_options, line_parser, parsed
from nbtrain.notebook.verb_options import TABS, verbs

if TYPE_CHECKING:
    from nbtrain.remote.attached import AttachedRun
    from nbtrain.run.run import Run

# Modules about runs are imported where they are used, because a board needs none of them.

_NAME = "nbtrain"


@magics_class
class NbtrainMagics(Magics):
    """`%nbtrain` and `%%nbtrain`."""

    @line_cell_magic
    def nbtrain(self, line: str, cell: str | None = None) -> Any:
        """Steers runs, or runs a cell in the background as the loop of a run.

        %nbtrain VERB [NAME] [OPTION ...]
        %%nbtrain [--checkpoint EXPR] [--hyperparameters EXPR] [--evaluate EXPR]
                  [options of nbtrain.background, such as --name NAME or --save-secs SECS]
        %%nbtrain --detach [--with CELLS] [the options above]

        `%nbtrain restore -h` explains the options of a verb, `%%nbtrain -h` those of a cell.

        The verbs:
        """
        __tracebackhide__ = True
        try:
            return _line(line) if cell is None else self._cell(line, cell)
        except HelpShown:
            return None
        except NbtrainError as error:
            from nbtrain.notebook.display import show_below
            from nbtrain.notebook.kernel import runs

            if any(run.error is error for run in runs().values()):
                raise  # the traceback points to the user's own line
            show_below(error)
            raise UsageError(str(error) if cell is None else in_options(str(error))) from error

    nbtrain.__doc__ = inspect.cleandoc(nbtrain.__doc__ or "") + "".join(
        f"\n%nbtrain {name:<20}{text}" for name, text in verbs().items()
    )

    def _cell(self, line: str, cell: str) -> Run | AttachedRun:
        __tracebackhide__ = True
        options = vars(parsed(cell_parser(), line))
        if options.pop("detach", False):
            from nbtrain.notebook.detach import detached

            self.shell.user_ns["run"] = attached = detached(self.shell, options, cell)
            return attached
        from nbtrain.notebook.cell_run import start

        return start(self.shell, options, cell)


def _line(line: str) -> Any:
    __tracebackhide__ = True
    options = parsed(line_parser(), line)
    if options.verb in TABS:
        _show_board(options)
        return None
    from nbtrain.notebook.verbs import execute

    return execute(options)


def _show_board(options: argparse.Namespace) -> None:
    from nbtrain.notebook import boards  # the extension is loaded without them

    given = {**vars(options)}
    logdir = os.path.expanduser(given.pop("logdir"))  # noqa: PTH111 - it may be gs://
    scalars, unread = boards.opened(logdir, given.pop("runs"), given.pop("tags"))
    text = f"<{given['verb']} in {logdir!r}>"  # the same on every execution
    boards.show(scalars, unread=unread, tab=given.pop("verb"), text=text, **given)


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics and their completion: `%load_ext nbtrain`."""
    shell.register_magics(NbtrainMagics)
    _complete_in(shell)


def _complete_in(shell: Any) -> None:
    """Registers the completion of the magics with an IPython shell.

    A matcher is used because, after a completer of `set_hook("complete_command", ...)`, Jedi would
    add Python's own words.
    """

    @context_matcher(identifier=_NAME)
    def matcher(context: CompletionContext) -> dict[str, Any]:
        from nbtrain.notebook.completion import candidates

        text = context.text_until_cursor
        words = text.split()
        begun = "" if not words or text[-1].isspace() else words.pop()
        found = [word for word in candidates(words, shell.user_ns, begun) if word.startswith(begun)]
        return {
            "completions": [SimpleCompletion(word) for word in found],
            "suppress": True,
            "ordered": True,
            "matched_fragment": begun,
        }

    others = [
        other
        for other in shell.Completer.custom_matchers
        if getattr(other, "matcher_identifier", None) != _NAME  # left by an earlier load
    ]
    shell.Completer.custom_matchers = [*others, matcher]
