# Every target makes .venv and installs what it needs; the second time it starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: serve test lint format bench parity crash fuzz

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# Compiled beforehand, also where PYTHONDONTWRITEBYTECODE would have every start compile again.
COMPILE := $(BIN)/python -m compileall -q src

serve: $(INSTALLED)
	@$(COMPILE)
	$(BIN)/fairlead serve $(ARGS)

test: $(INSTALLED)
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix src tests bench tools
	$(BIN)/ruff format src tests bench tools

bench: $(INSTALLED)
	@$(COMPILE)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench $(ARGS)

# Replays the recorded scenarios of ../shared/parity in both dialects against the committed floors.
parity: $(INSTALLED)
	$(BIN)/python tools/parity.py $(ARGS)

# Kills a server under load, round after round, and checks that nothing acknowledged is lost.
crash: $(INSTALLED)
	FAIRLEAD_CRASH_ROUNDS=$(or $(ROUNDS),30) $(BIN)/pytest tests/storage/test_crash.py $(ARGS)

# Random requests in every format and with every verb, 65,000 of them: none is answered with a 500.
fuzz: $(INSTALLED)
	$(BIN)/python tools/fuzz.py $(ARGS)
