"""A study's grid file, every name in it checked, and the points that a profile and a command's options take of it.

A profile's products are multiplied out, overrides applied, second arms added, and the study's own checks made.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from benchbook import paths, strict, studies
from benchbook.datasets import own_records
from benchbook.inputs import InputError
from benchbook.strict import Located, nearest
from benchbook.studies.cell import CellParameters

POINTS: Final = 10_000
"""Points of the largest grid of a study; the papers' have some hundreds."""

BLOCKS: Final = 1_000
"""The papers' grids have six."""

Values = Mapping[str, Located]
"""A value, or several, for each of some parameters."""

Point = dict[str, Located]
"""A value for each parameter."""

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
    model: type[CellParameters]
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
        given = dict(self.profiles[name].mapping(f"profile {name}"))
        _check(given, (*_READERS, "blocks", *self.model.model_fields), "parameter")
        sections: dict[str, Any] = {}
        for section in [name for name in _READERS if name in given]:
            sections["products" if section == "grid" else section] = _READERS[section](given.pop(section), self.model)
        grid = replace(self, **sections)
        for parameter, value in given.items():
            grid = grid.put(parameter, value)
        return grid

    def put(self, parameter: str, value: Located) -> "Grid":
        """Return the grid with other values of a parameter: in each product that varies it, else for every cell.

        Of the implementations (``lane``) those products that have them.
        """
        if parameter == "lane":
            return self._in_lanes(value)
        if parameter == "blocks" or not any(parameter in product for product in (*self.products, *self.if_available)):
            return replace(self, fixed={**self.fixed, parameter: value})
        products, if_available = (
            tuple({**product, parameter: value} if parameter in product else product for product in each)
            for each in (self.products, self.if_available)
        )
        return replace(self, products=products, if_available=if_available)

    def _in_lanes(self, lanes: Located) -> "Grid":
        """Return the products of these lanes; for a lane that has none all of them, with its own codecs or drivers."""
        of_a_lane = {name for values in self.of_lane.values() for name in values}
        default = self.fixed.get("lane", Located(self.model.model_fields["lane"].default, ""))

        def has(product: Values, lane: Located) -> bool:
            return any(value.value == lane.value for value in product.get("lane", default).values())

        def moved(product: Values, lane: Located) -> Values:
            kept = {name: value for name, value in product.items() if name not in of_a_lane}
            values = self.of_lane.get(str(lane.value), {})
            return {**kept, **{name: replace(lane, value=value) for name, value in values.items()}, "lane": lane}

        chosen: dict[str, list[Values]] = {"products": [], "if_available": []}
        for lane in lanes.values():
            has_its_own = any(has(product, lane) for product in (*self.products, *self.if_available))
            for section, products in (("products", self.products), ("if_available", self.if_available)):
                if has_its_own:
                    chosen[section] += [{**product, "lane": lane} for product in products if has(product, lane)]
                else:
                    chosen[section] += [moved(product, lane) for product in products]
        return replace(self, products=tuple(chosen["products"]), if_available=tuple(chosen["if_available"]))

    @property
    def of_lane(self) -> Mapping[str, Mapping[str, str]]:
        """The parameters of which a lane has values of its own, as codecs, by lane."""
        values: Mapping[str, Mapping[str, str]] = getattr(self.model, "of_lane", {})
        return values

    def set_free(self, parameter: str) -> "Grid":
        """Return the grid without what its overrides say of a parameter."""
        overrides = []
        for override in self.overrides:
            kept = {name: value for name, value in override.values.items() if name != parameter}
            overrides.append(replace(override, values=kept))
        return replace(self, overrides=tuple(overrides))


@dataclass(frozen=True)
class Choice:
    """A point that was asked for; an optional one is left out where its server is not found.

    So is one that makes no sense with records of one's own, or in a lane that was set: `refused` says why.
    """

    grid: Grid
    point: Point
    parameters: CellParameters
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
        return next((exclusion.why for exclusion in self.grid.exclude if _matches(asked, exclusion.when)), None)


