"""Codecs: records and bookstores to bytes and back; a library is imported only when its codec is asked for."""

from functools import cache
from importlib import import_module
from typing import Final, Literal

from benchbook.formats.codec import LIMIT, Codec, FormatError
from benchbook.schemas import Record

NAMES: Final[dict[str, Literal["json", "xml"]]] = {
    "orjson": "json",
    "json": "json",
    "msgspec": "json",
    "pydantic": "json",
    "lxml": "xml",
    "etree": "xml",
    "xsdata": "xml",
    "pydantic_xml": "xml",
}
"""Every codec's format; each format's first is its main one."""

_FACTORIES: Final = {name: (f"{name}_codec", "codec") for name in NAMES} | {"json": ("json_codecs", "stdlib")}


def module(name: str) -> str:
    """Return the module of a codec."""
    return f"{__name__}.{_FACTORIES[name][0]}"


@cache
def codec(name: str) -> Codec:
    """Return the codec of that name.

    Raises
    ------
    LookupError
        When there is none.
    """
    if name not in NAMES:
        raise LookupError(f"no codec {name!r}: there are {', '.join(NAMES)}")
    made: Codec = getattr(import_module(module(name)), _FACTORIES[name][1])()
    return made


def json_text(record: Record) -> str:
    """Return the record as the main JSON codec writes it; raises `FormatError`."""
    return codec("orjson").encode_record(record).decode()


def xml_text(record: Record) -> str:
    """Return the record as the main XML codec writes it; raises `FormatError`."""
    return codec("lxml").encode_record(record).decode()


def xml_fields(record: Record) -> dict[str, str]:
    """Return each field's value as an XML element of its own, ``<name>value</name>``; raises `FormatError`."""
    from benchbook.formats.fragments import fragment

    return {name: fragment(name, value) for name, value in record.items()}


__all__ = ["LIMIT", "NAMES", "Codec", "FormatError", "codec", "json_text", "xml_fields", "xml_text"]
