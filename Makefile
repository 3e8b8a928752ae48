# `make render` and `make test` work in a clean clone with Python 3.11+ and make alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SHARED ?= ../shared

.DEFAULT_GOAL := help

help:
	@echo "make render       render the charts and check every environment of chartkit.yaml"
	@echo "make test         the quick tests: those under a second of processor, 25 examples a property"
	@echo "make test-all     every test; HYPOTHESIS_PROFILE=thorough draws more examples"
	@echo "make check        ruff, mypy --strict, the contracts of imports and the quick tests"
	@echo "make bench        the benchmarks (figures: bench/README.md)"
	@echo "make conformance DATA=FOLDER   recorded engine cases"
	@echo "make docs         write docs/policies anew"
	@echo "make site         build docs/ as a site in build/site, with the playground where there is node"
	@echo "make lock         write requirements.lock anew"

# The lock pins names, versions and hashes. It is installed as it stands (--no-deps): pip, asked to
# resolve it again, looks at packages younger than the lock. `pip check` shows that it is complete.
# --no-build-isolation builds with the pinned hatchling.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	touch $(STAMP)

setup: $(STAMP)

render: $(STAMP)
	$(BIN)/chartkit render

# A worker a core; a file's tests share what they made. In the order of the files, in which the slow
# ones do not stand last. A worker that a test ends fails that test: with a new one in its place
# pytest-xdist may wait forever.
TESTS := -m pytest --numprocesses auto --max-worker-restart 0 --dist loadfile --no-loadscope-reorder

# What Python compiles is kept, whatever the environment says of that: else each worker and each
# command that a test starts would compile it again.
test test-all check: export PYTHONDONTWRITEBYTECODE =

test: $(STAMP)
	$(BIN)/python $(TESTS) -m "not slow"

test-all: $(STAMP)
	$(BIN)/python $(TESTS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python $(TESTS) -m "not slow"

bench: $(STAMP)
	$(BIN)/python -m bench

conformance: $(STAMP)
	$(BIN)/python -m tests.conformance.engine $(DATA)

docs: $(STAMP)
	$(BIN)/chartkit policies docs chartkit --output docs/policies

site: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	$(BIN)/python tools/playground.py

lock:
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet pip-tools
	CHARTKIT_RANGES=1 $(VENV)/lock/bin/python -m piptools compile --quiet --extra cluster --extra dask --extra dev --extra helm --extra lsp --extra mcp --extra otel --extra provenance --extra remote --extra serve --extra signatures --extra zstd --generate-hashes --allow-unsafe \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --strip-extras --no-header \
	  --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

.PHONY: help setup render test test-all check bench conformance docs site lock clean
