"""The papers' own analyses, recomputed from the numbers they print: what agrees, and what does not follow.

Two kinds. A *check* holds one printed number, bound or ordering against what other printed numbers make it; checks are
counted. A *finding* says what does not follow, as printed, as recomputed, and why. Both read ``data/published`` alone.
Each paper's stand in ``papers/<slug>/recomputed.py``, written down with its `Paper`.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Final, Literal, TypeAlias

import pandas as pd

from benchbook import papers
from benchbook.evidence.published import Number, found, published
from benchbook.studies import SLUGS

SIMILAR: Final = 1.25
"""Two times within this factor count as "close", "very similar" or "slightly" apart: lenient, so that what fails it
fails beyond doubt. The papers give no factor."""

_ROUNDED: Final = 1 + 1e-9
"""Leeway for the computer's own rounding, beside that of print."""

Compute: TypeAlias = Callable[..., float]
CheckKind: TypeAlias = Literal["number", "bound", "order", "likeness"]
"""``number``: a printed value; ``bound``: a limit that a value must keep; ``order``: which of two is larger;
``likeness``: that two are about the same."""

FindingKind: TypeAlias = Literal["misprint", "contradiction", "implausible", "unsupported", "not shown"]
"""``misprint``: a slip that another number corrects; ``contradiction``: two places cannot both be right;
``implausible``: possible on paper, not on a machine; ``unsupported``: a sentence that the numbers do not carry;
``not shown``: what the reader would need and does not get."""


@dataclass(frozen=True)
class Check:
    """What one recomputation came to.

    Parameters
    ----------
    where, of
        Where it is printed, and the sources that it is recomputed from.
    printed
        The printed characters; for orders and likeness the claim about the ratio.
    recomputed
        In the printed number's unit; for orders and likeness the ratio, first over second.
    tolerance
        Half a unit of the last printed digit and what the rounding of the sources adds; for likeness the factor.
    key, used
        The published number that is recomputed, None for orders, and those that it was computed from.
    """

    study: str
    kind: CheckKind
    says: str
    where: str
    of: str
    printed: str
    recomputed: float
    tolerance: float
    agrees: bool
    key: tuple[str, str, str, str] | None = None
    used: tuple[tuple[str, str, str, str], ...] = ()


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


Checks: TypeAlias = Iterable[Check]
Texts: TypeAlias = tuple[str, str, str]
"""A finding's last three fields: as printed, as recomputed, why."""


@dataclass(frozen=True)
class Paper:
    """What is recomputed of one paper, each check and finding a function that it registers, in the order written."""

    study: str
    checks: list[Callable[[], Checks]] = field(default_factory=list, init=False)
    findings: dict[str, Callable[[], Finding]] = field(default_factory=dict, init=False)

    def __call__(self, source: str, row: str, column: str) -> Number:
        """Return one number as the paper prints it; a KeyError names what ``data/published`` does not have."""
        number = found(self.study, source, row, column)
        if number is None:
            raise KeyError(f"data/published/{self.study}.csv has no number at {source}, {row}, {column}")
        return number

    def check(self, function: Callable[[], Checks]) -> Callable[[], Checks]:
        """Register a function that makes checks."""
        self.checks.append(function)
        return function

    def finding(self, kind: FindingKind, source: str) -> Callable[[Callable[[], Texts]], Callable[[], Finding]]:
        """Register a finding: the function's name is its name, its docstring the title, and it returns the texts."""

        def register(function: Callable[[], Texts]) -> Callable[[], Finding]:
            name = f"{self.study}.{function.__name__.replace('_', '-')}"
            title = (function.__doc__ or "").removesuffix(".")
            self.findings[name] = lambda: Finding(name, title, kind, source, *function())
            return self.findings[name]

        return register


def checks(study: str | None = None) -> pd.DataFrame:
    """Return every recomputation of one study, or of all: a row each, a column for each field of `Check`."""
    made = (make for paper in _papers(study) for make in paper.checks)
    return pd.DataFrame([asdict(check) for make in made for check in make()])


