"""The block means of one study, and which of them a comparison takes.

`StudyMeans` numbers a study's configurations and blocks. `choose_means` returns what a claim
compares, `match_levels` what differs in one setting only, and `table` has all means for figures.
"""

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.analysis.block_means import (
    BlockMeans,
    average_levels,
    find_shared_blocks,
    join_blocks,
)
from benchbook.analysis.claims import (
    FREE_PARAMETERS,
    ROW_COLUMNS,
    Factor,
    Level,
    Settings,
    list_levels,
)
from benchbook.analysis.configurations import (
    ALTERNATING_SETTINGS,
    ROW_LEVELS,
    Configuration,
    build_settings_frame,
    read_configuration,
)
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import CellSettings
from benchbook.analysis.quantities import (
    COUNTED_METRICS,
    QUANTITY_COLUMNS,
    QuantityKey,
    name_elapsed_times,
)
from benchbook.registry import products
from benchbook.results.schema import ALTERNATING_COLUMNS, name_parameter_column
from benchbook.studies.catalogue import load_study

Term = TypeVar("Term")


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
    # The levels that take turns in its cell, of the settings that terms differ in.
    turns: tuple[str, ...]
    rank: tuple[int, ...]  # the lower, the nearer to what was asked and to the defaults
    numbers: list[int]  # of the configurations, which differ in `FREE_PARAMETERS` only
    quantity: QuantityKey


@dataclass(frozen=True)
class _NumberedRows:
    """The rows of a study with the numbers of their configuration and block."""

    numbers: pd.DataFrame  # ``configuration``, and ``number`` for the block, of each row
    configurations: pd.DataFrame  # what tells each configuration from others, by its number
    slices: dict[tuple[Any, ...], slice]  # rows by configuration, operation, role and metric
    columns: dict[str, NDArray[Any]]  # of the sorted rows, by their names


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
    def preferring_own_processors(self) -> "StudyMeans":
        """These means; of a cell that ran with own processors, only the blocks that had them."""
        own = _read_own_processors(self.means)
        if not own.any():
            return self
        most = own.groupby(self._rows.numbers["configuration"]).transform("max")
        return StudyMeans(self.study, self.means[own.gt(0) | most.eq(0)])

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
            average = average_levels([means[name, level] for level in ran])
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
        ran: dict[str, set[int]] = {}
        for name, setting in wanted.items():
            if name not in QUANTITY_COLUMNS:
                ran[name] = {*self._rank_levels(language, name, list_levels(setting))}
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
            if configuration.has_other_turns({by, *varying}):
                continue
            shared = configuration.select_settings({by, *varying, "repetitions"}, ROW_LEVELS)
            key = configuration.language, json.dumps(shared, sort_keys=True, default=str)
            settings[key] = shared
            level = str(configuration.settings.get(by))
            groups.setdefault(key, {}).setdefault(level, []).append(number)

        for quantity in quantities:
            for key, numbers_by_level in groups.items():
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
        # The best candidate of each term, by what candidates have in common, and by the levels that
        # take turns in their cells.
        varying = _find_varying(wanted.values())
        matches: dict[tuple[str, tuple[str, ...]], dict[Term, _Candidate]] = {}
        for term, settings in wanted.items():
            for candidate in self._list_candidates(language, settings, varying):
                match = matches.setdefault((candidate.shared_settings, candidate.turns), {})
                if term not in match or candidate.rank < match[term].rank:
                    match[term] = candidate
                elif candidate.rank == match[term].rank:
                    match[term].numbers.extend(candidate.numbers)
        if not matches:
            return {}

        # Of the matches with most terms those nearest to the defaults.
        nearest = min(map(_rank_match, matches.values()))
        alike: dict[str, list[dict[Term, _Candidate]]] = {}
        # Cells in which more levels take turns come first.
        by_turns = sorted(matches.items(), key=lambda item: -len(item[0][1]))
        for (shared_settings, _), match in by_turns:
            if _rank_match(match) == nearest:
                alike.setdefault(shared_settings, []).append(match)

        # The means of each group; of several groups, one that has an interval, and other levels
        # that alternate in its cells.
        best: dict[Term, BlockMeans] = {}
        best_preference: tuple[bool, bool] | None = None
        for group in alike.values():
            means = self._pool_matches(wanted, group)
            has_interval = len(find_shared_blocks(means.values())) >= MIN_BLOCKS
            numbers = itertools.chain(*(candidate.numbers for candidate in group[0].values()))
            alternates = all(self.configurations[number].alternating for number in numbers)
            preference = has_interval, alternates
            if best_preference is None or preference > best_preference:
                best_preference, best = preference, means
        return {term: means for term, means in best.items() if len(means.blocks) or means.noisy}

    def _pool_matches(
        self, wanted: Iterable[Term], matches: Iterable[Mapping[Term, _Candidate]]
    ) -> dict[Term, BlockMeans]:
        """Return the means of terms in the blocks of all matches, in the order of the wanted terms.

        A block that several matches have counts once, as the first of them has it.
        """
        pooled: dict[Term, BlockMeans] = {}
        for match in matches:
            for term in wanted:
                if term not in match:
                    continue
                candidate = match[term]
                means = self._read_means(candidate.numbers, candidate.quantity)
                if candidate.turns:
                    means = replace(means, in_turn=frozenset(means.blocks.tolist()))
                if term in pooled:
                    means = join_blocks(pooled[term], means)
                pooled[term] = means
        return pooled

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
            if configuration.has_other_turns(varying):
                continue
            # Terms that take turns in a process are compared within such cells, and pooled with
            # terms that have a process each.
            turns = sorted(varying & configuration.alternating.keys())
            shared = {**configuration.select_settings(varying | {*FREE_PARAMETERS})}
            for name in turns:
                del shared[f"cell_{name}"]
            shared_settings = json.dumps(shared, default=str)
            turn_settings = tuple(str(configuration.alternating[name]) for name in turns)
            # The level that is named first, then the quantity, then the nearest to the defaults.
            level_ranks = [one[number] for one in ranks]
            distance = configuration.measure_distance({*named, *FREE_PARAMETERS})
            for place, quantity in enumerate(quantities):
                if (number, *quantity) in self._rows.slices:
                    rank = (configuration.is_unchecked, *level_ranks, place, *distance)
                    yield _Candidate(shared_settings, turn_settings, rank, [number], quantity)

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
                own_processors=int(columns["own_processors"].min()),
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
        names = dict.fromkeys(["language", *parameters, *ROW_COLUMNS, "arm", "own_level"])
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
        rows["own_processors"] = _read_own_processors(self.means)
        ordered = rows.sort_values([*keys, "number"], kind="stable")
        groups = ordered.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        group_keys = ordered.iloc[starts][keys].itertuples(index=False, name=None)
        ends = pairwise([*starts, len(groups)])
        slices = {
            key: slice(start, end) for key, (start, end) in zip(group_keys, ends, strict=True)
        }
        read = ("number", "at_least", "timed_out", "noisy", "unit", "own_processors")
        columns = {name: ordered[name].to_numpy() for name in read}
        return _NumberedRows(numbers, cells[~configuration.duplicated()], slices, columns)


