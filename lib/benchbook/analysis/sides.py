"""Which block means stand on each side of a comparison: cells with its settings, all else alike.

`Measured` holds one study's block means with a column per setting. `Measured.sides` finds what a claim asks for;
`Measured.alike` groups by all settings but one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, pairwise, product
from typing import Any, Final, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import studies
from benchbook.analysis.block_means import COUNTED, Triple, ended
from benchbook.analysis.claims import Factor, Level, Settings, several
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings
from benchbook.results import OF_AN_ARM, parameter_column
from benchbook.studies.cell import write_levels

K = TypeVar("K")

OF_QUANTITY: Final = ("operation", "role", "metric")
OF_ROWS: Final = ("database", "topology", "model", "driver", "codec", "format", "transport", "durability")
"""Columns of the observations that a claim may name beside the study's parameters."""

MEASURED: Final = ("database", "topology", *OF_AN_ARM)
"""Columns that say more than the parameter of their name, which may name all that a cell takes in turn."""

FREE: Final = ("language", "arm", "seed", "repetitions")
"""What no claim names: it is judged in each language, on arm a, whatever the data's seed and the repetitions."""

TOGETHER: Final = (frozenset({"format", "codec"}), frozenset({"metric", "process"}))
"""Who varies one of them may vary the other: no codec writes both formats, no process is read for time and memory."""

IN_TURN: Final = tuple(parameter_column(name) for name in OF_AN_ARM)
"""Settings that name all levels which a cell takes in turn, such as both formats: ``cell_format``."""

ALONE: Final = "alone"
"""The level of such a setting in a table, where a cell takes one level."""


@dataclass(frozen=True)
class Side:
    """The block means of one side, arrays of shape (n,)."""

    settings: CellSettings  # what it ran with: parameters and columns
    blocks: NDArray[np.int64]  # numbers of blocks, ascending; unique over machines and days
    values: NDArray[np.float64]  # in `unit`
    timed_out: NDArray[np.bool_]  # where a wait ran out: the value is only what it exceeds
    unit: str
    noisy: int = 0  # how many more blocks other programs disturbed
    of_noisy: "Side | None" = None  # the same side in these blocks, None without any
    levels: tuple[object, ...] = ()  # of the factor over whose mean it is taken
    cells: frozenset[str] = frozenset()  # the parameters of the cells that it is read from, as their rows state them

    @property
    def with_noisy(self) -> "Side":
        """The same side in all its blocks; where some repetitions of a block are quiet, in those."""
        if self.of_noisy is None:
            return self
        added = self.of_noisy.only(np.setdiff1d(self.of_noisy.blocks, self.blocks))
        blocks = np.append(self.blocks, added.blocks)
        order = np.argsort(blocks)
        return replace(
            self,
            blocks=blocks[order],
            values=np.append(self.values, added.values)[order],
            timed_out=np.append(self.timed_out, added.timed_out)[order],
        )

    def only(self, blocks: NDArray[np.int64]) -> "Side":
        """Return the same side in those of its blocks."""
        chosen = np.isin(self.blocks, blocks)
        return replace(self, blocks=self.blocks[chosen], values=self.values[chosen], timed_out=self.timed_out[chosen])


def shared(sides: Iterable[Side]) -> NDArray[np.int64]:
    """Return the numbers of the blocks that all sides have, ascending."""
    return reduce(np.intersect1d, [side.blocks for side in sides])


def common_settings(sides: Iterable[Side]) -> CellSettings:
    """Return the settings that all sides have in common."""
    first, *others = (side.settings for side in sides)
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def averaged(parts: list[Side], factor: str) -> Side:
    """Return the side whose value is the mean of several, in the blocks that all have; `levels` are the factor's."""
    of_noisy = None
    if any(part.of_noisy for part in parts):
        of_noisy = averaged([replace(part.with_noisy, of_noisy=None) for part in parts], factor)
    blocks = shared(parts)
    parts = [part.only(blocks) for part in parts]
    return replace(
        parts[0],
        settings=common_settings(parts),
        values=np.mean([part.values for part in parts], axis=0),
        timed_out=np.any([part.timed_out for part in parts], axis=0),
        noisy=max(part.noisy for part in parts),
        of_noisy=of_noisy,
        levels=tuple(part.settings[factor] for part in parts),
        cells=frozenset[str]().union(*(part.cells for part in parts)),
    )


