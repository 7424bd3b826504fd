"""`data/claims` as it is written and as it may not be."""

from itertools import chain
from pathlib import Path

import pytest

from benchbook.analysis.claim_files import load_claims, read_claims_file
from benchbook.analysis.claims import (
    Gap,
    Rank,
    Ratio,
    Trend,
    UnmeasuredClaim,
    find_published_keys,
)
from benchbook.analysis.published import fill_key
from benchbook.analysis.quantities import list_quantities
from benchbook.files.inputs import InputError
from benchbook.studies import replication
from benchbook.studies.catalogue import SLUGS

WRITTEN = """\
study: crud
margins: {time: [1.1, "versions move that much"]}
claims:
  - id: crud.insert.mysql-slower-than-mongodb
    says: On one node MySQL takes longer than MongoDB to insert comments, at every size.
    where: "Table II; results"
    compare: ratio
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {database: mysql+relational}
    b: {database: mongodb}
    at: {topology: single, comments_per_article: all}
    each: {n: [1000, 10000, 100000]}
    claimed: more
    published: {a: ["Table II", "MySQL", "{n}"], b: ["Table II", "MongoDB", "{n}"]}
    margin: time
  - id: crud.insert.mongodb-first
    says: Of the document stores MongoDB inserts fastest.
    where: Table II
    compare: rank
    quantity: {operation: insert, role: client, metric: elapsed_time}
    among: {database: [mongodb, couchdb, couchbase]}
    claimed: {first: mongodb}
    margin: 1.2
    why_margin: "ranks closer than this are ties"
  - id: crud.insert.linear
    says: MongoDB's time grows as the number of comments.
    where: Table II
    compare: trend
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {database: mongodb}
    over: {n: [1000, 100000]}
    claimed: equal
    than: 100
    margin: time
  - id: crud.insert.gap-grows
    says: The more comments, the larger MySQL's distance from MongoDB.
    where: results
    compare: gap
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {database: mysql+relational}
    b: {database: mongodb}
    over: {n: [1000, 100000]}
    claimed: more
    size: 1.5
    margin: time
    fact: the comments are ours
  - {id: crud.design, says: It scales., where: text, compare: none, not_testable: it has no size}
comparisons:
  - name: databases
    by: database
    pairs: {each: [mysql+relational, mongodb]}
    shown: [topology, n]
    quantities: [{operation: [insert], role: [client], metric: [elapsed_time]}]
published:
  - {metric: [elapsed_time], operation: [insert], at: {topology: single}, \
key: [Table II, "{database}", "{n}"]}
called: {database: {mysql+relational: MySQL, mongodb: MongoDB}}
not_comparable:
  - {claims: ["crud.insert.m*"], at: {database: [couchdb]}, why: it syncs, remedy: no sync}
caveats:
  - {claims: ["crud.insert.m*"], says: the processors are shared}
"""


def write_claims(folder: Path, text: str) -> Path:
    path = folder / "crud.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_kind_of_claim_is_read_with_its_margin_by_name_or_in_place(tmp_path: Path) -> None:
    ratio, rank, trend, gap, none = read_claims_file(write_claims(tmp_path, WRITTEN)).claims
    assert isinstance(ratio, Ratio) and isinstance(rank, Rank) and isinstance(trend, Trend)
    assert isinstance(gap, Gap) and isinstance(none, UnmeasuredClaim)
    assert (ratio.margin, ratio.why_margin) == (1.1, "versions move that much")
    assert rank.margin == 1.2
    assert (trend.margin, trend.than) == (1.1, 100)
    assert ratio.list_combinations() == [{"n": 1000}, {"n": 10000}, {"n": 100000}]
    assert find_published_keys(ratio, {"n": 10000}) == {
        "a": ("Table II", "MySQL", "10000"),
        "b": ("Table II", "MongoDB", "10000"),
    }


def test_facts_say_why_they_cannot_fail(tmp_path: Path) -> None:
    found = {
        claim.id: claim.fact
        for claim in read_claims_file(write_claims(tmp_path, WRITTEN)).claims
        if claim.fact
    }
    assert found == {"crud.insert.gap-grows": "the comments are ours"}


