"""MongoDB through mongoengine: a record is an object of a class with typed fields, made per schema.

Fields are required, unless the option ``document_schema`` is ``types``. With ``validated`` each
also has a validator, which checks what ``required`` checks: the call itself is measured.

The native adapter does what is not the mapper's: emptying, positions, counters, reading the
replica, and the connection with its write concern.
"""

from collections.abc import ItemsView, KeysView, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final

import mongoengine
from mongoengine import fields
from mongoengine.errors import (
    FieldDoesNotExist,
    MongoEngineException,
    NotUniqueError,
    ValidationError,
)
from mongoengine.queryset import QuerySet
from pymongo.errors import PyMongoError
from typing_extensions import override

from benchbook.databases.adapter import AdapterError, DuplicateKeyError, RefusedError
from benchbook.databases.mongodb.adapter import MongoDB
from benchbook.schema import Field, Record, Schema
from benchbook.servers.deployment import Role

VERSION = 1

_FIELD_TYPES: Final = {
    "string": fields.StringField,
    "integer": fields.IntField,
    "float": fields.FloatField,
    "date": fields.DateField,
    "datetime": fields.DateTimeField,
    "boolean": fields.BooleanField,
}

_alias_numbers = count()


@Mapping.register
class _MappedFields:
    """Makes an object readable as its document, without the fields that it does not have.

    Such an object may miss fields or be inside another one.
    """

    def _as_document(self) -> dict[str, object]:
        """Return the document's fields by their names there."""
        mapped: Any = self
        values = ((field.db_field, getattr(mapped, name)) for name, field in mapped._fields.items())
        return {name: value for name, value in values if value is not None}

    def __getitem__(self, field: str) -> object:
        return self._as_document()[field]

    def get(self, field: str, default: object = None) -> object:
        """Return a field's value, or the default without such a field."""
        return self._as_document().get(field, default)

    def keys(self) -> KeysView[str]:
        """Return the names of the document's fields."""
        return self._as_document().keys()

    def items(self) -> ItemsView[str, object]:
        """Return the document's fields with their values."""
        return self._as_document().items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._as_document() == dict(other.items())

    __hash__ = None  # type: ignore[assignment]


class _EmbeddedObject(_MappedFields, mongoengine.EmbeddedDocument):  # type: ignore[misc]
    """A document inside another one."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}


def _make_field(field: Field, options: Mapping[str, object]) -> Any:
    """Return the mapper's field: a document has a class of its own, an array elements of one type.

    An array is never required: mongoengine takes an empty one for a missing one.
    """
    if field.type == "document":
        body = {}
        for number, part in enumerate(field.fields):
            part_options = {"required": not part.optional, "db_field": part.name}
            body[f"field_{number}"] = _make_field(part, part_options)
        embedded = type("Embedded", (_EmbeddedObject,), body)
        return fields.EmbeddedDocumentField(embedded, **options)
    if field.type == "array":
        element = _make_field(field.fields[0], {})
        return fields.ListField(element, default=None, **{**options, "required": False})
    if field.type == "json":
        return fields.DynamicField(**options)
    return _FIELD_TYPES[field.type](**options)


def _check_presence(value: object) -> None:
    """Raise `ValidationError` for a missing value: the validator of a field."""
    if value is None:
        raise ValidationError("is missing")


class _FlatObject(mongoengine.Document):  # type: ignore[misc]
    """An object that reads as the record it holds, so that it is not copied into a dictionary."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}

    keys = Mapping.keys
    items = Mapping.items
    get = Mapping.get
    __eq__ = Mapping.__eq__
    __hash__ = mongoengine.Document.__hash__


Mapping.register(_FlatObject)


class _NestedObject(_MappedFields, mongoengine.Document):  # type: ignore[misc]
    """The same for a record that may miss fields, holds documents, or has names of no attribute."""

    meta: ClassVar[dict[str, object]] = {"abstract": True}

    __hash__ = mongoengine.Document.__hash__


class _EmptyObject(_FlatObject):
    """Has the attributes that mongoengine gives to every mapped class."""


_MAPPER_NAMES: Final = frozenset(
    {*dir(_EmptyObject), *dir(type(_EmptyObject)), "id", "meta", "_cls", "self"}
)
"""Names that a mapped class, its body, its documents, or the call that makes one already have."""


