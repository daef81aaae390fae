# Needs GNU make and python3 (3.11 to 3.14), nothing else: the first target that runs makes .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCH_INSTALLED := $(VENV)/.bench-installed
DOCS_INSTALLED := $(VENV)/.docs-installed
# Compiling all modules of all packages takes as long as all the rest of it, and most are never imported.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
FUZZ ?= 2000
# What test-all runs on, if it is on the PATH.
VERSIONS ?= 3.11 3.12 3.13 3.14
TESTS ?= tests
# GPUs that `make cubins` compiles for.
ARCHITECTURES ?= sm_80 sm_90 sm_100
# As many processes as tests/conftest.py says. Who has nothing left takes half of what another still has. Of benchmarks there are
# none among the tests; their plugin takes a fourth of a millisecond for each.
PYTEST := $(BIN)/python -m pytest -p no:benchmark --numprocesses auto --dist worksteal

# What starts many processes, as tests do, finds modules compiled, whatever the user's shell says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo examples test test-slow test-one test-all lint docs docs-site bench bench-cuda emulate cubins fuzz clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## train a network on handwritten digits (seconds)
	$(BIN)/python examples/digits.py

examples: $(INSTALLED)  ## run every example, on torch too where it is installed; write docs/gallery.md and the README's table
	$(BIN)/python -m tools.gallery

# All three run whatever the others say: mypy beside the tests, and what it said comes last.
test: $(INSTALLED)  ## ruff, mypy and every test, those over the whole table of operations in parts
	@status=0; said=$$(mktemp); \
	$(BIN)/mypy > $$said 2>&1 & mypy=$$!; \
	$(BIN)/ruff check . || status=1; \
	$(PYTEST) $(PARTS) || status=1; \
	wait $$mypy || status=1; \
	echo "mypy: $$(grep -v ': note: ' $$said)"; rm -f $$said; \
	exit $$status

test-slow: PARTS := --slow
test-slow: test  ## make test with all cases of every test, which takes several times as long

test-one: $(INSTALLED)
	$(PYTEST) $(TESTS)

# Each version has an environment of its own. A python3.x that cannot start, as pyenv's stand-ins may not, is not there.
test-all:  ## every test, on each Python from 3.11 to 3.14 that is on the PATH
	@status=0; passed=; failed=; missing=; \
	for version in $(VERSIONS); do \
		if ! python$$version -c '' 2> /dev/null; then missing="$$missing $$version"; \
		elif $(MAKE) --no-print-directory test-one PYTHON=python$$version VENV=.venv-$$version; \
		then passed="$$passed $$version"; else failed="$$failed $$version"; status=1; fi; \
	done; \
	echo "make test-all: passed on Python$${passed:- none}; failed on$${failed:- none}; not on the PATH, so not tested:$${missing:- none}"; \
	exit $$status

lint: $(INSTALLED)  ## the formatter, ruff and mypy alone, and whether the stubs are current
	$(BIN)/python -m tools.stubs --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(INSTALLED)  ## write the examples of docstrings, docs/operations.md, and the stubs that editors read
	$(BIN)/python -m tools.document

docs-site: $(DOCS_INSTALLED)  ## build the site of the documentation in build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Other libraries' warnings are no failures here.
bench: $(BENCH_INSTALLED)  ## measure against torch, JAX, autograd and NumPy; update the README's table
	$(BIN)/python -m pytest benchmarks -q -W default
	$(BIN)/python -m benchmarks.report

bench-cuda: $(BENCH_INSTALLED)  ## measure on this machine's GPU, beside torch where it has CUDA
	$(BIN)/python -m benchmarks.cuda --save

emulate: $(INSTALLED)  ## every test of GPUs, the slow ones too, on GPUs that this processor plays
	NBGRAD_CUDA=emulated $(PYTEST) --slow tests/cuda

cubins: $(INSTALLED)  ## compile every CUDA kernel and inspect it; needs no GPU
	$(BIN)/python -m nbgrad.cubins --arch $(ARCHITECTURES)

fuzz: $(INSTALLED)  ## random programs against a reference, FUZZ=2000 of them; native code in its other builds
	NBGRAD_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/autograd/test_random_programs.py tests/native/test_builds.py

clean:  ## remove what the targets made, .venv included
	rm -rf $(VENV) .venv-3.* build examples/*.png .pytest_cache .mypy_cache .ruff_cache .hypothesis nbgrad.egg-info

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 15) or sys.exit("make: nbgrad needs Python 3.11 to 3.14, \
	$(PYTHON) is %d.%d. Hint: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev,cuda,examples]'
	@touch $@

$(BENCH_INSTALLED): $(INSTALLED)
	$(PIP) --editable '.[bench]'
	@touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(PIP) --editable '.[docs]'
	@touch $@
