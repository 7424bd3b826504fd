"""Reads `data/claims`: every name in it is checked, every mistake stated with file, line and the nearest right name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
from itertools import product
from math import isnan
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from benchbook import paths, studies
from benchbook.analysis.block_means import Triple, delivered
from benchbook.analysis.claims import (
    Claim,
    Language,
    Level,
    NotComparable,
    Rank,
    Tested,
    TestedClaim,
    Unmeasured,
    published_keys,
    several,
)
from benchbook.analysis.pairs import Pairs, PublishedAt
from benchbook.analysis.published import Called, CellSettings, Key, Number, printed_number, published
from benchbook.analysis.sides import FREE, OF_QUANTITY, OF_ROWS
from benchbook.inputs import InputError
from benchbook.strict import StrictModel, YamlFile, YamlPath, load, nearest
from benchbook.studies import SLUGS

KINDS: Final[dict[str, type[Claim]]] = {
    "none" if kind is Unmeasured else kind.__name__.lower(): kind for kind in get_args(Claim)
}

Margin: TypeAlias = tuple[float, str] | tuple[float, float, str]
"""A margin, as a ratio and as a difference where one is needed, and why so much."""


class ClaimsFile(StrictModel):
    """One paper's file; what a claim says depends on its kind, and is checked apart."""

    kind_of_name: ClassVar[str] = "section"

    study: str
    stack: Language = "python"  # the paper's own language, where that is one of ours
    languages: tuple[Language, ...] = ()  # those that its claims are asked of, where a claim does not say
    margins: dict[str, Margin] = {}
    claims: tuple[dict[str, Any], ...] = ()
    not_comparable: tuple[NotComparable, ...] = ()
    comparisons: tuple[Pairs, ...] = ()
    published: tuple[PublishedAt, ...] = ()
    called: Called = {}


@dataclass(frozen=True)
class Claims:
    """What one paper claims and compares."""

    claims: tuple[Claim, ...] = ()
    pairs: tuple[Pairs, ...] = ()
    stack: Language = "python"  # the language that counts: the paper's own where it is one of ours


def claims(study: str | None = None) -> tuple[Claim, ...]:
    """Return what the papers claim, in the order of their files.

    Parameters
    ----------
    study
        The slug of one study; None for all five.

    Raises
    ------
    benchbook.inputs.InputError
        When a file is wrong.
    """
    files = _all(paths.claims(), paths.published())
    return tuple(claim for slug, of_study in files.items() if study in (None, slug) for claim in of_study.claims)


def pairs(study: str) -> tuple[Pairs, ...]:
    """Return what one paper compares, level by level."""
    return _of(study).pairs


def stack(study: str) -> Language:
    """Return the paper's own language, where that is one of ours."""
    return _of(study).stack


def printed_places(study: str) -> list[PublishedAt]:
    """Return where one paper prints the numbers of its comparisons; the claims are not checked, which takes longer."""
    return [*load(paths.claims() / f"{study}.yaml").valid(ClaimsFile).published]


def _of(study: str) -> Claims:
    return _all(paths.claims(), paths.published()).get(study, Claims())


