# Makes .venv from the locked requirements, and hands over to the tasks of tasks.py (`.venv/bin/invoke --list`).
# No more than a newcomer's way in: everything else is `invoke`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m invoke

.DEFAULT_GOAL := help
.PHONY: help setup demo forge-demo init test lint bench test-agents clean

help:
	@echo 'make demo          a sample repository, worked by the loop with a small stand-in agent'
	@echo 'make forge-demo    a stand-in forge, served by Fordjent with a scripted model'
	@echo 'make init          config.toml for a repository of yours, by asking'
	@echo 'make test          all tests, pytest and bats'
	@echo 'make lint          formatting, lint and types'
	@echo 'make test-agents   the real agent CLIs (from PyPI and npm) with a scripted model'
	@echo 'make bench         docs/benchmarks.md, measured anew'
	@echo 'make setup         just .venv; then: .venv/bin/invoke --list'

setup: $(VENV)/dev
	@echo 'ready: .venv/bin/invoke --list'

demo forge-demo init: $(VENV)/run
	@$(RUN) $@

test lint bench test-agents: $(VENV)/dev
	@$(RUN) $@

clean:
	rm -rf $(VENV)

$(VENV)/run: requirements.txt
$(VENV)/dev: requirements-dev.txt

$(VENV)/run $(VENV)/dev:
	@$(call need,git,git)
	@$(call need,ssh-keygen,openssh-client)
	@$(call need,$(PYTHON),python3 python3-venv)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; name a later one: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 69; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'Python cannot make environments here; install: apt-get install python3-venv' >&2; exit 69; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

need = command -v $(1) >/dev/null || { echo '$(1) is missing; install: apt-get install $(2)' >&2; exit 69; }
