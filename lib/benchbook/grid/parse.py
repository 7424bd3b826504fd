"""A study's grid file: its sections read, and every name in it checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from benchbook import paths, studies
from benchbook.grid.errors import GridError, nearest
from benchbook.strict import Place, load

Point = dict[str, Place]
"""A value for each parameter."""

SECTIONS: Final = ("study", "parameters", "grid", "overrides", "profiles")
PROFILE: Final = ("grid", "overrides", "aa", "blocks")


@dataclass(frozen=True)
class Override:
    """Values for all points of which `when` holds: a value, or one of several, for each parameter it names."""

    when: Mapping[str, Place]
    values: Mapping[str, Place]


@dataclass(frozen=True)
class Grid:
    """A study's grid, or a profile's selection from it.

    Parameters
    ----------
    study, model
        The study's name and its ``Parameters``.
    fixed
        Parameters that are the same for every cell, and ``blocks``.
    products
        For each product the values of each parameter.
    overrides
        Applied to what the products give, in their order.
    aa
        Points that get an identical second arm.
    profiles
        The named selections.
    """

    study: str
    model: type[BaseModel]
    fixed: Mapping[str, Place]
    products: tuple[Mapping[str, Place], ...]
    overrides: tuple[Override, ...] = ()
    aa: tuple[Mapping[str, Place], ...] = ()
    profiles: Mapping[str, Place] = ()  # type: ignore[assignment]

    def profile(self, name: str) -> "Grid":
        """Return a profile's selection.

        Raises
        ------
        GridError
            When the grid has no such profile.
        """
        if name not in self.profiles:
            raise GridError(f"--profile {name}", f"the grid of {self.study} has no such profile: {self._near(name)}")
        chosen, parts = self, self.profiles[name].mapping(f"profile {name}")
        if "grid" in parts:
            chosen = replace(chosen, products=_products(parts["grid"], self.model))
        if "overrides" in parts:
            chosen = replace(chosen, overrides=_overrides(parts["overrides"], self.model))
        if "aa" in parts:
            chosen = replace(chosen, aa=_conditions(parts["aa"], self.model))
        for parameter, place in parts.items():
            if parameter not in ("grid", "overrides", "aa"):
                chosen = chosen.put(parameter, place)
        return chosen

    def put(self, parameter: str, place: Place) -> "Grid":
        """Return the grid with other values of a parameter: in each product that varies it, else for every cell."""
        if parameter == "blocks" or not any(parameter in product for product in self.products):
            return replace(self, fixed={**self.fixed, parameter: place})
        products = tuple(
            {**product, parameter: place} if parameter in product else product for product in self.products
        )
        return replace(self, products=products)

    def _near(self, name: str) -> str:
        return nearest(name, self.profiles)


def read(study: str) -> Grid:
    """Read a study's grid.

    Raises
    ------
    GridError
        When there is no such study or grid, or a name in it is wrong.
    """
    parts = _sections(study)
    model = studies.load(study).Parameters
    grid = Grid(
        study,
        model,
        _fixed(parts["parameters"], model),
        _products(parts["grid"], model),
        _overrides(parts["overrides"], model),
        profiles=parts["profiles"].mapping("profiles"),
    )
    for name, profile in grid.profiles.items():
        _known(profile.mapping(f"profile {name}"), (*PROFILE, *model.model_fields), "parameter")
        grid.profile(name)
    return grid


def _sections(study: str) -> dict[str, Place]:
    if study not in studies.SLUGS:
        raise GridError(study, f"no such study: {nearest(study, studies.SLUGS)}")
    path = paths.grids() / f"{study}.yaml"
    if not path.is_file():
        raise GridError(f"{path.parent.name}/{path.name}", "no such grid")
    whole = load(path)
    parts = whole.mapping("a grid")
    _known(parts, SECTIONS, "section")
    for section in ("study", "grid"):
        if section not in parts:
            raise GridError(whole.where, f"the section {section!r} is missing")
    if parts["study"].plain() != study:
        raise GridError(parts["study"].where, f"this file is the grid of {study}, not of {parts['study'].plain()}")
    empty = {"parameters": Place({}, whole.where), "overrides": Place([], whole.where)}
    return {**empty, "profiles": Place({}, whole.where), **parts}


def _fixed(place: Place, model: type[BaseModel]) -> Mapping[str, Place]:
    fixed = place.mapping("parameters")
    _known(fixed, ("blocks", *model.model_fields), "parameter")
    for name, value in fixed.items():
        if isinstance(value.value, list):
            raise GridError(value.where, f"{name} is the same for every cell here: several values belong into the grid")
    return fixed


def _products(place: Place, model: type[BaseModel]) -> tuple[Mapping[str, Place], ...]:
    products = tuple(item.mapping("a product of the grid") for item in place.sequence("grid"))
    if not products:
        raise GridError(place.where, "grid has no product")
    for product in products:
        _known(product, model.model_fields, "parameter")
        for name, values in product.items():
            if values.value == []:
                raise GridError(values.where, f"{name} has no value")
    return products


def _overrides(place: Place, model: type[BaseModel]) -> tuple[Override, ...]:
    found = []
    for item in place.sequence("overrides"):
        parts = item.mapping("an override")
        _known(parts, ("when", "set", "why"), "key")
        if missing := [key for key in ("when", "set", "why") if key not in parts]:
            raise GridError(item.where, f"an override has when, set and why: {', '.join(missing)} is missing")
        override = Override(parts["when"].mapping("when"), parts["set"].mapping("set"))
        _known({**override.when, **override.values}, model.model_fields, "parameter")
        found.append(override)
    return tuple(found)


def _conditions(place: Place, model: type[BaseModel]) -> tuple[Mapping[str, Place], ...]:
    conditions = tuple(item.mapping("an A/A cell") for item in place.sequence("aa"))
    for condition in conditions:
        _known(condition, model.model_fields, "parameter")
    return conditions


def _known(found: Mapping[str, Place], right: Iterable[Any], kind: str) -> None:
    names = list(right)
    for name, place in found.items():
        if name not in names:
            raise GridError(place.where, f"no {kind} {name!r}: {nearest(name, names)}")
