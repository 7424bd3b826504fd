"""What a claim may ask, judged on frames of known answers: each kind, and what stands for it."""

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter, ValidationError

from benchbook import paths
from benchbook.analysis.block_means import compute_block_means
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claim_files import load_claims, read_claims_file
from benchbook.analysis.claims import (
    Claim,
    NotComparable,
    UnmeasuredClaim,
)
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.verdicts import judge_claims, list_facts, list_not_testable
from benchbook.files.inputs import InputError
from benchbook.registry.papers import PAPERS, find_language
from benchbook.results.files import build_table, infer_schema
from benchbook.results.schema import name_parameter_column
from benchbook.studies import bookstore, drivers, tcp
from constructed import observations, on

BLOCKS = 8
TIME = {"operation": "insert", "role": "client", "metric": "wall_time"}
MEMORY = {"operation": "update", "role": "client", "metric": "memory_change_kb"}
MAPPER_OVER_DRIVER = {"a": {"driver": "mongoengine"}, "b": {"driver": "pymongo"}}


def claim(**parts: Any) -> Claim:
    common = {"id": "drivers.it", "says": "It is so.", "where": "Section 4", "quantity": TIME}
    margin = {"margin": 1.05, "why_margin": "so"}
    return TypeAdapter(Claim).validate_python({**common, **margin, **parts}, strict=False)


def ran(
    mean: float, *, quantity: dict[str, str] = TIME, seed: int = 1, **columns: Any
) -> pd.DataFrame:
    """Return one cell's observations: a repetition per block, within 1 % of a mean."""
    about = {
        "driver": "pymongo",
        "attributes": 89,
        "n": 1000,
        "language": "python",
        "arm": "a",
        **columns,
    }
    metric = {"memory_change_kb": "memory_change"}.get(quantity["metric"], quantity["metric"])
    noise = np.random.Generator(np.random.PCG64(seed)).standard_normal(BLOCKS)
    rows = [
        {
            **{name: about[name] for name in ("language", "arm", "driver", "n")},
            **{"study": "drivers", "host": "h", "state": "done", "timed_out": False, "count": 1},
            **{name_parameter_column(name): level for name, level in about.items()},
            **{"cell_id": json.dumps(about), "block": block},
            **{"operation": quantity["operation"], "role": "client", "metric": metric},
            **{"value": mean * (1 + 0.01 * noise[block]), "repetition": 0},
            "unit": "ns" if metric == "wall_time" else "B",
        }
        for block in range(BLOCKS)
    ]
    frame = pd.DataFrame(rows)
    table: pd.DataFrame = build_table(frame, infer_schema(frame)).to_pandas()
    return table


def compare_claim(stated: Claim, *rows: pd.DataFrame) -> list[Comparison]:
    return compare_claims(compute_block_means(pd.concat(rows)), [stated])


def verdict(stated: Claim, *rows: pd.DataFrame) -> str:
    (found,) = judge_claims(compare_claim(stated, *rows), [stated])
    return found.verdict


def pair(factor: float, **columns: Any) -> list[pd.DataFrame]:
    return [
        ran(1e6 * factor, driver="mongoengine", **columns),
        ran(1e6, driver="pymongo", seed=2, **columns),
    ]


@pytest.mark.parametrize(
    ("claimed", "than", "factor", "expected"),
    [
        ("more", 1.0, 1.3, "holds"),
        ("more", 1.0, 1.0, "does not hold"),
        ("less", 1.0, 0.7, "holds"),
        ("equal", 1.0, 1.0, "holds"),
        ("equal", 1.0, 1.3, "does not hold"),
        ("different", 1.0, 1.3, "holds"),
        ("different", 1.0, 0.7, "holds"),
        ("different", 1.0, 1.0, "does not hold"),
        ("more", 2.0, 2.5, "holds"),
        ("more", 2.0, 1.5, "does not hold"),
        ("equal", 10.5, 10.5, "holds"),
        ("equal", 10.5, 5.0, "does not hold"),
    ],
)
def test_a_ratio_is_judged_by_its_direction_and_its_factor(
    claimed: str, than: float, factor: float, expected: str
) -> None:
    stated = claim(compare="ratio", claimed=claimed, than=than, **MAPPER_OVER_DRIVER)
    assert verdict(stated, *pair(factor)) == expected


