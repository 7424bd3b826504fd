"""Reads `data/claims`: every name in it is checked, every mistake stated with file, line and the nearest right name."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
from itertools import product
from math import isclose, isnan
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from benchbook import paths, studies
from benchbook.evidence.claims import (
    Bound,
    Claim,
    Lane,
    Level,
    Objection,
    Rank,
    Tested,
    TestedClaim,
    Untestable,
    Variation,
    published_keys,
    several,
)
from benchbook.evidence.compared import Comparison, PublishedAt
from benchbook.evidence.means import SPREAD, Triple, convert, delivered
from benchbook.evidence.measured import FREE, OF_QUANTITY, OF_ROWS
from benchbook.evidence.published import Called, CellSettings, Key, Number, printed_number, published
from benchbook.inputs import InputError
from benchbook.strict import Located, load, nearest, valid
from benchbook.studies import SLUGS

SECTIONS: Final = (
    *("study", "stack", "lanes", "margins", "claims", "objections", "variations", "comparisons"),
    *("published", "called"),
)
KINDS: Final[dict[str, type[Claim]]] = {kind.__name__.lower(): kind for kind in get_args(Claim)}


class Margin(RootModel[tuple[float, str] | tuple[float, float, str]]):
    """A margin, as a ratio and as a difference where one is needed, and why so much."""


class Stack(RootModel[Lane]):
    """The lane of a paper's own stack, where that is one of ours."""


class Lanes(RootModel[tuple[Lane, ...]]):
    """The lanes that a file's claims are asked of, where a claim does not say."""


class Words(RootModel[Called]):
    """What a paper calls the levels of its factors."""


