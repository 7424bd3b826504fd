"""The files of `data/claims`, read and checked.

Begin with `load_claims`. Every name in a file is checked; an error has its file, line and the
nearest right name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import filter as match_names
from functools import cache
from itertools import chain, product
from math import isnan
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from benchbook import paths
from benchbook.analysis.claims import (
    FREE_PARAMETERS,
    ROW_COLUMNS,
    AnyMeasuredClaim,
    Caveat,
    Claim,
    Level,
    MeasuredClaim,
    NotComparable,
    PaperComparisons,
    PublishedPlace,
    Rank,
    UnmeasuredClaim,
    find_published_keys,
    list_levels,
)
from benchbook.analysis.published import (
    CellSettings,
    LevelNames,
    PublishedKey,
    find_published_number,
    load_published_numbers,
)
from benchbook.analysis.quantities import QUANTITY_COLUMNS, QuantityKey, list_quantities
from benchbook.files.inputs import InputError
from benchbook.files.yaml_file import StrictModel, YamlFile, YamlPath, load_yaml
from benchbook.registry.papers import Language
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.text.suggestions import suggest_name

CLAIM_KINDS: Final[dict[str, type[Claim]]] = {
    "none" if kind is UnmeasuredClaim else kind.__name__.lower(): kind for kind in get_args(Claim)
}

Margin: TypeAlias = tuple[float, str]
"""A margin as a ratio, and the reason for it."""


class ClaimsFile(StrictModel):
    """The file of one paper; each claim is checked by its kind."""

    kind_of_name: ClassVar[str] = "section"

    study: str
    paper_language: Language = "python"  # the paper's own language, where that is one of ours
    # Languages of claims that do not state theirs.
    languages: tuple[Language, ...] = ()
    margins: dict[str, Margin] = {}
    claims: tuple[dict[str, Any], ...] = ()
    not_comparable: tuple[NotComparable, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    comparisons: tuple[PaperComparisons, ...] = ()
    published: tuple[PublishedPlace, ...] = ()
    called: LevelNames = {}


@dataclass(frozen=True)
class StudyClaims:
    """The claims and comparisons of one paper."""

    claims: tuple[Claim, ...] = ()
    comparisons: tuple[PaperComparisons, ...] = ()
    # Its claims are judged in the paper's own language, or in Python if that is not one of ours.
    language: Language = "python"


def load_claims(study: str | None = None) -> tuple[Claim, ...]:
    """Return the claims of the papers, in the order of their files.

    Parameters
    ----------
    study
        The slug of one study; None for all five.

    Raises
    ------
    benchbook.files.inputs.InputError
        When a file is wrong.
    """
    files = _read_folder(paths.claims(), paths.published_numbers())
    claims: tuple[Claim, ...] = ()
    for slug, of_study in files.items():
        if study in (None, slug):
            claims += of_study.claims
    return claims


def load_paper_comparisons(study: str) -> tuple[PaperComparisons, ...]:
    """Return the comparisons of one paper's tables."""
    return _load_study_claims(study).comparisons


def find_paper_language(study: str) -> Language:
    """Return the paper's own language, or Python if it is not one of ours."""
    return _load_study_claims(study).language


def load_published_places(study: str) -> list[PublishedPlace]:
    """Return where one paper prints the numbers of its comparisons, without checking its claims."""
    return [*load_yaml(paths.claims() / f"{study}.yaml").validate(ClaimsFile).published]


def _load_study_claims(study: str) -> StudyClaims:
    return _read_folder(paths.claims(), paths.published_numbers()).get(study, StudyClaims())


