"""A study's grid file: its sections read, and every name in it checked."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import BaseModel

from benchbook import strict, studies
from benchbook.inputs import InputError
from benchbook.strict import Located, nearest

Values = Mapping[str, Located]
"""A value, or several, for each of some parameters."""

SECTIONS: Final = ("study", "parameters", "grid", "overrides", "exclude", "aa", "profiles")

STAND_IN: Final = "stand_in"
"""What an exclusion may ask beside parameters: whether the server that was found only stands in for the product."""


@dataclass(frozen=True)
class Override:
    """Values for all points of which `when` holds, one for each parameter that it sets; ``blocks`` may be one."""

    when: Values
    values: Values


@dataclass(frozen=True)
class Exclusion:
    """Points that are not run although the grid has them, and why; `when` may ask for a stand-in."""

    when: Values
    why: str


@dataclass(frozen=True)
class Grid:
    """A study's grid, or a profile's selection from it."""

    study: str
    model: type[BaseModel]
    fixed: Values  # the same for every cell; and ``blocks``
    products: tuple[Values, ...]
    if_available: tuple[Values, ...] = ()  # products that are cells where their server is found, else left out
    overrides: tuple[Override, ...] = ()  # applied to what the products give, in their order
    exclude: tuple[Exclusion, ...] = ()
    aa: tuple[Values, ...] = ()  # what gets an identical second arm
    profiles: Values = field(default_factory=dict)

    def profile(self, name: str) -> "Grid":
        """Return a profile's selection.

        Raises
        ------
        InputError
            When the grid has no such profile, or a name in it is wrong.
        """
        if name not in self.profiles:
            advice = nearest(name, self.profiles)
            raise InputError(f"--profile {name}", f"the grid of {self.study} has no such profile: {advice}")
        parts = dict(self.profiles[name].mapping(f"profile {name}"))
        _check(parts, (*_READERS, "blocks", *self.model.model_fields), "parameter")
        read = {section: _READERS[section](parts.pop(section), self.model) for section in _READERS if section in parts}
        chosen = replace(
            self, **{"products" if section == "grid" else section: found for section, found in read.items()}
        )
        for parameter, value in parts.items():
            chosen = chosen.put(parameter, value)
        return chosen

    def put(self, parameter: str, value: Located) -> "Grid":
        """Return the grid with other values of a parameter: in each product that varies it, else for every cell.

        Of the implementations (``lane``) those products that have them.
        """
        if parameter == "lane":
            return self._in_lanes(value)
        if parameter == "blocks" or not any(parameter in product for product in (*self.products, *self.if_available)):
            return replace(self, fixed={**self.fixed, parameter: value})
        products, if_available = (
            tuple({**product, parameter: value} if parameter in product else product for product in some)
            for some in (self.products, self.if_available)
        )
        return replace(self, products=products, if_available=if_available)

    def _in_lanes(self, lanes: Located) -> "Grid":
        """Return the products of these lanes; for a lane that has none all of them, with its own codecs or drivers."""
        apart = {name for own in self.of_lane.values() for name in own}
        default = self.fixed.get("lane", Located(self.model.model_fields["lane"].default, ""))

        def has(product: Values, lane: Located) -> bool:
            return any(one.value == lane.value for one in product.get("lane", default).values())

        def turned(product: Values, lane: Located) -> Values:
            own = {name: replace(lane, value=value) for name, value in self.of_lane.get(str(lane.value), {}).items()}
            return {name: one for name, one in product.items() if name not in apart} | own

        def of(products: tuple[Values, ...]) -> tuple[Values, ...]:
            there = {
                lane: any(has(one, lane) for one in (*self.products, *self.if_available)) for lane in lanes.values()
            }
            return tuple(
                {**(one if there[lane] else turned(one, lane)), "lane": lane}
                for lane in lanes.values()
                for one in products
                if has(one, lane) or not there[lane]
            )

        return replace(self, products=of(self.products), if_available=of(self.if_available))

    @property
    def of_lane(self) -> Mapping[str, Mapping[str, str]]:
        """The parameters of which a lane has values of its own, as codecs, by lane."""
        found: Mapping[str, Mapping[str, str]] = getattr(self.model, "of_lane", {})
        return found

    def set_free(self, parameter: str) -> "Grid":
        """Return the grid without what its overrides say of a parameter."""
        left = [{name: one.values[name] for name in one.values if name != parameter} for one in self.overrides]
        pairs = zip(self.overrides, left, strict=True)
        return replace(self, overrides=tuple(replace(one, values=values) for one, values in pairs))


def load(study: str) -> Grid:
    """Read a study's grid.

    Raises
    ------
    InputError
        When there is no such study or grid, or a name in it is wrong.
    """
    if study not in studies.NAMES:
        raise InputError(study, f"no such study: {nearest(study, studies.NAMES)}")
    parts, model = _sections(study), studies.load(study).Parameters
    read = {section: _READERS[section](parts[section], model) for section in ("overrides", "exclude", "aa")}
    fixed, products = _fixed(parts["parameters"], model), _products(parts["grid"], model)
    grid = Grid(study, model, fixed, products, **read, profiles=parts["profiles"].mapping("profiles"))
    for name in grid.profiles:
        grid.profile(name)
    return grid


def _sections(study: str) -> dict[str, Located]:
    """Return the sections of a study's file, those that it lacks empty."""
    whole = strict.load(studies.grid(study))
    parts = whole.mapping("a grid")
    _check(parts, SECTIONS, "section")
    for section in ("study", "grid"):
        if section not in parts:
            raise InputError(whole.where, f"the section {section!r} is missing")
    if (of := parts["study"].plain()) != study:
        raise InputError(parts["study"].where, f"this file is the grid of {study}, not of {of}")
    empty: dict[str, Any] = {"parameters": {}, "profiles": {}, "overrides": [], "exclude": [], "aa": []}
    return {name: Located(value, whole.where) for name, value in empty.items()} | parts


