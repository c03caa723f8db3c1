"""The package: its names, its version, and lock files that tie nobody to a registry."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import nbtrain
from nbtrain.core.errors import UnknownArgumentError
from tests import ROOT
from tests.event_files import NAME, simple, written
from tests.forked import Forked, printed
from tests.gate import SOON

LOCKS = {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "uv.lock"}
LOCKS |= {"poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", ".npmrc"}
# How npm, Yarn, uv, Poetry and pip write down where a package came from.
ADDRESS = re.compile(r'"?resolved"?[:\s]+"http|registry\s*=|"?url"?\s*[:=]\s*"http[^"]*/packages/')


def tracked() -> list[Path]:
    """Every file that git keeps."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone: nothing says which files are kept")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_the_public_names_are_sorted_and_are_those_that_load_when_used() -> None:
    modules = {"cluster", "media", "tf1"}
    assert nbtrain.__all__ == sorted({*modules, *nbtrain._HOMES} - set(nbtrain._IN_TF1))


def test_the_gallery_and_the_site_have_each_notebook_in_the_same_order() -> None:
    notebooks = ROOT / "notebooks"
    names = {path.stem for path in notebooks.glob("*.ipynb")}
    gallery = (notebooks / "README.md").read_text(encoding="utf-8")
    site = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\((\w+)\.ipynb\)", gallery)
    assert {*listed} == names
    assert re.findall(r"^notebooks/(\w+)$", site, re.MULTILINE) == listed
    shown = re.findall(r"\]\((pictures/\w+\.png)\)", gallery)
    assert shown == [f"pictures/{name}.png" for name in listed]
    assert all((notebooks / picture).is_file() for picture in shown)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_the_outputs_of_a_notebook_have_no_warnings_and_no_path_of_a_machine(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert outputs
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert "notebooks/runs" not in json.dumps(outputs), "the absolute path of a run"


@pytest.mark.parametrize("name", nbtrain._IN_TF1)
def test_a_class_of_tensorflow_1_has_its_older_spelling_too(name: str) -> None:
    assert getattr(nbtrain, name) is getattr(nbtrain.tf1, name)


@pytest.mark.parametrize("module", ["nbtrain", "nbtrain.cluster", "nbtrain.tf1"])
def test_each_public_function_says_what_to_type_instead_of_an_unknown_argument(module: str) -> None:
    home = importlib.import_module(module)
    functions = [each for name in home.__all__ if inspect.isroutine(each := getattr(home, name))]
    assert functions
    for function in functions:
        with pytest.raises(
            UnknownArgumentError,
            match=rf"^{module}\.{function.__name__}\(\) does not take log_dirs=\. ",
        ):
            function(log_dirs="a")


@pytest.mark.parametrize("name", nbtrain.__all__)
def test_a_public_name_loads_and_is_explained(name: str) -> None:
    assert getattr(nbtrain, name).__doc__
    assert name in dir(nbtrain)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'nbtrain' has no attribute 'fly'"):
        nbtrain.fly  # noqa: B018


def test_looking_at_the_names_loads_nothing() -> None:
    code = "import sys, nbtrain; dir(nbtrain); nbtrain.__all__; print('tensorflow' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.strip() == "False"


def in_ipython(code: str, folder: Path) -> str:
    """The last line that code prints in an IPython of its own, with the extension loaded."""
    begin = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
shell.run_line_magic("load_ext", "nbtrain")
"""
    done = subprocess.run(
        [sys.executable, "-c", begin + code],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"IPYTHONDIR": str(folder / "ipython")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_notebook_that_only_looks_loads_no_tensorflow(tmp_path: Path) -> None:
    """Loading it takes seconds, and prints red lines above the first panel."""
    written(tmp_path / "runs" / "a" / NAME, [simple("loss", 1, 2.0)])
    code = """\
for line in ("", "runs", "scalars runs --follow"):
    shell.run_line_magic("nbtrain", line)
shell.complete("%%nbtrain --checkpoint ")
print("tensorflow" in sys.modules)"""
    assert in_ipython(code, tmp_path) == "False"


def test_a_board_loads_nothing_that_only_runs_need(tmp_path: Path) -> None:
    """It stands in a fresh kernel the sooner."""
    written(tmp_path / "runs" / "a" / NAME, [simple("loss", 1, 2.0)])
    code = """\
shell.run_line_magic("nbtrain", "scalars runs")
packages = ("inner", "steer", "run", "remote", "checkpoints", "engines", "keras", "tf1")
loaded = {name for name in sys.modules if name.split(".")[1:2] in [[each] for each in packages]}
print(sorted(name for name in loaded if name.startswith("nbtrain.")))"""
    steer = ("learning_rate", "surroundings", "verbs")  # of the magic's help
    loaded = ["nbtrain.steer", *(f"nbtrain.steer.{name}" for name in steer)]
    assert in_ipython(code, tmp_path) == str(loaded)


def loads_engines(_pipe: Connection) -> None:
    """Tell which packages of a notebook are loaded beside the engines."""
    import nbtrain.run.run
    import nbtrain.tf1.engine  # noqa: F401

    print({"ipywidgets", "anywidget", "nbtrain.notebook"} & sys.modules.keys())


def test_a_script_loads_nothing_that_only_a_notebook_needs() -> None:
    assert printed(loads_engines) == "set()\n"


def trains(_pipe: Connection) -> None:
    """Leave a run behind in `runs/over`."""
    nbtrain.train(lambda: {"loss": 1.0}, steps=20, name="over").wait(SOON)


def test_no_board_and_no_run_of_another_process_loads_tensorflow(tmp_path: Path) -> None:
    with Forked(trains, folder=tmp_path) as child:
        assert child.wait() == 0, child.err
    code = """\
boards = ("scalars", "compare", "images", "histograms", "text", "hparams")
for line in (*(f"{tab} runs" for tab in boards), "replay runs/over", "open runs/over", "list"):
    shell.run_line_magic("nbtrain", line)
    assert "tensorflow" not in sys.modules, line
print("none")"""
    assert in_ipython(code, tmp_path) == "none"


def test_the_installed_version_is_this_one() -> None:
    try:
        installed = importlib.metadata.version("nbtrain")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nbtrain is used from its folder, and not installed")
    assert installed == nbtrain.__version__


def test_no_lock_file_names_a_registry() -> None:
    locks = [path for path in tracked() if path.name in LOCKS]
    naming = [path.name for path in locks if ADDRESS.search(path.read_text("utf-8"))]
    assert not naming


@pytest.mark.parametrize(
    "line",
    [
        '"resolved":' + ' "https://example.org/uplot/-/uplot-1.6.32.tgz",',
        'resolved "https://example.org/uplot.tgz#abc"',
        "registry=https://example.org/",
        "source = { registry =" + ' "https://example.org/simple" }',
        'sdist = { url = "https://example.org/packages/a.tar.gz" }',
    ],
)
def test_an_address_in_a_lock_file_is_seen(line: str) -> None:
    assert ADDRESS.search(line)


def test_a_funding_url_in_npm_metadata_is_not_an_address() -> None:
    assert not ADDRESS.search('"funding": { "url": "https://example.org/sponsor" }')


@pytest.mark.parametrize(
    ("found", "complete"),
    [
        ({"node_modules/esbuild": "1.0", "node_modules/tsc": "3.0"}, True),
        ({"node_modules/esbuild": "1.0"}, True),
        ({"node_modules/esbuild": "0.9"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_node_packages_are_installed_only_if_one_is_missing(
    tmp_path: Path, found: dict[str, str] | None, complete: bool
) -> None:
    """If all that the bundle needs is there, a developer's own tools stay."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    locked = {
        "": {"name": "nbtrain"},
        "node_modules/esbuild": {"version": "1.0"},
        "node_modules/esbuild-windows": {"version": "1.0", "optional": True},
        "node_modules/tsc": {"version": "3.0", "dev": True},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": locked}))
    if found is not None:
        there = {path: {"version": version} for path, version in found.items()}
        (tmp_path / "node_modules").mkdir()
        (tmp_path / "node_modules" / ".package-lock.json").write_text(
            json.dumps({"packages": there})
        )
    assert hook.installed(str(tmp_path)) is complete


def test_every_test_that_the_security_page_names_exists() -> None:
    named = re.findall(r"`(tests/[^`:]+)::([^`]+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert named
    for path, name in named:
        text = (ROOT / path).read_text("utf-8")
        assert f"def {name}(" in text or f'test("{name}"' in text, name


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {nbtrain.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
