"""The sections of a grid file: each read from its places, every name in it checked."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

from benchbook.grid.errors import GridError, nearest
from benchbook.strict import Located

Point = dict[str, Located]
"""A value for each parameter."""


STAND_IN: Final = "stand_in"
"""What an exclusion may ask beside parameters: whether the server that was found only stands in for the product."""


@dataclass(frozen=True)
class Override:
    """Values for all points of which `when` holds, one for each parameter that it sets; ``blocks`` may be one."""

    when: Mapping[str, Located]
    values: Mapping[str, Located]


@dataclass(frozen=True)
class Exclusion:
    """Points that are not run although the grid has them, and why; `when` may ask for a stand-in."""

    when: Mapping[str, Located]
    why: str


_FORMER: Final = {"cuts": "exclude", "where_found": "if_available"}
"""What sections were called once."""


def today(parts: Mapping[str, Located]) -> dict[str, Located]:
    """Return sections by today's names; of one that goes by its former name a line is said."""
    for former in [name for name in _FORMER if name in parts]:
        _say(f"{parts[former].where}: {former} is called {_FORMER[former]} by now")
    return {_FORMER.get(name, name): place for name, place in parts.items()}


@cache
def _say(note: str) -> None:
    print(note, file=sys.stderr)


def fixed(place: Located, model: type[BaseModel]) -> Mapping[str, Located]:
    """Return what is the same for every cell."""
    found = place.mapping("parameters")
    known(found, ("blocks", *model.model_fields), "parameter")
    for name, value in found.items():
        if isinstance(value.value, list):
            raise GridError(value.where, f"{name} is the same for every cell here: several values belong into the grid")
    return found


def products(place: Located, model: type[BaseModel]) -> tuple[Mapping[str, Located], ...]:
    """Return for each product the values of each parameter."""
    found = tuple(item.mapping("a product of the grid") for item in place.sequence("grid"))
    if not found:
        raise GridError(place.where, "grid has no product")
    for product in found:
        known(product, model.model_fields, "parameter")
        for name, values in product.items():
            if values.value == []:
                raise GridError(values.where, f"{name} has no value")
    return found


def overrides(place: Located, model: type[BaseModel]) -> tuple[Override, ...]:
    """Return the values that some points get in place of their own."""
    found = []
    for item in place.sequence("overrides"):
        parts = _complete(item, "an override", ("when", "set", "why"))
        override = Override(parts["when"].mapping("when"), parts["set"].mapping("set"))
        known(override.when, model.model_fields, "parameter")
        known(override.values, ("blocks", *model.model_fields), "parameter")
        found.append(override)
    return tuple(found)


def exclusions(place: Located, model: type[BaseModel]) -> tuple[Exclusion, ...]:
    """Return what is not run, and why."""
    found = []
    for item in place.sequence("exclude"):
        parts = _complete(item, "an exclusion", ("when", "why"))
        when = parts["when"].mapping("when")
        known(when, (STAND_IN, *model.model_fields), "parameter")
        found.append(Exclusion(when, str(parts["why"].plain())))
    return tuple(found)


def _complete(item: Located, what: str, keys: tuple[str, ...]) -> dict[str, Located]:
    """Return the item's parts, which are these, all of them."""
    parts = item.mapping(what)
    known(parts, keys, "key")
    if missing := [key for key in keys if key not in parts]:
        said = f"{', '.join(keys[:-1])} and {keys[-1]}"
        raise GridError(item.where, f"{what} has {said}: {', '.join(missing)} is missing")
    return parts


def conditions(place: Located, model: type[BaseModel]) -> tuple[Mapping[str, Located], ...]:
    """Return the points that get a second arm."""
    found = tuple(item.mapping("an A/A cell") for item in place.sequence("aa"))
    for condition in found:
        known(condition, model.model_fields, "parameter")
    return found


def known(found: Mapping[str, Located], right: Iterable[Any], kind: str) -> None:
    """Refuse the first name that is none of the right ones."""
    names = list(right)
    for name, place in found.items():
        if name not in names:
            raise GridError(place.where, f"no {kind} {name!r}: {nearest(name, names)}")


READ: Final[Mapping[str, Callable[[Located, type[BaseModel]], Any]]] = {
    "grid": products,
    "if_available": products,
    "overrides": overrides,
    "exclude": exclusions,
    "aa": conditions,
}
"""How each section of a profile is read; ``grid`` gives the products."""
