"""What every database is: a store's verbs on a deployment, the errors that they raise, and how they are opened.

No timing, no statistics.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import wraps
from inspect import Parameter, signature
from traceback import format_exception
from typing import Any, ClassVar, Final, Literal, NoReturn, Self, TypeAlias, TypeVar

from benchbook.datasets import Dataset
from benchbook.deployment import Deployment, Role, numbers, older
from benchbook.measure import Meter
from benchbook.schemas import Document, Record, Schema, UnfitError
from benchbook.scrubbing import scrubbed, shown

VERSION = 1

T = TypeVar("T")

Durability = Literal["default", "relaxed", "strict"]

DocumentSchema = Literal["types", "required", "validated"]
"""What an object mapper's schema declares: fields' types, that each must be there too, and a validator of each."""

Position: TypeAlias = Any
"""How far a node is, as its database tells it: a number, a set of transactions, each record's version."""

CATCH_UP_S: Final = 60.0
"""How long a replica may take to follow `create`, in seconds."""

EXACT: Final = 2**53
"""The integers up to which a double holds each."""

_LONGEST: Final = 500
"""Characters of a driver's message."""

_SHOWN: Final = 5
"""Fields that are named at most."""


class AdapterError(RuntimeError):
    """A database could not do what was asked; the message names database, address and verb, and holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(scrubbed(message))


class UnreachableError(AdapterError):
    """The server does not answer, went away, or refuses the user."""


class RefusedError(AdapterError):
    """The server or the mapper refuses the data: a constraint, a type, a size, a character."""


class DuplicateKeyError(RefusedError):
    """A record of that key is there already."""


class MissingRecordError(AdapterError):
    """There is no record of that key."""


class GapError(AdapterError):
    """The database cannot do that, and its `gaps` say why."""


@dataclass(frozen=True)
class Options:
    """How a database keeps its records."""

    durability: Durability = "default"  # when a write counts as done; each adapter says what it makes of it
    constraints: bool = True  # False: without foreign key and NOT NULL (not without the key: updates would scan)
    index: tuple[str, ...] = ()  # fields with an index, where the schema has them
    counted: bool = False  # the bytes that a replica receives are, also where that takes a proxy on their way
    binary_log: bool = False  # also on a single node, where no replica reads it and the product can do without
    document_schema: DocumentSchema = "required"  # of an object mapper, where it has the choice
    client_of: "Adapter | None" = None  # another database of the product, whose clients it uses in place of its own


_TRANSLATED: Final = frozenset(
    {
        *("list_databases", "make_database", "drop_database", "create"),
        *("insert", "insert_many", "find", "read_all", "update", "update_all"),
        *("delete", "delete_all", "ids", "position", "counters", "_connect", "_reached"),
    }
)
"""The methods out of which a driver's exceptions come as ours."""


