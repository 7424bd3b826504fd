"""Records as JSON keeps them, and back: JSON has no dates, and a store may write a large float as a whole number."""

from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any, Final

from benchbook.datasets import Schema

_RESTORE: Final[dict[str, Callable[[Any], Any]]] = {
    "float": float,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


class Restorer:
    """Knows which fields of a schema JSON cannot tell the type of."""

    def __init__(self, schema: Schema) -> None:
        self._fields = [(field.name, _RESTORE[field.type]) for field in schema.fields if field.type in _RESTORE]

    def __call__(self, documents: Iterable[dict[str, Any]]) -> None:
        """Give decoded documents their fields' types, in place; free where JSON has them all."""
        for document in documents if self._fields else ():
            document.update({name: restore(document[name]) for name, restore in self._fields})
