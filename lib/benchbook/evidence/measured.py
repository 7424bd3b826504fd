"""Which block means stand on each side of a claim or a comparison: its levels as named, all else alike."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product
from typing import Any, Final, TypeAlias, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import rooms, studies
from benchbook.evidence.claims import Factor, Level, Settings, Statistic, several
from benchbook.evidence.means import COUNTED, Triple, ended
from benchbook.evidence.published import CellSettings
from benchbook.evidence.sides import Side, pooled
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
    *("block", "campaign", "cell_id", "at_least", "median", "deviation", "measured"),
    *("censored", "disturbed", "resolution", "unit"),
)
_OF_A_ROW: Final = ["cell_id", "block", "operation", "role", *OF_AN_ARM]
_OF_A_WAY: Final = (*OF_ROWS, "arm")
"""Columns that tell one way to run from another, beside the parameters."""

_COLUMNS: Final = ("host", "lane", "parameters", *_OF_A_WAY, *OF_QUANTITY, *_READ)


@dataclass(frozen=True)
class Configuration:
    """One way in which cells ran: parameters, and the columns that a row states itself."""

    study: str
    parameters: tuple[str, ...]
    settings: CellSettings
    in_turn: CellSettings  # the parameters of which the cell takes several levels in turn, and the row states one

    def common(self, apart: Iterable[str], columns: Iterable[str] = ()) -> CellSettings:
        """Return the parameters, and some columns, that the sides must share, by name: all but what is apart.

        What a cell took in turn is compared within that cell: such sides also share the parameter that names all.
        """
        apart = {*apart}
        names = {*self.parameters, *(name for name in columns if name in self.settings)} - apart
        common = {name: self.settings[name] for name in names}
        common |= {f"{name} in turn": level for name, level in self.in_turn.items() if name in apart}
        return dict(sorted(common.items()))

    def strangeness(self, named: frozenset[str]) -> tuple[int, int]:
        """Return how many parameters that are not named differ from their defaults, and how far down their lists."""
        distances = [distance for name, distance in self._distances.items() if name not in named]
        return sum(distance > 0 for distance in distances), sum(distances)

    @cached_property
    def _distances(self) -> dict[str, int]:
        """How far each parameter is from its default: 0, or from 1 how far down the list of its values."""
        fields = studies.load(self.study).Parameters.model_fields
        distances = {}
        for name in self.parameters:
            field, value = fields.get(name), self.settings[name]
            distances[name] = 0
            if field is not None and value != field.default:
                options = get_args(field.annotation)
                distances[name] = 1 + (options.index(value) if value in options else 0)
        return distances


@cache
def parameters(text: str) -> CellSettings:
    """Return a cell's parameters by name, from the JSON in which its rows state them; each text is read once."""
    given: CellSettings = json.loads(text or "{}")
    return given


@cache
def configuration(study: str, text: str, columns: tuple[tuple[str, str], ...]) -> Configuration:
    """Return how a cell ran, from its parameters (JSON) and the columns that a row states."""
    given = parameters(text)
    # What ran before there were these ran without them.
    later = {"arrays": "json", "room": rooms.NONE}
    known = studies.load(study).Parameters.model_fields
    given = {**{name: level for name, level in later.items() if name in known}, **given}
    stated: CellSettings = dict(columns)
    # of a cell with both formats the row's own
    measured = {name: stated[name] for name in stated if name in MEASURED}
    of_an_arm = {*OF_AN_ARM} & measured.keys() & given.keys() - {"arm"}
    in_turn = {name: given[name] for name in of_an_arm if given[name] != measured[name]}
    return Configuration(study, tuple(given), {**stated, **given, **measured}, in_turn)


