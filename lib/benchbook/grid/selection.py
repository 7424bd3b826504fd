"""Which points were asked for: a profile of some studies, filtered and changed by the options of the command."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from benchbook import studies
from benchbook.grid.errors import GridError, nearest
from benchbook.grid.expand import check_twins, matches, optional, points, twins, validated
from benchbook.grid.parse import Grid, read
from benchbook.grid.sections import Point
from benchbook.strict import Located, scalar


@dataclass(frozen=True)
class Choice:
    """A point that was asked for.

    Parameters
    ----------
    grid, point, parameters
        Whose, where its values stand, and the values.
    optional
        Whether it is left out where its server is not found.
    """

    grid: Grid
    point: Point
    parameters: BaseModel
    optional: bool


def choose(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for: as `benchbook.grid.plan`, which see for what it takes and raises."""
    grids = [read(slug).profile(profile) for slug in dict.fromkeys(slugs) or studies.SLUGS]
    settings = [_setting(text, "--set", grids) for text in changes]
    conditions = [dict([_setting(text, "--where", grids)]) for text in where]
    chosen = [one for grid in grids for one in _points(_changed(grid, settings), strict=not changes)]
    for condition in conditions:
        chosen = _filtered(chosen, condition)
    return [Choice(grid, point, validated(grid, point), may_lack) for grid, point, may_lack in chosen]


def _points(grid: Grid, *, strict: bool) -> list[tuple[Grid, Point, bool]]:
    """Return a grid's points, second arms after first ones, and whether each is left out where its server is not."""
    wanted = points(grid)
    extra = optional(grid, wanted)
    if strict:
        check_twins(grid, [*wanted, *extra])
    return [
        (grid, point, may_lack)
        for some, may_lack in ((wanted, False), (extra, True))
        for point in [*some, *twins(grid, some)]
    ]


def _setting(text: str, option: str, grids: Sequence[Grid]) -> tuple[str, Located]:
    """Return the parameter and the values that an option names."""
    where = f"{option} {text}"
    name, equals, given = text.partition("=")
    names = {name for grid in grids for name in grid.model.model_fields} | ({"blocks"} if option == "--set" else set())
    if not equals or not given:
        raise GridError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
    if name not in names:
        raise GridError(where, f"no parameter {name!r}: {nearest(name, names)}")
    values: list[Located] = [scalar(value, where) for value in given.split(",")]
    return name, Located(values, where) if len(values) > 1 else values[0]


def _filtered(chosen: list[tuple[Grid, Point, bool]], condition: Point) -> list[tuple[Grid, Point, bool]]:
    """Return the points that are like that."""
    if found := [one for one in chosen if matches(one[1], condition)]:
        return found
    (name, place), *_ = condition.items()
    there = {str(point[name].plain()) for _, point, _ in chosen if name in point}
    raise GridError(place.where, f"no cell is like that: of {name}, {nearest(str(place.plain()), there)}")


def _changed(grid: Grid, settings: Iterable[tuple[str, Located]]) -> Grid:
    """Return the grid with other values of some parameters, which no override of it changes back."""
    for name, place in settings:
        if name == "blocks" or name in grid.model.model_fields:
            grid = grid.put(name, place).set_free(name)
    return grid
