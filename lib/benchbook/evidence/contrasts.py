"""What is compared with what: every comparison that the five papers make, as data."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchbook.evidence import ratios
from benchbook.registry import STORES, title

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """What is compared: a stored or derived metric of a role in an operation."""

    operation: str
    role: str
    metric: str


@dataclass(frozen=True)
class Contrast:
    """One kind of comparison.

    Parameters
    ----------
    study, name
        Whose, and what it is called.
    by
        The column or parameter whose value tells the sides apart.
    pairs
        The sides' values, a over b.
    quantities
        What is compared.
    loose
        Columns and parameters that may differ with the sides. All others are the same on both.
    factors
        Parameters that are shown beside a comparison.
    labels
        The sides in words.
    ratio
        The paper's own ratio and where it is printed, from the parameters, the quantity and the sides; NaN if none is.
    wanted
        True when a side that is missing beside the other is told.
    """

    study: str
    name: str
    by: str
    pairs: tuple[tuple[str, str], ...]
    quantities: tuple[Quantity, ...]
    factors: tuple[str, ...]
    labels: Mapping[str, str]
    loose: tuple[str, ...] = ()
    ratio: Callable[[Settings, Quantity, str, str], tuple[float, str]] = field(default=ratios.none)
    wanted: bool = False


def _all(operations: tuple[str, ...], role: str, *metrics: str) -> tuple[Quantity, ...]:
    return tuple(Quantity(operation, role, metric) for operation in operations for metric in metrics)


_JAVA: Final = ("jaxb", "jaxb_context", "dom", "xmldecoder")

CODEC_PAIRS: Final = (
    *(("lxml", "orjson"), ("etree", "json"), ("xsdata", "msgspec"), ("pydantic_xml", "pydantic")),
    *((codec, "jackson") for codec in _JAVA),
)
"""Codecs of one kind: the main ones in C, the standard library's, those that bind objects; and Java's."""

_CODECS: Final = {
    "lxml": "XML",
    "orjson": "JSON",
    "etree": "XML (etree)",
    "json": "JSON (json)",
    "xsdata": "XML (xsdata)",
    "msgspec": "JSON (msgspec)",
    "pydantic_xml": "XML (pydantic-xml)",
    "pydantic": "JSON (pydantic)",
    "jackson": "JSON (Jackson)",
    "jaxb": "XML (JAXB)",
    "jaxb_context": "XML (JAXB, a context an object)",
    "dom": "XML (DOM)",
    "xmldecoder": "XML (XMLDecoder)",
}
_DRIVERS: Final = {
    "mongoengine": "mongoengine",
    "pymongo": "pymongo",
    "beanie": "beanie",
    "pymongo_async": "pymongo (asynchronous)",
    "mongoose": "Mongoose",
    "mongoclient": "MongoClient",
}
_MODELS: Final = {
    "document": "JSON (document)",
    "json_text": "JSON (text)",
    "xml_text": "XML (text)",
    "xml_fields": "XML (fields)",
}
_RELATIONAL: Final = ("sqlserver+relational", "mysql+relational", "mariadb+relational", "postgresql+relational")
_OTHERS: Final = (
    *("mysql+json", "mariadb+json", "postgresql+jsonb"),
    *("mongodb", "couchdb", "couchbase", "rethinkdb", "arangodb"),
)
_ENGINES: Final = {name: title(name) for name in dict.fromkeys((*_RELATIONAL, *_OTHERS, *STORES)) if "@" not in name}
"""Engines that hold data, relational ones first, new ones last: a stands before b."""

_OLD: Final = {name: title(name) for name in sorted(STORES, key=lambda name: "+relational" not in name) if "@" in name}
"""Old versions, each compared with today's, whose name is the same without the version."""

_PROGRESS: Final = (
    *((old, re.sub("@[^+]+", "", old)) for old in _OLD),
    ("mysql@5.5+relational", "mariadb+relational"),  # its fork of those years, where MySQL itself is not at hand
)

_CRUD: Final = ("insert", "update", "select", "delete")
_CRUD_FACTORS: Final = (
    "engine", "topology", "n", "calls", "comments_per_article", "article_index", "constraints", "durability",
)  # fmt: skip

