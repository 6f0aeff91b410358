# The environment is .venv/; every target makes what it needs of it first.
#   make up ARGS='--port 8001'      make test T=tests/domain

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore
WORKERS ?= 2

.PHONY: help up demo test check bench races check-reference

help:
	@echo 'make up     set up what is missing, start everything, print the URL (ARGS="--port 8001")'
	@echo 'make demo   the same with people, tools and calls to look at'
	@echo 'make test   all tests (T=path for a part)'
	@echo 'make check  format, lint, types, templates, migrations, deployment, known holes in packages'
	@echo 'make bench  the budgets;  make races  many at once'
	@echo 'make check-reference  the real agentplane and salvor read what we write, where they are installed'

up: .venv/.runs
	@exec $(PY) manage.py up $(ARGS)

demo: .venv/.runs
	@exec $(PY) manage.py up --demo $(ARGS)

test: .venv/.tests
ifeq ($(strip $(T)),)
	@$(PY) -m tests.browser_binary
	@exec $(PY) -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)
else
	@exec $(PY) -m pytest -q $(T) $(ARGS)
endif

check: .venv/.tests
	@.venv/bin/ruff format --check --quiet . || { echo 'Run .venv/bin/ruff format .'; exit 1; }
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary salvor_admin manage.py
	@.venv/bin/djlint --quiet --lint templates
	@SALVOR_PUBLIC_URL=https://salvor.example SALVOR_ALLOWED_HOSTS=salvor.example \
		$(PY) manage.py check --deploy --fail-level WARNING
	@$(PY) -W 'ignore:Got an error checking a consistent migration history' manage.py makemigrations --check --dry-run
	@$(PY) -m tests.package_audit requirements.txt

bench: .venv/.tests
	@exec $(PY) -m tests.bench $(ARGS)

races: .venv/.tests
	@SALVOR_RACE_THREADS=32 SALVOR_RACE_ROUNDS=100 exec $(PY) -m pytest -q -m races $(T) $(ARGS)

check-reference: .venv/.tests
	@exec $(PY) -m tests.check_reference $(ARGS)

# Debian keeps what makes environments in a package of its own; where we may, we fetch it.
.venv/bin/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed; install it, or name it: make PYTHON=/path/to/python3.'; exit 1; }
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { \
		rm -rf .venv; \
		package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing $$package, which makes .venv."; \
			export DEBIAN_FRONTEND=noninteractive; \
			{ apt-get update && apt-get install -y "$$package"; } >/dev/null && $(PYTHON) -m venv .venv; \
		else \
			echo "Python cannot make .venv here: install $$package (apt-get install $$package), then again."; exit 1; \
		fi; }

.venv/.runs: requirements.txt | .venv/bin/python
	@echo 'Installing into .venv.'
	@$(PIP) -r requirements.txt
	@touch $@

.venv/.tests: requirements-dev.txt .venv/.runs
	@echo 'Installing what tests and checks into .venv.'
	@$(PIP) -r requirements-dev.txt
	@touch $@
