"""What a claim may name: the operations, roles and metrics that a study delivers, its parameters, printed numbers."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from benchbook import studies
from benchbook.evidence.claim_sides import printed, sides_of
from benchbook.evidence.claims import Key, Level, Rank, Settings, Tested
from benchbook.evidence.derived import DERIVED
from benchbook.evidence.published import found, published
from benchbook.strict import nearest

Triple = tuple[str, str, str]
OF_QUANTITY: Final = ("operation", "role", "metric")
OF_ROWS: Final = ("engine", "topology", "model", "driver", "codec", "format", "transport", "durability")
"""Columns of the observations that a claim may name beside the study's parameters."""

FREE: Final = ("lane", "arm", "seed", "repetitions")
"""What no claim names: it is judged for each lane, on first arms, whatever the data's seed and the repetitions."""


def check(claim: Tested) -> None:
    """Check every name of a claim.

    Raises
    ------
    ValueError
        When the study has no such quantity, parameter or value, or the paper prints no such number.
    """
    sides = sides_of(claim)
    for name, value in _named(claim, sides.values()):
        _check_value(claim.study, name, value)
    for levels in claim.contrasts():
        for side in sides.values():
            for quantity in _quantities({**claim.quantity.model_dump(), **levels, **side}):
                _check_quantity(claim.study, quantity)
        _check_published(claim, levels)


def _named(claim: Tested, sides: Iterable[Settings]) -> Iterable[tuple[str, Level]]:
    settings: tuple[Mapping[str, Any], ...] = (claim.at, claim.each, *sides)
    for one in settings:
        for name, value in one.items():
            yield from ((name, level) for level in (value if isinstance(value, tuple) else (value,)))


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


def _quantities(settings: Mapping[str, Any]) -> Iterable[Triple]:
    several = [value if isinstance(value, tuple) else (value,) for value in (settings[name] for name in OF_QUANTITY)]
    return ((o, r, m) for o in several[0] for r in several[1] for m in several[2])


def _check_quantity(study: str, quantity: Triple) -> None:
    known = delivered(study)
    if quantity in known:
        return
    for place, name in enumerate(OF_QUANTITY):
        right = {one[place] for one in known if one[:place] == quantity[:place]}
        if quantity[place] not in right:
            beside = " ".join((study, *quantity[:place]))
            raise ValueError(f"no {name} {quantity[place]!r} in {beside}: {nearest(quantity[place], right)}")


@cache
def delivered(study: str) -> frozenset[Triple]:
    """Return the operation, role and metric, stored or derived, of every value that some cell of the study delivers."""
    stored = _stored(study)
    if study == "crud":  # a single node's operation has ended when its client's has: `comparisons`
        stored |= {(operation, role, "elapsed_time") for operation, role, metric in stored if metric == "wall_time"}
    stored |= {(operation, role, "memory_pss") for operation, role, metric in stored if metric == "memory_rss"}
    found = set(stored)
    for one in DERIVED:
        for operation, role, metric in stored:
            parts = {(operation, role, part) for part in one.of}
            if one.per not in (None, "count"):
                parts.add((operation, one.per_role or role, str(one.per)))
            if metric == one.of[0] and parts <= stored:
                found.add((operation, role, one.metric))
    return frozenset(found)


def _stored(study: str) -> set[Triple]:
    """Return what is stored: what the study says of itself, where that hangs on servers, else what its cells owe."""
    module = studies.load(study)
    if hasattr(module, "EVERY"):
        return set(module.EVERY)
    return set().union(*map(module.expected, _variants(module.Parameters)))


def _variants(model: type[BaseModel]) -> Iterable[BaseModel]:
    """Yield the default parameters, and those with another value of one of them."""
    yield model()
    for name, field in model.model_fields.items():
        for value in get_args(field.annotation):
            try:
                yield model.model_validate({name: value})
            except ValidationError:  # not a choice alone
                continue


def _parameters(study: str) -> type[BaseModel]:
    model: type[BaseModel] = studies.load(study).Parameters
    return model


def _check_published(claim: Tested, levels: Mapping[str, Level]) -> None:
    allowed = [*dict.fromkeys(sides_of(claim))] if isinstance(claim, Rank) else ["a", "b"]
    for name in claim.published:
        if name not in allowed:
            raise ValueError(f"published: no side {name!r}: {nearest(name, allowed)}")
    units = {}
    for name, key in printed(claim, levels).items():
        one = found(claim.study, *key)
        if one is None or one.value != one.value:
            raise ValueError(f"published {name}: {_nearest_number(claim.study, key)}")
        units[name] = one.unit
    if len(set(units.values())) > 1:
        raise ValueError(f"published: the sides' units differ: {', '.join(units.values())}")


def _nearest_number(study: str, key: Key) -> str:
    """Return what is wrong with the key of a published number."""
    rows = published(study)
    for column, wanted in zip(("source", "row", "column"), key, strict=True):
        if wanted not in set(rows[column]):
            return f"no {column} {wanted!r}: {nearest(wanted, set(rows[column]))}"
        rows = rows[rows[column] == wanted]
    return f"{', '.join(key)} is no number"
