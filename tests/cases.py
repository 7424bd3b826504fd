"""The adapters' contract suite: databases on the topologies that can run here, and its data."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any, Protocol

import pytest

import stand_ins
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter
from benchbook.datasets import blog, persons, phones, players
from benchbook.datasets.dataset import Dataset
from benchbook.registry import products
from benchbook.schema import Field, Record, Schema
from benchbook.servers import launcher
from benchbook.servers.deployment import Deployment, Topology
from benchbook.servers.programs import AvailableServer
from shared_servers import LOCAL, find_server, is_given, is_here
from waiting import PATIENCE_S


class Deployed(Protocol):
    """Returns a database's or product's deployment: on given servers, unless with ``own``."""

    def __call__(self, database: str, topology: Topology, *, own: bool = False) -> Deployment: ...


Opened = Callable[..., Adapter]

PROTOCOL_ONLY = [name for name in stand_ins.LIMITATIONS if name not in LOCAL]
"""Databases of whose product no more is here than servers that speak its protocol (`stand_ins`)."""
ELSEWHERE = [name for name in products.MORE_DATABASES if name not in stand_ins.LIMITATIONS]
"""Databases of our plug-in; they are in `CASES` where it is installed and their image is here."""

Case = tuple[str, Topology]

_STORES = [name for name in catalogue.DATABASE_NAMES if name != "noop"]
_REAL = [name for name in _STORES if name not in (*PROTOCOL_ONLY, *ELSEWHERE)]


def can_run(name: str, topology: Topology) -> bool:
    """Return whether a database can run in a topology: at a given address, or started by tests."""
    product = launcher.name_product(name)
    return is_given(product) or is_here(product, topology) or stand_ins.available(product, topology)


def is_met(name: str) -> bool:
    """Return whether a database's product is here, or was given."""
    return isinstance(find_server(launcher.name_product(name), "single"), AvailableServer)


def parametrize_singles(names: Sequence[str]) -> pytest.MarkDecorator:
    """Parametrize a test by the databases that run here, single; it is skipped without one."""
    some: list[Any] = [(name, "single") for name in names if can_run(name, "single")]
    why = pytest.mark.skip(reason=f"each of {', '.join(names)} is not installed with the suite")
    return pytest.mark.parametrize(
        "case", some or [pytest.param((names[0], "single"), marks=why)], ids="-".join
    )


REAL = [name for name in _REAL if is_here(launcher.name_product(name))]
"""Databases on real servers that are here: each absent product is one skip."""
ON_POSTGRESQL = [name for name in _REAL if name.startswith("postgresql+")]
ON_MYSQL = [name for name in _REAL if name.startswith(("mysql", "mariadb"))]


def _list_cases() -> list[Case]:
    cases: list[Case] = []
    for name in _STORES:
        topologies = launcher.list_topologies(launcher.name_product(name))
        cases += [(name, topology) for topology in topologies if can_run(name, topology)]
    return [*cases, ("noop", "none")]


CASES = _list_cases()
MET = [name for name in (*PROTOCOL_ONLY, *ELSEWHERE) if is_met(name)]
"""Those of these databases whose products run here, in a container or at an address."""
TABLES = [name for name in (*_REAL, *MET) if name.endswith("+relational")]
PAIRED = [case for case in CASES if case[1] in ("replicated", "bidirectional")]
EACH = pytest.mark.parametrize("case", CASES, ids="-".join)
EACH_SINGLE = pytest.mark.parametrize(
    "case", [case for case in CASES if case[1] == "single"], ids="-".join
)
EACH_REAL_SINGLE = parametrize_singles(_REAL)
EACH_PAIR = pytest.mark.parametrize("case", PAIRED, ids="-".join)

COMMENTS = blog.generate_comments(60, 1, per_article=10)
SETS = [
    COMMENTS,
    phones.generate_smartphones(40, 1),
    players.generate_players(30, 1, attributes=89),
    players.generate_players(30, 1, attributes=6),
    persons.generate_people(30, 1, fields=50),
]

