"""The magics, in a real IPython: parse a line, call the run, show the answer."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import nbtrain
from nbtrain.core.errors import BusyError
from nbtrain.core.states import Phase
from nbtrain.rundir.journal import MOST_MARKS, Mark
from tests.gate import SOON
from tests.logdirs import write_graph, write_pr_curves
from tests.models import Counter, applied, reached
from tests.shells import own_shell
from tests.training.slopes import Slope

LOOP = """
while not run.should_stop():
    run.record(loss=1.0)
"""


@pytest.fixture(scope="module")
def ipython(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A shell with the extension loaded, its profile in a folder of its own."""
    with own_shell(tmp_path_factory.mktemp("ipython")) as shell:
        shell.run_line_magic("load_ext", "nbtrain")
        yield shell


@pytest.fixture
def shell(ipython: Any) -> Iterator[Any]:
    """The shell with its first namespace; `%reset` would also collect garbage, a second long."""
    before = dict(ipython.user_ns)
    ipython.user_ns["tf"] = tf
    yield ipython
    ipython.user_ns.clear()
    ipython.user_ns.update(before)


def line(shell: Any, text: str) -> Any:
    """Returns the result of `%nbtrain text`."""
    return shell.run_line_magic("nbtrain", text)


def cell(shell: Any, options: str, body: str = LOOP) -> nbtrain.Run:
    """The run that a cell `%%nbtrain options` starts."""
    run = shell.run_cell_magic("nbtrain", options, body)
    assert isinstance(run, nbtrain.Run)
    return run


def ended(run: nbtrain.Run) -> nbtrain.Run:
    """The run, stopped."""
    run.request_stop()
    return run.wait(SOON)


# --- the cell -------------------------------------------------------------------


def test_a_cell_runs_in_the_background_as_the_loop_of_a_run(shell: Any) -> None:
    run = cell(shell, "--name mine --steps 20", "import math\n" + LOOP + "\ndone = math.pi\n")
    assert shell.user_ns["run"] is run
    assert nbtrain.runs() == {"mine": run}
    run.wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert run.scalars["loss"].steps.tolist() == list(range(1, 21))
    assert shell.user_ns["done"] == shell.user_ns["math"].pi, "its names are the notebook's"


def test_a_cell_without_options_gets_a_numbered_name(shell: Any) -> None:
    assert ended(cell(shell, "")).name == "loop-1"
    assert ended(cell(shell, "")).name == "loop-2"


def test_a_cell_takes_every_option(shell: Any, tmp_path: Path) -> None:
    counter = Counter()
    shell.user_ns["counter"] = counter
    run = cell(
        shell,
        "--name a --logdir 'my runs/a' --steps 30 --checkpoint counter.checkpoint "
        "--save-steps 10 --save-secs 0 --keep 2 --on-nan recover --jump 10",
        "while not run.should_stop(): run.record(counter.step())",
    ).wait(SOON)
    assert run.logdir == tmp_path / "my runs" / "a"
    assert [checkpoint.step for checkpoint in run.checkpoints] == [20, 30]


def test_what_a_cell_gives_arrives_in_the_settings_of_its_run(shell: Any) -> None:
    options = "--steps 3 --save-secs none --keep none --grace 3 --prints log --no-system --tags a,b"
    settings = cell(shell, options).wait(SOON).attempt.context.settings
    assert (settings.steps, settings.save_secs, settings.keep, settings.grace) == (3, None, None, 3)
    assert (settings.prints, settings.system, [*settings.tags]) == ("log", False, ["a", "b"])
    assert settings.on_nan == "pause", "not given: the default"


def test_a_checkpoint_may_be_any_expression(shell: Any) -> None:
    shell.user_ns["v"] = tf.Variable(1.0)
    run = cell(shell, "--steps 3 --checkpoint 'tf.train.Checkpoint(v=v)'").wait(SOON)
    assert [checkpoint.step for checkpoint in run.checkpoints] == [3]


def test_a_cell_takes_hyperparameters(shell: Any) -> None:
    shell.user_ns["rate"] = tf.Variable(0.5)
    body = "while not run.should_stop(): run.record(rate=rate.read_value())"
    run = cell(shell, "--steps 3 --hyperparameters '{\"rate\": rate}'", body).wait(SOON)
    assert run.hyperparameters == {"rate": 0.5}


def test_a_cell_takes_a_config(shell: Any) -> None:
    shell.user_ns["options"] = {"units": 64}
    run = cell(shell, "--steps 3 --config options").wait(SOON)
    assert run.status.config == {"units": 64}


def test_a_cell_evaluates(shell: Any) -> None:
    shell.user_ns["evaluate"] = lambda: {"loss": 2.0}
    run = cell(shell, "--steps 4 --evaluate evaluate --evaluate-steps 2").wait(SOON)
    assert run.scalars["val_loss"].steps.tolist() == [2, 4]
    assert run.scalars["val_loss"].values.tolist() == [2.0, 2.0]