@cache
def _read_folder(folder: Path, published: Path) -> dict[str, StudyClaims]:
    """Return every file of a folder, checked against the numbers of the folder `published`."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: [*SLUGS, file.stem].index(file.stem))
    return {file.stem: read_claims_file(file) for file in files}


def read_claims_file(path: Path, *, is_own: bool = False) -> StudyClaims:
    """Read one study's claims; a user's own file may have any name.

    Raises
    ------
    benchbook.files.inputs.InputError
        When a name in it is wrong or a number is not published.
    """
    return read_claims(load_yaml(path), None if is_own else path.stem)


def read_claims(document: YamlFile, study: str | None = None) -> StudyClaims:
    """Return the claims of a document; raises as `read_claims_file`.

    Parameters
    ----------
    study
        The study that it must be of; None: any.
    """
    file = document.validate(ClaimsFile)
    if file.study not in SLUGS or study not in (None, file.study):
        of_file = f"the study of this file, {study}, " if study else ""
        reason = f"study: {of_file}one of {', '.join(SLUGS)}"
        raise InputError(document.locate(("study",)), reason)
    claims = _read_claims(document, file)
    return StudyClaims(claims, _read_paper_comparisons(document, file), file.paper_language)


def _read_claims(document: YamlFile, file: ClaimsFile) -> tuple[Claim, ...]:
    """Return the claims of a file, each with its objections and caveats."""
    claims: dict[str, Claim] = {}
    for number, values in enumerate(file.claims):
        claim = _read_claim(document, ("claims", number), values, file)
        if claim.id in claims:
            raise InputError(document.locate(("claims", number)), f"duplicate claim {claim.id}")
        claims[claim.id] = claim
    for number, reason in enumerate(file.not_comparable):
        where = document.locate(("not_comparable", number))
        with _locate_errors(where, "at"):
            # The one column that only a reason may name.
            levels = {name: one for name, one in reason.at.items() if name != "own_processors"}
            _check_settings(file.study, levels)
        for measured in _select_claims(where, reason.claims, claims):
            reasons = (*measured.not_comparable, reason)
            claims[measured.id] = measured.model_copy(update={"not_comparable": reasons})
    for number, caveat in enumerate(file.caveats):
        where = document.locate(("caveats", number))
        for measured in _select_claims(where, caveat.claims, claims):
            caveats = (*measured.caveats, caveat.says)
            claims[measured.id] = measured.model_copy(update={"caveats": caveats})
    return tuple(claims.values())


def _read_paper_comparisons(document: YamlFile, file: ClaimsFile) -> tuple[PaperComparisons, ...]:
    """Return the comparisons of a file, with the places where their numbers are printed."""
    # The places; a name in braces stands for any text.
    printed = load_published_numbers(file.study)
    for number, place in enumerate(file.published):
        where = document.locate(("published", number))
        for part, name in zip(place.key, ("source", "row", "column"), strict=True):
            pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(part))
            names = set(printed[name])
            if not any(re.fullmatch(pattern, text) for text in names):
                advice = suggest_name(part, names)
                raise InputError(where, f"published: no {name} {part!r}: {advice}")

    # The comparisons, with the places and the words of the file.
    comparisons = []
    for number, stated in enumerate(file.comparisons):
        of_file = {
            "study": file.study,
            "places": file.published if stated.published else (),
            "called": file.called,
        }
        comparison = stated.model_copy(update=of_file)
        with _locate_errors(document.locate(("comparisons", number)), comparison.name):
            _check_paper_comparisons(comparison)
        comparisons.append(comparison)
    return tuple(comparisons)


@contextmanager
def _locate_errors(where: str, name: str = "") -> Iterator[None]:
    """Turn a `ValueError` into an `InputError` with the place in the file."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(where, f"{name}: {error}" if name else str(error)) from error


def _select_claims(
    where: str, patterns: Iterable[str], claims: Mapping[str, Claim]
) -> Iterable[AnyMeasuredClaim]:
    """Yield the measured claims that patterns of ids select; each pattern selects some."""
    measured: dict[str, AnyMeasuredClaim] = {}
    for name, claim in claims.items():
        if not isinstance(claim, UnmeasuredClaim):
            measured[name] = claim
    for pattern in patterns:
        names = match_names(measured, pattern)
        if not names:
            advice = suggest_name(pattern, measured)
            raise InputError(where, f"claims: no claim {pattern!r} is measured here: {advice}")
        yield from (measured[name] for name in names)


def _read_claim(
    document: YamlFile, place: YamlPath, values: dict[str, Any], file: ClaimsFile
) -> Claim:
    """Return one claim of a file, checked by its kind."""
    where = document.locate(place)
    name = str(values.get("id", "a claim without id"))
    kind = str(values.get("compare", ""))
    if kind not in CLAIM_KINDS:
        advice = suggest_name(kind, CLAIM_KINDS)
        raise InputError(where, f"{name}: compare: no kind of claim {kind!r}: {advice}")
    if file.languages and kind != "none":
        values = {"languages": file.languages, **values}

    # A margin may be named.
    margin = values.get("margin")
    if isinstance(margin, str):
        if margin not in file.margins:
            reason = f"{name}: no margin {margin!r}: {suggest_name(margin, file.margins)}"
            raise InputError(document.locate((*place, "margin")), reason)
        ratio, why = file.margins[margin]
        values = {**values, "margin": ratio, "why_margin": why}

    claim = document.validate_part(place, values, CLAIM_KINDS[kind], about=name)
    if claim.study != file.study:
        raise InputError(where, f"{name}: the id begins with the study: {file.study}.…")
    if isinstance(claim, MeasuredClaim):
        with _locate_errors(where, name):
            check_claim(claim)
    return claim