TYPED = Schema(
    "of every type",
    tuple(
        Field(name, type_)  # type: ignore[arg-type]
        for name, type_ in [
            *(
                ("_id", "string"),
                ("text %s", "string"),
                ('"quoted"', "string"),
                ("select", "string"),
            ),
            *(
                ("whole", "integer"),
                ("real", "float"),
                ("day", "date"),
                ("moment", "datetime"),
                ("true", "boolean"),
            ),
        ]
    ),
)
TEXTS = [
    "",
    " ",
    "]]>",
    "naïve – 漢字 🙂 \u202e",
    "\\ ' \" $1 %s ; --",
    "\t\r\n\x01\x7f",
    "null",
    "{}",
    "x" * 100_000,
]
NUMBERS = [0, 1, -1, 2**53 - 1, -(2**53) + 1, 6, 7, 8, 9]
REALS = [0.0, 1.0, -0.1, 1e300, 1e-300, 1 / 3, 2.0**60, -1e22, 123456789.125]
DAYS = [date(1, 1, 1), date(9999, 12, 31), *(date(2013, 6, day) for day in range(1, 8))]
MOMENTS = [datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)] + [
    datetime(2013, 6, day, 12, 47, 1, 308000, UTC) for day in range(1, 8)
]


def make_awkward_records() -> list[dict[str, Any]]:
    names = [field.name for field in TYPED.fields]
    keys = [f"k{number}" for number in range(len(TEXTS))]
    columns = (
        keys,
        TEXTS,
        TEXTS[::-1],
        TEXTS,
        NUMBERS,
        REALS,
        DAYS,
        MOMENTS,
        [True, False, True] * 3,
    )
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


NAMES = [
    *("$a", "$", "$where", "$reql_type$", "a.b", ".a", "a."),
    *("id", "pk", "_rev", "_deleted", "_attachments", "_x", "_key"),
    *(
        "ctid",
        "xmin",
        "tableoid",
        "oid",
        "rowid",
        "doc",
        "content",
        "select",
        "order",
        "self",
        "cls",
        "meta",
        "_cls",
    ),
    *(
        "__proto__",
        "constructor",
        "prototype",
        "hasOwnProperty",
        "toString",
        "valueOf",
        "toJSON",
        "then",
        "length",
    ),
    *("objects", "save", "validate", "revision_id", "model_config"),
    *("Settings", "field_1", "a__b", "set__b", "name__in"),
    *("toObject", "init", "markModified", "modifiedPaths", "_doc", "errors"),
    *("collection", "on", "isNew", "schema", "__v"),
    *('a"b', "a'b", "a`b", "a]b", "a%b", "a%sb", "%(x)s", "a\\b", "a:b"),
    *("a/b", "a->>b", "?", ":a", "@a", "{}", "[]", "~"),
    *("a\0b", "\0", " ", "a b", " a", "c ", "\n", "a\tb"),
    *("\u202e", "ä漢", "🙂", "x" * 64, "y" * 65, "z" * 1000, "é" * 40),
]
"""Names of fields that a database, a mapper or SQL may reserve or be unable to write."""

KEYS = [
    *("", " ", "a ", "a", "A", "\n", ".", "..", "../x"),
    *("a/b", "%2F", "$x", "?a#b&c", "a+b c", "a:b", "' \" \\ `", "%s"),
    *(
        "_x",
        "_design/x",
        "_local/x",
        "__proto__",
        "a\0b",
        "\x01\x7f",
        "ä",
        "a\u0308",
        "漢",
        "🙂",
        "k" * 126,
        "k" * 191,
    ),
    *(
        "k" * 192,
        "k" * 240,
        "k" * 600,
        "".join(chr(33 + n * n % 89) for n in range(2_692)),
        "k" * 10_000,
    ),
]
"""Ids of records that a store may not take."""


@contextmanager
def expect_capability(
    adapter: Adapter, capability: str, error: type[BaseException]
) -> Iterator[None]:
    """Expect the body to pass, or to raise `error` where the capability is a declared gap."""
    if capability not in adapter.limitations:
        yield
    else:
        assert adapter.limitations[capability]
        with pytest.raises(error):
            yield


def index_by_key(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    assert len({record["_id"] for record in records}) == len(records)
    return {record["_id"]: dict(record) for record in records}


def assert_contents(adapter: Adapter, records: Sequence[Record]) -> None:
    """Assert that every node has exactly these records, a replica when it has caught up."""
    assert index_by_key(adapter.read_all()) == index_by_key(records)
    if adapter.is_replicated:
        assert adapter.wait_for(adapter.position(), PATIENCE_S)
        assert index_by_key(adapter.read_all("replica")) == index_by_key(records)


def fill(adapter: Adapter, data: Dataset) -> list[dict[str, Any]]:
    adapter.create(data.schema, parents=data.parents)
    adapter.insert_many(data.records)
    return [dict(record) for record in data.records]


def change_last_text(data: Dataset) -> dict[str, Any]:
    name = [field.name for field in data.schema.fields if field.type == "string"][-1]
    return {name: "změněno ]]>"}
