"""Which points were asked for: a profile of some studies, changed by the command's options, expanded and filtered.

A profile's products are multiplied out, overrides applied, second arms added, and the study's own checks made.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from benchbook import paths, strict, studies
from benchbook.datasets import own_records
from benchbook.grid.read import STAND_IN, Grid, Values, load
from benchbook.inputs import InputError
from benchbook.strict import Located, nearest

POINTS: Final = 10_000
"""Points of the largest grid of a study; the papers' have some hundreds."""

BLOCKS: Final = 1_000
"""The papers' grids have six."""

Point = dict[str, Located]
"""A value for each parameter."""


@dataclass(frozen=True)
class Choice:
    """A point that was asked for; an optional one is left out where its server is not found.

    So is one that makes no sense with records of one's own, or in a lane that was set: `refused` says why.
    """

    grid: Grid
    point: Point
    parameters: BaseModel
    optional: bool
    refused: str | None = None

    @property
    def blocks(self) -> int:
        """In how many blocks it is run: the grid's, unless an override sets them.

        Raises
        ------
        InputError
            When it is not a whole number from 1 to `BLOCKS`.
        """
        given = self.point.get("blocks") or self.grid.fixed.get("blocks", Located(1, self.grid.study))
        if type(given.value) is not int or not 1 <= given.value <= BLOCKS:
            raise InputError(given.where, f"blocks is a whole number from 1 to {BLOCKS:,}, not {given.plain()!r}")
        return given.value

    def excluded(self, *, stand_in: bool) -> str | None:
        """Return why the grid does not run it, on a stand-in or on the product; None when it does."""
        asked = {**self.point, STAND_IN: Located(stand_in, "")}
        return next((one.why for one in self.grid.exclude if _matches(asked, one.when)), None)