@dataclass(frozen=True)
class Configuration:
    """One way in which cells ran."""

    study: str
    language: str
    parameters: tuple[str, ...]
    settings: CellSettings  # parameters, and the columns that a row states itself
    in_turn: CellSettings  # the parameters of which the cell takes several levels in turn, and the row states one
    cell: str  # the cell's parameters in JSON, by which a plan knows it

    def common(self, apart: Iterable[str], columns: Iterable[str] = ()) -> CellSettings:
        """Return the settings that sides must share: all parameters, and some columns, but those that are apart.

        What a cell takes in turn is compared within such cells: their sides share the parameter that names all, too.
        """
        names = {*self.parameters, *(name for name in columns if name in self.settings)} - {*apart}
        common = {name: self.settings[name] for name in sorted(names)}
        return common | self.levels_in_turn

    @property
    def levels_in_turn(self) -> dict[str, Any]:
        """The parameters of which the cell takes several levels, as settings of their own: ``cell_database``."""
        return {parameter_column(name): level for name, level in self.in_turn.items()}

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


def read_configuration(study: str, row: Mapping[Any, Any]) -> Configuration:
    """Return how a cell ran, from one of its rows."""
    given = studies.load(study).Parameters.read_levels(row)
    stated = {name: row[name] for name in (*OF_ROWS, "arm") if isinstance(row.get(name), str)}
    # Of a cell with both formats the row's own.
    measured = {name: stated[name] for name in stated if name in MEASURED}
    of_an_arm = {*OF_AN_ARM} & measured.keys() & given.keys() - {"arm"}
    in_turn = {name: given[name] for name in of_an_arm if given[name] != measured[name]}
    settings = {**stated, **given, **measured}
    return Configuration(study, row["language"], tuple(given), settings, in_turn, write_levels(given))


