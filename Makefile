# The README's commands. Everything is installed into .venv; built environments of repositories go to the user's cache.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
BIN := .venv/bin
DEMO := runs/demo

.PHONY: setup demo test test-fast lint bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "selfplay needs Python 3.11 or newer with its venv module: apt-get install python3-venv" >&2; exit 2; }
	@command -v git >/dev/null || { echo "selfplay needs git: apt-get install git" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5,<1'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	@touch $@

demo: setup
	$(BIN)/selfplay curriculum pypi:sqlparse==0.5.3 --out $(DEMO) --bugs 10
	@bug=$$(ls -d $(DEMO)/bugs/* | head -n 1); \
	echo; echo "Look at one:        $(BIN)/selfplay show $$bug"; \
	echo "Check it again:     $(BIN)/selfplay validate $$bug"; \
	echo "Your own code:      $(BIN)/selfplay curriculum PATH --out runs/mine --bugs 10"

test: setup lint
	$(BIN)/python -m pytest

test-fast: setup
	$(BIN)/python -m pytest -m 'not slow'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv runs build dist *.egg-info
