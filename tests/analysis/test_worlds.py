"""Small worlds: block values that a person can judge by hand, and what the code says.

Five blocks of one machine-day with the logarithms m + d (-1, -1, 0, 1, 1) have the standard
deviation d. Their weight is 5 / (1 + 5 * .35 / .65) = 1.354, and Student's t for 99 % and 4 degrees
of freedom is 4.604: the interval is m ± 4.604 d / √1.354 = m ± 3.957 d. With d = .01 it is
± .0396, a factor of 1.040; with d = .05 it is ± .198, a factor of 1.219.
"""

from math import exp
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claims import Bound, Claim, NotComparable
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.verdicts import ClaimVerdict, judge_claims
from benchbook.results.files import build_table, infer_schema

STEPS = (-1, -1, 0, 1, 1)
TIME = {"operation": "insert", "role": "client", "metric": "wall_time"}
MEMORY = {"operation": "insert", "role": "client", "metric": "memory_change_kb"}
TURNS = "mongodb/postgresql+relational"
MONGODB, POSTGRESQL = "mongodb", "postgresql+relational"
FACTOR_OF = {0.01: 1.040, 0.05: 1.219}
"""How far an interval reaches, as a factor, by the standard deviation of a block."""


def cell(
    value: float,
    spread: float = 0.0,
    first_block: int = 0,
    *,
    study: str = "drivers",
    **columns: Any,
) -> pd.DataFrame:
    """Return a cell's five blocks of one machine-day."""
    metric = "memory_change" if columns.pop("memory", False) else "wall_time"
    about = {"language": "python", "arm": "a", "n": 1000, "host": "h", "state": "done", **columns}
    identity = {name: columns.get(name) for name in sorted(columns)}
    rows = [
        {
            **about,
            **{"cell_language": "python", "cell_arm": "a", "study": study},
            **{"cell_id": str(identity), "block": first_block + number, "repetition": 0},
            **{"operation": "insert", "role": "client", "metric": metric, "count": 1},
            **{"value": value * exp(spread * step), "timed_out": False},
            "unit": "B" if metric == "memory_change" else "ns",
        }
        for number, step in enumerate(STEPS)
    ]
    frame = pd.DataFrame(rows)
    table: pd.DataFrame = build_table(frame, infer_schema(frame)).to_pandas()
    return table


def drivers(ratio: float, spread: float = 0.0, value: float = 1e6, **columns: Any) -> pd.DataFrame:
    """Return a mapper's blocks and a driver's; all that varies is the mapper's."""
    sides = {"attributes": 89, **columns}
    mapper = cell(ratio * value, spread, driver="mongoengine", cell_driver="mongoengine", **sides)
    driver = cell(value, driver="pymongo", cell_driver="pymongo", **sides)
    return pd.concat([mapper, driver])


def databases(
    ratio: float, spread: float = 0.0, first_block: int = 0, *, in_turn: bool = False
) -> pd.DataFrame:
    """Return the blocks of two databases, which take turns in one process or have one each."""
    sides = []
    for database, factor in ((MONGODB, ratio), (POSTGRESQL, 1.0)):
        sides.append(
            cell(
                1e6 * factor,
                spread if database == MONGODB else 0.0,
                first_block,
                study="crud",
                database=database,
                cell_database=TURNS if in_turn else database,
                topology="single",
            )
        )
    return pd.concat(sides)


def state(**parts: Any) -> Claim:
    """Return a claim on the mapper over the driver."""
    sides = {"a": {"driver": "mongoengine"}, "b": {"driver": "pymongo"}}
    about = {"id": "drivers.it", "says": "So it is.", "where": "here", "compare": "ratio"}
    stated = {**about, "quantity": TIME, "margin": 1.1, "why_margin": "so", **sides, **parts}
    return TypeAdapter(Claim).validate_python(stated, strict=False)


def state_databases(**parts: Any) -> Claim:
    """Return the claim that MongoDB takes less time than PostgreSQL."""
    sides = {"a": {"database": MONGODB}, "b": {"database": POSTGRESQL}}
    quantity = TIME | {"metric": "elapsed_time"}
    return state(id="crud.it", claimed="less", quantity=quantity, **sides, **parts)


def judge(claim: Claim, *rows: pd.DataFrame) -> tuple[ClaimVerdict, Comparison]:
    """Return the verdict on a claim of one comparison, and the comparison."""
    (row,) = compare_claims(compute_block_means(pd.concat(rows, ignore_index=True)), [claim])
    (verdict,) = judge_claims([row], [claim])
    return verdict, row


