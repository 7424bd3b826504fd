"""The papers' claims that a contrast bears on, and claims of one's own: registered with a margin, then judged."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

import pandas as pd
from pydantic import AwareDatetime, BaseModel, ConfigDict, NonNegativeInt, TypeAdapter

from benchbook import atomic, paths
from benchbook.evidence import claims, judged
from benchbook.evidence.claims import Ratio, Settings, Tested, Untestable, label, several
from benchbook.evidence.contrasts import NOT_RUN
from benchbook.evidence.contrasts import asked as of_contrast
from benchbook.evidence.judge import NOT_TESTABLE
from benchbook.evidence.measured import FREE, OF_QUANTITY
from benchbook.evidence.sides import Side
from benchbook.explorer.contrasts import Answer, Asked, called_factor, called_level, called_measure
from benchbook.explorer.sources import Source
from benchbook.inputs import InputError, contents

FILE: Final = "own_claims.json"
"""Where they are kept, in the results' folder."""

_WIDEST: Final = 10
"""The largest margin, as in the forms of ``data/claims``."""
_DAMAGED: Final = ".damaged."
_LARGEST: Final = 10_000_000
"""Bytes that the file may hold."""

_SHOWN: Final = ["id", "contrast", "claimed", "ratio", "low", "high", "blocks", "verdict", "why"]


def bearing(source: Source, asked: Asked) -> pd.DataFrame:
    """Return the contrasts of the paper's claims of which both sides are those asked for, judged on all its blocks.

    Returns
    -------
    pandas.DataFrame
        ``id, says, contrast, claimed, ratio, low, high, blocks, verdict, why``; a row a contrast.
    """
    if any(side.settings.get("dataset_file") for side in asked.pair.sides.values()):
        return pd.DataFrame(columns=["says", *_SHOWN])  # the paper claims nothing of records of one's own
    lane = _lane(asked)
    of_paper = {claim.id: claim for claim in claims(asked.comparison.study) if not isinstance(claim, Untestable)}
    meant = [(name, contrast) for name, claim in of_paper.items() for contrast in _meant(claim, asked, lane)]
    if not meant:
        return pd.DataFrame(columns=["says", *_SHOWN])
    means = source.means[source.means["study"] == asked.comparison.study]
    table = judged(means, [of_paper[name] for name in dict(meant)])
    table = table[(table["lane"] == lane) & (table["host"] == asked.pair.host)]
    table = table[[key in meant for key in zip(table["id"], table["contrast"], strict=True)]]
    return table.assign(says=[of_paper[name].says for name in table["id"]])[["says", *_SHOWN]].reset_index(drop=True)


def _meant(claim: Tested, asked: Asked, lane: str) -> list[str]:
    """Return the labels of a claim's contrasts that set the same two sides against each other."""
    labels = []
    for levels in claim.contrasts(lane):
        sides = of_contrast(claim, levels).values()
        a, b = (
            {place for place, wanted in enumerate(sides) if _is(side, asked, wanted)}
            for side in asked.pair.sides.values()
        )
        if any(place != other for place in a for other in b):
            labels.append(label(levels))
    return labels


def _lane(asked: Asked) -> str:
    return str(asked.pair.sides["a"].settings.get("lane", "python"))


def _is(side: Side, asked: Asked, wanted: Settings) -> bool:
    """Return whether a side is one that a contrast asks for."""
    settings = {**side.settings, **dict(zip(OF_QUANTITY, asked.quantity, strict=True))}
    return all(settings.get(name) in several(level) for name, level in wanted.items())


def claim(asked: Asked, claimed: str, margin: float, why: str, number: int = 1) -> Ratio:
    """Return a contrast as a claim, in the form of those of ``data/claims``.

    Parameters
    ----------
    claimed
        ``more``, ``less`` or ``equal``: of the first side against the second.
    margin
        The ratio above 1 up to which a difference does not matter.
    why
        Why so much: for whoever reads the verdict.

    Raises
    ------
    benchbook.inputs.InputError
        When the margin is none.
    pydantic.ValidationError
        When another of these is none.
    """
    if not 1 < margin <= _WIDEST:
        advice = f"a ratio above 1, at most {_WIDEST}; 1.1 says that a tenth more or less would not matter"
        raise InputError("the margin", f"{margin:g} is none: {advice}")
    by, common = asked.comparison.by, asked.pair.common
    stated = {name for name, level in common.items() if level is not None} - {*FREE}
    names = {name for name in stated if not name.endswith(" in turn")}
    sides = {}
    for name, side in asked.pair.sides.items():
        loose = {other: side.settings.get(other) for other in asked.comparison.loose}
        sides[name] = {by: side.settings[by], **{other: at for other, at in loose.items() if isinstance(at, str)}}
    words = {"more": "more than", "less": "less than", "equal": "as much as"}.get(claimed, claimed)
    operation, role, metric = asked.quantity
    return Ratio.model_validate(
        {
            "id": f"{asked.comparison.study}.own.{number}",
            "says": f"{asked.pair.words('a')} takes {words} {asked.pair.words('b')}: "
            f"{operation.replace('_', ' ')}, {called_measure(role, metric)}.",
            "where": "my own claim",
            "compare": "ratio",
            "quantity": {"operation": operation, "role": role, "metric": metric},
            **sides,
            "at": {name: common[name] for name in sorted(names - set(sides["a"]))},
            "claimed": claimed,
            "margin": margin,
            "why_margin": why,
            "lanes": (_lane(asked),),
        }
    )