def check_claim(claim: MeasuredClaim) -> None:
    """Check every name of a claim.

    Raises
    ------
    ValueError
        When the study has no such quantity, parameter or value, or the paper prints no such number.
    """
    terms = claim.name_terms()
    stated: tuple[CellSettings, ...] = (claim.at, claim.each, claim.pooled or {}, *terms.values())
    for settings in stated:
        _check_settings(claim.study, settings)
    for levels in claim.list_combinations():
        for term in terms.values():
            settings = {**claim.quantity.model_dump(), **levels, **term}
            named = [map(str, list_levels(settings[name])) for name in QUANTITY_COLUMNS]
            for operation, role, metric in product(*named):
                quantity = operation, role, metric
                _check_quantity(claim.study, quantity)
        _check_published(claim, levels)


def _check_settings(study: str, settings: CellSettings) -> None:
    for name, setting in settings.items():
        for level in list_levels(setting):
            _check_level(study, name, level)


def _check_paper_comparisons(compared: PaperComparisons) -> None:
    """Check every name of what a paper compares, as `check_claim` does of a claim."""
    fields = {*load_study(compared.study).Parameters.model_fields, *ROW_COLUMNS}
    for name in (compared.by, *compared.shown, *compared.loose):
        if name not in fields:
            raise ValueError(f"no parameter {name!r}: {suggest_name(name, fields)}")
    for level in set(chain.from_iterable(compared.list_pairs())):
        _check_level(compared.study, compared.by, level)
    for quantity in compared.list_quantities():
        _check_quantity(compared.study, quantity)


def _check_level(study: str, name: str, value: Level) -> None:
    fields = load_study(study).Parameters.model_fields
    if name in QUANTITY_COLUMNS:
        return
    if name in FREE_PARAMETERS:
        raise ValueError(f"{name} is named in no claim: {', '.join(FREE_PARAMETERS)} are free")
    if name not in fields:
        if name not in ROW_COLUMNS:
            known = {*fields, *ROW_COLUMNS, *QUANTITY_COLUMNS} - {*FREE_PARAMETERS}
            raise ValueError(f"no parameter {name!r}: {suggest_name(name, known)}")
        return
    try:
        _build_level_check(study, name).validate_python(value, strict=True)
    except ValidationError as error:
        right = get_args(fields[name].annotation)
        advice = suggest_name(str(value), right) if right else error.errors()[0]["msg"]
        raise ValueError(f"{name}: no value {value!r}: {advice}") from error


@cache
def _build_level_check(study: str, name: str) -> TypeAdapter[Any]:
    """Return the check of a parameter's level; building it takes longer than a thousand checks."""
    field: Any = load_study(study).Parameters.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, field])


def _check_quantity(study: str, quantity: QuantityKey) -> None:
    known = list_quantities(study)
    if quantity in known:
        return
    for place, name in enumerate(QUANTITY_COLUMNS):
        right = {triple[place] for triple in known if triple[:place] == quantity[:place]}
        if quantity[place] not in right:
            where = " ".join((study, *quantity[:place]))
            advice = suggest_name(quantity[place], right)
            raise ValueError(f"no {name} {quantity[place]!r} in {where}: {advice}")


def _check_published(claim: MeasuredClaim, levels: Mapping[str, Level]) -> None:
    allowed = [*dict.fromkeys(claim.name_terms())] if isinstance(claim, Rank) else ["a", "b"]
    for name in claim.published:
        if name not in allowed:
            raise ValueError(f"published: no side {name!r}: {suggest_name(name, allowed)}")
    units = []
    for name, key in find_published_keys(claim, levels).items():
        number = find_published_number(claim.study, *key)
        if number is None or isnan(number.value):
            raise ValueError(f"published {name}: {suggest_published_key(claim.study, key)}")
        units.append(number.unit)
    if len(set(units)) > 1:
        raise ValueError(f"published: the sides' units differ: {', '.join(units)}")


def suggest_published_key(study: str, key: PublishedKey) -> str:
    """Return why a key has no published number, with the nearest right part."""
    rows = load_published_numbers(study)
    for column, wanted in zip(("source", "row", "column"), key, strict=True):
        if wanted not in set(rows[column]):
            return f"no {column} {wanted!r}: {suggest_name(wanted, set(rows[column]))}"
        rows = rows[rows[column] == wanted]
    return f"{', '.join(key)} is no number"