@pytest.mark.parametrize(
    ("mapper", "driver", "claimed", "expected"),
    [
        (1.2e6, 1e6, "more", "for"),
        (1.02e6, 1e6, "more", "against"),  # 5 % of the larger is the smallest that matters
        (1.02e6, 1e6, "equal", "for"),
        (3e5, -1e5, "more", "for"),
        (2e5, 1e5, "more", "not comparable"),  # less than the page in which V8 takes memory
    ],
)
def test_a_change_of_memory_is_judged_by_a_share_of_the_larger_mean(
    mapper: float, driver: float, claimed: str, expected: str
) -> None:
    rows = [
        ran(mapper, quantity=MEMORY, driver="mongoengine"),
        ran(driver, quantity=MEMORY, driver="pymongo"),
    ]
    stated = claim(compare="ratio", claimed=claimed, quantity=MEMORY, **MAPPER_OVER_DRIVER)
    (row,) = compare_claim(stated, *rows)
    assert (row.kind, row.unit, row.stands) == ("difference", "KB", expected)
    larger = max(abs(mapper), abs(driver)) / 1000
    assert row.margin == pytest.approx(0.05 * larger, rel=0.05)


def test_a_difference_names_the_factor_that_it_is_claimed_beyond() -> None:
    rows = [ran(4e6, quantity=MEMORY), ran(1e6, quantity=MEMORY, n=10000, seed=2)]
    over = {"n": [10000, 1000]}
    a = {"driver": "pymongo"}
    parts = {"compare": "trend", "over": over, "a": a, "quantity": MEMORY, "claimed": "more"}
    (row,) = compare_claim(claim(**parts, than=10), *rows)
    assert row.b.startswith("10 × ") and row.estimate == pytest.approx(-6000, rel=0.05)


def test_memory_that_was_given_back_is_compared_as_a_difference() -> None:
    rows = [
        ran(-1e6, quantity=MEMORY, driver="mongoengine"),
        ran(1e6, quantity=MEMORY, driver="pymongo"),
    ]
    stated = claim(compare="ratio", claimed="less", quantity=MEMORY, **MAPPER_OVER_DRIVER)
    (row,) = compare_claim(stated, *rows)
    assert (row.kind, row.unit, row.stands) == ("difference", "KB", "for")
    assert row.estimate == pytest.approx(-2000, rel=0.05)


def test_a_trend_may_be_compared_with_the_growth_of_the_records() -> None:
    rows = [ran(1e6, n=1000), ran(150e6, n=200000, seed=2)]
    parts = {"compare": "trend", "a": {"driver": "pymongo"}, "over": {"n": [1000, 200000]}}
    assert verdict(claim(**parts, claimed="more"), *rows) == "holds"
    assert verdict(claim(**parts, claimed="less", than=200), *rows) == "holds"
    assert verdict(claim(**parts, claimed="equal", than=200), *rows) == "does not hold"


def test_a_gap_is_a_ratio_of_ratios() -> None:
    rows = [*pair(2.0), *pair(6.0, n=10000)]
    stated = claim(compare="gap", claimed="more", over={"n": [1000, 10000]}, **MAPPER_OVER_DRIVER)
    (row,) = compare_claim(stated, *rows)
    assert row.estimate == pytest.approx(3.0, rel=0.05)
    assert row.stands == "for"


def test_a_pooled_claim_is_judged_on_the_mean_over_its_sizes() -> None:
    """Twice as long at the small size, as long at the large one, which most of the mean is."""
    rows = [*pair(2.0), *(table.assign(value=table["value"] * 1e3) for table in pair(1.0, n=10000))]
    parts = {"compare": "ratio", "claimed": "equal", **MAPPER_OVER_DRIVER}
    assert verdict(claim(**parts, pooled={"n": [1000, 10000]}), *rows) == "holds"
    apart = compare_claim(claim(**parts, each={"n": [1000, 10000]}), *rows)
    assert [row.stands for row in apart] == ["against", "for"]
    (alone,) = compare_claim(claim(**parts, pooled={"n": [1000, 10000]}), *rows[:2])
    assert alone.stands == "not run", "a mean is over two sizes at least"
    with pytest.raises(ValidationError, match="pooled: n is named in at or each, too"):
        claim(**parts, pooled={"n": [1000, 10000]}, at={"n": 1000})


