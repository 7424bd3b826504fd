"""Which block means stand on each side of a claim or a comparison: its levels as named, all else alike."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from itertools import product
from typing import Any, Final, TypeAlias, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel

from benchbook import studies
from benchbook.evidence.claims import Factor, Settings, Statistic
from benchbook.evidence.means import of_ratios
from benchbook.results import OF_AN_ARM

K = TypeVar("K")
Place: TypeAlias = tuple[str, str]
"""A host and a lane."""

OF_QUANTITY: Final = ("operation", "role", "metric")
OF_ROWS: Final = ("engine", "topology", "model", "driver", "codec", "format", "transport", "durability")
"""Columns of the observations that a claim may name beside the study's parameters."""

MEASURED: Final = ("engine", "topology", *OF_AN_ARM)
"""Columns that say more than the parameter of their name, which may name all that a cell takes in turn."""

FREE: Final = ("lane", "arm", "seed", "repetitions")
"""What no claim names: it is judged for each lane, on first arms, whatever the data's seed and the repetitions."""

TOGETHER: Final = (frozenset({"format", "codec"}), frozenset({"metric", "process"}))
"""Who varies one of them may vary the other: no codec writes both formats, no process is read for time and memory."""

_READ: Final = (
    "block",
    "campaign",
    "cell_id",
    "at_least",
    "geometric",
    "deviation",
    "censored",
    "stand_in",
    "resolution",
    "unit",
)
_MEANS: Final = ["at_least", "geometric"]
_COLUMNS: Final = ("host", "lane", "arm", "parameters", *OF_ROWS, *OF_QUANTITY, *_READ)


