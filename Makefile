# The README's commands. Everything is installed into .venv; nothing outside this folder is touched but caches.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test test-fast lint bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "selfplay needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/selfplay curriculum pypi:sqlparse==0.5.3 --out runs/demo --bugs 10

test: setup lint
	$(BIN)/python -m pytest

test-fast: setup
	$(BIN)/python -m pytest -m 'not slow'

lint: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) runs build dist *.egg-info
