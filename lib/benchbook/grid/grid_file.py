"""A study's grid file: its sections, and in them lists of levels for the study's parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    create_model,
    model_validator,
)

from benchbook import paths
from benchbook.files import yaml_file
from benchbook.files.inputs import InputError
from benchbook.files.yaml_file import StrictModel, YamlFile, refuse_unknown_names
from benchbook.servers import networks
from benchbook.studies.catalogue import (
    STUDIES,
    find_grid,
    load_study,
)
from benchbook.studies.cell import CellParameters, refuse_lookalike
from benchbook.studies.harness import PROGRAMMING_LANGUAGES
from benchbook.text.suggestions import suggest_name

BLOCK_COUNTS: Final = ("blocks", "blocks_per_day")
"""Names beside the parameters: how many blocks a cell has, and how many of them on one machine-day.

The second is for runs until claims are decided.
"""

ParameterLevels: TypeAlias = dict[str, tuple[Any, ...]]
"""One or several levels for each of some parameters."""


@dataclass(frozen=True)
class GridContext:
    """The study whose levels are read: the context of pydantic's validators."""

    parameters: type[CellParameters]
    # Relative paths of records begin here.
    folder: Path

    @classmethod
    def of(cls, info: ValidationInfo) -> "GridContext":
        """Return the context that a validator was called with."""
        return cast(GridContext, info.context)


class _LevelsOfParameters(StrictModel):
    """The base of the models that `_make_levels_model` makes."""

    kind_of_name: ClassVar[str] = "parameter"


@cache
def _make_levels_model(
    parameters: type[CellParameters], with_blocks: bool, max_levels: int | None
) -> type[_LevelsOfParameters]:
    """Return a model with a list of levels for each parameter, and for the numbers of blocks."""

    def make_list(level: Any, max_levels: int | None) -> tuple[Any, tuple[()]]:
        as_list = BeforeValidator(lambda value: value if isinstance(value, tuple) else (value,))
        bounds = Field(min_length=1, max_length=max_levels)
        return Annotated[tuple[level, ...], bounds, as_list], ()

    fields: dict[str, Any] = {}
    for name, field in parameters.model_fields.items():
        refuse = BeforeValidator(partial(refuse_lookalike, field))
        level: Any = Annotated[(field.annotation, *field.metadata, refuse)]
        if name == "dataset_file":
            level = Annotated[level, AfterValidator(_absolute_path)]
        fields[name] = make_list(level, max_levels)
    if with_blocks:
        for name in BLOCK_COUNTS:
            # The papers' grids have six.
            fields[name] = make_list(Annotated[int, Field(ge=1, le=1_000)], 1)
    return create_model("Levels", __base__=_LevelsOfParameters, **fields)


def _absolute_path(file: str | None, info: ValidationInfo) -> str | None:
    """Return the whole path of a file, because a cell works in another folder."""
    if not file:
        return file
    try:
        return str((GridContext.of(info).folder / file).resolve())
    # A RuntimeError is a loop of symbolic links.
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{file!r} is not the path of a file: {error}") from error


def _read_levels(
    value: object,
    info: ValidationInfo,
    *,
    with_blocks: bool = False,
    max_levels: int | None = None,
) -> ParameterLevels:
    """Return the levels of the parameters that are named."""
    form = _make_levels_model(GridContext.of(info).parameters, with_blocks, max_levels)
    model = form.model_validate(value, context=info.context)
    levels = {}
    for name in form.model_fields:
        if name in model.model_fields_set:
            levels[name] = getattr(model, name)
    return levels


def _check_fallbacks(fallbacks: ParameterLevels, info: ValidationInfo) -> ParameterLevels:
    """Refuse names that are neither a network nor a language, or the default language."""
    fields = GridContext.of(info).parameters.model_fields
    names = [
        language for language in PROGRAMMING_LANGUAGES if language != fields["language"].default
    ]
    if "network" in fields:
        names += networks.NAMED_NETWORKS
    refuse_unknown_names(fallbacks, names, "language or network")
    return fallbacks


