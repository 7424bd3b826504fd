"""Tests of a codec: it returns equal objects, reads and writes others' documents, and refuses."""

import pytest

from benchbook import codecs
from benchbook.datasets import blog, books, persons

SEED = 20150501
SETS = [blog.generate_comments(20, SEED), persons.generate_people(20, SEED, fields=50)]


def test_the_codec_is_found_by_its_name() -> None:
    assert codecs.NAMES["my_example"] == "json"
    assert codecs.load_codec("my_example").format == "json"


@pytest.mark.parametrize("data", SETS, ids=lambda one: one.name)
def test_records_come_back_equal_with_their_types(data) -> None:
    codec = codecs.load_codec("my_example")
    decode = codec.decoder(data.schema)
    assert [decode(codec.encode_record(record)) for record in data.records] == data.records


@pytest.mark.parametrize("case", [1, 2])
def test_bookstores_come_back_equal_and_others_read_them(case: int) -> None:
    codec, main = codecs.load_codec("my_example"), codecs.load_codec("orjson")
    store = books.generate_bookstore(5, SEED, case)
    for writer, reader in ((codec, codec), (codec, main), (main, codec)):
        assert reader.decode_bookstore(writer.encode_bookstore(store), case) == store


def test_a_value_that_it_cannot_hold_is_refused_with_the_name_of_its_field() -> None:
    with pytest.raises(codecs.FormatError, match="odd"):
        codecs.load_codec("my_example").encode_record({"_id": "1", "odd": object()})


@pytest.mark.parametrize("data", [b"", b"<", b"{", b"[1]"])
def test_bytes_that_are_not_a_document_are_refused(data: bytes) -> None:
    with pytest.raises(codecs.FormatError):
        codecs.load_codec("my_example").decode_record(data)
