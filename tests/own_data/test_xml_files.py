"""Files of XML whose root holds alike elements."""

import pytest

from benchbook.files.inputs import InputError
from benchbook.own_data import own_records

POSTS = """\ufeff<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" CreationDate="2012-01-01T00:00:00.123Z" Score="5" Body="&lt;p&gt;x&#xA;" Zip="007" />
  <row Id="2" Score="-7.5" Title="Łódź" Open="true" Zip="8" />
</posts>
"""
COUNTRIES = """<?xml version="1.0" encoding="iso-8859-1"?>
<c:list xmlns:c="urn:c" version="1"><!-- no record -->
<c:country><name lang="de">Österreich</name><border>DE</border><border>IT</border><pop>9</pop><e/>
</c:country>
<c:country><name lang="en">Malta</name><border>IT</border></c:country>
<c:country><name lang="en">Iceland</name></c:country></c:list>
"""
FEED = "<rss><channel><title>t</title><item><a>1</a></item>\n<item><a>2</a></item></channel></rss>"


def read(folder, text, place="", encoding="utf-8"):
    path = folder / "a.xml"
    path.write_bytes(text.encode(encoding))
    name = f"{path}#records={place}" if place else path
    records = own_records.read_dataset(name).records
    without_key = [
        {name: value for name, value in record.items() if name != "_id"} for record in records
    ]
    return without_key, own_records.describe_file(name)


def test_attributes_of_rows_are_fields_with_types(tmp_path):
    records, known = read(tmp_path, POSTS)
    assert [(field.path, field.type, field.absent) for field in known.fields] == [
        ("Id", "integer", 0), ("CreationDate", "datetime", 1), ("Score", "float", 0),
        ("Body", "string", 1), ("Zip", "string", 0), ("Title", "string", 1),
        ("Open", "boolean", 1),
    ]  # fmt: skip
    assert records[0]["Body"] == "<p>x\n" and records[0]["Zip"] == "007"
    assert records[1] == {"Id": 2, "Score": -7.5, "Title": "Łódź", "Open": True, "Zip": "8"}
    assert known.words.startswith("XML: 2 records of 7 fields, ")


def test_elements_are_fields_and_repeated_ones_arrays_in_every_record(tmp_path):
    records, _ = read(tmp_path, COUNTRIES, encoding="latin-1")
    assert records == [
        {"name": {"lang": "de", "text": "Österreich"}, "border": ["DE", "IT"], "pop": 9},
        {"name": {"lang": "en", "text": "Malta"}, "border": ["IT"]},
        {"name": {"lang": "en", "text": "Iceland"}},
    ]


