"""The block means of one study, and which of them a comparison takes.

`StudyMeans` numbers a study's configurations and blocks. `choose_means` returns what a claim
compares, `match_levels` what differs in one setting only, and `table` has all means for figures.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Final, NamedTuple, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.block_means import BlockMeans, average_levels, find_shared_blocks
from benchbook.analysis.claims import (
    FREE_PARAMETERS,
    ROW_COLUMNS,
    Factor,
    Level,
    Settings,
    list_levels,
)
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings
from benchbook.analysis.quantities import (
    COUNTED_METRICS,
    QUANTITY_COLUMNS,
    QuantityKey,
    name_elapsed_times,
)
from benchbook.registry.products import is_experimental
from benchbook.results.schema import ALTERNATING_COLUMNS, name_parameter_column
from benchbook.studies.catalogue import load_study
from benchbook.studies.cell import write_levels

Term = TypeVar("Term")

ROW_LEVELS: Final = ("database", "topology", *ALTERNATING_COLUMNS)
"""Columns whose level in a row counts; the parameter may name several levels, as ``both``."""

ALTERNATING_SETTINGS: Final = tuple(name_parameter_column(name) for name in ALTERNATING_COLUMNS)
"""Settings that name all levels that alternate in a cell, such as both formats: ``cell_format``."""

SINGLE_LEVEL: Final = "alone"
"""The level of an alternating setting in a table, where a cell has one level only."""


@dataclass(frozen=True)
class Configuration:
    """One combination of levels that ran; of alternating levels, one of them."""

    study: str
    language: str
    parameters: tuple[str, ...]
    settings: CellSettings  # levels of parameters, and of the columns that a row states itself
    alternating: CellSettings  # parameters of which the cell has several levels
    cell: str  # the cell's parameters in JSON, as a plan has them
    is_unchecked: bool  # whether an adapter that has not met its server measured it

    @property
    def alternating_settings(self) -> dict[str, Any]:
        """The parameters with several levels, under the names of their columns: ``cell_format``."""
        return {name_parameter_column(name): level for name, level in self.alternating.items()}

    def select_settings(self, varying: Iterable[str], columns: Iterable[str] = ()) -> CellSettings:
        """Return the settings that compared configurations must share.

        Alternating levels are compared within such cells only, so all their levels are shared.

        Parameters
        ----------
        varying
            Names that may differ.
        columns
            Columns that must be equal, besides all parameters.
        """
        stated = {name for name in columns if name in self.settings}
        names = {*self.parameters, *stated} - {*varying}
        shared = {name: self.settings[name] for name in sorted(names)}
        return shared | self.alternating_settings

    def measure_distance(self, named: frozenset[str]) -> tuple[int, int]:
        """Return how far the parameters that are not named are from their defaults.

        First how many differ, then how far down their lists of levels they are, in sum.
        """
        distances = [distance for name, distance in self._distances.items() if name not in named]
        return sum(distance > 0 for distance in distances), sum(distances)

    @cached_property
    def _distances(self) -> dict[str, int]:
        fields = load_study(self.study).Parameters.model_fields
        distances = {}
        for name in self.parameters:
            field = fields.get(name)
            level = self.settings[name]
            distances[name] = 0
            if field is not None and level != field.default:
                options = get_args(field.annotation)
                distances[name] = 1 + (options.index(level) if level in options else 0)
        return distances


class MatchedMeans(NamedTuple):
    """The means of a quantity in configurations that differ in the level of one factor only."""

    quantity: QuantityKey
    language: str
    settings: CellSettings  # that all share
    by_level: dict[str, BlockMeans]


@dataclass(frozen=True)
class _Candidate:
    """A configuration that has what a term asks for."""

    shared_settings: str  # JSON of what all terms must have in common
    rank: tuple[int, ...]  # the lower, the nearer to what was asked and to the defaults
    number: int  # of the configuration
    quantity: QuantityKey


@dataclass(frozen=True)
class _NumberedRows:
    """The rows of a study with the numbers of their configuration and block."""

    numbers: pd.DataFrame  # ``configuration``, and ``number`` for the block, of each row
    configurations: pd.DataFrame  # what tells each configuration from others, by its number
    slices: dict[tuple[Any, ...], slice]  # rows by configuration, operation, role and metric
    columns: dict[str, NDArray[Any]]  # of the sorted rows: number, at_least, timed_out, noisy, unit


class StudyMeans:
    """The block means of one study, by configuration and quantity.

    Parameters
    ----------
    study
        Its slug.
    means
        Its rows, as `benchbook.analysis.block_means.compute_block_means` returns them.
    """

    def __init__(self, study: str, means: pd.DataFrame) -> None:
        self.study = study
        # The index identifies a row.
        self.means = means.reset_index(drop=True)
        self._ranks: dict[tuple[Any, ...], dict[int, int]] = {}

    @property
    def languages(self) -> list[str]:
        """The languages that ran, the one with most rows first."""
        return list(dict.fromkeys(one.language for one in self.configurations))

    @property
    def quantities(self) -> list[QuantityKey]:
        """Every operation, role and metric that was measured, sorted."""
        names = {
            (str(operation), str(role), str(metric))
            for _, operation, role, metric in self._rows.slices
        }
        return sorted(names)

    @cached_property
    def machine_days(self) -> NDArray[np.object_]:
        """The machine-day of each block, by the block's number."""
        numbers = self._rows.numbers["number"].drop_duplicates().sort_values()
        return self.means["machine_day"].loc[numbers.index].to_numpy(object)

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Every configuration that ran, by its number."""
        rows = self._rows.configurations.to_dict("records")
        return [read_configuration(self.study, row) for row in rows]

    def choose_means(
        self, language: str, wanted: Mapping[str, Settings], pooled: Factor | None = None
    ) -> dict[str, BlockMeans]:
        """Return the means of a comparison's terms, alike in everything that a claim does not name.

        Parameters
        ----------
        language
            In which the cells ran.
        wanted
            Settings by a term's name, with ``operation``, ``role`` and ``metric``. A parameter that
            is not named is at its default, or at the nearest level that ran; where several levels
            are named, the first that ran is taken.
        pooled
            The factor over whose levels each term is averaged: over those that all terms have, and
            only where these are two or more.

        Returns
        -------
        dict
            The terms that ran.
        """
        if pooled is None:
            return self._choose_alike(language, wanted)
        # Each term at each level of the factor, all alike in the rest.
        ((factor, levels),) = pooled.items()
        at_levels = {}
        for name, settings in wanted.items():
            for level in levels:
                at_levels[name, level] = {**settings, factor: level}
        means = self._choose_alike(language, at_levels)

        # The averages, over the levels that all terms have.
        ran = [level for level in levels if all((name, level) in means for name in wanted)]
        if len(ran) < 2:
            return {}
        averages = {}
        for name in wanted:
            average = average_levels([means[name, level] for level in ran], factor)
            if len(average.blocks):
                averages[name] = average
        return averages

    def find_missing(
        self, language: str, own: Collection[str], wanted: Settings
    ) -> dict[str, tuple[Level, ...]] | None:
        """Return levels with which nothing of a term ran; without one of them something did.

        Parameters
        ----------
        language
            In which the cells ran.
        own
            Names of the settings that tell the term from others.
        wanted
            All its settings, with ``operation``, ``role`` and ``metric``.

        Returns
        -------
        dict
            By the name of their setting, without the term's own; empty if nothing ran with these.
            None if something ran with all.
        """
        # The configurations that have each of the settings.
        operations, roles, metrics = (list_levels(wanted[name]) for name in QUANTITY_COLUMNS)
        ran: dict[str, set[int]] = {
            name: {*self._rank_levels(language, name, list_levels(setting))}
            for name, setting in wanted.items()
            if name not in QUANTITY_COLUMNS
        }
        for name in ("operation", "metric"):
            ran[name] = set()
        for number, operation, role, metric in self._rows.slices:
            if self.configurations[number].language == language and operation in operations:
                ran["operation"].add(number)
                if role in roles and metric in metrics:
                    ran["metric"].add(number)
        if set.intersection(*ran.values()):
            return None

        # Without those that are not needed to find nothing.
        for name in [*reversed(ran)]:
            others = [numbers for other, numbers in ran.items() if other != name]
            if name not in own and others and not set.intersection(*others):
                del ran[name]
        return {name: list_levels(wanted[name]) for name in ran if name not in own}

    def match_levels(
        self,
        by: str,
        varying: Iterable[str],
        quantities: Iterable[QuantityKey],
        min_levels: int = 1,
    ) -> Iterator[MatchedMeans]:
        """Yield the means that are alike in everything but the level of one factor.

        Parameters
        ----------
        by
            The column or parameter whose levels are compared.
        varying
            Names that may differ, too.
        quantities
            Operation, role and metric of each.
        min_levels
            The fewest levels that are alike; the means of fewer are not read.
        """
        # Configurations with equal settings, by their level of the factor.
        groups: dict[tuple[str, str], dict[str, list[int]]] = {}
        settings: dict[tuple[str, str], CellSettings] = {}
        for number, configuration in enumerate(self.configurations):
            shared = configuration.select_settings({by, *varying, "repetitions"}, ROW_LEVELS)
            key = configuration.language, json.dumps(shared, sort_keys=True, default=str)
            settings[key] = shared
            level = str(configuration.settings.get(by))
            groups.setdefault(key, {}).setdefault(level, []).append(number)

        for quantity in quantities:
            for key, numbers_by_level in groups.items():
                if len(numbers_by_level) < min_levels:
                    continue
                measured = {}
                for level, numbers in numbers_by_level.items():
                    found = [one for one in numbers if (one, *quantity) in self._rows.slices]
                    if found:
                        measured[level] = found
                if len(measured) >= min_levels:
                    means = {
                        level: self._read_means(numbers, quantity)
                        for level, numbers in measured.items()
                    }
                    yield MatchedMeans(quantity, key[0], settings[key], means)

    def iterate_means(self) -> Iterator[tuple[Configuration, QuantityKey, BlockMeans]]:
        """Yield the means of every quantity of every configuration."""
        for number, operation, role, metric in self._rows.slices:
            quantity = str(operation), str(role), str(metric)
            yield self.configurations[number], quantity, self._read_means([number], quantity)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per cell, block, operation and role, with a column for each metric and setting.

        It has the cells' own columns, too, and the block's ``number``. A wait that timed out has
        the time waited, and is marked in ``timed_out``.
        """
        keys = ["cell_id", "block", "operation", "role", *ALTERNATING_COLUMNS]
        means = self.means.fillna(dict.fromkeys(ALTERNATING_COLUMNS, ""))
        means = means.join(self._rows.numbers)

        # A column for each metric, beside what all rows of a cell have in common.
        rows = means.groupby(keys)
        unused = {"metric", "value", "unit", "source", *ALTERNATING_SETTINGS}
        known = rows.first().drop(columns=[name for name in means if name in unused])
        metrics = means.pivot(index=keys, columns="metric", values="at_least")
        table = known.assign(timed_out=rows["timed_out"].any()).join(metrics).reset_index()

        # The settings of each row's configuration; the row states what these leave open.
        by_number = build_settings_frame(
            {**one.settings, **one.alternating_settings} for one in self.configurations
        )
        settings = by_number.loc[table.pop("configuration")].set_axis(table.index)
        for name in settings.columns.intersection(table.columns):
            settings[name] = settings[name].where(settings[name].notna(), table[name])
        return table.drop(columns=settings.columns, errors="ignore").join(settings)

    def _choose_alike(
        self, language: str, wanted: Mapping[Term, Settings]
    ) -> dict[Term, BlockMeans]:
        """Return the terms that ran, in configurations that differ only in what the terms name."""
        # The best candidate of each term, by what candidates have in common.
        varying = _find_varying(wanted.values())
        matches: dict[str, dict[Term, _Candidate]] = {}
        for term, settings in wanted.items():
            for candidate in self._list_candidates(language, settings, varying):
                match = matches.setdefault(candidate.shared_settings, {})
                if term not in match or candidate.rank < match[term].rank:
                    match[term] = candidate
        if not matches:
            return {}

        # Of the matches with most terms those nearest to the defaults. Among these, cells in which
        # the levels alternate come first, once they have blocks enough for an interval.
        nearest = min(map(_rank_match, matches.values()))
        best: dict[Term, BlockMeans] = {}
        best_preference: tuple[bool, bool] | None = None
        for match in matches.values():
            if _rank_match(match) != nearest:
                continue
            ordered = {term: match[term] for term in wanted if term in match}
            means = {
                term: self._read_means([candidate.number], candidate.quantity)
                for term, candidate in ordered.items()
            }
            has_interval = len(find_shared_blocks(means.values())) >= MIN_BLOCKS
            alternates = all(self.configurations[one.number].alternating for one in match.values())
            preference = has_interval, alternates
            if best_preference is None or preference > best_preference:
                best_preference, best = preference, means
        return {term: means for term, means in best.items() if len(means.blocks) or means.noisy}

    def _list_candidates(
        self, language: str, wanted: Settings, varying: frozenset[str]
    ) -> Iterator[_Candidate]:
        """Yield each configuration and quantity that has the wanted settings."""
        operations, roles, metrics = (
            map(str, list_levels(wanted[name])) for name in QUANTITY_COLUMNS
        )
        quantities = list(product(operations, roles, metrics))
        named = [name for name in wanted if name not in QUANTITY_COLUMNS]
        ranks = [self._rank_levels(language, name, list_levels(wanted[name])) for name in named]
        for number in min(ranks, key=len, default=range(len(self.configurations))):
            configuration = self.configurations[number]
            if configuration.language != language or any(number not in one for one in ranks):
                continue
            shared = configuration.select_settings(varying | {*FREE_PARAMETERS})
            # The level that is named first, then the quantity, then the nearest to the defaults.
            level_ranks = [one[number] for one in ranks]
            distance = configuration.measure_distance(frozenset(named))
            for place, quantity in enumerate(quantities):
                if (number, *quantity) in self._rows.slices:
                    rank = (configuration.is_unchecked, *level_ranks, place, *distance)
                    yield _Candidate(json.dumps(shared, default=str), rank, number, quantity)

    def _rank_levels(self, language: str, name: str, levels: tuple[Level, ...]) -> dict[int, int]:
        """Return which configurations have one of the levels of a setting, and which of them.

        The answers are kept, because many claims ask for the same levels.
        """
        # True is not 1, in the key and below.
        key = (language, name, *((type(level), level) for level in levels))
        if key in self._ranks:
            return self._ranks[key]
        ranks: dict[int, int] = {}
        for number, configuration in enumerate(self.configurations):
            if configuration.language != language:
                continue
            value = configuration.settings.get(name)
            for index, level in enumerate(levels):
                if level == value and isinstance(level, bool) == isinstance(value, bool):
                    ranks.setdefault(number, index)
        self._ranks[key] = ranks
        return ranks

    def _read_means(self, numbers: list[int], quantity: QuantityKey) -> BlockMeans:
        """Return the means of a quantity in some configurations, averaged within a block."""
        # The rows of all configurations.
        slices = [self._rows.slices[(number, *quantity)] for number in numbers]
        rows = np.concatenate([np.arange(part.start, part.stop) for part in slices])
        columns = {name: column[rows] for name, column in self._rows.columns.items()}
        cells = frozenset(self.configurations[number].cell for number in numbers)

        def average_blocks(chosen: NDArray[np.bool_]) -> BlockMeans:
            # By the numbers of the blocks themselves: to sort them takes longer.
            which = columns["number"][chosen]
            counts = np.bincount(which)
            blocks = np.flatnonzero(counts)
            sums = np.bincount(which, columns["at_least"][chosen])
            return BlockMeans(
                settings=self.configurations[numbers[0]].settings,
                blocks=blocks,
                values=sums[blocks] / counts[blocks],
                timed_out=np.bincount(which, columns["timed_out"][chosen])[blocks] > 0,
                unit=str(columns["unit"][0]),
                cells=cells,
                is_unchecked=any(self.configurations[number].is_unchecked for number in numbers),
            )

        is_noisy = columns["noisy"]
        quiet = average_blocks(~is_noisy)
        if not is_noisy.any():
            return quiet
        noisy_means = average_blocks(is_noisy)
        return replace(quiet, noisy=len(noisy_means.blocks), noisy_means=noisy_means)

    @cached_property
    def _rows(self) -> _NumberedRows:
        # Rows that are equal in these columns are of one configuration.
        fields = load_study(self.study).Parameters.model_fields
        parameters = [name_parameter_column(name) for name in fields]
        names = dict.fromkeys(["language", *parameters, *ROW_COLUMNS, "arm"])
        cell_columns = [name for name in names if name in self.means]

        # The language with most rows comes first.
        language = self.means["language"].fillna("python")
        counts = language.value_counts()
        order = language.map({name: place for place, name in enumerate(counts.index)})
        cells = self.means[cell_columns].assign(
            language=language, is_unchecked=find_unchecked(self.means)
        )
        cells = cells.loc[order.sort_values(kind="stable").index]
        telling = [*cell_columns, "is_unchecked"]
        configuration = cells.groupby(telling, dropna=False, sort=False).ngroup()
        blocks = self.means.groupby(["machine_day", "begun", "block"], dropna=False)
        numbers = pd.DataFrame({"configuration": configuration, "number": blocks.ngroup()})

        # Where the rows of each configuration and quantity begin and end.
        keys = ["configuration", *QUANTITY_COLUMNS]
        rows = self.means[[*QUANTITY_COLUMNS, "at_least", "unit"]].join(numbers)
        rows["timed_out"] = self.means["timed_out"].fillna(False).astype(bool)
        rows["noisy"] = find_noisy(self.means)
        ordered = rows.sort_values([*keys, "number"], kind="stable")
        groups = ordered.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        group_keys = ordered.iloc[starts][keys].itertuples(index=False, name=None)
        ends = pairwise([*starts, len(groups)])
        slices = {
            key: slice(start, end) for key, (start, end) in zip(group_keys, ends, strict=True)
        }
        read = ("number", "at_least", "timed_out", "noisy", "unit")
        columns = {name: ordered[name].to_numpy() for name in read}
        return _NumberedRows(numbers, cells[~configuration.duplicated()], slices, columns)