@dataclass(frozen=True)
class Side:
    """The block means of one side, arrays of shape (n,); n may be 0.

    They are those that `benchbook.evidence.means.of_ratios` makes ratios of.
    """

    settings: Mapping[str, Any]  # what it ran with: parameters and columns
    blocks: NDArray[np.int64]  # the blocks' numbers, ascending
    campaigns: NDArray[np.object_]  # each block's
    cells: NDArray[np.object_]  # which cell each was measured in; the first, of several
    values: NDArray[np.float64]  # in `unit`; of a censored mean what it exceeds, NaN when nothing is known
    censored: NDArray[np.bool_]  # where a wait ran out
    stand_in: bool  # whether a stand-in ran in any block
    resolution: float  # the counters', of a mean, in `unit`
    unit: str  # empty without blocks

    def of(self, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values in some of its blocks."""
        return self.values[np.searchsorted(self.blocks, blocks)]

    def campaigns_of(self, blocks: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the campaigns of some of its blocks."""
        return self.campaigns[np.searchsorted(self.blocks, blocks)]


_NONE: Final = np.array([], float)
ABSENT: Final = Side(
    {},
    _NONE.astype(int),
    *(_NONE.astype(object),) * 2,
    _NONE,
    _NONE.astype(bool),
    stand_in=False,
    resolution=0.0,
    unit="",
)
"""A side that did not run."""


@dataclass(frozen=True)
class Configuration:
    """One way in which cells ran: parameters, and the columns that a row states itself."""

    study: str
    parameters: tuple[str, ...]
    settings: Mapping[str, Any]
    in_turn: Mapping[str, Any]  # the parameters of which the cell takes several levels in turn, and the row states one

    def common(self, apart: Iterable[str], columns: Iterable[str] = ()) -> str:
        """Return the parameters, and some columns, that the sides must share, as JSON: all but what is apart.

        What a cell took in turn is compared within that cell: such sides also share the parameter that names all.
        """
        apart = {*apart}
        names = {*self.parameters, *(name for name in columns if name in self.settings)} - apart
        shared = {name: self.settings[name] for name in names}
        shared |= {f"{name} in turn": level for name, level in self.in_turn.items() if name in apart}
        return json.dumps(shared, sort_keys=True)

    def strangeness(self, named: frozenset[str]) -> tuple[int, int]:
        """Return how many parameters that are not named differ from their defaults, and how far down their lists."""
        far = [far for name, far in self._distances.items() if name not in named]
        return sum(one > 0 for one in far), sum(far)

    @cached_property
    def _distances(self) -> dict[str, int]:
        return {name: _distance(self.study, name, self.settings[name]) for name in self.parameters}


@cache
def configuration(study: str, parameters: str, columns: tuple[tuple[str, str], ...]) -> Configuration:
    """Return how a cell ran from its parameters (JSON) and the columns that a row states."""
    given: dict[str, Any] = json.loads(parameters)
    stated: dict[str, Any] = dict(columns)
    measured = {name: stated[name] for name in stated if name in MEASURED}  # a cell with both formats: the row's own
    one_of = {name: measured[name] for name in OF_AN_ARM if name != "arm" and name in measured and name in given}
    in_turn: dict[str, Any] = {name: given[name] for name, level in one_of.items() if given[name] != level}
    return Configuration(study, tuple(given), {**stated, **given, **measured}, in_turn)


def _distance(study: str, name: str, value: Any) -> int:
    model: type[BaseModel] = studies.load(study).Parameters
    field = model.model_fields.get(name)
    if field is None or value == field.default:
        return 0
    options = get_args(field.annotation)
    return 1 + (options.index(value) if value in options else 0)


class Measured:
    """The block means of one study, found by what was measured.

    Parameters
    ----------
    study
        Its slug.
    means
        Its rows, as `benchbook.evidence.measures` returns them: of one arm, or of both to compare these.
    """

    def __init__(self, study: str, means: pd.DataFrame) -> None:
        self.study = study
        self._rows = _by_block(means[[name for name in _COLUMNS if name in means]])
        self._having: dict[tuple[Any, ...], dict[int, int]] = {}

    @property
    def places(self) -> list[Place]:
        """The hosts and lanes that ran, in the order of the rows."""
        return list(self._ran)

    @property
    def settings(self) -> list[Mapping[str, Any]]:
        """What each configuration ran with: parameters and columns."""
        return list(self._settings.values())

    @property
    def quantities(self) -> list[tuple[str, str, str]]:
        """Every operation, role and metric that ran, in the order of their names."""
        return sorted({(str(operation), str(role), str(metric)) for _, operation, role, metric in self._slices})

    def sides(
        self, place: Place, wanted: Mapping[str, Settings], statistic: Statistic = "mean", over: Factor | None = None
    ) -> dict[str, Side]:
        """Return the sides that ran, alike in everything that does not tell them apart.

        Parameters
        ----------
        place
            Where.
        wanted
            By a side's name all that is asked of it, ``operation``, ``role`` and ``metric`` among it. What is not named
            is at its default, or as near to it as ran; of several levels named the first that ran stands.
        statistic
            What of a block's repetitions is the side's value.
        over
            The levels over whose mean each side is taken; None to take it at none in particular.
        """
        sides = {name: pooled(parts) for name, parts in self.parts(place, wanted, statistic, over).items()}
        return {name: side for name, side in sides.items() if len(side.blocks)}

    def parts(
        self, place: Place, wanted: Mapping[str, Settings], statistic: Statistic = "mean", over: Factor | None = None
    ) -> dict[str, list[Side]]:
        """Return what each side is the mean of, as `sides`: one for each level of `over`, or the side alone."""
        if over is None:
            return {name: [side] for name, side in self._alike(place, wanted, statistic).items()}
        ((factor, levels),) = over.items()
        every = {(name, level): {**one, factor: level} for name, one in wanted.items() for level in levels}
        found = self._alike(place, every, statistic)
        sides = {name: [found[name, level] for level in levels if (name, level) in found] for name in wanted}
        return {name: some for name, some in sides.items() if len(some) == len(levels)}

    def _alike(self, place: Place, wanted: Mapping[K, Settings], statistic: Statistic) -> dict[K, Side]:
        """Return the sides that ran, of those configurations that differ in nothing else."""
        apart = _apart(wanted.values())
        found: dict[str, dict[K, tuple[tuple[int, ...], Side]]] = {}
        for name, settings in wanted.items():
            for common, rank, side in self._candidates(place, settings, apart, statistic):
                of_common = found.setdefault(common, {})
                if name not in of_common or rank < of_common[name][0]:
                    of_common[name] = rank, side
        if not found:
            return {}
        best = min(found.values(), key=lambda one: (-len(one), sorted(rank for rank, _ in one.values())))
        return {name: best[name][1] for name in wanted if name in best}

    def every(
        self, by: str, apart: Iterable[str], quantities: Iterable[tuple[str, str, str]]
    ) -> Iterator[tuple[tuple[str, str, str], str, dict[str, Any], dict[str, Side]]]:
        """Yield for each quantity every way to run that has it: host, common settings, and the sides by their level.

        Parameters
        ----------
        by
            The column or parameter whose level tells the sides apart.
        apart
            What may differ beside it.
        quantities
            Operation, role and metric.
        """
        alike: dict[tuple[Place, str], dict[str, list[int]]] = {}
        ran = {number: (place, about) for place, some in self._ran.items() for number, about in some.items()}
        for number, (place, about) in sorted(ran.items()):
            common = about.common({by, *apart, "repetitions"}, MEASURED)
            alike.setdefault((place, common), {}).setdefault(str(about.settings.get(by)), []).append(number)
        parsed = {common: json.loads(common) for _, common in alike}
        for quantity in quantities:
            for (place, common), levels in alike.items():
                of_level = {
                    level: [one for one in ran if (one, *quantity) in self._slices] for level, ran in levels.items()
                }
                if sides := {level: self._side(ran, quantity) for level, ran in of_level.items() if ran}:
                    yield quantity, place[0], parsed[common], sides

    def _candidates(
        self, place: Place, wanted: Settings, apart: frozenset[str], statistic: Statistic
    ) -> Iterable[tuple[str, tuple[int, ...], Side]]:
        named = {name: _several(value) for name, value in wanted.items() if name not in OF_QUANTITY}
        quantities = list(product(*(_several(wanted[name]) for name in OF_QUANTITY)))
        having = [self._with(place, name, levels) for name, levels in named.items()]
        ran = self._ran.get(place, {})
        for number in min(having, key=len, default=ran):
            if not all(number in one for one in having):
                continue
            about, order = ran[number], [one[number] for one in having]
            for rank, quantity in enumerate(quantities):
                if (number, *quantity) in self._slices:
                    # the first named that ran, then the nearest to the defaults
                    strange = about.strangeness(frozenset(named))
                    yield (
                        about.common(apart | {*FREE}),
                        (*order, rank, *strange),
                        self._side([number], quantity, statistic),
                    )

    def _with(self, place: Place, name: str, levels: tuple[Any, ...]) -> dict[int, int]:
        """Return the configurations of which a setting is one of those levels, and which; contrasts ask alike."""
        key = (place, name, *((type(level), level) for level in levels))  # True is not 1
        if key not in self._having:
            ran = self._ran.get(place, {})
            every = ((number, _index(levels, about.settings.get(name))) for number, about in ran.items())
            self._having[key] = {number: index for number, index in every if index is not None}
        return self._having[key]

    def _side(self, numbers: Sequence[int], quantity: tuple[str, str, str], statistic: Statistic = "mean") -> Side:
        """Return the means of a quantity in some configurations; what two of them measured in one block counts once.

        Or their spread, in the blocks that have one: of two repetitions at least.
        """
        parts = [self._slices[(number, *quantity)] for number in numbers]
        block, campaign, cell, value, geometric, deviation, censored, stand_in, resolution, unit = (
            np.concatenate([self._columns[name][part] for part in parts])
            if len(parts) > 1
            else self._columns[name][parts[0]]
            for name in _READ
        )
        if statistic == "mean":
            value = of_ratios(value, geometric)
        if len(parts) > 1:
            block, first, which = np.unique(block, return_index=True, return_inverse=True)
            campaign, cell = campaign[first], cell[first]
            value = np.bincount(which, value) / np.bincount(which)
            censored = np.bincount(which, censored) > 0
        if statistic != "mean":
            with np.errstate(divide="ignore", invalid="ignore"):  # no repetition differs from a mean of zero
                value = deviation if statistic == "deviation" else deviation / np.abs(value)
            has = np.isfinite(value)
            block, campaign, cell, value, censored = block[has], campaign[has], cell[has], value[has], censored[has]
            resolution = np.zeros(1)
        about = bool(stand_in.any()), float(resolution.max()), str(unit[0])
        return Side(self._settings[numbers[0]], block, campaign, cell, value, censored, *about)

    @cached_property
    def _ran(self) -> dict[Place, dict[int, Configuration]]:
        """The configurations of each place, by their number."""
        marks = [name for name in (*OF_ROWS, "arm") if name in self._rows]
        first = self._rows[~self._rows["configuration"].duplicated()]
        found: dict[Place, dict[int, Configuration]] = {}
        for record in first[["configuration", "host", "lane", "parameters", *marks]].to_dict("records"):
            columns = tuple((name, record[name]) for name in marks if isinstance(record[name], str))
            about = configuration(self.study, str(record["parameters"] or "{}"), columns)
            found.setdefault((str(record["host"]), str(record["lane"])), {})[record["configuration"]] = about
        return found

    @cached_property
    def _settings(self) -> dict[int, Mapping[str, Any]]:
        return {number: about.settings for ran in self._ran.values() for number, about in ran.items()}

    @cached_property
    def _slices(self) -> dict[tuple[Any, ...], slice]:
        keys = ["configuration", *OF_QUANTITY]
        unit = self._rows.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]]) if len(unit) else np.array([], dtype=int)
        names = self._rows.iloc[starts][keys].itertuples(index=False, name=None)
        return {name: slice(a, b) for name, a, b in zip(names, starts, [*starts[1:], len(unit)], strict=True)}

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: self._rows[name].to_numpy() for name in _READ}