def _read_own_processors(means: pd.DataFrame) -> "pd.Series[float]":
    """Return how many processors each row's roles had to themselves; 0 where it is unknown."""
    return means["own_processors"].astype(float).fillna(0.0)


def find_noisy(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which block means other programs disturbed; what is counted is never disturbed."""
    return ~rows["metric"].isin(COUNTED_METRICS) & rows["noisy"].fillna(False).astype(bool)


def find_unchecked(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows an adapter of a plug-in measured on a server that was not checked."""
    is_of_them = rows["database"].isin(products.PLUGIN_DATABASES)
    # Rows of earlier versions have no such column.
    return is_of_them & rows["checked"].isna() if "checked" in rows else is_of_them


def split_by_study(means: pd.DataFrame) -> dict[str, StudyMeans]:
    """Return the block means of each study that ran, by its slug."""
    groups = name_elapsed_times(means).groupby("study", sort=False)
    return {str(study): StudyMeans(str(study), rows) for study, rows in groups}


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
    # A codec writes one format, a process reads one metric, a database has its commits: these may
    # vary together.
    for linked in ({"format", "codec"}, {"metric", "process"}, {"database", "commit"}):
        if varying & linked:
            varying |= linked
    return frozenset(varying)


def _rank_match(match: Mapping[Any, _Candidate]) -> tuple[int, list[tuple[int, ...]]]:
    """Return the rank of a match: the more terms it has, and the nearer they are, the lower."""
    return -len(match), sorted(candidate.rank for candidate in match.values())
