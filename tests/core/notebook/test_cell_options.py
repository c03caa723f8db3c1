"""The options of `%%nbtrain`: those of `nbtrain.background`, by name, type and meaning."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.error import UsageError

from nbtrain.core.errors import ArgumentError
from nbtrain.notebook.completion import candidates
from nbtrain.notebook.detach import arguments_of
from nbtrain.notebook.options import EXPRESSIONS, HelpShown, cell_parser, in_options, parsed
from nbtrain.steer.options import LoopOptions, Option, Settings, options_of

# A line that gives the option, and the value that it gives.
LINES: dict[str, tuple[str, Any]] = {
    "steps": ("--steps 20", 20),
    "evaluate_secs": ("--evaluate-secs 2.5", 2.5),
    "evaluate_steps": ("--evaluate-steps 10", 10),
    "stage": ("--stage fine-tune", "fine-tune"),
    "logdir": ("--logdir 'my runs/a'", "my runs/a"),
    "name": ("--name digits", "digits"),
    "save_secs": ("--save-secs 60", 60.0),
    "save_steps": ("--save-steps 100", 100),
    "keep": ("--keep 2", 2),
    "on_nan": ("--on-nan recover", "recover"),
    "jump": ("--jump 10", 10.0),
    "grace": ("--grace 3", 3.0),
    "mirror": ("--mirror s3://bucket/runs", "s3://bucket/runs"),
    "fresh": ("--fresh", True),
    "prints": ("--prints log", "log"),
    "system": ("--no-system", False),
    "tags": ("--tags adam,baseline", ["adam", "baseline"]),
    "keep_best": ("--keep-best max:val_f1", "max:val_f1"),
    "patience": ("--patience 3 --keep-best val_loss", 3),
}
# The others are expressions of the notebook, which its cells evaluate.
OPTIONS = {each.name: each for each in options_of(LoopOptions) if each.name not in EXPRESSIONS}
OF_THE_FOLDER = ("logdir", "name")


def given(line: str) -> dict[str, Any]:
    """Returns what a line of `%%nbtrain` gives."""
    return vars(parsed(cell_parser(), line))


def flag(option: Option) -> str:
    """Returns the first word of the line that gives an option."""
    return LINES[option.name][0].split()[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_of_a_run_can_be_given_and_arrives_in_its_settings(name: str) -> None:
    line, value = LINES[name]
    options: Any = given(line)
    assert options[name] == value
    assert type(options[name]) is type(value)
    if name not in OF_THE_FOLDER:
        arrived = getattr(Settings.of(options), name)
        assert (list(arrived) if name == "tags" else arrived) == value


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - set(OF_THE_FOLDER)))
def test_a_detached_cell_passes_on_each_option_that_is_given_and_no_other(name: str) -> None:
    options = given(LINES[name][0])
    call: Any = eval(f"dict({arguments_of(options)})")
    assert call == options
    assert name in call


def test_a_default_that_is_given_is_passed_on() -> None:
    assert arguments_of(given("--keep 5 --checkpoint a.b")) == "keep=5, checkpoint=a.b"


def test_a_detached_cell_passes_on_a_number_that_has_no_literal() -> None:
    assert arguments_of(given("--save-secs inf")) == 'save_secs=float("inf")'


def test_what_is_not_given_is_absent() -> None:
    assert given("") == {}


@pytest.mark.parametrize("word", ["none", "None"])
def test_none_is_a_value_of_each_option_that_can_be_none(word: str) -> None:
    for name in ("keep", "save-secs", "on-nan", "steps", "mirror"):
        assert given(f"--{name} {word}") == {name.replace("-", "_"): None}
    with pytest.raises(ArgumentError, match=f"grace='{word}': give a number of seconds"):
        Settings(**given(f"--grace {word}"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--steps many", "steps='many': give a whole number of at least 1"),
        ("--keep 2.5", r"keep='2\.5': give a whole number"),
        ("--save-secs often", "save_secs='often': give a number above 0"),
        ("--jump high", "jump='high': give a factor above 1"),
    ],
)
def test_a_text_that_is_no_number_is_refused_as_in_python(line: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Settings(**given(line))


def test_a_word_that_is_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match=r"--on-nan: invalid choice: 'stop' .*pause.*recover"):
        given("--on-nan stop")
    with pytest.raises(UsageError, match=r"--prints: invalid choice: 'both' .*cell.*log"):
        given("--prints both")


def test_the_help_has_every_option_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HelpShown):
        given("--help")
    out = capsys.readouterr().out
    text = " ".join(out.split())
    for option in OPTIONS.values():
        assert f"\n  {flag(option)}" in out
        assert " ".join(option.meaning.split())[:40].rpartition(" ")[0] in text
    assert "--on-nan {pause,recover,none}" in out
    assert "Default: 600.0." in text


def test_a_percent_sign_in_a_meaning_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    doc = "Options.\n\n    Attributes:\n        share: At most 1 % of the time.\n"
    kind = type("Other", (), {"__doc__": doc, "__annotations__": {"share": float}})
    monkeypatch.setattr("nbtrain.steer.options.LoopOptions", kind)
    with pytest.raises(HelpShown):
        given("--help")
    assert "--share SHARE" in (out := capsys.readouterr().out)
    assert "At most 1 % of the time." in out


def test_the_tabulator_offers_every_option_and_the_words_of_a_choice() -> None:
    assert {flag(each) for each in OPTIONS.values()} <= {*candidates(["%%nbtrain"], {})}
    assert candidates(["%%nbtrain", "--on-nan"], {}) == ["pause", "recover", "none"]
    assert candidates(["%%nbtrain", "--prints"], {}) == ["cell", "log"]
    assert candidates(["%%nbtrain", "--keep"], {}) == []


def test_a_message_names_each_option_as_it_is_typed() -> None:
    for option in OPTIONS.values():
        assert in_options(f"Leave {option.name}= out.") == f"Leave {flag(option)} out."