def test_a_run_is_evaluated_and_an_edit_tried_by_a_line(shell: Any) -> None:
    rate = tf.Variable(0.5)
    shell.user_ns.update(rate=rate, evaluate=lambda: {"loss": float(rate.numpy())})
    options = "--name mine --evaluate evaluate --hyperparameters '{\"rate\": rate}'"
    run = cell(shell, options, "while not run.should_stop(): run.record(loss=rate.read_value())")
    evaluated = shell.run_line_magic("nbtrain", "evaluate --timeout 60")
    assert evaluated.outcome.text == "val_loss 0.5"
    tried = shell.run_line_magic("nbtrain", "try mine rate=0.25 --steps 8 --timeout 60")
    assert (tried.outcome.kept, run.hyperparameters["rate"]) == (True, 0.25)
    tried = shell.run_line_magic("nbtrain", "try rate=1 --steps 8 --keep-if loss --timeout 60")
    assert (tried.outcome.kept, run.hyperparameters["rate"]) == (False, 0.25)
    ended(run)


def test_several_values_are_tried_by_a_line_which_shows_the_table(shell: Any) -> None:
    rate = tf.Variable(0.5)
    shell.user_ns.update(rate=rate, saved=tf.train.Checkpoint(rate=rate))
    options = "--name mine --checkpoint saved --hyperparameters '{\"rate\": rate}'"
    run = cell(shell, options, "while not run.should_stop(): run.record(loss=rate.read_value())")
    reached(run, lambda run: run.status.step > 9)
    line = "try mine rate=0.25,1 --steps 8 --keep-if loss --repeats 2 --timeout 60"
    tried = shell.run_line_magic("nbtrain", line)
    assert [arm.after for arm in tried.outcome.arms] == [(0.25, 0.25), (1.0, 1.0)]
    assert "values     loss before  after  difference  spread" in repr(tried)
    wrong = shell.run_line_magic("nbtrain", "try mine rate=0.25,low --keep-if loss --timeout 60")
    assert "rate='low' is no number" in wrong.outcome.text
    wrong = shell.run_line_magic("nbtrain", "set mine rate=0.25,1 --timeout 60")
    assert "rate='0.25,1' is no number" in wrong.outcome.text
    ended(run)


def test_a_cell_sees_its_own_run_whatever_the_notebook_calls_run(shell: Any) -> None:
    first = cell(shell, "--name first", LOOP.replace("loss", "one"))
    reached(first, lambda run: run.status.step > 0)
    second = cell(shell, "--name second", LOOP.replace("loss", "two"))
    assert shell.user_ns["run"] is second
    reached(second, lambda run: run.status.step > 0)
    ended(second)
    shell.user_ns["run"] = None
    step = first.status.step
    reached(first, lambda run: run.status.step > step)
    ended(first)
    assert (list(first.scalars), list(second.scalars)) == (["one"], ["two"])


def test_a_function_of_the_cell_sees_the_cells_own_run_too(shell: Any) -> None:
    body = """
def report():
    run.record(TAG=1.0)
while not run.should_stop():
    report()
"""
    first = cell(shell, "--name first", body.replace("TAG", "one"))
    second = cell(shell, "--name second", body.replace("TAG", "two"))
    step = first.status.step
    reached(first, lambda run: run.status.step > step + 2)
    reached(second, lambda run: run.status.step > 2)
    ended(first)
    ended(second)
    assert (list(first.scalars), list(second.scalars)) == (["one"], ["two"])


def test_a_cell_whose_names_are_rebound_pauses(shell: Any) -> None:
    shell.user_ns["v"] = tf.Variable(0.0)
    run = cell(shell, "--name mine", LOOP.replace("1.0", "v.assign_add(1.0)"))
    reached(run, lambda run: run.status.step > 0)
    shell.user_ns["v"] = tf.Variable(0.0)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    assert "v is no longer what the run started with" in (run.status.message or "")
    ended(run)


def test_magics_and_shell_syntax_work_in_the_cell(shell: Any) -> None:
    run = cell(shell, "--steps 1", "%timeit -n1 -r1 -q 1\n" + LOOP).wait(SOON)
    assert run.status.phase is Phase.FINISHED


def test_an_error_in_the_cell_shows_the_cells_own_line(shell: Any) -> None:
    body = "while not run.should_stop():\n    raise ValueError('my mistake')  # here\n"
    run = cell(shell, "", body)
    with pytest.raises(ValueError, match="my mistake"):
        run.wait(SOON)
    assert "raise ValueError('my mistake')  # here" in (run.status.error or "")


def test_a_cell_that_cannot_be_compiled_starts_nothing(shell: Any) -> None:
    shell.user_ns["run"] = "mine"
    with pytest.raises(UsageError, match=r"(?s)^line 3 of the cell: .*\n +while not run\.should_"):
        cell(shell, "--name broken", "\nwhile not run.should_stop()\n")
    assert nbtrain.runs() == {}
    assert shell.user_ns["run"] == "mine"
    assert not Path("runs").exists()


def test_a_refused_cell_leaves_run_as_it_was(shell: Any) -> None:
    first = cell(shell, "--name mine")
    with pytest.raises(UsageError, match="held by the run 'mine' in this kernel"):
        cell(shell, "--name mine")
    assert shell.user_ns["run"] is first
    ended(first)


