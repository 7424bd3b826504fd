# make run    the quick profile of all five studies on real servers, then the report (ten to fifteen minutes, and set-up)
# make test   the whole test suite
# make check  what needs no run: style, types and floors
# make lab    JupyterLab on this machine, with a token
# make kernel a kernel named benchbook, for every Jupyter of your account: nbgrader marks lessons with it
# make site   the reference run's report, verdicts and explorer, the lessons and docs/ as one static site, in site/: from any host, or as files
# make campaign    a campaign of the next reference run: takes in those that are committed, goes on with the profile decide for at most BUDGET (3h),
#                  of all STUDIES or those named, and writes what it measured into figures/campaigns (on an idle machine)
# make reference   the reference run made anew, in figures/reference, of all campaigns
# make lock   pin the dependencies anew (needs npm and Maven; the one build whose plugins run before anyone knows their hashes)
# make audit  what is known against the pinned packages (Error 1: something; Error 3: somebody could not be asked)
ENV := $(if $(filter benchbook,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
BIN := $(ENV)/bin
STAMP := $(ENV)/.benchbook-installed
PROFILE ?= quick
JAVA := harness/java/pom.xml harness/java/artefacts.lock $(shell find harness/java/src -type f)
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONSAFEPATH

.PHONY: run test check lab kernel site campaign campaigns reference lock audit setup clean elsewhere
.DEFAULT_GOAL := run

run: setup
	@status=0; $(BIN)/benchbook run --profile $(PROFILE) || status=$$?; \
	if [ $$status -le 1 ]; then $(BIN)/benchbook report --profile $(PROFILE) || exit $$?; fi; exit $$status

# One worker more than there are processors, for tests wait for servers; four at most, for each holds servers of its own.
WORKERS = $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
# What tests and their servers write lies in memory, where there is room for it and programs may run: it waits for no disk.
MEMORY = $(shell { [ "$$(df --output=avail /dev/shm | tail -n 1)" -gt 8000000 ] && \
	! findmnt --output OPTIONS /dev/shm | grep --quiet noexec && echo --tmpdir=/dev/shm; } 2>/dev/null)
test check: export BENCHBOOK_TESTS = 1
test: setup $(ENV)/grading/bin/nbgrader
	@folder=$$(mktemp --directory $(MEMORY)) && trap 'rm -rf "$$folder"' EXIT HUP INT TERM && chmod 1777 "$$folder" && \
	TMPDIR=$$folder $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 40

check: setup
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@PYTHONPATH= $(BIN)/lint-imports

# What tests that lessons can be marked: nbgrader in an environment that lacks the suite, as a teacher's does.
$(ENV)/grading/bin/nbgrader: grading.lock | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/grading
	@$(BIN)/uv pip sync --quiet --require-hashes --no-build --python $(ENV)/grading/bin/python grading.lock

lab: setup
	@$(BIN)/python -m benchbook.jupyterlab

kernel: setup
	@$(BIN)/python -m ipykernel install --user --name benchbook --env BENCHBOOK_HOME "$(CURDIR)"

site: setup
	@rm -rf site
	@$(BIN)/python -m sphinx -W --keep-going -q -E -d .cache/doctrees -b html docs site
	@$(BIN)/python -m tools.site site

# Tests need a browser that a run does not, and the check comes before them: the stamp remembers which of the two was set up.
ifneq ($(filter test check,$(MAKECMDGOALS)),)
STAMP := $(ENV)/.benchbook-installed-tests
endif
setup: $(STAMP)

# A copied or moved folder's environment runs the code of the folder that it was made in: setup.sh makes it anew.
ifneq ($(shell cat "$(ENV)/.benchbook-folder" 2>/dev/null),$(CURDIR))
ELSEWHERE := elsewhere
endif
$(ENV)/.benchbook-installed $(ENV)/.benchbook-installed-tests: $(ELSEWHERE) requirements.lock pyproject.toml harness/node/package-lock.json setup.sh $(JAVA)
	@./setup.sh $(ENV)
	@touch $@ $(ENV)/.benchbook-installed

# What other campaigns measured is here before one begins, whichever machine they ran on.
campaigns: setup
	@for file in figures/reference/repetitions.parquet figures/campaigns/*.parquet; do [ ! -e "$$file" ] || $(BIN)/benchbook results import "$$file" || exit; done

# Its file is named by when it began: what is measured within an hour of it is the same campaign, and takes the file's place.
campaign: BUDGET = 3h
campaign: campaigns
	@$(BIN)/benchbook run $(STUDIES) --profile decide --until-decided --budget $(BUDGET) || [ $$? -eq 1 ]
	@mkdir -p figures/campaigns
	@begun=$$($(BIN)/benchbook results --format csv --sql "SELECT max(campaign) FROM all_observations" | tail -n 1) && \
	$(BIN)/benchbook results --output "figures/campaigns/$$(echo $$begun | tr -d :).parquet" \
	    --sql "SELECT * FROM all_observations WHERE campaign = '$$begun' AND state = 'done'"

reference: campaigns
	@$(BIN)/python -m tools.reference decide

# The lock has every extra but the drivers of experimental adapters.
lock: setup
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    $(addprefix --extra ,build docs hosts release servers test) pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --group audit --output-file audit.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --group grading --constraints requirements.lock --output-file grading.lock
	for folder in harness/node tests/products/couchdb tests/products/rethinkdb; do \
	    (cd $$folder && npm install --package-lock-only --silent && node $(CURDIR)/harness/node/lock.js) || exit; done
	$(BIN)/python -m tools.artefacts lock

audit: setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/audit
	@$(BIN)/uv pip sync --quiet --require-hashes --no-build --python $(ENV)/audit/bin/python audit.lock
	@$(BIN)/python -m tools.audit $(ENV)/audit/bin/pip-audit

clean:
	rm -rf .venv harness/node/node_modules tests/products/*/node_modules build dist site figures/explorer figures/quick figures/evening figures/night figures/paper figures/smoke figures/reference_drawn_anew
