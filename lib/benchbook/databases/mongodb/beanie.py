"""MongoDB through beanie: a record is a pydantic model with typed, required fields, made from the schema.

What is the server's, not the mapper's (emptying, positions, counters, reading the replica), is the native adapter's;
client and event loop, and with them the write concern and the price of a call, are the asynchronous one's.
"""

from collections.abc import Awaitable, ItemsView, KeysView, Mapping, Sequence
from datetime import date, datetime
from typing import Any, ClassVar, Final, TypeVar

import beanie
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typing_extensions import override

from benchbook import schemas
from benchbook.databases.engine import EngineError, RefusedError
from benchbook.databases.mongodb.adapter import DATABASE, AsyncMongoDB, MongoDB
from benchbook.databases.mongodb.mapped import Present
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

T = TypeVar("T")

_TYPES: Final = {"string": str, "integer": int, "float": float, "date": date, "datetime": datetime, "boolean": bool}


class _Readable:
    """What lets a mapped object be read as the record it holds, so that it need not be copied into a dictionary."""

    model_config = ConfigDict(extra="forbid")

    names: ClassVar[dict[str, str]] = {}
    """Each record's field and the attribute that holds it: a field's name may be none that Python knows."""

    def __getitem__(self, field: str) -> object:
        return getattr(self, self.names[field])

    def get(self, field: str, default: object = None) -> object:
        return getattr(self, self.names[field]) if field in self.names else default

    def keys(self) -> KeysView[str]:
        return self.names.keys()

    def items(self) -> ItemsView[str, object]:
        return {field: getattr(self, name) for field, name in self.names.items()}.items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]


Mapping.register(_Readable)


class _Present(Present, _Readable):
    """The same of a document that may lack fields, or lies inside another."""

    @override
    def _present(self) -> dict[str, object]:
        values = ((field, getattr(self, name)) for field, name in self.names.items())
        return {field: value for field, value in values if value is not None}


def _declared(fields: Sequence[schemas.Field], names: Mapping[str, str]) -> dict[str, Any]:
    """Return what a model's attributes are declared as: documents inside are models of their own."""
    declared: dict[str, Any] = {}
    for field in fields:
        kind = _type(field)
        optional: dict[str, Any] = {"default": None} if field.optional else {}
        declared[names[field.name]] = (kind | None if field.optional else kind, Field(alias=field.name, **optional))
    return declared


def _type(field: schemas.Field) -> Any:
    if field.type == "document":
        names = {part.name: f"field_{i}" for i, part in enumerate(field.fields)}
        base = type("Base", (_Present, BaseModel), {"names": names, "__annotations__": {"names": ClassVar}})
        return create_model("Embedded", __base__=base, **_declared(field.fields, names))
    if field.type == "array":
        return list[_type(field.fields[0])]  # type: ignore[misc]
    return Any if field.type == "json" else _TYPES[field.type]


class Beanie(AsyncMongoDB):
    """Verbs go through the mapped class and its queries; what they return are its objects."""

    name = "mongodb+beanie"
    driver = f"beanie {beanie.__version__}, {AsyncMongoDB.driver}"
    raises = (*MongoDB.raises, ValidationError)

    refused_names: ClassVar = {
        **MongoDB.refused_names,
        "beanie keeps such names for itself": lambda name: name in ("self", "revision_id"),
    }

    def insert(self, record: Record) -> object:
        """Make the object, which validates it, and insert it."""
        return self._await(self._class(**record).insert())

    def insert_many(self, records: Sequence[Record]) -> object:
        """Make the objects, which validates them, and insert them in bulk."""
        objects = [self._class(**record) for record in records]
        return self._await(self._class.insert_many(objects)) if objects else None

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        return self._listed(self._class.find({field: value}))

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the primary's records as objects, the replica's as plain documents."""
        return self._listed(self._class.find_all()) if role == "primary" else super().read_all(role)

    def update(self, key: str, changes: Record) -> None:
        """Set fields of one object's document through a query."""
        result = self._answer(self._class.find_one({"_id": key}).update({"$set": changes}))
        self._expect_one(result.matched_count, key)

    def update_all(self, changes: Record) -> int:
        """Set fields of all documents through a query."""
        return int(self._answer(self._class.find_all().update({"$set": changes})).matched_count)

    def delete(self, key: str) -> None:
        """Delete one document through a query."""
        self._expect_one(self._answer(self._class.find_one({"_id": key}).delete()).deleted_count, key)

    def delete_all(self) -> int:
        """Delete all documents through a query."""
        return int(self._answer(self._class.find_all().delete()).deleted_count)

    @override
    def kind(self, error: Exception) -> type[EngineError]:
        return RefusedError if isinstance(error, ValidationError) else super().kind(error)

    @override
    def attach(self, schema: Schema) -> None:
        super().attach(schema)
        names = {
            field.name: "id" if field.name == schema.key else f"field_{i}" for i, field in enumerate(schema.fields)
        }
        fields = _declared(schema.fields, names)
        settings = {"name": schema.name, "keep_nulls": schema.is_flat}
        body = {"names": names, "Settings": type("Settings", (), settings)}
        base = type("Base", (_Readable if schema.is_flat else _Present,), body)
        self._class: Any = create_model(schema.name.capitalize(), __base__=(base, beanie.Document), **fields)
        database = self._async_client[DATABASE]
        self._await(beanie.init_beanie(database, document_models=[self._class], skip_indexes=True))

    def _listed(self, query: Any) -> list[Record]:
        mapped: list[Record] = self._await(query.to_list())
        return mapped

    def _answer(self, query: Awaitable[T]) -> T:
        # A query can be awaited, and is no coroutine.
        async def awaited() -> T:
            return await query

        return self._await(awaited())
