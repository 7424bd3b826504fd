"""Every database on every topology that can run here, and what they are asked with: the compliance suite's cases."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any, Protocol

import pytest

import products
from benchbook import databases, servers
from benchbook.databases import Adapter
from benchbook.datasets import Dataset, blog, persons, phones, players
from benchbook.deployment import Deployment, Topology
from benchbook.schemas import Field, Record, Schema
from standing import LOCAL, found, here, is_given
from waiting import PATIENCE_S


class Deployed(Protocol):
    """Returns a deployment for a database or a product: on given servers, unless our ``own`` are asked for."""

    def __call__(self, database: str, topology: Topology, *, own: bool = False) -> Deployment: ...


Opened = Callable[..., Adapter]

PROTOCOL_ONLY = [name for name in products.NAMES if name not in LOCAL]
"""Databases of whose product no more is here than servers that speak its protocol (`products`)."""
ELSEWHERE = ["sqlserver+relational", "arangodb"]
"""Databases whose servers no test run has started yet: where their image is, they are in `CASES`, as all are."""

Case = tuple[str, Topology]

_STORES = [name for name in databases.NAMES if name != "noop"]
_REAL = [name for name in _STORES if name not in (*PROTOCOL_ONLY, *ELSEWHERE)]


def runs(name: str, topology: Topology) -> bool:
    """Return whether tests ask for a database in a topology: at an address that was given, or on servers they start."""
    product = servers.product_of(name)
    return is_given(product) or here(product, topology) or products.available(product, topology)


def met(name: str) -> bool:
    """Return whether a database's product is here, or was given."""
    return isinstance(found(servers.product_of(name), "single"), servers.Found)


def singles(names: Sequence[str]) -> pytest.MarkDecorator:
    """Parametrize a test by those databases that are here, alone; where none is, it is skipped once."""
    some: list[Any] = [(name, "single") for name in names if runs(name, "single")]
    why = pytest.mark.skip(reason=f"each of {', '.join(names)} is not installed with the suite")
    return pytest.mark.parametrize("case", some or [pytest.param((names[0], "single"), marks=why)], ids="-".join)


REAL = [name for name in _REAL if here(servers.product_of(name))]
"""Databases on real servers that are here: each absent product is one skip."""
ON_POSTGRESQL = [name for name in _REAL if name.startswith("postgresql+")]
ON_MYSQL = [name for name in _REAL if name.startswith(("mysql", "mariadb"))]
TABLES = [name for name in _REAL if name.endswith("+relational")]
CASES: list[Case] = [
    *((one, each) for one in _STORES for each in servers.topologies(servers.product_of(one)) if runs(one, each)),
    ("noop", "none"),
]
MET = [name for name in (*PROTOCOL_ONLY, *ELSEWHERE) if met(name)]
"""Of those databases, the ones whose products are here all the same: in a container, or at an address."""
PAIRED = [case for case in CASES if case[1] in ("replicated", "bidirectional")]
EACH = pytest.mark.parametrize("case", CASES, ids="-".join)
EACH_SINGLE = pytest.mark.parametrize("case", [case for case in CASES if case[1] == "single"], ids="-".join)
EACH_REAL_SINGLE = singles(_REAL)
EACH_PAIR = pytest.mark.parametrize("case", PAIRED, ids="-".join)

COMMENTS = blog.comments(60, 1, per_article=10)
SETS = [
    COMMENTS,
    phones.smartphones(40, 1),
    players.wide(30, 1, attributes=89),
    players.wide(30, 1, attributes=6),
    persons.people(30, 1, fields=50),
]

