"""Tab completion for `%nbtrain` and `%%nbtrain`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.display import AnyRun
from nbtrain.notebook.kernel import find_run, named_runs
from nbtrain.notebook.listed_actions import listed_actions
from nbtrain.notebook.options import cell_parser, word_of
from nbtrain.notebook.verb_options import FOLDERS, TABS, add_arguments, verbs
from nbtrain.panel.live.view import controls
from nbtrain.rundir.names import BEST
from nbtrain.rundir.timeline import side_folder
from nbtrain.steer.verbs import CHECKPOINT, HYPERPARAMETER, SCALAR, Kind, named


def candidates(words: Sequence[str], names: Mapping[str, object], begun: str = "") -> list[str]:
    """Returns the words that may come next; empty if the line is not a magic of nbtrain.

    Args:
        words: The words of the line before the word at the cursor.
        names: The notebook's names.
        begun: The part of the word at the cursor before the cursor.
    """
    match words:
        case ["%%nbtrain", *_, "--checkpoint"]:
            return _checkpoints_in(names)
        case ["%%nbtrain", *_, "--hyperparameters"]:
            return _optimizers_in(names)
        case ["%%nbtrain", *given]:
            return _unused(cell_parser(), given)
        case ["%nbtrain"]:
            return list(verbs())
        case ["%nbtrain", name, *given] if name in TABS:
            return _of_board(name, given, begun)
        case ["%nbtrain", name] if name == "runs" or name in FOLDERS:
            return _folders(begun)
        case ["%nbtrain", "replay", _]:
            return _possible("set")
        case ["%nbtrain", name, *given] if name in verbs() or named(name):
            return _behind_verb(name, given)
    return []


def _behind_verb(name: str, given: Sequence[str]) -> list[str]:
    """Returns runs, options, values of an option, and hyperparameters that are not set yet."""
    known = [run for run in named_runs() if run.name in given]
    run, verb = _meant(known), named(name)
    if verb is not None:
        name = verb.in_cell or name
        if wanted := [each.kind for each in verb.arguments if given[-1:] == [each.flag]]:
            return _values(wanted[0], run) if run else []
        if given[-1:] == ["--run"]:
            return _possible(name)
    parser = _parser(name)
    if _wanting(parser, given) is not None:
        return _unused(parser, given)
    if verb is not None and verb.sets_values:
        names = [f"{each}=" for each in run.hyperparameters] if run else []
        left = [each for each in names if not any(word.startswith(each) for word in given)]
        return ([] if given else _possible("set")) + left
    takes_run = any(each.dest == "run" and not each.option_strings for each in parser._actions)
    found = _possible(name) if takes_run and not known else []
    if name == "actions" and any(word.isdecimal() for word in given):
        found = []  # the number is the last word
    elif name == "actions" and run is not None:
        found += [str(number) for number, _ in enumerate(listed_actions(run), 1)]
    return found + _unused(parser, given)


def _values(kind: Kind, run: AnyRun) -> list[str]:
    """Returns the values that an option may have for a run, if they can be listed."""
    if kind is CHECKPOINT:
        return _checkpoints(run)
    if kind is HYPERPARAMETER:
        return list(run.hyperparameters)
    return list(run.scalars) if kind is SCALAR else []


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    add_arguments(parser, name)
    return parser


def _checkpoints(run: AnyRun) -> list[str]:
    held = [*reversed(run.checkpoints)]
    best = [BEST for each in held if side_folder(each.path) == BEST]
    return [*best[:1], *dict.fromkeys(str(each.step) for each in held)]


def _of_board(tab: str, given: Sequence[str], begun: str) -> list[str]:
    """Returns folders and options; as values of `--runs` and `--tags`, those in the folder."""
    match given:
        case []:
            return _folders(begun)
        case [logdir, *_, "--runs" | "--tags" as option]:
            from nbtrain.notebook.boards import opened  # as the magics, with the first board
            from nbtrain.panel.board.index import KIND_OF, selections

            try:
                found = selections(opened(shlex.split(logdir)[0])[0])[KIND_OF.get(tab, "scalars")]
            except (ArgumentError, OSError, ValueError):
                return []
            return [_as_expression(name) for name in getattr(found, option[2:])]
    return _unused(_parser(tab), given)


def _folders(begun: str) -> list[str]:
    """Returns the folders in the folder of `begun`."""
    above, slash, _ = begun.rpartition("/")
    try:
        below = sorted(Path(above + slash).expanduser().iterdir())
    except OSError:
        return []
    return [f"{above}{slash}{path.name}/" for path in below if path.is_dir()]


def _as_expression(name: str) -> str:
    """Returns a regular expression for a name, quoted for the line; usually the name itself."""
    try:
        plain = re.search(name, name) is not None
    except re.error:
        plain = False
    return shlex.quote(name if plain else re.escape(name))


def _meant(named: Sequence[AnyRun]) -> AnyRun | None:
    """Returns the run that a line is about; None if there is none, or several are possible."""
    try:
        return named[0] if named else find_run()
    except ArgumentError:
        return None


def _possible(name: str) -> list[str]:
    """Returns the names of the runs in whose phase a verb has an effect.

    The phases are those in which the panel's button is enabled; a verb without a button has an
    effect in every phase.
    """
    button = "try" if name == "find_learning_rate" else name
    without = button not in ("try", "evaluate", "list")
    return [run.name for run in named_runs() if controls(run.status).get(button, without)]


def _wanting(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Action | None:
    """Returns the option whose value must come next; None if the last word needs no value."""
    options = (each for each in parser._actions if each.nargs != 0)
    return next((each for each in options if {*given[-1:]} & {*each.option_strings}), None)


def _unused(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Returns the options not given yet; if the last option needs a value, its possible values."""
    if (wanting := _wanting(parser, given)) is not None:
        return [*map(word_of, wanting.choices or ())]
    unused = [each for each in parser._actions if not {*each.option_strings} & {*given}]
    return [option for each in unused for option in each.option_strings]


def _checkpoints_in(names: Mapping[str, object]) -> list[str]:
    if (tf := _tensorflow()) is None:
        return []
    return [name for name, value in names.items() if isinstance(value, tf.train.Checkpoint)]


def _optimizers_in(names: Mapping[str, object]) -> list[str]:
    """Returns the names of optimizers, and of dicts of variables or optimizers."""
    if (tf := _tensorflow()) is None:
        return []
    kinds = (tf.Variable, tf.keras.Variable, tf.keras.optimizers.Optimizer)

    def fits(value: object) -> bool:
        held = value.values() if isinstance(value, dict) else ()
        return isinstance(value, kinds[2]) or any(isinstance(item, kinds) for item in held)

    return [name for name, value in names.items() if not name.startswith("_") and fits(value)]


def _tensorflow() -> Any:
    """Returns TensorFlow if it is loaded; otherwise the notebook has no objects of TensorFlow."""
    return sys.modules.get("tensorflow")
