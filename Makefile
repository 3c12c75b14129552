# `make help` lists everything. The first use of any target makes .venv with what requirements.lock pins.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-fast test-kafka faults image-check lint format lock
.PHONY: api reference lint-api typescript chart helm prometheus docs agents audit sbom release-check bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# A lock names every package, so --no-deps skips resolution. The pip of Python 3.11 would otherwise take the newest release
# of a package that another one requires with an extra, and then refuse its hash (pypa/pip#9644).
FROM_LOCK := -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r
# $(call complete,BIN): fail and list missing packages unless all dependencies are installed.
complete   = missing=$$($(1)/python -m pip --disable-pip-version-check check) || { echo "$$missing"; exit 1; }

setup: $(VENV)/ready ## make the virtual environment (done by the others when needed)

# The packages of `sager demo`, `sager up` and `sager mcp`. Those of tests, notebooks and evaluations are added to them.
$(VENV)/run: infra/run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "making $(VENV), once"
	@$(PYTHON) -m venv $(VENV)
	@$(RUN)/python $(FROM_LOCK) infra/run.lock
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable packages/language --editable clients/python --editable .
	@$(call complete,$(RUN))
	@touch $@

$(VENV)/ready: requirements.lock $(VENV)/run
	@echo "adding to $(VENV) for tests, notebooks and evaluations, once"
	@$(RUN)/python $(FROM_LOCK) requirements.lock
	@$(call complete,$(RUN))
	@touch $@

demo: $(VENV)/run ## send choices of simulated users through the whole pipeline, and show the learned skills
	@$(RUN)/sager demo

# A broker test spends half of its time waiting for a group, a session or a start: run twice as many as two cores suggest.
JOBS   ?= 4
PYTEST := $(RUN)/python -m pytest
SPREAD  = -n $(JOBS) --dist worksteal
# An expression of pytest's -m that selects tests, for `make test-all` and `make test-kafka`.
ONLY   ?=
# Coverage doubles the CPU time of tests: `make test-all COUNT=` leaves it out, as .ci/run does.
COUNT  ?= --cov --cov-report=
# Tests start hundreds of processes. With this variable set, each would compile every module again.
test test-all test-fast test-kafka faults: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/ready ## run a test of every behaviour, on the embedded broker (5 minutes on two cores)
	@$(PYTEST) $(SPREAD) -m "not thorough and not seldom"

test-all: $(VENV)/ready ## run all tests, on the embedded broker, and measure their coverage
	@$(PYTEST) $(SPREAD) -m "$(ONLY)" $(COUNT)
	@test -z "$(COUNT)" || \
		echo "coverage: $$($(RUN)/coverage report --format=total) % of the lines, in the tests' own processes"

test-fast: $(VENV)/ready ## run only the tests that need no broker
	@$(PYTEST) $(SPREAD) -m "not broker" tests/unit tests/contract

test-kafka: $(VENV)/ready ## run the broker's tests on an Apache Kafka made from its Maven artifacts (Java 17 and Maven)
	@SAGER_TEST_BROKER=kafka SAGER_TEST_FAULTS=full SAGER_TEST_SPLIT=1 \
		$(PYTEST) -n 3 --dist worksteal -m "broker$(if $(ONLY), and $(ONLY))" tests/integration tests/faults

faults: $(VENV)/ready ## run every fault 50 times on Apache Kafka, for the table of docs/reliability.md (hours)
	@$(RUN)/python -m benchmarks.reliability --times 50

image-check: $(VENV)/ready ## run the steps of infra/Dockerfile and docker-compose.yml without Docker (needs Linux)
	@$(RUN)/python -m infra.image

# Pattern rules only: no secret is sent anywhere for validation.
SECRETS = $(RUN)/kingfisher scan --no-validate --no-update-check --git-history none --quiet
lint: $(VENV)/ready ## check style, types, formatting, spelling and secrets; changes nothing
	@$(RUN)/ruff check .
	@$(RUN)/ruff format --check .
	@$(RUN)/mypy
	@$(RUN)/typos --format brief
	@git ls-files -z | xargs -0 $(SECRETS)

# Only the JavaScript parts need Node 20 and npm.
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel error
%/node_modules/ready: %/package-lock.json
	@cd $* && $(NPM_CI)
	@touch $@

TYPESCRIPT := clients/typescript
api: $(VENV)/ready $(TYPESCRIPT)/node_modules/ready ## write docs/api and the TypeScript client's types, after a change of routes or models
	@$(RUN)/sager schemas export --out docs/api --documents
	@cd $(TYPESCRIPT) && npm run --silent types

reference: $(VENV)/ready ## write the tables of settings, metrics, commands and topics in docs/
	@$(RUN)/python -m infra.reference

API_LINT := infra/api-lint
lint-api: $(API_LINT)/node_modules/ready ## lint docs/api: the OpenAPI and the AsyncAPI document, without a warning
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(API_LINT)/node_modules/.bin/redocly lint \
		--config $(API_LINT)/redocly.yaml docs/api/openapi.json docs/api/asyncapi.json

