"""How `make docs` builds the site: Sphinx, with the pages and notebooks read by MyST-NB."""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent

project = "nbtrain"
author = "the nbtrain authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "nbtrain"
exclude_patterns = ["_build", "jupyter_execute", "notebooks/runs"]

# The tests execute the notebooks and the code on the pages: the site shows them as they are.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autoclass_content = "class"

# Sphinx reads what stands below its own folder.
shutil.copytree(
    HERE.parent / "notebooks",
    HERE / "notebooks",
    dirs_exist_ok=True,
    ignore=shutil.ignore_patterns("runs", ".ipynb_checkpoints", "README.md", "pictures"),
)