def _fixed(section: Located, model: type[BaseModel]) -> Values:
    found = section.mapping("parameters")
    _check(found, ("blocks", *model.model_fields), "parameter")
    for name, value in found.items():
        if isinstance(value.value, list):
            raise InputError(
                value.where, f"{name} is the same for every cell here: several values belong into the grid"
            )
    return found


def _products(section: Located, model: type[BaseModel]) -> tuple[Values, ...]:
    found = tuple(item.mapping("a product of the grid") for item in section.sequence("grid"))
    if not found:
        raise InputError(section.where, "grid has no product")
    for product in found:
        _check(product, model.model_fields, "parameter")
        for name, values in product.items():
            if values.value == []:
                raise InputError(values.where, f"{name} has no value")
    return found


def _overrides(section: Located, model: type[BaseModel]) -> tuple[Override, ...]:
    found = []
    for item in section.sequence("overrides"):
        parts = _complete(item, "an override", ("when", "set", "why"))
        override = Override(parts["when"].mapping("when"), parts["set"].mapping("set"))
        _check(override.when, model.model_fields, "parameter")
        _check(override.values, ("blocks", *model.model_fields), "parameter")
        found.append(override)
    return tuple(found)


def _exclusions(section: Located, model: type[BaseModel]) -> tuple[Exclusion, ...]:
    found = []
    for item in section.sequence("exclude"):
        parts = _complete(item, "an exclusion", ("when", "why"))
        exclusion = Exclusion(parts["when"].mapping("when"), str(parts["why"].plain()))
        _check(exclusion.when, (STAND_IN, *model.model_fields), "parameter")
        found.append(exclusion)
    return tuple(found)


def _second_arms(section: Located, model: type[BaseModel]) -> tuple[Values, ...]:
    found = tuple(item.mapping("an A/A cell") for item in section.sequence("aa"))
    for condition in found:
        _check(condition, model.model_fields, "parameter")
    return found


def _complete(item: Located, what: str, keys: tuple[str, ...]) -> dict[str, Located]:
    """Return the item's parts, which are these, all of them."""
    parts = item.mapping(what)
    _check(parts, keys, "key")
    if missing := [key for key in keys if key not in parts]:
        said = f"{', '.join(keys[:-1])} and {keys[-1]}"
        raise InputError(item.where, f"{what} has {said}: {', '.join(missing)} is missing")
    return parts


def _check(found: Values, right: Iterable[str], kind: str) -> None:
    """Refuse the first name that is none of the right ones."""
    names = list(right)
    for name, value in found.items():
        if name not in names:
            raise InputError(value.where, f"no {kind} {name!r}: {nearest(name, names)}")


_READERS: Final[dict[str, Callable[[Located, type[BaseModel]], Any]]] = {
    "grid": _products,
    "if_available": _products,
    "overrides": _overrides,
    "exclude": _exclusions,
    "aa": _second_arms,
}
"""How each section of a profile is read."""