KAFKAJS := docs/examples/kafkajs
typescript: $(TYPESCRIPT)/node_modules/ready $(KAFKAJS)/node_modules/ready ## build, check and test the TypeScript client
	@cd $(TYPESCRIPT) && npm run --silent types:check && npm run --silent build && npm run --silent check && npm test --silent

format: $(VENV)/ready ## put the code into its format
	@$(RUN)/ruff check --fix .
	@$(RUN)/ruff format .

# requirements.lock is for developers. The image's locks follow its pins.
COMPILE = $(RUN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-package sager-language \
	--custom-compile-command "make lock"
lock: $(VENV)/ready ## resolve the dependencies into requirements.lock, and into the image's locks
	@$(COMPILE) --extra embedded --extra eval --extra mcp --extra notebook --extra rocksdb --group dev \
		-o requirements.lock pyproject.toml
	@$(COMPILE) --no-annotate --extra mcp --extra rocksdb --constraint requirements.lock \
		-o infra/requirements.lock pyproject.toml
	@$(COMPILE) --no-annotate --extra embedded --extra mcp --group build --constraint requirements.lock \
		-o infra/run.lock pyproject.toml
	@printf 'hatchling\nuv\n' | $(COMPILE) --no-annotate --constraint requirements.lock -o infra/build.lock -
	@$(COMPILE) -o docs/requirements.lock docs/requirements.in
	@$(COMPILE) -o docs/examples/agents/requirements.lock docs/examples/agents/requirements.in
	@printf 'cyclonedx-bom\npip-audit\n' | $(COMPILE) --no-annotate --constraint requirements.lock -o infra/audit.lock -

# Only this target needs the site's generator and the workflows' linters.
DOCS := .venv-docs
$(DOCS)/ready: docs/requirements.lock
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python $(FROM_LOCK) $<
	@$(call complete,$(DOCS)/bin)
	@touch $@

docs: $(DOCS)/ready ## build the docs into site/, strictly, and lint the GitHub workflows
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@$(DOCS)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(DOCS)/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(DOCS)/bin/zizmor --offline --quiet --no-progress .github

# Only the tests of docs/examples/agents need the agent frameworks.
AGENTS := .venv-agents
$(AGENTS)/ready: docs/examples/agents/requirements.lock
	@$(PYTHON) -m venv $(AGENTS)
	@$(AGENTS)/bin/python $(FROM_LOCK) $<
	@$(call complete,$(AGENTS)/bin)
	@touch $@

agents: $(AGENTS)/ready ## install the agent frameworks that docs/examples/agents shows, for its tests

# The audit of dependencies and the SBOM have their own environment.
AUDIT := .venv-audit
LOCKS := requirements.lock infra/run.lock infra/requirements.lock infra/build.lock infra/audit.lock docs/requirements.lock \
	docs/examples/agents/requirements.lock
$(AUDIT)/ready: infra/audit.lock
	@$(PYTHON) -m venv $(AUDIT)
	@$(AUDIT)/bin/python $(FROM_LOCK) $<
	@$(call complete,$(AUDIT)/bin)
	@touch $@

audit: $(AUDIT)/ready ## ask PyPI for known vulnerabilities of all locked packages (needs pypi.org)
	@for lock in $(LOCKS); do \
		$(AUDIT)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$lock || exit 1; done

sbom: $(AUDIT)/ready ## list the packages of the image and a release as CycloneDX: dist/sbom/sager-streams.cdx.json
	@mkdir -p dist/sbom
	@$(AUDIT)/bin/cyclonedx-py requirements --output-reproducible --of JSON \
		-o dist/sbom/sager-streams.cdx.json infra/requirements.lock

release-check: $(VENV)/ready ## check, build, install and run the release of the tag TAG, in a fresh clone
	@$(RUN)/python -m infra.release --tag "$(TAG)"

chart: $(VENV)/ready ## write the Helm chart's schema of values and its README's table
	@$(RUN)/python -m infra.chart

# Helm's own release, verified by Go's checksum database. It takes a minute, once.
HELM_VERSION := v3.22.0
helm: .helm/helm ## build helm for the chart's tests (needs Go)

.helm/helm:
	@GOBIN="$(CURDIR)/.helm" go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

prometheus: ## fetch Prometheus and promtool for the tests, unless they are installed (Debian)
	@$(PYTHON) infra/prometheus/get.py

bench: $(VENV)/ready ## measure a choice, a worker, and the overlap of LLM calls (minutes)
	@$(RUN)/python -m benchmarks.choice
	@$(RUN)/python -m benchmarks.throughput rules
	@$(RUN)/python -m benchmarks.throughput llm

clean: ## remove everything that other targets made
	rm -rf $(VENV) $(DOCS) $(AGENTS) $(AUDIT) site .helm .kafka .prometheus .sager .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
