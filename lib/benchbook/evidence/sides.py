"""Which block means stand on each side of a claim: what it names as it says, all else alike and at its default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.evidence.claim_names import OF_QUANTITY, OF_ROWS
from benchbook.evidence.claims import Settings
from benchbook.evidence.kinds import Kind, kind_of

Place: TypeAlias = tuple[str, str]
"""A host and a lane."""

TOGETHER: Final = frozenset({"format", "codec"})
"""Who names one of them may vary the other: no codec writes both formats."""

_READ: Final = ("block", "at_least", "censored", "stand_in", "unit")
_COLUMNS: Final = ("host", "lane", "parameters", *OF_ROWS, *OF_QUANTITY, *_READ)


@dataclass(frozen=True)
class Side:
    """The block means of one side.

    Parameters
    ----------
    settings
        What it ran with: parameters and columns.
    blocks
        Shape (n,): the blocks' numbers, ascending.
    values
        Shape (n,): the means, in `unit`; of a censored one what it exceeds, NaN when nothing is known.
    censored, stand_in
        Whether any block is.
    unit
        Of the values.
    """

    settings: Mapping[str, Any]
    blocks: NDArray[np.int64]
    values: NDArray[np.float64]
    censored: bool
    stand_in: bool
    unit: str

    def of(self, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values in some of its blocks; mostly all of them, for which nothing is looked up."""
        return self.values if len(blocks) == len(self.blocks) else self.values[np.isin(self.blocks, blocks)]


class Measured:
    """The block means of one study's first arms, found by what was measured.

    Parameters
    ----------
    study
        Its slug.
    means
        As `benchbook.evidence.measures` returns them, of any studies.
    """

    def __init__(self, study: str, means: pd.DataFrame) -> None:
        self.study = study
        first = means["arm"].fillna("a").eq("a") if "arm" in means else True
        names = [name for name in _COLUMNS if name in means]
        self._rows = _by_block(means.loc[means["study"].eq(study) & first, names])
        self._having: dict[tuple[Any, ...], dict[int, int]] = {}

    @property
    def places(self) -> list[Place]:
        """The hosts and lanes that ran, in the order of the rows."""
        return list(self._kinds)

    def sides(self, place: Place, wanted: Mapping[str, Settings]) -> dict[str, Side]:
        """Return the sides that ran, alike in everything that does not tell them apart.

        Parameters
        ----------
        place
            Where.
        wanted
            By a side's name all that is asked of it, ``operation``, ``role`` and ``metric`` among it.
        """
        apart = _apart(wanted.values())
        found: dict[str, dict[str, tuple[tuple[int, ...], Side]]] = {}
        for name, settings in wanted.items():
            for common, rank, side in self._candidates(place, settings, apart):
                of_common = found.setdefault(common, {})
                if name not in of_common or rank < of_common[name][0]:
                    of_common[name] = rank, side
        if not found:
            return {}
        best = min(found.values(), key=lambda one: (-len(one), sorted(rank for rank, _ in one.values())))
        return {name: best[name][1] for name in wanted if name in best}

    def _candidates(
        self, place: Place, wanted: Settings, apart: frozenset[str]
    ) -> Iterable[tuple[str, tuple[int, ...], Side]]:
        named = {name: _several(value) for name, value in wanted.items() if name not in OF_QUANTITY}
        quantities = list(product(*(_several(wanted[name]) for name in OF_QUANTITY)))
        having = [self._with(place, name, levels) for name, levels in named.items()]
        kinds = self._kinds.get(place, {})
        for kind in min(having, key=len, default=kinds):
            if not all(kind in one for one in having):
                continue
            about, order = kinds[kind], [one[kind] for one in having]
            for rank, quantity in enumerate(quantities):
                if (kind, *quantity) in self._slices:
                    # the first named that ran, then the nearest to the defaults
                    yield (
                        about.common(apart),
                        (*order, rank, *about.strangeness(frozenset(named))),
                        self._side(kind, quantity, about.settings),
                    )

    def _with(self, place: Place, name: str, levels: tuple[Any, ...]) -> dict[int, int]:
        """Return the kinds of which a setting is one of those levels, and which; contrasts ask for the same ones."""
        key = (place, name, *((type(level), level) for level in levels))  # True is not 1
        if key not in self._having:
            kinds = self._kinds.get(place, {})
            every = ((kind, _index(levels, about.settings.get(name))) for kind, about in kinds.items())
            self._having[key] = {kind: index for kind, index in every if index is not None}
        return self._having[key]

    def _side(self, kind: int, quantity: tuple[Any, ...], settings: Mapping[str, Any]) -> Side:
        part = self._slices[(kind, *quantity)]
        columns = self._columns
        return Side(
            settings,
            columns["block"][part],
            columns["at_least"][part],
            bool(columns["censored"][part].any()),
            bool(columns["stand_in"][part].any()),
            str(columns["unit"][part][0]),
        )

    @cached_property
    def _kinds(self) -> dict[Place, dict[int, Kind]]:
        marks = [name for name in OF_ROWS if name in self._rows]
        first = self._rows[~self._rows["kind"].duplicated()]
        found: dict[Place, dict[int, Kind]] = {}
        for record in first[["kind", "host", "lane", "parameters", *marks]].to_dict("records"):
            columns = tuple((name, record[name]) for name in marks if isinstance(record[name], str))
            about = kind_of(self.study, str(record["parameters"] or "{}"), columns)
            found.setdefault((str(record["host"]), str(record["lane"])), {})[record["kind"]] = about
        return found

    @cached_property
    def _slices(self) -> dict[tuple[Any, ...], slice]:
        keys = ["kind", *OF_QUANTITY]
        unit = self._rows.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]]) if len(unit) else np.array([], dtype=int)
        names = self._rows.iloc[starts][keys].itertuples(index=False, name=None)
        return {name: slice(a, b) for name, a, b in zip(names, starts, [*starts[1:], len(unit)], strict=True)}

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: self._rows[name].to_numpy() for name in _READ}


def _apart(wanted: Iterable[Settings]) -> frozenset[str]:
    """Return the names whose values tell the sides apart."""
    sides = list(wanted)
    names = {name for side in sides for name in side if any(other.get(name) != side[name] for other in sides)}
    return frozenset(names | TOGETHER if names & TOGETHER else names)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _index(levels: tuple[Any, ...], value: Any) -> int | None:
    """Return which of the levels a value is; True is not 1."""
    for index, level in enumerate(levels):
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return index
    return None


def _by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a kind of cell, quantity and block, sorted; what two cells measured in one block counts once."""
    marks = [name for name in OF_ROWS if name in rows]
    rows = rows.assign(
        host=rows["host"].fillna(""),
        lane=rows["lane"].fillna("python") if "lane" in rows else "python",
        censored=rows["censored"].fillna(False).astype(bool),
        stand_in=rows["stand_in"].fillna(False).astype(bool) if "stand_in" in rows else False,
        unknown=rows["at_least"].isna(),
    )
    rows["kind"] = rows.groupby(["host", "lane", "parameters", *marks], dropna=False, sort=False).ngroup()
    keys = ["kind", *OF_QUANTITY, "block"]
    rows = rows.sort_values(keys, kind="stable")
    if not rows.duplicated(keys).any():
        return rows
    grouped = rows.groupby(keys, sort=False)
    whole = grouped[["censored", "stand_in", "unknown"]].transform("any")
    at_least = grouped["at_least"].transform("mean").mask(whole["unknown"])
    return rows.assign(**whole, at_least=at_least).drop_duplicates(keys)
