"""Which block means stand on the two sides of each comparison."""

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.evidence.contrasts import Contrast, Quantity

_CONDITION: Final = ["operation", "role", "metric", "host", "common", "side"]
"""What one side of one pair is the block means of."""

_MARKS: Final = ("engine", "topology", "format", "codec", "arm")
"""Columns that tell sides apart, as parameters do."""

_COLUMNS: Final = (*_CONDITION[:4], "parameters", *_MARKS, "block", "value", "unit", "censored", "stand_in")

NEVER: Final = ("repetitions",)
"""Parameters that may always differ: the unit of analysis is the block's mean, however many repetitions it is of."""


@dataclass(frozen=True)
class Blocks:
    """What one side of one pair is: its block means, in the order of the blocks.

    Parameters
    ----------
    block
        Shape (n,): the blocks' numbers, ascending; n may be 0.
    value
        Shape (n,): in `unit`; NaN when censored.
    censored, stand_in
        Shape (n,).
    unit
        Of the values; empty without blocks.
    """

    block: NDArray[np.int64]
    value: NDArray[np.float64]
    censored: NDArray[np.bool_]
    stand_in: NDArray[np.bool_]
    unit: str = ""

    def __len__(self) -> int:
        return len(self.block)

    def of(self, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values in some of its blocks; mostly all of them, for which nothing is looked up."""
        return self.value if len(blocks) == len(self) else self.value[np.isin(self.block, blocks)]


NONE: Final = Blocks(np.array([], int), np.array([], float), np.array([], bool), np.array([], bool))
"""A side that did not run."""


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
        The block means of a and b. One may be `NONE`.
    """

    contrast: Contrast
    quantity: Quantity
    a: str
    b: str
    host: str
    settings: dict[str, Any]
    left: Blocks
    right: Blocks

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
    columns = [name for name in _COLUMNS if name in means]
    rows = means.loc[means["study"] == contrast.study, columns]
    if rows.empty:
        return
    found: dict[Quantity, dict[tuple[str, str], dict[str, Blocks]]] = {}
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
    contrast: Contrast, quantity: Quantity, host: str, settings: dict[str, Any], sides: dict[str, Blocks]
) -> Iterator[Pair]:
    for a, b in contrast.pairs:
        present = (a in sides) + (b in sides)
        if present == 2 or (present == 1 and contrast.wanted):
            yield Pair(contrast, quantity, a, b, host, settings, sides.get(a, NONE), sides.get(b, NONE))


def _settled(contrast: Contrast, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``side`` and ``common``: what tells rows apart, and what the sides must share, as JSON."""
    marks = [column for column in _MARKS if column in rows]
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


def _by_block(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], Blocks]]:
    """Yield each condition and its blocks; two cells of one condition in one block count as their mean.

    All conditions are aggregated at once and then cut out of the columns: a frame for each alone takes a hundred times
    as long.
    """
    flags = rows[["censored", "stand_in"]].fillna(False).astype(bool)
    rows = rows.assign(**flags, unknown=rows["value"].isna(), rank=rows.groupby(_CONDITION, sort=False).ngroup())
    groups = rows.groupby(["rank", "block"])  # sorted: a condition's blocks stand together, in their order
    table = groups[["censored", "stand_in", "unknown"]].any()
    table = table.assign(value=groups["value"].mean().mask(table["unknown"]), unit=groups["unit"].first())
    table = table.reset_index()
    ends = [*np.flatnonzero(np.diff(table["rank"], append=-1)) + 1]
    block, value, censored, stand_in, unit = (
        table[name].to_numpy() for name in ("block", "value", "censored", "stand_in", "unit")
    )
    named = rows.drop_duplicates("rank")[_CONDITION].itertuples(index=False, name=None)
    for start, end, condition in zip([0, *ends], ends, named, strict=False):
        part = slice(start, end)
        yield condition, Blocks(block[part], value[part], censored[part], stand_in[part], unit[start])


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
