# Two commands do everything: `make demo` and `make test`. Python 3.11 or later, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

FLARE := .venv-flare

.PHONY: demo test lint pytest coverage federated bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Privet needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

demo: $(VENV)/.installed
	rm -rf demo
	$(BIN)/privet simulate sachs --rows 100000 --seed 1 --output demo/sachs.csv
	$(BIN)/privet discover demo/sachs.csv --schema demo/sachs.schema.toml --epsilon 1 --delta 1e-6 \
		--ledger demo/ledger.sqlite --output demo/out
	$(BIN)/privet compare demo/sachs.truth.json demo/out/graph.json

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint pytest

pytest: $(VENV)/.installed-test
	$(BIN)/python -m pytest

# A federation of real processes, carried by NVIDIA FLARE in an environment of its own.
$(FLARE)/.installed:
	$(PYTHON) -m venv $(FLARE)
	$(FLARE)/bin/python -m pip install --quiet --disable-pip-version-check 'nvflare>=2.9,<2.10'
	touch $@

federated: $(VENV)/.installed-test $(FLARE)/.installed
	PRIVET_FLARE=$(FLARE)/bin $(BIN)/python -m pytest -n 0 tests/deployment

# Every table of the documents that is about accuracy, measured anew; about an hour on two cores.
bench: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python bench/accuracy.py
	$(BIN)/python bench/accuracy.py --networks sachs,child --rows 1000,10000,1000000 \
		--epsilons 0.1,1,inf --name accuracy-rows
	$(BIN)/python bench/numeric.py
	$(BIN)/python bench/confidence.py
	$(BIN)/python bench/searches.py
	$(BIN)/python bench/searches.py --numeric --runs 3
	$(BIN)/python bench/plan.py
	$(BIN)/python bench/real.py
	$(BIN)/python -m tests.docs.test_docs

# The same with every line counted, which takes longer.
coverage: $(VENV)/.installed-test
	$(BIN)/python -m pytest --cov --cov-report=
	$(BIN)/python -m tests.helpers.reached

clean:
	rm -rf $(VENV) $(FLARE) demo build dist src/*.egg-info
