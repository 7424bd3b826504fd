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


def test_records_deeper_inside_are_hinted_at_and_can_be_stated(tmp_path):
    records, known = read(tmp_path, FEED)
    assert records == [{"title": "t", "item": [{"a": 1}, {"a": 2}]}]
    assert known.notes[0] == "It is one record."
    assert known.notes[2].endswith(" #records=channel.item.")
    assert read(tmp_path, FEED, "channel.item")[0] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("<a>\n<b>", "a.xml:2: not XML: Premature end of data in tag b"),
        ("<a><b/></a>\nand more", "a.xml:2: not XML: Extra content at the end of the document"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x;</b></a>', "a.xml: has a DOCTYPE: delete it"),
        ('<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a><b/></a>', "a.xml: has a DOCTYPE"),
        ("<a><b/>\n<c/></a>", "a.xml:2: c is not a record as b: state where the records are"),
        ("<a><p>x <b>y</b> z</p></a>", "a.xml:1: has text between its elements"),
        ("<a>x</a>", "a.xml: holds no record"),
        ("<a>" + "<b>" * 120 + "x" + "</b>" * 120 + "</a>", "a.xml:1: is nested more than 100"),
        (
            "<a>" + "\n" * 70_000 + '<b _id="1"/><b _id="1"/></a>',
            "a.xml:70001: _id '1' comes twice",
        ),
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