@pytest.mark.parametrize(
    ("claimed", "ratio", "spread", "expected"),
    [
        ("more", 1.15, 0.01, "holds"),  # 1.106 to 1.196: all beyond 1.10
        ("more", 1.12, 0.01, "holds"),  # 1.077 to 1.165: the estimate is beyond 1.10
        ("more", 1.08, 0.01, "undecided"),  # 1.038 to 1.123: above 1, but the estimate is not
        ("more", 1.05, 0.01, "does not hold"),  # 1.009 to 1.092: below 1.10
        ("more", 1.15, 0.05, "undecided"),  # 0.943 to 1.402: contains 1
        ("more", 1.50, 0.05, "holds"),  # 1.231 to 1.828
        ("less", 0.85, 0.01, "holds"),  # 0.817 to 0.884: beyond 1 / 1.10 = 0.909
        ("less", 0.93, 0.01, "undecided"),  # 0.894 to 0.967
        ("less", 1.30, 0.01, "does not hold"),  # the opposite
        ("equal", 1.02, 0.01, "holds"),  # 0.981 to 1.061: within 0.909 to 1.10
        ("equal", 1.08, 0.01, "undecided"),  # 1.038 to 1.123: 1.10 lies in it
        ("equal", 1.20, 0.01, "does not hold"),  # 1.154 to 1.248: wholly beyond
    ],
)
def test_a_ratio_and_its_spread(claimed: str, ratio: float, spread: float, expected: str) -> None:
    verdict, row = judge(state(claimed=claimed), drivers(ratio, spread))
    assert row.high / row.estimate == pytest.approx(FACTOR_OF[spread], abs=0.001)
    assert verdict.verdict == expected
    assert "on one machine-day" in verdict.words or expected == "undecided"


def test_a_claim_of_more_than_twice_is_judged_from_twice_on() -> None:
    # 2.3 / 2 = 1.15 holds; 2.1 / 2 = 1.05 lies below the SDM.
    assert judge(state(claimed="more", than=2), drivers(2.3, 0.01))[0].verdict == "holds"
    assert judge(state(claimed="more", than=2), drivers(2.1, 0.01))[0].verdict == "does not hold"


def test_new_memory_is_a_difference_with_a_share_of_the_larger_as_sdm() -> None:
    # 4,400 KB against 4,000: 400 more, beyond 5 % of 4,400 = 220.
    stated = state(claimed="more", quantity=MEMORY, margin=1.05)
    verdict, row = judge(stated, drivers(1.1, value=4e6, memory=True))
    assert (row.estimate, row.margin) == (pytest.approx(400), pytest.approx(220))
    assert verdict.verdict == "holds"
    # 220 KB against 200: less than the page in which V8 takes memory.
    verdict, row = judge(stated, drivers(1.1, value=2e5, memory=True))
    assert (verdict.verdict, row.stands) == ("not comparable", "not comparable")


def test_blocks_in_turns_and_others_are_pooled_and_named() -> None:
    # Five blocks in turns at 0.80, five others at 0.80: ten blocks.
    together = databases(0.8, 0.01, in_turn=True)
    verdict, row = judge(state_databases(), together, databases(0.8, 0.01, 10))
    assert (row.blocks, row.in_turn, row.parts) == (10, 5, "")
    assert (verdict.verdict, verdict.turns) == ("holds", "5 of 10 blocks in turns")


def test_a_block_that_has_both_kinds_gives_the_one_in_turns() -> None:
    _, row = judge(state_databases(), databases(0.8, in_turn=True), databases(0.5))
    assert (row.blocks, row.in_turn, row.estimate) == (5, 5, pytest.approx(0.8))


def constraints(ratio: float, first_block: int = 0, *, in_turn: bool = False) -> pd.DataFrame:
    """Return blocks with constraints and without, in turns or in cells of their own."""
    sides = []
    for level, factor in (("on", ratio), ("off", 1.0)):
        stated = {"constraints": "on/off", "own_level": level} if in_turn else {}
        levels = {"constraints": level, **_name_database(POSTGRESQL), **stated}
        sides.append(cell(1e6 * factor, 0.0, first_block, study="crud", **levels))
    return pd.concat(sides)


def test_constraints_in_turns_and_apart_are_pooled() -> None:
    sides = {"a": {"constraints": "on"}, "b": {"constraints": "off"}}
    quantity = TIME | {"metric": "elapsed_time"}
    at = {"database": POSTGRESQL}
    claim = state(id="crud.it", claimed="more", quantity=quantity, at=at, **sides)
    _, row = judge(claim, constraints(1.2, in_turn=True), constraints(1.2, 10))
    assert (row.blocks, row.in_turn, row.estimate) == (10, 5, pytest.approx(1.2))
    # A block that has both gives the one in turns.
    _, row = judge(claim, constraints(1.2), constraints(1.5, in_turn=True))
    assert (row.blocks, row.in_turn, row.estimate) == (5, 5, pytest.approx(1.5))


