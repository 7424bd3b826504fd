"""What study `bookstore` marshals: the paper's object, or a person's own records as one document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from benchbook.datasets import Dataset
from benchbook.datasets.books import bookstore_builder
from benchbook.formats import Codec
from benchbook.schemas import AnyBookstore, Record

T = TypeVar("T")

_XML_RECORD: Final = b"<record>"


@dataclass(frozen=True)
class Document(Generic[T]):
    """How an object is built anew, and how a codec writes and reads it."""

    build: Callable[[], T]
    encoder: Callable[[Codec], Callable[[T], bytes]]
    decoder: Callable[[Codec], Callable[[bytes], T]]


def bookstore(n: int, seed: int, case: int) -> Document[AnyBookstore]:
    """Return the paper's object with `n` books."""
    return Document(
        bookstore_builder(n, seed, case),
        lambda codec: codec.encode_bookstore,
        lambda codec: lambda data: codec.decode_bookstore(data, case),
    )


def own_records(data: Dataset) -> Document[list[Record]]:
    """Return flat records as one document: each encoded by itself, one after the other, a newline between them."""

    def decoder(codec: Codec) -> Callable[[bytes], list[Record]]:
        decode, split = codec.decoder(data.schema), _json_lines if codec.format == "json" else _xml_records
        return lambda document: [decode(part) for part in split(document)]

    return Document(lambda: [dict(record) for record in data.records], _joined, decoder)


def _joined(codec: Codec) -> Callable[[list[Record]], bytes]:
    encode: Callable[[Record], Any] = codec.encode_record
    return lambda records: b"\n".join(map(encode, records))


def _json_lines(document: bytes) -> list[bytes]:
    return document.split(b"\n")


def _xml_records(document: bytes) -> list[bytes]:
    """Return the records: a text may hold a newline, but none can hold a newline and a tag."""
    first, *rest = document.split(b"\n" + _XML_RECORD)
    return [first, *(_XML_RECORD + part for part in rest)]
