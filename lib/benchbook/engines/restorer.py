"""Records back from what a store keeps of them, in place: the types that it does not tell, by the schema."""

from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from typing import Any, Final, TypeVar

from benchbook.datasets import Schema

Restore = Mapping[str, Callable[[Any], Any]]
"""By a field's type, what makes its value of what the store gives."""

JSON: Final[Restore] = {"float": float, "date": date.fromisoformat, "datetime": datetime.fromisoformat}
"""JSON has no dates, and a store may write a large float as a whole number."""

Records = TypeVar("Records", bound=Collection[dict[str, Any]])


class Restorer:
    """Knows which fields of a schema are to be restored.

    Parameters
    ----------
    schema
        The records'.
    by_type
        What to do with the fields of a type.
    """

    def __init__(self, schema: Schema, by_type: Restore = JSON) -> None:
        self._fields = [(field.name, by_type[field.type]) for field in schema.fields if field.type in by_type]

    def __call__(self, records: Records) -> Records:
        """Give records their fields' types, in place, and return them; free where they have them all."""
        for name, restore in self._fields:
            for record in records:
                record[name] = restore(record[name])
        return records
