# Every target installs what it needs into .venv the first time; afterwards it starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVING := $(VENV)/.serving
TESTING := $(VENV)/.testing
DOCUMENTING := $(VENV)/.documenting
# Otherwise every worker of the tests would compile every test again.
unexport PYTHONDONTWRITEBYTECODE
CHECKED := src tests bench tools examples building setup.py

# What is tried by `make quick`: every layer, and the paths that people meet first.
QUICK := tests/codec/types/test_notation.py tests/codec/types/test_texts.py tests/codec/types/test_times.py \
	tests/codec/test_yaml_bodies.py $(wildcard tests/resources/test_core_*.py) \
	$(wildcard tests/resources/test_pod_*.py) $(wildcard tests/resources/test_printing*.py) \
	tests/fields/test_apply.py tests/fields/test_merge_patch.py tests/fields/test_json_patch.py \
	tests/auth/authorization/test_rbac.py tests/api/test_create.py tests/api/test_update.py \
	tests/api/test_delete.py tests/api/test_list_versions.py \
	tests/api/test_selectors.py tests/api/test_openapi_schemas.py \
	tests/process/test_health.py tests/process/test_banner.py tests/cli/test_kubectl.py
# What is tried with compiled modules: what they do, and requests that go through all of them.
ON_COMPILED := tests/test_compilation.py tests/codec/types tests/fields tests/codec $(wildcard tests/resources/test_pod_*.py) \
	tests/storage tests/wire/incoming tests/auth/authentication tests/operations tests/api/flow_control tests/admission tests/controllers/volumes \
	tests/process/test_inflight.py \
	tests/process/test_draining.py tests/process/test_request_deadlines.py tests/api/audit/test_every_request.py \
	tests/api/test_create.py tests/api/test_update.py tests/api/test_delete.py \
	tests/api/test_list_versions.py tests/api/test_selectors.py \
	tests/api/test_applying_again.py tests/api/test_fuzzed_requests.py \
	tests/api/test_out_of_range.py
# Lines that must be run by the tests, in percent, by `make coverage`.
COVERAGE_FLOOR := 93

.DEFAULT_GOAL := help
.PHONY: help serve wheelhouse compile wheel release audit test test-all quick test-compiled coverage covered lint format console-tools console-check console-budgets docs bench \
	bench-table bench-beside bench-extremes bench-quick bench-baseline scale sizing parity crash chaos attack fuzz fuzz-wire soak nightly

help: ## show this
	@echo "make TARGET [ARGS='...'], where TARGET is one of"
	@awk -F ': .*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Shows progress; a failure is one line.
INSTALL := $(PYTHON) tools/environment.py
PYTHON_CHECK = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo "$(PYTHON) is not Python 3.11 or newer, which is needed; name one: make PYTHON=python3.12 ..."; exit 1; }

$(SERVING): pyproject.toml
	@$(PYTHON_CHECK)
	@$(INSTALL) serving
	@touch $@

$(TESTING): pyproject.toml
	@$(PYTHON_CHECK)
	@$(INSTALL) testing
	@touch $@ $(SERVING)

$(DOCUMENTING): pyproject.toml
	@$(PYTHON_CHECK)
	@$(INSTALL) documenting
	@touch $@

wheelhouse: ## collect all packages that targets install in wheelhouse/, for machines without a network
	@$(PYTHON_CHECK)
	@$(INSTALL) wheelhouse

