"""The points that a profile and a command's options take of a study's grid.

A profile's products are multiplied out, overrides applied, second arms added, and the study's own checks made.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from benchbook import strict, studies
from benchbook.datasets import own_records
from benchbook.grid.grid_file import Grid, ParameterLevels, load, read_level
from benchbook.inputs import InputError
from benchbook.strict import nearest
from benchbook.studies.cell import CellParameters

POINTS: Final = 10_000
"""Points of the largest grid of a study; the papers' have some hundreds."""


class ConflictError(InputError):
    """Values of parameters that are right each, but not together, or not in this study."""


@dataclass(frozen=True)
class GridProduct:
    """One or several levels for each of some parameters, to be multiplied out."""

    levels: ParameterLevels
    where: str  # the file and line, or the option, that says so
    if_available: bool = False  # its points are cells where its server, its network and its language are found
    without: str = ""  # its points are cells where that language or network is not found

    @property
    def is_conditional(self) -> bool:
        """Whether its points are cells on some machines alone."""
        return self.if_available or bool(self.without)

    def put(self, parameter: str, levels: tuple[Any, ...], where: str) -> "GridProduct":
        """Return the product with other levels of a parameter."""
        return replace(self, levels={**self.levels, parameter: levels}, where=where)


@dataclass(frozen=True)
class Selection:
    """What a profile selects from a study's grid."""

    grid: Grid
    profile: str
    fixed: ParameterLevels  # the same for every cell; and ``blocks``
    products: tuple[GridProduct, ...] = ()
    pinned: frozenset[str] = frozenset()  # parameters that a command sets: no override changes them

    @property
    def model(self) -> type[CellParameters]:
        """The study's parameters."""
        return self.grid.model

    def section(self, name: str) -> Any:
        """Return a section of the profile, or the grid's where the profile has none."""
        profile = self.grid.profile(self.profile)
        return getattr(profile if name in profile.model_fields_set else self.grid.file, name)

    def where(self, section: str, part: int | str) -> str:
        """Return the file and the line of a part of a section."""
        inside = section in self.grid.profile(self.profile).model_fields_set
        return self.grid.document.where((*(("profiles", self.profile) if inside else ()), section, part))

    def put(self, parameter: str, levels: tuple[Any, ...], where: str) -> "Selection":
        """Return the selection with other levels of a parameter.

        Products that vary it get them, else all. A parameter that makes sense of any cell is set for all of them, and
        a language for the products that have it.
        """
        if parameter == "language":
            return self._select_languages(levels, where)
        if parameter == "blocks":
            return replace(self, fixed={**self.fixed, parameter: levels})
        varies = [parameter in product.levels for product in self.products]
        everywhere = parameter in self.model.anywhere or not any(varies)
        products = [
            product.put(parameter, levels, where) if everywhere or of_product else product
            for product, of_product in zip(self.products, varies, strict=True)
        ]
        return replace(self, products=tuple(products))

    def _select_languages(self, languages: tuple[Any, ...], where: str) -> "Selection":
        """Return the products of these languages; for a language without one all, with its own codecs or drivers."""
        default = self.fixed.get("language", (self.model.model_fields["language"].default,))
        # A product that stands in for a language has no say where languages are chosen.
        products = [product for product in self.products if not product.without]
        chosen: list[GridProduct] = []
        for language in languages:
            own = [product for product in products if language in product.levels.get("language", default)]
            codecs = {name: (level,) for name, level in self.model.language_levels.get(language, {}).items()}
            for product in own or products:
                levels = product.levels
                if not own:
                    kept = {name: level for name, level in levels.items() if name not in self.language_parameters}
                    levels = {**kept, **codecs}
                chosen.append(replace(product, levels={**levels, "language": (language,)}, where=where))
        return replace(self, products=tuple(chosen))

    @property
    def language_parameters(self) -> set[str]:
        """The parameters of which some language has values of its own, as codecs."""
        return set().union(*self.model.language_levels.values())

    def levels(self) -> dict[str, list[Any]]:
        """Return the levels of each parameter, and of the number of blocks, over all products."""
        found: dict[str, list[Any]] = {}
        for product in self.products:
            for name, levels in (_defaults(self) | product.levels).items():
                known = found.setdefault(name, [])
                known += [level for level in levels if level not in known]
        return found


