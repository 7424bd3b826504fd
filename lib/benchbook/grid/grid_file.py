"""A study's grid file as pydantic models: its sections, and in them lists of levels for the study's parameters."""

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

from benchbook import networks, paths, strict, studies
from benchbook.inputs import InputError
from benchbook.languages import LANGUAGES
from benchbook.strict import StrictModel, YamlFile, nearest, refuse_unknown_names
from benchbook.studies.cell import CellParameters, refuse_lookalike

BLOCKS: Final = 1_000
"""The most blocks; the papers' grids have six."""

ParameterLevels: TypeAlias = dict[str, tuple[Any, ...]]
"""One or several levels for each of some parameters."""


@dataclass(frozen=True)
class GridContext:
    """Whose levels are read: the context of pydantic's validators."""

    parameters: type[CellParameters]
    folder: Path
    """Where a relative path of records begins."""

    @classmethod
    def of(cls, info: ValidationInfo) -> "GridContext":
        """Return the study that a validator was called for."""
        return cast(GridContext, info.context)


class _Parameters(StrictModel):
    """The base of the models that `_levels_model` makes."""

    kind_of_name: ClassVar[str] = "parameter"


@cache
def _levels_model(parameters: type[CellParameters], with_blocks: bool, most: int | None) -> type[_Parameters]:
    """Return a model with a list of at most so many levels for each parameter, and for the number of blocks."""

    def list_of(level: Any, most: int | None) -> tuple[Any, tuple[()]]:
        as_list = BeforeValidator(lambda given: given if isinstance(given, tuple) else (given,))
        return Annotated[tuple[level, ...], Field(min_length=1, max_length=most), as_list], ()

    fields: dict[str, Any] = {}
    for name, field in parameters.model_fields.items():
        level: Any = Annotated[(field.annotation, *field.metadata, BeforeValidator(partial(refuse_lookalike, field)))]
        if name == "dataset_file":
            level = Annotated[level, AfterValidator(_absolute_path)]
        fields[name] = list_of(level, most)
    if with_blocks:
        fields["blocks"] = list_of(Annotated[int, Field(ge=1, le=BLOCKS)], 1)
    return create_model("Levels", __base__=_Parameters, **fields)


def _absolute_path(file: str | None, info: ValidationInfo) -> str | None:
    """Return the whole path of a file, because a cell works in another folder."""
    try:
        return file and str((GridContext.of(info).folder / file).resolve())
    # A RuntimeError is a loop of symbolic links.
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{file!r} is no path of a file: {error}") from error


def _read_levels(
    given: object, info: ValidationInfo, *, with_blocks: bool = False, most: int | None = None
) -> ParameterLevels:
    form = _levels_model(GridContext.of(info).parameters, with_blocks, most)
    model = form.model_validate(given, context=info.context)
    return {name: getattr(model, name) for name in form.model_fields if name in model.model_fields_set}


def _check_fallbacks(given: ParameterLevels, info: ValidationInfo) -> ParameterLevels:
    """Refuse names that are neither a network nor a language, or the default language."""
    fields = GridContext.of(info).parameters.model_fields
    languages = [language for language in LANGUAGES if language != fields["language"].default]
    refuse_unknown_names(given, [*languages, *(networks.NAMED if "network" in fields else ())], "language or network")
    return given


ProductLevels: TypeAlias = Annotated[ParameterLevels, PlainValidator(_read_levels)]
Condition: TypeAlias = ProductLevels
ProfileSettings: TypeAlias = Annotated[ParameterLevels, PlainValidator(partial(_read_levels, with_blocks=True))]
OneEach: TypeAlias = Annotated[ParameterLevels, PlainValidator(partial(_read_levels, with_blocks=True, most=1))]
Products: TypeAlias = Annotated[tuple[ProductLevels, ...], Field(min_length=1)]


class Override(StrictModel):
    """Values for all points of which `when` holds; ``blocks`` may be one."""

    when: Condition
    set: OneEach
    why: str


class Exclusion(StrictModel):
    """Points that are not run although the grid has them, and why."""

    when: Condition
    why: str


class Sections(StrictModel):
    """What a grid and each of its profiles can have."""

    grid: Products = ()
    if_available: Products = ()  # where server, network and language are found
    without: Annotated[
        dict[str, Products], AfterValidator(_check_fallbacks)
    ] = {}  # where that language or network is not
    overrides: tuple[Override, ...] = ()  # applied to what the products give, in their order
    exclude: tuple[Exclusion, ...] = ()
    aa: tuple[Condition, ...] = ()  # what gets an identical second arm


class Profile(Sections):
    """A selection: sections in place of the grid's, and values of parameters beside them."""

    settings: ProfileSettings = {}

    @model_validator(mode="before")
    @classmethod
    def _knows_names(cls, given: object, info: ValidationInfo) -> object:
        """Tell the names of sections from those of parameters."""
        if not isinstance(given, dict):
            return given
        right = (*Sections.model_fields, "blocks", *GridContext.of(info).parameters.model_fields)
        refuse_unknown_names(given, right, "parameter")
        sections = {name: value for name, value in given.items() if name in Sections.model_fields}
        return {**sections, "settings": {name: value for name, value in given.items() if name not in sections}}


class GridFile(Sections):
    """A study's grid, and its profiles."""

    kind_of_name: ClassVar[str] = "section"

    study: str
    parameters: OneEach = {}  # the same for every cell
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
            advice = nearest(name, self.profiles)
            raise InputError(f"--profile {name}", f"the grid of {self.study} has no such profile: {advice}")
        return self.profiles[name]


def load(study: str) -> Grid:
    """Read a study's grid; raises `InputError` when there is no such study or grid, or a name in it is wrong."""
    if study not in studies.NAMES:
        raise InputError(study, f"no such study: {nearest(study, studies.NAMES)}")
    document = strict.load(studies.grid(study))
    model = studies.load(study).Parameters
    file = document.valid(GridFile, GridContext(model, paths.root()))
    if file.study != study:
        raise InputError(document.where(("study",)), f"this file is the grid of {study}, not of {file.study}")
    return Grid(study, model, document, file)


def read_level(model: type[CellParameters], name: str, value: object) -> object:
    """Return an option's value as points of a study have it; raises pydantic's `ValidationError`."""
    form = _levels_model(model, with_blocks=True, most=1)
    (level,) = getattr(form.model_validate({name: value}, context=GridContext(model, Path())), name)
    return level
