"""Strict YAML with line numbers: YAML 1.2's plain scalars, no tags, no aliases, no duplicate keys.

`load_yaml` reads a file into a `YamlFile`, whose `validate` checks it by a pydantic model. An error
has the file, the line, the reason and the nearest right name. A notebook's values are refused in
the same words.
"""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from benchbook.files.inputs import InputError, decode_utf8, read_bytes
from benchbook.text.suggestions import suggest_name

YamlPath: TypeAlias = tuple[str | int, ...]
"""The names and indices that lead to a value of a document."""

MAX_BYTES: Final = 2**20
"""Bytes of the largest file that is read."""

MAX_DEPTH: Final = 20
"""Levels of the deepest nesting that is read."""

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_AMBIGUOUS: Final = re.compile(r"[-+]?0[0-9_]+|[-+]?0[xob][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*_[0-9_]*")
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_UNKNOWN: Final = "unknown_name"
_REASONS: Final = {
    "tuple_type": "should be a list",
    "model_type": "should be a mapping of names to values",
    "dict_type": "should be a mapping of names to values",
    "too_short": "should have at least one value",
    "too_long": "takes one value here",
}
"""Reasons in users' words, in place of pydantic's words for Python's types."""


def refuse_unknown_names(given: Mapping[str, object], right: Iterable[str], kind: str) -> None:
    """Raise `ValidationError` at the first wrong name of a mapping, with the nearest right name.

    For pydantic's validators.

    Parameters
    ----------
    given
        The mapping of names to values.
    right
        The right names.
    kind
        What a name is in the message, such as ``parameter``.
    """
    names = list(right)
    for name, value in given.items():
        if name not in names:
            reason = f"no {kind} {name!r}: {suggest_name(str(name), names)}"
            # The reason must not be the template: a user's name may have braces.
            error = PydanticCustomError(_UNKNOWN, "{reason}", {"reason": reason})
            details = InitErrorDetails(type=error, loc=(name,), input=value)
            raise ValidationError.from_exception_data(kind, [details])


class StrictModel(BaseModel):
    """A model that takes only its own names, each with a value of exactly its type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind_of_name: ClassVar[str] = "key"
    """The word for one of its names in an error."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: object) -> object:
        if isinstance(given, dict):
            names = [field.alias or name for name, field in cls.model_fields.items()]
            refuse_unknown_names(given, names, cls.kind_of_name)
        return given


T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class YamlFile:
    """The values of a YAML file, with tuples for its lists, and the line of each."""

    name: str
    value: Any
    lines: Mapping[YamlPath, int]

    def locate(self, place: YamlPath = ()) -> str:
        """Return ``file:line`` of a value; of a default, the line of the mapping around it."""
        while place not in self.lines:
            place = place[:-1]
        return f"{self.name}:{self.lines[place]}"

    def validate(self, form: type[T], context: object = None) -> T:
        """Return the file as a model; raises `InputError` when its values do not fit."""
        return self.validate_part((), self.value, form, context=context)

    def validate_part(
        self, place: YamlPath, value: object, form: type[T], about: str = "", context: object = None
    ) -> T:
        """Return the value of a place as a model; raises `InputError` when it does not fit.

        The message begins with `about`, if that is given.
        """
        try:
            return form.model_validate(value, context=context)
        except ValidationError as error:
            inside, reason = explain_error(error, value)
            message = f"{about}: {reason}" if about else reason
            raise InputError(self.locate((*place, *inside)), message) from error


def explain_error(error: ValidationError, given: object) -> tuple[YamlPath, str]:
    """Return the place and the reason of the first mistake in a value; a wrong name comes first."""
    first = min(error.errors(), key=lambda detail: detail["type"] != _UNKNOWN)
    place: list[str | int] = []
    reached = given
    for part in first["loc"]:
        inside = dict(enumerate(reached)) if isinstance(reached, tuple) else reached
        # A part can also be the name of a union's member, which is not a place.
        if isinstance(inside, dict) and part in inside:
            reached = inside[part]
            place.append(part)
    kind, value = first["type"], first["input"]
    if kind == _UNKNOWN:
        return tuple(place), first["msg"]
    if kind == "missing":
        return tuple(place), f"{first['loc'][-1]} is missing"
    is_plain = not isinstance(value, dict | tuple | list)
    if kind == "value_error":
        reason = str(first["ctx"]["error"])
    else:
        reason = _REASONS.get(kind, first["msg"].removeprefix("Input "))
        reason += f", not {value!r}" if is_plain else ""
    if kind == "literal_error" and isinstance(value, str):
        levels = re.findall("'([^']*)'", first["ctx"]["expected"])
        reason += f" ({suggest_name(value, levels)})"
    names = [part for part in place if isinstance(part, str)]
    if names and first["loc"]:
        reason = f"{names[-1]}{'' if is_plain else ':'} {reason}"
    return tuple(place), reason