@cache
def _all(folder: Path, published: Path) -> dict[str, Claims]:
    """Return every file of a folder; `published` only keeps apart what was checked against other numbers."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: [*SLUGS, file.stem].index(file.stem))
    return {file.stem: read(file) for file in files}


def read(path: Path, *, is_own: bool = False) -> Claims:
    """Read one study's claims; a user's own file may have any name.

    Raises
    ------
    benchbook.inputs.InputError
        When a name in it is wrong or a number is not published.
    """
    document = load(path)
    file = document.valid(ClaimsFile)
    study = file.study
    if study not in SLUGS or not (is_own or study == path.stem):
        of_file = "" if is_own else f"the study of this file, {path.stem}, "
        raise InputError(document.where(("study",)), f"study: {of_file}one of {', '.join(SLUGS)}")

    # The claims, and of what nothing here can speak for or against them.
    claims: dict[str, Claim] = {}
    for number, values in enumerate(file.claims):
        claim = _claim(document, ("claims", number), values, file)
        if claim.id in claims:
            raise InputError(document.where(("claims", number)), f"duplicate claim {claim.id}")
        claims[claim.id] = claim
    for number, reason in enumerate(file.not_comparable):
        where = document.where(("not_comparable", number))
        with stated_at(where, "at"):
            _check_settings(study, reason.at)
        for tested in _named_by(where, reason.claims, claims):
            claims[tested.id] = tested.model_copy(update={"not_comparable": (*tested.not_comparable, reason)})

    # The comparisons, with where their numbers are printed.
    for number, printed in enumerate(file.published):
        _check_printed(document.where(("published", number)), printed, study)
    pairs = []
    for number, stated in enumerate(file.comparisons):
        places = file.published if stated.published else ()
        paired = stated.model_copy(update={"study": study, "places": places, "called": file.called})
        with stated_at(document.where(("comparisons", number)), paired.name):
            check_pairs(paired)
        pairs.append(paired)
    return Claims(tuple(claims.values()), tuple(pairs), file.stack)


@contextmanager
def stated_at(where: str, name: str = "") -> Iterator[None]:
    """Say where it stands when something that a file states is wrong, and of which part of it."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(where, f"{name}: {error}" if name else str(error)) from error


def _named_by(where: str, patterns: Iterable[str], claims: Mapping[str, Claim]) -> Iterable[TestedClaim]:
    """Yield the claims that are tested and that an item names, by ids or patterns of ids; each pattern names some."""
    measured = [name for name, claim in claims.items() if not isinstance(claim, Unmeasured)]
    for pattern in patterns:
        named = [claims[name] for name in matching(claims, pattern)]
        tested = [claim for claim in named if not isinstance(claim, Unmeasured)]
        if not tested:
            raise InputError(where, f"claims: no claim {pattern!r} is measured here: {nearest(pattern, measured)}")
        yield from tested


def _claim(document: YamlFile, place: YamlPath, values: dict[str, Any], file: ClaimsFile) -> Claim:
    where = document.where(place)
    name = str(values.get("id", "a claim without id"))
    kind = str(values.get("compare", ""))
    if kind not in KINDS:
        raise InputError(where, f"{name}: compare: no kind of claim {kind!r}: {nearest(kind, KINDS)}")
    if file.languages and kind != "none":
        values = {"languages": file.languages, **values}
    margin = values.get("margin")
    if isinstance(margin, str):
        if margin not in file.margins:
            named = f"{name}: no margin {margin!r}: {nearest(margin, file.margins)}"
            raise InputError(document.where((*place, "margin")), named)
        ratio, *difference, why = file.margins[margin]
        values = {**values, "margin": ratio, "why_margin": why}
        values |= {"margin_difference": difference[0]} if difference else {}
    claim = document.valid_part(place, values, KINDS[kind], about=name)
    if claim.study != file.study:
        raise InputError(where, f"{name}: the id begins with the study: {file.study}.…")
    if isinstance(claim, Tested):
        with stated_at(where, name):
            check(claim)
    return claim


def _check_printed(where: str, printed: PublishedAt, study: str) -> None:
    for part, name in zip(printed.key, ("source", "row", "column"), strict=True):
        form = re.sub(r"\\{\w+\\}", ".+", re.escape(part))
        names = set(published(study)[name])
        if not any(re.fullmatch(form, text) for text in names):
            raise InputError(where, f"published: no {name} {part!r}: {nearest(part, names)}")


