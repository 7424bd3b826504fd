"""A study's grid file, every name in it checked, and the points that a profile and a command's options take of it.

A profile's products are multiplied out, overrides applied, second arms added, and the study's own checks made.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from benchbook import paths, rooms, strict, studies
from benchbook.datasets import own_records, record_files
from benchbook.inputs import InputError
from benchbook.lanes import LANES
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


@dataclass(frozen=True)
class Product:
    """Several values for each of some parameters, to be multiplied out, and where alone its points are cells."""

    values: Values
    if_available: bool = False  # where its server, its room and its lane are found
    without: str = ""  # where that lane or room is not found: it stands in for cells of it

    @property
    def may_lack(self) -> bool:
        """Whether its points are cells on some machines alone."""
        return self.if_available or bool(self.without)

    def put(self, parameter: str, value: Located) -> "Product":
        """Return it with other values of a parameter."""
        return replace(self, values={**self.values, parameter: value})


@dataclass(frozen=True)
class Override:
    """Values for all points of which `when` holds, one for each parameter that it sets; ``blocks`` may be one."""

    when: Values
    values: Values


@dataclass(frozen=True)
class Exclusion:
    """Points that are not run although the grid has them, and why."""

    when: Values
    why: str


@dataclass(frozen=True)
class Grid:
    """A study's grid, or a profile's selection from it."""

    study: str
    model: type[CellParameters]
    fixed: Values  # the same for every cell; and ``blocks``
    products: tuple[Product, ...]
    overrides: tuple[Override, ...] = ()  # applied to what the products give, in their order
    exclude: tuple[Exclusion, ...] = ()
    aa: tuple[Values, ...] = ()  # what gets an identical second arm
    profiles: Values = field(default_factory=dict)

    def profile(self, name: str) -> "Grid":
        """Return a profile's selection.

        Raises `InputError` when the grid has no such profile, or a name in it is wrong.
        """
        if name not in self.profiles:
            advice = nearest(name, self.profiles)
            raise InputError(f"--profile {name}", f"the grid of {self.study} has no such profile: {advice}")
        given = dict(self.profiles[name].mapping(f"profile {name}"))
        _check(given, (*_READERS, "blocks", *self.model.model_fields), "parameter")
        sections: dict[str, Any] = {}
        for section in [name for name in _READERS if name in given]:
            sections[section] = _READERS[section](given.pop(section), self.model)
        products = [*sections.pop("grid", self.products)]
        products += [replace(product, if_available=True) for product in sections.pop("if_available", ())]
        grid = replace(self, products=(*products, *sections.pop("without", ())), **sections)
        for parameter, value in given.items():
            grid = grid.put(parameter, value)
        return grid

    def put(self, parameter: str, value: Located) -> "Grid":
        """Return the grid with other values of a parameter: in each product that varies it, else for every cell.

        One that makes sense of any cell is set for all of them.

        Of the implementations (``lane``) those products that have them.
        """
        if parameter == "lane":
            return self._in_lanes(value)
        if parameter == "blocks" or not any(parameter in product.values for product in self.products):
            return replace(self, fixed={**self.fixed, parameter: value})
        products = []
        for product in self.products:
            varies = parameter in product.values or parameter in self.model.anywhere
            products.append(product.put(parameter, value) if varies else product)
        return replace(self, products=tuple(products))

    def _in_lanes(self, lanes: Located) -> "Grid":
        """Return the products of these lanes; for a lane that has none all of them, with its own codecs or drivers."""
        default = self.fixed.get("lane", Located(self.model.model_fields["lane"].default, ""))

        def has(product: Product, lane: Located) -> bool:
            return any(value.value == lane.value for value in product.values.get("lane", default).values())

        def moved(product: Product, lane: Located) -> Product:
            kept = {name: value for name, value in product.values.items() if name not in self.of_a_lane}
            values = self.model.of_lane.get(str(lane.value), {})
            own = {name: replace(lane, value=value) for name, value in values.items()}
            return replace(product, values={**kept, **own, "lane": lane})

        # What stands in for a lane has no say where lanes are chosen.
        products = [product for product in self.products if not product.without]
        chosen: list[Product] = []
        for lane in lanes.values():
            if own := [product for product in products if has(product, lane)]:
                chosen += [product.put("lane", lane) for product in own]
            else:
                chosen += [moved(product, lane) for product in products]
        return replace(self, products=tuple(chosen))

    @property
    def of_a_lane(self) -> set[str]:
        """The parameters of which some lane has values of its own, as codecs."""
        return set().union(*self.model.of_lane.values())

    def set_free(self, parameter: str) -> "Grid":
        """Return the grid without what its overrides say of a parameter."""
        overrides = []
        for override in self.overrides:
            kept = {name: value for name, value in override.values.items() if name != parameter}
            overrides.append(replace(override, values=kept))
        return replace(self, overrides=tuple(overrides))


@dataclass(frozen=True)
class Choice:
    """A point that was asked for; its product says where it is left out.

    So is one that makes no sense with records of one's own, or in a lane that was set: `refused` says why.
    """

    grid: Grid
    point: Point
    parameters: CellParameters
    product: Product
    refused: str | None = None

    @property
    def blocks(self) -> int:
        """In how many blocks it is run: the grid's, unless an override sets them.

        Raises `InputError` when it is not a whole number from 1 to `BLOCKS`.
        """
        given = self.point.get("blocks") or self.grid.fixed.get("blocks", Located(1, self.grid.study))
        if type(given.value) is not int or not 1 <= given.value <= BLOCKS:
            raise InputError(given.where, f"blocks is a whole number from 1 to {BLOCKS:,}, not {given.plain()!r}")
        return given.value

    @property
    def excluded(self) -> str | None:
        """Why the grid does not run it; None when it does."""
        return next((exclusion.why for exclusion in self.grid.exclude if _matches(self.point, exclusion.when)), None)


def choose(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for: as `benchbook.grid.plan`, which see for what it takes and raises."""
    grids = [load(slug) for slug in dict.fromkeys(slugs) or studies.NAMES]
    if not slugs:
        # An installed package's study need not have the profile, unless it is asked for by name.
        grids = [grid for grid in grids if grid.study in studies.SLUGS or profile in grid.profiles]
    grids = [grid.profile(profile) for grid in grids]
    settings = [_option(text, "--set", grids) for text in changes]
    conditions = [_option(text, "--where", grids) for text in where]
    points: list[tuple[Grid, Point, Product]] = []
    for grid in grids:
        for name, value in settings:
            if name == "blocks" or name in grid.model.model_fields:
                # No override changes it back.
                grid = grid.put(name, value).set_free(name)
        points += _points(grid, as_written=not changes)
    unfiltered = points
    for name, value in conditions:
        matching = [given for given in points if _matches(given[1], {name: value})]
        among = unfiltered if matching else points
        for level in value.values():
            if not any(_matches(point, {name: level}) for _, point, _ in among):
                levels = {str(point[name].plain()) for _, point, _ in among if name in point}
                advice = nearest(str(level.plain()), levels)
                raise InputError(value.where, f"no cell is like that: of {name}, {advice}; --set {name}=… adds others")
        points = matching
    names = {name for name, _ in settings}
    choices = [_choice(grid, point, product, names) for grid, point, product in points]
    if choices and all(choice.refused for choice in choices):
        # This raises, with the place that says so.
        _validated(choices[0].grid, choices[0].point)
    return choices