def print_refusals_on_one_line() -> None:
    """Print models' refusals in a notebook on one line, as the command does.

    In a traceback the reason would be far below.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell:
        shell.set_custom_exc((ValidationError, InputError), _print_refusal)


def _print_refusal(
    shell: Any,
    kind: type[Exception],
    error: Exception,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> list[str]:
    """Show an error as IPython shows its own; the notebook cell's output has its name and text."""
    reason = str(error)
    if isinstance(error, ValidationError):
        given = {detail["loc"][0]: detail["input"] for detail in error.errors() if detail["loc"]}
        _, reason = explain_error(error, given)
    lines = [" ".join(f"Refused: {reason}".split())]
    shell._showtraceback(kind, error, lines)
    return lines


def load_yaml(path: Path) -> YamlFile:
    """Read a YAML file.

    Raises `InputError` when it cannot be read, is not YAML in UTF-8, or uses a part of YAML that is
    not allowed here.
    """
    name = f"{path.parent.name}/{path.name}"
    return parse_yaml(decode_utf8(read_bytes(path, MAX_BYTES, name), name), name)


def parse_yaml(text: str, name: str) -> YamlFile:
    """Return the document of a text, which errors call `name`; raises as `load_yaml`."""
    lines: dict[YamlPath, int] = {}
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        return YamlFile(name, _read_document(events, name, lines), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}", error.problem or str(error)) from error
    except yaml.reader.ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1
        reason = f"{error.reason}: remove U+{error.character:04X}"
        raise InputError(f"{name}:{line}", reason) from error


def _read_document(events: Iterator[Any], name: str, lines: dict[YamlPath, int]) -> object:
    """Return the value of the only document in a stream of events; an empty mapping for none."""
    next(events)
    if isinstance(next(events), yaml.StreamEndEvent):
        lines[()] = 1
        return {}
    value = _read_value(next(events), events, (), name, lines)
    next(events)
    if not isinstance(next(events), yaml.StreamEndEvent):
        raise InputError(name, "a second document begins here: write one")
    return value


def _read_value(
    event: Any, events: Iterator[Any], place: YamlPath, name: str, lines: dict[YamlPath, int]
) -> object:
    """Return the value that begins with an event, and add the lines of everything in it."""
    line = event.start_mark.line + 1
    where = f"{name}:{line}"
    # A value with a name has the line of its name.
    lines.setdefault(place, line)
    if isinstance(event, yaml.AliasEvent):
        raise InputError(where, "aliases are not allowed here: write the value out")
    if event.tag:
        raise InputError(where, f"tags such as {event.tag!r} are not allowed here")
    if len(place) >= MAX_DEPTH:
        raise InputError(where, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else read_scalar(event.value, where)
    if isinstance(event, yaml.SequenceStartEvent):
        values: list[object] = []
        inside = next(events)
        while not isinstance(inside, yaml.SequenceEndEvent):
            values.append(_read_value(inside, events, (*place, len(values)), name, lines))
            inside = next(events)
        return tuple(values)
    items: dict[str, object] = {}
    inside = next(events)
    while not isinstance(inside, yaml.MappingEndEvent):
        line = inside.start_mark.line + 1
        key = inside.value if isinstance(inside, yaml.ScalarEvent) else None
        if key is None:
            raise InputError(f"{name}:{line}", "a name is a word")
        if key in items:
            raise InputError(f"{name}:{line}", f"duplicate key {key!r}")
        lines[*place, key] = line
        items[key] = _read_value(next(events), events, (*place, key), name, lines)
        inside = next(events)
    return items


def read_scalar(written: str, where: str) -> object:
    """Return the value of a plain scalar.

    Raises `InputError` when it is a number that YAML 1.1 and 1.2 read differently, or is not
    finite.
    """
    if written in _WORDS:
        return _WORDS[written]
    # Every parameter's numbers are shorter.
    if len(written) > 40:
        return written
    if _INTEGER.fullmatch(written):
        return int(written)
    if _AMBIGUOUS.fullmatch(written):
        raise InputError(
            where, f"{written} is read in more than one way: write it in plain decimal digits"
        )
    if not _FLOAT.fullmatch(written):
        return written
    if not math.isfinite(float(written)):
        raise InputError(where, f"{written} is beyond the largest number there is")
    return float(written)
