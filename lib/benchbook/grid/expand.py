"""From a profile's selection to valid parameters: products, overrides, second arms, exclusions, the study's checks."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from benchbook import paths
from benchbook.datasets import own_records
from benchbook.grid.errors import GridError
from benchbook.grid.parse import Grid
from benchbook.grid.sections import STAND_IN, Point
from benchbook.inputs import InputError
from benchbook.strict import Located, mistake

POINTS: Final = 10_000
"""Points of the largest grid of a study; the papers' have some hundreds."""

BLOCKS: Final = 1_000
"""The papers' grids have six."""


def points(grid: Grid, products: Sequence[Mapping[str, Located]] | None = None) -> list[Point]:
    """Return the grid's points in its order, each once, the parameters that it does not name at their defaults.

    Parameters
    ----------
    grid
        Gives overrides, and what is the same for all.
    products
        What is multiplied out: the grid's own when None.

    Raises
    ------
    GridError
        When they are more than `POINTS`, which is known before they are multiplied out.
    """
    shared = {name: place for name, place in grid.fixed.items() if name != "blocks"}
    found: dict[str, Point] = {}
    some = [{**_defaults(grid.model), **shared, **one} for one in (grid.products if products is None else products)]
    _check_count(some)
    for axes in some:
        for values in itertools.product(*(place.values() for place in axes.values())):
            point = {name: _with_whole_path(name, place) for name, place in zip(axes, values, strict=True)}
            for override in grid.overrides:
                if matches(point, override.when):
                    point |= {name: _with_whole_path(name, place) for name, place in override.values.items()}
            found.setdefault(key(point), point)
    return list(found.values())


def _check_count(products: Sequence[Mapping[str, Located]]) -> None:
    counts = [math.prod(len(place.values()) for place in axes.values()) for axes in products]
    if (total := sum(counts)) > POINTS:
        largest = products[counts.index(max(counts))]
        place = max(largest.values(), key=lambda place: len(place.values()))
        raise GridError(
            place.where, f"{total:,} points of the grid: at most {POINTS:,} are taken, so take fewer values"
        )


def optional(grid: Grid, wanted: Sequence[Point]) -> list[Point]:
    """Return the points that are cells only where their server is found, without those that are `wanted` anyway."""
    known = {key(point) for point in wanted}
    return [point for point in points(grid, grid.if_available) if key(point) not in known]


def twins(grid: Grid, found: Sequence[Point]) -> list[Point]:
    """Return the second arms of those points that the grid wants twice."""
    second: dict[str, Point] = {}
    for condition in grid.aa:
        chosen = [point for point in found if matches(point, condition)]
        second |= {key(point): {**point, "arm": Located("b", _where(condition))} for point in chosen}
    return list(second.values())


def check_twins(grid: Grid, found: Sequence[Point]) -> None:
    """Raise `GridError` when a point that is wanted twice is not there once."""
    for condition in grid.aa:
        if not any(matches(point, condition) for point in found):
            raise GridError(_where(condition), "no cell of this profile is like that: it cannot get a second arm")


def excluded(grid: Grid, point: Point, *, stand_in: bool) -> str | None:
    """Return why the grid does not run a point, on a stand-in or on the product; None when it does."""
    asked = {**point, STAND_IN: Located(stand_in, "")}
    return next((one.why for one in grid.exclude if matches(asked, one.when)), None)


def matches(point: Mapping[str, Located], condition: Mapping[str, Located]) -> bool:
    """Return whether each parameter of the condition has one of its values."""
    return all(
        name in point
        and any(_same(point[name].value, _with_whole_path(name, one).value) for one in condition[name].values())
        for name in condition
    )


def validated(grid: Grid, point: Point) -> BaseModel:
    """Return the study's parameters.

    Raises
    ------
    GridError
        When the study refuses them, or the file of records that they name cannot be used.
    """
    try:
        parameters = grid.model.model_validate({name: one.plain() for name, one in point.items() if name != "blocks"})
    except ValidationError as error:
        latest = max((one.where for one in point.values()), key=_lateness)
        where, name, said = mistake(error, Located(point, latest), grid.model)
        raise GridError(where, f"{name} {said}".strip()) from error
    if file := getattr(parameters, "dataset_file", None):
        try:
            own_records.checked(file)
        except InputError as error:
            raise GridError(point["dataset_file"].where, str(error)) from error
    return parameters


def blocks(grid: Grid, point: Point) -> int:
    """Return in how many blocks a point is run: the grid's, unless an override sets them.

    Raises
    ------
    GridError
        When it is not a whole number from 1 to `BLOCKS`.
    """
    place = point.get("blocks") or grid.fixed.get("blocks", Located(1, grid.study))
    if type(place.value) is not int or not 1 <= place.value <= BLOCKS:
        raise GridError(place.where, f"blocks is a whole number from 1 to {BLOCKS:,}, not {place.plain()!r}")
    return place.value


def _defaults(model: type[BaseModel]) -> Point:
    return {name: Located(field.default, "") for name, field in model.model_fields.items() if not field.is_required()}


def _with_whole_path(name: str, place: Located) -> Located:
    """Return a parameter's value; a file's with the whole path, for a cell works in another folder.

    An option's path begins in the working folder, a grid's in the checkout's, wherever the command is given.
    """
    if name != "dataset_file" or not isinstance(place.value, str):
        return place
    try:
        start = Path() if place.where.startswith("--") else paths.root()
        return Located(str((start / place.value).resolve()), place.where)
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of symbolic links
        raise GridError(place.where, f"dataset_file: {place.value!r} is no path of a file: {error}") from error


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def key(point: Point) -> str:
    """Return what two equal points have in common."""
    return repr(sorted((name, place.plain()) for name, place in point.items()))


def _lateness(where: str) -> tuple[bool, int]:
    """Return how late a place has its say: the file's lines in their order, then the options of the command."""
    line = where.rpartition(":")[2]
    return where.startswith("--"), int(line) if line.isdigit() else 0


def _where(condition: Mapping[str, Located]) -> str:
    return next((place.where for place in condition.values()), "aa")
