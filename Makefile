# Two commands do everything: `make demo` and `make test`. Python 3.11 or later, nothing else.
# A third, `make lint`, is for those who change the code.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LINT := .venv-lint

FLARE := .venv-flare
ENGINES := .venv-engines
IN_C := $(wildcard src/privet/*/_*.[ch] src/privet/*/*/_*.[ch])

.PHONY: demo test lint coverage docs wheel screenshots federated test-engines stress bench clean

$(VENV)/.installed: pyproject.toml setup.py $(IN_C)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Privet needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

demo: $(VENV)/.installed
	rm -rf demo
	$(BIN)/privet demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest

# Linters and types, in exact versions and in an environment of their own: what they say changes with
# tests/lint.txt only, whatever the Python.
$(LINT)/.installed: tests/lint.txt
	$(PYTHON) -m venv $(LINT)
	$(LINT)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/lint.txt
	touch $@

lint: $(LINT)/.installed
	$(LINT)/bin/ruff check .
	$(LINT)/bin/ruff format --check .
	$(LINT)/bin/mypy
	PYTHONPATH=src $(LINT)/bin/lint-imports

# The site: notebooks are run, warnings are errors, links are followed.
$(VENV)/.installed-docs: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	$(BIN)/python docs/site/links.py build/site

# Page, dark page, notebook and terminal as a person sees them, in build/screenshots, to be looked at.
# It needs Chromium and its driver (Debian: apt-get install chromium chromium-driver).
screenshots: $(VENV)/.installed-docs
	$(BIN)/python docs/site/screenshots.py build/screenshots

# What is published, installed where nothing else is; it leaves dist/ and the page of its demo.
wheel: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf dist build/empty
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/privet demo

# A federation of real processes, carried by NVIDIA FLARE in an environment of its own.
$(FLARE)/.installed:
	$(PYTHON) -m venv $(FLARE)
	$(FLARE)/bin/python -m pip install --quiet --disable-pip-version-check 'nvflare>=2.9,<2.10'
	touch $@

federated: $(VENV)/.installed-test $(FLARE)/.installed
	PRIVET_FLARE=$(FLARE)/bin $(BIN)/python -m pytest -n 0 tests/deployment

# Every table of the documents that is about accuracy, measured anew; about twenty minutes on two
# cores. `make bench ARCHIVE=folder`, where the files of the archive (docs/benchmarks.md) are there already.
bench: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python bench/accuracy.py
	$(BIN)/python bench/accuracy.py --networks sachs,child --rows 1000,10000,1000000 \
		--epsilons 0.1,1,inf --name accuracy-rows
	$(BIN)/python bench/numeric.py
	$(BIN)/python bench/mixed.py
	$(BIN)/python bench/confidence.py
	$(BIN)/python bench/searches.py
	$(BIN)/python bench/searches.py --numeric --runs 3
	$(BIN)/python bench/plan.py
	$(BIN)/python bench/real.py $(if $(ARCHIVE),--from $(ARCHIVE))
	$(BIN)/python -m tests.docs.test_docs

# Real engines: a PostgreSQL server of its own and Spark in one process. They need programs that pip
# does not have; with Debian's packages, for a user who is not root and without installing them:
#   mkdir engines && cd engines && apt-get download postgresql-15 libpq5 openjdk-17-jre-headless
#   for each in *.deb; do dpkg -x $each .; done
#   export PRIVET_POSTGRES=$PWD/usr/lib/postgresql/15/bin LD_LIBRARY_PATH=$PWD/usr/lib/x86_64-linux-gnu
#   export JAVA_HOME=$(echo $PWD/usr/lib/jvm/java-17-openjdk-*)
# As root: apt-get install postgresql openjdk-17-jre-headless. What is not there is skipped, and said.
$(ENGINES)/.installed: pyproject.toml setup.py $(IN_C)
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,postgres,spark,delta,iceberg]' \
		'pyiceberg[sql-sqlite]'
	touch $@

test-engines: $(ENGINES)/.installed
	$(ENGINES)/bin/python -m pytest -n 0 -rs tests/engines

# Attacks that take minutes: generated inputs, kills, broken disks, races, loss of power, a long run.
# The seed is printed; `make stress SEED=7` repeats one, `make stress SCALE=0.1` takes a quick look.
stress: $(VENV)/.installed-test
	$(BIN)/python -m stress $(if $(SEED),--seed $(SEED)) $(if $(SCALE),--scale $(SCALE))

# The tests with every line counted, which takes longer.
coverage: $(VENV)/.installed-test
	$(BIN)/python -m pytest --cov --cov-report=
	$(BIN)/python -m tests.helpers.reached

clean:
	rm -rf $(VENV) $(LINT) $(FLARE) $(ENGINES) demo build dist src/*.egg-info