class Measured:
    """The block means of one study: the one place where rows are chosen by what was measured, and how.

    Parameters
    ----------
    study
        Its slug.
    means
        Its rows, as `benchbook.analysis.measures` returns them.
    """

    def __init__(self, study: str, means: pd.DataFrame) -> None:
        self.study = study
        self.means = means
        self._having: dict[tuple[Any, ...], dict[int, int]] = {}

    @property
    def languages(self) -> list[str]:
        """The languages that ran, the one that ran most cells first."""
        return list(dict.fromkeys(about.language for about in self.configurations))

    @property
    def quantities(self) -> list[Triple]:
        """Every operation, role and metric that ran, in the order of their names."""
        return sorted({(str(operation), str(role), str(metric)) for _, operation, role, metric in self._slices})

    @cached_property
    def machine_days(self) -> NDArray[np.object_]:
        """The machine-day of each block, by the block's number."""
        rows = self._rows.drop_duplicates("number").sort_values("number")
        return rows["machine_day"].to_numpy(object)

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Every way to run, by its number."""
        firsts = self._numbered[~self._numbered["configuration"].duplicated()].sort_values("configuration")
        return [read_configuration(self.study, row) for row in firsts[self._columns_of_cells].to_dict("records")]

    @cached_property
    def _columns_of_cells(self) -> list[str]:
        """The columns of parameters, and those that a row states itself: rows that are alike in them ran alike."""
        names = [parameter_column(name) for name in studies.load(self.study).Parameters.model_fields]
        return [name for name in dict.fromkeys(["language", *names, *OF_ROWS, "arm"]) if name in self.means]

    @cached_property
    def configured(self) -> "pd.Series[int]":
        """The number of the configuration in which each row was measured."""
        return self._numbered["configuration"].sort_index()

    def sides(self, language: str, wanted: Mapping[str, Settings], over: Factor | None = None) -> dict[str, Side]:
        """Return the sides that ran, alike in everything that does not tell them apart.

        Parameters
        ----------
        language
            In which.
        wanted
            By a side's name all that is asked of it, ``operation``, ``role`` and ``metric`` among it. What is not named
            is at its default, or as near to it as ran; of several levels named the first that ran stands.
        over
            The levels over whose mean each side is taken: those that all sides have, two at least.
        """
        if over is None:
            return self._alike(language, wanted)
        ((factor, levels),) = over.items()
        at_levels = {
            (name, level): {**settings, factor: level} for name, settings in wanted.items() for level in levels
        }
        sides = self._alike(language, at_levels)
        ran = [level for level in levels if all((name, level) in sides for name in wanted)]
        if len(ran) < 2:
            return {}
        pooled = {name: averaged([sides[name, level] for level in ran], factor) for name in wanted}
        return {name: side for name, side in pooled.items() if len(side.blocks)}

    def alike(
        self, by: str, apart: Iterable[str], quantities: Iterable[Triple]
    ) -> Iterator[tuple[Triple, str, CellSettings, dict[str, Side]]]:
        """Yield of each quantity all that was measured alike: language, common settings, sides by their level of `by`.

        Parameters
        ----------
        by
            The column or parameter whose level tells the sides apart.
        apart
            What may differ beside it.
        quantities
            Operation, role and metric.
        """
        groups: dict[tuple[str, str], dict[str, list[int]]] = {}
        settings: dict[tuple[str, str], CellSettings] = {}
        for number, about in enumerate(self.configurations):
            common = about.common({by, *apart, "repetitions"}, MEASURED)
            key = about.language, json.dumps(common, sort_keys=True, default=str)
            settings[key] = common
            groups.setdefault(key, {}).setdefault(str(about.settings.get(by)), []).append(number)
        for quantity in quantities:
            for key, levels in groups.items():
                ran = {
                    level: [number for number in numbers if (number, *quantity) in self._slices]
                    for level, numbers in levels.items()
                }
                if any(ran.values()):
                    yield (
                        quantity,
                        key[0],
                        settings[key],
                        {level: self._side(numbers, quantity) for level, numbers in ran.items() if numbers},
                    )

    def each(self) -> Iterator[tuple[Configuration, Triple, Side]]:
        """Yield every quantity (operation, role and metric) of every way to run, as a side of its own."""
        for number, operation, role, metric in self._slices:
            quantity = str(operation), str(role), str(metric)
            yield self.configurations[number], quantity, self._side([number], quantity)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a cell, block, operation and role, with a column for each metric and for each setting.

        The cells' own columns stand beside them, and the block's ``number``. A timed-out wait stands at the time
        waited, and is marked.
        """
        keys = ["cell_id", "block", "operation", "role", *OF_AN_ARM]
        means = self.means.fillna(dict.fromkeys(OF_AN_ARM, "")).assign(
            configuration=self.configured, number=self._numbered["number"]
        )
        rows = means.groupby(keys)
        unused = {"metric", "value", "unit", "source", *IN_TURN}
        known = rows.first().drop(columns=[name for name in means if name in unused])
        metrics = means.pivot(index=keys, columns="metric", values="at_least")
        table = known.assign(timed_out=rows["timed_out"].any()).join(metrics).reset_index()
        by_number = settings_frame({**about.settings, **about.levels_in_turn} for about in self.configurations)
        settings = by_number.loc[table.pop("configuration")].set_axis(table.index)
        for name in settings.columns.intersection(table.columns):
            # the row says what the parameters do not
            settings[name] = settings[name].where(settings[name].notna(), table[name])
        return table.drop(columns=settings.columns, errors="ignore").join(settings)

    def _alike(self, language: str, wanted: Mapping[K, Settings]) -> dict[K, Side]:
        """Return the sides that ran, of those configurations that differ in nothing else."""
        apart = _apart(wanted.values())
        # By what sides have in common: the best candidate for each, with its rank.
        ranked: dict[str, dict[K, tuple[tuple[int, ...], int, Triple]]] = {}
        for name, settings in wanted.items():
            for common, rank, number, quantity in self._candidates(language, settings, apart):
                of_common = ranked.setdefault(common, {})
                if name not in of_common or rank < of_common[name][0]:
                    of_common[name] = rank, number, quantity
        if not ranked:
            return {}
        ranks = {common: (-len(sides), sorted(rank for rank, *_ in sides.values())) for common, sides in ranked.items()}
        nearest = min(ranks.values())
        found = []
        for common, chosen in ranked.items():
            if ranks[common] == nearest:
                in_turn = all(self.configurations[number].in_turn for _, number, _ in chosen.values())
                sides = {name: self._side([chosen[name][1]], chosen[name][2]) for name in wanted if name in chosen}
                found.append((len(shared(sides.values())) >= MIN_BLOCKS, in_turn, sides))
        # What a cell took in turn comes first, once it has blocks enough for an interval.
        *_, best = max(found, key=lambda one: one[:2])
        return {name: side for name, side in best.items() if len(side.blocks) or side.noisy}

    def _candidates(
        self, language: str, wanted: Settings, apart: frozenset[str]
    ) -> Iterator[tuple[str, tuple[int, ...], int, Triple]]:
        """Yield of each configuration that has what is wanted: what it shares, its rank, its number, the quantity."""
        named = {name: several(value) for name, value in wanted.items() if name not in OF_QUANTITY}
        operations, roles, metrics = (map(str, several(wanted[name])) for name in OF_QUANTITY)
        quantities = list(product(operations, roles, metrics))
        having = [self._with(language, name, levels) for name, levels in named.items()]
        for number in min(having, key=len, default=range(len(self.configurations))):
            if not all(number in those for those in having):
                continue
            # The first named that ran, then the nearest to the defaults.
            about, order = self.configurations[number], [those[number] for those in having]
            if about.language != language:
                continue
            common = json.dumps(about.common(apart | {*FREE}), default=str)
            strange = about.strangeness(frozenset(named))
            for rank, quantity in enumerate(quantities):
                if (number, *quantity) in self._slices:
                    yield common, (*order, rank, *strange), number, quantity

    def _with(self, language: str, name: str, levels: tuple[Level, ...]) -> dict[int, int]:
        """Return the configurations of which a setting is one of those levels, and which; claims ask alike."""
        key = (language, name, *((type(level), level) for level in levels))  # True is not 1
        if key not in self._having:
            ran = ((number, about) for number, about in enumerate(self.configurations) if about.language == language)
            indices = ((number, _index(levels, about.settings.get(name))) for number, about in ran)
            self._having[key] = {number: index for number, index in indices if index is not None}
        return self._having[key]

    def _side(self, numbers: list[int], quantity: Triple) -> Side:
        """Return the means of a quantity in some configurations; what two of them measured in one block counts once."""
        slices = [self._slices[(number, *quantity)] for number in numbers]
        rows = np.concatenate([np.arange(part.start, part.stop) for part in slices])
        block, value, timed_out, noisy = (self._columns[name][rows] for name in _READ)
        unit = str(self._columns["unit"][rows[0]])
        settings = self.configurations[numbers[0]].settings
        cells = frozenset(self.configurations[number].cell for number in numbers)

        def in_blocks(chosen: NDArray[np.bool_]) -> Side:
            blocks, which = np.unique(block[chosen], return_inverse=True)
            values = np.bincount(which, value[chosen]) / np.bincount(which)
            ran_out = np.bincount(which, timed_out[chosen]) > 0
            return Side(settings, blocks, values, ran_out, unit, cells=cells)

        quiet = in_blocks(~noisy)
        if not noisy.any():
            return quiet
        of_noisy = in_blocks(noisy)
        return replace(quiet, noisy=len(of_noisy.blocks), of_noisy=of_noisy)

    @cached_property
    def _numbered(self) -> pd.DataFrame:
        """The rows with the number of their configuration and of their block."""
        rows = self.means
        rows = rows.assign(
            language=rows["language"].fillna("python"),
            timed_out=rows["timed_out"].fillna(False).astype(bool),
            noisy=noisy(rows),
        )
        # The language that ran most comes first.
        order = {language: place for place, language in enumerate(rows["language"].value_counts().index)}
        if len(order) > 1:
            rows = rows.sort_values("language", key=lambda language: language.map(order), kind="stable")
        return rows.assign(
            configuration=rows.groupby(self._columns_of_cells, dropna=False, sort=False).ngroup(),
            number=rows.groupby(["machine_day", "begun", "block"], dropna=False).ngroup(),
        )

    @cached_property
    def _rows(self) -> pd.DataFrame:
        """The rows by configuration, quantity and block."""
        return self._numbered.sort_values(["configuration", *OF_QUANTITY, "number"], kind="stable")

    @cached_property
    def _slices(self) -> dict[tuple[Any, ...], slice]:
        """Where the rows of each configuration and quantity stand."""
        keys = ["configuration", *OF_QUANTITY]
        groups = self._rows.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        names = self._rows.iloc[starts][keys].itertuples(index=False, name=None)
        ends = pairwise([*starts, len(groups)])
        return {name: slice(start, end) for name, (start, end) in zip(names, ends, strict=True)}

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: self._rows[name].to_numpy() for name in (*_READ, "unit")}


