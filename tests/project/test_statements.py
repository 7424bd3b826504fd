"""The library stays small: a package that grows says who would miss what it grows by, and when."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "lib" / "benchbook"

MOST_STATEMENTS = {
    # Who reads a share of processors: no interval goes beyond 100 %.
    # Who opens a study's notebook: the paper's numbers are beside the run's.
    # Who sends an artefact: a claim's cells are those that its comparisons read.
    # Who asks for one number, then for the next: the block means of a run are read once.
    # Who reads a verdict on CouchDB: most of its comparisons did not run, and the verdict says so.
    # Who reads a condition that calls something: it is a loop, not a comprehension.
    # Who measures the blocks that an undecided claim needs: they decide it.
    # Who reads why nothing was compared: it names the driver of that language, and the quantity.
    "analysis": 2861,
    # Who compares two commands: `benchbook versus`. Who writes a paper or watches a run: `number`,
    # `figure`, `claims` and `explore` would judge all again, each for seconds of processor. Who has
    # a CI job that fails when a time grew, who cited a verdict of a release, who sends a
    # machine-day: `compare --fail-above`, `claims --since`, `results check`. Who asks
    # in a terminal: the next commands. Who presses Ctrl-C while a command is imported: it ends
    # with its status.
    # Who sends an artefact: `report --artefact` refuses a folder with other files.
    # Who asks for one number or figure after the other: which results are judged would be found out
    # for each, in seconds of processor. Who reads the JSON of `versus` by a strict parser: an open
    # end is null, not `Infinity`. Who asks for the numbers of a study: the second key is at once.
    # Who stops a run while it judges: DuckDB replaces the interrupt, and a traceback would end it.
    # Who asks about a sorted file: `--sample`.
    # Who mistypes the key of a question of their own: the nearest key, not "no cell ran".
    # Who imports results, or checks a server: the folder that is locked or read first is the one
    # that is written.
    # Whose export was killed: the next one removes what it left.
    # Who runs until claims are decided: hours go to those that the report has not decided.
    "cli": 3225,
    "cluster": 457,
    "codecs": 806,
    # Who measures replication seconds after MongoDB's set began: the cell would fail.
    "databases": 3021,
    "datasets": 339,
    # Who sends documents: their packed sizes. Who reads an answer: for whose programs it holds.
    # Who explores levels that never ran in one block: each of their answers would be empty.
    # Who reads documents into memory: how much they take.
    # Who reads how an answer comes about: it says of which results' folder.
    "explorer": 1125,
    # Who has Parquet with nested texts and several row groups: it would be refused.
    # Whose export was killed: the next one removes what it left.
    # Who gives a file that cannot be opened: one place says why (these statements were in
    # `own_data`).
    "files": 414,
    # Who asks about a file whose name has commas: levels are passed as they are.
    # Who reads which cells did not run: what the grid excludes is skipped, not to do.
    "grid": 1126,
    "measure": 457,
    # Who has a sorted file, of any size: its first records are not like the others (`samples`).
    # Who has an export with `&nbsp;`: its line and what to do, not "no element found" in line 0.
    # Who has a table of 20,000 columns: its last names would be cut off.
    # Who has Parquet with a nameless field: it is refused before a database fails.
    # Who draws a sample of a dump with literal quotes: it would be refused.
    # Who has text between records of XML: it would be lost without a word.
    # Who has XML that does not state its encoding, or moments beyond the year 9999: the option
    # counts, and the column is named.
    # Who states an option that the file's format does not have: it would have no effect, without a
    # word.
    "own_data": 1689,
    # Who skims figures: titles say what came out, and captions begin with their source. Who
    # compares databases: one figure per topology shows all operations.
    # Whose manuscript takes some keys only: `number --only`; and several: all of a study are kept.
    # Who waits for the final notebook: the time left. Who reads the replicated databases: no note
    # names a loop that did not run there.
    # Who adds a paper: mypy checks what its module ends with (`PaperExhibits`).
    "papers": 1262,
    # Who looks closer at a figure of the report: its marks know their points. Who skims figures:
    # titles say what came out. Who reads it on a telephone: its text has 12 pixels. Who opens a
    # study's notebook: its figure is one line, not forty.
    # Who reads a claim in a terminal and in an artefact: its result is said alike.
    "plots": 1915,
    # Who adds a paper: one list instead of five. Who has a plug-in's database: its name on pages.
    # Who reads a row of repetitions: its levels are named as in the explorer (these statements were
    # there and in `plots`).
    # Who installed a wheel: how to get MongoDB, MySQL and the plug-in there, not what only a
    # checkout has.
    "registry": 243,
    # Who wants a figure of the report in a manuscript: it has the command. Who opens a smaller run:
    # the same comparison of the reference run stands beside. Who opens a study's notebook: its
    # figure, and the code that is timed.
    # Who submits to an artefact committee, or reviews there: each claim with the command that tests
    # it, its minutes and its data, as Markdown and RO-Crate (a third was in `tools` before).
    # Who reads a condition that calls something: it is a loop, not a comprehension.
    # Who reads the claims of a study: lines name of their ratio what differs, and those without an
    # interval yet are folded. Who has ten seconds for the report: a sentence counts its claims, and
    # says of which run; how a number was measured is on its study's page.
    # Who validates an artefact's metadata: each entity has a name, and each file a description.
    "report": 1939,
    # Who compares a folder: its checks of servers are read without an environment variable.
    # Who checks a file before it is imported: `results check`.
    # Who imports the reference run: two gigabytes that are sorted would be sorted and copied again.
    "results": 982,
    # Who presses Ctrl-C while Python frees an object: the run would go on. Who reads how cells run:
    # `run`, `ask` and a host call one function with the same limits.
    # Who installs CouchDB after a claim was not comparable: its comparable cells would never run.
    # Who has a processor for each role: `run --until-decided` plans the claims that need it (these
    # statements were in `report`).
    # Who has an evening: of a claim with 32 comparisons the few that decide it run first, and A/A
    # checks that have an interval take no third of it.
    "runner": 1438,
    # Who presses Ctrl-C while a process is started: the run would hang. Who uses Podman on a busy
    # machine: it refuses to remove a container at times, and is asked again.
    "servers": 1974,
    # Who compares any two commands or functions: nothing else here answers. Who compares them cold,
    # or one that hangs: `--prepare` and a time limit.
    # Who compares functions in a notebook: the time left.
    # Who compares async functions, arrays, or a file whose `N = 10` was changed: an error or a new
    # question instead of a wrong ratio.
    # Who compares functions that name a list of objects: each process would measure anew. Whose
    # command stops the process that times it: the time limit ends both.
    "sides": 798,
    "sockets": 458,
    # Who adds a study: mypy checks it against `Study`. Who asks about a file of numbers: stores
    # answer. Who waits for a notebook: the time left.
    "studies": 2492,
    # Who reads two pages: one thing would have two names on them.
    # Who reads a title with one name in its list.
    # Who reads how often something was measured: one block is not "of 1 machine-day".
    # Who reads that a claim did not run: the commands that answer it.
    # Who changes a unit: its size is in one table, no longer in three (these statements were in
    # `plots` and `papers`).
    # Who reads a plan and a report: a cell's state has one name (these statements were in `cli`,
    # `report` and `explorer`).
    # Who reads `versus`, `ask` and a claim: one phrase for a ratio of times.
    "text": 282,
    # Who compares two functions in a notebook: `benchbook.versus`. The folders of
    # kept answers and of released verdicts.
    # Who installed a wheel: advice that works there (`is_checkout`).
    "top": 227,
}
"""The most statements (`ast.stmt`) of each package, ``top`` for the modules beside them.

A change that takes some away lowers its number. One that raises a number writes above it, in one
sentence, who would miss the new statements, and when.
"""


@cache
def count_statements() -> Counter[str]:
    """Return the number of statements of each package."""
    counts: Counter[str] = Counter()
    for module in LIBRARY.rglob("*.py"):
        package, *rest = module.relative_to(LIBRARY).parts
        tree = ast.parse(module.read_text(encoding="utf-8"))
        counts[package if rest else "top"] += sum(
            isinstance(node, ast.stmt) for node in ast.walk(tree)
        )
    return counts


@pytest.mark.parametrize("package", sorted({*MOST_STATEMENTS, *count_statements()}))
def test_a_package_has_no_more_statements_than_its_number(package: str) -> None:
    most, count = MOST_STATEMENTS.get(package, 0), count_statements()[package]
    assert count <= most, (
        f"{package} has {count - most} statements more: take some away, or raise its number with"
        " one sentence on who would miss them, and when"
    )
    assert count > most - 40, f"{package} has fewer now: lower its number to {count}"