def choose(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for: as `benchbook.grid.plan`, which see for what it takes and raises."""
    every = [load(slug) for slug in dict.fromkeys(slugs) or studies.NAMES]
    grids = [one.profile(profile) for one in every if slugs or one.study in studies.SLUGS or profile in one.profiles]
    settings = [_setting(text, "--set", grids) for text in changes]
    conditions = [_setting(text, "--where", grids) for text in where]
    chosen = [one for grid in grids for one in _points(_changed(grid, settings), as_written=not changes)]
    for name, value in conditions:
        chosen = _filtered(chosen, name, value)
    set_now = {name for name, _ in settings}
    found = [_choice(grid, point, optional, set_now) for grid, point, optional in chosen]
    if found and all(one.refused for one in found):
        _validated(found[0].grid, found[0].point)  # which raises, with the place that says so
    return found


def _setting(text: str, option: str, grids: Sequence[Grid]) -> tuple[str, Located]:
    """Return the parameter and the values that an option names."""
    where = f"{option} {text}"
    name, equals, given = text.partition("=")
    names = {name for grid in grids for name in grid.model.model_fields} | ({"blocks"} if option == "--set" else set())
    if not equals or not given:
        raise InputError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
    if name not in names:
        raise InputError(where, f"no parameter {name!r}: {nearest(name, names)}")
    values = [strict.scalar(value, where) for value in given.split(",")]
    return name, Located(values, where) if len(values) > 1 else values[0]


def _changed(grid: Grid, settings: Iterable[tuple[str, Located]]) -> Grid:
    """Return the grid with other values of some parameters, which no override of it changes back."""
    for name, value in settings:
        if name == "blocks" or name in grid.model.model_fields:
            grid = grid.put(name, value).set_free(name)
    return grid


def _points(grid: Grid, *, as_written: bool) -> list[tuple[Grid, Point, bool]]:
    """Return a grid's points, second arms after first ones, and whether each is left out where its server is not.

    Raises
    ------
    InputError
        When they are too many; of a grid as written, when a point that is to get a second arm is not there.
    """
    wanted = _expanded(grid, grid.products)
    optional = {key: point for key, point in _expanded(grid, grid.if_available).items() if key not in wanted}
    if as_written:
        _check_second_arms(grid, [*wanted.values(), *optional.values()])
    return [
        (grid, point, may_lack)
        for some, may_lack in ((wanted, False), (optional, True))
        for point in [*some.values(), *_second_arms(grid, some.values())]
    ]


def _expanded(grid: Grid, products: Iterable[Values]) -> dict[str, Point]:
    """Return the points of some products, each once, what they do not name as the grid has it, else at its default."""
    defaults = {name: one.default for name, one in grid.model.model_fields.items() if not one.is_required()}
    same = {name: Located(value, "") for name, value in defaults.items()} | dict(grid.fixed)
    same.pop("blocks", None)
    products = [{**same, **product} for product in products]
    _check_count(products)
    found: dict[str, Point] = {}
    for product in products:
        for values in itertools.product(*(value.values() for value in product.values())):
            point = {name: _with_whole_path(name, value) for name, value in zip(product, values, strict=True)}
            for override in grid.overrides:
                if _matches(point, override.when):
                    point |= {name: _with_whole_path(name, value) for name, value in override.values.items()}
            found.setdefault(_key(point), point)
    return found


def _check_count(products: Sequence[Values]) -> None:
    """Raise `InputError` when products give more than `POINTS`, before they are multiplied out."""
    counts = [math.prod(len(value.values()) for value in product.values()) for product in products]
    if (total := sum(counts)) > POINTS:
        largest = products[counts.index(max(counts))]
        longest = max(largest.values(), key=lambda value: len(value.values()))
        message = f"{total:,} points of the grid: at most {POINTS:,} are taken, so take fewer values"
        raise InputError(longest.where, message)


def _second_arms(grid: Grid, points: Iterable[Point]) -> list[Point]:
    """Return the second arms of those points that the grid wants twice."""
    found: dict[str, Point] = {}
    for condition in grid.aa:
        arm = Located("b", _where(condition))
        found |= {_key(point): {**point, "arm": arm} for point in points if _matches(point, condition)}
    return list(found.values())


def _check_second_arms(grid: Grid, points: Sequence[Point]) -> None:
    """Raise `InputError` when a point that is wanted twice is not there once."""
    for condition in grid.aa:
        if not any(_matches(point, condition) for point in points):
            raise InputError(_where(condition), "no cell of this profile is like that: it cannot get a second arm")


def _where(condition: Values) -> str:
    return next((value.where for value in condition.values()), "aa")


def _filtered(chosen: list[tuple[Grid, Point, bool]], name: str, value: Located) -> list[tuple[Grid, Point, bool]]:
    """Return the points whose parameter has one of those values."""
    if found := [one for one in chosen if _matches(one[1], {name: value})]:
        return found
    there = {str(point[name].plain()) for _, point, _ in chosen if name in point}
    raise InputError(value.where, f"no cell is like that: of {name}, {nearest(str(value.plain()), there)}")


def _matches(point: Values, condition: Values) -> bool:
    """Return whether each parameter of the condition has one of its values."""
    return all(
        name in point and any(_same(point[name].value, _with_whole_path(name, one).value) for one in values.values())
        for name, values in condition.items()
    )


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _key(point: Point) -> str:
    """Return what two equal points have in common."""
    return repr(sorted((name, value.plain()) for name, value in point.items()))


def _with_whole_path(name: str, value: Located) -> Located:
    """Return a parameter's value; a file's with the whole path, for a cell works in another folder.

    An option's path begins in the working folder, a grid's in the checkout's, wherever the command is given.
    """
    if name != "dataset_file" or not isinstance(value.value, str):
        return value
    try:
        start = Path() if value.where.startswith("--") else paths.root()
        return Located(str((start / value.value).resolve()), value.where)
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of symbolic links
        raise InputError(value.where, f"dataset_file: {value.value!r} is no path of a file: {error}") from error


def _choice(grid: Grid, point: Point, optional: bool, set_now: Collection[str]) -> Choice:
    """Return a point with its parameters; where own records or a lane were set, it may be one that cannot take them."""
    try:
        return Choice(grid, point, _validated(grid, point), optional)
    except InputError as error:
        if "dataset_file" in set_now and _is_about_records(point, error):
            before = {name: value for name, value in point.items() if name != "dataset_file"}
        elif "lane" in set_now and "lane" in error.message:
            before = {
                name: value for name, value in point.items() if name not in {"lane"}.union(*grid.of_lane.values())
            }
        else:
            raise
        return Choice(grid, point, _validated(grid, before), optional, error.message)


def _is_about_records(point: Point, error: InputError) -> bool:
    """Return whether a cell does not take own records, and not whether the file of them is wrong."""
    return "dataset_file" in error.message and Path(point["dataset_file"].value).name not in error.message


def _validated(grid: Grid, point: Point) -> BaseModel:
    """Return the study's parameters.

    Raises
    ------
    InputError
        When the study refuses them, or the file of records that they name cannot be used.
    """
    try:
        parameters = grid.model.model_validate({name: one.plain() for name, one in point.items() if name != "blocks"})
    except ValidationError as error:
        latest = max((one.where for one in point.values()), key=_lateness)
        where, name, said = strict.mistake(error, Located(point, latest), grid.model)
        raise InputError(where, f"{name} {said}".strip()) from error
    if file := getattr(parameters, "dataset_file", None):
        try:
            own_records.checked(file)
        except InputError as error:
            raise InputError(point["dataset_file"].where, str(error)) from error
    return parameters


def _lateness(where: str) -> tuple[bool, int]:
    """Return how late a place has its say: the file's lines in their order, then the options of the command."""
    line = where.rpartition(":")[2]
    return where.startswith("--"), int(line) if line.isdigit() else 0
