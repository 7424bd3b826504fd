"""Which block means stand on the two sides of each comparison."""

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from benchbook.evidence.contrasts import Contrast, Quantity

NEVER: Final = ("repetitions",)
"""Parameters that may always differ: the unit of analysis is the block's mean, however many repetitions it is of."""


@dataclass(frozen=True)
class Pair:
    """Two sides measured alike but for what is contrasted.

    Parameters
    ----------
    contrast, quantity, a, b
        What is compared.
    host
        The machine of both.
    settings
        The parameters that both have in common.
    left, right
        The block means of a and b: a row a block, the index is the block. One may be empty.
    """

    contrast: Contrast
    quantity: Quantity
    a: str
    b: str
    host: str
    settings: dict[str, Any]
    left: pd.DataFrame
    right: pd.DataFrame

    @property
    def factors(self) -> str:
        """The common parameters in words."""
        shown = [name for name in self.contrast.factors if self.settings.get(name) is not None]
        return ", ".join(f"{name}={_text(self.settings[name])}" for name in shown)


def pairs(contrast: Contrast, means: pd.DataFrame) -> Iterator[Pair]:
    """Yield every pair of sides of a contrast, in the order of its quantities.

    Parameters
    ----------
    contrast
        What tells the sides apart.
    means
        As `benchbook.evidence.measures` returns them.
    """
    rows = means[means["study"] == contrast.study]
    if rows.empty:
        return
    rows = _settled(contrast, rows)
    for quantity in contrast.quantities:
        wanted = rows[["operation", "role", "metric"]] == (quantity.operation, quantity.role, quantity.metric)
        for (host, common), group in rows[wanted.all(axis=1)].groupby(["host", "common"], sort=False):
            sides = {side: _by_block(one) for side, one in group.groupby("side", sort=False)}
            yield from _sides(contrast, quantity, str(host), json.loads(str(common)), sides)


def _sides(
    contrast: Contrast, quantity: Quantity, host: str, settings: dict[str, Any], sides: dict[Any, pd.DataFrame]
) -> Iterator[Pair]:
    for a, b in contrast.pairs:
        present = (a in sides) + (b in sides)
        if present == 2 or (present == 1 and contrast.wanted):
            left, right = (sides.get(side, next(iter(sides.values())).iloc[:0]) for side in (a, b))
            yield Pair(contrast, quantity, a, b, host, settings, left, right)


def _settled(contrast: Contrast, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``side`` and ``common``: what tells rows apart, and what the sides must share, as JSON."""
    marks = [column for column in ("engine", "topology", "format", "codec", "arm") if column in rows]
    kind = rows.groupby(["parameters", *marks], dropna=False, sort=False).ngroup()
    first = rows[~kind.duplicated()]
    known = [_side_and_common(contrast, record) for record in first[["parameters", *marks]].to_dict("records")]
    side, common = (dict(zip(kind[first.index], column, strict=True)) for column in zip(*known, strict=True))
    return rows.assign(side=kind.map(side), common=kind.map(common), host=rows["host"].fillna(""))


def _side_and_common(contrast: Contrast, record: dict[Hashable, Any]) -> tuple[str, str]:
    """Return what tells this kind of row apart, and the parameters and columns that the other side must share."""
    columns = {name: value for name, value in record.items() if name != "parameters" and isinstance(value, str)}
    settings = json.loads(record["parameters"] or "{}") | columns  # a cell with both formats: the row's own counts
    side = columns.get(contrast.by, settings.get(contrast.by))
    free = {contrast.by, *contrast.loose, *NEVER}
    common = {name: value for name, value in settings.items() if name not in free}
    return str(side), json.dumps(common, sort_keys=True)


def _by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a block; a condition that two cells measured in one block counts once, as their mean."""
    flags = rows[["censored", "stand_in"]].fillna(False).astype(bool).groupby(rows["block"]).any()
    values = rows.groupby("block")["value"].agg(lambda one: one.mean(skipna=False))
    return flags.assign(value=values, unit=rows["unit"].iloc[0])


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