@pytest.mark.parametrize("statement", ["return", "await run"])
def test_a_cell_that_would_leave_its_thread_is_refused_with_the_line(
    shell: Any, statement: str
) -> None:
    message = r"line 3 of the cell: .* outside function; the cell runs as a loop, in a separate"
    with pytest.raises(UsageError, match=message):
        cell(shell, "", f"while not run.should_stop():\n    {statement}\n")
    assert nbtrain.runs() == {}


def test_a_cell_without_a_step_boundary_is_refused(shell: Any) -> None:
    with pytest.raises(UsageError, match=r"The cell has no step boundary"):
        cell(shell, "", "print('hello')\n")
    assert nbtrain.runs() == {}


def test_an_error_in_a_function_that_makes_the_checkpoint_shows_its_line(shell: Any) -> None:
    shell.run_cell("def make():\n    raise KeyError('mine')\n")
    with pytest.raises(KeyError, match="mine"):
        cell(shell, "--checkpoint make()")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--checkpoint nosuch",
            "--checkpoint nosuch: NameError: name 'nosuch' is not defined. Give",
        ),
        ("--checkpoint tf.nosuch", r"AttributeError: .*\. Give a tf\.train\.Checkpoint"),
        ("--checkpoint '1 +'", r"--checkpoint 1 \+: SyntaxError: invalid syntax"),
        ("--name 'mine", "%%nbtrain --name 'mine: No closing quotation; close the quotes"),
        ("--steps -1", "steps=-1: give a whole number of at least 1"),
        ("--steps many", "steps='many': give a whole number of at least 1"),
        ("--color red", "unrecognized arguments: --color red"),
        ("--keep 0", "keep=0"),
        ("--on-nan stop", "argument --on-nan: invalid choice: 'stop'"),
        ("--jump 0.5", "jump=0.5: give a factor above 1"),
        ("--jump 10 --on-nan none", "jump=10.0 has no effect with on_nan=None"),
        ("--name a/b", "name='a/b' cannot name a folder"),
        ("--checkpoint 3", r"checkpoint=int object: give tf\.train\.Checkpoint"),
        (
            "--checkpoint \"tf.train.CheckpointManager(tf.train.Checkpoint(), 'kept', 3)\"",
            r"checkpoint=CheckpointManager object: give its \.checkpoint, as in manager\.check",
        ),
        ("--hyperparameters rate", r"--hyperparameters rate: NameError.*Give a dict of this"),
        ("--hyperparameters 3", r"hyperparameters=3: give them by name"),
    ],
)
def test_a_wrong_option_is_an_error_of_the_cell_and_starts_nothing(
    shell: Any, options: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        cell(shell, options)
    assert nbtrain.runs() == {}
    assert "run" not in shell.user_ns


def test_a_cell_that_is_executed_twice_names_the_line_that_stops_its_run(shell: Any) -> None:
    run = cell(shell, "--name mine")
    with pytest.raises(UsageError, match=r"Or give another --name or --logdir\.") as refusal:
        cell(shell, "--name mine")
    (stop,) = re.findall(r"Stop it first: (.*; run\.wait\(\))\.", str(refusal.value))
    shell.run_cell(f"import nbtrain\n{stop}").raise_error()
    assert run.status.phase is Phase.STOPPED
    ended(cell(shell, "--name mine"))


def test_a_start_that_is_executed_twice_names_the_line_that_stops_its_run(shell: Any) -> None:
    start = "run = nbtrain.train(Counter().step, name='mine')"
    shell.run_cell(f"import nbtrain\nfrom tests.models import Counter\n{start}").raise_error()
    refusal = shell.run_cell(start).error_in_exec
    assert isinstance(refusal, BusyError)
    assert "Or give another name= or logdir=." in str(refusal)
    (stop,) = re.findall(r"Stop it first: (.*; run\.wait\(\))\.", str(refusal))
    shell.run_cell(stop).raise_error()
    assert shell.user_ns["run"].status.phase is Phase.STOPPED
    shell.run_cell(start).raise_error()
    ended(shell.user_ns["run"])


def test_a_wrong_line_says_how_it_is_used(shell: Any) -> None:
    with pytest.raises(UsageError, match=r"usage: %%nbtrain \[-h\] \[--detach\]"):
        cell(shell, "--color red")
    with pytest.raises(UsageError, match=r"usage: %nbtrain"):
        line(shell, "explode")


# --- the line -------------------------------------------------------------------


def test_without_runs_the_list_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    line(shell, "")
    assert capsys.readouterr().out == "No run has been started in this kernel.\n"


@pytest.mark.parametrize("text", ["", "list"])
def test_the_list_has_a_line_for_each_run(
    shell: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        cell(shell, f"--name {name} --steps 1240").wait(SOON)
    assert line(shell, text) is None
    assert capsys.readouterr().out.splitlines() == [
        "run  phase     step            folder",
        f"one  finished  1,240 of 1,240  {Path('runs/one')}",
        f"two  finished  1,240 of 1,240  {Path('runs/two')}",
    ]


def test_a_run_is_steered_by_its_name(shell: Any) -> None:
    counter = Counter()
    shell.user_ns["counter"] = counter
    body = "while not run.should_stop(): run.record(counter.step())"
    first = cell(shell, "--name first --checkpoint counter.checkpoint", body)
    second = cell(shell, "--name second")
    applied(line(shell, "pause first"))
    assert second.status.phase is Phase.RUNNING
    assert first.status.phase is Phase.PAUSED
    step = applied(line(shell, "save first")).step
    assert first.checkpoints[-1].step == step
    applied(line(shell, "resume first"))
    assert first.status.phase is Phase.RUNNING
    assert f"restored ckpt-{step}" in applied(line(shell, f"restore first --step {step}")).text
    assert f"restored ckpt-{step}" in applied(line(shell, "restore first")).text
    applied(line(shell, "stop second"))
    applied(line(shell, "stop first"))
    assert line(shell, f"wait first --timeout {SOON}") is first
    assert line(shell, f"wait second --timeout {SOON}") is second


def tuned(shell: Any, name: str = "mine") -> nbtrain.Run:
    """A running cell with two hyperparameters."""
    shell.user_ns |= {"rate": tf.Variable(0.5), "share": tf.Variable(0.25)}
    shell.user_ns["tunable"] = {"learning_rate": tf.Variable(0.5), "dropout": tf.Variable(0.25)}
    run = cell(shell, f"--name {name} --hyperparameters tunable")
    reached(run, lambda run: bool(run.hyperparameters))
    return run


def test_hyperparameters_are_set_by_name_and_value(shell: Any) -> None:
    run = tuned(shell)
    text = repr(line(shell, f"set learning_rate=1e-4 dropout=0.5 --timeout {SOON}"))
    assert re.match(r"<set: applied at step [\d,]+: learning_rate 0\.5 → 0\.0001, dropout", text)
    assert run.hyperparameters == {"learning_rate": 1e-4, "dropout": 0.5}
    other = tuned(shell, "other")
    assert "dropout 0.25 → 0.75" in repr(line(shell, f"set other dropout=.75 --timeout {SOON}"))
    assert run.hyperparameters["dropout"] == 0.5
    ended(other)
    ended(run)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("learning_rate=abc", "learning_rate='abc' is no number"),
        ("learning_rate=", "learning_rate='' is no number"),
        ("dropout=1", "dropout=1: give 0 or more, and less than 1"),
        ("lr=1", "There is no hyperparameter 'lr' in this run; it has: learning_rate, dropout"),
    ],
)
def test_setting_an_impossible_value_is_refused_with_a_reason(
    shell: Any, text: str, why: str
) -> None:
    run = tuned(shell)
    assert why in repr(line(shell, f"set {text} --timeout {SOON}"))
    assert run.hyperparameters == {"learning_rate": 0.5, "dropout": 0.25}
    ended(run)


