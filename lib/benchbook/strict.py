"""Strict YAML: YAML 1.2's plain scalars, no tags, no aliases, no duplicate keys; every value has its line.

`load` reads a file into a `YamlFile`, whose `valid` checks a part of it by a pydantic model: an error has file, line,
reason and the nearest right name. A notebook's values are refused in the same words.
"""

import difflib
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

from benchbook.inputs import FORMER_NAMES, InputError, contents, text

YamlPath: TypeAlias = tuple[str | int, ...]
"""The names and indices that lead to a value of a document."""

LIMIT: Final = 2**20
"""Bytes of the largest file that is read."""

DEPTH: Final = 20
"""Levels of the deepest nesting that is read."""

_LONGEST_NUMBER: Final = 40
"""Characters of the longest number: any parameter's is shorter, and patterns need not look at longer texts."""

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
"""What users read in place of pydantic's words for Python's types."""


def nearest(name: str, right: Iterable[str]) -> str:
    """Return the advice to a wrong name: the nearest right one, else all of them."""
    names = sorted(map(str, right))
    former = {old: new for old, new in FORMER_NAMES.items() if new in names}
    close = difflib.get_close_matches(name, [*names, *former], n=1)
    if close:
        return f"did you mean {former.get(close[0], close[0])!r}?"
    return f"there are {', '.join(names)}" if names else "there is none"


def refuse_unknown_names(given: Mapping[str, object], right: Iterable[str], kind: str) -> None:
    """Refuse the first wrong name of a mapping from a pydantic validator, and say which right one is nearest."""
    names = list(right)
    for name, value in given.items():
        if name not in names:
            reason = f"no {kind} {name!r}: {nearest(str(name), names)}"
            # The reason is no template: what a person wrote may have braces.
            error = PydanticCustomError(_UNKNOWN, "{reason}", {"reason": reason})
            raise ValidationError.from_exception_data(kind, [InitErrorDetails(type=error, loc=(name,), input=value)])


class StrictModel(BaseModel):
    """Exactly the names of its form, each with a value of exactly its type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind_of_name: ClassVar[str] = "key"
    """What an error calls one of its names."""

    @model_validator(mode="before")
    @classmethod
    def _knows_names(cls, given: object) -> object:
        if isinstance(given, dict):
            fields = cls.model_fields.items()
            refuse_unknown_names(given, (field.alias or name for name, field in fields), cls.kind_of_name)
        return given


T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class YamlFile:
    """The values of a YAML file, with tuples for its lists, and the line of each."""

    name: str
    value: Any
    lines: Mapping[YamlPath, int]

    def where(self, place: YamlPath = ()) -> str:
        """Return file and line of a value; of a default, those of what it is part of."""
        while place not in self.lines:
            place = place[:-1]
        return f"{self.name}:{self.lines[place]}"

    def valid(self, form: type[T], context: object = None) -> T:
        """Return the values in the form of a model; raises `InputError` when they have another."""
        return self.valid_part((), self.value, form, context=context)

    def valid_part(self, place: YamlPath, value: object, form: type[T], about: str = "", context: object = None) -> T:
        """Return a value of a place in the form of a model; the message of `InputError` begins with `about`."""
        try:
            return form.model_validate(value, context=context)
        except ValidationError as error:
            inside, reason = explain(error, value)
            raise InputError(self.where((*place, *inside)), f"{about}: {reason}" if about else reason) from error


def explain(error: ValidationError, given: object) -> tuple[YamlPath, str]:
    """Return the place of the first mistake in what was given, a wrong name before all others, and the reason."""
    first = min(error.errors(), key=lambda detail: detail["type"] != _UNKNOWN)
    place: list[str | int] = []
    reached = given
    for part in first["loc"]:
        inside = dict(enumerate(reached)) if isinstance(reached, tuple) else reached
        # Names of a union's members are parts too, and lead to nothing.
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
        reason += f" ({nearest(value, levels)})"
    names = [part for part in place if isinstance(part, str)]
    if names and first["loc"]:
        reason = f"{names[-1]}{'' if is_plain else ':'} {reason}"
    return tuple(place), reason


def print_refusals_in_a_line() -> None:
    """Have the notebook that runs this, if one does, print what models refuse as the command line does.

    In a traceback the line would be lost behind all that lies between.
    """
    ipython = sys.modules.get("IPython")
    if ipython and (shell := ipython.get_ipython()):
        shell.set_custom_exc((ValidationError, InputError), _print_refusal)


def _print_refusal(
    shell: Any, kind: type[Exception], error: Exception, trace: TracebackType, tb_offset: int | None = None
) -> list[str]:
    """Show an error as IPython shows the ones that it knows; the cell's output keeps its name and text."""
    reason = str(error)
    if isinstance(error, ValidationError):
        given = {detail["loc"][0]: detail["input"] for detail in error.errors() if detail["loc"]}
        _, reason = explain(error, given)
    lines = [" ".join(f"Refused: {reason}".split())]
    shell._showtraceback(kind, error, lines)
    return lines


