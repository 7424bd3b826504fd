"""Strict YAML: YAML 1.2's plain scalars, no tags, no aliases, no duplicate keys; every value knows its line."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}


class InputError(ValueError):
    """What a person wrote, in a file or as an option, is wrong: nothing was started.

    Parameters
    ----------
    where
        ``file:line``, or the option of the command.
    message
        What is wrong, and what would be right.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


def nearest(name: str, right: Iterable[str]) -> str:
    """Return the advice to a wrong name: the nearest right one, else all of them."""
    names = sorted(map(str, right))
    if close := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(names)}" if names else "there is none"


@dataclass(frozen=True)
class Place:
    """A value of a file, and where it stands.

    Parameters
    ----------
    value
        A scalar, a list of places, or a dictionary of places.
    where
        ``file:line``, or the option of the command that gave it.
    """

    value: Any
    where: str

    def mapping(self, what: str) -> "dict[str, Place]":
        """Return the value as a mapping of names to places."""
        items: dict[str, Place] = self._of(dict, f"{what} is a mapping of names to values")
        return items

    def sequence(self, what: str) -> "list[Place]":
        """Return the value as a list of places."""
        items: list[Place] = self._of(list, f"{what} is a list")
        return items

    def values(self) -> "list[Place]":
        """Return a list's items, or the scalar as the only one."""
        return self.value if isinstance(self.value, list) else [self]

    def plain(self) -> Any:
        """Return the value without places."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {name: item.plain() for name, item in self.value.items()}
        return self.value

    def _of(self, kind: type, message: str) -> Any:
        if not isinstance(self.value, kind):
            raise InputError(self.where, f"{message}, not {self.plain()!r}")
        return self.value


class _Loader(yaml.composer.Composer, yaml.CSafeLoader):
    """Composes nodes of what libyaml scans, without resolving what plain scalars mean; refuses aliases."""

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        yaml.composer.Composer.__init__(self)

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node, which is never an alias."""
        if self.check_event(yaml.AliasEvent):
            mark: Any = self.get_event().start_mark  # type: ignore[union-attr]
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed here: write the value out", mark)
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {}


def load(path: Path) -> Place:
    """Read a YAML file.

    Raises
    ------
    InputError
        When it is not YAML, or uses more of it than such a file needs.
    """
    name = f"{path.parent.name}/{path.name}"
    loader = _Loader(path.read_text(encoding="utf-8"))
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}", error.problem or str(error)) from error
    except yaml.YAMLError as error:
        raise InputError(f"{name}:1", str(error)) from error
    finally:
        loader.dispose()
    return _place(node, name) if node else Place({}, f"{name}:1")


def scalar(text: str, where: str) -> Place:
    """Return the value of a plain scalar.

    Raises
    ------
    InputError
        When it is a number in a form that YAML 1.1 and 1.2 read differently.
    """
    if text in _WORDS:
        return Place(_WORDS[text], where)
    if _INTEGER.fullmatch(text):
        return Place(int(text), where)
    if re.fullmatch(r"[-+]?0[0-9_]+|[-+]?0[xob][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*_[0-9_]*", text):
        raise InputError(where, f"{text} is read in more than one way: write it in plain decimal digits")
    if _FLOAT.fullmatch(text):
        return Place(float(text), where)
    return Place(text, where)


def _place(node: yaml.Node, name: str) -> Place:
    where = f"{name}:{node.start_mark.line + 1}"
    if node.tag not in _TAGS:
        raise InputError(where, f"tags such as {node.tag!r} are not allowed here")
    if isinstance(node, yaml.MappingNode):
        return Place(_mapping(node, name), where)
    if isinstance(node, yaml.SequenceNode):
        return Place([_place(item, name) for item in node.value], where)
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    return scalar(node.value, where) if plain else Place(node.value, where)


def _mapping(node: yaml.MappingNode, name: str) -> dict[str, Place]:
    items: dict[str, Place] = {}
    for key, value in node.value:
        where = f"{name}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(where, "a name is a word")
        if key.value in items:
            raise InputError(where, f"{key.value!r} stands here twice")
        items[key.value] = Place(_place(value, name).value, where)
    return items
