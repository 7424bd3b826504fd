"""Messages about records that a database gives back otherwise than it was given."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.studies.cell_database import CellDatabase, WrongContentsError


def explain(found: dict[str, object], wanted: dict[str, object]) -> str:
    """Return the message about a record that differs."""
    database = CellDatabase(cast("Any", SimpleNamespace(name="mysql+json")), cast("Any", None))
    with pytest.raises(WrongContentsError) as raised:
        database.compare([{"_id": "a", **found}], {"a": {"_id": "a", **wanted}}, "read back")
    return str(raised.value)


def test_a_difference_deep_in_a_long_document_is_shown_with_its_place() -> None:
    places = [[float(number), number + 0.123456789] for number in range(20)]
    changed = [*places[:-1], [19.0, 19.25]]
    wanted = {"geometry": {"type": "Polygon", "places": places}}
    found = {"geometry": {"type": "Polygon", "places": changed}}
    said = "geometry.places[19][1] is 19.25, should be 19.123456789"
    assert explain(found, wanted) == f"mysql+json, read back: record 'a' differs: {said}"


def test_a_field_that_is_missing_inside_a_document_is_named() -> None:
    said = explain({"user": {"name": "n"}}, {"user": {"name": "n", "mail": "m"}})
    assert said.endswith("user.mail is absent, should be 'm'")


def test_arrays_of_other_lengths_are_shown_whole() -> None:
    assert explain({"tags": [1]}, {"tags": [1, 2]}).endswith("tags is [1], should be [1, 2]")