class Measured:
    """The block means of one study: the one place where rows are chosen by what was measured, and how.

    Claims ask it for `sides`, comparisons for `every` pair of sides, changes for `each` side, figures for a `table`.

    Parameters
    ----------
    study
        Its slug.
    means
        Its rows, as `benchbook.evidence.measures` returns them: of one arm, or of both to compare these.
    """

    def __init__(self, study: str, means: pd.DataFrame) -> None:
        self.study = study
        self.means = means
        self._having: dict[tuple[Any, ...], dict[int, int]] = {}

    @property
    def places(self) -> list[Place]:
        """The hosts and lanes that ran, the host that ran most first."""
        return list(self._ran)

    @property
    def settings(self) -> list[CellSettings]:
        """What each configuration ran with: parameters and columns."""
        return [about.settings for about in self.configurations.values()]

    @property
    def quantities(self) -> list[Triple]:
        """Every operation, role and metric that ran, in the order of their names."""
        return sorted(self._having_quantity)

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
        factor = next(iter(over)) if over else None
        sides = {name: pooled(parts, factor) for name, parts in self.parts(place, wanted, statistic, over).items()}
        return {name: side for name, side in sides.items() if len(side.blocks)}

    def parts(
        self, place: Place, wanted: Mapping[str, Settings], statistic: Statistic = "mean", over: Factor | None = None
    ) -> dict[str, list[Side]]:
        """Return what each side is the mean of, as `sides`: one for each level of `over`, or the side alone.

        Where some levels did not run, those that all sides have, two at least; else no side that lacks one.
        """
        if over is None:
            return {name: [side] for name, side in self._alike(place, wanted, statistic).items()}
        ((factor, levels),) = over.items()
        at_levels = {
            (name, level): {**settings, factor: level} for name, settings in wanted.items() for level in levels
        }
        sides = self._alike(place, at_levels, statistic)
        shared = [level for level in levels if all((name, level) in sides for name in wanted)]
        asked = shared if len(shared) > 1 else levels
        whole = [name for name in wanted if all((name, level) in sides for level in asked)]
        return {name: [sides[name, level] for level in asked] for name in whole}

    def _alike(self, place: Place, wanted: Mapping[K, Settings], statistic: Statistic) -> dict[K, Side]:
        """Return the sides that ran, of those configurations that differ in nothing else."""
        apart = _apart(wanted.values())
        ranked: dict[str, dict[K, tuple[tuple[int, ...], Side]]] = {}
        for name, settings in wanted.items():
            for common, rank, side in self._candidates(place, settings, apart, statistic):
                of_common = ranked.setdefault(common, {})
                if name not in of_common or rank < of_common[name][0]:
                    of_common[name] = rank, side
        if not ranked:
            return {}
        best = min(ranked.values(), key=lambda sides: (-len(sides), sorted(rank for rank, _ in sides.values())))
        return {name: best[name][1] for name in wanted if name in best}

    def every(
        self, by: str, apart: Iterable[str], quantities: Iterable[Triple]
    ) -> Iterator[tuple[Triple, str, CellSettings, dict[str, Side]]]:
        """Yield every quantity of all that was measured alike: host, common settings, and the sides by their level.

        The parameters are those of `alike`.
        """
        for quantity, host, common, levels in self.alike(by, apart, quantities):
            yield quantity, host, common, {level: self._side(ran, quantity) for level, ran in levels.items()}

    def alike(
        self, by: str, apart: Iterable[str], quantities: Iterable[Triple]
    ) -> Iterator[tuple[Triple, str, CellSettings, dict[str, list[int]]]]:
        """Yield the same as `every`, of each level the numbers of its configurations in place of a side made of them.

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
        settings: dict[str, CellSettings] = {}
        for number, (place, about) in enumerate(zip(self._where, self.configurations.values(), strict=True)):
            common = about.common({by, *apart, "repetitions"}, MEASURED)
            settings[key := json.dumps(common)] = common
            alike.setdefault((place, key), {}).setdefault(str(about.settings.get(by)), []).append(number)
        for quantity in quantities:
            having = self._having_quantity.get(quantity, set())
            for (place, key), levels in alike.items() if having else ():
                ran = {level: [number for number in numbers if number in having] for level, numbers in levels.items()}
                if ran := {level: numbers for level, numbers in ran.items() if numbers}:
                    yield quantity, place[0], settings[key], ran

    def each(self) -> Iterator[tuple[Configuration, Triple, Side]]:
        """Yield every quantity (operation, role and metric) of every way to run, as a side of its own."""
        for number, *quantity in self._slices:
            operation, role, metric = quantity
            side = self._side([number], (operation, role, metric))
            yield self.configurations[number], (operation, role, metric), side

    def table(self) -> pd.DataFrame:
        """Return one row a cell, block, operation and role, with a column for each metric and for each setting.

        The cells' own columns stand beside them. A censored wait stands at the time waited, and is marked.
        """
        means = self.means.fillna(dict.fromkeys(OF_AN_ARM, "")).assign(configuration=self.configured)
        rows = means.groupby(_OF_A_ROW)
        known = rows.first().drop(columns=["metric", "value", "unit", "source"])
        metrics = means.pivot(index=_OF_A_ROW, columns="metric", values="at_least")
        table = known.assign(censored=rows["censored"].any()).join(metrics).reset_index()
        by_number = pd.DataFrame(self.settings)
        settings = by_number.loc[table.pop("configuration")].set_axis(table.index)
        for name in settings.columns.intersection(table.columns):
            # the row says what the parameters do not
            settings[name] = settings[name].where(settings[name].notna(), table[name])
        return table.drop(columns=settings.columns, errors="ignore").join(settings)

    @cached_property
    def configured(self) -> "pd.Series[int]":
        """The number of the configuration in which each row was measured."""
        return self._numbered["configuration"]

    def _candidates(
        self, place: Place, wanted: Settings, apart: frozenset[str], statistic: Statistic
    ) -> Iterable[tuple[str, tuple[int, ...], Side]]:
        named = {name: several(value) for name, value in wanted.items() if name not in OF_QUANTITY}
        operations, roles, metrics = (map(str, several(wanted[name])) for name in OF_QUANTITY)
        quantities = list(product(operations, roles, metrics))
        having = [self._with(place, name, levels) for name, levels in named.items()]
        ran = self._ran.get(place, {})
        for number in min(having, key=len, default=ran):
            if not all(number in those for those in having):
                continue
            # the first named that ran, then the nearest to the defaults
            about, order = ran[number], [those[number] for those in having]
            common, strange = json.dumps(about.common(apart | {*FREE})), about.strangeness(frozenset(named))
            for rank, quantity in enumerate(quantities):
                if (number, *quantity) in self._slices:
                    yield common, (*order, rank, *strange), self._side([number], quantity, statistic)

    def _with(self, place: Place, name: str, levels: tuple[Level, ...]) -> dict[int, int]:
        """Return the configurations of which a setting is one of those levels, and which; contrasts ask alike."""
        key = (place, name, *((type(level), level) for level in levels))  # True is not 1
        if key not in self._having:
            ran = self._ran.get(place, {})
            indices = ((number, _index(levels, about.settings.get(name))) for number, about in ran.items())
            self._having[key] = {number: index for number, index in indices if index is not None}
        return self._having[key]

    def _side(self, numbers: Sequence[int], quantity: Triple, statistic: Statistic = "mean") -> Side:
        """Return the means of a quantity in some configurations; what two of them measured in one block counts once.

        Or their spread, in the blocks that have one: of two repetitions at least.
        """
        parts = [self._slices[(number, *quantity)] for number in numbers]
        block, campaign, cell, value, typical, deviation, measured, censored, disturbed, resolution, unit = (
            np.concatenate([self._columns[name][part] for part in parts])
            if len(parts) > 1
            else self._columns[name][parts[0]]
            for name in _READ
        )
        if len(parts) > 1:
            block, first, which = np.unique(block, return_index=True, return_inverse=True)
            campaign, cell = campaign[first], cell[first]
            value, typical = (np.bincount(which, of_both) / np.bincount(which) for of_both in (value, typical))
            censored, disturbed = np.bincount(which, censored) > 0, np.bincount(which, disturbed) > 0
        if statistic != "mean":
            with np.errstate(divide="ignore", invalid="ignore"):  # no repetition differs from a mean of zero
                value = deviation if statistic == "deviation" else deviation / np.abs(value)
            has = np.isfinite(value)
            arrays = (block, campaign, cell, value, typical, censored, disturbed)
            block, campaign, cell, value, typical, censored, disturbed = (array[has] for array in arrays)
            resolution = np.zeros(1)
        about = float(resolution.max()), str(unit[0]), float(measured.min())
        settings = self.configurations[numbers[0]].settings
        return Side(settings, block, campaign, cell, value, typical, censored, disturbed, *about)

    @cached_property
    def _firsts(self) -> pd.DataFrame:
        """The first row of each configuration, in the order of their numbers."""
        return self._numbered[~self._numbered["configuration"].duplicated()].set_index("configuration")

    @cached_property
    def configurations(self) -> dict[int, Configuration]:
        """Every way to run, by its number, from 0."""
        configurations = {}
        for number, row in enumerate(self._firsts[["parameters", *_OF_A_WAY]].to_dict("records")):
            columns = tuple((name, row[name]) for name in _OF_A_WAY if isinstance(row[name], str))
            configurations[number] = configuration(self.study, row["parameters"], columns)
        return configurations

    @cached_property
    def _ran(self) -> dict[Place, dict[int, Configuration]]:
        """The configurations of each place, by their number."""
        ran: dict[Place, dict[int, Configuration]] = {}
        for place, (number, about) in zip(self._where, self.configurations.items(), strict=True):
            ran.setdefault(place, {})[number] = about
        return ran

    @cached_property
    def _where(self) -> list[Place]:
        """The place of each configuration, in the order of their numbers."""
        return [*zip(self._firsts["host"], self._firsts["lane"], strict=True)]

    @cached_property
    def _numbered(self) -> pd.DataFrame:
        """The rows with the number of their configuration, without what no side has, the host that ran most first."""
        rows = self.means[list(_COLUMNS)]
        rows = rows.assign(
            host=rows["host"].fillna(""),
            lane=rows["lane"].fillna("python"),
            parameters=rows["parameters"].fillna("{}"),
            campaign=rows["campaign"].astype(object),
            cell_id=rows["cell_id"].astype(object),
            censored=rows["censored"].fillna(False).astype(bool),
            disturbed=disturbed(rows),
            resolution=rows["resolution"].fillna(0.0),
        )
        order = {host: place for place, host in enumerate(by_cells(rows))}
        if len(order) > 1:
            rows = rows.sort_values("host", key=lambda host: host.map(order), kind="stable")
        of = ["host", "lane", "parameters", *_OF_A_WAY]
        return rows.assign(configuration=rows.groupby(of, dropna=False, sort=False).ngroup())

    @cached_property
    def _rows(self) -> pd.DataFrame:
        """One row a configuration, quantity and block, sorted; what two cells measured in one block counts once."""
        keys = ["configuration", *OF_QUANTITY, "block"]
        rows = self._numbered.sort_values(keys, kind="stable")
        if not rows.duplicated(keys).any():
            return rows
        grouped = rows.groupby(keys, sort=False)
        whole = grouped[["censored", "disturbed"]].transform("any")
        mean = grouped["at_least"].transform(lambda values: values.mean(skipna=False))
        return rows.assign(**whole, at_least=mean).drop_duplicates(keys)

    @cached_property
    def _slices(self) -> dict[tuple[Any, ...], slice]:
        keys = ["configuration", *OF_QUANTITY]
        unit = self._rows.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        names = self._rows.iloc[starts][keys].itertuples(index=False, name=None)
        ends = pairwise([*starts, len(unit)])
        return {name: slice(start, end) for name, (start, end) in zip(names, ends, strict=True)}

    @cached_property
    def _having_quantity(self) -> dict[Triple, set[int]]:
        """The numbers of the configurations in which each quantity was measured."""
        having: dict[Triple, set[int]] = {}
        for number, operation, role, metric in self._slices:
            having.setdefault((str(operation), str(role), str(metric)), set()).add(number)
        return having

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: self._rows[name].to_numpy() for name in _READ}


def disturbed(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return of block means which others disturbed: of what is counted none."""
    return ~rows["metric"].isin(COUNTED) & rows["disturbed"].fillna(False).astype(bool)