def choose(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for: as `benchbook.grid.plan`, which see for what it takes and raises."""
    grids = [load(slug) for slug in dict.fromkeys(slugs) or studies.NAMES]
    if not slugs:
        # An installed package's study need not have the profile, unless it is asked for by name.
        grids = [grid for grid in grids if grid.study in studies.SLUGS or profile in grid.profiles]
    grids = [grid.profile(profile) for grid in grids]
    settings = [_option(text, "--set", grids) for text in changes]
    conditions = [_option(text, "--where", grids) for text in where]
    points: list[tuple[Grid, Point, bool]] = []
    for grid in grids:
        for name, value in settings:
            if name == "blocks" or name in grid.model.model_fields:
                # No override changes it back.
                grid = grid.put(name, value).set_free(name)
        points += _points(grid, as_written=not changes)
    for name, value in conditions:
        matching = [given for given in points if _matches(given[1], {name: value})]
        if not matching:
            levels = {str(point[name].plain()) for _, point, _ in points if name in point}
            advice = nearest(str(value.plain()), levels)
            raise InputError(value.where, f"no cell is like that: of {name}, {advice}")
        points = matching
    names = {name for name, _ in settings}
    choices = [_choice(grid, point, optional, names) for grid, point, optional in points]
    if choices and all(choice.refused for choice in choices):
        # This raises, with the place that says so.
        _validated(choices[0].grid, choices[0].point)
    return choices


def load(study: str) -> Grid:
    """Read a study's grid.

    Raises
    ------
    InputError
        When there is no such study or grid, or a name in it is wrong.
    """
    if study not in studies.NAMES:
        raise InputError(study, f"no such study: {nearest(study, studies.NAMES)}")
    whole = strict.load(studies.grid(study))
    sections = whole.mapping("a grid")
    _check(sections, SECTIONS, "section")
    for section in ("study", "grid"):
        if section not in sections:
            raise InputError(whole.where, f"the section {section!r} is missing")
    if (of := sections["study"].plain()) != study:
        raise InputError(sections["study"].where, f"this file is the grid of {study}, not of {of}")
    empty: dict[str, object] = {"parameters": {}, "profiles": {}, "overrides": [], "exclude": [], "aa": []}
    sections = {name: Located(value, whole.where) for name, value in empty.items()} | sections
    model = studies.load(study).Parameters
    read = {section: _READERS[section](sections[section], model) for section in ("overrides", "exclude", "aa")}
    fixed, products = _fixed(sections["parameters"], model), _products(sections["grid"], model)
    grid = Grid(study, model, fixed, products, **read, profiles=sections["profiles"].mapping("profiles"))
    for name in grid.profiles:
        grid.profile(name)
    return grid


def _fixed(section: Located, model: type[CellParameters]) -> Values:
    fixed = section.mapping("parameters")
    _check(fixed, ("blocks", *model.model_fields), "parameter")
    for name, value in fixed.items():
        if isinstance(value.value, list):
            raise InputError(
                value.where, f"{name} is the same for every cell here: several values belong into the grid"
            )
    return fixed


def _products(section: Located, model: type[CellParameters]) -> tuple[Values, ...]:
    products = tuple(item.mapping("a product of the grid") for item in section.sequence("grid"))
    if not products:
        raise InputError(section.where, "grid has no product")
    for product in products:
        _check(product, model.model_fields, "parameter")
        for name, values in product.items():
            if values.value == []:
                raise InputError(values.where, f"{name} has no value")
    return products


def _overrides(section: Located, model: type[CellParameters]) -> tuple[Override, ...]:
    overrides = []
    for item in section.sequence("overrides"):
        parts = _complete(item, "an override", ("when", "set", "why"))
        override = Override(parts["when"].mapping("when"), parts["set"].mapping("set"))
        _check(override.when, model.model_fields, "parameter")
        _check(override.values, ("blocks", *model.model_fields), "parameter")
        overrides.append(override)
    return tuple(overrides)


def _exclusions(section: Located, model: type[CellParameters]) -> tuple[Exclusion, ...]:
    exclusions = []
    for item in section.sequence("exclude"):
        parts = _complete(item, "an exclusion", ("when", "why"))
        exclusion = Exclusion(parts["when"].mapping("when"), str(parts["why"].plain()))
        _check(exclusion.when, (STAND_IN, *model.model_fields), "parameter")
        exclusions.append(exclusion)
    return tuple(exclusions)


def _second_arms(section: Located, model: type[CellParameters]) -> tuple[Values, ...]:
    conditions = tuple(item.mapping("an A/A cell") for item in section.sequence("aa"))
    for condition in conditions:
        _check(condition, model.model_fields, "parameter")
    return conditions


def _complete(item: Located, what: str, keys: tuple[str, ...]) -> dict[str, Located]:
    """Return the item's parts, which are these, all of them."""
    parts = item.mapping(what)
    _check(parts, keys, "key")
    if missing := [key for key in keys if key not in parts]:
        listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
        raise InputError(item.where, f"{what} has {listed}: {', '.join(missing)} is missing")
    return parts


def _check(given: Values, right: Iterable[str], kind: str) -> None:
    """Refuse the first name that is none of the right ones."""
    names = list(right)
    for name, value in given.items():
        if name not in names:
            raise InputError(value.where, f"no {kind} {name!r}: {nearest(name, names)}")


_READERS: Final[dict[str, Callable[[Located, type[CellParameters]], Any]]] = {
    "grid": _products,
    "if_available": _products,
    "overrides": _overrides,
    "exclude": _exclusions,
    "aa": _second_arms,
}
"""How each section of a profile is read."""


def _option(text: str, option: str, grids: Sequence[Grid]) -> tuple[str, Located]:
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


def _points(grid: Grid, *, as_written: bool) -> list[tuple[Grid, Point, bool]]:
    """Return a grid's points, second arms after first ones, and whether each is left out where its server is not.

    Raises
    ------
    InputError
        When they are too many; of a grid as written, when a point that is to get a second arm is not there.
    """
    wanted = _expanded(grid, grid.products)
    optional = {key: point for key, point in _expanded(grid, grid.if_available).items() if key not in wanted}
    for condition in grid.aa if as_written else ():
        if not any(_matches(point, condition) for point in (*wanted.values(), *optional.values())):
            raise InputError(_where(condition), "no cell of this profile is like that: it cannot get a second arm")
    chosen = []
    for points, may_lack in ((wanted, False), (optional, True)):
        second_arms: dict[str, Point] = {}
        for condition in grid.aa:
            arm = Located("b", _where(condition))
            second_arms |= {key: {**point, "arm": arm} for key, point in points.items() if _matches(point, condition)}
        chosen += [(grid, point, may_lack) for point in (*points.values(), *second_arms.values())]
    return chosen


def _expanded(grid: Grid, products: Iterable[Values]) -> dict[str, Point]:
    """Return the points of some products, each once, what they do not name as the grid has it, else at its default."""
    fields = grid.model.model_fields.items()
    same = {name: Located(field.default, "") for name, field in fields if not field.is_required()} | dict(grid.fixed)
    same.pop("blocks", None)
    products = [{**same, **product} for product in products]
    counts = [math.prod(len(values.values()) for values in product.values()) for product in products]
    if (total := sum(counts)) > POINTS:
        largest = products[counts.index(max(counts))]
        longest = max(largest.values(), key=lambda values: len(values.values()))
        message = f"{total:,} points of the grid: at most {POINTS:,} are taken, so take fewer values"
        raise InputError(longest.where, message)
    points: dict[str, Point] = {}
    for product in products:
        for values in itertools.product(*(values.values() for values in product.values())):
            point = {name: _with_whole_path(name, value) for name, value in zip(product, values, strict=True)}
            for override in grid.overrides:
                if _matches(point, override.when):
                    point |= {name: _with_whole_path(name, value) for name, value in override.values.items()}
            points.setdefault(repr(sorted((name, value.plain()) for name, value in point.items())), point)
    return points


def _where(condition: Values) -> str:
    return next((value.where for value in condition.values()), "aa")


def _matches(point: Values, condition: Values) -> bool:
    """Return whether each parameter of the condition has one of its values, of which 1 is not true."""
    for name, values in condition.items():
        if name not in point:
            return False
        given = point[name].value
        wanted = [_with_whole_path(name, value).value for value in values.values()]
        if not any(value == given and isinstance(value, bool) == isinstance(given, bool) for value in wanted):
            return False
    return True


def _with_whole_path(name: str, value: Located) -> Located:
    """Return a parameter's value; a file's with the whole path, for a cell works in another folder.

    An option's path begins in the working folder, a grid's in the checkout's, wherever the command is given.
    """
    if name != "dataset_file" or not isinstance(value.value, str):
        return value
    try:
        start = Path() if value.where.startswith("--") else paths.root()
        return Located(str((start / value.value).resolve()), value.where)
    # A RuntimeError is a loop of symbolic links.
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(value.where, f"dataset_file: {value.value!r} is no path of a file: {error}") from error


def _choice(grid: Grid, point: Point, optional: bool, set_now: Collection[str]) -> Choice:
    """Return a point with its parameters; where own records or a lane were set, it may be one that cannot take them."""
    try:
        return Choice(grid, point, _validated(grid, point), optional)
    except InputError as error:
        of_records = "dataset_file" in set_now and "dataset_file" in error.message
        # Of a file that cannot be used the message has the name: that is wrong for every cell.
        if of_records and Path(point["dataset_file"].value).name not in error.message:
            changed = {"dataset_file"}
        elif "lane" in set_now and "lane" in error.message:
            changed = {"lane"}.union(*grid.of_lane.values())
        else:
            raise
        before = {name: value for name, value in point.items() if name not in changed}
        return Choice(grid, point, _validated(grid, before), optional, error.message)


def _validated(grid: Grid, point: Point) -> CellParameters:
    """Return the study's parameters.

    Raises
    ------
    InputError
        When the study refuses them, or the file of records that they name cannot be used.
    """
    values = {name: value.plain() for name, value in point.items() if name != "blocks"}
    try:
        parameters = grid.model.model_validate(values)
    except ValidationError as error:
        latest = max((value.where for value in point.values()), key=_lateness)
        where, name, message = strict.mistake(error, Located(point, latest), grid.model)
        raise InputError(where, f"{name} {message}".strip()) from error
    if file := parameters.dataset_file:
        try:
            own_records.checked(file)
        except InputError as error:
            raise InputError(point["dataset_file"].where, str(error)) from error
    return parameters


def _lateness(where: str) -> tuple[bool, int]:
    """Return how late a place has its say: the file's lines in their order, then the options of the command."""
    line = where.rpartition(":")[2]
    return where.startswith("--"), int(line) if line.isdigit() else 0
