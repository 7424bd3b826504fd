# make run    run the quick profile of the five studies, then make the report (10 to 15 minutes, and set-up)
# make test   run all tests
# make check  check style, types and layers; runs nothing
# make lab    open JupyterLab on this machine, with a token
# make kernel install a kernel named benchbook for every Jupyter of your account (nbgrader marks lessons with it)
# make site   build the static site in site/: the reference run's report and explorer, the lessons, docs/
# make campaign    measure more blocks of the profile decide, on an idle machine, for at most BUDGET (3h);
#                  of all studies or of STUDIES; written into figures/campaigns
# make reference   make the reference run again, in figures/reference, of all that is in figures/campaigns
# make lock   pin the dependencies again (needs npm and Maven; only here do plugins run before their hashes are known)
# make audit  look up known vulnerabilities of the pinned packages (Error 1: there are some; Error 3: a source did not answer)
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

# One worker more than there are processors, because tests wait for servers; at most four, because each has its own servers.
WORKERS = $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
# Tests and their servers write into memory where it has space and programs may run there: then nothing waits for a disk.
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

# For the tests of marking: nbgrader in an environment without the suite, as a teacher's is.
$(ENV)/grading/bin/nbgrader: grading.lock | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/grading
	@$(BIN)/uv pip sync --quiet --require-hashes --no-build --python $(ENV)/grading/bin/python grading.lock

lab: setup
	@$(BIN)/python -m benchbook.cli.lab

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
	@$(if $(filter setup,$(MAKECMDGOALS)),printf '%s\n' $(NEXT))

# What `make setup` ends with; other targets go on by themselves.
NEXT = 'setup: done. Next, one of:' \
	'  make run                      run the five studies (10 to 15 minutes), then the report' \
	'  make lab                      open JupyterLab' \
	'  $(BIN)/benchbook doctor    see what can run here' \
	$(if $(filter .venv,$(ENV)),'  . .venv/bin/activate          have benchbook on PATH in this shell')

# The committed results are here before more are measured, whichever machine they are of.
campaigns: setup
	@for file in figures/reference/repetitions.parquet figures/campaigns/*.parquet; do [ ! -e "$$file" ] || $(BIN)/benchbook results import "$$file" || exit; done

# The file has what this run measured, and is named by when it began.
campaign: BUDGET = 3h
campaign: campaigns
	@begun=$$(date -u +%Y-%m-%dT%H:%M:%SZ); \
	$(BIN)/benchbook run $(STUDIES) --profile decide --until-decided --budget $(BUDGET) || [ $$? -eq 1 ] || exit; \
	mkdir -p figures/campaigns && \
	$(BIN)/benchbook results --output "figures/campaigns/$$(echo $$begun | tr -d :).parquet" \
	    --sql "SELECT * FROM all_observations WHERE cell_started_at >= '$$begun' AND state = 'done'"

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
	for folder in harness/node tests/stand_ins/couchdb tests/stand_ins/rethinkdb; do \
	    (cd $$folder && npm install --package-lock-only --silent && node $(CURDIR)/harness/node/lock.js) || exit; done
	$(BIN)/python -m tools.artefacts lock

audit: setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENV)/audit
	@$(BIN)/uv pip sync --quiet --require-hashes --no-build --python $(ENV)/audit/bin/python audit.lock
	@$(BIN)/python -m tools.audit $(ENV)/audit/bin/pip-audit

clean:
	rm -rf .venv harness/node/node_modules tests/stand_ins/*/node_modules build dist site figures/explorer figures/quick figures/evening figures/night figures/paper figures/smoke figures/reference_drawn_anew
