# make run    run the quick profile of the five studies, then make the report (10 to 15 minutes, and set-up)
# make test   run all tests
# make check  check style, types and layers; runs nothing
# make lab    open JupyterLab on this machine, with a token
# make lessons    open JupyterLab at the lessons; installs only what those without a server need (eight of nine)
# make setup  install what `make run` and `make lab` need
# make dev    install all: what tests, types, docs/, releases and several machines need, too
# make kernel install a kernel named benchbook for every Jupyter of your account (nbgrader marks lessons with it)
# make site   build the static site in site/: the reference run's report and explorer, the lessons, docs/
# make dist   build what is published in dist/: wheel, source distribution, the copy for classes, the site
# make campaign    measure more blocks of the profile decide, on an idle machine, for at most BUDGET (3h);
#                  of all studies or of STUDIES; written into figures/campaigns, once a day (MORE=--again: once more)
# make reference   make the reference run again, in figures/reference, of all that is in figures/campaigns
# make lock   pin the dependencies again (needs npm and Maven; only here do plugins run before their hashes are known)
# make audit  look up known vulnerabilities of the pinned packages (Error 1: there are some; Error 3: a source did not answer)
ENV := $(if $(filter benchbook,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
BIN := $(ENV)/bin
PROFILE ?= quick
JAVA := harness/java/pom.xml harness/java/artefacts.lock $(shell find harness/java/src -type f)
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONSAFEPATH

# A lock for each purpose. Each has all of the one before it, so that what is installed only grows: the stamp says how far.
PURPOSES := lessons run dev tests
ASKED := run
ifeq ($(MAKECMDGOALS),lessons)
ASKED := lessons
endif
ifneq ($(filter dev site dist reference lock audit,$(MAKECMDGOALS)),)
ASKED := dev
endif
ifneq ($(filter test check,$(MAKECMDGOALS))$(filter 1,$(BENCHBOOK_TESTS)),)
ASKED := tests
endif
STAMP := $(ENV)/.benchbook-installed
# An empty stamp is of a time when there was one lock, with everything.
INSTALLED := $(shell [ ! -e "$(STAMP)" ] || grep . "$(STAMP)" || echo dev)
PURPOSE := $(lastword $(filter $(ASKED) $(INSTALLED),$(PURPOSES)))
LOCKS := locks/requirements.lock locks/requirements-lessons.lock locks/requirements-dev.lock

.PHONY: run test check lab lessons dev kernel site dist campaign reference lock audit setup clean again
.DEFAULT_GOAL := run

run: setup
	@$(BIN)/benchbook run --profile $(PROFILE) --report

# One worker more than there are processors, because tests wait for servers; at most four, because each has its own servers.
WORKERS = $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
# Tests and their servers write into memory where it has space and programs may run there: then nothing waits for a disk.
MEMORY = $(shell { [ "$$(df --output=avail /dev/shm | tail -n 1)" -gt 8000000 ] && \
	! findmnt --output OPTIONS /dev/shm | grep --quiet noexec && echo --tmpdir=/dev/shm; } 2>/dev/null)
test: setup $(ENV)/grading/bin/nbgrader
	@folder=$$(mktemp -d $(MEMORY)) && trap 'rm -rf "$$folder"' EXIT HUP INT TERM && chmod 1777 "$$folder" && \
	TMPDIR=$$folder $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 40

# Without the settings that choose packages, because a lock with hashes has chosen.
SYNC = env -u UV_CONSTRAINT -u UV_EXCLUDE -u UV_EXCLUDE_NEWER $(BIN)/uv pip sync --quiet --require-hashes --no-build

check: setup
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@PYTHONPATH= $(BIN)/lint-imports

# For the tests of marking: nbgrader in an environment without the suite, as a teacher's is.
$(ENV)/grading/bin/nbgrader: locks/grading.lock | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/grading
	@$(SYNC) --python $(ENV)/grading/bin/python locks/grading.lock

lab: setup
	@$(BIN)/python -m benchbook.cli.lab

lessons: setup
	@$(BIN)/python -m benchbook.cli.lab my_lessons/1_units_and_clocks.ipynb

kernel: setup
	@$(BIN)/python -m ipykernel install --user --name benchbook --env BENCHBOOK_HOME "$(CURDIR)"

site: setup
	@rm -rf site
	@$(BIN)/python -m sphinx -W --keep-going -q -E -d .cache/doctrees -b html docs site
	@$(BIN)/python -m tools.site site

dist: site
	@$(BIN)/python -m tools.dist site dist

setup dev: $(STAMP)

# A copied or moved folder's environment runs the code of the folder that it was made in: setup.sh makes it anew.
ifneq ($(shell cat "$(ENV)/.benchbook-folder" 2>/dev/null),$(CURDIR))
AGAIN := again
endif
ifneq ($(PURPOSE),$(INSTALLED))
AGAIN := again
endif
# Who types `make setup` may have added what a part of it missed: Node.js, a JDK, Maven.
ifneq ($(filter setup dev,$(MAKECMDGOALS)),)
AGAIN += $(shell [ -e harness/java/target/benchbook.jar ] && [ -e harness/node/node_modules/.installed-lock ] && \
	{ [ "$$(uname -sm)" != "Linux x86_64" ] || [ -e .cache/servers/mysql ]; } || echo again)
endif
$(STAMP): $(AGAIN) $(LOCKS) pyproject.toml harness/node/package-lock.json setup.sh $(JAVA)
	@sh setup.sh $(ENV) $(PURPOSE)
	@echo $(PURPOSE) >$@
	@$(if $(filter setup dev,$(MAKECMDGOALS)),printf '%s\n' $(NEXT))

# What `make setup` ends with; other targets go on by themselves.
NEXT = 'setup: done. Next, one of:' \
	'  make run                      run the five studies (10 to 15 minutes), then the report' \
	'  make lab                      open JupyterLab' \
	'  $(BIN)/benchbook doctor    see what can run here' \
	$(if $(filter .venv,$(ENV)),'  . .venv/bin/activate          have benchbook on PATH in this shell')

campaign: BUDGET = 3h
campaign: setup
	@$(BIN)/python -m tools.campaign $(BUDGET) $(MORE) $(STUDIES)

# In a results folder of its own: what else was measured here is not part of it.
reference: setup
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT HUP INT TERM && export BENCHBOOK_RESULTS="$$folder" && \
	$(BIN)/benchbook results import figures/reference/repetitions.parquet figures/campaigns/*.parquet && \
	$(BIN)/python -m tools.reference decide

# The locks have every extra. The largest is first: the others have its versions.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock: setup
	$(COMPILE) $(addprefix --extra ,build docs hosts release servers test) pyproject.toml --output-file locks/requirements-dev.lock
	$(COMPILE) $(addprefix --extra ,build servers) pyproject.toml --constraints locks/requirements-dev.lock --output-file locks/requirements.lock
	$(COMPILE) --group lessons --constraints locks/requirements-dev.lock --output-file locks/requirements-lessons.lock
	$(COMPILE) --group audit --output-file locks/audit.lock
	$(COMPILE) --group grading --constraints locks/requirements-dev.lock --output-file locks/grading.lock
	for folder in harness/node tests/stand_ins/couchdb tests/stand_ins/rethinkdb; do \
	    (cd $$folder && npm install --package-lock-only --silent && node $(CURDIR)/harness/node/lock.js) || exit; done
	$(BIN)/python -m tools.artefacts lock

audit: setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/audit
	@$(SYNC) --python $(ENV)/audit/bin/python locks/audit.lock
	@$(BIN)/python -m tools.audit $(ENV)/audit/bin/pip-audit

clean:
	rm -rf .venv harness/node/node_modules tests/stand_ins/*/node_modules build dist site figures/explorer figures/quick figures/evening figures/night figures/paper figures/smoke figures/reference_drawn_anew
	@# Root's copies of servers' programs, for the accounts that run them.
	if [ -w /var/cache/benchbook ]; then rm -rf /var/cache/benchbook; fi
