"""The papers' own ratios, of the numbers they print, for the comparisons that are made here."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from benchbook.evidence.published import number

Printed = tuple[float, str]
"""A ratio and the table or figure it comes from; NaN and empty when the paper prints none."""

NOT_PRINTED: Final[Printed] = (float("nan"), "")
_ENGINES: Final = {
    "sqlserver+relational": "Microsoft SQL Server",
    "mysql+relational": "MySQL",
    "postgresql+relational": "PostgreSQL",
    "mysql@5.5+relational": "MySQL",  # the nearest that is to be had to the paper's 5.5.31
    "postgresql@9.6+relational": "PostgreSQL",  # and to its 9.1
    "mongodb": "MongoDB",
    "couchdb": "CouchDB",
    "couchbase": "Couchbase",
    "rethinkdb": "RethinkDB",
}
CRUD_TABLES: Final = {
    ("insert", "single"): "Table II",
    ("insert", "replicated"): "Table III",
    ("update", "single"): "Table IV",
    ("update", "replicated"): "Table V",
    ("delete", "single"): "Table VI",
    ("delete", "replicated"): "Table VII",
    ("select", "single"): "Table VIII",
}
_TCP_MEASURES: Final = {
    "wall_time": "Total Time",
    "time_per_item": "Average Time",
    "cpu_user_percent": "User CPU",
    "cpu_system_percent": "System CPU",
    "memory_percent": "Memory",
}
_REPLICATION_FIGURES: Final = {
    "bandwidth": "Fig. 15",
    "cpu_percent": "Fig. 16",
    "memory_rss_mb": "Fig. 17",
    "cpu_time": "Fig. 18",
}


class Quantity(Protocol):
    """What is compared."""

    @property
    def operation(self) -> str:
        """The operation."""

    @property
    def metric(self) -> str:
        """The metric, stored or derived."""


def none(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return that the paper prints no numbers to compare."""
    return NOT_PRINTED


def bookstore(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return XML's time or size over JSON's."""
    column = {("round_trip", "wall_time"): "time", ("marshal", "size"): "size"}.get(
        (quantity.operation, quantity.metric)
    )
    source, row = f"Case {settings.get('case')} table", str(settings.get("n"))
    return _of("bookstore", source, (row, f"XML {column}"), (row, f"JSON {column}"))


def tcp(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return XML's measure over JSON's: of scenario 1 for a million objects, else of the trial with as many."""
    measure, n = _TCP_MEASURES.get(quantity.metric, ""), settings.get("n")
    if n == 1_000_000:
        if measure.endswith("Time"):
            return _of("tcp", "Table 1", (measure, "XML"), (measure, "JSON"))
        return _of("tcp", "Table 2", ("XML", measure), ("JSON", measure))
    trials = [
        trial for trial in range(1, 6) if number("tcp", "Section 4.4", "Scenario 2", f"Trial {trial} objects") == n
    ]
    trial = trials[0] if trials else 0
    return _of("tcp", "Table 7", (measure, f"XML {trial}"), (measure, f"JSON {trial}"))


def crud_engines(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return one engine's time over the other's, in the same topology."""
    source = CRUD_TABLES.get((quantity.operation, str(settings.get("topology"))), "")
    n = str(settings.get("n"))
    return _of("crud", source, (_ENGINES.get(a, ""), n), (_ENGINES.get(b, ""), n))


def crud_topologies(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return one engine's replicated time over its single time."""
    engine, n = _ENGINES.get(str(settings.get("engine")), ""), str(settings.get("n"))
    sources = [CRUD_TABLES[quantity.operation, topology] for topology in (a, b)]
    over, under = (number("crud", source, engine, n) for source in sources)
    return (over / under, " / ".join(sources)) if over == over else NOT_PRINTED


def replication(settings: Mapping[str, Any], quantity: Quantity, a: str, b: str) -> Printed:
    """Return XML's average over all numbers of records over JSON's; the paper prints no single values."""
    if settings.get("topology") == "bidirectional":
        return NOT_PRINTED
    source = _REPLICATION_FIGURES.get(quantity.metric, "")
    engine = _ENGINES.get(str(settings.get("engine")), "")
    ratio, where = _of("replication", source, (engine, "XML"), (engine, "JSON"))
    return ratio, where and f"{where}, average"


def _of(study: str, source: str, over: tuple[str, str], under: tuple[str, str]) -> Printed:
    ratio = number(study, source, *over) / number(study, source, *under)
    return (ratio, source) if ratio == ratio else NOT_PRINTED