def load(path: Path) -> YamlFile:
    """Read a YAML file.

    Raises `InputError` when it cannot be read, is not YAML in UTF-8, or uses more of it than such a file needs.
    """
    name = f"{path.parent.name}/{path.name}"
    return parse(text(contents(path, LIMIT, name), name), name)


def parse(written: str, name: str) -> YamlFile:
    """Return the document of a text; `name` is what errors call it. Raises `InputError` as `load` does."""
    lines: dict[YamlPath, int] = {}
    try:
        return YamlFile(name, _document(yaml.parse(written, Loader=yaml.CSafeLoader), name, lines), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}", error.problem or str(error)) from error
    except yaml.reader.ReaderError as error:
        line = written.encode().count(b"\n", 0, error.position) + 1
        raise InputError(f"{name}:{line}", f"{error.reason}: remove U+{error.character:04X}") from error


def _document(events: Iterator[Any], name: str, lines: dict[YamlPath, int]) -> object:
    """Return the value of the one document in a stream of YAML events; without a document it has no names."""
    next(events)
    if isinstance(next(events), yaml.StreamEndEvent):
        lines[()] = 1
        return {}
    value = _value(next(events), events, (), name, lines)
    next(events)
    if not isinstance(next(events), yaml.StreamEndEvent):
        raise InputError(name, "a second document begins here: write one")
    return value


def _value(event: Any, events: Iterator[Any], place: YamlPath, name: str, lines: dict[YamlPath, int]) -> object:
    """Return the value that begins with an event, and note the lines of all that is in it."""
    line = event.start_mark.line + 1
    where = f"{name}:{line}"
    # A value's line is that of its name, where it has one.
    lines.setdefault(place, line)
    if isinstance(event, yaml.AliasEvent):
        raise InputError(where, "aliases are not allowed here: write the value out")
    if event.tag:
        raise InputError(where, f"tags such as {event.tag!r} are not allowed here")
    if len(place) >= DEPTH:
        raise InputError(where, f"nested deeper than {DEPTH} levels")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else scalar(event.value, where)
    if isinstance(event, yaml.SequenceStartEvent):
        values: list[object] = []
        inside = next(events)
        while not isinstance(inside, yaml.SequenceEndEvent):
            values.append(_value(inside, events, (*place, len(values)), name, lines))
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
        items[key] = _value(next(events), events, (*place, key), name, lines)
        inside = next(events)
    return items


def scalar(written: str, where: str) -> object:
    """Return the value of a plain scalar.

    Raises `InputError` when it is a number in a form that YAML 1.1 and 1.2 read differently, or one beyond every bound.
    """
    if written in _WORDS:
        return _WORDS[written]
    if len(written) > _LONGEST_NUMBER:
        return written
    if _INTEGER.fullmatch(written):
        return int(written)
    if _AMBIGUOUS.fullmatch(written):
        raise InputError(where, f"{written} is read in more than one way: write it in plain decimal digits")
    if not _FLOAT.fullmatch(written):
        return written
    if not math.isfinite(float(written)):
        raise InputError(where, f"{written} is beyond the largest number there is")
    return float(written)
