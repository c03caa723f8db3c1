# `make lab` and `make test` do all the set-up; each makes .venv itself.

# Another environment that happens to be active is not this one.
unexport VIRTUAL_ENV
# An import of TensorFlow takes three times as long if it compiles its modules each time.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	"$$p" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& command -v "$$p" && break; done)
BIN := .venv/bin
NOTEBOOK := notebooks/quickstart.ipynb
# Without a screen, JupyterLab prints its address instead of opening a browser.
SCREEN := $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname)))
SOURCES := $(wildcard nbtrain/panel/js/*.* nbtrain/panel/js/*/*.* nbtrain/panel/js/*/*/*.*) package.json package-lock.json
# A .venv is made again if its making broke off (no pip) or its Python is out of range.
USABLE := import pip, sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))

.PHONY: help lab check test lint types core unit soak notebooks browser js demo dist docs lowest newest next matrix screenshots bench clean

help:
	@echo 'make lab    JupyterLab on the quickstart notebook'
	@echo 'make check  lint, types, the page and the pure tests: about two minutes'
	@echo 'make test   all of that, and the training, process, notebook and browser tests'
	@echo 'make soak   draw faults for a minute in each test: kills, full disks, hostile input'
	@echo 'make lowest test with the oldest versions; make newest PYTHON=python3.13, with the newest;'
	@echo '            make next, with release candidates and the nightly Keras'
	@echo 'make matrix try every front end, and write docs/compatibility.md'
	@echo 'make demo   run the quickstart without a screen; leaves it and its HTML in demo/'
	@echo 'make dist   the source distribution and the wheel, tried in an empty environment'
	@echo 'make docs   build the documentation as a site: docs/_build/index.html'
	@echo 'make bench  measure what a step, an update and a million points cost; writes docs/benchmarks.md'
	@echo 'make clean  remove what the others made'

# Modules that are never imported are not compiled. Without a package.json of its own, Node.js would
# take the scripts of JupyterLab in .venv for ES modules, as ours are, and `make lab` would show their
# errors.
.venv/made: pyproject.toml hatch_build.py $(SOURCES)
	@test -n "$(PYTHON)" || { echo 'No Python 3.10 to 3.13 was found: install one, or name it: make PYTHON=...'; exit 1; }
	@$(BIN)/python -c '$(USABLE)' 2>/dev/null || "$(PYTHON)" -m venv --clear .venv || \
		{ echo '$(PYTHON) could not make .venv (on Debian and Ubuntu: apt install python3-venv).'; exit 1; }
	@echo '{}' > .venv/package.json
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[lab,test]'
	@touch $@

lab: .venv/made
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/$(NOTEBOOK) \
		$(if $(SCREEN),,--no-browser) $(if $(filter 0,$(shell id -u)),--allow-root)

