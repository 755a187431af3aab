# What can be done here, one line each. Arguments travel in ARGS: make soak ARGS="--seed 7"

PYTHON ?= python3
PROCESSES ?= 3# most tests wait for real processes, so more of them fit than there are cores
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup soak test lint check bench serve test-containers

setup: $(READY) ## make .venv and install everything from the lock (requirements/dev.txt)

soak: setup ## the main job: the same-key race on stock saq, and every repair of it, judged
	@$(BIN)/saq-chaos soak same-key $(ARGS)

test: setup ## every test, and what was skipped and why
	@$(BIN)/python -m pytest -q -rfEs --numprocesses $(PROCESSES) --dist loadfile $(ARGS)

lint: setup ## ruff (rules and format) and mypy --strict over all code
	@$(BIN)/ruff check chaos dashboards service tests
	@$(BIN)/ruff format --check chaos dashboards service tests
	@$(BIN)/mypy

check: lint test ## what a change must pass: lint and test

bench: setup ## what watching costs: noop jobs/s with and without the probe
	@$(BIN)/saq-chaos bench overhead $(ARGS)

serve: setup ## the service: HTTP API, metrics and web console on http://127.0.0.1:8080
	@$(BIN)/saq-chaos serve $(ARGS)

test-containers: setup ## build the images and bring the compose file up (root; podman, buildah, runc, debootstrap, docker-compose)
	@$(BIN)/python -m pytest -q -rs -m containers tests/containers $(ARGS)

$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "saq-chaos needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
	  "name another one: make setup PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv .venv || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
