"""Every codec: the same meaning, equal objects back, clear refusals, nothing loaded that was not asked for."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook import formats
from benchbook.datasets import blog, books, own_records, persons, phones, players
from benchbook.formats.tree import field_name, fragment, tag
from benchbook.schemas import Author, Book1, Book2, Bookstore, Field, Schema
from benchbook.studies.bookstore import markup_size
from own_files import FILES

SEED = 20150501
JSON = [name for name, kind in formats.NAMES.items() if kind == "json"]
XML = [name for name, kind in formats.NAMES.items() if kind == "xml"]
every_codec = pytest.mark.parametrize("name", formats.NAMES)
every_xml = pytest.mark.parametrize("name", XML)
every_case = pytest.mark.parametrize("case", [1, 2])
SETS = {
    "smartphones": phones.smartphones(20, SEED),
    "wide-89": players.wide(20, SEED),
    "wide-6": players.wide(20, SEED, attributes=6),
    "comments": blog.comments(20, SEED),
    "articles": blog.comments(20, SEED).parents[0],
    "people-2": persons.people(20, SEED, fields=2),
    "people-12": persons.people(20, SEED, fields=12),
    "people-50": persons.people(20, SEED, fields=50),
}

characters = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\t\n\r", exclude_characters="\ufffe\uffff"
)
legal = st.lists(characters | st.sampled_from(["]]>", "<![CDATA[", "&amp;", "\r\n"])).map("".join)
instants = st.integers(-(10**13), 10**13).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms))
SCHEMA = Schema(
    "anything",
    tuple(
        Field(name, kind)
        for name, kind in [
            ("_id", "string"),
            ("a string & more", "string"),
            ("9 _x0020_", "integer"),
            ("é", "float"),
            ("flag", "boolean"),
            ("day", "date"),
            ("at", "datetime"),
        ]
    ),
)
VALUES = {
    "string": legal,
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "date": st.dates(),
    "datetime": instants,
}
records = st.fixed_dictionaries({field.name: VALUES[field.type] for field in SCHEMA.fields})
stores = {
    1: st.builds(Book1, legal, legal, legal),
    2: st.builds(
        Book2,
        legal,
        st.integers(-(2**63), 2**63 - 1),
        instants,
        legal,
        st.builds(Author, legal, legal, st.integers(-(2**63), 2**63 - 1), instants),
    ),
}


@every_codec
@pytest.mark.parametrize("dataset", SETS)
def test_records_of_every_dataset_come_back_equal(name, dataset):
    codec, made = formats.codec(name), SETS[dataset]
    decode = codec.decoder(made.schema)
    assert [decode(codec.encode_record(record)) for record in made.records] == made.records


@every_codec
@settings(deadline=None, max_examples=60)
@given(record=records)
def test_any_record_comes_back_equal_with_its_types(name, record):
    codec = formats.codec(name)
    back = codec.decoder(SCHEMA)(codec.encode_record(record))
    assert back == record
    assert {key: type(value) for key, value in back.items()} == {key: type(value) for key, value in record.items()}
    assert codec.decode_record(codec.encode_record(record)).keys() == record.keys()


@every_codec
@every_case
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_bookstore_comes_back_equal(name, case, data):
    codec = formats.codec(name)
    store = Bookstore(data.draw(st.lists(stores[case], max_size=4)))
    assert codec.decode_bookstore(codec.encode_bookstore(store), case) == store


@every_case
@pytest.mark.parametrize("family", [JSON, XML], ids=["json", "xml"])
def test_a_codec_reads_what_the_others_write(case, family):
    store = books.bookstore(5, SEED, case)
    made = SETS["people-12"]
    for writer in map(formats.codec, family):
        for reader in map(formats.codec, family):
            assert reader.decode_bookstore(writer.encode_bookstore(store), case) == store
            decode = reader.decoder(made.schema)
            assert [decode(writer.encode_record(record)) for record in made.records] == made.records


SIZES_1 = {"xml": (282, 1_804, 17_105, 171_006, 1_719_007), "json": (134, 1_242, 12_403, 124_904, 1_258_905)}
BOOKS = (1, 10, 100, 1_000, 10_000)


@every_codec
@pytest.mark.parametrize("index", range(4))
def test_case_1_has_the_sizes_that_fit_the_papers(name, index):
    codec = formats.codec(name)
    size = len(codec.encode_bookstore(books.bookstore(BOOKS[index], SEED, 1)))
    assert size == SIZES_1[codec.format][index]


@pytest.mark.parametrize("name", ["orjson", "lxml"])
def test_case_1_has_the_sizes_that_fit_the_papers_at_10000(name):
    codec = formats.codec(name)
    assert len(codec.encode_bookstore(books.bookstore(10_000, SEED, 1))) == SIZES_1[codec.format][4]


SIZES_2 = [
    ("lxml", 1, 401),
    ("lxml", 10, 3_000),
    ("lxml", 100, 29_000),
    ("lxml", 1_000, 361_000),
    ("lxml", 10_000, 3_600_000),
    ("orjson", 1, 174),
    ("orjson", 100, 17_000),
    ("orjson", 1_000, 205_000),
    ("orjson", 10_000, 2_100_000),
]


@pytest.mark.parametrize(("name", "n", "printed"), SIZES_2)
def test_case_2_has_the_papers_sizes_within_3_percent(name, n, printed):
    size = len(formats.codec(name).encode_bookstore(books.bookstore(n, SEED, 2)))
    assert size == pytest.approx(printed, rel=0.03)


def test_case_2_json_of_10_books_only_rounds_to_the_papers_size():
    size = len(formats.codec("orjson").encode_bookstore(books.bookstore(10, SEED, 2)))
    assert round(size / 1000) == 2


@every_xml
def test_a_bookstore_is_written_as_jaxb_formats_it(name):
    lines = formats.codec(name).encode_bookstore(books.bookstore(1, SEED, 2)).decode().splitlines()
    prefix = "ns0" if name == "etree" else "ns2"
    assert lines[0] == '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    assert lines[1] == f'<{prefix}:bookstore xmlns:{prefix}="org.example">'
    assert lines[2].startswith('    <book id="1" pages="') and '+01:00">' in lines[2]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 0, 4, 8, 8, 12, 12, 12, 8, 4, 0]


@every_xml
@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800"])
def test_what_xml_cannot_hold_is_refused_by_field(name, character):
    codec = formats.codec(name)
    with pytest.raises(formats.FormatError, match="'title'"):
        codec.encode_record({"_id": "1", "title": f"a{character}b", "n": 1})
    book = Book1("1", f"a{character}b", "")
    with pytest.raises(formats.FormatError):
        codec.encode_bookstore(Bookstore([book]))
    with pytest.raises(formats.FormatError, match="'title'"):
        fragment(Field("title", "string"), character)


@every_xml
@pytest.mark.parametrize("value", [None, b"bytes", [1], {"a": 1}])
def test_a_value_that_is_none_of_the_types_is_refused_by_field(name, value):
    with pytest.raises(formats.FormatError, match="'odd'"):
        formats.codec(name).encode_record({"_id": "1", "odd": value})


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("value", ["\ud800", object()])
def test_what_json_cannot_hold_is_refused_by_field(name, value):
    with pytest.raises(formats.FormatError, match="'odd'"):
        formats.codec(name).encode_record({"_id": "1", "odd": value})


@every_xml
def test_a_record_that_is_not_flat_is_refused(name):
    with pytest.raises(formats.FormatError):
        formats.codec(name).decode_record(b"<record><f>x<g>y</g>z</f></record>")


LAUGHS = b"""<!DOCTYPE record [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><record><f>&b;</f></record>"""
HOSTILE = {
    "entities": LAUGHS,
    "external entity": b'<!DOCTYPE record [<!ENTITY a SYSTEM "file:///etc/passwd">]><record><f>&a;</f></record>',
    "external DTD": b'<!DOCTYPE record SYSTEM "http://127.0.0.1:9/x.dtd"><record><f>a</f></record>',
    "empty doctype": b"<!DOCTYPE record><record><f>a</f></record>",
    "doctype in UTF-16": "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE record><record><f>a</f></record>".encode(
        "utf-16"
    ),
    "undeclared entity": b"<record><f>&a;</f></record>",
}


@every_xml
@pytest.mark.parametrize("attack", HOSTILE)
def test_doctypes_and_entities_are_refused(name, attack):
    codec = formats.codec(name)
    with pytest.raises(formats.FormatError):
        codec.decode_record(HOSTILE[attack])
    with pytest.raises(formats.FormatError):
        codec.decode_bookstore(HOSTILE[attack].replace(b"record", b"bookstore"), 1)


MANY = b" ".join(b'a%d=">"' % number for number in range(2_001))
CROWDED = {
    "attributes": b"<record " + MANY + b"><f>a</f></record>",
    "attributes of a field": b"<record><f " + MANY + b">a</f></record>",
    "attributes in UTF-16": (b"<record " + MANY + b"><f>a</f></record>").decode().encode("utf-16"),
    "attributes of a book": b'<b:bookstore xmlns:b="org.example"><book ' + MANY + b"/></b:bookstore>",
    "nesting": b"<record>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</record>",
    "nesting of books": b'<b:bookstore xmlns:b="org.example">'
    + b"<book>" * 9_000
    + b"</book>" * 9_000
    + b"</b:bookstore>",
    "an escape beyond Unicode": b"<record><_x110000_>a</_x110000_></record>",
}


@every_xml
@pytest.mark.parametrize("attack", CROWDED)
def test_what_takes_a_library_too_long_or_names_no_character_is_refused(name, attack):
    codec, data = formats.codec(name), CROWDED[attack]
    with pytest.raises(formats.FormatError):
        codec.decode_bookstore(data, 1) if b"bookstore" in data else codec.decode_record(data)


@every_xml
def test_as_many_attributes_as_are_read_and_long_texts_are_taken(name):
    codec = formats.codec(name)
    record = {"_id": "1", "text": "a" * 100_000}
    assert codec.decode_record(codec.encode_record(record)) == record


@pytest.mark.parametrize("fields", [b"<a>1</a><a>2</a>", b"".join(b"<a%d>1</a%d>" % (i, i) for i in range(2_001))])
def test_no_class_is_made_for_thousands_of_fields_or_one_field_twice(fields):
    with pytest.raises(formats.FormatError, match=r"twice|2,001 fields"):
        formats.codec("xsdata").decode_record(b"<record>" + fields + b"</record>")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(["_", "x", "_x0041_", "_xD800_", "_x0000_", "_x005F_", "é", "0", ".", "\ud800", " ", "_x0041"])
        | st.characters(),
        min_size=1,
    ).map("".join)
)
def test_any_name_comes_back_from_its_element(field):
    element = tag(field)
    assert field_name(element) == field
    assert ElementTree.fromstring(f"<{element}/>").tag == element


@every_xml
def test_a_doctype_inside_text_is_only_text(name):
    record = {"_id": "1", "f": "<!DOCTYPE record>"}
    codec = formats.codec(name)
    assert codec.decode_record(codec.encode_record(record)) == record


@every_codec
def test_a_document_over_the_limit_is_refused(name):
    data = b" " * (formats.LIMIT + 1)
    codec = formats.codec(name)
    for decode in (codec.decode_record, codec.decoder(SCHEMA), lambda text: codec.decode_bookstore(text, 1)):
        with pytest.raises(formats.FormatError, match="limit"):
            decode(data)


@every_codec
@settings(deadline=None, max_examples=60)
@given(
    data=st.binary(max_size=60)
    | st.sampled_from(
        [
            b"",
            b"[]",
            b"1",
            b"null",
            b"<a/>",
            b"<record/>",
            b'{"books":[1]}',
            b'{"books":[{}]}',
            b"[" * 100_000,
            b"<a>" * 100_000,
        ]
    )
)
def test_bytes_that_are_no_document_raise_only_format_errors(name, data):
    codec = formats.codec(name)
    for decode in (codec.decode_record, codec.decoder(SCHEMA), lambda text: codec.decode_bookstore(text, 2)):
        try:
            decode(data)
        except formats.FormatError as error:
            assert str(error)


@every_codec
def test_a_book_of_the_other_case_is_refused(name):
    codec = formats.codec(name)
    for written, asked in ((1, 2), (2, 1)):
        with pytest.raises(formats.FormatError):
            codec.decode_bookstore(codec.encode_bookstore(books.bookstore(2, SEED, written)), asked)


@every_codec
def test_a_typed_field_that_does_not_parse_is_named(name):
    codec = formats.codec(name)
    schema = Schema("s", (Field("_id", "string"), Field("day", "date")))
    with pytest.raises(formats.FormatError, match="day"):
        codec.decoder(schema)(codec.encode_record({"_id": "1", "day": "yesterday"}))


@settings(deadline=None, max_examples=60)
@given(record=records)
def test_texts_of_the_replication_models_hold_the_record(record):
    assert formats.codec("json").decoder(SCHEMA)(formats.codec("orjson").encode_record(record)) == record
    assert formats.codec("etree").decoder(SCHEMA)(formats.codec("lxml").encode_record(record)) == record
    fields = {field.name: fragment(field, record[field.name]) for field in SCHEMA.fields}
    joined = f"<record>{''.join(fields.values())}</record>".encode()
    assert formats.codec("etree").decoder(SCHEMA)(joined) == record
    assert all(ElementTree.fromstring(text) is not None for text in fields.values())


def test_an_unknown_codec_is_refused_with_the_names_there_are():
    with pytest.raises(LookupError, match=r"no codec 'jackson'.*orjson.*xsdata"):
        formats.codec("jackson")


@pytest.mark.parametrize(
    ("asked", "alone"), [(None, set()), ("orjson", {"orjson"}), ("lxml", {"lxml"}), ("etree", set())]
)
def test_only_the_library_that_was_asked_for_is_imported(asked, alone):
    ask = f"formats.codec({asked!r})" if asked else "None"
    code = f"import sys; from benchbook import formats; {ask}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"orjson", "msgspec", "pydantic", "lxml", "xsdata", "numpy", "pandas"} & set(loaded) == alone


def test_dates_are_iso_8601_in_records():
    record = {"day": date(2024, 2, 29), "at": datetime(2013, 6, 24, 12, 47, 1, 308_000, UTC)}
    json, xml = (formats.codec(name).encode_record(record) for name in ("orjson", "lxml"))
    assert json == b'{"day":"2024-02-29","at":"2013-06-24T12:47:01.308000+00:00"}'
    assert b"<day>2024-02-29</day>" in xml


@every_codec
@pytest.mark.parametrize("file", FILES)
def test_documents_of_a_person_s_file_come_back_equal(name, file, tmp_path):
    data = own_records.read(FILES[file](tmp_path))
    formats.RoundTrip(name).hold(data.schema, data.records)
    codec = formats.codec(name)
    encode, decode = formats.encoder(codec, data.schema), codec.decoder(data.schema)
    main = formats.codec("orjson" if codec.format == "json" else "lxml")
    for record in data.records:
        document = encode(record)
        assert decode(document) == record == main.decoder(data.schema)(document)
        elements = ElementTree.fromstring(document) if codec.format == "xml" else ()
        assert {field_name(element.tag) for element in elements} <= {*record}
        if "lines" in record and codec.format == "xml":
            skus = [element.text for element in elements.findall("lines/item/sku")]
            assert skus == [line["sku"] for line in record["lines"]]
    for broken in (b"[]", b"<record/>", b"<record><_id><a/></_id></record>", document[:-2]):
        with pytest.raises(formats.FormatError):
            decode(broken)


@every_codec
def test_a_codec_serves_many_threads(name):
    codec, made = formats.codec(name), SETS["people-12"]
    decode = codec.decoder(made.schema)

    def work(_: int) -> bool:
        return [decode(codec.encode_record(record)) for record in made.records] == made.records

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))


@pytest.mark.parametrize(
    ("document", "kind", "values"),
    [
        (b'{"a": "b&c", "d": [1.50, -2], "e": null}', "json", 3 + 4 + 2 + 4),
        ('{"a": "\u00e9"}\n{"a": "\\u00e9"}'.encode(), "json", 2 + 2),
        (b'<r a="xy"><b>b&amp;c</b>\n  <d/></r>', "xml", 2 + 3),
        (b"<record><a>1</a></record>\n<record><a>22</a></record>", "xml", 1 + 2),
    ],
)
def test_markup_is_all_that_is_no_value(document, kind, values):
    assert markup_size(document, kind) == len(document) - values


@pytest.mark.parametrize(("document", "kind"), [(b"{", "json"), (b"<a>", "xml")])
def test_what_is_no_document_has_no_markup(document, kind):
    with pytest.raises(ValueError):
        markup_size(document, kind)
