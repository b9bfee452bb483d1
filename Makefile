# All targets need Python >= 3.11 and Java >= 17, and nothing else: `make help`.
# Another Python: make PYTHON=/path/to/python3. Another Java: JAVA_HOME=/path/to/java make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONTAINERS ?= podman
VERSION ?= $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' txnlog/__init__.py)
# Its existence says that everything is installed and fetched: with it, nothing here uses the network, but for the
# first test-kafka, which fetches the jars of three releases of Kafka into build/kafka.
READY := $(VENV)/.ready

# Each is empty when all is well, else one line. They run before anything is downloaded.
python_trouble = $(shell \
	if ! command -v $(PYTHON) >/dev/null; then echo "there is no $(PYTHON)"; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  echo "$(PYTHON) is too old or does not run"; fi)
venv_trouble = $(shell $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || echo "missing")
# JAVA_HOME may be a variable of make, which $(shell) does not hand on by itself.
java_trouble = $(shell JAVA_HOME="$(JAVA_HOME)" $(PYTHON) -B -m txnlog.spark.java 2>&1 >/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup run test check test-processes test-kafka test-faults test-platforms test-damage test-browser picture bench simulate mutants lint format formats types wheel image notes clean distclean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## make .venv with everything in it

run: $(READY) ## find the hanging transactions in data/samples/shop, one day of a web shop; tables in build/tables
	$(BIN)/txnlog detect data/samples/shop --tables build/tables
	$(BIN)/txnlog find-hanging --tables build/tables

# A file is one process's, as its tests share what they have set up. The longest come first.
BESIDE := --numprocesses 2 --dist loadfile --no-loadscope-reorder

test: $(READY) ## all tests except the kinds below, in two processes; ARGS="-k words" for some
	$(BIN)/pytest $(BESIDE) $(ARGS)

check: $(READY) lint formats types ## for every commit: lint, formats, types, and the unit tests that need no Spark; two minutes
	$(BIN)/pytest $(BESIDE) tests/unit -m "not spark and not processes" $(ARGS)

test-processes: $(READY) ## the tests that start many jobs, object stores and Spark clusters; a quarter of an hour
	$(BIN)/pytest $(BESIDE) -m "processes and not faults" $(ARGS)

test-kafka: $(READY) ## the tests that need Kafka brokers: they start them on 127.0.0.1; half an hour
	$(BIN)/pytest -m kafka tests/kafka $(ARGS)

test-faults: $(READY) ## kill twenty jobs and a worker, run jobs at once, judge twelve dumps in three orders: before a release; half an hour
	$(BIN)/pytest -m faults $(ARGS)

test-damage: $(READY) ## small dumps damaged in 22 000 ways, of which make test takes one in thirty: before a release
	TXNLOG_DAMAGE=all $(BIN)/pytest tests/end_to_end/test_damage.py $(ARGS)

test-browser: $(READY) ## the tests of the HTML report in Chromium, which has to be installed; a minute
	$(BIN)/pytest -m browser tests/browser $(ARGS)

picture: run ## take docs/report.png, the screenshot of the report of make run; needs Chromium
	$(BIN)/python -m tests.browser.picture build/tables docs/report.png

bench: $(READY) ## measure speed and memory against Kafka's own tool; half an hour; ARGS="--rounds 1" for a quick run
	PYTHONPATH=data/samples/recipes $(BIN)/python -m tests.benchmarks.logs $(ARGS)
	PYTHONPATH=data/samples/recipes $(BIN)/python -m tests.benchmarks.text $(ARGS)
	PYTHONPATH=data/samples/recipes $(BIN)/python -m tests.benchmarks.scale
	$(BIN)/python -m tests.benchmarks.daily_runs
	$(BIN)/python -m tests.benchmarks.archive

# Databricks 17.3 LTS and 18 LTS have these; .venv has the newest.
OLDER_SPARKS := 4.0.1 4.1.1

test-platforms: $(READY) $(OLDER_SPARKS:%=build/spark-%/.ready) ## the samples on older Sparks, each in a .venv of its own
	for version in $(OLDER_SPARKS); do \
	  build/spark-$$version/bin/python -m pytest tests/end_to_end/test_samples.py $(ARGS) || exit 1; done

# The versions of constraints.txt, but for Spark's.
build/spark-%/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/spark-$*
	@echo "installing Spark $* and what constraints.txt lists: some minutes, once"
	@sed 's/^pyspark==.*/pyspark==$*/' constraints.txt >build/spark-$*/constraints.txt
	@build/spark-$*/bin/pip install --quiet --disable-pip-version-check \
		--constraint build/spark-$*/constraints.txt --editable '.[spark]' hypothesis pytest werkzeug \
		|| { echo "make: packages could not be installed: pip says why above; is there a network?" >&2; exit 1; }
	@build/spark-$*/bin/python -m txnlog.spark.jars >/dev/null
	@touch $@

simulate: $(READY) ## judge dumps of 10 000 simulated clusters, whose true state is known, and of 2 000 with an archive; an hour; ARGS="--seed 7"
	$(BIN)/python -m tests.simulation.judged --clusters 10000 $(ARGS)
	$(BIN)/python -m tests.simulation.judged --clusters 2000 --archives 2 $(ARGS)

mutants: $(READY) ## break the code in each listed way and check that a test fails; an hour; ARGS="--only words" for some
	$(BIN)/python -m tests.mutants $(ARGS)

lint: $(READY) ## ruff's rules, and which package may import which
	$(BIN)/ruff check
	$(BIN)/lint-imports

format: $(READY) ## rewrite the code as ruff formats it
	$(BIN)/ruff format

formats: $(READY) ## fail if the code is not as ruff formats it
	$(BIN)/ruff format --check

types: $(READY) ## mypy, strict
	$(BIN)/mypy

wheel: $(READY) ## dist/txnlog-*.whl
	$(BIN)/python -m build --wheel --no-isolation

image: ## the container image of Containerfile with the wheel in dist, tried on a sample; CONTAINERS=docker for Docker
	$(CONTAINERS) build --file Containerfile --tag txnlog .
	$(CONTAINERS) run --rm --network none --volume "$(CURDIR)/data/samples:/samples:ro" txnlog \
		detect /samples/shop --tables /tables

notes: ## print the section of the changelog that a release needs; VERSION=1.2.3 for another than the code's
	@awk -v version='$(VERSION)' 'index($$0, "## [") == 1 { wanted = index($$0, "## [" version "]") == 1; next } \
		wanted { found = 1; print } END { exit !found }' CHANGELOG.md

clean: ## remove what was built
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

distclean: clean ## remove .venv, too
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	$(if $(python_trouble),$(error $(python_trouble): install Python 3.11 or newer, or name one with make PYTHON=...))
	$(if $(venv_trouble),$(error $(PYTHON) has no venv: install it (Debian, Ubuntu: python3-venv), or make PYTHON=...))
	$(if $(java_trouble),$(error $(java_trouble)))
	$(PYTHON) -m venv $(VENV)
	@echo "installing what constraints.txt lists: a few minutes, once"
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]' \
		|| { echo "make: packages could not be installed: pip says why above; is there a network?" >&2; exit 1; }
	@$(BIN)/python -m txnlog.spark.jars >/dev/null
	@touch $@
