"""What mappers' objects have in common that may lack fields, or lie inside another document."""

from abc import abstractmethod
from collections.abc import ItemsView, KeysView, Mapping


@Mapping.register
class Present:
    """Lets a mapped object be read as the document it holds, without what that lacks."""

    @abstractmethod
    def _present(self) -> dict[str, object]:
        """Return the fields that the document has, by their names there."""

    def __getitem__(self, field: str) -> object:
        return self._present()[field]

    def get(self, field: str, default: object = None) -> object:
        """Return a field's value; the default where the document lacks it."""
        return self._present().get(field, default)

    def keys(self) -> KeysView[str]:
        """Return the names of the fields that it has."""
        return self._present().keys()

    def items(self) -> ItemsView[str, object]:
        """Return those fields with their values."""
        return self._present().items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._present() == dict(other.items())

    __hash__ = None  # type: ignore[assignment]