def read_configuration(study: str, row: Mapping[Any, Any]) -> Configuration:
    """Return the configuration of one of a cell's rows."""
    levels = load_study(study).Parameters.read_levels(row)
    stated = {name: row[name] for name in (*ROW_COLUMNS, "arm") if isinstance(row.get(name), str)}
    # Where both formats alternate, the row's own format counts.
    own = {name: level for name, level in stated.items() if name in ROW_LEVELS}
    alternating = {}
    for name in {*ALTERNATING_COLUMNS} & own.keys() & levels.keys() - {"arm"}:
        if levels[name] != own[name]:
            alternating[name] = levels[name]
    settings = {**stated, **levels, **own}
    cell = write_levels(levels)
    is_unchecked = bool(row.get("is_unchecked"))
    return Configuration(
        study, row["language"], tuple(levels), settings, alternating, cell, is_unchecked
    )


def build_settings_frame(settings: Iterable[CellSettings]) -> pd.DataFrame:
    """Return settings as a frame; `SINGLE_LEVEL` where an alternating setting has one level."""
    frame = pd.DataFrame([*settings])
    return frame.fillna({name: SINGLE_LEVEL for name in frame if name in ALTERNATING_SETTINGS})


def find_noisy(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which block means other programs disturbed; what is counted is never disturbed."""
    return ~rows["metric"].isin(COUNTED_METRICS) & rows["noisy"].fillna(False).astype(bool)


def find_unchecked(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows an experimental adapter measured on a server that was not checked."""
    if "database" not in rows:
        return pd.Series(False, rows.index)
    experimental = [name for name in rows["database"].dropna().unique() if is_experimental(name)]
    is_of_them = rows["database"].isin(experimental)
    # Rows of earlier versions have no such column.
    return is_of_them & rows["checked"].isna() if "checked" in rows else is_of_them


def split_by_study(means: pd.DataFrame) -> dict[str, StudyMeans]:
    """Return the block means of each study that ran, by its slug."""
    groups = name_elapsed_times(means).groupby("study", sort=False)
    return {str(study): StudyMeans(str(study), rows) for study, rows in groups}


def select_cells(rows: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows of the cells whose parameters have these levels."""
    for name, level in levels.items():
        column = name_parameter_column(name)
        rows = rows[rows[column] == level] if column in rows else rows[:0]
    return rows


def select_first_arms(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without the second cells of A/A checks."""
    columns = [name for name in ("arm", name_parameter_column("arm")) if name in means]
    return means[(means[columns].fillna("a") == "a").all(axis=1)]


def select_aa_cells(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cells that were measured twice, as arm a and arm b.

    Where one process holds both arms in turn, the cell of arm b has both, and its rows are
    returned; else the rows of both cells.
    """
    second = means["arm"].eq("b")
    if not second.any():
        return means[:0]
    # Cells of a study that are equal in all parameters but the arm.
    arm_column = name_parameter_column("arm")
    names = set()
    for study in means["study"].unique():
        names |= {name_parameter_column(name) for name in load_study(study).Parameters.model_fields}
    equal = [name for name in means if name in names - {arm_column}]
    cell = means.groupby(["study", *equal], dropna=False, sort=False).ngroup()
    is_of_b = means[arm_column].eq("b")
    has_second = second.groupby(cell).transform("any")
    second_has_both = (is_of_b & ~second).groupby(cell).transform("any")
    return means[has_second & (is_of_b | ~second_has_both)]


def _find_varying(terms: Iterable[Settings]) -> frozenset[str]:
    """Return the names whose levels differ between terms, and those linked to them."""
    settings = list(terms)
    varying = set()
    for one in settings:
        for name, level in one.items():
            if any(other.get(name) != level for other in settings):
                varying.add(name)
    # A codec writes one format, a process reads one metric: these may vary together.
    for linked in ({"format", "codec"}, {"metric", "process"}):
        if varying & linked:
            varying |= linked
    return frozenset(varying)


def _rank_match(match: Mapping[Any, _Candidate]) -> tuple[int, list[tuple[int, ...]]]:
    """Return the rank of a match: the more terms it has, and the nearer they are, the lower."""
    return -len(match), sorted(candidate.rank for candidate in match.values())
