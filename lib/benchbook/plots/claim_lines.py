"""One line per claim, the same on every page, and how many claims have which verdict."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

import pandas as pd

from benchbook.analysis.verdicts import VERDICTS, ClaimVerdict, Counts
from benchbook.digits import NAN, difference, estimate, number, plural
from benchbook.plots import names
from benchbook.plots.points import each, where
from benchbook.plots.ratios import METRICS, place
from benchbook.studies import SLUGS

ALL: Final = "all"
"""The last line of `count_verdicts`."""

NOISY: Final = "noisy: no verdict"
"""What stands beside a ratio of noisy blocks."""

_PRINTED: Final = {
    **names.FORMATS,
    **{name: names.codec(name) for name in ("jackson", "jaxb", "moxy", "xmldecoder", "dom")},
    **{"mongoose": "Mongoose", "mongoclient": "MongoClient", "document": "JSON", "xml_fields": "XML"},
}
"""Levels that are called another thing in print."""


@dataclass(frozen=True)
class ClaimLine:
    """The parts of a claim's line, in their order; texts, empty where there is nothing to say."""

    verdict: str  # ``holds``
    counts: str  # ``10 of 10 for``
    says: str  # the claim in a sentence
    here: str  # ``5.2 (5.0 to 5.4)``: the ratio with its interval, or a difference with its unit
    printed: str  # the paper's ratio, ``5.67``
    size: str  # ``as printed``, ``larger`` or ``smaller``
    measured: str  # ``10 blocks, 2 machine-days``
    range: str  # ``1.9 to 5.2``: over all comparisons of the claim, where they differ
    why: str  # why it is not comparable or did not run
    divided: str = ""  # what is divided: ``XML / JSON, time``
    place: str = ""  # where: ``case = 1, n = 10,000, Java``
    notes: tuple[int, ...] = ()  # the numbers of the study's notes that are about it


def write_line(claim: ClaimVerdict, notes: Sequence[int] = ()) -> ClaimLine:
    """Return the parts of a claim's line, with the numbers of the notes that are about it."""
    ran = not isnan(claim.estimate)
    is_noisy = not ran and not isnan(claim.noisy_estimate)
    here, measured, extremes = "", "", list[str]()
    if ran:
        here = _amount(claim, claim.estimate, claim.low, claim.high)
    elif is_noisy:
        here, measured = _amount(claim, claim.noisy_estimate), NOISY
    if ran and claim.smallest < claim.largest:
        extremes = [_amount(claim, end) for end in (claim.smallest, claim.largest)]
    if claim.blocks:
        blocks, days = plural(claim.blocks, "block"), plural(claim.machine_days, "machine-day")
        measured = f"{blocks}, {days}"
    return ClaimLine(
        verdict=claim.verdict,
        counts=claim.words,
        says=claim.says.rstrip("."),
        here=here,
        printed="" if isnan(claim.published) else number(claim.published),
        size=claim.size,
        measured=measured,
        range=" to ".join(extremes),
        why=claim.why,
        divided=name_ratio(claim),
        place=place(claim) if ran or is_noisy else "",
        notes=tuple(notes),
    )


def _amount(claim: ClaimVerdict, value: float, low: float = NAN, high: float = NAN) -> str:
    """Return a ratio, or a difference in its unit, with its interval."""
    if claim.kind == "difference":
        return difference(value, low, high, claim.unit)
    return estimate(value, low, high)


def name_ratio(claim: ClaimVerdict) -> str:
    """Return what a claim divides, or subtracts, and of which quantity: ``XML / JSON, time``."""
    if not claim.a:
        return ""
    sign = "−" if claim.kind == "difference" else "/"
    sides = re.sub(r"[a-z_]+", lambda word: _PRINTED.get(word[0], word[0]), f"{claim.a} {sign} {claim.b}")
    sides = re.sub(r"\d{4,}", lambda digits: f"{int(digits[0]):,}", sides).replace("=", " = ")
    quantity = METRICS.get(claim.metric, claim.metric.replace("_", " "))
    return f"{sides}, {quantity}"


def number_notes(comparisons: pd.DataFrame, claims: Iterable[ClaimVerdict]) -> dict[str, list[str]]:
    """Return each reason why something is not comparable, in their order, with the claims that it is about.

    Parameters
    ----------
    comparisons
        As `benchbook.analysis.claim_comparisons` returns them.
    claims
        Of one study.
    """
    notes: dict[str, list[str]] = {}
    apart = where(comparisons, stands="not comparable")
    for claim in claims:
        rows = where(apart, name=claim.id, language=claim.language)
        for reason in dict.fromkeys(row.reason for row in each(rows)):
            notes.setdefault(reason, []).append(claim.id)
    return notes


def notes_of(claim: ClaimVerdict, notes: Mapping[str, Sequence[str]]) -> list[int]:
    """Return the numbers, from 1, of the notes that are about a claim."""
    return [at for at, claims in enumerate(notes.values(), 1) if claim.id in claims]


def sort_by_verdict(claims: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return claims by their verdicts, in the verdicts' order."""
    return sorted(claims, key=lambda claim: VERDICTS.index(claim.verdict))


def count_verdicts(verdicts: pd.DataFrame, studies: Sequence[str] = SLUGS) -> pd.DataFrame:
    """Return the table "Does it hold?": how many claims of each study have which verdict.

    Parameters
    ----------
    verdicts
        As `benchbook.analysis.verdicts` returns them.

    Returns
    -------
    pandas.DataFrame
        One row per study and one for `ALL`, with the columns ``study, claims``, one per verdict, and ``noisy``: how
        many of the undecided ones have noisy blocks only.
    """
    rows = []
    for study in (*studies, ALL):
        counts = Counts.of(verdicts if study == ALL else verdicts[verdicts["study"] == study])
        about = {"study": study, "claims": counts.claims, "noisy": counts.noisy}
        rows.append({**about, **counts.by_verdict})
    return pd.DataFrame(rows, columns=["study", "claims", *VERDICTS, "noisy"])


def list_failed(verdicts: pd.DataFrame) -> list[ClaimVerdict]:
    """Return the claims that do not hold, in the papers' order."""
    return [claim for claim in ClaimVerdict.of(verdicts) if claim.verdict == "does not hold"]