def load(study: str) -> Grid:
    """Read a study's grid; raises `InputError` when there is no such study or grid, or a name in it is wrong."""
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


def _products(section: Located, model: type[CellParameters]) -> tuple[Product, ...]:
    products = tuple(Product(item.mapping("a product of the grid")) for item in section.sequence("grid"))
    if not products:
        raise InputError(section.where, "grid has no product")
    for product in products:
        _check(product.values, model.model_fields, "parameter")
        for name, values in product.values.items():
            if values.value == []:
                raise InputError(values.where, f"{name} has no value")
    return products


def _without(section: Located, model: type[CellParameters]) -> tuple[Product, ...]:
    by_name = section.mapping("without")
    lanes = [lane for lane in LANES if lane != model.model_fields["lane"].default]
    _check(by_name, [*lanes, *(rooms.NAMED if "room" in model.model_fields else ())], "lane or room")
    products: list[Product] = []
    for name, given in by_name.items():
        products += [replace(product, without=name) for product in _products(given, model)]
    return tuple(products)


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
        _check(exclusion.when, model.model_fields, "parameter")
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
    "without": _without,
    "overrides": _overrides,
    "exclude": _exclusions,
    "aa": _second_arms,
}
"""How each section of a profile is read."""


def _option(text: str, option: str, grids: Sequence[Grid]) -> tuple[str, Located]:
    """Return the parameter and the values that an option names."""
    where = f"{option} {text}"
    name, equals, given = text.partition("=")
    names = {name for grid in grids for name in grid.model.model_fields}
    if option == "--set":
        names.add("blocks")
    if not equals or not given:
        raise InputError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
    if name not in names:
        raise InputError(where, f"no parameter {name!r}: {nearest(name, names)}")
    # Not at the commas between braces.
    written = re.split(r",(?![^{]*\})", given)
    for value in written:
        if value.partition("=")[0] in names and "=" in value:
            raise InputError(where, f"{value!r} is another parameter's: write {option} {value} beside it")
    values = [(strict.flow if value.startswith("{") else strict.scalar)(value, where) for value in written]
    return name, Located(values, where) if len(values) > 1 else values[0]


