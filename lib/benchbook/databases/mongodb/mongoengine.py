"""MongoDB through mongoengine: a record is an object of a class with typed fields, made from the schema.

Fields are required, unless the option ``document_schema`` says ``types``; each is also given a validator where it says
``validated``, which asks what ``required`` asks: what is measured is that it is called.

What is the server's, not the mapper's (emptying, positions, counters, reading the replica), is the native adapter's;
so is the connection, and with it the write concern.
"""

from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final

import mongoengine
from mongoengine import fields
from mongoengine.errors import FieldDoesNotExist, MongoEngineException, NotUniqueError, ValidationError
from mongoengine.queryset import QuerySet
from pymongo.errors import PyMongoError
from typing_extensions import override

from benchbook.databases.adapter import AdapterError, DuplicateKeyError, RefusedError
from benchbook.databases.mongodb.adapter import MongoDB
from benchbook.deployment import Role
from benchbook.schemas import Field, Record, Schema

VERSION = 1

_FIELDS: Final = {
    "string": fields.StringField,
    "integer": fields.IntField,
    "float": fields.FloatField,
    "date": fields.DateField,
    "datetime": fields.DateTimeField,
    "boolean": fields.BooleanField,
}

_aliases = count()


@Mapping.register
class _Present:
    """Lets an object that may lack fields, or lies inside another, be read as the document that it holds."""

    def _present(self) -> dict[str, object]:
        """Return the fields that the document has, by their names there."""
        mapped: Any = self
        values = ((field.db_field, getattr(mapped, name)) for name, field in mapped._fields.items())
        return {name: value for name, value in values if value is not None}

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


class _Embedded(_Present, mongoengine.EmbeddedDocument):  # type: ignore[misc]
    """A document inside another one."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}


def _declared(field: Field, declared: Mapping[str, object]) -> Any:
    """Return what a field is declared as: documents inside have classes of their own, arrays elements of one type.

    An array is never required: mongoengine takes an empty one for one that is missing.
    """
    if field.type == "document":
        body = {f"field_{i}": _declared(part, {"required": not part.optional, "db_field": part.name})
                for i, part in enumerate(field.fields)}  # fmt: skip
        return fields.EmbeddedDocumentField(type("Embedded", (_Embedded,), body), **declared)
    if field.type == "array":
        element = _declared(field.fields[0], {})
        return fields.ListField(element, default=None, **{**declared, "required": False})
    if field.type == "json":
        return fields.DynamicField(**declared)
    return _FIELDS[field.type](**declared)


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


class _Partial(_Present, mongoengine.Document):  # type: ignore[misc]
    """The same, of a record that may lack fields, hold documents, or have names that no attribute can have."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}

    __hash__ = mongoengine.Document.__hash__


class _Empty(_Mapped):
    """Has what mongoengine gives to every mapped class."""


_KEPT: Final = frozenset({*dir(_Empty), *dir(type(_Empty)), "id", "meta", "_cls", "self"})
"""Names that a mapped class, its body, its documents and the call that makes one have already."""


_CLASS: Final[Mapping[str, Callable[[str], bool]]] = {
    "mongoengine keeps a document's class in it": lambda name: name == "_cls"
}


class MongoEngine(MongoDB):
    """Verbs go through the mapped class and its query sets; what they return are its objects."""

    name = "mongodb+mongoengine"
    driver = f"mongoengine {mongoengine.__version__}, {MongoDB.driver}"
    raises = (*MongoDB.raises, MongoEngineException, ValidationError)

    refused_names: ClassVar = {**MongoDB.refused_names, **_CLASS}
    refused_inside: ClassVar = {
        **MongoDB.refused_inside,
        **_CLASS,
        "mongoengine takes no name with a dot": lambda name: "." in name,
    }

    def insert(self, record: Record) -> object:
        """Make the object, validate it and insert it."""
        return self._mapped(record).save(force_insert=True)

    def insert_many(self, records: Sequence[Record]) -> object:
        """Make the objects and insert them in bulk; validated one by one, since mongoengine's bulk insert is not."""
        objects = [self._mapped(record) for record in records]
        for mapped in objects:
            mapped.validate()
        return self._objects.insert(objects, load_bulk=False) if objects else None

    @override
    def find(self, field: str, value: object) -> Sequence[Record]:
        return list(self._objects.filter(**{self._attributes.get(field, field): value}))

    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return the primary's records as objects, the replica's as plain documents."""
        return list(self._objects) if role == "primary" else super().read_all(role)

    def update(self, key: str, changes: Record) -> None:
        """Set fields of one object's document through a query set."""
        changed = self._objects.filter(_id=key).update_one(**self._setting(changes))
        self._expect_one(changed, key)

    def update_all(self, changes: Record) -> int:
        """Set fields of all documents through a query set."""
        return int(self._objects.update(**self._setting(changes)))

    def delete(self, key: str) -> None:
        """Delete one document through a query set."""
        self._expect_one(self._objects.filter(_id=key).delete(), key)

    def delete_all(self) -> int:
        """Delete all documents through a query set."""
        return int(self._objects.delete())

    def kind(self, error: Exception) -> type[AdapterError]:
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
            self.deployment.database,
            alias=self._alias,
            mongo_client_class=lambda **_: client,
            uuidRepresentation="standard",
        )
        # That closes the primary's client, too.
        self._closing.callback(mongoengine.disconnect, self._alias)

    @override
    def attach(self, schema: Schema) -> None:
        super().attach(schema)
        declared: dict[str, object] = {"required": self.options.document_schema != "types"}
        if self.options.document_schema == "validated":
            declared["validation"] = _is_there
        # Names that a mapped class has already are those of the documents alone.
        renamed = [field.name for field in schema.fields if field.name in _KEPT or "__" in field.name]
        self._attributes = {name: f"renamed_{i}" for i, name in enumerate(renamed)}
        body: dict[str, object] = {}
        for field in schema.fields:
            of_field = {**declared, "required": declared["required"] and not field.optional}
            if field.optional:
                of_field.pop("validation", None)
            if field.name in self._attributes:
                of_field["db_field"] = field.name
            attribute = self._attributes.get(field.name, field.name)
            body[attribute] = _declared(field, {"primary_key": field.name == schema.key, **of_field})
        body["meta"] = {"db_alias": self._alias, "collection": schema.name, "auto_create_index": False}
        mapped = (_Mapped,) if schema.is_flat and not renamed else (_Partial,)
        self._class: Any = type(schema.name.capitalize(), mapped, body)

    def _mapped(self, record: Record) -> Any:
        if self._attributes:
            record = {self._attributes.get(name, name): value for name, value in record.items()}
        return self._class(**record)

    def _setting(self, changes: Record) -> dict[str, object]:
        return {f"set__{self._attributes.get(name, name)}": value for name, value in changes.items()}

    @property
    def _objects(self) -> QuerySet:
        return self._class.objects
