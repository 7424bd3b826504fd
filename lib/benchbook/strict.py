"""Strict YAML: YAML 1.2's plain scalars, no tags, no aliases, no duplicate keys; every value knows its line.

And what a model refuses of such values, or of those that a notebook gives it, in a line.

libyaml scans, but what it scans is resolved here, for no library refuses all that a grid must not hold. ruamel.yaml,
which knows lines too, refuses duplicate keys, and reads ``010`` as 10 and ``1e999`` as infinity, obeys tags and
aliases, and ends endless nesting by the interpreter's own limit.
"""

import difflib
import json
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from benchbook.inputs import InputError, contents, text

T = TypeVar("T", bound=BaseModel)

LIMIT: Final = 2**20
"""Bytes of the largest file that is read."""

DEPTH: Final = 20
"""Levels of the deepest nesting that is read."""

_LONGEST_NUMBER: Final = 40
"""Characters: what is longer is no number that any parameter takes, and patterns need not look at it."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}


def nearest(name: str, right: Iterable[str]) -> str:
    """Return the advice to a wrong name: the nearest right one, else all of them."""
    names = sorted(map(str, right))
    if close := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(names)}" if names else "there is none"


@dataclass(frozen=True)
class Located:
    """A scalar, or a list or dictionary of located values; and where it stands: ``file:line``, or an option."""

    value: Any
    where: str

    def mapping(self, what: str) -> "dict[str, Located]":
        """Return the value as a mapping of names to located values."""
        if not isinstance(self.value, dict):
            raise self._unlike(f"{what} is a mapping of names to values")
        return dict(self.value)

    def sequence(self, what: str) -> "list[Located]":
        """Return the value as a list of located values."""
        if not isinstance(self.value, list):
            raise self._unlike(f"{what} is a list")
        return list(self.value)

    def values(self) -> "list[Located]":
        """Return a list's items, or the scalar as the only one."""
        return self.value if isinstance(self.value, list) else [self]

    def plain(self) -> Any:
        """Return the value without where it stands."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {name: item.plain() for name, item in self.value.items()}
        return self.value

    def _unlike(self, expected: str) -> InputError:
        return InputError(self.where, f"{expected}, not {self.plain()!r}")


class Mistake(NamedTuple):
    """What pydantic refuses: where it stands, the dotted path to it within what was checked, and what is wrong."""

    where: str
    path: str
    message: str


def mistake(error: ValidationError, given: Located, form: object) -> Mistake:
    """Return the first mistake in what was given for a model or other form, a wrong name before what it leaves missing.

    What of it stands nowhere, such as a default, is taken to stand where the whole does.
    """
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    reached, path = given, list[str]()
    for part in first["loc"]:  # names of a union's members are parts too, and lead to nothing
        inside = reached.value if isinstance(reached.value, dict) else dict(enumerate(reached.values()))
        if part in inside or first["type"] == "missing":
            reached = inside.get(part, reached)
            path.append(str(part))
    fields = _fields(form, path[:-1])
    where = reached.where or given.where
    if first["type"] == "extra_forbidden":
        return Mistake(where, "", f"no key {path[-1]!r}: {nearest(path[-1], fields)}")
    message = re.sub(r"^(Value error, |\w+ (?=should ))", "", first["msg"])
    if path and not isinstance(reached.value, list | dict):
        message += f", not {reached.value!r}"
    if first["type"] == "literal_error" and isinstance(reached.value, str):
        levels = [level.strip("'") for level in re.split(", | or ", first["ctx"]["expected"])]
        message += f" ({nearest(reached.value, levels)})"
    elif path and (field := fields.get(path[-1])) and field.description:
        message += f" ({field.description})"
    return Mistake(where, ".".join(path), message)


def valid(form: type[T], item: Located, name: str) -> T:
    """Return a value in the form of a model; raises `InputError` when it has another."""
    try:
        return form.model_validate_json(json.dumps(item.plain()))
    except ValidationError as error:
        where, path, message = mistake(error, item, form)
        raise InputError(where, ": ".join(filter(None, (name, path, message)))) from error


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
    while trace.tb_next:
        trace = trace.tb_next
    # What was being made when it was refused is the last frame's `self`.
    lines = [refusal(error, type(trace.tb_frame.f_locals.get("self")))]
    shell._showtraceback(kind, error, lines)
    return lines


def refusal(error: Exception, model: type) -> str:
    """Return what `model` refused, in a line, with the nearest right name where a name is wrong."""
    if not isinstance(error, ValidationError):
        return f"Refused: {error}"
    given = {str(detail["loc"][0]): Located(detail["input"], "") for detail in error.errors() if detail["loc"]}
    _, name, message = mistake(error, Located(given, ""), model)
    return " ".join(f"Refused: {name} {message}".split())


def _fields(form: object, path: Iterable[str]) -> dict[str, FieldInfo]:
    """Return the fields of the model that the path leads to from that form; none when it leads to no model."""
    for name in path:
        field = _fields(form, ()).get(name)
        form = field.annotation if field else None
    fields: dict[str, FieldInfo] = getattr(form, "model_fields", {})
    return fields


class _Loader(yaml.composer.Composer, yaml.CSafeLoader):
    """Composes nodes of what libyaml scans, without resolving what plain scalars mean; refuses aliases and depth."""

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        yaml.composer.Composer.__init__(self)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node, which is never an alias, nor nested without end."""
        if self.check_event(yaml.AliasEvent):
            raise self._refused("aliases are not allowed here: write the value out")
        self._depth += 1
        if self._depth > DEPTH:
            raise self._refused(f"nested deeper than {DEPTH} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _refused(self, why: str) -> yaml.composer.ComposerError:
        mark: Any = self.get_event().start_mark  # type: ignore[union-attr]
        return yaml.composer.ComposerError(None, None, why, mark)


_Loader.yaml_implicit_resolvers = {}


def load(path: Path) -> Located:
    """Read a YAML file.

    Raises `InputError` when it cannot be read, is not YAML in UTF-8, or uses more of it than such a file needs.
    """
    name = f"{path.parent.name}/{path.name}"
    written = text(contents(path, LIMIT, name), name)
    if control := _CONTROL.search(written):
        line = written.count("\n", 0, control.start()) + 1
        raise InputError(f"{name}:{line}", f"the control character U+{ord(control[0]):04X} has no place here")
    loader = _Loader(written)
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}", error.problem or str(error)) from error
    except yaml.YAMLError as error:
        raise InputError(f"{name}:1", str(error)) from error
    finally:
        loader.dispose()
    return _located(node, name) if node else Located({}, f"{name}:1")