def _points(grid: Grid, *, as_written: bool) -> list[tuple[Grid, Point, Product]]:
    """Return a grid's points, each with the first product that has it, second arms after first ones.

    Those that are always cells come first. Raises `InputError` when they are too many; of a grid as written, when a
    point that is to get a second arm is not there.
    """
    points = _expanded(grid)
    for condition in grid.aa if as_written else ():
        if not any(_matches(point, condition) for point, _ in points):
            raise InputError(_where(condition), "no cell of this profile is like that: it cannot get a second arm")
    chosen = []
    for may_lack in (False, True):
        first = [(grid, point, product) for point, product in points if product.may_lack == may_lack]
        second: dict[int, tuple[Grid, Point, Product]] = {}
        for condition in grid.aa:
            arm = Located("b", _where(condition))
            for place, (_, point, product) in enumerate(first):
                if _matches(point, condition):
                    second[place] = grid, {**point, "arm": arm}, product
        chosen += [*first, *second.values()]
    return chosen


def _expanded(grid: Grid) -> list[tuple[Point, Product]]:
    """Return the points of a grid's products, each once, what they do not name as the grid has it, else at its default.

    One of several products is the first's.
    """
    fields = grid.model.model_fields.items()
    same = {name: Located(field.default, "") for name, field in fields if not field.is_required()} | dict(grid.fixed)
    same.pop("blocks", None)
    whole = [{**same, **product.values} for product in grid.products]
    counts = [math.prod(len(values.values()) for values in values_of.values()) for values_of in whole]
    if (total := sum(counts)) > POINTS:
        largest = whole[counts.index(max(counts))]
        longest = max(largest.values(), key=lambda values: len(values.values()))
        message = f"{total:,} points of the grid: at most {POINTS:,} are taken, so take fewer values"
        raise InputError(longest.where, message)
    points: dict[str, tuple[Point, Product]] = {}
    for values_of, product in zip(whole, grid.products, strict=True):
        for values in itertools.product(*(values.values() for values in values_of.values())):
            point = {name: _in_one_form(name, value) for name, value in zip(values_of, values, strict=True)}
            for override in grid.overrides:
                if _matches(point, override.when):
                    point |= {name: _in_one_form(name, value) for name, value in override.values.items()}
            key = repr(sorted((name, value.plain()) for name, value in point.items()))
            points.setdefault(key, (point, product))
    return [*points.values()]


def _where(condition: Values) -> str:
    return next((value.where for value in condition.values()), "aa")


def _matches(point: Values, condition: Values) -> bool:
    """Return whether each parameter of the condition has one of its values, of which 1 is not true."""
    for name, values in condition.items():
        if name not in point:
            return False
        given = point[name].value
        wanted = [_in_one_form(name, value).value for value in values.values()]
        if not any(value == given and isinstance(value, bool) == isinstance(given, bool) for value in wanted):
            return False
    return True


def _in_one_form(name: str, value: Located) -> Located:
    """Return a parameter's value: a room's one name; a file's with the whole path, for a cell works in another folder.

    An option's path begins in the working folder, a grid's in the checkout's, wherever the command is given.
    """
    if name == "room":
        try:
            return Located(rooms.canonical(value.plain()), value.where)
        except ValueError as error:
            raise InputError(value.where, f"room {error}") from error
    if name != "dataset_file" or not isinstance(value.value, str):
        return value
    try:
        start = Path() if value.where.startswith("--") else paths.root()
        return Located(str((start / value.value).resolve()), value.where)
    # A RuntimeError is a loop of symbolic links.
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(value.where, f"dataset_file: {value.value!r} is no path of a file: {error}") from error


def _choice(grid: Grid, point: Point, product: Product, set_now: set[str]) -> Choice:
    """Return a point with its parameters; one that cannot take own records, a lane or a room that were set says why."""
    try:
        return Choice(grid, point, _validated(grid, point), product)
    except InputError as error:
        of_records = "dataset_file" in set_now and "dataset_file" in error.message
        # Of a file that cannot be used the message has the name: that is wrong for every cell.
        if of_records and record_files.located(point["dataset_file"].value)[0].name not in error.message:
            changed = {"dataset_file"}
        elif "lane" in set_now and "lane" in error.message:
            changed = {"lane", *grid.of_a_lane}
        elif "lane" in error.message and set_now & grid.of_a_lane:
            changed = set_now & grid.of_a_lane
        elif "room" in set_now and error.message.startswith("room"):
            changed = {"room"}
        else:
            raise
        before = {name: value for name, value in point.items() if name not in changed}
        return Choice(grid, point, _validated(grid, before), product, error.message)


def _validated(grid: Grid, point: Point) -> CellParameters:
    """Return the study's parameters.

    Raises `InputError` when the study refuses them, or the file of records that they name cannot be used.
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