def findings(study: str | None = None) -> list[Finding]:
    """Return what does not follow, of one study or of all, computed anew."""
    return [make() for paper in _papers(study) for make in paper.findings.values()]


def finding(name: str) -> Finding:
    """Return one finding by its name; a KeyError lists the names."""
    named = {each: make for paper in _papers() for each, make in paper.findings.items()}
    if name not in named:
        raise KeyError(f"no finding {name!r}: there are {', '.join(named)}")
    return named[name]()


def _papers(study: str | None = None) -> list[Paper]:
    return [papers.load(slug, "recomputed").paper for slug in SLUGS if study in (None, slug)]


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
    table, every = published(), checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(every["key"].dropna())
    used = set(every["used"].explode().dropna()) - recomputed
    texts = set(keys[table["value"].isna()]) - recomputed - used
    counts = {"recomputed": len(recomputed), "used": len(used), "texts": len(texts)}
    return {"printed": len(table), **counts, "alone": len(table) - sum(counts.values())}


def propagate(compute: Compute, *of: Number) -> tuple[float, float]:
    """Compute from printed values; return the result, and how far their rounding, one input at a time, may move it."""
    values = [one.value for one in of]
    middle = compute(*values)
    reach = 0.0
    for rank, one in enumerate(of):
        moved = ([*values[:rank], one.value + side * one.rounding, *values[rank + 1 :]] for side in (-1, 1))
        reach += max(abs(compute(*each) - middle) for each in moved)
    return middle, reach


def follows(claim: Number, compute: Compute, *of: Number, says: str, rounding: float | None = None) -> Check:
    """Return whether a printed number is what ``compute`` makes of the others, to its printed digits.

    ``rounding`` is half a unit of the last digit where the printed characters leave zeros out.
    """
    value, reach = propagate(compute, *of)
    tolerance = (claim.rounding if rounding is None else rounding) + reach
    agrees = abs(claim.value - value) <= tolerance * _ROUNDED
    return _check("number", says, claim, of, value, tolerance, agrees)


def same(claim: Number, of: Number, says: str) -> Check:
    """Return whether a number that is printed twice is the same both times."""
    return follows(claim, lambda value: value, of, says=says)


def bound(claim: Number, side: Literal["above", "below"], compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a printed bound, up to the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    excess = claim.value - value if side == "above" else value - claim.value
    return _check("bound", says, claim, of, value, reach, excess <= reach * _ROUNDED)


def limit(where: str, most: float, compute: Compute, *of: Number, says: str) -> Check:
    """Return whether a value keeps a limit that nobody prints, such as 100 % for shares that add up."""
    value, reach = propagate(compute, *of)
    return _check("bound", says, (where, f"at most {most:g}"), of, value, reach, value - most <= reach * _ROUNDED)


def less(where: str, says: str, a: Number, b: Number) -> Check:
    """Return whether a is less than b by more than their rounding, as a sentence of the paper has it."""
    return below_one(where, says, lambda left, right: left / right, a, b)


def below_one(where: str, says: str, compute: Compute, *of: Number) -> Check:
    """Return whether a ratio is less than 1 by more than the rounding of what it is computed from."""
    value, reach = propagate(compute, *of)
    return _check("order", says, (where, "less than 1"), of, value, reach, value + reach < 1)


def alike(where: str, says: str, a: Number, b: Number) -> Check:
    """Return whether two numbers that a sentence calls close lie within the factor `SIMILAR`."""
    ratio = a.value / b.value
    return _check("likeness", says, (where, "about 1"), (a, b), ratio, SIMILAR, 1 / SIMILAR <= ratio <= SIMILAR)


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
    used = tuple(one.key for one in of)
    sources = ", ".join(dict.fromkeys(source for _, source, _, _ in used)) or "itself"
    study = key[0] if key else used[0][0]
    return Check(study, kind, says, where, sources, printed, recomputed, tolerance, agrees, key, used)


def listed(values: Iterable[float], form: str = ".3g") -> str:
    """Return numbers as a list in a sentence: ``1.2, 3.4 and 5.6``."""
    *first, last = (format(value, form) for value in values)
    return f"{', '.join(first)} and {last}" if first else last
