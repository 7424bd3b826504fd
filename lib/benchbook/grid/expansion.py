"""From a profile and a command's options to cells.

A profile's products are multiplied out, overrides applied, A/A checks added, and the study's own
checks made. The cells have no identity and no block yet.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from benchbook.files import yaml_file
from benchbook.files.inputs import InputError
from benchbook.grid.cell_id import digest_records
from benchbook.grid.cells import Cell
from benchbook.grid.grid_file import Grid, ParameterLevels, load_grid, read_level
from benchbook.own_data import record_files
from benchbook.studies.catalogue import SLUGS, STUDIES
from benchbook.studies.cell import CellParameters
from benchbook.text.suggestions import suggest_name

MAX_COMBINATIONS: Final = 10_000
"""Of a study's grid; the papers' have some hundreds."""

Options: TypeAlias = Sequence[str] | Mapping[str, Sequence[Any]]
"""Levels by parameter: ``NAME=VALUE,...`` as a user writes them, or as objects."""


class ConflictError(InputError):
    """Levels that are right each, but not together, or not in this study."""


@dataclass(frozen=True)
class GridProduct:
    """One or several levels for each of some parameters, to be multiplied out."""

    levels: ParameterLevels
    # The file and line, or the option, that has it.
    where: str
    # Its cells are run where their server, network and language are found.
    if_available: bool = False
    # Its cells are run where this language or network is not found.
    without: str = ""

    def put(self, parameter: str, levels: tuple[Any, ...], where: str) -> "GridProduct":
        """Return the product with other levels of a parameter."""
        return replace(self, levels={**self.levels, parameter: levels}, where=where)


@dataclass(frozen=True)
class Selection:
    """What a profile selects from a study's grid."""

    grid: Grid
    profile: str
    # The same for every cell; and ``blocks``.
    fixed: ParameterLevels
    products: tuple[GridProduct, ...] = ()

    @property
    def model(self) -> type[CellParameters]:
        """The study's parameters."""
        return self.grid.model

    def section(self, name: str) -> Any:
        """Return a section of the profile, or the grid's if the profile has none."""
        profile = self.grid.profile(self.profile)
        file = profile if name in profile.model_fields_set else self.grid.file
        return getattr(file, name)

    def where(self, section: str, part: int | str) -> str:
        """Return the file and the line of a part of a section."""
        is_in_profile = section in self.grid.profile(self.profile).model_fields_set
        above = ("profiles", self.profile) if is_in_profile else ()
        return self.grid.document.locate((*above, section, part))

    def put(self, parameter: str, levels: tuple[Any, ...], where: str) -> "Selection":
        """Return the selection with other levels of a parameter.

        The products that vary it get them; if none does, all get them. A parameter that suits any
        cell is set for all products, and a language for the products that have it.
        """
        if parameter == "language":
            return self._put_languages(levels, where)
        if parameter == "blocks":
            return replace(self, fixed={**self.fixed, parameter: levels})
        is_varied = any(parameter in product.levels for product in self.products)
        for_all = parameter in self.model.general_parameters or not is_varied
        products = []
        for product in self.products:
            changes = for_all or parameter in product.levels
            products.append(product.put(parameter, levels, where) if changes else product)
        return replace(self, products=tuple(products))

    def _put_languages(self, languages: tuple[Any, ...], where: str) -> "Selection":
        """Return the products of these languages.

        A language without a product gets all products, with its own codecs or drivers.
        """
        default = self.fixed.get("language", (self.model.model_fields["language"].default,))
        # A fallback for a missing language is not needed where languages are chosen.
        products = [product for product in self.products if not product.without]
        chosen: list[GridProduct] = []
        for language in languages:
            own = [one for one in products if language in one.levels.get("language", default)]
            chosen += [product.put("language", (language,), where) for product in own]
            if own:
                continue
            own_levels = self.model.language_levels.get(language, {}).items()
            codecs = {name: (level,) for name, level in own_levels}
            for product in products:
                levels = dict(product.levels)
                for name in list_language_parameters(self.model):
                    levels.pop(name, None)
                levels |= codecs | {"language": (language,)}
                chosen.append(replace(product, levels=levels, where=where))
        return replace(self, products=tuple(chosen))

    def defaults(self) -> ParameterLevels:
        """Return the levels of the parameters that a product does not name."""
        levels: ParameterLevels = {}
        for name, field in self.model.model_fields.items():
            if not field.is_required():
                levels[name] = (field.default,)
        return levels | self.fixed

    def levels(self) -> dict[str, list[Any]]:
        """Return the levels of each parameter, and of the number of blocks, over all products."""
        found: dict[str, list[Any]] = {}
        for product in self.products:
            for name, levels in (self.defaults() | product.levels).items():
                known = found.setdefault(name, [])
                known += [level for level in levels if level not in known]
        return found