@dataclass(frozen=True)
class Claims:
    """What one paper claims and compares."""

    claims: tuple[Claim, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    stack: Lane = "python"  # the lane that comes first: the paper's own where it is one of ours


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


def comparisons(study: str) -> tuple[Comparison, ...]:
    """Return what one paper compares."""
    return _of(study).comparisons


def stack(study: str) -> Lane:
    """Return the lane that is nearest to one paper's own stack: the first of those that ran."""
    return _of(study).stack


def printed_places(study: str) -> list[PublishedAt]:
    """Return where one paper prints the numbers of its comparisons; no more of its file is read, which takes longer."""
    parts = load(paths.claims() / f"{study}.yaml").mapping("a file of claims")
    return [valid(PublishedAt, item, "published") for item in _items(parts, "published")]


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
    study, parts = sections(path, SECTIONS, "a file of claims", is_own=is_own)
    margins = parts["margins"].mapping("margins") if "margins" in parts else {}
    own = valid(Stack, parts["stack"], "stack").root if "stack" in parts else Claims.stack
    if "lanes" in parts:
        valid(Lanes, parts["lanes"], "lanes")
    claims: dict[str, Claim] = {}
    for item in _items(parts, "claims"):
        claim = _claim(item, study, margins, parts.get("lanes"))
        if claim.id in claims:
            raise InputError(item.where, f"{claim.id} stands here twice")
        claims[claim.id] = claim
    for item in _items(parts, "objections"):
        objection = valid(Objection, item, "an objection")
        for tested in _named_by(item, objection.claims, claims):
            claims[tested.id] = tested.model_copy(update={"objections": (*tested.objections, objection)})
    # as they are written: ``try`` is no name of Python's
    of_a_variation = [field.alias or name for name, field in Variation.model_fields.items()]
    for item in _items(parts, "variations"):
        for name, place in item.mapping("a variation").items():
            if name not in of_a_variation:
                raise InputError(place.where, f"a variation: no key {name!r}: {nearest(name, of_a_variation)}")
        variation = valid(Variation, item, "a variation")
        with stated_at(item, "try"):
            for name, level in variation.try_.items():
                _check_value(study, name, level)
        for tested in _named_by(item, variation.claims, claims):
            claims[tested.id] = tested.model_copy(update={"variations": (*tested.variations, variation)})
    printed = tuple(_printed(item, study) for item in _items(parts, "published"))
    called = valid(Words, parts["called"], "called").root if "called" in parts else {}
    whose = {"study": study, "places": printed, "called": called}
    compared = tuple(_comparison(item, whose) for item in _items(parts, "comparisons"))
    return Claims(tuple(claims.values()), compared, own)


def sections(path: Path, known: Sequence[str], what: str, *, is_own: bool = False) -> tuple[str, dict[str, Located]]:
    """Return the study that a file of data is of, which its name says, too, unless it is a user's own; its sections."""
    whole = load(path)
    parts = whole.mapping(what)
    for name, place in parts.items():
        if name not in known:
            raise InputError(place.where, f"no section {name!r}: {nearest(name, known)}")
    study = parts["study"].plain() if "study" in parts else None
    if study not in SLUGS or not (is_own or study == path.stem):
        of_file = "" if is_own else f"the study of this file, {path.stem}, "
        raise InputError(whole.where, f"study: {of_file}one of {', '.join(SLUGS)}")
    return study, parts


@contextmanager
def stated_at(place: Located, name: str = "") -> Iterator[None]:
    """Say where it stands when something that a file states is wrong, and of which part of it."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(place.where, f"{name}: {error}" if name else str(error)) from error


def _items(parts: dict[str, Located], section: str) -> list[Located]:
    return parts[section].sequence(section) if section in parts else []


def _named_by(item: Located, patterns: Iterable[str], claims: Mapping[str, Claim]) -> Iterable[TestedClaim]:
    """Yield the claims that are tested and that an item names, by ids or patterns of ids; each pattern names some."""
    for pattern in patterns:
        named = [claims[name] for name in matching(claims, pattern)]
        tested = [claim for claim in named if not isinstance(claim, Untestable)]
        if not tested:
            raise InputError(item.where, f"claims: no claim {pattern!r} is tested here: {nearest(pattern, claims)}")
        yield from tested


def _claim(item: Located, study: str, margins: dict[str, Located], lanes: Located | None) -> Claim:
    values = item.mapping("a claim")
    name = str(values["id"].plain()) if "id" in values else "a claim without id"
    kind = str(values["compare"].plain()) if "compare" in values else ""
    if kind not in KINDS:
        raise InputError(item.where, f"{name}: compare: no kind of claim {kind!r}: {nearest(kind, KINDS)}")
    if lanes is not None and kind != "untestable":
        values = {"lanes": lanes, **values}
    claim = valid(KINDS[kind], _with_margin(Located(values, item.where), values, margins, name), name)
    if claim.study != study:
        raise InputError(item.where, f"{name}: the id begins with the study: {study}.…")
    if isinstance(claim, Tested):
        with stated_at(item, name):
            check(claim)
    return claim


def _comparison(item: Located, whose: Mapping[str, Any]) -> Comparison:
    values = item.mapping("a comparison")
    name = str(values["name"].plain()) if "name" in values else "a comparison without name"
    comparison = valid(Comparison, item, name)
    comparison = comparison.model_copy(update={**whose, "places": whose["places"] if comparison.published else ()})
    with stated_at(item, name):
        check_comparison(comparison)
    return comparison


def _printed(item: Located, study: str) -> PublishedAt:
    place = valid(PublishedAt, item, "published")
    for part, name in zip(place.key, ("source", "row", "column"), strict=True):
        form = re.sub(r"\\{\w+\\}", ".+", re.escape(part))
        names = set(published(study)[name])
        if not any(re.fullmatch(form, text) for text in names):
            raise InputError(item.where, f"published: no {name} {part!r}: {nearest(part, names)}")
    return place


def _with_margin(item: Located, values: dict[str, Located], margins: dict[str, Located], name: str) -> Located:
    """Return the claim with the margin that it names."""
    margin = values.get("margin")
    if margin is None or not isinstance(margin.value, str):
        return item
    if margin.value not in margins:
        raise InputError(margin.where, f"{name}: no margin {margin.value!r}: {nearest(margin.value, margins)}")
    value, *difference, why = valid(Margin, margins[margin.value], f"the margin {margin.value}").root
    named = {"margin": value, "why_margin": why} | ({"margin_difference": difference[0]} if difference else {})
    return Located({**values, **{key: Located(level, margin.where) for key, level in named.items()}}, item.where)


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
        for name, setting in settings.items():
            for level in several(setting):
                _check_value(claim.study, name, level)
    for levels in claim.contrasts():
        for side in sides.values():
            asked = {**claim.quantity.model_dump(), **levels, **side}
            operations, roles, metrics = (map(str, several(asked[name])) for name in OF_QUANTITY)
            for quantity in product(operations, roles, metrics):
                _check_quantity(claim.study, quantity)
                if claim.statistic != "mean" and quantity[2] not in SPREAD:
                    raise ValueError(f"{claim.statistic}: not known of {quantity[2]}, which is derived from several")
        _check_published(claim, levels)


def check_comparison(comparison: Comparison) -> None:
    """Check every name of a comparison; as `check`."""
    fields = {*_parameters(comparison.study).model_fields, *OF_ROWS}
    for name in (comparison.by, *comparison.shown, *comparison.loose):
        if name not in fields:
            raise ValueError(f"no parameter {name!r}: {nearest(name, fields)}")
    for level in {level for pair in comparison.every_pair() for level in pair}:
        _check_value(comparison.study, comparison.by, level)
    for quantity in comparison.every_quantity():
        _check_quantity(comparison.study, quantity)


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
    if isinstance(claim, Bound):
        # a bound is the number that the paper prints
        ends = {name: end for name, end in (("above", claim.above), ("below", claim.below)) if end is not None}
        for name, key in claim.published.items():
            if name not in ends:
                raise ValueError(f"published: no bound {name!r}: {nearest(name, ends)}")
            number = _number(claim.study, name, key)
            if not isclose(convert(ends[name], claim.unit, number.unit), number.value):
                raise ValueError(f"{name}: {ends[name]:g} {claim.unit} is not the {number.printed} that is printed")
        return
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