def test_actions_are_listed_by_number_and_done(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tuned(shell)
    line(shell, "actions")
    assert capsys.readouterr().out == "There is nothing to restore or to undo in mine.\n"
    applied(run.pause())
    applied(run.set(learning_rate=0.25))
    line(shell, "actions mine")
    assert capsys.readouterr().out == "1  Set learning_rate back to 0.5\n"
    assert completed(shell, "%nbtrain actions ") == ["mine", "1", "-h", "--help", "--timeout"]
    assert completed(shell, "%nbtrain actions mine 1") == ["1"]
    with pytest.raises(UsageError, match=r"no action 2:\n1  Set learning_rate back to 0\.5"):
        line(shell, "actions 2")
    assert "learning_rate 0.25 → 0.5" in applied(line(shell, "actions mine 1")).text
    assert run.hyperparameters["learning_rate"] == 0.5
    ended(run)


def test_a_number_means_the_action_that_was_listed_with_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tuned(shell)
    applied(run.pause())
    applied(run.set(learning_rate=0.25))
    line(shell, "actions")
    applied(run.set(dropout=0.5))  # the newest mark has the first action of a new list
    assert "learning_rate 0.25 → 0.5" in applied(line(shell, "actions 1")).text
    assert run.hyperparameters == {"learning_rate": 0.5, "dropout": 0.5}
    ended(run)


def test_the_number_of_an_action_is_used_only_once(shell: Any) -> None:
    run = tuned(shell)
    applied(run.pause())
    applied(run.set(learning_rate=0.25))
    listed = r"\n1  Set learning_rate back to 0\.5"
    with pytest.raises(UsageError, match=f"a number refers to a list of actions.*{listed}"):
        line(shell, "actions 1")
    applied(line(shell, "actions 1"))
    with pytest.raises(
        UsageError, match=r"of the last list was executed.*\n1  Set learning_rate back to"
    ):
        line(shell, "actions 1")
    assert run.hyperparameters["learning_rate"] == 0.5
    ended(run)


def test_a_restore_whose_mark_is_dropped_makes_no_list_old(shell: Any) -> None:
    run = tuned(shell)
    applied(run.pause())
    for mark in (Mark("restore", 1, 0.0), *[Mark("evaluate", 1, 0.0)] * (MOST_MARKS - 2)):
        run.marks.add(mark)
    applied(run.set(learning_rate=0.25))
    line(shell, "actions")
    run.marks.add(Mark("evaluate", 1, 0.0))
    assert not any(mark.event == "restore" for mark in run.marks)
    applied(line(shell, "actions 1"))
    assert run.hyperparameters["learning_rate"] == 0.5
    ended(run)


def test_a_list_from_before_a_restore_carries_out_nothing(shell: Any) -> None:
    rate = tf.Variable(0.5)
    shell.user_ns |= {"tunable": {"learning_rate": rate}, "kept": tf.train.Checkpoint(rate=rate)}
    run = cell(shell, "--name mine --hyperparameters tunable --checkpoint kept")
    applied(run.pause())
    step = applied(run.save()).step
    applied(run.set(learning_rate=0.25))
    line(shell, "actions")
    applied(run.restore(step))
    with pytest.raises(UsageError, match="since the last list, the run was rewound"):
        line(shell, "actions 1")
    ended(run)


def test_an_action_that_is_no_longer_offered_is_not_carried_out(shell: Any) -> None:
    run = tuned(shell)
    applied(run.pause())
    applied(run.set(learning_rate=0.25))
    line(shell, "actions")
    for rate in (0.1, 0.2, 0.3, 0.4, 0.6, 0.7):
        applied(run.set(dropout=rate))
    with pytest.raises(
        UsageError, match=r'"Set learning_rate back to 0\.5", is no longer possible'
    ):
        line(shell, "actions 1")
    assert run.hyperparameters == {"learning_rate": 0.25, "dropout": 0.7}
    ended(run)


@pytest.mark.parametrize("word", ["x", "-1", "#1", "1,"])
def test_a_word_that_names_no_action_is_explained(shell: Any, word: str) -> None:
    run = tuned(shell)
    why = "is neither a run of this kernel nor the number of an action: %nbtrain actions lists"
    with pytest.raises(UsageError, match=f"'{word}' {why}"):
        line(shell, f"actions {word}")
    with pytest.raises(UsageError, match=f"'{word}' is not the number of an action") as error:
        line(shell, f"actions mine {word}")
    assert str(error.value).endswith("[--timeout TIMEOUT] [RUN] [NUMBER]")
    ended(run)


def test_nothing_but_options_is_completed_behind_the_number_of_an_action(shell: Any) -> None:
    run = tuned(shell)
    applied(run.pause())
    applied(run.set(learning_rate=0.25))
    line(shell, "actions")
    assert completed(shell, "%nbtrain actions 1 ") == ["-h", "--help", "--timeout"]
    ended(run)


def test_setting_a_recreated_variable_sets_that_of_the_run(shell: Any) -> None:
    mine = shell.user_ns["rate"] = tf.Variable(0.5)
    body = LOOP.replace("1.0", "rate.read_value()")
    run = cell(shell, "--name mine --hyperparameters '{\"rate\": rate}'", body)
    reached(run, lambda run: run.status.step > 0)
    shell.user_ns["rate"] = tf.Variable(9.0)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    assert "rate 0.5 → 0.125" in repr(line(shell, f"set rate=0.125 --timeout {SOON}"))
    assert float(mine.numpy()) == 0.125
    shell.user_ns["rate"] = mine
    ended(run)


def test_the_runs_below_a_folder_are_shown_as_a_tree(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["counter"] = Counter()
    body = "while not run.should_stop(): run.record(counter.step())"
    run = cell(shell, "--name a --steps 20 --save-steps 10 --checkpoint counter.checkpoint", body)
    run.wait(SOON)
    run.branch(10, name="b").wait(SOON)
    shown = [
        "run   phase     step      branch",
        "a     finished  20 of 20",
        "└─ b  finished  20 of 20  from step 10",
    ]
    for text in ("runs", "runs runs/"):
        assert line(shell, text) is None
        assert capsys.readouterr().out.splitlines() == shown


def test_a_replay_is_shown_and_done_to_a_live_run(shell: Any) -> None:
    run = tuned(shell)
    applied(run.pause())
    step = applied(run.set(dropout=0.25)).step
    ended(run)
    course = line(shell, "replay runs/mine")
    assert re.search(rf"{step:,} +set +dropout +\S+ +0.25 +applied", repr(course))
    again = tuned(shell, "again")
    reached(again, lambda run: run.status.step > step)
    receipt = line(shell, "replay runs/mine again --timeout 60")
    assert receipt.outcome.text.startswith("Cannot replay at step ")
    ended(again)


def test_without_a_name_the_live_run_is_steered(shell: Any) -> None:
    live = cell(shell, "--name live")
    over = cell(shell, "--name over --steps 1").wait(SOON)
    applied(line(shell, "stop"))
    assert line(shell, "wait live").status.phase is Phase.STOPPED
    assert line(shell, "wait") is over, "where none lives, it is the one started last"
    assert live.status.phase is Phase.STOPPED


@pytest.mark.parametrize("verb", ["stop", "wait", "show", "pause"])
def test_without_a_name_nothing_is_done_if_several_runs_are_live(shell: Any, verb: str) -> None:
    both = [cell(shell, f"--name {name}") for name in ("one", "two")]
    with pytest.raises(UsageError, match=r"2 runs are live: 'one', 'two'. Give the name"):
        line(shell, verb)
    assert {run.status.phase for run in both} <= {Phase.PREPARING, Phase.RUNNING}
    for run in both:
        ended(run)


@pytest.mark.parametrize(
    ("before", "verb", "why"),
    [
        ("resume", "resume", "Cannot resume while running; possible now: pause, stop"),
        ("pause", "pause", "Cannot pause while paused; possible now: resume, stop"),
        ("pause", "save", "This run has nothing to save"),
        ("stop", "stop", "the run has ended"),
        ("stop", "save", "the run has ended"),
    ],
)
def test_a_verb_at_the_wrong_moment_shows_the_refusal(
    shell: Any, before: str, verb: str, why: str
) -> None:
    run = cell(shell, "--name mine")
    line(shell, f"{before} --timeout {SOON}")
    if before == "stop":
        run.wait(SOON)
    assert re.match(rf"<{verb}: refused at step [\d,]+: {why}", repr(line(shell, verb)))
    ended(run)


def test_a_timeout_waits_for_the_answer(shell: Any) -> None:
    run = cell(shell, "--name mine")
    receipt = line(shell, f"pause --timeout {SOON}")
    assert receipt.outcome is not None
    assert receipt.outcome.applied
    ended(run)


def test_waiting_gives_up_after_its_time(shell: Any) -> None:
    run = cell(shell, "--name mine")
    with pytest.raises(UsageError, match="of waiting the run has not ended"):
        line(shell, "wait --timeout 0.01")
    ended(run)


@pytest.mark.parametrize("verb", ["pause", "show", "wait", "restore", "stop", "save", "resume"])
def test_an_unknown_run_is_refused_with_those_there_are(shell: Any, verb: str) -> None:
    with pytest.raises(UsageError, match="No run has been started in this kernel"):
        line(shell, verb)
    cell(shell, "--name mine --steps 1").wait(SOON)
    with pytest.raises(UsageError, match=r"There is no run 'yours' .* its runs: 'mine'"):
        line(shell, f"{verb} yours")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explode", "invalid choice: 'explode'"),
        ("pause one two", "unrecognized arguments: two"),
        ("restore --step latest", "'latest' is not a checkpoint: give its step, its path, or best"),
        ("pause --step 3", "unrecognized arguments: --step"),
        ("pause --timeout -1", "'-1' is not a time: give seconds, 0 or more"),
        ("wait --timeout soon", "'soon' is not a time"),
        ("wait --timeout nan", "'nan' is not a time"),
        ("set", "the following arguments are required"),
        ("set mine", "give a name and a value, such as learning_rate=1e-4"),
        ("set mine learning_rate", "'learning_rate' sets nothing: give a name and a value"),
        ("runs a b", "unrecognized arguments: b"),
        ("replay", "the following arguments are required: logdir"),
        ("replay nowhere", "nowhere is not the folder of a run: there is none. Give a"),
        ("runs nowhere", "There is no folder 'nowhere': give one with runs in it"),
        ('stop "abc', '%nbtrain stop "abc: No closing quotation; close the quotes'),
    ],
)
def test_a_wrong_line_is_an_error_of_the_cell(shell: Any, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        line(shell, text)


@pytest.mark.parametrize("text", ["-h", "restore -h", "--help"])
def test_help_is_printed_and_the_kernel_lives(
    shell: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line(shell, text) is None
    assert "usage: %nbtrain" in capsys.readouterr().out


def test_the_help_of_the_cell_is_printed_and_starts_nothing(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell_magic("nbtrain", "-h", LOOP) is None
    out = capsys.readouterr().out
    for option in ("name", "checkpoint", "hyperparameters", "save-secs"):
        assert f"--{option} " in out
    assert nbtrain.runs() == {}


# --- scalars --------------------------------------------------------------------


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebook's folder, with two runs below logs."""
    for run in ("adam", "it's (best)"):
        with tf.summary.create_file_writer(str(tmp_path / "logs" / run)).as_default():
            tf.summary.scalar("train/loss", 1.0, step=0)
            tf.summary.scalar("rate", 1.0, step=0)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "logs"


def shown(shell: Any, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the output of `%nbtrain text` without widgets."""
    assert line(shell, text) is None
    return capsys.readouterr().out.strip()


def test_scalars_shows_a_logdir_in_the_same_words_each_time(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(shell, "scalars logs", capsys) == "<scalars in 'logs'>"
    every = "scalars logs --runs ad --tags loss$ --smooth 0.6 --x relative"
    assert shown(shell, every, capsys) == "<scalars in 'logs'>"


def test_scalars_that_end_a_cell_show_their_board(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("import nbtrain\nnbtrain.scalars('logs')")
    assert "<scalars of 2 runs and 2 tags in 'logs'>" in capsys.readouterr().out


@pytest.mark.parametrize(
    "tab", ["images", "text", "pr_curves", "graphs", "hparams", "custom_scalars", "compare"]
)
def test_a_tab_shows_a_logdir_in_the_same_words_each_time(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str], tab: str
) -> None:
    assert shown(shell, f"{tab} logs", capsys) == f"<{tab} in 'logs'>"


@pytest.mark.parametrize(
    ("tab", "tag"),
    [("images", "digits"), ("text", "note"), ("pr_curves", "cat"), ("graphs", "graph")],
)
def test_a_board_that_begins_with_another_tab_than_curves_keeps_its_words(
    shell: Any, logdir: Path, tab: str, tag: str
) -> None:
    write_pr_curves(logdir, range(2))
    write_graph(logdir / "sgd")
    with tf.summary.create_file_writer(str(logdir / "sgd")).as_default():
        tf.summary.image("digits", np.zeros((1, 8, 8, 1)), step=0)
        tf.summary.text("note", "hello", step=0)
    with capture_output() as out:
        line(shell, f"{tab} logs")
    live, _still, words = [each.data for each in out.outputs]
    assert live["text/plain"] == f"<{tab} in 'logs'>"
    assert "run the cell again" in words["text/html"]
    assert "<pre>" in words["text/html"]
    assert tag in completed(shell, f"%nbtrain {tab} logs --tags ")
    assert "sgd" in completed(shell, f"%nbtrain {tab} logs --runs ")
    assert "--smooth" not in completed(shell, f"%nbtrain {tab} logs --s")


def test_a_comparison_that_ends_a_cell_shows_its_table(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("import nbtrain\nnbtrain.compare('logs')")
    out = capsys.readouterr().out
    assert re.search(r"^ +adam +it's \(best\)\s*$", out, re.MULTILINE)
    assert re.search(r"^rate +last +1 +1\s*$", out, re.MULTILINE)


def test_summaries_that_end_a_cell_show_their_board(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("import nbtrain\nnbtrain.summaries('logs', 'images')")
    assert "<no images in 'logs': its 2 runs hold scalars>" in capsys.readouterr().out


def test_hyperparameters_that_end_a_cell_show_their_table(
    shell: Any, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tensorboard.plugins.hparams import api

    with tf.summary.create_file_writer(str(logdir / "adam")).as_default():
        api.hparams({"layers": 3})
    shell.run_cell("import nbtrain\nnbtrain.hparams('logs')")
    assert re.search(r"^adam +3 ", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scalars", "the following arguments are required: logdir"),
        ("scalars nowhere", "logdir='nowhere' cannot be read: there is no such folder"),
        ("scalars logs --runs (", r"runs='\(' is no regular expression"),
        ("scalars logs --smooth 1", "'1' is not a weight: give 0 or more, below 1"),
        ("scalars logs --x moon", "invalid choice: 'moon'"),
    ],
)
def test_scalars_that_cannot_be_shown_are_refused_in_one_line(
    shell: Any, logdir: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        line(shell, text)


# --- completion -----------------------------------------------------------------


def completed(shell: Any, text: str) -> list[str]:
    """Returns the completions at the end of the first line."""
    with provisionalcompleter():
        found = shell.Completer.completions(text + "\nwhile True: pass", len(text))
        return [completion.text for completion in found]


def test_the_tabulator_offers_the_verbs_and_nothing_else(shell: Any) -> None:
    verbs = ["pause", "resume", "stop", "save", "restore", "set", "try", "find_learning_rate"]
    verbs += [
        "evaluate",
        "why_nan",
        "why_slow",
        "look_inside",
        "note",
        "tag",
        "list",
        "runs",
        "open",
        "show",
        "actions",
        "replay",
    ]
    verbs += ["wait", "log", "delete", "rename", "scalars", "images", "histograms"]
    verbs += ["distributions", "text", "audio", "pr_curves", "graphs", "hparams"]
    verbs += ["custom_scalars", "compare"]
    assert completed(shell, "%nbtrain ") == verbs
    assert completed(shell, "%nbtrain re") == ["resume", "restore", "replay", "rename"]


def test_the_tabulator_offers_the_runs_that_the_verb_can_do_something_to(shell: Any) -> None:
    cell(shell, "--name over --steps 1").wait(SOON)
    paused = cell(shell, "--name paused")
    running = cell(shell, "--name running")
    applied(paused.pause())
    reached(running, lambda run: run.status.step > 0)
    assert "paused" in completed(shell, "%nbtrain resume ")
    assert {"over", "running"}.isdisjoint(completed(shell, "%nbtrain resume "))
    assert completed(shell, "%nbtrain stop r") == ["running"]
    assert {"over", "paused", "running"} <= {*completed(shell, "%nbtrain show ")}
    assert "running" not in completed(shell, "%nbtrain stop paused "), "one run has been named"
    ended(paused)
    ended(running)


def test_the_tabulator_offers_the_checkpoints_of_the_run_newest_first(shell: Any) -> None:
    shell.user_ns["counter"] = Counter()
    body = "while not run.should_stop(): run.record(counter.step())"
    run = cell(
        shell, "--name mine --steps 20 --save-steps 10 --checkpoint counter.checkpoint", body
    )
    run.wait(SOON)
    assert completed(shell, "%nbtrain restore --step ") == ["20", "10"]
    assert completed(shell, "%nbtrain restore mine --step 1") == ["10"]


def test_a_cell_keeps_its_best_state_and_the_magic_goes_back_to_it(shell: Any) -> None:
    shell.user_ns["counter"] = Counter()
    options = "--checkpoint counter.checkpoint --keep-best val_loss --patience 2 --steps 100"
    body = """
        while not run.should_stop():
            counter.step()
            run.record(val_loss=abs(run.status.step - 4.0))
    """
    run = cell(shell, f"--name mine {options}", textwrap.dedent(body))
    run.wait(SOON)
    (best,) = [held.step for held in run.checkpoints if Path(held.path).parent.name == "best"]
    assert run.status.step == best + 2
    assert completed(shell, "%nbtrain restore --step ")[0] == "best"
    restored = str(line(shell, "restore mine --step best").outcome)
    assert f"restored ckpt-{best}: " in restored
    assert f"the run stays finished at step {best + 2}" in restored


def test_the_tabulator_offers_the_options_that_are_not_used_yet(shell: Any) -> None:
    found = completed(shell, "%%nbtrain --name mine --")
    assert {"--steps", "--checkpoint", "--keep"} <= {*found}
    assert "--name" not in found
    assert completed(shell, "%nbtrain restore --s") == ["--step"]
    assert "--step" not in completed(shell, "%nbtrain restore --step 3 --s")


def test_the_tabulator_offers_the_checkpoints_of_the_notebook(shell: Any) -> None:
    shell.user_ns |= {"mine": tf.train.Checkpoint(v=tf.Variable(0.0)), "other": 3}
    assert completed(shell, "%%nbtrain --checkpoint ") == ["mine"]


def test_the_tabulator_offers_the_hyperparameters_that_were_not_given_yet(shell: Any) -> None:
    run = tuned(shell)
    assert completed(shell, "%nbtrain set ") == ["mine", "learning_rate=", "dropout="]
    assert completed(shell, "%nbtrain set mine ") == ["learning_rate=", "dropout="]
    assert completed(shell, "%nbtrain set learning_rate=1 ") == ["dropout="]
    assert completed(shell, "%nbtrain try mine ") == ["learning_rate=", "dropout="]
    assert completed(shell, "%nbtrain set mine l") == ["learning_rate="]
    other = tuned(shell, "other")
    assert completed(shell, "%nbtrain set ") == ["mine", "other"], "whose they are is open"
    assert completed(shell, "%nbtrain set other d") == ["dropout="]
    ended(other)
    ended(run)
    assert completed(shell, "%%nbtrain --hyperparameters ") == ["tunable"]


def test_the_tabulator_offers_folders_of_runs_and_a_run_to_replay_into(shell: Any) -> None:
    run = tuned(shell)
    assert completed(shell, "%nbtrain runs ") == ["runs/"]
    assert completed(shell, "%nbtrain replay runs/") == ["runs/mine/"]
    assert completed(shell, "%nbtrain replay runs/mine/ ") == ["mine"]
    for line in (
        "runs runs/",
        "open runs/mine/",
        "runs --tag",
        "pause --timeout",
        "wait --timeout",
    ):
        assert "mine" not in completed(shell, f"%nbtrain {line} "), line
    ended(run)
    assert "mine" not in completed(shell, "%nbtrain replay runs/mine/ ")


def test_the_tabulator_offers_folders_then_the_runs_and_tags_of_one(
    shell: Any, logdir: Path
) -> None:
    assert completed(shell, "%nbtrain scalars ") == ["logs/"]
    assert "logs/adam/" in completed(shell, "%nbtrain scalars logs/")
    assert completed(shell, "%nbtrain scalars logs --tags ") == ["rate", "train/loss"]
    assert completed(shell, "%nbtrain scalars logs --runs a") == ["adam"]
    assert completed(shell, "%nbtrain scalars logs --x w") == ["wall"]
    assert completed(shell, "%nbtrain compare logs --runs a") == ["adam"]
    assert completed(shell, "%nbtrain compare logs --x w") == ["wall"]
    assert "--follow" in completed(shell, "%nbtrain scalars logs --x wall ")
    assert "rate" not in completed(shell, "%nbtrain scalars nowhere --tags ")


def test_a_completed_run_name_of_a_logdir_finds_that_run(shell: Any, logdir: Path) -> None:
    (word,) = (w for w in completed(shell, "%nbtrain scalars logs --runs ") if "best" in w)
    (pattern,) = shlex.split(word)
    assert nbtrain.scalars("logs", runs=pattern).runs == ["it's (best)"]


def test_loading_the_extension_again_offers_each_word_once(shell: Any) -> None:
    shell.run_line_magic("reload_ext", "nbtrain")
    assert completed(shell, "%nbtrain re") == ["resume", "restore", "replay", "rename"]


def test_a_question_mark_explains_the_magic(shell: Any) -> None:
    found = shell.object_inspect("%nbtrain")
    assert "Steers runs, or runs a cell" in found["docstring"]


def test_a_picture_that_cannot_be_drawn_keeps_no_board_from_being_shown(
    shell: Any, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def png(*_args: Any, **_kwargs: Any) -> bytes:
        raise OverflowError("too large to be drawn")

    monkeypatch.setattr("nbtrain.panel.board.picture.png", png)
    with capture_output() as out:
        line(shell, "scalars logs")
    live, _, words = [each.data for each in out.outputs]
    assert "application/vnd.jupyter.widget-view+json" in live
    assert live["text/plain"] == "<scalars in 'logs'>"
    assert "The picture cannot be drawn: OverflowError: too large to be drawn" in words["text/html"]


def test_a_range_test_answers_with_its_suggestion(shell: Any) -> None:
    run = Slope().run()
    run.resume()
    words = f"find_learning_rate {run.name} --low 1e-5 --high 0.9 --steps 60"
    outcome = applied(line(shell, words))
    assert [[*arm.values] for arm in outcome.arms] == [["learning_rate"]]
    run.request_stop()
    run.wait(SOON)
