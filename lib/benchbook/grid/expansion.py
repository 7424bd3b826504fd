"""From a profile and a command's options to chosen cells.

A profile's products are multiplied out, overrides applied, A/A checks added, and the study's own
checks made.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from benchbook.files import yaml_file
from benchbook.files.inputs import InputError
from benchbook.grid.cell_id import digest_records
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

    @property
    def is_conditional(self) -> bool:
        """Whether its cells are run on some machines only."""
        return self.if_available or bool(self.without)

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
    # Parameters that a command sets: no override changes them.
    pinned: frozenset[str] = frozenset()

    @property
    def model(self) -> type[CellParameters]:
        """The study's parameters."""
        return self.grid.model

    @property
    def language_parameters(self) -> set[str]:
        """The parameters of which some language has levels of its own, such as codecs."""
        return set().union(*self.model.language_levels.values())

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
                for name in self.language_parameters:
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


@dataclass(frozen=True)
class UncheckedCell:
    """A level for each parameter, before the study's own checks."""

    selection: Selection
    levels: dict[str, Any]
    product: GridProduct
    where: str

    def matches(self, condition: ParameterLevels) -> bool:
        """Return whether each parameter of the condition has one of its levels."""
        for name, levels in condition.items():
            if name not in self.levels or self.levels[name] not in levels:
                return False
        return True