TYPED = Schema(
    "of every type",
    tuple(
        Field(name, type_)  # type: ignore[arg-type]
        for name, type_ in [
            *(("_id", "string"), ("text %s", "string"), ('"quoted"', "string"), ("select", "string")),
            *(("whole", "integer"), ("real", "float"), ("day", "date"), ("moment", "datetime"), ("true", "boolean")),
        ]
    ),
)
TEXTS = ["", " ", "]]>", "naïve – 漢字 🙂 \u202e", "\\ ' \" $1 %s ; --", "\t\r\n\x01\x7f", "null", "{}", "x" * 100_000]
NUMBERS = [0, 1, -1, 2**53 - 1, -(2**53) + 1, 6, 7, 8, 9]
REALS = [0.0, 1.0, -0.1, 1e300, 1e-300, 1 / 3, 2.0**60, -1e22, 123456789.125]
DAYS = [date(1, 1, 1), date(9999, 12, 31), *(date(2013, 6, day) for day in range(1, 8))]
MOMENTS = [datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)] + [
    datetime(2013, 6, day, 12, 47, 1, 308000, UTC) for day in range(1, 8)
]


def awkward() -> list[dict[str, Any]]:
    names = [field.name for field in TYPED.fields]
    keys = [f"k{number}" for number in range(len(TEXTS))]
    columns = (keys, TEXTS, TEXTS[::-1], TEXTS, NUMBERS, REALS, DAYS, MOMENTS, [True, False, True] * 3)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


NAMES = [
    *("$a", "$", "$where", "$reql_type$", "a.b", ".a", "a."),
    *("id", "pk", "_rev", "_deleted", "_attachments", "_x", "_key"),
    *("ctid", "xmin", "tableoid", "oid", "rowid", "doc", "content", "select", "order", "self", "cls", "meta", "_cls"),
    *("__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "valueOf", "toJSON", "then", "length"),
    *("objects", "save", "validate", "revision_id", "model_config"),
    *("Settings", "field_1", "a__b", "set__b", "name__in"),
    *("toObject", "init", "markModified", "modifiedPaths", "_doc", "errors"),
    *("collection", "on", "isNew", "schema", "__v"),
    *('a"b', "a'b", "a`b", "a]b", "a%b", "a%sb", "%(x)s", "a\\b", "a:b"),
    *("a/b", "a->>b", "?", ":a", "@a", "{}", "[]", "~"),
    *("a\0b", "\0", " ", "a b", " a", "c ", "\n", "a\tb"),
    *("\u202e", "ä漢", "🙂", "x" * 64, "y" * 65, "z" * 1000, "é" * 40),
]
"""Names of fields that a store, a mapper or SQL may keep for itself, or not be able to write; no two of them alike."""

KEYS = [
    *("", " ", "a ", "a", "A", "\n", ".", "..", "../x"),
    *("a/b", "%2F", "$x", "?a#b&c", "a+b c", "a:b", "' \" \\ `", "%s"),
    *("_x", "_design/x", "_local/x", "__proto__", "a\0b", "\x01\x7f", "ä", "a\u0308", "漢", "🙂", "k" * 126, "k" * 191),
    *("k" * 192, "k" * 240, "k" * 600, "".join(chr(33 + n * n % 89) for n in range(2_692)), "k" * 10_000),
]
"""Ids of records that a store may not take."""


@contextmanager
def holds(adapter: Adapter, capability: str, error: type[BaseException]) -> Iterator[None]:
    """Expect the body to pass, or, where the database declares that it lacks the capability, to fail with `error`."""
    if capability not in adapter.gaps:
        yield
    else:
        assert adapter.gaps[capability]
        with pytest.raises(error):
            yield


def by_key(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    assert len({record["_id"] for record in records}) == len(records)
    return {record["_id"]: dict(record) for record in records}


def assert_contents(adapter: Adapter, records: Sequence[Record]) -> None:
    """Assert that every node holds these records and no others, the replica as soon as it has caught up."""
    assert by_key(adapter.read_all()) == by_key(records)
    if adapter.replicated:
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        assert by_key(adapter.read_all("replica")) == by_key(records)


def filled(adapter: Adapter, data: Dataset) -> list[dict[str, Any]]:
    adapter.create(data.schema, parents=data.parents)
    adapter.insert_many(data.records)
    return [dict(record) for record in data.records]


def changed(data: Dataset) -> dict[str, Any]:
    name = [field.name for field in data.schema.fields if field.type == "string"][-1]
    return {name: "změněno ]]>"}
