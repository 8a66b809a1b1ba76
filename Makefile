# `make` lists the targets. Everything they need is installed into .venv by scripts/setup.
.DEFAULT_GOAL := help
BIN := .venv/bin
CODE := src kubeserver/src kubecluster/src tests bench
PAGE := src/leeward/dashboard/page/index.html
PAGE_TOOLS := web/node_modules/.ready
PAGE_SOURCES := $(shell find web -path web/node_modules -prune -o -type f -print)
PYTEST := $(BIN)/pytest --dist loadfile --no-loadscope-reorder

OURS := pyproject.toml --no-emit-package leeward-kubeserver --no-emit-package leeward-kubecluster
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet
AUDIT := .venv-audit
SITE := .venv-docs

# Each test worker and each process that a test starts imports a thousand modules: compiled once, beside the environment.
export PYTHONDONTWRITEBYTECODE =
export PYTHONPYCACHEPREFIX = $(CURDIR)/.venv/bytecode

.PHONY: help setup demo test long costs e2e crash worlds sim forecasts systematic planted nightly mutants oracle docs dist check fast fuzz \
	format page browser bench chart lock man sbom audit clean

help:  ## list the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

setup:
	@scripts/setup

demo: setup  ## a cluster dies and its applications move, live in this terminal (about 40 s)
	@$(BIN)/leeward demo

test: setup  ## what every change needs: all tests that are quick, on the virtual clock (under five minutes on two quiet cores)
	@$(PYTEST) -m "not processes and not long" -n auto

long: setup  ## the other tests: on real processes with the real kubectl, whole applications, what many objects cost
	@$(PYTEST) -m "processes or long" -n $$((2 * $$(getconf _NPROCESSORS_ONLN)))

costs: setup  ## what tests cost in CPU seconds, by folder, file and test, one after the other: make costs DIR=tests/world
	@$(BIN)/python -m pytest -p tests.costs $(DIR)

e2e: setup page  ## the product on real kube-apiservers (twenty minutes; the first time it builds them from Debian's source)
	@KUBEBUILDER_ASSETS=$$(scripts/binaries) && export KUBEBUILDER_ASSETS && $(BIN)/pytest -sx -p no:cacheprovider tests/e2e

$(SITE)/.ready: deploy/docs-requirements.txt | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SITE)
	@VIRTUAL_ENV=$(SITE) $(BIN)/uv pip install --quiet --require-hashes -r deploy/docs-requirements.txt
	@touch $@

docs: $(SITE)/.ready  ## build the site of the documentation into build/site; a dead link is an error
	@$(BIN)/python -m tests.site build/docs
	@$(SITE)/bin/zensical build --clean --strict

dist: setup page  ## build the wheels and source archives into dist/, and try them in empty environments (two minutes)
	@rm -rf dist/leeward*.whl dist/leeward*.tar.gz
	@$(BIN)/python -m hatchling build -d dist
	@cd kubeserver && ../$(BIN)/python -m hatchling build -d ../dist
	@cd kubecluster && ../$(BIN)/python -m hatchling build -d ../dist
	@$(BIN)/pytest -x -p no:cacheprovider tests/release

oracle: setup  ## replay recorded answers: make oracle DIR=path (default: those of the tests)
	@$(BIN)/python tests/oracle.py $(or $(DIR),tests/data/oracle)

crash: setup  ## kill a real server N times while clients write, and account for every write (N=50, SEED=... to begin as then)
	@LEEWARD_CRASHES=$(or $(N),50) LEEWARD_SEED=$(SEED) $(BIN)/pytest -s -p no:cacheprovider tests/crash

fuzz: FRESH := $(or $(SEED),$(shell date +%s))
fuzz: setup  ## properties on examples that nobody has seen (N=500 of each; SEED=... to see them again)
	@echo "again: make fuzz N=$(or $(N),500) SEED=$(FRESH)"
	@LEEWARD_FUZZ=$(or $(N),500) $(BIN)/pytest -n auto --dist worksteal --hypothesis-seed=$(FRESH) \
		$$(grep -rlE '^ *@given' tests/unit tests/kubeapi tests/kubecluster) || { echo "again: make fuzz N=$(or $(N),500) SEED=$(FRESH)"; exit 1; }

worlds: setup  ## search small worlds, every order of events (STATES=100000)
	@$(BIN)/python -m simulator.small --states $(or $(STATES),100000)

sim: setup  ## play N random histories of faults against the whole product, and check every invariant (N=300)
	@$(BIN)/python -m simulator --campaign $(or $(N),300) --seed $(or $(SEED),0)

forecasts: setup  ## what is told and rehearsed of outages is what happens, in random worlds (N=200, SEED=0) and in processes
	@$(BIN)/python -m tests.world.test_what_if_random $(or $(SEED),0) $(or $(N),200)
	@$(BIN)/python -m tests.world.test_service_random $(or $(SEED),0) $(or $(N),300)
	@$(BIN)/pytest -p no:cacheprovider tests/forecasts