def list_language_parameters(model: type[CellParameters]) -> set[str]:
    """Return the parameters of which some language has levels of its own, such as codecs."""
    return set().union(*model.language_levels.values())


def has_levels(levels: Mapping[str, Any], condition: ParameterLevels) -> bool:
    """Return whether each parameter of a condition has one of its levels."""
    for name, wanted in condition.items():
        if name not in levels or levels[name] not in wanted:
            return False
    return True


def split_levels(parameter: str, text: str) -> list[str]:
    """Return the levels that an option lists, separated by commas.

    The name of an existing file may have commas.
    """
    # Commas between braces separate nothing.
    parts = re.split(r",(?![^{]*\})", text)
    if parameter != "dataset_file":
        return parts
    files = []
    while parts:
        # The longest name that a file has.
        count = len(parts)
        while count > 1 and not record_files.is_file(",".join(parts[:count])):
            count -= 1
        files.append(",".join(parts[:count]))
        parts = parts[count:]
    return files


@dataclass(frozen=True)
class CommandOption:
    """``NAME=VALUE,...`` of a command's ``--set`` or ``--where``."""

    name: str
    values: tuple[Any, ...]
    where: str

    @classmethod
    def read(
        cls, text: str, option: str, models: Sequence[type[CellParameters]]
    ) -> "CommandOption":
        """Read an option; raises `InputError` when its form or its name is wrong."""
        where = f"{option} {text}"
        name, _, values = text.partition("=")
        names = set[str]().union(*(model.model_fields for model in models))
        if option == "--set":
            names.add("blocks")
        if not values:
            raise InputError(where, f"write {option} NAME=VALUE or {option} NAME=VALUE,VALUE")
        if name not in names:
            raise InputError(where, f"no parameter {name!r}: {suggest_name(name, names)}")
        parts = split_levels(name, values)
        for part in parts:
            other, equals, _ = part.partition("=")
            if equals and other in names:
                reason = f"{part!r} is another parameter's: write {option} {part} beside it"
                raise InputError(where, reason)
        return cls(name, tuple(_read_value(part, where) for part in parts), where)

    def put(self, selection: Selection) -> Selection:
        """Return the selection with this setting."""
        if self.name != "blocks" and self.name not in selection.model.model_fields:
            return selection
        levels = self.values
        # A study need not have every language: its cells are skipped with the reason.
        if self.name != "language":
            try:
                levels = tuple(
                    read_level(selection.model, self.name, value) for value in self.values
                )
            except ValidationError as error:
                _, reason = yaml_file.explain_error(error, {self.name: self.values[0]})
                raise InputError(self.where, reason) from error
        return selection.put(self.name, levels, self.where)

    def fits(self, cell: Cell, value: object) -> bool:
        """Return whether a cell has a value; never one that its study does not take."""
        with suppress(ValidationError):
            level = read_level(type(cell.parameters), self.name, value)
            return has_levels(vars(cell.parameters), {self.name: (level,)})
        return False

    def filter(self, cells: list[Cell], every: list[Cell], profile: str) -> list[Cell]:
        """Return the cells with one of the values.

        Raises `InputError` when a value has no cell among `every`, the profile's.
        """
        matching = [cell for cell in cells if any(self.fits(cell, value) for value in self.values)]
        candidates = every if matching else cells
        for value in self.values:
            if not any(self.fits(cell, value) for cell in candidates):
                reason = self._explain_absence(value, cells, every, profile)
                raise InputError(self.where, reason)
        return matching

    def _explain_absence(
        self, value: object, cells: Sequence[Cell], every: Sequence[Cell], profile: str
    ) -> str:
        """Return why no cell of `cells`, which other conditions left of `every`, has a value."""
        if any(self.fits(cell, value) for cell in every):
            return f"no cell is like that: {self.name}={value} is not with the other --where"
        stated = [vars(cell.parameters) for cell in cells]
        known = dict.fromkeys(str(levels[self.name]) for levels in stated if self.name in levels)
        for model in {type(cell.parameters) for cell in cells}:
            with suppress(ValidationError):
                read_level(model, self.name, value)
                added = ",".join([*known, str(value)])
                return (
                    f"the profile {profile} has no {self.name}={value}; "
                    f"--set {self.name}={added} adds it"
                )
        return f"no cell is like that: of {self.name}, {suggest_name(str(value), known)}"


