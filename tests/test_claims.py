"""`data/claims` as it is written and as it may not be."""

from pathlib import Path

import pytest

from benchbook import evidence
from benchbook.evidence.claim_files import read
from benchbook.evidence.claims import Interaction, Rank, Ratio, Trend, Untestable, published_keys
from benchbook.evidence.means import delivered
from benchbook.evidence.published import filled
from benchbook.inputs import InputError
from benchbook.studies import SLUGS, replication

WRITTEN = """\
study: crud
margins: {time: [1.1, "versions move that much"]}
claims:
  - id: crud.insert.mysql-slower-than-mongodb
    says: On one node MySQL takes longer than MongoDB to insert comments, at every size.
    where: "Table II; results"
    compare: ratio
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {engine: mysql+relational}
    b: {engine: mongodb}
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
    among: {engine: [mongodb, couchdb, couchbase]}
    claimed: {first: mongodb}
    margin: 1.2
    why_margin: "ranks closer than this are ties"
  - id: crud.insert.linear
    says: MongoDB's time grows as the number of comments.
    where: Table II
    compare: trend
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {engine: mongodb}
    over: {n: [1000, 100000]}
    per_item: true
    claimed: equal
    margin: time
  - id: crud.insert.gap-grows
    says: The more comments, the larger MySQL's distance from MongoDB.
    where: results
    compare: interaction
    quantity: {operation: insert, role: client, metric: elapsed_time}
    a: {engine: mysql+relational}
    b: {engine: mongodb}
    over: {n: [1000, 100000]}
    claimed: more
    size: 1.5
    published: {a: ["Table II", "MySQL", "{n}"], b: ["Table II", "MongoDB", "{n}"]}
    margin: time
  - {id: crud.design, says: It scales out., where: introduction, compare: untestable, why: one machine runs here}
comparisons:
  - name: engines
    by: engine
    pairs: {each: [mysql+relational, mongodb]}
    shown: [topology, n]
    quantities: [{operation: [insert], role: [client], metric: [elapsed_time]}]
published:
  - {metric: [elapsed_time], operation: [insert], at: {topology: single}, key: [Table II, "{engine}", "{n}"]}
called: {engine: {mysql+relational: MySQL, mongodb: MongoDB}}
objections:
  - {claims: [crud.insert.linear], says: Versions differ.}
variations:
  - {claims: ["crud.insert.*"], try: {durability: strict}, says: every store waits for its disk}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "crud.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_kind_of_claim_is_read_with_its_margin_by_name_or_in_place(tmp_path: Path) -> None:
    found = read(written(tmp_path, WRITTEN))
    assert [type(claim) for claim in found.claims] == [Ratio, Rank, Trend, Interaction, Untestable]
    ratio, rank = found.claims[0], found.claims[1]
    assert isinstance(ratio, Ratio)
    assert isinstance(rank, Rank)
    assert (ratio.margin, ratio.why_margin, rank.margin) == (1.1, "versions move that much", 1.2)
    assert ratio.contrasts() == [{"n": 1000}, {"n": 10000}, {"n": 100000}]
    assert published_keys(ratio, {"n": 10000}) == {
        "a": ("Table II", "MySQL", "10000"),
        "b": ("Table II", "MongoDB", "10000"),
    }
    objected = [
        (claim.id, [one.says for one in claim.objections]) for claim in found.claims if isinstance(claim, Trend)
    ]
    assert objected == [("crud.insert.linear", ["Versions differ."])]
    varied = {claim.id for claim in found.claims if not isinstance(claim, Untestable) and claim.variations}
    assert varied == {claim.id for claim in found.claims if claim.id.startswith("crud.insert.")}


@pytest.mark.parametrize(
    ("right", "wrong", "line", "told"),
    [
        (
            "operation: insert, role",
            "operation: inser, role",
            4,
            "no operation 'inser' in crud: did you mean 'insert'?",
        ),
        ("metric: elapsed_time}", "metric: elapsd_time}", 4, "did you mean 'elapsed_time'?"),
        ("role: client, metric", "role: client, metrik", 8, "no key 'metrik': did you mean 'metric'?"),
        ("{engine: mongodb}", "{engine: mongdb}", 4, "engine: no value 'mongdb': did you mean 'mongodb'?"),
        ("at: {topology", "at: {topologi", 4, "no parameter 'topologi': did you mean 'topology'?"),
        ("at: {topology", "at: {lane: java, topology", 4, "lane is named in no claim"),
        ("claimed: more", "claimed: mre", 13, "claimed should be 'more', 'less', 'equal' or 'different'"),
        ('"MySQL", "{n}"', '"MySQl", "{n}"', 4, "published a: no row 'MySQl': did you mean 'MySQL'?"),
        ('"MySQL", "{n}"', '"MySQL", "{m}"', 4, "published a: no column '{m}'"),
        ('{a: ["Table II"', '{c: ["Table II"', 4, "published: no side 'c'"),
        ('    where: "Table', '    were: "Table', 6, "no key 'were': did you mean 'where'?"),
        ("margin: time", "margin: tim", 15, "no margin 'tim': did you mean 'time'?"),
        ("margin: time", "margin: 0.9", 15, "margin should be greater than 1"),
        ("size: 1.5", "size: {n=100: 1.5}", 35, "no contrast is called 'n=100'"),
        (
            "- id: crud.insert.linear",
            "- {id: crud.insert.linear, id: crud.x}\n  - id: crud.insert.linear",
            25,
            "duplicate key 'id'",
        ),
        ("compare: ratio", "compare: rati", 4, "'rati'"),
        ("durability: strict}", "durability: strikt}", 60, "durability: no value 'strikt': did you mean 'strict'?"),
        ("try: {durability", "tri: {durability", 60, "no key 'tri': did you mean 'try'?"),
        ('claims: ["crud.insert.*"]', 'claims: ["crud.inser.*"]', 60, "no claim 'crud.inser.*' is tested here"),
        ("{first: mongodb}", "{first: mongodb, last: couchdb}", 22, "one of first, last and order"),
        ("{first: mongodb}", "{first: arangodb}", 16, "'arangodb' is not among mongodb, couchdb, couchbase"),
        ("- id: crud.insert.linear", "- id: tcp.insert.linear", 25, "the id begins with the study: crud"),
        (
            "- id: crud.insert.linear",
            "- id: crud.insert.mongodb-first",
            25,
            "duplicate claim crud.insert.mongodb-first",
        ),
        ("study: crud", "study: tcp", 1, "the study of this file, crud"),
        ("margins:", "margin:", 2, "no section 'margin': did you mean 'margins'?"),
        (
            "[mysql+relational, mongodb]}",
            "[mysql+relational, mongdb]}",
            49,
            "no value 'mongdb': did you mean 'mongodb'?",
        ),
        ("by: engine", "by: engin", 49, "no parameter 'engin': did you mean 'engine'?"),
        ("shown: [topology", "shown: [topologi", 49, "no parameter 'topologi': did you mean 'topology'?"),
        ("[elapsed_time]}]", "[elapsd_time]}]", 49, "did you mean 'elapsed_time'?"),
        ("{claims: [crud.insert.linear]", "{claims: [crud.insert.linea]", 58, "no claim 'crud.insert.linea' is tested"),
        ("{claims: [crud.insert.linear]", "{claims: [crud.design]", 58, "no claim 'crud.design' is tested here"),
        ("key: [Table II", "key: [Table XX", 55, "published: no source 'Table XX'"),
    ],
)
def test_a_mistake_is_told_with_its_line_its_claim_and_the_nearest_right_name(
    tmp_path: Path, right: str, wrong: str, line: int, told: str
) -> None:
    assert right in WRITTEN
    path = written(tmp_path, WRITTEN.replace(right, wrong, 1))
    with pytest.raises(InputError) as refused:
        read(path)
    assert refused.value.where.endswith(f"/crud.yaml:{line}")
    assert told in refused.value.message


def test_a_comparison_is_read_with_its_pairs_its_quantities_and_where_its_numbers_are_printed(tmp_path: Path) -> None:
    found = read(written(tmp_path, WRITTEN))
    (one,) = found.comparisons
    assert (one.study, one.every_pair()) == ("crud", [("mysql+relational", "mongodb")])
    assert one.every_quantity() == [("insert", "client", "elapsed_time")]
    (place,) = one.places
    assert place.holds(("insert", "client", "elapsed_time"), {"topology": "single"})
    assert not place.holds(("insert", "client", "elapsed_time"), {"topology": "replicated"})
    key = filled(place.key, one.called, {"engine": "mongodb", "n": 1000})
    assert key == ("Table II", "MongoDB", "1000")


def test_the_claims_of_the_papers_read_and_their_ids_are_unique() -> None:
    ids = [claim.id for claim in evidence.claims()]
    assert len(ids) == len(set(ids))
    assert [claim.id for study in SLUGS for claim in evidence.claims(study)] == ids


def test_the_claims_over_products_are_those_of_crud() -> None:
    before = {"mongodb-before-relational": 3, "couchbase-before-relational": 3}
    ranked = {"mongodb-before-relational": 4, "couchbase-before-relational": 4}
    writes = {"couchdb-performs-well": 5}
    over = {
        "insert": writes | ranked | {"couchdb-first": 6, "replicating-costs": 3},
        "insert-replicated": writes | before | {"couchdb-first": 6},
        "update": writes | before | {"postgresql-last": 6, "replicating-costs": 3},
        "update-replicated": writes | ranked | {"couchdb-before-relational": 4},
        "delete": writes
        | before
        | {"order-of-documents": 3, "sqlserver-first-of-relational": 3, "replicating-costs": 3},
        "delete-replicated": writes | before | {"order-of-documents": 3, "sqlserver-last-of-relational": 3},
        "select": ranked | {"couchdb-before-relational": 4, "mongodb-first": 6},
        "documents": {"differ": 2},
    }
    found = {one.id: len(one.products) for one in evidence.claims() if not isinstance(one, Untestable) and one.products}
    assert found == {f"crud.{verb}.{name}": count for verb, named in over.items() for name, count in named.items()}


def test_products_are_compared_on_the_lane_that_has_them_all() -> None:
    asked = {one.id: one.lanes for one in evidence.claims("crud") if not isinstance(one, Untestable)}
    beside = {name for name, lanes in asked.items() if lanes != ("python",)}
    assert beside == {f"crud.{verb}.replicating-costs" for verb in ("insert", "update", "delete")}


def test_what_a_study_delivers_does_not_hang_on_where_servers_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for topology in ("replicated", "bidirectional"):
        engine = "couchdb" if topology == "bidirectional" else "mongodb"
        assert replication.expected(replication.Parameters(engine=engine, topology=topology)) <= replication.EVERY
    everywhere = delivered.__wrapped__("replication")
    monkeypatch.setenv("BENCHBOOK_MONGODB_URL", "mongodb://127.0.0.1:1")
    monkeypatch.setenv("BENCHBOOK_MONGODB_REPLICA_URL", "mongodb://127.0.0.1:1")
    assert delivered.__wrapped__("replication") == everywhere
    assert ("insert", "primary", "cpu_percent") in everywhere