@dataclass(frozen=True)
class Choice:
    """A point that was asked for; its product says where it is left out.

    So is one that makes no sense with own records, or in a language that was set: `refused` says why.
    """

    study: str
    parameters: CellParameters
    product: GridProduct
    where: str  # what gave it its values last
    blocks: int
    excluded: str | None  # why the grid does not run it
    refused: str | None = None


def select(grid: Grid, profile: str) -> Selection:
    """Return what a profile selects; raises `InputError` when the grid has no such profile."""
    selection = Selection(grid, profile, grid.file.parameters)
    products = []
    for section in ("grid", "if_available"):
        for number, levels in enumerate(selection.section(section)):
            products.append(GridProduct(levels, selection.where(section, number), section == "if_available"))
    for name, fallbacks in selection.section("without").items():
        products += [GridProduct(levels, selection.where("without", name), without=name) for levels in fallbacks]
    selection = replace(selection, products=tuple(products))
    for name, levels in grid.profile(profile).settings.items():
        selection = selection.put(name, levels, grid.document.where(("profiles", profile, name)))
    return selection


def choose(slugs: Iterable[str], profile: str, where: Sequence[str], changes: Sequence[str]) -> list[Choice]:
    """Return the points that were asked for: as `benchbook.grid.plan`, which see for what it takes and raises."""
    grids = [load(slug) for slug in dict.fromkeys(slugs) or studies.NAMES]
    if not slugs:
        # An installed package's study need not have the profile, unless it is asked for by name.
        grids = [grid for grid in grids if grid.study in studies.SLUGS or profile in grid.profiles]
    selections = [select(grid, profile) for grid in grids]
    models = [selection.model for selection in selections]
    settings = [CommandOption.of(written, "--set", models) for written in changes]
    conditions = [CommandOption.of(written, "--where", models) for written in where]
    points: list[Point] = []
    for selection in selections:
        for option in settings:
            selection = option.put(selection)
        points += _points(selection, as_written=not changes)
    every = points
    for option in conditions:
        points = option.filter(points, every)
    return [_choice(point, {option.name for option in settings}) for point in points]


@dataclass(frozen=True)
class Point:
    """A level for each parameter, before the study's own checks."""

    selection: Selection
    values: dict[str, Any]
    product: GridProduct
    where: str

    def matches(self, condition: ParameterLevels) -> bool:
        """Return whether each parameter of the condition has one of its levels."""
        return all(name in self.values and self.values[name] in levels for name, levels in condition.items())


@dataclass(frozen=True)
class CommandOption:
    """``NAME=VALUE,...`` of a command's ``--set`` or ``--where``."""

    name: str
    values: tuple[Any, ...]
    where: str

    @classmethod
    def of(cls, written: str, option: str, models: Sequence[type[CellParameters]]) -> "CommandOption":
        """Read an option; raises `InputError` when its form or its name is wrong."""
        where = f"{option} {written}"
        name, _, given = written.partition("=")
        names = {name for model in models for name in model.model_fields}
        if option == "--set":
            names.add("blocks")
        if not given:
            raise InputError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
        if name not in names:
            raise InputError(where, f"no parameter {name!r}: {nearest(name, names)}")
        # Not at the commas between braces.
        texts = re.split(r",(?![^{]*\})", given)
        for text in texts:
            other, equals, _ = text.partition("=")
            if equals and other in names:
                raise InputError(where, f"{text!r} is another parameter's: write {option} {text} beside it")
        values = [_read_value(text, where) for text in texts]
        return cls(name, tuple(values), where)

    def put(self, selection: Selection) -> Selection:
        """Return the selection with this setting."""
        if self.name != "blocks" and self.name not in selection.model.model_fields:
            return selection
        levels = self.values
        # A study need not have every language: its cells are left out with the reason.
        if self.name != "language":
            try:
                levels = tuple(read_level(selection.model, self.name, value) for value in self.values)
            except ValidationError as error:
                raise InputError(self.where, strict.explain(error, {self.name: self.values[0]})[1]) from error
        return replace(selection, pinned=selection.pinned | {self.name}).put(self.name, levels, self.where)

    def fits(self, point: Point, value: object) -> bool:
        """Return whether a point has one of the values; a value that its study does not take, it does not have."""
        with suppress(ValidationError):
            return point.matches({self.name: (read_level(point.selection.model, self.name, value),)})
        return False

    def filter(self, points: list[Point], every: list[Point]) -> list[Point]:
        """Return the points with one of the values; raises `InputError` when a value has no point, of `every`."""
        matching = [point for point in points if any(self.fits(point, value) for value in self.values)]
        among = every if matching else points
        for value in self.values:
            if not any(self.fits(point, value) for point in among):
                known = {str(point.values[self.name]) for point in among if self.name in point.values}
                advice = f"of {self.name}, {nearest(str(value), known)}; --set {self.name}=… adds others"
                raise InputError(self.where, f"no cell is like that: {advice}")
        return matching


