# The commands of this project. All of them work in .venv, which they prepare first (make setup).
# Another interpreter: PYTHON=python3.12 make demo. More for pytest: make test PYTEST_OPTIONS="-k naming".

PYTHON ?= python3
PYTEST_OPTIONS ?=
IN_VENV := .venv/bin/python
# .venv/source holds the link that makes this tree the package triton_pytorch.
AS_PACKAGE := PYTHONPATH=.venv/source $(IN_VENV) -W ignore::FutureWarning -m

export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help setup demo test test-gpu bench clean

help:
	@echo "make demo       serve an example model with a real tritonserver, and compare with torch"
	@echo "make test       lint, format check, types and all tests"
	@echo "make test-gpu   what only a GPU can show (.venv needs a torch with CUDA)"
	@echo "make bench      measure what serving costs"
	@echo "make setup      prepare .venv alone (PYTHON=python3.12 picks the interpreter)"
	@echo "make clean      remove .venv and all caches"

setup:
	@$(PYTHON) tools/prepare_environment.py

demo: setup
	@$(AS_PACKAGE) triton_pytorch.examples.demo

test: setup
	$(IN_VENV) -m ruff check .
	$(IN_VENV) -m ruff format --check .
	$(IN_VENV) -m mypy
	$(if $(PYTEST_OPTIONS),,$(IN_VENV) tests/assets/packages.py)
	$(IN_VENV) -m pytest $(PYTEST_OPTIONS)

test-gpu: setup
	$(IN_VENV) -m pytest -m gpu $(PYTEST_OPTIONS)

bench: setup
	@$(AS_PACKAGE) triton_pytorch.benchmarks.run

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
