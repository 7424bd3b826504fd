"""A study's grid file: its sections read, and every name in it checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import BaseModel

from benchbook import paths, studies
from benchbook.grid.errors import GridError, nearest
from benchbook.grid.sections import (
    READ,
    Exclusion,
    Override,
    conditions,
    exclusions,
    fixed,
    known,
    overrides,
    products,
    today,
)
from benchbook.strict import Located, load

SECTIONS: Final = ("study", "parameters", "grid", "overrides", "exclude", "aa", "profiles")
PROFILE: Final = ("grid", "if_available", "overrides", "exclude", "aa", "blocks")


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
    if_available
        Products whose points are cells only where their server is found; elsewhere they are left out, not skipped.
    overrides
        Applied to what the products give, in their order.
    exclude
        What of it is not run.
    aa
        Points that get an identical second arm.
    profiles
        The named selections.
    """

    study: str
    model: type[BaseModel]
    fixed: Mapping[str, Located]
    products: tuple[Mapping[str, Located], ...]
    if_available: tuple[Mapping[str, Located], ...] = ()
    overrides: tuple[Override, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    aa: tuple[Mapping[str, Located], ...] = ()
    profiles: Mapping[str, Located] = ()  # type: ignore[assignment]

    def profile(self, name: str) -> "Grid":
        """Return a profile's selection.

        Raises
        ------
        GridError
            When the grid has no such profile.
        """
        if name not in self.profiles:
            raise GridError(f"--profile {name}", f"the grid of {self.study} has no such profile: {self._near(name)}")
        parts = today(self.profiles[name].mapping(f"profile {name}"))
        read = {
            "products" if name == "grid" else name: how(parts[name], self.model)
            for name, how in READ.items()
            if name in parts
        }
        chosen = replace(self, **read)
        for parameter, place in parts.items():
            if parameter not in READ:
                chosen = chosen.put(parameter, place)
        return chosen

    def put(self, parameter: str, place: Located) -> "Grid":
        """Return the grid with other values of a parameter: in each product that varies it, else for every cell."""
        if parameter == "blocks" or not any(parameter in product for product in (*self.products, *self.if_available)):
            return replace(self, fixed={**self.fixed, parameter: place})
        return replace(
            self,
            products=_varied(self.products, parameter, place),
            if_available=_varied(self.if_available, parameter, place),
        )

    def set_free(self, parameter: str) -> "Grid":
        """Return the grid without what its overrides say of a parameter."""
        values = ({name: place for name, place in one.values.items() if name != parameter} for one in self.overrides)
        return replace(
            self, overrides=tuple(replace(one, values=left) for one, left in zip(self.overrides, values, strict=True))
        )

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
        fixed(parts["parameters"], model),
        products(parts["grid"], model),
        overrides=overrides(parts["overrides"], model),
        exclude=exclusions(parts["exclude"], model),
        aa=conditions(parts["aa"], model),
        profiles=parts["profiles"].mapping("profiles"),
    )
    for name, profile in grid.profiles.items():
        known(today(profile.mapping(f"profile {name}")), (*PROFILE, *model.model_fields), "parameter")
        grid.profile(name)
    return grid


def _sections(study: str) -> dict[str, Located]:
    if study not in studies.SLUGS:
        raise GridError(study, f"no such study: {nearest(study, studies.SLUGS)}")
    whole = load(paths.grids() / f"{study}.yaml")
    parts = today(whole.mapping("a grid"))
    known(parts, SECTIONS, "section")
    for section in ("study", "grid"):
        if section not in parts:
            raise GridError(whole.where, f"the section {section!r} is missing")
    if parts["study"].plain() != study:
        raise GridError(parts["study"].where, f"this file is the grid of {study}, not of {parts['study'].plain()}")
    names, lists = ("parameters", "profiles"), ("overrides", "exclude", "aa")
    empty = {name: Located({}, whole.where) for name in names} | {name: Located([], whole.where) for name in lists}
    return {**empty, **parts}


def _varied(
    products: tuple[Mapping[str, Located], ...], parameter: str, place: Located
) -> tuple[Mapping[str, Located], ...]:
    return tuple({**product, parameter: place} if parameter in product else product for product in products)
