"""The options that every function takes which starts a run, where a user looks for them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from IPython.core.completer import provisionalcompleter
from mypy import api as mypy

import nbtrain
from nbtrain.core.errors import UnknownArgumentError
from nbtrain.steer.options import RunOptions, Settings
from tests.shells import own_shell

STARTS: dict[str, Callable[..., Any]] = {
    "nbtrain.fit": nbtrain.fit,
    "nbtrain.train": nbtrain.train,
    "nbtrain.background": nbtrain.background,
    "nbtrain.track": nbtrain.track,
    "nbtrain.tf1.supervise": nbtrain.tf1.supervise,
    "nbtrain.tf1.monitor": nbtrain.tf1.monitor,
}
OPTIONS = get_type_hints(RunOptions)
ROOT = Path(nbtrain.__file__).parents[1]

starts = pytest.mark.parametrize("start", STARTS)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A shell in which nbtrain is imported."""
    with own_shell(tmp_path_factory.mktemp("ipython")) as shell:
        shell.run_cell("import nbtrain, nbtrain.tf1")
        yield shell


@starts
def test_the_signature_has_every_option_with_its_type_and_default(start: str) -> None:
    parameters = inspect.signature(STARTS[start]).parameters
    defaults = {each.name: each.default for each in dataclasses.fields(Settings)}
    assert "options" not in parameters
    for name, kind in OPTIONS.items():
        parameter = parameters[name]
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert (parameter.annotation, parameter.default) == (kind, defaults.get(name))


@starts
def test_the_docstring_says_what_each_argument_means(start: str) -> None:
    function = STARTS[start]
    args = str(inspect.getdoc(function)).partition("Args:\n")[2].partition("\n\n")[0]
    told = re.findall(r"^    (\w+): \S", args, re.MULTILINE)
    assert sorted(told) == sorted(inspect.signature(function).parameters)


@starts
def test_the_tooltip_of_jupyter_has_every_option_and_its_meaning(shell: Any, start: str) -> None:
    tooltip = shell.object_inspect_mime(start, detail_level=0)["text/plain"]
    for name in OPTIONS:
        assert re.search(rf"\b{name}: '?\w", tooltip), name
    assert "Seconds between two checkpoints" in tooltip


@starts
def test_the_tabulator_offers_the_options(shell: Any, start: str) -> None:
    text = f"{start}(None, keep"
    with provisionalcompleter():
        offered = {each.text for each in shell.Completer.completions(text, len(text))}
    assert {"keep=", "keep_best="} <= offered


@starts
def test_an_unknown_option_is_answered_with_the_nearest_one(start: str) -> None:
    with pytest.raises(UnknownArgumentError, match=r"Did you mean save_secs=\?"):
        STARTS[start](lambda: 1.0, save_sec=60)


def test_a_type_checker_knows_the_options(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    names = [name.removeprefix("nbtrain.") for name in STARTS]
    lines = ["import typing, nbtrain", "first: typing.Any = None"]
    for name in names:
        lines += [f"nbtrain.{name}(first, keep=3, name='a')", f"nbtrain.{name}(first, keep='3')"]
        lines += [f"nbtrain.{name}(first, save_sec=60)"]
    program.write_text("\n".join(lines))
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir"]
    found, _, _ = mypy.run([*settings, str(tmp_path / "cache"), str(program)])
    for at in range(len(names)):
        first = 3 + 3 * at
        assert f"program.py:{first}:" not in found
        assert re.search(rf'program\.py:{first + 1}: error: Argument "keep" .* "str"', found)
        assert re.search(rf'program\.py:{first + 2}: error: Unexpected keyword .*"save_sec"', found)