def test_a_decimal_comma_is_read_if_it_is_stated_as_the_note_says(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text("<r><x><a>1.234,5</a></x><x><a>7,25</a></x></r>")
    known = own_records.describe_file(path)
    assert known.fields[0].type == "string"
    assert known.notes[-1].endswith(", or state #decimal=comma.")
    records = own_records.read_dataset(f"{path}#decimal=comma").records
    assert [record["a"] for record in records] == [1234.5, 7.25]


def test_records_deeper_inside_are_hinted_at_and_can_be_stated(tmp_path):
    records, known = read(tmp_path, FEED)
    assert records == [{"title": "t", "item": [{"a": 1}, {"a": 2}]}]
    assert known.notes[0] == "It is one record."
    assert known.notes[2].endswith(" #records=channel.item (2).")
    assert read(tmp_path, FEED, "channel.item")[0] == [{"a": 1}, {"a": 2}]


XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
FEED_OF_TWO = """<rss xmlns:c="urn:c" xmlns:e="urn:e">
<item><title>a</title><c:encoded>body</c:encoded></item>
<item><title>b</title><c:encoded>body</c:encoded><e:encoded>short</e:encoded></item></rss>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FEED_OF_TWO,
            [
                {"title": "a", "c_encoded": "body"},
                {"title": "b", "c_encoded": "body", "e_encoded": "short"},
            ],
        ),
        (
            '<r xmlns:a="urn:a"><b><link>x</link></b><b><a:link h="y"/></b></r>',
            [{"link": "x"}, {"a_link": {"h": "y"}}],
        ),
        ('<r><b id="1"><id>10</id></b></r>', [{"attribute_id": 1, "id": 10}]),
        ("<r><b>hi<text>x</text></b></r>", [{"text": "hi", "text_2": "x"}]),
        ('<r xmlns:a="urn:a"><a:b><a:c>1</a:c></a:b></r>', [{"c": 1}]),
    ],
)
def test_parts_of_one_name_in_different_namespaces_stay_apart(tmp_path, text, expected):
    records, known = read(tmp_path, text)
    assert records == expected
    assert any("other parts have its name" in note for note in known.notes) == ("<a:c>" not in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'<r {XSI}><b><n xsi:nil="true"/></b><b><n>1</n></b></r>', [{}, {"n": 1}]),
        (f'<r {XSI}><b><n xsi:nil="false">2</n></b></r>', [{"n": 2}]),
        (f'<r {XSI}><b><v>1</v><v xsi:nil="1"/></b></r>', [{"v": [1]}]),
        (f'<r {XSI}><b><f name="a" xsi:nil="true"/></b></r>', [{"f": {"name": "a"}}]),
    ],
)
def test_nil_is_absent(tmp_path, text, expected):
    assert read(tmp_path, text)[0] == expected


@pytest.mark.parametrize(
    ("texts", "values", "note"),
    [
        (["0.5", "1E-05", "+1", ".5"], [0.5, 1e-05, 1.0, 0.5], ""),
        (["1", "n/a", "+3"], [1, None, 3], "Taken as absent: 'n/a' 1 time, in n"),
        (["1", "2", "x"], ["1", "2", "x"], "n holds numbers, except in 1 row"),
        (["\n  5\n", "6"], [5, 6], ""),
        (["True", "FALSE"], [True, False], ""),
        (["\n a \n", "b"], ["a", "b"], ""),
    ],
)
def test_values_are_read_as_those_of_a_table_with_the_same_notes(tmp_path, texts, values, note):
    text = "".join(f"<b><n>{value}</n></b>" for value in texts)
    records, known = read(tmp_path, f"<r>{text}</r>")
    assert [record.get("n") for record in records] == values
    assert note in " ".join(known.notes)


def test_an_empty_element_of_an_array_is_left_out_with_a_note(tmp_path):
    records, known = read(tmp_path, "<r><b><t>a</t><t/><t>c</t></b></r>")
    assert records == [{"t": ["a", "c"]}]
    assert "t: 1 empty element left out of arrays." in known.notes


def test_an_element_that_is_empty_in_every_record_is_left_out_with_a_note(tmp_path):
    text = f'<r {XSI}><b><n/><v xsi:nil="true"/><u>1</u></b><b><n></n></b></r>'
    records, known = read(tmp_path, text)
    assert records == [{"u": 1}, {}]
    assert "n is empty in every record, and left out." in known.notes
    assert "v is empty in every record, and left out." in known.notes


def test_a_letter_that_is_not_in_the_encoding_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes("<r>\n<b><n>é</n></b></r>".encode("cp1252"))
    with pytest.raises(InputError, match=r"a\.xml:2: .*: save it as UTF-8, or state its encoding:"):
        own_records.read_file(path)
    assert own_records.read_file(f"{path}#encoding=cp1252").records[0]["n"] == "é"
    stated = b"<?xml version='1.0' encoding='cp1252'?>" + path.read_bytes()
    path.write_bytes(stated)
    assert own_records.read_file(path).records[0]["n"] == "é"


@pytest.mark.parametrize("line", ["", "<?xml version='1.0' encoding='utf-8'?>"])
def test_a_stated_encoding_counts_and_not_that_of_line_1(tmp_path, line):
    path = tmp_path / "a.xml"
    text = f"{line}<r><b><n>é</n></b>\n<c/>{'<b/>' * 70_000}</r>"
    path.write_bytes(text.encode("cp1252"))
    known = own_records.read_file(f"{path}#encoding=cp1252", 1)
    assert known.records[0]["n"] == "é" and known.description.marks == "cp1252"
    with pytest.raises(InputError, match=r"a\.xml:2: c is not a record .*, #records=c \(1\)"):
        own_records.read_file(f"{path}#encoding=cp1252", 2)
    with pytest.raises(InputError, match=r"a\.xml:1: is not UTF-8 \(byte 0xE9\)"):
        own_records.read_file(f"{path}#encoding=utf-8")


def test_only_the_first_records_are_read(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text("<r>" + "<b><n>1</n></b>\n" * 100_000 + "<")
    own = own_records.read_file(path, 50)
    assert len(own.records) == 50 and own.lines[-1] == 50 and not own.description.is_whole


def test_hints_name_the_outermost_places_first(tmp_path):
    items = "".join(f"<item><t>{n}</t><c>a</c><c>b</c></item>" for n in range(4))
    _, known = read(tmp_path, f"<rss><channel>{items}</channel></rss>")
    assert known.notes[2].endswith(": #records=channel.item (4), #records=channel.item.c (8).")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("<a>\n<b>", "a.xml:2: not XML: Premature end of data in tag b"),
        ("<a><b/></a>\nand more", "a.xml:2: not XML: Extra content at the end of the document"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x;</b></a>', "a.xml: has a DOCTYPE: delete it"),
        ('<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a><b/></a>', "a.xml: has a DOCTYPE"),
        (
            "<a><b/>\n<c/></a>",
            "a.xml:2: c is not a record as b: state which are .* #records=b .1., #records=c .1.",
        ),
        ("<a><p>x <b>y</b> z</p></a>", "a.xml:1: the text 'z' stands between elements: delete it"),
        ("<a><b>1</b>\n x<b>2</b></a>", "a.xml:1: the text 'x' stands between elements: delete it"),
        ("<a>x</a>", "a.xml: holds no record"),
        ("<a>\n<b>&nbsp;</b></a>", "a.xml:2: not XML: Entity 'nbsp' not defined: write the"),
        (
            "<a>\n" + "<b>1</b>" * 20_000 + "\n<b>&nbsp;</b>" + "<b>1</b>" * 20_000 + "</a>",
            "a.xml:3: not XML: Entity 'nbsp' not defined",
        ),
        ("<a><b>" + "x" * 11_000_000 + "</b></a>", "a.xml:1: not XML: [^X]*: a text may have"),
        ("<a>\n<b><![CDATA[x\ny</b></a>", "a.xml:3: not XML: CData section not finished$"),
        ("<a>" + "<b>" * 120 + "x" + "</b>" * 120 + "</a>", "a.xml:1: is nested more than 100"),
        ('<a>\n<b _id="1"/><b _id="1"/></a>', "a.xml:2: _id '1' comes twice"),
    ],
)
def test_errors_say_where_and_what_to_do(tmp_path, text, where):
    with pytest.raises(InputError, match=where):
        read(tmp_path, text)


def test_no_file_is_read_through_an_entity(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    text = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a><b>&x;</b><b/></a>'
    with pytest.raises(InputError, match="DOCTYPE") as caught:
        read(tmp_path, text)
    assert "SECRET" not in str(caught.value)