def judge(source: Source, claim: Ratio, host: str = "", since: datetime | None = None) -> dict[str, object]:
    """Return a claim's contrast judged on this source as the papers' claims are: a row of `bearing`.

    Parameters
    ----------
    host
        Where it is judged, if that host ran it; else where the first did.
    since
        Only the blocks that began later; None for all.
    """
    means = source.means[source.means["study"] == claim.study]
    if since is not None:
        means = means[means["started_at"] > since]
    table = judged(means, [claim])
    of_host = table[table["host"] == host]
    table = table if of_host.empty else of_host
    if table.empty:
        return {**dict.fromkeys(_SHOWN), "says": claim.says, "verdict": NOT_TESTABLE, "why": NOT_RUN}
    row = {name: table[name].iloc[0] for name in _SHOWN}
    return {**row, "says": claim.says, "why": row["why"] or NOT_RUN}


class Entry(BaseModel):
    """A claim of one's own as the file keeps it."""

    model_config = ConfigDict(frozen=True)

    claim: Ratio
    source: str
    registered: AwareDatetime
    seen: NonNegativeInt  # blocks that had been measured by then
    host: str = ""  # where these were; empty where it was not kept
    removed: AwareDatetime | None = None

    @property
    def number(self) -> str:
        """The number that it keeps, whatever is removed."""
        return self.claim.id.rpartition(".")[2]

    @property
    def about(self) -> str:
        """What it is about whatever it says of it: its quantity, levels, and sides in either order."""
        claim = self.claim
        sides = sorted(json.dumps(side, sort_keys=True) for side in (claim.a, claim.b))
        return json.dumps([claim.study, claim.quantity.model_dump(), claim.at, claim.lanes, sides], sort_keys=True)


_ENTRIES: Final = TypeAdapter(list[Entry])


def register(claim: Ratio, answer: Answer, source: Source) -> Entry:
    """Keep a claim with the moment and how many blocks had been measured by then; return what is kept.

    Who claims after having looked explores: the blocks that come later are the test.
    """
    entry = Entry(claim=claim, source=source.name, registered=_now(), seen=len(answer.points), host=answer.pair.host)
    _write([*registered(), entry])
    return entry


def remove(name: str) -> None:
    """Take a claim off the list; the file keeps it with the moment, so that it cannot come back as if it were new."""
    removed = {"removed": _now()}
    _write([entry.model_copy(update=removed) if entry.claim.id == name else entry for entry in registered()])


def earlier(entry: Entry, entries: Iterable[Entry]) -> list[Entry]:
    """Return the claims about the same contrast that were removed before this one was registered, the oldest first."""
    former = [other for other in entries if other.removed is not None and other.removed <= entry.registered]
    return [other for other in former if other.about == entry.about]


def levels(claim: Ratio) -> str:
    """Return in words the levels at which a claim holds: of records first, then of everything that both sides share."""
    at = {name: level for name, level in claim.at.items() if level != "none"}
    at.pop("timeout_s", None)
    ordered = sorted(at, key=lambda name: (name != "n", name))
    shared = [f"{called_factor(name)} {called_level(name, at[name])}" for name in ordered]
    return "; ".join([*shared, *(f"implementation {called_level('lane', lane)}" for lane in claim.lanes)])


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _write(entries: list[Entry]) -> None:
    content = _ENTRIES.dump_python(entries, mode="json", exclude_defaults=True)
    atomic.write(paths.results() / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def registered() -> list[Entry]:
    """Return what `register` kept, the oldest first; what was removed since says when: ``removed``.

    A file that does not hold that is renamed (`set_aside`).
    """
    file = paths.results() / FILE
    if not os.path.lexists(file):
        return []
    try:
        return _ENTRIES.validate_json(contents(file, _LARGEST))
    except ValueError:
        free = (file.with_name(f"{file.name}{_DAMAGED}{number}") for number in count(1))
        with suppress(FileNotFoundError):  # another page has come first
            file.rename(next(path for path in free if not os.path.lexists(path)))
        return []


def set_aside() -> list[Path]:
    """Return the damaged files that `registered` met: nothing is lost that was in them, but it is not shown."""
    return sorted(paths.results().glob(f"{FILE}{_DAMAGED}*"))


def standing(entries: Iterable[Entry]) -> list[Entry]:
    """Return the registered claims that were not removed."""
    return [entry for entry in entries if entry.removed is None]
