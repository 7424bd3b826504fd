"""The inference of fields from chunks of records."""

import json

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbook.own_data.inference import Inference, convert_record

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


def infer(records):
    inference = Inference()
    fields = inference.infer_fields(records)
    return fields, inference.known, inference.notes


@settings(deadline=None, max_examples=200)
@given(RECORDS)
def test_every_record_has_the_fields_that_are_not_null_in_it(records):
    fields, known, _ = infer(records)
    for record in records:
        typed = convert_record(record, fields)
        assert [*typed] == [field.name for field in fields if record.get(field.name) is not None]
        # What was written for a kernel is read as it was.
        assert convert_record(orjson.loads(orjson.dumps(typed)), fields) == typed
    assert [field.path for field in known if field.path in {*"abc", "c.d"}] == [
        field.name for field in fields
    ]


def test_a_map_with_a_name_per_record_is_json_and_its_large_numbers_are_noted():
    records = [{"m": {f"name{number}": number}} for number in range(1_200)]
    records[-1]["m"]["last"] = 2**63
    fields, known, notes = infer(records)
    assert [field.type for field in fields] == ["json"] and len(known) == 1
    assert any("few of them each time" in note for note in notes)
    assert any("m holds integers beyond 2^63" in note for note in notes)
    assert json.dumps(convert_record(records[-1], fields)) == json.dumps(
        {"m": {"name1199": 1_199, "last": str(2**63)}}
    )