def check(claim: Tested) -> None:
    """Check every name of a claim.

    Raises
    ------
    ValueError
        When the study has no such quantity, parameter or value, or the paper prints no such number.
    """
    sides = claim.sides()
    stated: tuple[CellSettings, ...] = (claim.at, claim.each, claim.pooled or {}, *sides.values())
    for settings in stated:
        _check_settings(claim.study, settings)
    for levels in claim.combinations():
        for side in sides.values():
            asked = {**claim.quantity.model_dump(), **levels, **side}
            operations, roles, metrics = (map(str, several(asked[name])) for name in OF_QUANTITY)
            for quantity in product(operations, roles, metrics):
                _check_quantity(claim.study, quantity)
        _check_published(claim, levels)


def _check_settings(study: str, settings: CellSettings) -> None:
    for name, setting in settings.items():
        for level in several(setting):
            _check_value(study, name, level)


def check_pairs(pairs: Pairs) -> None:
    """Check every name of what a paper compares; as `check`."""
    fields = {*_parameters(pairs.study).model_fields, *OF_ROWS}
    for name in (pairs.by, *pairs.shown, *pairs.loose):
        if name not in fields:
            raise ValueError(f"no parameter {name!r}: {nearest(name, fields)}")
    for level in {level for pair in pairs.every_pair() for level in pair}:
        _check_value(pairs.study, pairs.by, level)
    for quantity in pairs.every_quantity():
        _check_quantity(pairs.study, quantity)


def _check_value(study: str, name: str, value: Level) -> None:
    fields = _parameters(study).model_fields
    if name in OF_QUANTITY:
        return
    if name in FREE:
        raise ValueError(f"{name} is named in no claim: {', '.join(FREE)} are free")
    if name not in fields:
        if name not in OF_ROWS:
            raise ValueError(f"no parameter {name!r}: {nearest(name, {*fields, *OF_ROWS, *OF_QUANTITY} - {*FREE})}")
        return
    try:
        _form(study, name).validate_python(value, strict=True)
    except ValidationError as error:
        right = get_args(fields[name].annotation)
        advice = nearest(str(value), right) if right else error.errors()[0]["msg"]
        raise ValueError(f"{name}: no value {value!r}: {advice}") from error


@cache
def _form(study: str, name: str) -> TypeAdapter[Any]:
    """Return what checks a parameter's value: building it takes longer than a thousand checks."""
    field: Any = _parameters(study).model_fields[name]
    return TypeAdapter(Annotated[field.annotation, field])


def _check_quantity(study: str, quantity: Triple) -> None:
    known = delivered(study)
    if quantity in known:
        return
    for place, name in enumerate(OF_QUANTITY):
        right = {triple[place] for triple in known if triple[:place] == quantity[:place]}
        if quantity[place] not in right:
            beside = " ".join((study, *quantity[:place]))
            raise ValueError(f"no {name} {quantity[place]!r} in {beside}: {nearest(quantity[place], right)}")


def _parameters(study: str) -> type[BaseModel]:
    model: type[BaseModel] = studies.load(study).Parameters
    return model


def _check_published(claim: Tested, levels: Mapping[str, Level]) -> None:
    allowed = [*dict.fromkeys(claim.sides())] if isinstance(claim, Rank) else ["a", "b"]
    for name in claim.published:
        if name not in allowed:
            raise ValueError(f"published: no side {name!r}: {nearest(name, allowed)}")
    units = [_number(claim.study, name, key).unit for name, key in published_keys(claim, levels).items()]
    if len(set(units)) > 1:
        raise ValueError(f"published: the sides' units differ: {', '.join(units)}")


def _number(study: str, name: str, key: Key) -> Number:
    """Return the printed number of a side."""
    number = printed_number(study, *key)
    if number is None or isnan(number.value):
        raise ValueError(f"published {name}: {nearest_number(study, key)}")
    return number


def nearest_number(study: str, key: Key) -> str:
    """Return what is wrong with the key of a published number."""
    rows = published(study)
    for column, wanted in zip(("source", "row", "column"), key, strict=True):
        if wanted not in set(rows[column]):
            return f"no {column} {wanted!r}: {nearest(wanted, set(rows[column]))}"
        rows = rows[rows[column] == wanted]
    return f"{', '.join(key)} is no number"