def by_cells(means: pd.DataFrame) -> list[str]:
    """Return the hosts of some block means, the one that ran most cells first."""
    cells = means.drop_duplicates(["host", "cell_id", "block"])["host"].fillna("").value_counts().to_dict()
    return [str(host) for host in sorted(cells, key=lambda host: (-cells[host], host))]


def by_study(means: pd.DataFrame) -> dict[str, Measured]:
    """Return the block means of each study that ran, an operation of a single node having ended with its client's."""
    return {str(study): Measured(str(study), rows) for study, rows in ended(means).groupby("study", sort=False)}


def having(rows: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows of the cells that were given those levels of their parameters."""
    cells = [text for text in rows["parameters"].dropna().unique() if levels.items() <= parameters(text).items()]
    return rows[rows["parameters"].isin(cells)]


def first_arms(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without the second cells of A/A pairs, whose rows may be of either arm."""
    return means[means["arm"].fillna("a").eq("a") & ~means["parameters"].isin(having(means, arm="b")["parameters"])]


def both_arms(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cells that have a second arm: a few of all.

    Of cells whose sides share a process those of the second alone, which holds both arms in turn; else of both cells.
    """
    if not (second := means["arm"].eq("b")).any():
        return means[:0]
    of_second, of_first = (set(means.loc[arm, "parameters"].dropna()) for arm in (second, ~second))
    alone = [_but_arm(text) for text in of_second - of_first]
    cells = [text for text in of_first if _but_arm(text) in alone]
    return means[means["parameters"].isin([*of_second, *cells])]


def _but_arm(text: str) -> CellSettings:
    return {name: level for name, level in parameters(text).items() if name != "arm"}


def _apart(wanted: Iterable[Settings]) -> frozenset[str]:
    """Return the names whose values tell the sides apart."""
    sides = list(wanted)
    names = {name for side in sides for name in side if any(other.get(name) != side[name] for other in sides)}
    return frozenset(names.union(*(both for both in TOGETHER if names & both)))


def _index(levels: tuple[Level, ...], value: object) -> int | None:
    """Return which of the levels a value is; True is not 1."""
    for index, level in enumerate(levels):
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return index
    return None