def _read_value(written: str, where: str) -> object:
    """Return the value of a plain scalar, or of names with values between braces."""
    if not written.startswith("{"):
        return strict.scalar(written, where)
    try:
        return strict.parse(written, where).value
    except InputError as error:
        # An option has no lines.
        raise InputError(where, error.message) from error


def _points(selection: Selection, *, as_written: bool) -> list[Point]:
    """Return a selection's points, second arms after first ones; those that are always cells come first.

    Raises `InputError` when they are too many; of a grid as written, when a point that is to get a second arm is not
    there.
    """
    points = list(_expanded(selection))
    conditions = selection.section("aa")
    for number, condition in enumerate(conditions if as_written else ()):
        if not any(point.matches(condition) for point in points):
            reason = "no cell of this profile is like that: it cannot get a second arm"
            raise InputError(selection.where("aa", number), reason)
    chosen = []
    for is_conditional in (False, True):
        first = [point for point in points if point.product.is_conditional == is_conditional]
        second: dict[int, Point] = {}
        for condition in conditions:
            for number, point in enumerate(first):
                if point.matches(condition):
                    second[number] = replace(point, values={**point.values, "arm": "b"})
        chosen += [*first, *second.values()]
    return chosen


def _defaults(selection: Selection) -> ParameterLevels:
    """Return the levels of the parameters that a product does not name."""
    fields = selection.model.model_fields.items()
    return {name: (field.default,) for name, field in fields if not field.is_required()} | selection.fixed


def _expanded(selection: Selection) -> Iterator[Point]:
    """Yield the points of the products, each once: one of several products is the first's."""
    whole = [_defaults(selection) | product.levels for product in selection.products]
    counts = [math.prod(map(len, levels.values())) for levels in whole]
    if (total := sum(counts)) > POINTS:
        largest = selection.products[counts.index(max(counts))]
        message = f"{total:,} points of the grid: at most {POINTS:,} are taken, so take fewer values"
        raise InputError(largest.where, message)
    seen = set()
    overrides = selection.section("overrides")
    for levels, product in zip(whole, selection.products, strict=True):
        for values in itertools.product(*levels.values()):
            point = Point(selection, dict(zip(levels, values, strict=True)), product, product.where)
            for number, override in enumerate(overrides):
                changed = {name: level for name, (level,) in override.set.items() if name not in selection.pinned}
                if changed and point.matches(override.when):
                    point = replace(point, values=point.values | changed, where=selection.where("overrides", number))
            key = repr(sorted(point.values.items()))
            if key not in seen:
                seen.add(key)
                yield point


def _choice(point: Point, set_now: set[str]) -> Choice:
    """Return a point with its parameters, or why it refuses the records, language or network that was set now."""
    try:
        return _checked(point)
    except ConflictError as error:
        language_parameters = point.selection.language_parameters
        groups = {
            "dataset_file": {"dataset_file"},
            "language": {"language", *language_parameters},
            "network": {"network"},
        }
        groups |= dict.fromkeys(language_parameters, language_parameters & set_now)
        for changed in [names for name, names in groups.items() if name in set_now]:
            before = {name: value for name, value in point.values.items() if name not in changed}
            try:
                return replace(_checked(replace(point, values=before)), refused=error.message, where=error.where)
            except ConflictError:
                continue
        raise


def _checked(point: Point) -> Choice:
    """Return a point that the study takes.

    Raises `ConflictError` when the study refuses the values together, and `InputError` when the file of records that
    they name cannot be used.
    """
    values = dict(point.values)
    blocks = values.pop("blocks", 1)
    try:
        parameters = point.selection.model.model_validate(values)
    except ValidationError as error:
        place, reason = strict.explain(error, values)
        raise (ConflictError if place in ((), ("language",)) else InputError)(point.where, reason) from error
    if parameters.dataset_file:
        try:
            own_records.checked(parameters.dataset_file)
        except InputError as error:
            raise InputError(point.where, str(error)) from error
    exclude = point.selection.section("exclude")
    excluded = next((exclusion.why for exclusion in exclude if point.matches(exclusion.when)), None)
    return Choice(point.selection.grid.study, parameters, point.product, point.where, blocks, excluded)
