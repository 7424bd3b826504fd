"""Reads `data/claims`: every name in it checked, every mistake told with its file, line and the nearest right name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeVar, get_args

from pydantic import BaseModel, RootModel, ValidationError

from benchbook import paths
from benchbook.evidence.claim_names import check
from benchbook.evidence.claims import Claim, Tested
from benchbook.evidence.published import STUDIES
from benchbook.evidence.sentences import Sentence
from benchbook.inputs import InputError
from benchbook.strict import Located, load, mistake, nearest

T = TypeVar("T", bound=BaseModel)
SECTIONS: Final = ("study", "margins", "sentences", "claims")
KINDS: Final[dict[str, type[Claim]]] = {kind.__name__.lower(): kind for kind in get_args(Claim)}


class Margin(RootModel[tuple[float, str]]):
    """A margin, and why so much."""


@dataclass(frozen=True)
class Claims:
    """What one paper claims.

    Parameters
    ----------
    study
        Its study.
    sentences
        Its comparative sentences, in the paper's order.
    claims
        What they claim.
    """

    study: str
    sentences: tuple[Sentence, ...]
    claims: tuple[Claim, ...]


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
    found = _all(paths.claims(), paths.published())
    return tuple(claim for one in found if study in (None, one.study) for claim in one.claims)


def sentences(study: str) -> tuple[Sentence, ...]:
    """Return the comparative sentences of one paper, each with its claims or why it makes none."""
    return next((one.sentences for one in _all(paths.claims(), paths.published()) if one.study == study), ())


@cache
def _all(folder: Path, published: Path) -> tuple[Claims, ...]:
    """Return every file of a folder; `published` only keeps apart what was checked against other numbers."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: (file.stem not in STUDIES, _rank(file.stem)))
    found = tuple(read(file) for file in files)
    owner: dict[str, str] = {}
    for one in found:
        for claim in one.claims:
            if claim.id in owner:
                raise InputError(f"{folder.name}/{one.study}.yaml", f"{claim.id} stands here twice")
            owner[claim.id] = one.study
    return found


def read(path: Path) -> Claims:
    """Read one study's claims.

    Raises
    ------
    benchbook.inputs.InputError
        When a name in it is wrong, a number is not published, or a sentence names a claim that is not there.
    """
    whole = load(path)
    parts = whole.mapping("a file of claims")
    for name, place in parts.items():
        if name not in SECTIONS:
            raise InputError(place.where, f"no section {name!r}: {nearest(name, SECTIONS)}")
    study = parts["study"].plain() if "study" in parts else None
    if study not in STUDIES or study != path.stem:
        raise InputError(whole.where, f"study: the study of this file, {path.stem}, one of {', '.join(STUDIES)}")
    margins = parts.get("margins", Located({}, whole.where)).mapping("margins")
    found = tuple(_claim(item, study, margins) for item in _items(parts, "claims"))
    stated = tuple(_valid(Sentence, item, "a sentence") for item in _items(parts, "sentences"))
    _mapped(parts, stated, [claim.id for claim in found])
    return Claims(study, stated, found)


def _items(parts: dict[str, Located], section: str) -> list[Located]:
    return parts[section].sequence(section) if section in parts else []


def _claim(item: Located, study: str, margins: dict[str, Located]) -> Claim:
    values = item.mapping("a claim")
    name = str(values["id"].plain()) if "id" in values else "a claim without id"
    kind = str(values["compare"].plain()) if "compare" in values else ""
    if kind not in KINDS:
        raise InputError(item.where, f"{name}: compare: no kind of claim {kind!r}: {nearest(kind, KINDS)}")
    claim = _valid(KINDS[kind], _with_margin(item, values, margins, name), name)
    if claim.study != study:
        raise InputError(item.where, f"{name}: the id begins with the study: {study}.…")
    if isinstance(claim, Tested):
        try:
            check(claim)
        except ValueError as error:
            raise InputError(item.where, f"{name}: {error}") from error
    return claim


def _with_margin(item: Located, values: dict[str, Located], margins: dict[str, Located], name: str) -> Located:
    """Return the claim with the margin that it names."""
    margin = values.get("margin")
    if margin is None or not isinstance(margin.value, str):
        return item
    if margin.value not in margins:
        raise InputError(margin.where, f"{name}: no margin {margin.value!r}: {nearest(margin.value, margins)}")
    value, why = _valid(Margin, margins[margin.value], f"the margin {margin.value}").root
    return Located(
        {**values, "margin": Located(value, margin.where), "why_margin": Located(why, margin.where)}, item.where
    )


def _valid(form: type[T], item: Located, name: str) -> T:
    """Return the value in that form.

    Raises
    ------
    benchbook.inputs.InputError
        When it has another.
    """
    try:
        return form.model_validate_json(json.dumps(item.plain()))
    except ValidationError as error:
        where, path, said = mistake(error, item, form)
        raise InputError(where, ": ".join(filter(None, (name, path, said)))) from error


def _mapped(parts: dict[str, Located], stated: Sequence[Sentence], ids: list[str]) -> None:
    """Check that each sentence stands once and names claims of this file."""
    seen: set[tuple[str, int]] = set()
    for item, sentence in zip(_items(parts, "sentences"), stated, strict=True):
        if (sentence.section, sentence.sentence) in seen:
            raise InputError(item.where, f"{sentence.section}, sentence {sentence.sentence} stands here twice")
        seen.add((sentence.section, sentence.sentence))
        for name in sentence.claims:
            if name not in ids:
                raise InputError(item.where, f"no claim {name!r}: {nearest(name, ids)}")


def _rank(study: str) -> int:
    return STUDIES.index(study) if study in STUDIES else len(STUDIES)
