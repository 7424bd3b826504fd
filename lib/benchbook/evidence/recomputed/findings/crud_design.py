"""`crud`: how it was measured, as far as its tables tell."""

from itertools import pairwise, product
from statistics import geometric_mean
from typing import Final

from benchbook.evidence.recomputed.checks.crud import DOCUMENT, RELATIONAL, SIZES, TABLES, time
from benchbook.evidence.recomputed.finding import Finding, listed
from benchbook.evidence.recomputed.printed import printed


def another_papers_columns() -> Finding:
    """Nine machines are three for each of three databases: the relational ones ran elsewhere."""
    each, every = (
        printed("crud", "Section IV", "virtual machines", column).value for column in ("each database", "all")
    )
    return Finding(
        "crud.another-papers-columns",
        "Relational columns from another paper",
        "unsupported",
        "Sections I and IV",
        f"Six databases are compared; nine virtual machines were set up, {each:.0f} for each database.",
        f"{every:.0f} machines serve {every / each:.0f} databases; six would have taken {6 * each:.0f}. The "
        "relational times are taken from an earlier paper, its reference 10.",
        "Every contrast of document against relational stores is also one of machines, schemas and dates. Here both "
        "families run on the same machine in the same blocks.",
    )


def no_variance() -> Finding:
    """Fifty batches each, and no spread."""
    batches = printed("crud", "Section IV", "batches", "each number of records").value
    count = len(TABLES) * len(SIZES) * len(DOCUMENT + RELATIONAL)
    return Finding(
        "crud.no-variance",
        f"{batches:.0f} batches and no spread",
        "not shown",
        "Section IV; Tables II to VIII",
        f"Each batch ran {batches:.0f} times; between single and distributed databases there are significant "
        "differences.",
        f"{count} means are printed without a spread; no test can be made of any of them.",
        "Significance is claimed in words. A difference of 1 % and one of 100 % stand on the same footing.",
    )


def constraints() -> Finding:
    """Selects check no constraints and differ as much."""
    ratios = {place: _mean(place, RELATIONAL) / _mean(place, ("MongoDB", "Couchbase")) for place in TABLES}
    writes = [ratio for place, ratio in ratios.items() if place[0] != "select"]
    return Finding(
        "crud.constraints",
        "Constraints as the reason",
        "unsupported",
        "Section V",
        "Relational systems may be slower because they check integrity when they insert, update and delete.",
        f"At {int(SIZES[-1]):,} records the relational systems' geometric mean over MongoDB's and Couchbase's is "
        f"{ratios['select', 'single']:.1f} for selects, which check nothing, and {listed(writes, '.1f')} for the "
        "six tables of writes.",
        "The gap is as wide where the reason cannot apply. Here constraints are a factor (`constraints`).",
    )


def _mean(place: tuple[str, str], engines: tuple[str, ...]) -> float:
    return geometric_mean(time(place, engine, SIZES[-1]).value for engine in engines)


def steps() -> Finding:
    """Ten times the records take three to thirty-four times the time."""
    grown = {
        (place, engine, n): time(place, engine, n).value / time(place, engine, before).value
        for place, engine, (before, n) in product(TABLES, RELATIONAL + DOCUMENT, pairwise(SIZES))
    }
    odd = [ratio for ratio in grown.values() if not 5 <= ratio <= 20]
    (least, most) = (min(grown, key=lambda one: grown[one]), max(grown, key=lambda one: grown[one]))
    return Finding(
        "crud.steps",
        "Ten times the records",
        "not shown",
        "Tables II to VIII",
        "Operations are single calls, one after the other; nothing is said of how times grow.",
        f"Of {len(grown)} steps from one size to ten times as many, {len(odd)} lie outside 5 to 20 times: from "
        f"{grown[least]:.1f} ({least[1]}, {' '.join(least[0])}) to {grown[most]:.1f} ({most[1]}, "
        f"{' '.join(most[0])}).",
        "Single calls on an indexed table should grow tenfold. A cache that fills or a missing index would show "
        "here, and would make the contrast of that size one of the cache.",
    )


def no_unit() -> Finding:
    """Table VIII has no unit."""
    ratio = (
        time(("select", "single"), "MongoDB", SIZES[-1]).value / time(("insert", "single"), "MongoDB", SIZES[-1]).value
    )
    return Finding(
        "crud.no-unit",
        "A table without a unit",
        "not shown",
        "Table VIII and Fig. 8",
        "Six tables of times are titled in milliseconds, the seventh in nothing.",
        f"Taken for milliseconds MongoDB's selects are {1 / ratio:.0f} times quicker than its inserts at 100,000 "
        "records.",
        "Milliseconds are assumed in all that follows. With CouchDB's writes in doubt the reader would like to know.",
    )


FINDINGS: Final = (another_papers_columns, no_variance, constraints, steps, no_unit)