class MongoEngine(MongoDB):
    """Verbs go through the mapped class and its query sets; what they return are its objects."""

    name = "mongodb+mongoengine"
    driver = f"mongoengine {mongoengine.__version__}, {MongoDB.driver}"
    # The last ones come from a class that is made of a user's names.
    driver_errors = (
        *(*MongoDB.driver_errors, MongoEngineException, ValidationError),
        *(AttributeError, LookupError, TypeError, ValueError),
    )

    def insert(self, record: Record) -> object:
        """Make the object, validate it and insert it."""
        return self._make_object(record).save(force_insert=True)

    def insert_many(self, records: Sequence[Record]) -> object:
        """Make the objects, validate each, and insert them in bulk.

        mongoengine's bulk insert does not validate.
        """
        objects = [self._make_object(record) for record in records]
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
        changed = self._objects.filter(_id=key).update_one(**self._name_changes(changes))
        self._expect_one(changed, key)

    def update_all(self, changes: Record) -> int:
        """Set fields of all documents through a query set."""
        return int(self._objects.update(**self._name_changes(changes)))

    def delete(self, key: str) -> None:
        """Delete one document through a query set."""
        self._expect_one(self._objects.filter(_id=key).delete(), key)

    def delete_all(self) -> int:
        """Delete all documents through a query set."""
        return int(self._objects.delete())

    def choose_error_type(self, error: Exception) -> type[AdapterError]:
        """Return our error by the mapper's exception, or by the driver's that caused it."""
        if isinstance(error, NotUniqueError):
            return DuplicateKeyError
        if isinstance(error, ValidationError | FieldDoesNotExist):
            return RefusedError
        cause = error.__context__
        return super().choose_error_type(cause if isinstance(cause, PyMongoError) else error)

    @override
    def describe_error(self, error: Exception) -> str:
        # A message of Python's own may be a name alone.
        is_bare = isinstance(error, LookupError)
        return f"{type(error).__name__}: {error}" if is_bare else super().describe_error(error)

    def _connect(self) -> None:
        super()._connect()
        client = self._sessions["primary"]
        self._alias = f"benchbook-{next(_alias_numbers)}"
        mongoengine.connect(
            self.deployment.database,
            alias=self._alias,
            mongo_client_class=lambda **_: client,
            uuidRepresentation="standard",
        )
        # That closes the primary's client, too.
        self._closing.callback(mongoengine.disconnect, self._alias)

    @override
    def select_collection(self, schema: Schema) -> None:
        super().select_collection(schema)
        # A field whose name a mapped class has already is another attribute.
        renamed = [
            field.name
            for field in schema.fields
            if field.name in _MAPPER_NAMES or "__" in field.name
        ]
        self._attributes = {name: f"renamed_{number}" for number, name in enumerate(renamed)}
        # The class's body: a field of the mapper per field, and where it is kept.
        body: dict[str, object] = {}
        for field in schema.fields:
            options = self._list_field_options(field, is_key=field.name == schema.key)
            body[self._attributes.get(field.name, field.name)] = _make_field(field, options)
        body["meta"] = {
            "db_alias": self._alias,
            "collection": schema.name,
            "auto_create_index": False,
        }
        # Records that need no renaming and hold no documents read as objects without a copy.
        base = _FlatObject if schema.is_flat and not renamed else _NestedObject
        self._class: Any = type(schema.name.capitalize(), (base,), body)

    def _list_field_options(self, field: Field, *, is_key: bool) -> dict[str, object]:
        """Return the options of the mapper's field."""
        document_schema = self.options.document_schema
        options: dict[str, object] = {
            "primary_key": is_key,
            "required": document_schema != "types" and not field.optional,
        }
        if document_schema == "validated" and not field.optional:
            options["validation"] = _check_presence
        if field.name in self._attributes:
            options["db_field"] = field.name
        return options

    def _make_object(self, record: Record) -> Any:
        if self._attributes:
            record = {self._attributes.get(name, name): value for name, value in record.items()}
        return self._class(**record)

    def _name_changes(self, changes: Record) -> dict[str, object]:
        return {
            f"set__{self._attributes.get(name, name)}": value for name, value in changes.items()
        }

    @property
    def _objects(self) -> QuerySet:
        return self._class.objects