def test_cells_whose_constraints_take_turns_are_read_for_constraints_only() -> None:
    rows = [cell(1e6, study="crud", **_name_database(MONGODB))]
    apart = cell(2e6, study="crud", constraints="on", **_name_database(POSTGRESQL))
    rows[0]["constraints"] = "on"
    claim = state_databases(at={"constraints": "on"})
    _, row = judge(claim, *rows, apart, constraints(9.0, 10, in_turn=True))
    assert (row.blocks, row.estimate) == (5, pytest.approx(0.5))
    assert judge(claim, *rows, constraints(9.0, in_turn=True))[1].stands == "not run"


@pytest.mark.parametrize(
    ("commits", "expected"), [(["each"], "not comparable"), (["each", "later"], "holds")]
)
def test_couchdb_at_commit_later_is_compared_with_another_database_as_it_is(
    commits: list[str], expected: str
) -> None:
    couchdb = _name_database("couchdb")
    rows = [cell(2e6, study="crud", **couchdb, commit=commit) for commit in commits]
    rows.append(cell(1e6, study="crud", **_name_database(MONGODB), commit="each"))
    syncs = NotComparable(
        claims=("crud.it",), at={"database": "couchdb", "commit": "each"}, why="w", remedy="r"
    )
    sides = {"a": {"database": "couchdb"}, "b": {"database": MONGODB}}
    at, quantity = {"commit": ["later", "each"]}, TIME | {"metric": "elapsed_time"}
    stated = state(id="crud.it", claimed="more", quantity=quantity, at=at, **sides)
    verdict, row = judge(stated.model_copy(update={"not_comparable": (syncs,)}), *rows)
    assert (verdict.verdict, row.blocks) == (expected, 5)


def _name_database(name: str) -> dict[str, str]:
    return {"database": name, "cell_database": name, "topology": "single"}


def test_both_estimates_are_named_where_their_intervals_do_not_overlap() -> None:
    # 0.80 (0.77 to 0.83) and 0.60 (0.58 to 0.62).
    turns, others = databases(0.8, 0.01, in_turn=True), databases(0.6, 0.01, 10)
    verdict, row = judge(state_databases(), turns, others)
    assert (
        row.parts == "in turns 0.80 (0.77 to 0.83), in processes of their own 0.60 (0.58 to 0.62)"
    )
    assert verdict.turns == f"5 of 10 blocks in turns ({row.parts})"
    assert 0.6 < row.estimate < 0.8


@pytest.mark.parametrize(
    ("own_processors", "expected"), [(1, "holds"), (0, "not comparable"), (None, "not comparable")]
)
def test_an_objection_to_shared_processors_reads_what_a_cell_had(
    own_processors: int | None, expected: str
) -> None:
    shared = NotComparable(
        claims=("drivers.it",), at={"own_processors": 0}, why="shared", remedy="one each"
    )
    stated = state(claimed="more").model_copy(update={"not_comparable": (shared,)})
    rows = drivers(1.15, 0.01)
    if own_processors is not None:
        rows = rows.assign(own_processors=own_processors)
    assert judge(stated, rows)[0].verdict == expected


def replicate(share: float | None) -> pd.DataFrame:
    """Return a single node's blocks, and those of a pair that takes twice the time.

    `share` is the percentage of the processors' time that was used while the pair was written;
    None: it is not stored.
    """
    about = {"study": "crud", "database": MONGODB, "cell_database": MONGODB}
    single = cell(1e6, topology="single", cell_topology="single", **about)
    pair = cell(2e6, topology="replicated", cell_topology="replicated", **about)
    elapsed = pair.assign(metric="elapsed_time")
    if share is None:
        return pd.concat([single, pair, elapsed])
    used = pair.assign(role="machine", value=share)
    machine = [
        used.assign(metric="cpu_user"),
        used.assign(metric="cpu_system", value=0.0),
        used.assign(metric="cpu_capacity", value=100.0),
    ]
    return pd.concat([single, pair, elapsed, *machine])


@pytest.mark.parametrize(
    ("share", "expected"),
    [(79.0, "holds"), (80.0, "not comparable"), (95.0, "not comparable"), (None, "not comparable")],
)
def test_what_replicating_costs_is_judged_where_processors_were_left(
    share: float | None, expected: str
):
    shared = NotComparable(
        claims=("crud.it",),
        at={"topology": "replicated", "own_processors": 0},
        unless=Bound(role="machine", metric="cpu_percent", below=80),
        why="all share the processors",
        remedy="more of them",
    )
    sides = {"a": {"topology": "replicated"}, "b": {"topology": "single"}}
    quantity = TIME | {"metric": "elapsed_time"}
    claim = state(id="crud.it", claimed="more", quantity=quantity, **sides)
    verdict, _ = judge(claim.model_copy(update={"not_comparable": (shared,)}), replicate(share))
    assert verdict.verdict == expected
