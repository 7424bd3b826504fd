"""The contract of adapters: a database's verbs on a deployment, and the errors they raise.

`Adapter` is what each database offers, without timing or statistics. `Options` says how it keeps
its records. `TypeDecoder` gives records the types that a database does not keep.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import wraps
from inspect import Parameter, signature
from traceback import format_exception
from typing import Any, ClassVar, Final, Literal, NoReturn, Self, TypeAlias, TypeVar

from benchbook.datasets.dataset import Dataset
from benchbook.measure import Meter
from benchbook.schema import Document, Record, Schema
from benchbook.servers.deployment import Deployment, Role, is_older, read_numbers
from benchbook.servers.errors import scrub_passwords, strip_login

VERSION = 1

T = TypeVar("T")

Durability = Literal["default", "relaxed", "strict"]

DocumentSchema = Literal["types", "required", "validated"]
"""What an object mapper's schema declares: types, that fields are required, a validator of each."""

Position: TypeAlias = Any
"""A node's progress, as its database states it: a number, transactions, each record's version."""

CATCH_UP_S: Final = 60.0
"""How long a replica may take to follow `create`, in seconds."""

MAX_EXACT_INTEGER: Final = 2**53
"""A double holds every integer up to this one."""


class AdapterError(RuntimeError):
    """A database could not execute a verb; the message names database, address and verb.

    It holds no password.
    """

    words: str = ""
    """What the driver said, where it said something."""

    def __init__(self, message: str) -> None:
        super().__init__(scrub_passwords(message))


class UnreachableError(AdapterError):
    """The server does not answer, went away, or refuses the user."""


class RefusedError(AdapterError):
    """The server or the mapper refuses the data: a constraint, a type, a size, a character."""


class DuplicateKeyError(RefusedError):
    """A record with that key exists."""


class MissingRecordError(AdapterError):
    """No record has that key."""


class UnsupportedError(AdapterError):
    """The database cannot do that; `Adapter.limitations` says why."""


@dataclass(frozen=True)
class Options:
    """How a database keeps its records."""

    # When a write counts as done; each adapter documents what it does for each level.
    durability: Durability = "default"
    # False: without foreign key and NOT NULL. The key stays: updates would scan without it.
    constraints: bool = True
    # Fields with an index, where the schema has them.
    index: tuple[str, ...] = ()
    # Count the bytes that a replica receives, even if that takes a proxy between the nodes.
    count_bytes: bool = False
    # Keep a binary log on a single node, too, where the product can do without.
    binary_log: bool = False
    # The schema of an object mapper that has the choice.
    document_schema: DocumentSchema = "required"
    # Use the sessions of this adapter of the same product instead of opening new ones.
    session_owner: "Adapter | None" = None


_TRANSLATED_METHODS: Final = frozenset(
    {
        *("list_databases", "make_database", "drop_database", "create"),
        *("insert", "insert_many", "find", "read_all", "update", "update_all"),
        *("delete", "delete_all", "list_ids", "position", "list_counters"),
        *("_connect", "_await_replica"),
    }
)
"""The methods that raise an `AdapterError` in place of a driver's exception."""