@dataclass(frozen=True)
class ChosenCell:
    """A cell that was asked for, before it has an identity and a block."""

    study: str
    parameters: CellParameters
    product: GridProduct
    # What gave it its levels last.
    where: str
    blocks: int
    # The most on a machine-day of a run until claims are decided; None: as its duration allows.
    blocks_per_day: int | None
    # Why the grid does not run it.
    excluded: str | None
    # Why it does not take the user's records, or a language that was set.
    refused: str | None = None


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
        pinned = replace(selection, pinned=selection.pinned | {self.name})
        return pinned.put(self.name, levels, self.where)

    def fits(self, cell: UncheckedCell, value: object) -> bool:
        """Return whether a cell has a value; never one that its study does not take."""
        with suppress(ValidationError):
            level = read_level(cell.selection.model, self.name, value)
            return cell.matches({self.name: (level,)})
        return False

    def filter(self, cells: list[UncheckedCell], every: list[UncheckedCell]) -> list[UncheckedCell]:
        """Return the cells with one of the values.

        Raises `InputError` when a value has no cell among `every`.
        """
        matching = [cell for cell in cells if any(self.fits(cell, value) for value in self.values)]
        candidates = every if matching else cells
        for value in self.values:
            if not any(self.fits(cell, value) for cell in candidates):
                raise InputError(self.where, self._explain_absence(value, cells, every))
        return matching

    def _explain_absence(
        self, value: object, cells: Sequence[UncheckedCell], every: Sequence[UncheckedCell]
    ) -> str:
        """Return why no cell of `cells`, which other conditions left of `every`, has a value."""
        if any(self.fits(cell, value) for cell in every):
            return f"no cell is like that: {self.name}={value} is not with the other --where"
        levels = [cell.levels[self.name] for cell in cells if self.name in cell.levels]
        known = dict.fromkeys(map(str, levels))
        for selection in {cell.selection.grid.study: cell.selection for cell in cells}.values():
            with suppress(ValidationError):
                read_level(selection.model, self.name, value)
                added = ",".join([*known, str(value)])
                return (
                    f"the profile {selection.profile} has no {self.name}={value}; "
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


def choose_cells(
    slugs: Iterable[str], profile: str, where: Options, changes: Options
) -> list[ChosenCell]:
    """Return the chosen cells; arguments and errors are those of `benchbook.grid.make_plan`."""
    grids = [load_grid(slug) for slug in dict.fromkeys(slugs) or STUDIES]
    if not slugs:
        # A plug-in's study need not have the profile, unless it is asked for by name.
        grids = [grid for grid in grids if grid.study in SLUGS or profile in grid.profiles]
    selections = [select(grid, profile) for grid in grids]
    models = [selection.model for selection in selections]
    settings = _read_options(changes, "--set", models)
    conditions = _read_options(where, "--where", models)

    every: list[UncheckedCell] = []
    for selection in selections:
        for option in settings:
            selection = option.put(selection)
        every += _add_aa_checks(selection, as_written=not changes)
    cells = every
    for option in conditions:
        cells = option.filter(cells, every)
    names = {option.name for option in settings}
    return [_check_or_refuse(cell, names) for cell in cells]


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


def _add_aa_checks(selection: Selection, *, as_written: bool) -> list[UncheckedCell]:
    """Return a selection's cells, and a second one for each that an A/A check measures twice.

    Cells that every machine runs come first. Raises `InputError` when there are too many, or when
    an A/A check of a grid as written has no cell.
    """
    cells = list(_multiply(selection))
    conditions = selection.section("aa")
    for number, condition in enumerate(conditions if as_written else ()):
        if not any(cell.matches(condition) for cell in cells):
            reason = "no cell of this profile is like that: it cannot have an A/A check"
            raise InputError(selection.where("aa", number), reason)
    chosen = []
    for is_conditional in (False, True):
        first = [cell for cell in cells if cell.product.is_conditional == is_conditional]
        second: dict[int, UncheckedCell] = {}
        for condition in conditions:
            for number, cell in enumerate(first):
                if cell.matches(condition):
                    second[number] = replace(cell, levels={**cell.levels, "arm": "b"})
        chosen += [*first, *second.values()]
    return chosen


def _multiply(selection: Selection) -> Iterator[UncheckedCell]:
    """Yield the cells of the products, each once: a cell of several products is the first's."""
    whole = [selection.defaults() | product.levels for product in selection.products]
    counts = [math.prod(map(len, levels.values())) for levels in whole]
    if sum(counts) > MAX_COMBINATIONS:
        largest = selection.products[counts.index(max(counts))]
        raise InputError(
            largest.where,
            f"{sum(counts):,} points of the grid: at most {MAX_COMBINATIONS:,} are taken, "
            "so take fewer values",
        )

    # Each combination of levels, with the grid's overrides.
    seen = set()
    for levels, product in zip(whole, selection.products, strict=True):
        for values in itertools.product(*levels.values()):
            named = dict(zip(levels, values, strict=True))
            if named.get("dataset_file"):
                named = _reset_data_parameters(selection, named)
            cell = _override(UncheckedCell(selection, named, product, product.where))
            key = repr(sorted(cell.levels.items()))
            if key not in seen:
                seen.add(key)
                yield cell


def _reset_data_parameters(selection: Selection, levels: dict[str, object]) -> dict[str, object]:
    """Return the levels of a cell with own records: parameters of other data have their defaults.

    What the command sets stays, and the study says that it does not fit.
    """
    fields = selection.model.model_fields
    names = selection.model.data_parameters & levels.keys() - selection.pinned
    return levels | {name: fields[name].default for name in names}


def _override(cell: UncheckedCell) -> UncheckedCell:
    """Return a cell with the levels of the overrides whose conditions it meets."""
    selection = cell.selection
    for number, override in enumerate(selection.section("overrides")):
        changed = {}
        for name, (level,) in override.set.items():
            if name not in selection.pinned:
                changed[name] = level
        if changed and cell.matches(override.when):
            where = selection.where("overrides", number)
            cell = replace(cell, levels=cell.levels | changed, where=where)
    return cell


def _check_or_refuse(cell: UncheckedCell, set_names: set[str]) -> ChosenCell:
    """Return a cell with its parameters, or why it refuses what the command set.

    A cell that fails with the records, language or network that were set, and not without them,
    is one that refuses them.
    """
    try:
        return _check(cell)
    except ConflictError as error:
        language_parameters = cell.selection.language_parameters
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
            before = {name: level for name, level in cell.levels.items() if name not in names}
            with suppress(ConflictError):
                chosen = _check(replace(cell, levels=before))
                return replace(chosen, refused=error.message, where=error.where)
        raise


def _check(cell: UncheckedCell) -> ChosenCell:
    """Return a cell that the study takes.

    Raises `ConflictError` when the study refuses the levels together, and `InputError` when the
    user's records cannot be used.
    """
    levels = dict(cell.levels)
    blocks, blocks_per_day = levels.pop("blocks", 1), levels.pop("blocks_per_day", None)
    try:
        parameters = cell.selection.model.model_validate(levels)
    except ValidationError as error:
        place, reason = yaml_file.explain_error(error, levels)
        kind = ConflictError if place in ((), ("language",)) else InputError
        raise kind(cell.where, reason) from error
    try:
        digest_records(parameters)
    except InputError as error:
        raise InputError(cell.where, str(error)) from error
    # The first exclusion that it meets says why it is not run.
    excluded = None
    for exclusion in cell.selection.section("exclude"):
        if cell.matches(exclusion.when):
            excluded = exclusion.why
            break
    study = cell.selection.grid.study
    return ChosenCell(study, parameters, cell.product, cell.where, blocks, blocks_per_day, excluded)
