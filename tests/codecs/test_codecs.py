"""Every codec: equal objects come back, documents mean the same, refusals are clear."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook import codecs
from benchbook.codecs.codec import MAX_BYTES, CodecCheck
from benchbook.codecs.tree_codec import escape_name, unescape_name, write_element
from benchbook.datasets import blog, books, persons, phones, players
from benchbook.own_data import own_records
from benchbook.schema import Author, Book1, Book2, Bookstore, Field, Schema
from benchbook.studies.bookstore import count_markup_bytes
from user_files import FILES

SEED = 20150501
JSON = [name for name, kind in codecs.NAMES.items() if kind == "json"]
XML = [name for name, kind in codecs.NAMES.items() if kind == "xml"]
every_codec = pytest.mark.parametrize("name", codecs.NAMES)
every_xml = pytest.mark.parametrize("name", XML)
every_case = pytest.mark.parametrize("case", [1, 2])
SETS = {
    "smartphones": phones.generate_smartphones(20, SEED),
    "wide-89": players.generate_players(20, SEED),
    "wide-6": players.generate_players(20, SEED, attributes=6),
    "comments": blog.generate_comments(20, SEED),
    "articles": blog.generate_comments(20, SEED).parents[0],
    "people-2": persons.generate_people(20, SEED, fields=2),
    "people-12": persons.generate_people(20, SEED, fields=12),
    "people-50": persons.generate_people(20, SEED, fields=50),
}

characters = st.characters(
    codec="utf-8",
    exclude_categories=["Cc", "Cs"],
    include_characters="\t\n\r",
    exclude_characters="\ufffe\uffff",
)
legal = st.lists(characters | st.sampled_from(["]]>", "<![CDATA[", "&amp;", "\r\n"])).map("".join)
instants = st.integers(-(10**13), 10**13).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)
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
    codec, made = codecs.load_codec(name), SETS[dataset]
    decode = codec.decoder(made.schema)
    assert [decode(codec.encode_record(record)) for record in made.records] == made.records


@every_codec
@settings(deadline=None, max_examples=60)
@given(record=records)
def test_any_record_comes_back_equal_with_its_types(name, record):
    codec = codecs.load_codec(name)
    back = codec.decoder(SCHEMA)(codec.encode_record(record))
    assert back == record
    assert {key: type(value) for key, value in back.items()} == {
        key: type(value) for key, value in record.items()
    }
    assert codec.decode_record(codec.encode_record(record)).keys() == record.keys()


@every_codec
@every_case
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_bookstore_comes_back_equal(name, case, data):
    codec = codecs.load_codec(name)
    store = Bookstore(data.draw(st.lists(stores[case], max_size=4)))
    assert codec.decode_bookstore(codec.encode_bookstore(store), case) == store


@every_case
@pytest.mark.parametrize("family", [JSON, XML], ids=["json", "xml"])
def test_a_codec_reads_what_the_others_write(case, family):
    store = books.generate_bookstore(5, SEED, case)
    made = SETS["people-12"]
    for writer in map(codecs.load_codec, family):
        for reader in map(codecs.load_codec, family):
            assert reader.decode_bookstore(writer.encode_bookstore(store), case) == store
            decode = reader.decoder(made.schema)
            assert [decode(writer.encode_record(record)) for record in made.records] == made.records


SIZES_1 = {
    "xml": (282, 1_804, 17_105, 171_006, 1_719_007),
    "json": (134, 1_242, 12_403, 124_904, 1_258_905),
}
BOOKS = (1, 10, 100, 1_000, 10_000)


@every_codec
@pytest.mark.parametrize("index", range(4))
def test_case_1_has_the_sizes_that_fit_the_papers(name, index):
    codec = codecs.load_codec(name)
    size = len(codec.encode_bookstore(books.generate_bookstore(BOOKS[index], SEED, 1)))
    assert size == SIZES_1[codec.format][index]


@pytest.mark.parametrize("name", ["orjson", "lxml"])
def test_case_1_has_the_sizes_that_fit_the_papers_at_10000(name):
    codec = codecs.load_codec(name)
    assert (
        len(codec.encode_bookstore(books.generate_bookstore(10_000, SEED, 1)))
        == SIZES_1[codec.format][4]
    )


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
    size = len(codecs.load_codec(name).encode_bookstore(books.generate_bookstore(n, SEED, 2)))
    assert size == pytest.approx(printed, rel=0.03)


def test_case_2_json_of_10_books_only_rounds_to_the_papers_size():
    size = len(codecs.load_codec("orjson").encode_bookstore(books.generate_bookstore(10, SEED, 2)))
    assert round(size / 1000) == 2


@every_xml
def test_a_bookstore_is_written_as_jaxb_formats_it(name):
    lines = (
        codecs.load_codec(name)
        .encode_bookstore(books.generate_bookstore(1, SEED, 2))
        .decode()
        .splitlines()
    )
    prefix = "ns0" if name == "etree" else "ns2"
    assert lines[0] == '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    assert lines[1] == f'<{prefix}:bookstore xmlns:{prefix}="org.example">'
    assert lines[2].startswith('    <book id="1" pages="') and '+01:00">' in lines[2]
    assert [len(line) - len(line.lstrip()) for line in lines] == [
        0,
        0,
        4,
        8,
        8,
        12,
        12,
        12,
        8,
        4,
        0,
    ]


@every_xml
@pytest.mark.parametrize(
    "character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800"]
)
def test_values_that_xml_cannot_hold_are_refused_with_their_field(name, character):
    codec = codecs.load_codec(name)
    with pytest.raises(codecs.FormatError, match="'title'"):
        codec.encode_record({"_id": "1", "title": f"a{character}b", "n": 1})
    book = Book1("1", f"a{character}b", "")
    with pytest.raises(codecs.FormatError):
        codec.encode_bookstore(Bookstore([book]))
    with pytest.raises(codecs.FormatError, match="'title'"):
        write_element(Field("title", "string"), character)


@every_xml
@pytest.mark.parametrize("value", [None, b"bytes", [1], {"a": 1}])
def test_a_value_of_an_unknown_type_is_refused_with_its_field(name, value):
    with pytest.raises(codecs.FormatError, match="'odd'"):
        codecs.load_codec(name).encode_record({"_id": "1", "odd": value})


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("value", ["\ud800", object()])
def test_values_that_json_cannot_hold_are_refused_with_their_field(name, value):
    with pytest.raises(codecs.FormatError, match="'odd'"):
        codecs.load_codec(name).encode_record({"_id": "1", "odd": value})


@every_xml
def test_a_record_that_is_not_flat_is_refused(name):
    with pytest.raises(codecs.FormatError):
        codecs.load_codec(name).decode_record(b"<record><f>x<g>y</g>z</f></record>")


ENTITIES = b"""<!DOCTYPE record [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"""
UTF_16 = "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE record><record><f>a</f></record>"
LAUGHS = ENTITIES + b"<record><f>&b;</f></record>"
HOSTILE = {
    "entities": LAUGHS,
    "external entity": b'<!DOCTYPE record [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    b"<record><f>&a;</f></record>",
    "external DTD": b'<!DOCTYPE record SYSTEM "http://127.0.0.1:9/x.dtd"><record><f>a</f></record>',
    "empty doctype": b"<!DOCTYPE record><record><f>a</f></record>",
    "doctype in UTF-16": UTF_16.encode("utf-16"),
    "undeclared entity": b"<record><f>&a;</f></record>",
}


@every_xml
@pytest.mark.parametrize("attack", HOSTILE)
def test_doctypes_and_entities_are_refused(name, attack):
    codec = codecs.load_codec(name)
    with pytest.raises(codecs.FormatError):
        codec.decode_record(HOSTILE[attack])
    with pytest.raises(codecs.FormatError):
        codec.decode_bookstore(HOSTILE[attack].replace(b"record", b"bookstore"), 1)


MANY = b" ".join(b'a%d=">"' % number for number in range(2_001))
CROWDED = {
    "attributes": b"<record " + MANY + b"><f>a</f></record>",
    "attributes of a field": b"<record><f " + MANY + b">a</f></record>",
    "attributes in UTF-16": (b"<record " + MANY + b"><f>a</f></record>").decode().encode("utf-16"),
    "attributes of a book": b'<b:bookstore xmlns:b="org.example"><book '
    + MANY
    + b"/></b:bookstore>",
    "nesting": b"<record>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</record>",
    "nesting of books": b'<b:bookstore xmlns:b="org.example">'
    + b"<book>" * 9_000
    + b"</book>" * 9_000
    + b"</b:bookstore>",
    "an escape beyond Unicode": b"<record><_x110000_>a</_x110000_></record>",
}


@every_xml
@pytest.mark.parametrize("attack", CROWDED)
def test_documents_that_take_too_long_or_have_wrong_escapes_are_refused(name, attack):
    codec, data = codecs.load_codec(name), CROWDED[attack]
    with pytest.raises(codecs.FormatError):
        codec.decode_bookstore(data, 1) if b"bookstore" in data else codec.decode_record(data)


@every_xml
def test_long_texts_are_accepted(name):
    codec = codecs.load_codec(name)
    record = {"_id": "1", "text": "a" * 100_000}
    assert codec.decode_record(codec.encode_record(record)) == record


@pytest.mark.parametrize(
    "fields", [b"<a>1</a><a>2</a>", b"".join(b"<a%d>1</a%d>" % (i, i) for i in range(2_001))]
)
def test_thousands_of_fields_or_one_field_twice_are_refused(fields):
    with pytest.raises(codecs.FormatError, match=r"twice|2,001 fields"):
        codecs.load_codec("xsdata").decode_record(b"<record>" + fields + b"</record>")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [
                "_",
                "x",
                "_x0041_",
                "_xD800_",
                "_x0000_",
                "_x005F_",
                "é",
                "0",
                ".",
                "\ud800",
                " ",
                "_x0041",
            ]
        )
        | st.characters(),
        min_size=1,
    ).map("".join)
)
def test_any_field_name_comes_back_from_its_element(field):
    element = escape_name(field)
    assert unescape_name(element) == field
    assert ElementTree.fromstring(f"<{element}/>").tag == element


@every_xml
def test_a_doctype_inside_a_text_is_text(name):
    record = {"_id": "1", "f": "<!DOCTYPE record>"}
    codec = codecs.load_codec(name)
    assert codec.decode_record(codec.encode_record(record)) == record


@every_codec
def test_a_document_over_the_limit_is_refused(name):
    data = b" " * (MAX_BYTES + 1)
    codec = codecs.load_codec(name)
    for decode in (
        codec.decode_record,
        codec.decoder(SCHEMA),
        lambda text: codec.decode_bookstore(text, 1),
    ):
        with pytest.raises(codecs.FormatError, match="limit"):
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
def test_arbitrary_bytes_raise_only_format_errors(name, data):
    codec = codecs.load_codec(name)
    for decode in (
        codec.decode_record,
        codec.decoder(SCHEMA),
        lambda text: codec.decode_bookstore(text, 2),
    ):
        try:
            decode(data)
        except codecs.FormatError as error:
            assert str(error)


@every_codec
def test_a_book_of_the_other_case_is_refused(name):
    codec = codecs.load_codec(name)
    for written, asked in ((1, 2), (2, 1)):
        with pytest.raises(codecs.FormatError):
            codec.decode_bookstore(
                codec.encode_bookstore(books.generate_bookstore(2, SEED, written)), asked
            )


@every_codec
def test_a_typed_field_that_does_not_parse_is_named(name):
    codec = codecs.load_codec(name)
    schema = Schema("s", (Field("_id", "string"), Field("day", "date")))
    with pytest.raises(codecs.FormatError, match="day"):
        codec.decoder(schema)(codec.encode_record({"_id": "1", "day": "yesterday"}))


@settings(deadline=None, max_examples=60)
@given(record=records)
def test_texts_of_the_replication_models_have_the_record(record):
    assert (
        codecs.load_codec("json").decoder(SCHEMA)(codecs.load_codec("orjson").encode_record(record))
        == record
    )
    assert (
        codecs.load_codec("etree").decoder(SCHEMA)(codecs.load_codec("lxml").encode_record(record))
        == record
    )
    fields = {field.name: write_element(field, record[field.name]) for field in SCHEMA.fields}
    joined = f"<record>{''.join(fields.values())}</record>".encode()
    assert codecs.load_codec("etree").decoder(SCHEMA)(joined) == record
    assert all(ElementTree.fromstring(text) is not None for text in fields.values())


def test_an_unknown_codec_is_refused_with_the_known_names():
    with pytest.raises(LookupError, match=r"no codec 'jackson'.*orjson.*xsdata"):
        codecs.load_codec("jackson")


@pytest.mark.parametrize(
    ("asked", "alone"),
    [(None, set()), ("orjson", {"orjson"}), ("lxml", {"lxml"}), ("etree", set())],
)
def test_only_a_loaded_codecs_library_is_imported(asked, alone):
    ask = f"codecs.load_codec({asked!r})" if asked else "None"
    code = f"import sys; from benchbook import codecs; {ask}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"orjson", "msgspec", "pydantic", "lxml", "xsdata", "numpy", "pandas"} & set(
        loaded
    ) == alone


def test_dates_are_iso_8601_in_records():
    record = {"day": date(2024, 2, 29), "at": datetime(2013, 6, 24, 12, 47, 1, 308_000, UTC)}
    json, xml = (codecs.load_codec(name).encode_record(record) for name in ("orjson", "lxml"))
    assert json == b'{"day":"2024-02-29","at":"2013-06-24T12:47:01.308000+00:00"}'
    assert b"<day>2024-02-29</day>" in xml


@every_codec
@pytest.mark.parametrize("file", FILES)
def test_documents_of_a_users_file_come_back_equal(name, file, tmp_path):
    data = own_records.read_dataset(FILES[file](tmp_path))
    CodecCheck(name).check_records(data.schema, data.records)
    codec = codecs.load_codec(name)
    encode, decode = codecs.choose_encoder(codec, data.schema), codec.decoder(data.schema)
    main = codecs.load_codec("orjson" if codec.format == "json" else "lxml")
    for record in data.records:
        document = encode(record)
        assert decode(document) == record == main.decoder(data.schema)(document)
        elements = ElementTree.fromstring(document) if codec.format == "xml" else ()
        assert {unescape_name(element.tag) for element in elements} <= {*record}
        if "lines" in record and codec.format == "xml":
            skus = [element.text for element in elements.findall("lines/item/sku")]
            assert skus == [line["sku"] for line in record["lines"]]
    for broken in (b"[]", b"<record/>", b"<record><_id><a/></_id></record>", document[:-2]):
        with pytest.raises(codecs.FormatError):
            decode(broken)


@every_codec
def test_a_codec_serves_many_threads(name):
    codec, made = codecs.load_codec(name), SETS["people-12"]
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
def test_markup_is_everything_except_values(document, kind, values):
    assert count_markup_bytes(document, kind) == len(document) - values


@pytest.mark.parametrize(("document", "kind"), [(b"{", "json"), (b"<a>", "xml")])
def test_the_markup_of_other_bytes_is_an_error(document, kind):
    with pytest.raises(ValueError):
        count_markup_bytes(document, kind)