_READ: Final = ("number", "at_least", "timed_out", "noisy")


def settings_frame(settings: Iterable[CellSettings]) -> pd.DataFrame:
    """Return settings as a frame: what cells take in turn is `ALONE` where one takes one level."""
    frame = pd.DataFrame([*settings])
    return frame.fillna({name: ALONE for name in frame if name in IN_TURN})


def noisy(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return of block means which other programs disturbed: of what is counted none."""
    return ~rows["metric"].isin(COUNTED) & rows["noisy"].fillna(False).astype(bool)


def by_study(means: pd.DataFrame) -> dict[str, Measured]:
    """Return the block means of each study that ran, an operation of a single node having ended with its client's."""
    return {str(study): Measured(str(study), rows) for study, rows in ended(means).groupby("study", sort=False)}


def having(rows: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows of the cells that were given those levels of their parameters."""
    for name, level in levels.items():
        column = parameter_column(name)
        rows = rows[rows[column] == level] if column in rows else rows[:0]
    return rows


def first_arms(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without the second cells of A/A pairs, whose rows may be of either arm."""
    arms = means[["arm", parameter_column("arm")]] if parameter_column("arm") in means else means[["arm"]]
    return means[(arms.fillna("a") == "a").all(axis=1)]


def both_arms(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cells that have a second arm: a few of all.

    Of cells whose sides share a process those of the second alone, which holds both arms in turn; else of both cells.
    """
    second = means["arm"].eq("b")
    if not second.any():
        return means[:0]
    # Cells that are alike in all parameters but the arm, in one study.
    of_cell = parameter_column("arm")
    fields = [studies.load(study).Parameters.model_fields for study in means["study"].unique()]
    names = {parameter_column(name) for name in chain.from_iterable(fields)}
    alike = [name for name in means if name in names - {of_cell}]
    pairs = means.groupby(["study", *alike], dropna=False, sort=False)
    has_second = second.groupby(pairs.ngroup()).transform("any")
    second_has_both = (means[of_cell].eq("b") & ~second).groupby(pairs.ngroup()).transform("any")
    return means[has_second & (means[of_cell].eq("b") | ~second_has_both)]


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