def test_claims_whose_ids_match_are_not_comparable(tmp_path: Path) -> None:
    found = read_claims_file(write_claims(tmp_path, WRITTEN)).claims
    reasons = {
        claim.id: claim.not_comparable for claim in found if not isinstance(claim, UnmeasuredClaim)
    }
    named = {name: found for name, found in reasons.items() if found}
    assert set(named) == {"crud.insert.mysql-slower-than-mongodb", "crud.insert.mongodb-first"}
    (reason,), _ = named.values()
    assert (reason.at, reason.why, reason.remedy) == (
        {"database": ("couchdb",)},
        "it syncs",
        "no sync",
    )


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        (
            "operation: insert, role",
            "operation: inser, role",
            4,
            "'inser' in crud: did you mean 'insert'?",
        ),
        ("metric: elapsed_time}", "metric: elapsd_time}", 4, "did you mean 'elapsed_time'?"),
        (
            "role: client, metric",
            "role: client, metrik",
            8,
            "no key 'metrik': did you mean 'metric'?",
        ),
        (
            "{database: mongodb}",
            "{database: mongdb}",
            4,
            "database: no value 'mongdb': did you mean 'mongodb'?",
        ),
        ("at: {topology", "at: {topologi", 4, "no parameter 'topologi': did you mean 'topology'?"),
        ("at: {topology", "at: {language: java, topology", 4, "language is named in no claim"),
        (
            "claimed: more",
            "claimed: mre",
            13,
            "claimed should be 'more', 'less', 'equal' or 'different'",
        ),
        (
            '"MySQL", "{n}"',
            '"MySQl", "{n}"',
            4,
            "published a: no row 'MySQl': did you mean 'MySQL'?",
        ),
        ('"MySQL", "{n}"', '"MySQL", "{m}"', 4, "published a: no column '{m}'"),
        ('{a: ["Table II"', '{c: ["Table II"', 4, "published: no side 'c'"),
        ('    where: "Table', '    were: "Table', 6, "no key 'were': did you mean 'where'?"),
        ("margin: time", "margin: tim", 15, "no margin 'tim': did you mean 'time'?"),
        ("margin: time", "margin: 0.9", 15, "margin should be greater than 1"),
        ("size: 1.5", "size: {n=100: 1.5}", 35, "no comparison is called 'n=100'"),
        ("compare: ratio", "compare: rati", 4, "'rati'"),
        ("compare: ratio", "compare: bound", 4, "'bound'"),
        ("not_testable: it", "fact: x, not_testable: it", 47, "one of not_testable and fact"),
        (
            "{database: [couchdb]}",
            "{database: [couchdbb]}",
            58,
            "no value 'couchdbb': did you mean 'couchdb'?",
        ),
        ("why: it syncs, remedy: no sync", "why: it syncs", 58, "remedy"),
        (
            'claims: ["crud.insert.m*"]',
            "claims: [crud.inser.m]",
            58,
            "no claim 'crud.inser.m' is measured here",
        ),
        (
            'claims: ["crud.insert.m*"]',
            "claims: [crud.design]",
            58,
            "no claim 'crud.design' is measured here",
        ),
        ("{first: mongodb}", "{first: mongodb, last: couchdb}", 22, "one of first, last and order"),
        (
            "{first: mongodb}",
            "{first: arangodb}",
            16,
            "'arangodb' is not among mongodb, couchdb, couchbase",
        ),
        (
            "- id: crud.insert.linear",
            "- id: tcp.insert.linear",
            25,
            "the id begins with the study: crud",
        ),
        (
            "- id: crud.insert.linear",
            "- id: crud.insert.mongodb-first",
            25,
            "duplicate claim crud.insert",
        ),
        ("study: crud", "study: tcp", 1, "the study of this file, crud"),
        ("margins:", "margin:", 2, "no section 'margin': did you mean 'margins'?"),
        (
            "[mysql+relational, mongodb]}",
            "[mysql+relational, mongdb]}",
            49,
            "did you mean 'mongodb'?",
        ),
        ("by: database", "by: engin", 49, "no parameter 'engin': did you mean 'database'?"),
        ("key: [Table II", "key: [Table XX", 55, "published: no source 'Table XX'"),
    ],
)
def test_a_mistake_is_reported_with_its_line_its_claim_and_the_nearest_right_name(
    tmp_path: Path, right: str, wrong: str, line: int, message: str
) -> None:
    assert right in WRITTEN
    path = write_claims(tmp_path, WRITTEN.replace(right, wrong, 1))
    with pytest.raises(InputError) as refused:
        read_claims_file(path)
    assert message in refused.value.message
    assert refused.value.where.endswith(f"/crud.yaml:{line}")


def test_a_papers_table_is_read_with_its_pairs_its_quantities_and_where_it_is_printed(
    tmp_path: Path,
) -> None:
    (one,) = read_claims_file(write_claims(tmp_path, WRITTEN)).comparisons
    assert (one.study, one.list_pairs()) == ("crud", [("mysql+relational", "mongodb")])
    assert one.list_quantities() == [("insert", "client", "elapsed_time")]
    (place,) = one.places
    assert place.holds(("insert", "client", "elapsed_time"), {"topology": "single"})
    assert not place.holds(("insert", "client", "elapsed_time"), {"topology": "replicated"})
    key = fill_key(place.key, one.called, {"database": "mongodb", "n": 1000})
    assert key == ("Table II", "MongoDB", "1000")


def test_the_claims_of_the_papers_are_read_in_the_order_of_their_studies() -> None:
    ids = [claim.id for claim in load_claims()]
    assert len(ids) == len(set(ids))
    by_study = chain.from_iterable(map(load_claims, SLUGS))
    assert [claim.id for claim in by_study] == ids


def test_products_are_compared_in_the_language_that_has_them_all() -> None:
    asked = {
        claim.id: claim.languages
        for claim in load_claims("crud")
        if not isinstance(claim, UnmeasuredClaim)
    }
    others = {name for name, languages in asked.items() if languages != ("python",)}
    assert others == {f"crud.{verb}.replicating-costs" for verb in ("insert", "update", "delete")}


def test_what_a_study_delivers_does_not_depend_on_where_servers_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for topology in ("replicated", "bidirectional"):
        database = "couchdb" if topology == "bidirectional" else "mongodb"
        assert (
            replication.expected(replication.Parameters(database=database, topology=topology))
            <= replication.STUDY.outputs
        )
    everywhere = list_quantities.__wrapped__("replication")
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "mongodb://127.0.0.1:1")
    monkeypatch.setenv("BENCHBOOK_MONGODB_REPLICA_URL", "mongodb://127.0.0.1:1")
    assert list_quantities.__wrapped__("replication") == everywhere
    assert ("insert", "primary", "cpu_percent") in everywhere