def test_claims_that_are_not_comparable_are_measured_and_not_counted() -> None:
    why = NotComparable(
        claims=("drivers.it",), at={"n": (10000,)}, why="it syncs", remedy="no sync"
    )
    stated = claim(compare="ratio", claimed="more", each={"n": [1000, 10000]}, **MAPPER_OVER_DRIVER)
    stated = stated.model_copy(update={"not_comparable": (why,)})
    for factor in (2.0, 0.5):
        rows = [*pair(2.0), *pair(factor, n=10000)]
        small, large = compare_claim(stated, *rows)
        assert (small.stands, large.stands) == ("for", "not comparable")
        assert large.estimate == pytest.approx(factor, rel=0.05)
        assert "it syncs" in large.reason and "no sync" in large.reason
        assert verdict(stated, *rows) == "holds"
    everywhere = stated.model_copy(update={"not_comparable": (why.model_copy(update={"at": {}}),)})
    assert verdict(everywhere, *pair(2.0)) == "not comparable"


def test_a_fact_is_shown_and_counted_nowhere() -> None:
    stated = claim(
        compare="ratio", claimed="more", fact="the records are ours", **MAPPER_OVER_DRIVER
    )
    (row,) = compare_claim(stated, *pair(2.0))
    assert row.estimate == pytest.approx(2.0, rel=0.05)
    assert judge_claims([row], [stated]) == []
    (fact,) = list_facts([row], [stated]).to_dict("records")
    assert fact["id"] == "drivers.it"


def test_claims_that_are_not_testable_have_a_reason_and_no_verdict() -> None:
    why = "it names no size that could be missed"
    stated = UnmeasuredClaim(
        id="drivers.it", says="It is steady.", where="Figure 4", compare="none", not_testable=why
    )
    assert judge_claims(compare_claim(stated, *pair(2.0)), [stated]) == []
    (listed,) = list_not_testable([stated]).to_dict("records")
    assert (listed["id"], listed["why"]) == ("drivers.it", why)


def test_a_claim_is_asked_of_its_languages_and_of_a_languages_own_drivers() -> None:
    rows = [
        *pair(2.0),
        ran(2e6, language="node", driver="mongoose"),
        ran(1e6, language="node", driver="mongoclient"),
    ]
    sides = {
        "a": {"driver": ["mongoengine", "mongoose"]},
        "b": {"driver": ["pymongo", "mongoclient"]},
    }
    parts = {"compare": "ratio", "claimed": "more", **sides}
    languages = [row.language for row in compare_claim(claim(**parts), *rows)]
    assert sorted(languages) == ["node", "python"]
    (row,) = compare_claim(claim(**parts, languages=["node"]), *rows)
    assert row.language == "node"
    each = {"driver": ["pymongo", "mongoclient"]}
    trend = {"compare": "trend", "claimed": "more", "over": {"n": [1000, 10000]}, "each": each}
    labels = {row.language: row.label for row in compare_claim(claim(**trend), *rows)}
    assert labels == {"node": "driver=mongoclient", "python": "driver=pymongo"}


def test_the_languages_of_codecs_and_drivers_are_those_of_the_studies() -> None:
    assert PAPERS["bookstore"].languages == dict.fromkeys(bookstore.JAVA_CODECS, "java")
    assert PAPERS["tcp"].languages == dict.fromkeys(tcp.JAVA_CODECS, "java")
    assert PAPERS["drivers"].languages == dict.fromkeys(drivers.NODE_DRIVERS, "node")
    found = {level: find_language(level) for level in ("moxy", "mongoose", "orjson", 1000)}
    assert found == {"moxy": "java", "mongoose": "node", "orjson": "python", 1000: "python"}
    fields = tcp.Parameters.model_fields
    codecs = {*get_args(fields["json_codec"].annotation), *get_args(fields["xml_codec"].annotation)}
    assert {name for name in codecs if find_language(name) == "java"} == set(tcp.JAVA_CODECS)


def test_a_product_is_not_called_missing_because_the_one_that_it_is_compared_with_is() -> None:
    """MongoDB ran, CouchDB did not: nothing can be judged, and only CouchDB is missing."""
    stated = TypeAdapter(Claim).validate_python(
        {
            **{
                "id": "crud.it",
                "says": "It is so.",
                "where": "conclusion",
                "why_margin": "so",
                "margin": 1.1,
            },
            **{
                "compare": "ratio",
                "claimed": "less",
                "quantity": TIME,
                "a": {"database": "couchdb"},
                "b": {},
            },
            "each": {"database": ["mongodb"]},
        },
        strict=False,
    )
    rows = ran(1e6, database="mongodb", topology="single").assign(study="crud", database="mongodb")
    (row,) = compare_claim(stated, rows)
    assert (row.stands, row.reason) == ("not run", "CouchDB did not run")