class Adapter(ABC):
    """A database's verbs: opened on a deployment, emptied by `create`, closed as a context manager.

    Records are dictionaries with a text key ``_id``. What is read equals what was inserted, in any
    order. A subclass writes its verbs as if the driver raised nothing: every exception in
    `driver_errors` is translated around them. A verb or capability in `limitations` raises
    `RefusedError` (for data) or `UnsupportedError`.
    """

    name: ClassVar[str]
    """The database's registered name, such as ``mysql+relational``."""

    product: ClassVar[str]
    """The product whose servers it runs on."""

    model: ClassVar[str]
    """How a record is kept: ``document`` or ``relational``."""

    driver: ClassVar[str]
    """The library with its version."""

    driver_errors: ClassVar[tuple[type[Exception], ...]] = ()
    """The driver's exceptions for a fault of the server or the data."""

    error_types: ClassVar[Mapping[type[AdapterError], tuple[type[Exception] | int | str, ...]]] = {}
    """For each of our errors, the driver's exceptions or error codes; the first match counts.

    Everything else becomes `AdapterError`.
    """

    limitations: Mapping[str, str] = {}
    """What the database cannot do on any server: the reason by capability.

    An instance has those of its deployment, too.
    """

    first_versions: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """The first version of the product that has a capability, and why earlier ones do not."""

    wait_resolution_ns: float = 0.0
    """How late `wait_for` may end, in nanoseconds.

    Either a fixed time of `position` and `wait_for` for a replica that has caught up already, or
    the measured time of the last wait.
    """

    wait_proof_ns: int = 0
    """How long before `wait_for` returned the last wait ended: the proof that all had arrived."""

    def __init_subclass__(cls, *, has_driver: bool = True) -> None:
        """Translate the driver's exceptions around every verb that the class defines."""
        super().__init_subclass__()
        if not has_driver:
            return
        for name in _TRANSLATED_METHODS.intersection(vars(cls)):
            method = vars(cls)[name]
            if not getattr(method, "__isabstractmethod__", False):
                setattr(cls, name, _translate_errors(method))

    def __init__(self, deployment: Deployment, options: Options) -> None:
        self.deployment = deployment
        self.options = options
        self.is_replicated = any(node.role == "replica" for node in deployment.nodes)
        # Find what the database cannot do on these servers.
        without_replica = {}
        if not self.is_replicated:
            reason = f"a {deployment.topology} {self.product} has no replica"
            without_replica["wait_for"] = reason
        urls = {node.role: node.url for node in deployment.nodes}
        versions = [node.version for node in deployment.nodes]
        self.limitations = {**without_replica, **self.find_limitations(urls, versions)}
        # Refuse options that it does not have.
        if not options.constraints:
            self._require("constraints")
        if options.durability != "default":
            self._require("durability")

    @classmethod
    def find_limitations(
        cls, urls: Mapping[Role, str], versions: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the gaps of servers with these addresses and versions: reasons by capability.

        Without addresses the servers are those that would be started here.
        """
        limitations: dict[str, str] = {}
        # A pair can do what its older server can.
        oldest = min(versions, key=read_numbers, default=None)
        if oldest is not None:
            for capability, (first, reason) in cls.first_versions.items():
                if is_older(oldest, first):
                    limitations[capability] = reason
        return {**limitations, **cls.limitations}

    @property
    def location(self) -> str:
        """The database and its primary's address, without user and password."""
        url = strip_login(self.deployment.node().url) if self.deployment.nodes else ""
        address = url.partition("://")[2].partition("/")[0]
        return f"{self.name} at {address}" if address else self.name

    @abstractmethod
    def create(self, schema: Schema, *, parents: Sequence[Dataset] = ()) -> None:
        """Create the empty store with its indexes and the parents' records, and checkpoint.

        It does so on every node: when it returns, the replica has followed.
        """

    @abstractmethod
    def insert(self, record: Record) -> object:
        """Insert one record."""

    @abstractmethod
    def insert_many(self, records: Sequence[Record]) -> object:
        """Insert records in bulk, as the driver's users would; `records` may be empty."""

    @abstractmethod
    def find(self, field: str, value: object) -> Sequence[Record]:
        """Return all records with that value, drained and materialised."""

    @abstractmethod
    def read_all(self, role: Role = "primary") -> Sequence[Record]:
        """Return all records of that node, drained and materialised."""

    @abstractmethod
    def update(self, key: str, changes: Record) -> object:
        """Change fields of one record; raise `MissingRecordError` without it."""

    @abstractmethod
    def update_all(self, changes: Record) -> int:
        """Change fields of every record in one call; return how many."""

    @abstractmethod
    def delete(self, key: str) -> object:
        """Delete one record; raise `MissingRecordError` without it."""

    @abstractmethod
    def delete_all(self) -> int:
        """Delete every record in one call; return how many."""

    @abstractmethod
    def list_ids(self) -> list[str]:
        """Return every record's key."""

    @abstractmethod
    def position(self) -> Position:
        """Return where the primary's log is: at or after the last acknowledged write."""

    def wait_for(self, position: Position, deadline_s: float) -> bool:
        """Wait until the replica has applied the primary's log up to `position`.

        Return False when that takes longer than `deadline_s` seconds.
        """
        self._require("wait_for")
        return self._await_replica(position, deadline_s)

    def list_counters(self, role: Role) -> list[Meter]:
        """Return the counters of the bytes that replication alone moves at that node."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    @abstractmethod
    def _await_replica(self, position: Position, deadline_s: float) -> bool:
        """Do `wait_for` on a replicated deployment."""

    def choose_error_type(self, error: Exception) -> type[AdapterError]:
        """Return which of our errors a driver's exception becomes."""
        code = self.read_error_code(error)
        for error_type, signs in self.error_types.items():
            for sign in signs:
                is_match = isinstance(error, sign) if isinstance(sign, type) else sign == code
                if is_match:
                    return error_type
        return AdapterError

    def read_error_code(self, error: Exception) -> int | str | None:
        """Return a driver's error number, or another sign that `error_types` has."""
        return None

    def describe_error(self, error: Exception) -> str:
        """Return the driver's exception in one line."""
        return " ".join(str(error).split())

    def translate_error(self, error: Exception, verb: str) -> AdapterError:
        """Return our error for a driver's exception, with the database, its address and the verb.

        Its cause is the driver's exception, unless that holds a password.
        """
        urls = [node.url for node in self.deployment.nodes]
        error_type = self.choose_error_type(error)
        description = scrub_passwords(self.describe_error(error), urls)[:500]
        translated = error_type(f"{self.location}: {verb}: {description}")
        translated.words = description
        # A traceback prints the cause with its own message.
        traceback = "".join(format_exception(error))
        translated.__cause__ = error if scrub_passwords(traceback, urls) == traceback else None
        return translated

    def _require(self, capability: str) -> None:
        reason = self.limitations.get(capability)
        if reason:
            raise UnsupportedError(f"{self.location} has no {capability}: {reason}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def iterate_scalars(value: Any) -> Iterator[Any]:
    """Yield the scalars in a document or an array, null included; a scalar yields itself."""
    if isinstance(value, dict):
        for part in value.values():
            yield from iterate_scalars(part)
    elif isinstance(value, list):
        for part in value:
            yield from iterate_scalars(part)
    else:
        yield value


def split_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in their order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _translate_errors(verb: Callable[..., object]) -> Callable[..., object]:
    """Return the verb, raising an `AdapterError` in place of its driver's exception.

    It costs one call, some 0.1 us. One or two arguments are not packed, and so cannot be given by
    name: packing costs PostgreSQL's insert and find 3 to 4 % (``benchmarks/adapters``).
    """

    def fail(adapter: Adapter, error: Exception) -> NoReturn:
        translated = adapter.translate_error(error, verb.__name__)
        raise translated from translated.__cause__

    @wraps(verb)
    def call(adapter: Adapter, /, *args: object, **kwargs: object) -> object:
        try:
            return verb(adapter, *args, **kwargs)
        except adapter.driver_errors as error:
            fail(adapter, error)

    @wraps(verb)
    def call_with_one(adapter: Adapter, first: object, /) -> object:
        try:
            return verb(adapter, first)
        except adapter.driver_errors as error:
            fail(adapter, error)

    @wraps(verb)
    def call_with_two(adapter: Adapter, first: object, second: object, /) -> object:
        try:
            return verb(adapter, first, second)
        except adapter.driver_errors as error:
            fail(adapter, error)

    # Choose the wrapper by the verb's parameters.
    _, *parameters = signature(verb).parameters.values()
    if any(parameter.default is not Parameter.empty for parameter in parameters):
        return call
    if len(parameters) == 1:
        return call_with_one
    if len(parameters) == 2:
        return call_with_two
    return call


Decoders = Mapping[str, Callable[[Any], object]]
"""A function by a field's type; it makes the field's value from the database's."""

JSON_DECODERS: Final[Decoders] = {
    "float": float,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""JSON has no dates, and a database may write a large float as a whole number."""

Records = TypeVar("Records", bound=Collection[Document])


class TypeDecoder:
    """Gives records the types of a schema that a database does not keep."""

    def __init__(self, schema: Schema, decoders: Decoders = JSON_DECODERS) -> None:
        typed = [field for field in schema.fields if field.type in decoders]
        self._fields = [(field.name, decoders[field.type]) for field in typed if not field.optional]
        self._optional = [(field.name, decoders[field.type]) for field in typed if field.optional]

    def __call__(self, records: Records) -> Records:
        """Decode the fields of records in place, and return the records.

        It costs nothing where the database keeps all types.
        """
        for name, decode in self._fields:
            for record in records:
                record[name] = decode(record[name])
        for name, decode in self._optional:
            for record in records:
                if name in record:
                    record[name] = decode(record[name])
        return records
