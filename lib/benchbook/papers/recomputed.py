"""Checks and findings: the papers' own analyses, recomputed from the numbers that they print.

A *check* compares one printed number, bound or order with what other printed numbers make it.
Checks are counted. A *finding* describes what does not follow: as printed, as recomputed, and why.
Each paper has a module in `benchbook.papers.checks`, and its findings' texts in ``data/findings``.
All numbers are computed from ``data/published`` alone.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from operator import truediv
from string import Formatter
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import paths
from benchbook.analysis.claim_files import suggest_published_key
from benchbook.analysis.published import (
    PublishedNumber,
    find_published_number,
    load_published_numbers,
)
from benchbook.files.yaml_file import load_yaml
from benchbook.studies.catalogue import SLUGS

Values: TypeAlias = NDArray[np.float64]
"""Values of several printed numbers, or what is computed from them."""

FindingKind: TypeAlias = Literal[
    "misprint", "contradiction", "implausible", "unsupported", "not shown"
]
"""What is wrong:

- ``misprint``: a slip that another number corrects
- ``contradiction``: two places cannot both be right
- ``implausible``: possible on paper, not on a machine
- ``unsupported``: a sentence that the numbers do not support
- ``not shown``: the reader would need it, and it is not printed
"""

SIMILAR: Final = 1.25
"""The factor within which two times are "close", "very similar" or "slightly" apart.

The papers give none. This one is lenient, so that what fails it fails beyond doubt.
"""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, besides that of print."""

Compute: TypeAlias = Callable[..., float]
BoundSide: TypeAlias = Literal["above", "below"]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""What is checked:

- ``number``: a printed value
- ``bound``: a limit that a value must keep
- ``order``: which of two is larger
- ``likeness``: that two are about the same
"""


@dataclass(frozen=True)
class PrintedCheck:
    """The result of one recomputation."""

    study: str
    kind: CheckKind
    says: str
    where: str  # the source that prints it
    of: str  # the sources that it is recomputed from
    printed: str  # the characters; for orders and likeness the claim about the ratio
    # In the printed number's unit; for orders and likeness the ratio, first over second.
    recomputed: float
    # Half the last printed digit's unit and what the sources' rounding adds; for likeness the
    # factor.
    tolerance: float
    agrees: bool
    # The published number that is recomputed; None for orders.
    key: tuple[str, str, str, str] | None = None
    used: tuple[tuple[str, str, str, str], ...] = ()  # those that it was computed from


def propagate(compute: Compute, *of: PublishedNumber) -> tuple[float, float]:
    """Compute from printed values; return the result and how far their rounding may move it.

    The rounding of one input at a time is added and subtracted, and the largest moves are summed.
    """
    values = [number.value for number in of]
    result = compute(*values)
    reach = 0.0
    for rank, number in enumerate(of):
        moves = []
        for value in (number.value - number.rounding, number.value + number.rounding):
            moved = [*values[:rank], value, *values[rank + 1 :]]
            moves.append(abs(compute(*moved) - result))
        reach += max(moves)
    return result, reach


def check_number(
    claim: PublishedNumber,
    compute: Compute,
    *of: PublishedNumber,
    says: str,
    rounding: float | None = None,
) -> PrintedCheck:
    """Check that a printed number is computed from the others, to its printed digits.

    Parameters
    ----------
    claim
        The printed number.
    compute, of
        The function, and the printed numbers that are its arguments.
    says
        What is checked, in words.
    rounding
        Half a unit of the last digit, where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _make_check("number", says, claim, of, value, tolerance, agrees)