def select(grid: Grid, profile: str) -> Selection:
    """Return the selection of a profile; raises `InputError` when the grid does not have it."""
    selection = Selection(grid, profile, grid.file.parameters)
    products = []
    for section in ("grid", "if_available"):
        for number, levels in enumerate(selection.section(section)):
            where = selection.where(section, number)
            products.append(GridProduct(levels, where, if_available=section == "if_available"))
    for name, fallbacks in selection.section("without").items():
        where = selection.where("without", name)
        products += [GridProduct(levels, where, without=name) for levels in fallbacks]
    selection = replace(selection, products=tuple(products))
    for name, levels in grid.profile(profile).settings.items():
        selection = selection.put(name, levels, grid.document.locate(("profiles", profile, name)))
    return selection


def list_levels(study: str, profile: str) -> dict[str, list[Any]]:
    """Return the levels of each parameter in a profile of a study, and of the number of blocks."""
    return select(load_grid(study), profile).levels()


def choose_cells(
    slugs: Iterable[str], profile: str, where: Options, changes: Options
) -> list[Cell]:
    """Return the cells that a command asks for, before they have an identity and a block.

    Arguments and errors are those of `benchbook.grid.make_plan`. A cell that refuses what the
    command set says why.
    """
    grids = [load_grid(slug) for slug in dict.fromkeys(slugs) or STUDIES]
    if not slugs:
        # A plug-in's study need not have the profile, unless it is asked for by name.
        grids = [grid for grid in grids if grid.study in SLUGS or profile in grid.profiles]
    selections = [select(grid, profile) for grid in grids]
    models = [selection.model for selection in selections]
    settings = _read_options(changes, "--set", models)
    conditions = _read_options(where, "--where", models)

    set_names = {option.name for option in settings}
    every: list[Cell] = []
    for selection in selections:
        for option in settings:
            selection = option.put(selection)
        every += _add_aa_checks(selection, _multiply(selection, set_names), as_written=not changes)
    cells = every
    for option in conditions:
        cells = option.filter(cells, every, profile)
    return [_check_or_refuse(cell, set_names) for cell in cells]


def write_options(options: Options) -> list[str]:
    """Return options as a user writes them."""
    if not isinstance(options, Mapping):
        return [*options]
    return [f"{name}={','.join(map(str, levels))}" for name, levels in options.items()]


def _read_options(
    given: Options, option: str, models: Sequence[type[CellParameters]]
) -> list[CommandOption]:
    """Return the values of an option, ``--set`` or ``--where``."""
    if not isinstance(given, Mapping):
        return [CommandOption.read(text, option, models) for text in given]
    options = []
    for (name, levels), text in zip(given.items(), write_options(given), strict=True):
        options.append(CommandOption(name, tuple(levels), f"{option} {text}"))
    return options


def _read_value(text: str, where: str) -> object:
    """Return the value of a plain scalar, or of names with values between braces."""
    if not text.startswith("{"):
        return yaml_file.read_scalar(text, where)
    try:
        return yaml_file.parse_yaml(text, where).value
    except InputError as error:
        # An option has no lines.
        raise InputError(where, error.message) from error


def _multiply(selection: Selection, set_names: set[str]) -> list[Cell]:
    """Return the cells of the products, each once: a cell of several products is the first's.

    Their parameters are not validated yet.
    """
    whole = [selection.defaults() | product.levels for product in selection.products]
    counts = [math.prod(map(len, levels.values())) for levels in whole]
    if sum(counts) > MAX_COMBINATIONS:
        largest = selection.products[counts.index(max(counts))]
        raise InputError(
            largest.where,
            f"{sum(counts):,} points of the grid: at most {MAX_COMBINATIONS:,} are taken, "
            "so take fewer values",
        )

    cells: dict[str, Cell] = {}
    for levels, product in zip(whole, selection.products, strict=True):
        for values in itertools.product(*levels.values()):
            combination = dict(zip(levels, values, strict=True))
            cell = _make_cell(selection, product, combination, set_names)
            cells.setdefault(repr(sorted(vars(cell.parameters).items())), cell)
    return [*cells.values()]


