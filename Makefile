# `make help` lists the targets. Each makes its own environment first if there is none.
SHELL := /bin/sh
# Bytecode is kept: else each of the many processes would compile all packages anew.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
SYSTEM_PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTHON := $(VENV)/bin/python
OMTL := $(PYTHON) -m omtl
INSTALL := $(PYTHON) -m pip --disable-pip-version-check --quiet install --require-hashes --no-compile

READING ?= as_published
SEED ?= 0
REPEATED = --seed '$(SEED)' --repeats '$(or $(REPEATS),paper)'
PARALLEL = $(if $(JOBS),--jobs '$(JOBS)')
REQUEST = --reading '$(READING)' $(REPEATED) $(if $(SELECTION),--selection '$(SELECTION)')
OPTIONS = $(REQUEST) $(PARALLEL)

.DEFAULT_GOAL := help
.PHONY: help reproduce reproduce-table reproduce-figure readings claims statistics hindsight verify report data bench test test-all test-versions lint size acceptance faults slurm mutants audit docs lock clean distclean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20
	@echo
	@echo 'Variables: TABLE=id FIGURE=id READING=as_written|as_read|blind|as_published|name REPEATS=n JOBS=n SEED=n SELECTION=prefix'
	@echo 'Data: OMTL_DATA_MIRROR=folder or address, tried before the public sources'

reproduce-table: $(VENV)/run ## reproduce a table beside the published one (TABLE=dom-table1)
	@$(OMTL) table '$(TABLE)' $(OPTIONS)

reproduce-figure: $(VENV)/run ## reproduce a figure (FIGURE=dom-fig2)
	@$(OMTL) figure '$(FIGURE)' $(OPTIONS)

reproduce: $(VENV)/run ## reproduce every table and figure
	@$(OMTL) reproduce $(OPTIONS)

readings: $(VENV)/run ## search the readings of a table (TABLE=dom-table1)
	@$(OMTL) audit readings '$(TABLE)' $(REPEATED) $(PARALLEL)

claims: $(VENV)/run ## write the ledger of all claims and the audit of the theorems
	@$(OMTL) audit claims

statistics: $(VENV)/run ## test a table's claims, rank its algorithms (TABLE=dom-table1)
	@$(OMTL) audit statistics '$(TABLE)' $(REQUEST)

hindsight: $(VENV)/run ## measure how much of each margin comes from tuning in hindsight
	@$(OMTL) audit hindsight

report: $(VENV)/run ## write all results as a static site in .omtl/site
	@$(OMTL) report

verify: $(VENV)/run ## recompute random cells, compare every digit with results/ (CELLS=n TABLE=id)
	@$(OMTL) audit verify --seed '$(SEED)' $(if $(CELLS),--cells '$(CELLS)') $(if $(TABLE),'$(TABLE)')

data: $(VENV)/run ## fetch all data files
	@$(OMTL) fetch

bench: $(VENV)/test ## time kernels and tables beside other libraries, in one run (PART=learners)
	@$(PYTHON) -m scripts.bench $(PART)

BROWSER := $(if $(and $(shell command -v chromium),$(shell command -v chromedriver)),,and not browser)
PYTEST = $(PYTHON) -m pytest -n auto --maxprocesses 4 --dist worksteal

test: $(VENV)/test ## run the tests; those in a browser where chromium and chromedriver are installed
	@$(PYTEST) -m 'not deep $(BROWSER)'

test-all: $(VENV)/test ## run also the deep tests: thousands of malformed inputs, faults, clusters
	@$(PYTEST) -m 'deep or not deep $(BROWSER)'

RESOLUTION ?= lowest-direct
EXTRAS ?= report tables river engines
OTHER := $(VENV)/$(RESOLUTION)