def pooled(parts: Sequence[Side]) -> Side:
    """Return the side whose value is the mean of those of several, block by block, in the blocks that all of them have.

    Its settings are those that are alike.
    """
    if len(parts) == 1:
        return parts[0]
    blocks = shared(parts)
    at = [np.isin(part.blocks, blocks) for part in parts]
    settings = parts[0].settings.items()
    return Side(
        {name: value for name, value in settings if all(one.settings.get(name) == value for one in parts)},
        blocks,
        parts[0].campaigns[at[0]],
        parts[0].cells[at[0]],
        np.mean([part.values[here] for part, here in zip(parts, at, strict=True)], axis=0),
        np.any([part.censored[here] for part, here in zip(parts, at, strict=True)], axis=0),
        stand_in=any(part.stand_in for part in parts),
        resolution=float(np.mean([part.resolution for part in parts])),
        unit=parts[0].unit,
    )


def shared(sides: Iterable[Side]) -> NDArray[np.int64]:
    """Return the blocks that all sides have, ascending: mostly all of them."""
    first, *others = (side.blocks for side in sides)
    if all(np.array_equal(first, other) for other in others):
        return first
    return reduce(partial(np.intersect1d, assume_unique=True), others, first)


def by_study(means: pd.DataFrame) -> dict[str, Measured]:
    """Return the block means of each study that ran."""
    return {str(study): Measured(str(study), rows) for study, rows in means.groupby("study", sort=False)}