CONTRASTS: Final = (
    Contrast(
        "bookstore",
        "XML against JSON",
        by="format",
        pairs=(("xml", "json"),),
        quantities=(
            *_all(("round_trip",), "client", "wall_time", "cpu_time"),
            *_all(("marshal", "unmarshal"), "client", "wall_time"),
            Quantity("marshal", "client", "size"),
        ),
        factors=("lane", "case", "process", "n", "xml_codec", "json_codec", "binding"),
        labels={"xml": "XML", "json": "JSON"},
        loose=("codec",),
        ratio=ratios.bookstore,
        wanted=True,
    ),
    Contrast(
        "tcp",
        "XML against JSON",
        by="codec",
        pairs=CODEC_PAIRS,
        quantities=(
            *_all(("receive",), "server", "wall_time", "time_per_item", "cpu_time", "memory_rss_mb"),
            *_all(("receive",), "machine", "cpu_user_percent", "cpu_system_percent", "memory_percent"),
        ),
        factors=("lane", "n", "fields", "transport", "connections", "encode"),
        labels=_CODECS,
        loose=("format",),
        ratio=ratios.tcp,
        wanted=True,
    ),
    Contrast(
        "drivers",
        "mapper against driver",
        by="driver",
        pairs=(("mongoengine", "pymongo"), ("beanie", "pymongo_async"), ("mongoose", "mongoclient")),
        quantities=_all(("insert", "find", "update", "delete"), "client", "wall_time", "cpu_time", "memory_change_kb"),
        factors=("lane", "attributes", "n", "calls", "durability"),
        labels=_DRIVERS,
        loose=("engine",),
        wanted=True,
    ),
    Contrast(
        "crud",
        "engine against engine",
        by="engine",
        pairs=tuple((a, b) for rank, a in enumerate(_ENGINES) for b in [*_ENGINES][rank + 1 :]),
        quantities=_all(_CRUD, "client", "elapsed_time"),
        factors=_CRUD_FACTORS[1:],
        labels=_ENGINES,
        loose=("model", "driver"),
        ratio=ratios.crud_engines,
    ),
    Contrast(
        "crud",
        "old version against today's",
        by="engine",
        pairs=_PROGRESS,
        quantities=_all(_CRUD, "client", "elapsed_time"),
        factors=_CRUD_FACTORS[1:],
        labels=_ENGINES | _OLD,
        loose=("model", "driver"),
    ),
    Contrast(
        "crud",
        "old version against old version",
        by="engine",
        pairs=(("mysql@5.5+relational", "postgresql@9.6+relational"),),
        quantities=_all(_CRUD, "client", "elapsed_time"),
        factors=_CRUD_FACTORS[1:],
        labels=_OLD,
        loose=("model", "driver"),
        ratio=ratios.crud_engines,
    ),
    Contrast(
        "crud",
        "replicated against single",
        by="topology",
        pairs=(("replicated", "single"),),
        quantities=_all(("insert", "update", "delete"), "client", "elapsed_time"),
        factors=tuple(factor for factor in _CRUD_FACTORS if factor != "topology"),
        labels={"replicated": "a replicated pair", "single": "a single node"},
        ratio=ratios.crud_topologies,
    ),
    Contrast(
        "crud",
        "constraints on against off",
        by="constraints",
        pairs=(("on", "off"),),
        quantities=_all(_CRUD, "client", "elapsed_time"),
        factors=tuple(factor for factor in _CRUD_FACTORS if factor != "constraints"),
        labels={"on": "with constraints", "off": "without"},
    ),
    Contrast(
        "replication",
        "XML against JSON",
        by="model",
        pairs=tuple((xml, json) for xml in ("xml_text", "xml_fields") for json in ("document", "json_text")),
        quantities=(
            *_all(("insert",), "replica", "bandwidth", "bytes_received"),
            *(one for role in ("primary", "replica") for one in _all(("insert",), role, "cpu_percent", "cpu_time")),
            *(Quantity("insert", role, "memory_rss_mb") for role in ("primary", "replica")),
            Quantity("insert", "client", "elapsed_time"),
        ),
        factors=("engine", "topology", "n", "durability"),
        labels=_MODELS,
        loose=("format", "codec"),
        ratio=ratios.replication,
    ),
)  # fmt: skip
"""Every comparison of the five papers."""


def arms(study: str) -> Contrast:
    """Return the comparison of a study's identical arms, of every quantity that the study compares."""
    quantities = {one: None for contrast in CONTRASTS if contrast.study == study for one in contrast.quantities}
    factors = {
        one: None for contrast in CONTRASTS if contrast.study == study for one in (contrast.by, *contrast.factors)
    }
    labels = {"b": "arm b", "a": "arm a"}
    return Contrast(study, "A/A", "arm", (("b", "a"),), tuple(quantities), tuple(factors), labels)