# With RESOLUTION=highest the newest; WITH names another Python, TESTS a part of the tests.
test-versions: $(VENV)/test ## run the library's tests with the lowest versions that pyproject.toml allows (WITH=3.13)
	@$(PYTHON) -m uv venv --quiet --clear $(if $(WITH),--python '$(WITH)') $(OTHER)
	@$(PYTHON) -m uv pip compile --quiet --resolution $(RESOLUTION) --prerelease disallow --only-binary :all: \
		--no-binary antlr4-python3-runtime --python $(OTHER)/bin/python $(EXTRAS:%=--extra %) pyproject.toml \
		--output-file $(OTHER)/versions.txt
	@$(PYTHON) -m uv pip install --quiet --python $(OTHER)/bin/python -r $(OTHER)/versions.txt \
		hypothesis psutil pytest pytest-timeout pytest-xdist
	@$(PYTHON) -m uv pip install --quiet --python $(OTHER)/bin/python --no-deps --editable .
	@$(OTHER)/bin/python -m pytest -n auto -m 'not browser and not deep and not repository' $(TESTS)

lint: $(VENV)/test ## check style and types
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

size: $(VENV)/base ## print lines of code by folder beside their budgets
	@$(PYTHON) -m scripts.size

acceptance: $(VENV)/run ## hash every table and figure at two repeats, compare with scripts/acceptance.csv
	@$(PYTHON) -m scripts.acceptance

faults: $(VENV)/test ## break runs at random moments on every engine, resume them, compare the bytes (N=200)
	@$(PYTHON) -m scripts.faults --moments '$(or $(N),200)' --seed '$(SEED)'

slurm: $(VENV)/test ## compute units by workers that are jobs of a Slurm on this machine (Debian, root)
	@bash scripts/slurm.sh

mutants: $(VENV)/test ## change the code in small ways and see whether tests notice (N=300 SEED=n JOBS=n)
	@$(PYTHON) -m scripts.mutants --count '$(or $(N),300)' --seed '$(SEED)' $(PARALLEL)

# Licences under which a package may be used beside MIT code.
FREE = MIT;BSD;Apache;ISC;MPL;Mozilla Public;PSF;Python Software Foundation;Zlib;ZPL;Zope;Unlicense;CC0;LGPL;HPND;Public Domain

audit: $(VENV)/test ## check hashes, licences and known vulnerabilities of what is installed
	@$(PYTHON) -m pip --disable-pip-version-check check
	@$(PYTHON) -m piplicenses --with-system --ignore-packages omtl --format=csv \
		--partial-match --allow-only='$(FREE)' --output-file=requirements/licences.csv
	@$(PYTHON) -m pip_audit --disable-pip --require-hashes --progress-spinner=off -r requirements/test.lock

docs: $(VENV)/test ## build the documentation and the results as one site in .omtl/docs
	@$(PYTHON) -m scripts.docs

RESOLVE = $(PYTHON) -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-strip-extras --quiet $(if $(UPGRADE),--upgrade)

# Each lock is constrained by the one before, so that versions agree.
lock: $(VENV)/test ## resolve the requirements anew and lock them by hash (UPGRADE=1 takes the newest)
	@$(RESOLVE) requirements/build.in -o requirements/build.lock
	@$(RESOLVE) pyproject.toml --extra report -o requirements/run.lock
	@$(RESOLVE) pyproject.toml --extra report --extra tables -c requirements/run.lock -o requirements/tables.lock
	@$(RESOLVE) pyproject.toml --extra report --extra tables --extra engines \
		-c requirements/tables.lock -o requirements/engines.lock
	@$(RESOLVE) pyproject.toml --extra dev -c requirements/engines.lock -o requirements/test.lock

clean: ## remove the environment; downloads and results are kept
	@rm -rf $(VENV)

distclean: clean ## remove also downloads and stored results: data and hours of computing
	@rm -rf .omtl

$(VENV)/base: requirements/build.lock
	@test -n '$(SYSTEM_PYTHON)' || { echo 'omtl needs Python 3.11 or newer: install it, or name it with SYSTEM_PYTHON=/path/to/python3' >&2; exit 2; }
	@echo 'making the environment in $(VENV)' >&2
	@$(SYSTEM_PYTHON) -m venv $(VENV)
	@$(INSTALL) -r requirements/build.lock
	@touch $@

$(VENV)/run: $(VENV)/base requirements/run.lock pyproject.toml
	@$(INSTALL) --no-build-isolation -r requirements/run.lock
	@$(PYTHON) -m pip --disable-pip-version-check -qq install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/test: $(VENV)/run requirements/test.lock
	@$(INSTALL) --no-build-isolation -r requirements/test.lock
	@touch $@