# Makes two targets at a time. The output of each is shown at its end, and if one fails the others
# go on to their ends.
TWO := $(MAKE) --no-print-directory --keep-going --jobs 2 \
	$(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

check: .venv/made
	@$(TWO) lint types js core

# The notebooks and the browser wait much for kernels: one beside the other.
test: check unit
	@$(TWO) notebooks browser

lint: .venv/made
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/made
	$(BIN)/mypy

# The front end's own tests need Node.js 20.19; the browser tests cover it where that is missing.
js: .venv/made
	@if node -e 'const [a, b] = process.versions.node.split("."); process.exit(Number(a < 20 || (a == 20 && b < 19)))' 2>/dev/null; \
	then $(MAKE) --no-print-directory node_modules/made && npm run --silent lint && npm run --silent types && npm test --silent; \
	else echo 'skipped: the front end is checked by Node.js 20.19 or newer'; fi

# The building of the package installs what the bundle needs if that is missing, and no tools.
node_modules/made: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

core: .venv/made
	$(BIN)/python -m pytest tests/core -n 2

# Files are handed out in the order of their folders. The last is tests/training, whose many short
# files let all workers end at about the same time. Other tests wait for processes meanwhile, so that
# three at once keep two cores busy.
unit: .venv/made
	sh tests/iproute.sh
	$(BIN)/python -m pytest tests/process tests/faults tests/training -n 3 --dist loadfile \
		--no-loadscope-reorder

# Faults drawn under load for a minute in each test, or for NBTRAIN_SOAK_SECS.
soak: .venv/made
	NBTRAIN_SOAK_SECS=$(or $(NBTRAIN_SOAK_SECS),60) $(BIN)/python -m pytest tests/faults tests/process/run/test_zoo.py \
		tests/training/keras/test_fit_again.py --timeout 0

notebooks: .venv/made
	@rm -rf notebooks/runs
	$(BIN)/python -m pytest -p tests.profiles --nbval notebooks -n 2 --dist loadfile -W default --timeout 600

# JupyterLab first: its files have few tests, but are the longest. The tests of accessibility and of VS
# Code need packages from npm: without Node.js they are skipped, and fail if CI is set.
browser: .venv/made $(if $(shell command -v npm 2>/dev/null),node_modules/made)
	sh tests/chromium.sh
	$(BIN)/python -m pytest tests/lab tests/page -m browser -n 2 --dist loadfile --no-loadscope-reorder

demo: .venv/made
	@mkdir -p demo && rm -rf demo/runs
	cp $(NOTEBOOK) demo/
	$(BIN)/jupyter nbconvert --to notebook --inplace --execute \
		--ExecutePreprocessor.store_widget_state=False demo/quickstart.ipynb
	$(BIN)/jupyter nbconvert --to html --TagRemovePreprocessor.enabled=True \
		--TagRemovePreprocessor.remove_cell_tags=remove-cell demo/quickstart.ipynb
	@echo 'Executed: demo/quickstart.ipynb    To read: demo/quickstart.html'

# Its tools are installed when it is first built: neither a user nor a test needs them.
docs: .venv/made
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning docs docs/_build

# The pure tests and a training of each kind, in an environment of their own.
# $(1): the environment, $(2): options of the installation, $(3): what is installed over the others
SMOKE := tests/core tests/training/keras/test_fit_run.py tests/training/engines/test_track.py \
	tests/training/tf1/test_supervisor_programs.py tests/training/panel/test_board.py
define smoke
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python "$(PYTHON)" $(1)
	$(BIN)/uv pip install --quiet --python $(1) $(2) --editable '.[lab,test]'
	$(if $(3),$(BIN)/uv pip install --quiet --python $(1) $(2) --reinstall --no-deps $(3))
	$(1)/bin/python -m pytest $(SMOKE) -n 2 --dist loadfile
endef

# The source distribution, and the wheel that is built from it. In an empty environment, without
# the repository and without Node.js, the wheel must pass a small run.
dist: .venv/made
	rm -rf dist
	$(BIN)/python -m pip install --quiet build uv
	$(BIN)/python -m build --outdir dist
	@find dist -name '*.whl' -size -1050k | grep -q . || { echo 'The wheel is larger than 1,050 KiB.'; exit 1; }
	$(BIN)/uv venv --quiet --clear --python "$(PYTHON)" .venv-dist
	$(BIN)/uv pip install --quiet --python .venv-dist dist/*.whl
	env PATH="$(CURDIR)/.venv-dist/bin" .venv-dist/bin/python -I tests/smoke.py

# The lowest version of every dependency that pyproject.toml allows.
lowest: .venv/made
	$(call smoke,.venv-lowest,--resolution lowest-direct)

# The newest versions, on another Python: make newest PYTHON=python3.13
newest: .venv/made
	$(call smoke,.venv-newest)

# Release candidates of TensorFlow and everything else, and the nightly build of Keras. A TensorFlow
# that is not released brings keras-nightly, which has the files of Keras: it must be installed last.
next: .venv/made
	$(call smoke,.venv-next,--prerelease allow,keras-nightly)

# Each front end in an environment of its own: some ten minutes, and 3 GB of disk.
matrix: .venv/made
	sh tests/chromium.sh
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python -m tests.matrix

screenshots: .venv/made
	@mkdir -p docs
	NBTRAIN_SCREENSHOTS=$(CURDIR)/docs $(BIN)/python -m pytest tests/lab -k light_and_dark
	$(BIN)/python -m tests.gallery

# With the tools that it is compared with, in an environment of their own; on a quiet machine.
bench: .venv/made
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python "$(PYTHON)" .venv-bench
	$(BIN)/uv pip install --quiet --python .venv-bench --editable '.[lab,test]' \
		livelossplot tbparse trackio wandb
	.venv-bench/bin/python tests/benchmarks/run.py --page docs/benchmarks.md

clean:
	rm -rf .venv .venv-* node_modules nbtrain/panel/static demo notebooks/runs docs/_build docs/jupyter_execute docs/notebooks dist build