def check_bound(
    claim: PublishedNumber, side: BoundSide, compute: Compute, *of: PublishedNumber, says: str
) -> PrintedCheck:
    """Check that a value keeps a printed bound, up to the rounding of its inputs."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _make_check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def check_limit(
    where: str, most: float, compute: Compute, *of: PublishedNumber, says: str
) -> PrintedCheck:
    """Check that a value keeps a limit that is not printed, such as 100 % for a sum of shares."""
    value, reach = propagate(compute, *of)
    agrees = value - most <= reach * _ROUNDED
    return _make_check("bound", says, (where, f"at most {most:g}"), of, value, reach, agrees)


def check_order(
    where: str, *of: PublishedNumber, says: str, compute: Compute = truediv
) -> PrintedCheck:
    """Check that the first of two numbers is smaller, by more than their rounding.

    `compute` makes their ratio; it can make it of more than two numbers.
    """
    value, reach = propagate(compute, *of)
    agrees = value + reach < 1
    return _make_check("order", says, (where, "less than 1"), of, value, reach, agrees)


def check_likeness(
    where: str, first: PublishedNumber, second: PublishedNumber, *, says: str
) -> PrintedCheck:
    """Check that two numbers that a sentence calls close are within the factor `SIMILAR`."""
    ratio = first.value / second.value
    agrees = 1 / SIMILAR <= ratio <= SIMILAR
    claim = (where, "about 1")
    return _make_check("likeness", says, claim, (first, second), ratio, SIMILAR, agrees)


def _make_check(
    kind: CheckKind,
    says: str,
    claim: PublishedNumber | tuple[str, str],
    of: tuple[PublishedNumber, ...],
    recomputed: float,
    tolerance: float,
    agrees: bool,
) -> PrintedCheck:
    """Return a check of a printed number, or of a sentence: its source and its claim."""
    if isinstance(claim, PublishedNumber):
        where, printed, key = claim.source, claim.printed, claim.key
    else:
        (where, printed), key = claim, None
    used = tuple(number.key for number in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return PrintedCheck(
        study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used
    )


@dataclass(frozen=True)
class PaperFinding:
    """One place where a paper's text, tables and arithmetic do not agree.

    Its name is ``<study>.<what>``; ``why`` says what follows for a reader of the paper.
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


FindingNumbers: TypeAlias = dict[str, Mapping[str, object]]
"""The numbers in the texts of findings, by the finding's name and their own."""


def get_number(study: str, source: str, row: str | int, column: str | int) -> PublishedNumber:
    """Return one number as a paper prints it.

    Raises
    ------
    ValueError
        When the paper does not print it; the message has the nearest name.
    """
    number = find_published_number(study, source, str(row), str(column))
    if number is None:
        nearest = suggest_published_key(study, (source, str(row), str(column)))
        raise ValueError(f"data/published/{study}.csv: {nearest}")
    return number


def get_values(numbers: Iterable[PublishedNumber]) -> Values:
    """Return the values of printed numbers."""
    return np.array([number.value for number in numbers])


def list_values(values: Iterable[float | str], form: str = "") -> str:
    """Return values as a sentence lists them, each in a format: ``1.39, 20.1 and 142.0``."""
    *first, last = (format(value, form) for value in values)
    return f"{', '.join(first)} and {last}" if first else last


def run_checks(study: str | None = None) -> pd.DataFrame:
    """Return the checks of one study, or of all: one row per check, one column per field."""
    rows = []
    for module in _load_modules(study).values():
        rows += [asdict(check) for check in module.list_checks()]
    return pd.DataFrame(rows)


def list_findings(study: str | None = None) -> list[PaperFinding]:
    """Return the findings of one study, or of all: the texts of ``data/findings``, filled in."""
    findings = []
    fill = _SentenceWriter().vformat
    for slug, module in _load_modules(study).items():
        numbers = module.compute_findings()
        for name, texts in load_yaml(paths.findings() / f"{slug}.yaml").value.items():
            of_finding = numbers.get(name, {})
            filled: dict[str, Any] = {part: fill(texts[part], (), of_finding) for part in texts}
            findings.append(PaperFinding(name, **filled))
    return findings


class _SentenceWriter(Formatter):
    """Fills numbers into a text as `str.format` does, and several as a sentence lists them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list | np.ndarray):
            return list_values(value, format_spec)
        return format(value, format_spec)


def _load_modules(study: str | None) -> dict[str, ModuleType]:
    """Return the modules with the checks of one paper, or of all papers, by study."""
    # They import this module, so they cannot be imported at its top.
    slugs = [slug for slug in SLUGS if study in (None, slug)]
    return {slug: importlib.import_module(f"benchbook.papers.checks.{slug}") for slug in slugs}


def count_checks(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks of a table each study has: ``study, recomputed, agree, disagree``."""
    agrees = table.groupby("study", sort=False)["agrees"]
    counts = pd.DataFrame({"recomputed": agrees.size(), "agree": agrees.sum().astype(int)})
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def count_coverage() -> dict[str, int]:
    """Return how many printed values there are, and how many of them are checked.

    Returns
    -------
    dict
        - ``printed``: rows of ``data/published``
        - ``recomputed``: values that other printed numbers give
        - ``used``: further values that these or an order are computed from
        - ``texts``: versions and other text
        - ``alone``: numbers that nothing else printed gives or needs, such as a machine's memory
    """
    table, compared = load_published_numbers(), run_checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(compared["key"].dropna())
    used = set(compared["used"].explode().dropna()) - recomputed
    texts = set(keys[table["value"].isna()]) - recomputed - used
    counts = {"recomputed": len(recomputed), "used": len(used), "texts": len(texts)}
    return {"printed": len(table), **counts, "alone": len(table) - sum(counts.values())}
