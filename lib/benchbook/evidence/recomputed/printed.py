"""A printed number with the precision that its digits claim, and what is computed from several of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isclose
from pathlib import Path

from benchbook import paths
from benchbook.evidence.published import published


@dataclass(frozen=True)
class Printed:
    """One number as a paper prints it.

    Parameters
    ----------
    study, source, row, column
        Where it stands, as in ``data/published``.
    text
        The characters, misprints kept.
    value
        What they mean, in ``unit``.
    unit
        Of the value.
    """

    study: str
    source: str
    row: str
    column: str
    text: str
    value: float
    unit: str

    @property
    def half(self) -> float:
        """Half a unit of the last printed digit: how far the number that was rounded may lie from the printed one."""
        return 0.5 / float(10 ** _decimals(self.text, self.value))

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Where it stands, as one value."""
        return self.study, self.source, self.row, self.column


@dataclass(frozen=True)
class Derived:
    """What is computed from printed numbers: its value, and how far their rounding alone may move it."""

    value: float
    reach: float


def printed(study: str, source: str, row: str, column: str) -> Printed:
    """Return one printed number.

    Raises
    ------
    KeyError
        When ``data/published`` has none there.
    """
    found = _table(paths.published()).get((study, source, row, column))
    if found is None:
        raise KeyError(f"data/published/{study}.csv has no number at {source}, {row}, {column}")
    return found


def derive(compute: Callable[..., float], *of: Printed) -> Derived:
    """Compute from printed values; the reach is that of the corners of their rounding, one input at a time."""
    values = [one.value for one in of]
    middle = compute(*values)
    reach = 0.0
    for rank, one in enumerate(of):
        moved = ([*values[:rank], one.value + side * one.half, *values[rank + 1 :]] for side in (-1, 1))
        reach += max(abs(compute(*each) - middle) for each in moved)
    return Derived(middle, reach)


def _decimals(text: str, value: float) -> int:
    """Return how many decimals are printed, whichever of point and comma stands before them."""
    for run, decimals in product(re.findall(r"\d[\d., ]*", text), range(5)):
        digits = re.sub(r"\D", "", run)
        if isclose(int(digits) / 10**decimals, value, rel_tol=1e-12, abs_tol=1e-12):
            return decimals
    return 0  # in words, or in thousands


@cache
def _table(folder: Path) -> dict[tuple[str, str, str, str], Printed]:
    rows = published().itertuples(index=False, name=None)
    found = (
        Printed(study, source, row, column, text, value, unit)
        for study, source, row, column, text, value, unit, _ in rows
    )
    return {one.key: one for one in found}
