# `make` alone lists the targets. Needs Python 3.11+ and Java 17+; everything else is installed into .venv.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; exit; }; done; command -v python3)
VENV := .venv
BIN := $(VENV)/bin
WAREHOUSE ?= ./warehouse
LOGS ?= sample_logs
# Logs for the runs that fill the archive of Java's classes; PREPARED_BY= makes no archive.
PREPARED_BY ?= sample_logs/kafka-2.4.1 sample_logs/kafka-3.9.1-node3

.DEFAULT_GOAL := help
# Images of containers often set it; every process of the tests would then compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# What is no part of `make test` and `make long`; lab/README.md says what each is, and each is a target too.
LAB ?= pythons processes connect cluster browser oracle sparks fuzz soak hours ratios mutants
.PHONY: help setup run test tests long check lint lab $(LAB) docs bench picture dist clean check-tools

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check-tools:
	@test -n "$(PYTHON)" || { echo "make: no python3 found; install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@command -v "$(PYTHON)" >/dev/null || { echo "make: there is no $(PYTHON); name a Python 3.11 or later: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is $$("$(PYTHON)" --version 2>&1), and Python 3.11 or later is needed; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; command -v "$$java" >/dev/null 2>&1 || { echo "make: no java found ($$java); install Java 17 or later, or set JAVA_HOME" >&2; exit 1; }
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; major=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); test "$${major:-0}" -ge 17 || { echo "make: $$java is version $${major:-unknown}, and Java 17 or later is needed; set JAVA_HOME" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt | check-tools
	@"$(PYTHON)" -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment; install its venv module (Debian: python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[local,dev]'
	@touch $@

setup: check-tools $(VENV)/.installed ## Create .venv with everything; fetch Delta's jars, archive Java's classes (once)
	@$(BIN)/python -m kafka_clientinfo.commands.prepare $(PREPARED_BY)

run: setup ## Run the main job on sample_logs (or LOGS=…) into ./warehouse (or WAREHOUSE=…)
	@$(BIN)/kafka-clientinfo run $(LOGS) --warehouse $(WAREHOUSE)

# What a target needs besides: an extra of pyproject.toml.
$(VENV)/.with-%: $(VENV)/.installed
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[local,dev,$*]'
	@touch $@

lint: setup ## Style, layers and types: ruff, import-linter, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# Two processes, of which one has a Spark session; conftest.py says which tests go where.
TWO_AT_ONCE := -n 2 --dist loadfile --no-loadscope-reorder
# Tests with branch coverage, which doubles their time.
WITH_COVERAGE := tests/protocol tests/logs

test: ## Run all that must pass at every commit: lint and, beside it, the tests
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: setup
	$(BIN)/python -m pytest $(TWO_AT_ONCE) tests

long: setup ## Run all tests, also those that build whole warehouses; check the coverage of parser and protocol by branch
	$(BIN)/python -m pytest $(TWO_AT_ONCE) --long=also $(WITH_COVERAGE) $(WITH_COVERAGE:tests/%=--cov=kafka_clientinfo/%) --cov-branch --cov-report=term:skip-covered --cov-fail-under=95
	$(BIN)/python -m pytest $(TWO_AT_ONCE) --long=also $(WITH_COVERAGE:%=--ignore=%)

lab: $(LAB) ## Run what takes hours or needs real brokers, other Sparks, a browser (or LAB="oracle soak", or make soak: lab/README.md)

# All that must pass before a release, which takes hours
check: test long docs lab

docs: setup $(VENV)/.with-docs ## Write schemas/tables.md and docs/conformance.md; build the site into build/site, every link checked
	$(BIN)/python -m tests.tables_page
	$(BIN)/python -m tests.conformance
	$(BIN)/python -m mkdocs build --quiet --clean

bench: setup $(VENV)/.with-bench ## Compare with other ways, half an hour (or BENCH=--help …); writes build/benchmarks/benchmarks.md
	$(BIN)/python -m lab.benchmarks $(BENCH)

# Every file in the wheel gets the time of the last commit, so that builds of one commit give the same wheel.
dist: setup ## Build the wheel into ./dist
	rm -rf dist build *.egg-info
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -c "from setuptools import build_meta as made; made.build_wheel('dist')"

clean: ## Remove all files that the targets made
	rm -rf $(VENV) $(WAREHOUSE) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* *.egg-info

# The targets of LAB

hours: setup $(VENV)/.with-bench
	$(BIN)/python -m lab.benchmarks hours --repeat 1 --docs build/hours

ratios: setup $(VENV)/.with-bench
	$(BIN)/python -m lab.benchmarks pipeline increments --docs build/ratios

browser: setup $(VENV)/.with-browser
	$(BIN)/python -m pytest -m browser lab

picture: run $(VENV)/.with-browser
	$(BIN)/python -m lab.browser.picture $(WAREHOUSE) docs/report.png

OTHER_SPARKS := lab/test_other_sparks.py

oracle: setup $(VENV)/.with-manifests
	$(BIN)/python -m pytest -m oracle -s $(OTHER_SPARKS:%=--ignore=%)

sparks: setup
	$(BIN)/python -m pytest -m oracle -s $(OTHER_SPARKS) $(SPARK:%=-k spark%-)

# Tests of whole runs. The others cache relations with localCheckpoint(), which serverless compute refuses. The session is one
# of Spark Connect there too, so that only these run with the long tests.
SERVERLESS := tests/test_pipeline.py tests/warehouse tests/spark tests/questions tests/runs/test_increments.py \
	tests/ingestion tests/commands

connect: setup
	$(BIN)/python -m pytest $(TWO_AT_ONCE) --spark=connect tests
	$(BIN)/python -m pytest $(TWO_AT_ONCE) --long=also --spark=serverless $(SERVERLESS)

# Releases of Python on which the tests run besides that of .venv, if they are installed.
PYTHONS ?= 3.11 3.13

pythons: setup
	@for version in $(PYTHONS); do \
		matches="import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')"; \
		if $(BIN)/python -c "$$matches"; then echo "make: .venv has Python $$version; make test runs on it"; continue; fi; \
		found=; for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python; do \
			if "$$python" -c "$$matches" 2>/dev/null; then found=$$python; fi; done; \
		if test -z "$$found"; then echo "make: SKIPPED: no Python $$version is found here" >&2; continue; fi; \
		"$$found" -m venv --clear build/python$$version \
		&& build/python$$version/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[local,dev]' \
		&& build/python$$version/bin/python -m pytest $(TWO_AT_ONCE) tests || exit 1; \
	done

processes: setup
	$(BIN)/python -m pytest -m process

cluster: setup
	$(BIN)/python -m pytest -m cluster

fuzz: setup
	$(BIN)/python -m pytest -m soak tests/logs/test_fuzz.py -s

soak: setup
	$(BIN)/python -m pytest -m soak --ignore=tests/logs/test_fuzz.py -s

mutants: setup $(VENV)/.with-mutants
	$(if $(MUTANTS),,$(BIN)/python -m lab.mutants --planted)
	$(BIN)/python -m lab.mutants $(or $(MUTANTS),--sample 400)