class Adapter(ABC):
    """An adapter: opened on a deployment, emptied by `create`, closed as a context manager.

    Records are dictionaries with a text key ``_id``; what is read back equals what was inserted, in any order.
    Verbs are written as if their driver raised nothing: its exceptions are translated into ours around each. What it
    cannot do (a verb or a capability), and why, is in `gaps`; asked for all the same, it raises `RefusedError` (data)
    or `GapError` (all else).
    """

    name: ClassVar[str]  # as registered
    product: ClassVar[str]  # what it runs on
    model: ClassVar[str]  # what a record is kept as
    driver: ClassVar[str]  # the library and its version
    raises: ClassVar[tuple[type[Exception], ...]] = ()
    """The driver's exceptions that stand for a fault of server or data."""
    kinds: ClassVar[Mapping[type[AdapterError], tuple[type[Exception] | int | str, ...]]] = {}
    """What they become, the first that fits, by their classes or `code`; what is not here becomes `AdapterError`."""
    lacks: ClassVar[Mapping[str, str]] = {}  # the gaps of every server of the database
    since: ClassVar[Mapping[str, tuple[str, str]]] = {}  # a capability's first version, and why those before have a gap
    refused_names: ClassVar[Mapping[str, Callable[[str], bool]]] = {}
    """By the reason, what tells the names of fields that are not taken; the key's is."""
    refused_inside: ClassVar[Mapping[str, Callable[[str], bool]]] = {}
    """The same of the names in documents inside a record."""
    refused_numbers: ClassVar[Mapping[str, Callable[[float], bool]]] = {
        "large_integers": lambda number: type(number) is int and abs(number) > EXACT
    }
    """By a gap's name, what tells the numbers that are not taken on servers that have it."""
    wait_resolution_ns: float = 0.0
    """By how much the end of a wait may be late: what `position` and `wait_for` take when the replica has caught up
    already, or what was measured at the last wait."""
    wait_proof_ns: int = 0
    """By how much the last wait's end lies before its return: what it took to prove that all was there then."""

    def __init_subclass__(cls, *, has_driver: bool = True) -> None:
        """Translate the driver's exceptions around every verb that the class defines, if there is a driver."""
        super().__init_subclass__()
        for name in _TRANSLATED.intersection(vars(cls)) if has_driver else ():
            if not getattr(vars(cls)[name], "__isabstractmethod__", False):
                setattr(cls, name, _translated(vars(cls)[name]))

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self.deployment = deployment
        self.options = options
        self.replicated = any(node.role == "replica" for node in deployment.nodes)
        alone = {} if self.replicated else {"wait_for": f"a {deployment.topology} {self.product} has no replica"}
        urls = {node.role: node.url for node in deployment.nodes}
        self.gaps: Mapping[str, str] = {
            **self.lacks_in(node.version for node in deployment.nodes),
            **alone,
            **self.lacks_on(urls),
        }
        if not options.constraints:
            self._has("constraints")
        if options.durability != "default":
            self._has("durability")

    @classmethod
    def lacks_on(cls, urls: Mapping[Role, str]) -> Mapping[str, str]:
        """Return the gaps on servers at these addresses, none where they are started here."""
        return cls.lacks

    @classmethod
    def lacks_in(cls, versions: Iterable[str]) -> Mapping[str, str]:
        """Return the gaps that the oldest of some servers has for its age."""
        oldest = min(versions, key=numbers, default=None)
        if oldest is None:
            return {}
        return {gap: why for gap, (first, why) in cls.since.items() if older(oldest, first)}

    @classmethod
    def hold(cls, schema: Schema, records: Iterable[Record], gaps: Mapping[str, str]) -> None:
        """Raise `UnfitError` at the first of a person's own records that is not taken on servers with these gaps."""
        if why := cls.unfit_fields(schema):
            raise UnfitError(f"{cls.name} does not take {why}")
        keys: set[str] = set()
        for number, record in enumerate(records):
            key = record[schema.key]
            why = cls.unfit_record(record, gaps)
            if not why and "trailing_blanks" in gaps:
                why = f"the key {key!r} a second time: {gaps['trailing_blanks']}" if key.rstrip(" ") in keys else ""
                keys.add(key.rstrip(" "))
            if why:
                raise UnfitError(f"{cls.name} does not take {why}", number)

    @classmethod
    def unfit_fields(cls, schema: Schema) -> str:
        """Return which fields of a person's own records are not taken, and why; empty when all are.

        Which, as `listed` says it. What of the values is not taken, `unfit_record` says.
        """
        names = [field.name for field in schema.fields if field.name != schema.key]
        inner = dict.fromkeys(field.name for outer in schema.fields for field in outer.inside())
        complaints = [listed(filter(refuses, names), why) for why, refuses in cls.refused_names.items()]
        complaints += [listed(filter(refuses, inner), why) for why, refuses in cls.refused_inside.items()]
        return next(filter(None, complaints), "")

    @classmethod
    def unfit_record(cls, record: Record, gaps: Mapping[str, str]) -> str:
        """Return what of a record, whose fields are taken, is not taken on a server with these gaps, and why."""
        for name, outer in record.items():
            for value in scalars(outer):
                if type(value) is str and "\0" in value and "nul_characters" in gaps:
                    return f"a text with U+0000, in the field {name!r}: {gaps['nul_characters']}"
                if type(value) in (int, float):
                    for gap, refuses in cls.refused_numbers.items():
                        if gap in gaps and refuses(value):
                            return f"the number {value!r}, in the field {name!r}: {gaps[gap]}"
        return ""

    @property
    def where(self) -> str:
        """The database and its primary's address, without user and password."""
        url = shown(self.deployment.node().url) if self.deployment.nodes else ""
        address = url.partition("://")[2].partition("/")[0]
        return f"{self.name} at {address}" if address else self.name

    @abstractmethod
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the empty store with its indexes and the parents' records, and checkpoint.

        On every node: when it returns, a replica has followed.
        """

    @abstractmethod
    def insert(self, record: Record) -> object:
        """Insert one record."""

    @abstractmethod
    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert records in bulk, as the driver's users would; none is fine."""

    @abstractmethod
    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return all records with that value, drained and materialised."""

    @abstractmethod
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return all records as that node holds them, drained and materialised."""

    @abstractmethod
    def update(self, key: str, changes: Record) -> object:
        """Change fields of one record; `MissingRecordError` when there is none."""

    @abstractmethod
    def update_all(self, changes: Record) -> int:
        """Change fields of every record in one call; return how many."""

    @abstractmethod
    def delete(self, key: str) -> object:
        """Delete one record; `MissingRecordError` when there is none."""

    @abstractmethod
    def delete_all(self) -> int:
        """Delete every record in one call; return how many."""

    @abstractmethod
    def ids(self) -> list[str]:
        """Return every record's key."""

    @abstractmethod
    def position(self) -> Position:
        """Return where the primary's log stands: at or after the last acknowledged write."""

    def wait_for(self, position: Position, deadline_s: float) -> bool:
        """Wait until the replica has applied the primary's log up to `position`; False when the time ran out."""
        self._has("wait_for")
        return self._reached(position, deadline_s)

    def counters(self, role: Role) -> list[Meter]:
        """Return what replication alone can count of that node, in bytes."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    @abstractmethod
    def _reached(self, position: Position, deadline_s: float) -> bool:
        """Do `wait_for` on a replicated deployment."""

    def kind(self, error: Exception) -> type[AdapterError]:
        """Return what the driver's exception is to be raised as."""
        code = self.code(error)
        for kind, signs in self.kinds.items():
            if any(isinstance(error, sign) if isinstance(sign, type) else sign == code for sign in signs):
                return kind
        return AdapterError

    def code(self, error: Exception) -> int | str | None:
        """Return the driver's exception's number, or what else tells it from others of its class."""
        return None

    def text(self, error: Exception) -> str:
        """Return the driver's exception in one line."""
        return " ".join(str(error).split())

    def raised(self, error: Exception, what: str) -> AdapterError:
        """Return what to raise for the driver's exception: with the database, its address and what was asked.

        Its cause is the driver's exception, unless a password is in that.
        """
        urls = [node.url for node in self.deployment.nodes]
        translated = self.kind(error)(f"{self.where}: {what}: {scrubbed(self.text(error), urls)[:_LONGEST]}")
        traceback = "".join(format_exception(error))
        translated.__cause__ = error if scrubbed(traceback, urls) == traceback else None
        return translated

    def _has(self, capability: str) -> None:
        if why := self.gaps.get(capability):
            raise GapError(f"{self.where} has no {capability}: {why}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def scalars(value: Any) -> Iterator[Any]:
    """Yield the scalars in a document or an array, and null where one holds it; a scalar itself."""
    if isinstance(value, dict):
        for part in value.values():
            yield from scalars(part)
    elif isinstance(value, list):
        for part in value:
            yield from scalars(part)
    else:
        yield value


def depth(value: Any) -> int:
    """Return how many documents and arrays are one in another: 0 for a scalar."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def listed(names: Iterable[str], why: str) -> str:
    """Return fields that are not taken, and why; empty when there are none."""
    fields = [*names]
    shown = ", ".join(map(repr, fields[:_SHOWN])) + f" and {len(fields) - _SHOWN} more" * (len(fields) > _SHOWN)
    return f"the field{'s' * (len(fields) > 1)} {shown}: {why}" if fields else ""


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in their order, so many at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _translated(verb: Callable[..., object]) -> Callable[..., object]:
    """Return a verb that raises an `AdapterError` in place of its driver's exception; costs a call, some 0.1 us.

    Verbs of one or two arguments, which studies time one at a time, are called without packing them (by name they
    cannot be given then): packed, they cost PostgreSQL's insert and find 3 to 4 % (``benchmarks/adapters``).
    """

    def failed(adapter: Adapter, error: Exception) -> NoReturn:
        translated = adapter.raised(error, verb.__name__)
        raise translated from translated.__cause__

    @wraps(verb)
    def call(adapter: Adapter, /, *args: object, **kwargs: object) -> object:
        try:
            return verb(adapter, *args, **kwargs)
        except adapter.raises as error:
            failed(adapter, error)

    @wraps(verb)
    def with_one(adapter: Adapter, first: object, /) -> object:
        try:
            return verb(adapter, first)
        except adapter.raises as error:
            failed(adapter, error)

    @wraps(verb)
    def with_two(adapter: Adapter, first: object, second: object, /) -> object:
        try:
            return verb(adapter, first, second)
        except adapter.raises as error:
            failed(adapter, error)

    _, *parameters = signature(verb).parameters.values()
    if any(parameter.default is not Parameter.empty for parameter in parameters):
        return call
    short: dict[int, Callable[..., object]] = {1: with_one, 2: with_two}
    return short.get(len(parameters), call)


Decoders = Mapping[str, Callable[[Any], object]]
"""By a field's type, what makes its value of what the store gives."""

JSON: Final[Decoders] = {"float": float, "date": date.fromisoformat, "datetime": datetime.fromisoformat}
"""JSON has no dates, and a store may write a large float as a whole number."""

Records = TypeVar("Records", bound=Collection[Document])


class TypeDecoder:
    """Gives records back, in place, the types that a store does not keep: by their schema, and what each type takes."""

    def __init__(self, schema: Schema, by_type: Decoders = JSON) -> None:
        typed = [field for field in schema.fields if field.type in by_type]
        self._fields = [(field.name, by_type[field.type]) for field in typed if not field.optional]
        self._optional = [(field.name, by_type[field.type]) for field in typed if field.optional]

    def __call__(self, records: Records) -> Records:
        """Give records their fields' types, in place, and return them; free where they have them all."""
        for name, decode in self._fields:
            for record in records:
                record[name] = decode(record[name])
        for name, decode in self._optional:
            for record in records:
                if name in record:
                    record[name] = decode(record[name])
        return records
