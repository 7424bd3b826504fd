"""The papers' own analyses, recomputed from the numbers they print: what agrees and what does not.

A *check* compares one printed number, bound or ordering with what other printed numbers make it.
Checks are counted. A *finding* says what does not follow: as printed, as recomputed, and why.
Each paper's checks and findings are in its module of `benchbook.papers.checks`; they read
``data/published`` only.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.claim_files import nearest_number
from benchbook.analysis.published import Number, printed_number, published
from benchbook.studies import SLUGS

Values: TypeAlias = NDArray[np.float64]
"""Values of several printed numbers, or what is computed from them."""

FindingKind: TypeAlias = Literal["misprint", "contradiction", "implausible", "unsupported", "not shown"]
"""``misprint``: a slip that another number corrects; ``contradiction``: two places cannot both be right;
``implausible``: possible on paper, not on a machine; ``unsupported``: a sentence that the numbers do not carry;
``not shown``: what the reader would need and does not get."""

SIMILAR: Final = 1.25
"""Two times within this factor count as "close", "very similar" or "slightly" apart: lenient, so that what fails it
fails beyond doubt. The papers give no factor."""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, beside that of print."""

Compute: TypeAlias = Callable[..., float]
Side: TypeAlias = Literal["above", "below"]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""``number``: a printed value; ``bound``: a limit that a value must keep; ``order``: which of two is larger;
``likeness``: that two are about the same."""


@dataclass(frozen=True)
class Check:
    """What one recomputation came to."""

    study: str
    kind: CheckKind
    says: str
    where: str  # it is printed
    of: str  # the sources that it is recomputed from
    printed: str  # the characters; for orders and likeness the claim about the ratio
    recomputed: float  # in the printed number's unit; for orders and likeness the ratio, first over second
    tolerance: float  # half the last printed digit's unit and what the sources' rounding adds; for likeness the factor
    agrees: bool
    key: tuple[str, str, str, str] | None = None  # the published number that is recomputed; None for orders
    used: tuple[tuple[str, str, str, str], ...] = ()  # those that it was computed from


def propagate(compute: Compute, *of: Number) -> tuple[float, float]:
    """Compute from printed values; return the result, and how far their rounding, one input at a time, may move it."""
    values = [number.value for number in of]
    middle = compute(*values)
    reach = 0.0
    for rank, number in enumerate(of):
        moved = ([*values[:rank], number.value + side * number.rounding, *values[rank + 1 :]] for side in (-1, 1))
        reach += max(abs(compute(*inputs) - middle) for inputs in moved)
    return middle, reach


def follows(claim: Number, compute: Compute, *of: Number, says: str, rounding: float | None = None) -> Check:
    """Return whether a printed number is what ``compute`` makes of the others, to its printed digits.

    ``rounding`` is half a unit of the last digit where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _check("number", says, claim, of, value, tolerance, agrees)


def bound(claim: Number, side: Side, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a printed bound, up to the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def limit(where: str, most: float, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a limit that nobody prints, such as 100 % for shares that add up."""
    value, reach = propagate(compute, *of)
    return _check("bound", says, (where, f"at most {most:g}"), of, value, reach, value - most <= reach * _ROUNDED)


def less(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio is less than 1 by more than the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    return _check("order", says, (where, "less than 1"), of, value, reach, value + reach < 1)


def alike(where: str, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a ratio that a sentence calls close to 1 lies within the factor `SIMILAR`."""
    ratio = compute(*(number.value for number in of))
    return _check("likeness", says, (where, "about 1"), of, ratio, SIMILAR, 1 / SIMILAR <= ratio <= SIMILAR)


def _check(
    kind: CheckKind,
    says: str,
    claim: Number | tuple[str, str],
    of: tuple[Number, ...],
    recomputed: float,
    tolerance: float,
    agrees: bool,
) -> Check:
    """Return a check of a printed number, or of what a sentence claims: where, and of the ratio what."""
    where, printed, key = (claim.source, claim.printed, claim.key) if isinstance(claim, Number) else (*claim, None)
    used = tuple(number.key for number in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return Check(study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used)


@dataclass(frozen=True)
class Finding:
    """One place where a paper's text, tables and arithmetic do not fit, in own words and computed numbers.

    Its name is ``<study>.<what>``; ``why`` says what follows for whoever reads the paper.
    """

    name: str
    title: str
    kind: FindingKind
    source: str
    as_printed: str
    recomputed: str
    why: str

    @property
    def study(self) -> str:
        """The slug of the study."""
        return self.name.partition(".")[0]


def get_number(study: str, source: str, row: str | int, column: str | int) -> Number:
    """Return one number as a paper prints it.

    Raises
    ------
    ValueError
        When the paper does not print it; the message has the nearest name.
    """
    number = printed_number(study, source, str(row), str(column))
    if number is None:
        nearest = nearest_number(study, (source, str(row), str(column)))
        raise ValueError(f"data/published/{study}.csv: {nearest}")
    return number


def get_values(numbers: Iterable[Number]) -> Values:
    """Return the values of printed numbers."""
    return np.array([number.value for number in numbers])


def list_values(values: Iterable[float | str], form: str = "") -> str:
    """Return values as a sentence lists them, each in a format: ``1.39, 20.1 and 142.0``."""
    *first, last = (format(value, form) for value in values)
    return f"{', '.join(first)} and {last}" if first else last


def checks(study: str | None = None) -> pd.DataFrame:
    """Return the checks of one study, or of all: a row each, a column for each field of `Check`."""
    rows = []
    for module in _load_modules(study):
        rows += [asdict(check) for check in module.checks()]
    return pd.DataFrame(rows)


def findings(study: str | None = None) -> list[Finding]:
    """Return the findings of one study, or of all."""
    listed: list[Finding] = []
    for module in _load_modules(study):
        listed += module.findings()
    return listed


def finding(name: str) -> Finding:
    """Return one finding by its name; a KeyError lists the names."""
    by_name = {one.name: one for one in findings()}
    if name not in by_name:
        raise KeyError(f"no finding {name!r}: there are {', '.join(by_name)}")
    return by_name[name]


def _load_modules(study: str | None) -> list[ModuleType]:
    """Return the modules with the checks of one paper, or of all papers."""
    # They import this module, so they cannot be imported at its top.
    slugs = [slug for slug in SLUGS if study in (None, slug)]
    return [importlib.import_module(f"benchbook.papers.checks.{slug}") for slug in slugs]


def tally(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks of a table each study has: ``study, recomputed, agree, disagree``."""
    agrees = table.groupby("study", sort=False)["agrees"]
    counts = pd.DataFrame({"recomputed": agrees.size(), "agree": agrees.sum().astype(int)})
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def coverage() -> dict[str, int]:
    """Return how many printed values there are, and what becomes of them.

    Returns
    -------
    dict
        ``printed``: rows of ``data/published``; ``recomputed``: those that other printed numbers give; ``used``:
        further ones that these or an ordering are computed from; ``texts``: versions and other text; ``alone``: numbers
        that nothing else printed leads to or needs, such as a machine's memory.
    """
    table, compared = published(), checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(compared["key"].dropna())
    used = set(compared["used"].explode().dropna()) - recomputed
    texts = set(keys[table["value"].isna()]) - recomputed - used
    counts = {"recomputed": len(recomputed), "used": len(used), "texts": len(texts)}
    return {"printed": len(table), **counts, "alone": len(table) - sum(counts.values())}