systematic: setup  ## one outage with one more fault at every await, line and read (half an hour; MODE=kill, drop or stale)
	@for mode in $(or $(MODE),stale drop kill); do $(BIN)/python -m simulator --systematic $$mode || exit 1; done

planted: setup  ## plant bugs, find each in a history, cut it down to a short story; try every checker; play known faults (six minutes)
	@$(BIN)/pytest -n auto --dist worksteal tests/sim

nightly: FRESH := $(shell date +%s)
nightly: setup  ## what is too long for every commit, on seeds that nobody has seen (some hours)
	@$(MAKE) planted
	@echo "make sim N=2000 SEED=$(FRESH)"; $(MAKE) sim N=2000 SEED=$(FRESH)
	@$(MAKE) worlds STATES=1000000
	@echo "make forecasts N=200 SEED=$(FRESH)"; $(MAKE) forecasts N=200 SEED=$(FRESH)
	@$(MAKE) systematic
	@$(MAKE) fuzz N=5000 SEED=$(FRESH)
	@$(MAKE) crash N=500 SEED=$(FRESH)
	@$(MAKE) dist
	@$(MAKE) mutants ALL=1

mutants: setup  ## small faults, one at a time, that tests must notice: where lines changed since main (BASE=rev, ONLY=core.execution, ALL=1, SAMPLE=n, TESTS=files)
	@$(BIN)/python -m tests.mutants $(if $(ALL),--all) $(if $(ONLY),--only $(ONLY)) $(if $(BASE),--base $(BASE)) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(TESTS),--tests $(TESTS))

fast: setup  ## the inner loop: as check, of the files that differ from main, and the tests of what they touch
	@scripts/fast

check: setup  ## format, lint, types where they can have changed, import contracts, and the rules of tests/unit/test_tidy.py
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.type_check
	@$(BIN)/pytest -p no:cacheprovider tests/unit/test_tidy.py

format: setup  ## format the code and mend what lint can mend
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

$(PAGE_TOOLS): web/package-lock.json
	@cd web && npm ci --silent && touch node_modules/.ready

$(PAGE): $(PAGE_TOOLS) $(PAGE_SOURCES)
	@cd web && npm run --silent check && npm run --silent build -- --logLevel warn

page: $(PAGE)  ## build the page of the dashboard, its types checked, into src/leeward/dashboard/page (needs Node 20)

browser: setup page  ## the dashboard in a real browser: needs Chromium; PICTURES=docs/pictures keeps those of the main pages
	@LEEWARD_PICTURES=$(abspath $(or $(PICTURES),build/pictures)) $(BIN)/pytest -p no:cacheprovider tests/browser

bench: setup  ## measure; every figure stands beside another of the same run
	@$(BIN)/python -m bench

chart: setup  ## write the parts of deploy/leeward that follow from the code, and what Helm renders of it
	@$(BIN)/python -m tests.chart_files deploy/leeward
	@$(BIN)/python -m tests.rendered_chart

man: setup  ## write the manual pages of all verbs into build/man1, for who packages Leeward
	@$(BIN)/python -m tests.manual_pages build/man1

lock: setup  ## write requirements.lock, and what the image installs, anew from pyproject.toml
	@$(COMPILE) $(OURS) --group dev -o requirements.lock
	@$(COMPILE) $(OURS) -c requirements.lock -o deploy/requirements.txt
	@$(COMPILE) --group pyproject.toml:build -c requirements.lock -o deploy/build-requirements.txt
	@$(COMPILE) --group pyproject.toml:audit -o deploy/audit-requirements.txt
	@$(COMPILE) --group pyproject.toml:docs -o deploy/docs-requirements.txt

$(AUDIT)/.ready: deploy/audit-requirements.txt | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(AUDIT)
	@VIRTUAL_ENV=$(AUDIT) $(BIN)/uv pip install --quiet --require-hashes -r deploy/audit-requirements.txt
	@touch $@

sbom: $(AUDIT)/.ready  ## write dist/leeward.cdx.json: what the image installs, as CycloneDX
	@mkdir -p build dist
	@$(AUDIT)/bin/python scripts/image-packages > build/image-packages.txt
	@$(AUDIT)/bin/python -W ignore -m cyclonedx_py requirements build/image-packages.txt --pyproject pyproject.toml \
		--output-reproducible --of JSON -o dist/leeward.cdx.json
	@echo dist/leeward.cdx.json

audit: $(AUDIT)/.ready  ## ask a list of vulnerabilities about what the image installs; what cannot be asked is said
	@$(AUDIT)/bin/pip-audit --require-hashes --disable-pip --progress-spinner off -f json \
		-r deploy/requirements.txt 2>/dev/null | scripts/audit

clean:  ## remove the environment and all caches
	@rm -rf .venv $(AUDIT) $(SITE) build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