def _make_cell(
    selection: Selection, product: GridProduct, levels: dict[str, Any], set_names: set[str]
) -> Cell:
    """Return a cell of a product, with the overrides whose conditions it meets.

    No override changes what the command sets.
    """
    # Parameters of other data than the user's have their defaults. What the command sets stays, and
    # the study says that it does not fit.
    if levels.get("dataset_file"):
        for name in selection.model.data_parameters & levels.keys() - set_names:
            levels[name] = selection.model.model_fields[name].default

    where = product.where
    for number, override in enumerate(selection.section("overrides")):
        names = override.set.keys() - set_names
        if names and has_levels(levels, override.when):
            levels |= {name: override.set[name][0] for name in names}
            where = selection.where("overrides", number)
    return Cell(
        selection.grid.study,
        blocks=levels.pop("blocks", 1),
        blocks_per_day=levels.pop("blocks_per_day", None),
        parameters=selection.model.model_construct(**levels),
        where=where,
        if_available=product.if_available,
        without=product.without,
    )


def _add_aa_checks(selection: Selection, cells: list[Cell], *, as_written: bool) -> list[Cell]:
    """Return the cells, a second one for each that an A/A check measures twice, and exclusions.

    Cells that every machine runs come first. Raises `InputError` when an A/A check of a grid as
    written has no cell.
    """
    second: dict[int, Cell] = {}
    for number, condition in enumerate(selection.section("aa")):
        checked = [cell for cell in cells if has_levels(vars(cell.parameters), condition)]
        if as_written and not checked:
            reason = "no cell of this profile is like that: it cannot have an A/A check"
            raise InputError(selection.where("aa", number), reason)
        for cell in checked:
            parameters = cell.parameters.model_copy(update={"arm": "b"})
            second[id(cell)] = replace(cell, parameters=parameters)
    every = [*cells, *second.values()]
    chosen = sorted(every, key=lambda cell: cell.if_available or cell.without != "")
    return [_exclude(selection, cell) for cell in chosen]


def _exclude(selection: Selection, cell: Cell) -> Cell:
    """Return a cell, with the reason of the first exclusion that it meets."""
    for exclusion in selection.section("exclude"):
        if has_levels(vars(cell.parameters), exclusion.when):
            return replace(cell, missing=exclusion.why)
    return cell


def _check_or_refuse(cell: Cell, set_names: set[str]) -> Cell:
    """Return a cell with validated parameters, or why it refuses what the command set.

    A cell that fails with the records, language or network that were set, and not without them,
    is one that refuses them.
    """
    levels = vars(cell.parameters)
    try:
        return replace(cell, parameters=_validate(cell, levels))
    except ConflictError as error:
        language_parameters = list_language_parameters(type(cell.parameters))
        groups = {
            "dataset_file": {"dataset_file"},
            "language": {"language", *language_parameters},
            "network": {"network"},
        }
        for name in language_parameters:
            groups[name] = language_parameters & set_names
        for option, names in groups.items():
            if option not in set_names:
                continue
            before = {name: level for name, level in levels.items() if name not in names}
            with suppress(ConflictError):
                return replace(cell, parameters=_validate(cell, before), refused=error.message)
        raise


def _validate(cell: Cell, levels: Mapping[str, Any]) -> CellParameters:
    """Return the parameters of a cell that the study takes.

    Raises `ConflictError` when the study refuses the levels together, and `InputError` when the
    user's records cannot be used.
    """
    try:
        parameters = type(cell.parameters).model_validate(levels)
    except ValidationError as error:
        place, reason = yaml_file.explain_error(error, levels)
        kind = ConflictError if place in ((), ("language",)) else InputError
        raise kind(cell.where, reason) from error
    try:
        digest_records(parameters)
    except InputError as error:
        raise InputError(cell.where, str(error)) from error
    return parameters
