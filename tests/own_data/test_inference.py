"""The inference of fields from chunks of records."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook.own_data.inference import Inference, make_converter

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2**53 + 1, 2**63, -(2**63), 0.5, 2.0]),
    st.sampled_from(["", "5", "2024-01-02", "2024-01-02T03:04:05.123456+01:00"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c.d"]), VALUES), min_size=1)


def infer(chunks):
    inference = Inference()
    for chunk in chunks:
        inference.survey(chunk)
    return inference.conclude(), inference.known, inference.notes


@settings(deadline=None, max_examples=200)
@given(RECORDS)
def test_fields_are_the_same_from_one_chunk_and_from_many(records):
    at_once = infer([records])
    assert infer([record] for record in records) == at_once
    convert = make_converter(at_once[0])
    for record in records:
        typed = convert(record)
        assert [*typed] == [
            field.name for field in at_once[0] if record.get(field.name) is not None
        ]


@pytest.mark.parametrize("chunk_size", [1, 1_000])
def test_a_map_with_a_name_per_record_is_json_and_its_large_numbers_are_noted(chunk_size):
    records = [{"m": {f"name{number}": number}} for number in range(12_000)]
    records[-1]["m"]["last"] = 2**63
    chunks = [records[at : at + chunk_size] for at in range(0, len(records), chunk_size)]
    fields, known, notes = infer(chunks)
    assert [field.type for field in fields] == ["json"] and len(known) == 1
    assert any("few of them each time" in note for note in notes)
    assert any("m holds integers beyond 2^63" in note for note in notes)
    assert json.dumps(make_converter(fields)(records[-1])) == json.dumps(
        {"m": {"name11999": 11_999, "last": str(2**63)}}
    )
