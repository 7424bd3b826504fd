"""Which block means stand on the two sides of each comparison."""

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook.evidence.contrasts import Contrast, Quantity

_CONDITION: Final = ["operation", "role", "metric", "host", "common", "side"]
"""What one side of one pair is the block means of."""

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
    found: dict[Quantity, dict[tuple[str, str], dict[str, pd.DataFrame]]] = {}
    for (operation, role, metric, host, common, side), blocks in _by_block(_settled(contrast, _wanted(contrast, rows))):
        conditions = found.setdefault(Quantity(operation, role, metric), {})
        conditions.setdefault((host, common), {})[side] = blocks
    for quantity in contrast.quantities:
        for (host, common), sides in found.get(quantity, {}).items():
            yield from _sides(contrast, quantity, host, json.loads(common), sides)


def _wanted(contrast: Contrast, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the contrast's quantities."""
    names = ["operation", "role", "metric"]
    quantities = pd.MultiIndex.from_tuples([(one.operation, one.role, one.metric) for one in contrast.quantities])
    return rows[pd.MultiIndex.from_frame(rows[names]).isin(quantities)]


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


def _by_block(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield each condition and its blocks, a row a block; two cells of one condition in one block count as their mean.

    All conditions are aggregated at once and then cut out as slices: a frame for each alone takes a hundred times as
    long.
    """
    flags = rows[["censored", "stand_in"]].fillna(False).astype(bool)
    rows = rows.assign(**flags, unknown=rows["value"].isna(), rank=rows.groupby(_CONDITION, sort=False).ngroup())
    groups = rows.groupby(["rank", "block"])  # sorted: a condition's blocks stand together, in their order
    table = groups[["censored", "stand_in", "unknown"]].any()
    table = table.assign(value=groups["value"].mean(), unit=groups["unit"].first().astype(object)).reset_index("rank")
    table["value"] = table["value"].mask(table["unknown"])
    ends = [*np.flatnonzero(np.diff(table.pop("rank"), append=-1)) + 1]
    named = rows.drop_duplicates("rank")[_CONDITION].itertuples(index=False, name=None)
    for start, end, condition in zip([0, *ends], ends, named, strict=False):
        yield condition, table.iloc[start:end]


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
