"""Titles that say what came out: only what intervals decide, and the same as the claims say."""

import re
from dataclasses import replace

import pytest

from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Analysis
from benchbook.papers import exhibits
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.titles import describe_sizes, find_side, write_result
from benchbook.text.names import DATABASES

WORDS = {
    "subject": "MongoDB inserts",
    "more": "more slowly",
    "less": "faster",
    "link": "than",
}
BASE = Comparison(
    study="crud",
    name="crud.one",
    language="python",
    operation="insert",
    role="client",
    metric="elapsed_time",
    unit="ns",
    a="MongoDB",
    b="MySQL",
    label="",
    settings={},
    n=1000,
    claimed="less",
    margin=1.1,
    stands="for",
    blocks=5,
)


def compare(b: str, n: int, estimate: float, spread: float = 1.05, **about: object) -> Comparison:
    """Return a comparison with MongoDB's time over b's, its interval a factor wide on each side."""
    ends = {"estimate": estimate, "low": estimate / spread, "high": estimate * spread}
    return replace(BASE, b=b, n=n, **ends, **about)


def write(*rows: Comparison) -> str:
    """Return the sentence of some comparisons, with plain spaces."""
    return write_result(rows, lambda row: row.b, **WORDS).replace("\u00a0", " ")


def test_a_result_names_both_sides_and_the_sizes_at_which_they_are_decided():
    mysql = [compare("MySQL", n, 0.5) for n in (1000, 10_000)]
    postgresql = [
        compare("PostgreSQL", n, ratio) for n, ratio in ((1000, 1), (10_000, 0.8), (10**5, 0.7))
    ]
    assert write(*mysql) == "MongoDB inserts faster than MySQL"
    assert write(*mysql, *postgresql) == (
        "MongoDB inserts faster than MySQL, and than PostgreSQL at n = 10,000 and more"
    )
    couchdb = compare("CouchDB", 1000, 2)
    assert write(*mysql, couchdb, compare("RethinkDB", 1000, 0.2)) == (
        "MongoDB inserts faster than MySQL and RethinkDB, and more slowly than CouchDB"
    )
    swapped = [compare("MySQL", 1000, 0.5), compare("MySQL", 10_000, 2)]
    assert write(*swapped) == (
        "MongoDB inserts faster than MySQL at n = 1,000, and more slowly than MySQL at n = 10,000"
    )


@pytest.mark.parametrize(
    "row",
    [
        compare("MySQL", 1000, 0.5, spread=3),  # the interval holds 1
        compare("MySQL", 1000, 0.95, spread=1.01),  # less than matters
        compare("MySQL", 1000, 0.5, stands="not comparable"),
        compare("MySQL", 1000, 0.5, stands="not run"),
        replace(BASE, estimate=0.5, blocks=4),  # no interval
        compare("MySQL", 1000, 0.5, stands=""),  # a fact, which cannot come out otherwise
    ],
)
def test_there_is_no_sentence_without_a_decided_comparison(row: Comparison):
    assert write(row) == write() == ""


def test_a_name_is_silent_where_its_comparisons_of_one_size_differ():
    assert write(compare("MySQL", 1000, 0.5), compare("MySQL", 1000, 2)) == ""
    assert write(compare("MySQL", 1000, 0.5), compare("MySQL", 1000, 0.5, spread=4)) == ""


def test_sizes_are_listed_or_begin_somewhere():
    ran = [1, 10, 100, 1000]
    assert describe_sizes([1000, 1, 10, 100], ran) == ""
    # No line ends within "n = 100".
    assert describe_sizes([100, 1000], ran) == " at n\u00a0=\u00a0100 and more"
    assert describe_sizes([1000], ran) == " at n\u00a0=\u00a01,000"
    assert describe_sizes([1, 100, 1000], ran) == " at n\u00a0=\u00a01, 100 and 1,000"


@pytest.mark.parametrize(
    ("study", "prefix", "count"), [("crud", "crud_fig", 6), ("bookstore", "bookstore_case", 2)]
)
def test_the_reference_run_has_titles_that_say_what_came_out(
    study: str, prefix: str, count: int, committed_exhibits: dict[str, Exhibit]
):
    titled = [name for name in exhibits.FIGURES if committed_exhibits[name].result]
    assert sum(name.startswith(prefix) for name in titled) >= count


def test_a_title_names_the_databases_of_which_the_claims_decide_something(
    committed: Analysis, committed_exhibits: dict[str, Exhibit]
):
    of_databases = "|".join(map(re.escape, DATABASES.values()))
    for name in [one for one in exhibits.FIGURES if one.startswith("crud_fig")]:
        *_, operation, topology = name.split("_")
        claims = f"crud.{operation}{'-replicated' if topology == 'replicated' else ''}.mongodb-"
        decided = {1: set(), -1: set()}
        for row in committed.comparisons:
            if row.name.startswith(claims) and row.stands in ("for", "against", "open"):
                # By the ends of the interval alone.
                side = int(row.low > 1) - int(row.high < 1)
                assert find_side(row) in (0, side)
                if side and find_side(row):
                    decided[side].add(row.b)
        result = committed_exhibits[name].result
        named = {1: set(), -1: set()}
        for side, clause in re.findall(
            r"(faster|more slowly) (.+?)(?=, and more|, and faster|$)", result
        ):
            named[1 if side == "more slowly" else -1] = set(re.findall(of_databases, clause))
        assert named == decided, name
