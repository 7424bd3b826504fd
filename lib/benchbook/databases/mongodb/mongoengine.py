"""MongoDB through mongoengine: a record is an object of a class with typed fields, made from the schema.

Fields are required, unless the option ``document_schema`` says ``types``; each is also given a validator where it says
``validated``, which asks what ``required`` asks: what is measured is that it is called.

What is the server's, not the mapper's (emptying, positions, counters, reading the replica), is the native adapter's;
so is the connection, and with it the write concern.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final

import mongoengine
from mongoengine import fields
from mongoengine.errors import FieldDoesNotExist, MongoEngineException, NotUniqueError, ValidationError
from mongoengine.queryset import QuerySet
from pymongo.errors import PyMongoError
from typing_extensions import override

from benchbook.databases.engine import DuplicateKeyError, EngineError, RefusedError
from benchbook.databases.mongodb.adapter import DATABASE, MongoDB
from benchbook.deployment import Role
from benchbook.schemas import Record, Schema

_FIELDS: Final = {
    "string": fields.StringField,
    "integer": fields.IntField,
    "float": fields.FloatField,
    "date": fields.DateField,
    "datetime": fields.DateTimeField,
    "boolean": fields.BooleanField,
}

_aliases = count()


def _is_there(value: object) -> None:
    """Be a field's validator."""
    if value is None:
        raise ValidationError("is missing")


class _Mapped(mongoengine.Document):  # type: ignore[misc]
    """A mapped object that also reads as the record it holds, so that it need not be copied into a dictionary."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}

    keys = Mapping.keys
    items = Mapping.items
    get = Mapping.get
    __eq__ = Mapping.__eq__
    __hash__ = mongoengine.Document.__hash__


Mapping.register(_Mapped)


class _Empty(_Mapped):
    """Has what mongoengine gives to every mapped class."""


_KEPT: Final = frozenset({*dir(_Empty), *dir(type(_Empty)), "id", "meta", "_cls", "self"})
"""Names that a mapped class, its body, its documents and the call that makes one have already."""


class MongoEngine(MongoDB):
    """Verbs go through the mapped class and its query sets; what they return are its objects."""

    name = "mongodb+mongoengine"
    driver = f"mongoengine {mongoengine.__version__}, {MongoDB.driver}"
    raises = (*MongoDB.raises, MongoEngineException, ValidationError)
    refused_names: ClassVar = {
        **MongoDB.refused_names,
        "mongoengine keeps such names for itself": lambda name: name in _KEPT or "__" in name,
    }

    def insert(self, record: Record) -> object:
        """Make the object, validate it and insert it."""
        return self._class(**record).save(force_insert=True)

    def insert_many(self, records: Sequence[Record]) -> object:
        """Make the objects and insert them in bulk; validated one by one, since mongoengine's bulk insert is not."""
        objects = [self._class(**record) for record in records]
        for mapped in objects:
            mapped.validate()
        return self._objects.insert(objects, load_bulk=False) if objects else None

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        return list(self._objects.filter(**{field: value}))

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the primary's records as objects, the replica's as plain documents."""
        return list(self._objects) if role == "primary" else super().read_all(role)

    def update(self, key: str, changes: Record) -> None:
        """Set fields of one object's document through a query set."""
        changed = self._objects.filter(_id=key).update_one(**{f"set__{name}": value for name, value in changes.items()})
        self._expect_one(changed, key)

    def update_all(self, changes: Record) -> int:
        """Set fields of all documents through a query set."""
        return int(self._objects.update(**{f"set__{name}": value for name, value in changes.items()}))

    def delete(self, key: str) -> None:
        """Delete one document through a query set."""
        self._expect_one(self._objects.filter(_id=key).delete(), key)

    def delete_all(self) -> int:
        """Delete all documents through a query set."""
        return int(self._objects.delete())

    def kind(self, error: Exception) -> type[EngineError]:
        """Tell by the mapper's exception, or by the driver's that caused it."""
        if isinstance(error, NotUniqueError):
            return DuplicateKeyError
        if isinstance(error, ValidationError | FieldDoesNotExist):
            return RefusedError
        cause = error.__context__
        return super().kind(cause if isinstance(cause, PyMongoError) else error)

    def _connect(self) -> None:
        super()._connect()
        client = self._sessions["primary"]
        self._alias = f"benchbook-{next(_aliases)}"
        mongoengine.connect(
            DATABASE, alias=self._alias, mongo_client_class=lambda **_: client, uuidRepresentation="standard"
        )
        # That closes the primary's client, too.
        self._closing.callback(mongoengine.disconnect, self._alias)

    @override
    def attach(self, schema: Schema) -> None:
        super().attach(schema)
        declared: dict[str, object] = {"required": self.options.document_schema != "types"}
        if self.options.document_schema == "validated":
            declared["validation"] = _is_there
        body: dict[str, object] = {
            field.name: _FIELDS[field.type](primary_key=field.name == schema.key, **declared) for field in schema.fields
        }
        body["meta"] = {"db_alias": self._alias, "collection": schema.name, "auto_create_index": False}
        self._class: Any = type(schema.name.capitalize(), (_Mapped,), body)

    @property
    def _objects(self) -> QuerySet:
        return self._class.objects