def scalar(written: str, where: str) -> Located:
    """Return the value of a plain scalar.

    Raises `InputError` when it is a number in a form that YAML 1.1 and 1.2 read differently, or one beyond every bound.
    """
    if written in _WORDS:
        return Located(_WORDS[written], where)
    if len(written) > _LONGEST_NUMBER:
        return Located(written, where)
    if _INTEGER.fullmatch(written):
        return Located(int(written), where)
    if re.fullmatch(r"[-+]?0[0-9_]+|[-+]?0[xob][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*_[0-9_]*", written):
        raise InputError(where, f"{written} is read in more than one way: write it in plain decimal digits")
    if _FLOAT.fullmatch(written):
        if not math.isfinite(float(written)):
            raise InputError(where, f"{written} is beyond the largest number there is")
        return Located(float(written), where)
    return Located(written, where)


def flow(written: str, where: str) -> Located:
    """Return the value of names with plain scalars between braces, as ``{rate: 100mbit, cores: 1}``.

    Raises `InputError` when it is something else.
    """
    items: dict[str, Located] = {}
    for item in written.removeprefix("{").removesuffix("}").split(","):
        name, colon, value = (part.strip() for part in item.partition(":"))
        if not colon or not written.endswith("}") or name in items:
            raise InputError(where, f"write {{NAME: VALUE, NAME: VALUE}}, each name once, not {written!r}")
        items[name] = scalar(value, where)
    return Located(items, where)


def _located(node: yaml.Node, name: str) -> Located:
    where = f"{name}:{node.start_mark.line + 1}"
    if node.tag not in _TAGS:
        raise InputError(where, f"tags such as {node.tag!r} are not allowed here")
    if isinstance(node, yaml.MappingNode):
        return Located(_mapping(node, name), where)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, name) for item in node.value], where)
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    return scalar(node.value, where) if plain else Located(node.value, where)


def _mapping(node: yaml.MappingNode, name: str) -> dict[str, Located]:
    items: dict[str, Located] = {}
    for key, value in node.value:
        where = f"{name}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(where, "a name is a word")
        if key.value in items:
            raise InputError(where, f"{key.value!r} stands here twice")
        items[key.value] = Located(_located(value, name).value, where)
    return items
