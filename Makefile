# demo: the main job on this machine   test: every test, with its servers   check: lint, types, import rules
# bench: measurements   evals: how right it is on the data in DATA=DIR. Arguments as ARGS=..., e.g. make demo ARGS=--once
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
unexport VIRTUAL_ENV UV_PROJECT_ENVIRONMENT

UV_VERSION := 0.13.9
BIN := .venv/bin
# uv from the machine, else our own copy in the project's environment (`--inexact`, or a sync would remove it).
# A uv older than 0.10 cannot read pyproject.toml.
UV := $(shell version=$$(uv --version 2>/dev/null | cut -d' ' -f2 || true); \
	printf '0.10\n%s\n' "$$version" | sort -VC && [ -n "$$version" ] && command -v uv || echo $(BIN)/uv)
PYTHON := $(or $(shell command -v python3.11),$(shell command -v python3))
SYNC := $(UV) sync --frozen --inexact --quiet
# Where Python may not keep the bytecode it makes, each start would make it anew, which doubles the start's time.
COMPILE := $(if $(PYTHONDONTWRITEBYTECODE),--compile-bytecode)
export UV

.PHONY: help demo test check bench evals servers environment

help:
	@sed -n 's/^# //p' Makefile | head -n 2

$(BIN)/uv:
	@echo "Fetching uv $(UV_VERSION) into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

demo: $(if $(filter $(BIN)/uv,$(UV)),$(BIN)/uv)
	@test -x $(BIN)/incident-graph || echo "Setting up .venv (once, about a minute)"
	@$(SYNC) --no-dev
	@exec $(BIN)/incident-graph demo $(ARGS)

environment: $(if $(filter $(BIN)/uv,$(UV)),$(BIN)/uv)
	@$(SYNC) $(COMPILE)

servers: environment
	@tests/servers/install

# Two workers, each with servers of its own group of tests (tests/conftest.py); `make test ARGS="-n 0"` runs one test
# at a time. Programs that the tests start over and over keep their bytecode.
test: export PYTHONDONTWRITEBYTECODE :=
test: servers
	@rm -f .coverage .coverage.*; \
	status=0; $(BIN)/coverage run -m pytest -n 2 --dist loadgroup --no-loadscope-reorder $(ARGS) || status=$$?; \
	compgen -G '.coverage.*' >/dev/null && $(BIN)/coverage combine --quiet || true; \
	total=$$($(BIN)/coverage report --format=total) || status=$$(( status ? status : 1 )); \
	echo "coverage with branches: $${total##*$$'\n'} % (for each file: $(BIN)/coverage report)"; \
	exit $$status

check: environment
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/pyright
	@$(BIN)/lint-imports

bench: environment
	@$(UV) run --frozen python -m bench $(ARGS)

evals: environment
	@$(UV) run --frozen python -m evals run --data $(or $(DATA),../shared/data) $(ARGS)
