"""pydantic's JSON: models validated while they are read, typed decoders made once per schema."""

from collections.abc import Callable
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import override

from benchbook.formats import Binding, Bound, Decoder, FormatError, bounded, milliseconds, moment
from benchbook.formats.json_codecs import JsonCodec, form
from benchbook.schemas import AnyBookstore, Schema

T = TypeVar("T")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Book1(_Strict):
    id: str
    title: str
    author: str


class _Author(_Strict):
    id: str
    name: str
    age: int
    born_on: int


class _Book2(_Strict):
    """A book whose dates are milliseconds, as Jackson writes them."""

    id: str
    pages: int
    published_on: int
    title: str
    author: _Author


class _Store1(_Strict):
    books: list[_Book1]


class _Store2(_Strict):
    books: list[_Book2]


_BINDING: Final = Binding((_Store1, _Store2), _Book1, _Book2, _Author, milliseconds, moment)


class PydanticCodec(JsonCodec):
    """JSON through models that are filled in, written and read back."""

    def __init__(self) -> None:
        super().__init__("pydantic", to_json, lambda store: _BINDING.bound(store).model_dump_json().encode(), from_json)
        self._read: dict[int, Callable[[bytes], Bound]] = {
            1: _checked(_Store1.model_validate_json),
            2: _checked(_Store2.model_validate_json),
        }

    @override
    def decoder(self, schema: Schema) -> Decoder:
        return _checked(TypeAdapter(form(schema.name, schema.fields)).validate_json)

    @override
    def decode_bookstore(self, data: bytes, case: int) -> AnyBookstore:
        return _BINDING.unbound(self._read[case](data), case)


def _checked(decode: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Return the decoder with its limit and its errors turned to `FormatError`, which say where (``books.3.id``)."""

    def checked(data: bytes) -> T:
        try:
            return decode(bounded(data))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise FormatError(f"not such JSON: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

    return checked


def codec() -> JsonCodec:
    """Return the codec."""
    return PydanticCodec()