# A whole copy of the package with compiled modules: none of them can hide a newer source, because
# everything that runs it makes it anew when a source has changed.
COPY := build/compiled
COPIED := $(COPY)/.made
SOURCES := setup.py $(wildcard building/*.py) $(shell find src/fairlead -type f -not -name '*.pyc')
$(COPIED): $(SOURCES) | $(TESTING)
	@echo "Compiling the hot modules into $(COPY), about a minute; only what changed the next time ..."
	@FAIRLEAD_COMPILE=1 $(BIN)/python setup.py --quiet build --build-lib $(COPY)
	@$(BIN)/python -m compileall -q $(COPY)
	@touch $@
RUN_COPY := PYTHONPATH="$(CURDIR)/$(COPY)"

# Compiled beforehand: servers that tests start at the same time would each compile everything.
COMPILE := $(BIN)/python -m compileall -q src

# A copy that was once made is kept up to date and used; nobody has to have a compiler.
serve: $(SERVING) $(if $(wildcard $(COPIED)),$(COPIED)) ## run a server; its flags go into ARGS
	@$(COMPILE)
	@$(if $(wildcard $(COPIED)),$(RUN_COPY)) $(BIN)/fairlead serve $(ARGS)

compile: $(COPIED) ## compile the hot modules, for serve and bench; about a minute

wheel: $(TESTING) ## build compiled wheels for the Pythons of this machine into dist/
	@$(BIN)/python tools/release.py --wheels

release: $(TESTING) $(DOCUMENTING) ## build all files of a release into dist/ and try each
	@$(BIN)/python tools/release.py

audit: $(TESTING) ## look the installed packages up among known vulnerabilities, where their database can be reached
	@$(BIN)/python tools/materials.py --audit

# Only the plugins that our tests use: if pytest looked for plugins by itself, it would find ours and
# rewrite the assertions of the whole package.
PYTEST := $(BIN)/pytest --disable-plugin-autoload -p xdist -p pytest_cov -p hypothesispytest -p fairlead
WORKERS := -n 4 --dist worksteal

# Before the first run: otherwise each of its processes would compile every test.
COLLECTED := build/.collected
$(COLLECTED): | $(TESTING)
	@echo "Compiling the tests, a quarter of a minute ..."
	@mkdir -p $(@D)
	@$(COMPILE)
	@for part in '[a-b]*' 'c*/' '[d-z]*'; do $(PYTEST) --collect-only -qq tests/$$part >/dev/null & done; wait
	@touch $@

test: $(TESTING) $(COLLECTED) ## run all tests, about 10 minutes on two cores
	@echo "Running all tests, about 10 minutes on two cores; make quick takes less than one."
	@$(COMPILE)
	@$(PYTEST) $(WORKERS) $(ARGS)

test-all: $(TESTING) $(COLLECTED) ## run every test, also slow ones, all in both dialects, about 20 minutes
	@$(COMPILE)
	@$(PYTEST) $(WORKERS) --all $(ARGS)

quick: $(TESTING) ## run a choice of tests, under a minute
	@$(COMPILE)
	@$(PYTEST) $(WORKERS) $(QUICK) $(ARGS)

test-compiled: $(COPIED) ## run a choice of tests with compiled modules, about four minutes
	@$(RUN_COPY) $(PYTEST) $(WORKERS) $(ON_COMPILED) $(ARGS)

coverage: $(TESTING) ## run all tests and measure which lines they reach
	@rm -f .coverage .coverage.*
	@$(MAKE) --no-print-directory test ARGS="--cov --cov-report= $(ARGS)"
	@$(MAKE) --no-print-directory covered

covered: $(TESTING) ## tell which lines the last measured run reached, and hold the floor
	@$(BIN)/coverage report --skip-covered --fail-under=$(COVERAGE_FLOOR)

lint: $(TESTING) console-check ## check style, types and the direction of imports
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/mypy examples/control-plane/*.py
	$(BIN)/lint-imports

# What the console is checked with is nothing that serving or testing needs.
NPM := build/npm
CONSOLE := src/fairlead/console/static
PRETTIER = $(NPM)/node_modules/.bin/prettier --log-level warn --print-width 100
$(NPM)/.made: tools/console/package.json
	@mkdir -p $(NPM)
	@cp $< $(NPM)/
	@npm install --prefix $(NPM) --silent --no-audit --no-fund
	@touch $@

console-tools: $(if $(shell command -v npm),$(NPM)/.made) ## fetch what the console is checked with, from npm

console-check: console-tools ## check the style and the types of the console
	@if [ -e $(NPM)/.made ]; then \
		$(NPM)/node_modules/.bin/tsc -p tools/console/jsconfig.json && $(PRETTIER) --check $(CONSOLE); \
	else \
		echo "SKIPPED: there is no npm, so the console's types and style are not checked"; \
	fi

console-budgets: $(TESTING) ## measure the console in a browser: first useful paint, longest task under load
	@$(COMPILE)
	@$(BIN)/python tools/console_budgets.py $(ARGS)

format: $(TESTING) ## bring the sources into shape
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)
	if [ -e $(NPM)/.made ]; then $(PRETTIER) --write $(CONSOLE); fi
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/dashboard.py

docs: $(DOCUMENTING) ## build the documentation into site/, strictly
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)

bench: $(TESTING) $(COPIED) ## measure everything, with compiled modules, about 8 minutes
	$(RUN_COPY) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench $(ARGS)

bench-table: $(TESTING) ## write the table of docs/performance.md from the last whole run of bench
	$(BIN)/python -m bench.document $(ARGS)

bench-beside: $(TESTING) $(COPIED) ## measure beside a kube-apiserver and etcd in one run: REFERENCE=FILE
	$(RUN_COPY) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench.beside --reference $(REFERENCE) $(ARGS)

bench-extremes: $(TESTING) $(COPIED) ## measure a million objects, 300 definitions, 10,000 watches, half an hour
	$(RUN_COPY) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench.extremes $(ARGS)

bench-quick: $(TESTING) ## compare what a few requests cost with the baseline, about a minute
	@$(COMPILE)
	$(BIN)/python -m bench.quick $(ARGS)

bench-baseline: $(TESTING) ## renew that baseline, where requests may cost more
	@$(COMPILE)
	$(BIN)/python -m bench.quick --renew

scale: $(TESTING) $(COPIED) ## run 50,000 pods on 1,000 simulated nodes, about 6 minutes; more in ARGS
	$(RUN_COPY) $(BIN)/python -m bench.scale $(ARGS)

sizing: $(TESTING) $(COPIED) ## measure what objects, watches and requests cost, for docs/sizing.md, 3 minutes
	$(RUN_COPY) $(BIN)/python -m bench.sizing $(ARGS)

parity: $(TESTING) ## compare with the recorded answers of the reference, under 5 minutes a dialect
	@$(COMPILE)
	$(BIN)/python tools/parity.py $(ARGS)

crash: $(TESTING) ## kill a server under load, round after round, and look for losses
	FAIRLEAD_CRASH_ROUNDS=$(or $(ROUNDS),30) $(BIN)/pytest tests/storage/test_crash.py $(ARGS)

chaos: $(TESTING) ## half an hour of kills, stops and cuts under load; nothing may be lost or told wrong
	@$(COMPILE)
	$(BIN)/python tools/chaos.py $(ARGS)

fuzz-wire: $(TESTING) ## send noise and broken requests over 100,000 connections
	FAIRLEAD_FUZZ_CONNECTIONS=$(or $(CONNECTIONS),100000) $(BIN)/pytest tests/attacks/test_fuzzed_wire.py $(ARGS)

attack: $(TESTING) ## search ten minutes for inputs that hold the event loop or fill the memory
	@$(COMPILE)
	$(BIN)/python tools/attack.py $(ARGS)

fuzz: $(TESTING) ## send 65,000 odd objects, patches and queries; none may be answered with a 500
	$(BIN)/python tools/fuzz.py $(ARGS)

soak: $(TESTING) ## let a day pass for a server in a few minutes; nothing it uses may grow
	@$(COMPILE)
	$(BIN)/python tools/soak.py $(ARGS)

nightly: $(TESTING) ## run chaos, crash, fuzz and soak at their full length, hours; ARGS=--short for minutes
	@$(COMPILE)
	$(BIN)/python tools/nightly.py $(ARGS)