@pytest.mark.parametrize(
    ("mapper", "asked", "reason"),
    [
        ([], {}, "mongoengine did not run"),
        ([], {"a": {"driver": ["mongoose", "mongoengine"]}}, "mongoengine did not run"),
        ([{"n": 1000}], {"at": {"n": 100000}}, "mongoengine did not run with n=100000"),
        (
            [{"n": 1000, "attributes": 89}, {"n": 100000, "attributes": 6}],
            {"at": {"n": 100000, "attributes": 89}},
            "mongoengine did not run with n=100000, attributes=89",
        ),
        ([{}], {"quantity": MEMORY}, "mongoengine did not run with operation=update"),
        (
            [{}],
            {"quantity": TIME | {"metric": "cpu_user"}},
            "user CPU time of mongoengine was not measured",
        ),
        ([{"durability": "strict"}], {}, "mongoengine did not run at the levels of the others"),
    ],
)
def test_what_did_not_run_is_told_by_the_fewest_levels(
    mapper: list[dict[str, Any]], asked: dict[str, Any], reason: str
) -> None:
    stated = claim(compare="ratio", claimed="more", **(MAPPER_OVER_DRIVER | asked))
    rows = [ran(1e6, driver="mongoengine", **columns) for columns in mapper]
    rows += [
        ran(1e6, driver="pymongo", **asked.get("at", {}), quantity=stated.quantity.model_dump())
    ]
    (row,) = compare_claim(stated, *rows)
    assert (row.stands, row.reason) == ("not run", reason)


def tcp_rows(**columns: Any) -> pd.DataFrame:
    """Return cells of study tcp as Java's with XMLDecoder have them."""
    names = {"orjson": "jackson", "lxml": "xmldecoder"}
    return on("java", names, observations(("tcp",))).assign(**columns)


def compare_at_20000(claim: str, *rows: pd.DataFrame) -> Comparison:
    """Return the comparison of a claim of tcp at 20,000 objects, as the paper has it."""
    stated = [one for one in load_claims("tcp") if one.id == f"tcp.scenario-2.{claim}"]
    found = compare_claims(compute_block_means(pd.concat(rows)), stated)
    (only,) = [row for row in found if row.label == "codec=xmldecoder, n=20000"]
    return only


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"own_processors": 1}, ""),
        ({"own_processors": 0}, "the server shares its processors"),
        ({"own_processors": None}, "the server shares its processors"),
        ({}, "the server shares its processors"),
        ({"own_processors": 1, "network": "lan-100m"}, "at 100 Mbit/s the server waits"),
    ],
)
def test_shares_of_a_server_are_judged_where_it_had_its_own_processors(
    columns: dict[str, Any], why: str
) -> None:
    row = compare_at_20000("xml-less-user-cpu", tcp_rows(**columns))
    assert row.blocks == 5
    assert (row.stands == "not comparable") == bool(why)
    assert row.reason.startswith(why)


def test_blocks_with_own_processors_come_first_where_a_claim_needs_them() -> None:
    shared, own = tcp_rows(own_processors=0), tcp_rows(own_processors=1)
    is_user = own["metric"].eq("cpu_user") & own["format"].eq("xml")
    own["value"] = own["value"].mask(is_user, own["value"] / 2)
    rows = [shared, own.assign(host="another", cell_id=own["cell_id"] + "x")]
    row = compare_at_20000("xml-less-user-cpu", *rows)
    assert (row.blocks, row.stands) == (5, "for")
    assert row.estimate == pytest.approx(0.5, rel=0.1)
    # Other claims take all blocks.
    row = compare_at_20000("xml-slower", *rows)
    assert (row.blocks, row.stands) == (10, "for")


def test_only_a_reason_may_name_own_processors(tmp_path: Path) -> None:
    text = (paths.claims() / "replication.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert len(read_claims_file(file, is_own=True).claims) > 1
    file.write_text(text.replace("at: {database", "at: {own_processors: 1, database", 1))
    with pytest.raises(InputError, match="no parameter 'own_processors'"):
        read_claims_file(file, is_own=True)