def _apart(wanted: Iterable[Settings]) -> frozenset[str]:
    """Return the names whose values tell the sides apart."""
    sides = list(wanted)
    names = {name for side in sides for name in side if any(other.get(name) != side[name] for other in sides)}
    return frozenset(names.union(*(both for both in TOGETHER if names & both)))


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _index(levels: tuple[Any, ...], value: Any) -> int | None:
    """Return which of the levels a value is; True is not 1."""
    for index, level in enumerate(levels):
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return index
    return None


def _by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a configuration, quantity and block, sorted; what two cells measured in one block counts once."""
    marks = [name for name in (*OF_ROWS, "arm") if name in rows]
    rows = rows.assign(
        host=rows["host"].fillna(""),
        lane=rows["lane"].fillna("python") if "lane" in rows else "python",
        censored=rows["censored"].fillna(False).astype(bool),
        stand_in=rows["stand_in"].fillna(False).astype(bool) if "stand_in" in rows else False,
        deviation=rows.get("deviation", np.nan),
        campaign=rows["campaign"].fillna("").astype(object) if "campaign" in rows else "",
        cell_id=rows["cell_id"].astype(object) if "cell_id" in rows else "",
        geometric=rows.get("geometric", np.nan),
        resolution=rows["resolution"].fillna(0.0) if "resolution" in rows else 0.0,
    )
    of = ["host", "lane", "parameters", *marks]
    rows["configuration"] = rows.groupby(of, dropna=False, sort=False).ngroup()
    keys = ["configuration", *OF_QUANTITY, "block"]
    rows = rows.sort_values(keys, kind="stable")
    if not rows.duplicated(keys).any():
        return rows
    grouped = rows.groupby(keys, sort=False)
    whole = grouped[["censored", "stand_in"]].transform("any")
    means = {name: grouped[name].transform(lambda values: values.mean(skipna=False)) for name in _MEANS}
    return rows.assign(**whole, **means).drop_duplicates(keys)