ProductLevels: TypeAlias = Annotated[ParameterLevels, PlainValidator(_read_levels)]
Condition: TypeAlias = ProductLevels
ProfileSettings: TypeAlias = Annotated[
    ParameterLevels, PlainValidator(partial(_read_levels, with_blocks=True))
]
OneEach: TypeAlias = Annotated[
    ParameterLevels, PlainValidator(partial(_read_levels, with_blocks=True, max_levels=1))
]
Products: TypeAlias = Annotated[tuple[ProductLevels, ...], Field(min_length=1)]


class Override(StrictModel):
    """Levels for all cells that meet `when`; those of `BLOCK_COUNTS` may be among them."""

    when: Condition
    set: OneEach
    why: str


class Exclusion(StrictModel):
    """Cells that are not run although the grid has them, and why."""

    when: Condition
    why: str


class Sections(StrictModel):
    """What a grid and each of its profiles can have."""

    grid: Products = ()
    # Run where server, network and language are found.
    if_available: Products = ()
    # By language or network: run where it is not found.
    without: Annotated[dict[str, Products], AfterValidator(_check_fallbacks)] = {}
    # Applied to the cells of the products, in this order.
    overrides: tuple[Override, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    # Cells that are measured twice, as arm a and b.
    aa: tuple[Condition, ...] = ()


class Profile(Sections):
    """A selection: sections in place of the grid's, and levels of parameters."""

    settings: ProfileSettings = {}

    @model_validator(mode="before")
    @classmethod
    def _separate_settings(cls, content: object, info: ValidationInfo) -> object:
        """Separate the names of sections from those of parameters."""
        if not isinstance(content, dict):
            return content
        parameters = GridContext.of(info).parameters.model_fields
        names = (*Sections.model_fields, *BLOCK_COUNTS, *parameters)
        refuse_unknown_names(content, names, "parameter")
        sections: dict[object, object] = {}
        settings: dict[object, object] = {}
        for name, value in content.items():
            part = sections if name in Sections.model_fields else settings
            part[name] = value
        return {**sections, "settings": settings}


class GridFile(Sections):
    """A study's grid, and its profiles."""

    kind_of_name: ClassVar[str] = "section"

    study: str
    # The same for every cell.
    parameters: OneEach = {}
    grid: Products
    profiles: dict[str, Profile] = {}


@dataclass(frozen=True)
class Grid:
    """A study's grid file that was read."""

    study: str
    model: type[CellParameters]
    document: YamlFile
    file: GridFile

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The profiles by their names."""
        return self.file.profiles

    def profile(self, name: str) -> Profile:
        """Return a profile; raises `InputError` when the grid has no such profile."""
        if name not in self.profiles:
            advice = suggest_name(name, self.profiles)
            reason = f"the grid of {self.study} has no such profile: {advice}"
            raise InputError(f"--profile {name}", reason)
        return self.profiles[name]


def load_grid(study: str) -> Grid:
    """Read a study's grid.

    Raises `InputError` when there is no such study or grid, or a name in it is wrong.
    """
    if study not in STUDIES:
        raise InputError(study, f"no such study: {suggest_name(study, STUDIES)}")
    document = yaml_file.load_yaml(find_grid(study))
    model = load_study(study).Parameters
    file = document.validate(GridFile, GridContext(model, paths.root()))
    if file.study != study:
        reason = f"this file is the grid of {study}, not of {file.study}"
        raise InputError(document.locate(("study",)), reason)
    return Grid(study, model, document, file)


def read_level(model: type[CellParameters], name: str, value: object) -> object:
    """Return an option's value as a cell has it; raises pydantic's `ValidationError`."""
    form = _make_levels_model(model, with_blocks=True, max_levels=1)
    levels = form.model_validate({name: value}, context=GridContext(model, Path()))
    (level,) = getattr(levels, name)
    return level
