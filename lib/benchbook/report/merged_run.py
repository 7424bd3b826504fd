"""What the final notebook reads: the cells of a profile, or the committed run, and their tables.

Begin with `merge_run`; the other functions return what ran and what did not, one table each.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from benchbook import grid, paths
from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.runs import Analysis, Run, read_reference_profile
from benchbook.files import suite_files
from benchbook.grid.cells import count_beyond, list_judged_results
from benchbook.grid.expansion import list_levels
from benchbook.grid.finished_cells import list_user_ids
from benchbook.own_data import own_records
from benchbook.papers import exhibits
from benchbook.plots.points import iterate_rows
from benchbook.plots.provenance import (
    describe_memory,
    find_time_span,
    join_distinct,
    list_environments,
    list_software,
)
from benchbook.results.folder import open_results, shorten_paths
from benchbook.results.views import format_csv
from benchbook.studies.catalogue import SLUGS, load_study
from benchbook.text.names import CELL_STATES
from benchbook.text.number_format import format_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T_TESTS: Final = "t_tests.csv"
"""The file beside the figures that has all t-tests."""

DAMAGED: Final = "what was measured is damaged: it is left out, and measured again by the next run"

_COMPARED_RECORDS: Final = 1_000
"""Records by which users' files of one name are distinguished."""

_FACT_NAMES: Final = {
    "host": "Name",
    "cpu": "Processor",
    "cores_usable": "Processors usable",
    "governor": "Frequency governor",
    "kernel": "System",
    "clock": "Clock source",
    "file_system": "Data on",
}
"""Keys of a cell's environment, each with its name in print."""


@dataclass(frozen=True)
class MergedRun:
    """A profile's cells, what the finished ones measured, and the folder where its figures go."""

    profile: str
    cells: list[grid.Cell]
    run: Run
    folder: Path
    skipped: Sequence[grid.SkippedCells] = ()
    beyond: int = 0  # finished cells that are judged, and not in the profile

    @property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived."""
        return self.run.means

    @property
    def analysis(self) -> Analysis:
        """What follows from the means: figures, tables and sentences are made of this object."""
        return self.run.analysis

    @property
    def is_reference(self) -> bool:
        """Whether it is the committed reference run."""
        return self.run.name == paths.REFERENCE

    @cached_property
    def own(self) -> Analysis:
        """What follows from cells that are in no profile: other levels, or your records."""
        cells = [] if self.is_reference else list_user_ids()
        return Analysis(_name_files(load_block_means(open_results(), cells)))

    @cached_property
    def own_comparisons(self) -> list[Comparison]:
        """The comparisons of these cells; noisy blocks count where there are too few others."""
        return compare_tables(self.own.means, counts_noisy=True)

    @cached_property
    def reference(self) -> Analysis | None:
        """What follows from the reference run; None where it is absent, or this run is that one."""
        if self.is_reference:
            return None
        committed = Run.read_reference().analysis
        return None if committed.means.empty else committed

    def query(self, sql: str) -> pd.DataFrame:
        """Return the result of an SQL statement over the profile's ``observations``."""
        frame: pd.DataFrame = self._connection.execute(sql).df()
        return frame

    @cached_property
    def _connection(self) -> "DuckDBPyConnection":
        """A connection to the run's values: to open one verifies all their files."""
        return self.run.connect()

    def draw(self) -> None:
        """Draw every figure, set every table and write the t-tests."""
        exhibits.draw_all(self.analysis, self.folder, self.run.name)
        suite_files.write_file(self.folder / T_TESTS, format_csv(self.analysis.t_tests))

    def select_cells(self, study: str) -> list[grid.Cell]:
        """Return one study's cells."""
        return [cell for cell in self.cells if cell.study == study]


def _name_files(means: pd.DataFrame) -> pd.DataFrame:
    """Return block means with the names of users' files in place of their paths.

    Copies of a file under the same name are one file. Other files of the same name differ
    by their folders.
    """
    copies: dict[tuple[str, str], list[str]] = {}
    for file in sorted(means["dataset_file"].dropna().unique()):
        copies.setdefault(
            (Path(file).name, own_records.digest_file(file, _COMPARED_RECORDS)), []
        ).append(file)
    names: dict[str, str] = {}
    for key, same in copies.items():
        parts = Path(same[0]).parts
        others = [Path(files[0]).parts for other, files in copies.items() if other != key]
        # As few folders as tell it from the others.
        length = 1
        while any(other[-length:] == parts[-length:] for other in others):
            length += 1
        names |= dict.fromkeys(same, "/".join(parts[-length:]))
    return means.assign(dataset_file=means["dataset_file"].replace(names))


def merge_run(profile: str) -> MergedRun:
    """Return the cells of a profile with what they measured.

    For `paths.REFERENCE` it is the committed run, with the cells of its profile.

    Raises
    ------
    benchbook.files.inputs.InputError
        When a grid is wrong or has no such profile.
    FileNotFoundError
        When the committed run is asked for and does not exist.
    """
    folder = paths.figures(profile)
    if profile == paths.REFERENCE:
        run, profile = Run.read_reference(), read_reference_profile()
        planned = grid.make_plan(SLUGS, profile, everywhere=True).cells
        return MergedRun(profile, _mark_cells_that_ran(planned, run.means), run, folder)
    plan = grid.make_plan(SLUGS, profile)
    judged = list_judged_results(plan.cells)
    run = Run.read_results(profile, judged)
    # A page may be published, so its reasons name no folder of this machine.
    cells = []
    for cell in plan.cells:
        missing = shorten_paths(cell.missing) if cell.missing else cell.missing
        cells.append(replace(cell, missing=missing))
    skipped = [replace(group, why=shorten_paths(group.why)) for group in plan.skipped]
    return MergedRun(profile, cells, run, folder, skipped, count_beyond(plan.cells, judged))


def _mark_cells_that_ran(planned: list[grid.Cell], means: pd.DataFrame) -> list[grid.Cell]:
    """Return the cells of a run as done, and those of a plan that did not run as still to do.

    A plan does not have the cells that cannot run on this machine, and has a cell once that
    several hosts ran.
    """
    ran = []
    for row in means.drop_duplicates(["cell_id", "block"]).to_dict("records"):
        slug, study = str(row["study"]), load_study(row["study"])
        parameters = study.Parameters.model_validate(study.Parameters.read_levels(row))
        ran.append(grid.Cell(slug, parameters, row["cell_id"], row["block"], state="done"))
    done = {(cell.combination, cell.block) for cell in ran}
    others = [cell for cell in planned if (cell.combination, cell.block) not in done]
    return [*(replace(cell, state="todo") for cell in others), *ran]


def count_cells(merged: MergedRun) -> pd.DataFrame:
    """Return how many cells of each study are in which state, its blocks and its values."""
    counts = Counter[tuple[str, str]]((cell.study, cell.state_here) for cell in merged.cells)
    blocks = merged.means.groupby("study")["block"].nunique()
    sql = "SELECT study, count(*) AS many FROM observations GROUP BY study"
    values = merged.query(sql).set_index("study")["many"]
    rows = []
    for study in SLUGS:
        by_state = {name.capitalize(): counts[study, state] for state, name in CELL_STATES.items()}
        rows.append(
            {
                "Study": study,
                "Cells": sum(by_state.values()),
                **by_state,
                "Blocks": int(blocks.get(study, 0)),
                "Values": int(values.get(study, 0)),
            }
        )
    return pd.DataFrame(rows)


def list_loads(merged: MergedRun) -> pd.DataFrame:
    """Return for each finished cell the load of other programs, in processors, and its noisiness.

    The columns are ``study, cell_id, block, load, noisy``.
    """
    return merged.query(
        "SELECT study, cell_id, block, any_value(background_load) AS load, "
        "coalesce(bool_or(noisy), false) AS noisy FROM observations GROUP BY ALL ORDER BY ALL"
    )


def list_unfinished(merged: MergedRun) -> pd.DataFrame:
    """Return the cells that are not done: one row per study, state and reason."""
    # Why each cell is not done.
    sql = (
        "SELECT cell_id, block, any_value(reason) AS reason FROM all_observations "
        "WHERE state <> 'done' GROUP BY ALL"
    )
    reasons = {(row.cell_id, row.block): str(row.reason) for row in iterate_rows(merged.query(sql))}
    lost = set() if merged.is_reference else open_results().find_lost_cells()
    groups: dict[tuple[str, str, str], list[grid.Cell]] = {}
    for cell in merged.cells:
        if cell.state != "done":
            never = DAMAGED if cell.key in lost else "not run yet"
            why = reasons.get((cell.identity, cell.block)) or cell.missing or never
            groups.setdefault((cell.study, CELL_STATES[cell.state_here], why), []).append(cell)

    # Cells are named by the parameters that do not have all of the study's levels.
    planned = {study: _collect_levels(merged.select_cells(study)) for study in SLUGS}
    rows = []
    for (study, state, why), cells in groups.items():
        parts = []
        for name, levels in _collect_levels(cells).items():
            if levels != planned[study][name]:
                parts.append(f"{name}: {_write_levels(levels)}")
        which = "; ".join(parts) or "all"
        rows.append((study, state, len(cells), which, why))
    return pd.DataFrame(rows, columns=["Study", "State", "Cells", "Which", "Why"])


def list_left_out(merged: MergedRun) -> pd.DataFrame:
    """Return the levels, repetitions and blocks of the papers' grids that this profile omits."""
    rows = []
    for study in SLUGS:
        of_profile = _collect_levels(merged.select_cells(study))
        of_paper = list_levels(study, "paper")
        of_paper.pop("arm")
        for name, levels in of_paper.items():
            here = of_profile.get(name, [])
            missing = [level for level in _sort_levels(levels) if level not in here]
            # Of these a profile has fewer, not other ones.
            if name in ("repetitions", "blocks"):
                missing = [level for level in missing if level > max(here, default=0)]
            if missing:
                rows.append((study, name, _write_levels(here), _write_levels(missing)))
    return pd.DataFrame(rows, columns=["Study", "Parameter", "Here", "Not here"])


def _collect_levels(cells: list[grid.Cell]) -> dict[str, list[Any]]:
    """Return the levels of each parameter, and the number of blocks, sorted."""
    levels: dict[str, dict[str, Any]] = {}
    for cell in cells:
        for name, value in cell.parameters.model_dump().items():
            # A level may be a list, which cannot be a key.
            levels.setdefault(name, {})[json.dumps(value)] = value
    levels.pop("arm", None)
    ordered = {name: _sort_levels(values.values()) for name, values in levels.items()}
    return ordered | {"blocks": [len({cell.block for cell in cells})]}


def _sort_levels(levels: Iterable[Any]) -> list[Any]:
    return sorted(levels, key=lambda level: (str(type(level)), level))


def _write_levels(levels: list[Any]) -> str:
    # A bool is an int, too, but is not written with separators.
    texts = [f"{level:,}" if type(level) is int else str(level) for level in levels]
    return ", ".join(texts) or "none"


def list_server_settings(merged: MergedRun) -> pd.DataFrame:
    """Return the settings of each product's primary, one row per product and number of nodes."""
    rows = set()
    for environment in list_environments(merged.means):
        servers = environment.get("servers") or {}
        nodes = servers.get("nodes")
        if not nodes:
            continue
        primary = servers.get("settings", {}).get("primary", {})
        flat = pd.json_normalize([primary]).to_dict("records")[0] if primary else {}
        # Settings that say how a server runs, not where it is.
        places = ("port", "bindIp", "keyFile", "path")
        settings = []
        for name in sorted(map(str, flat)):
            if flat[name] is not None and name.rpartition(".")[2] not in places:
                settings.append(f"{name} = {flat[name]}")
        rows.add((servers["product"], len(nodes), ", ".join(settings)))
    return pd.DataFrame(sorted(rows), columns=["Product", "Nodes", "Settings"])


def list_machine_facts(merged: MergedRun) -> pd.DataFrame:
    """Return the machine, its software and when it measured, one row per fact."""
    environments = list_environments(merged.means)
    facts = {name: join_distinct(environments, key) for key, name in _FACT_NAMES.items()}
    facts["Memory"] = describe_memory(environments)
    for name, text in list_software(merged.means).items():
        facts[name[0].upper() + name[1:]] = text

    # The speed of the disk differs from cell to cell, so the environments leave it out.
    stored = [json.loads(text) for text in merged.means["environment"].dropna().unique()]
    rates = [one["fsyncs_per_s"] for one in stored if one.get("fsyncs_per_s")]
    if rates:
        least, most = format_number(min(rates)), format_number(max(rates))
        facts["Forced writes a second"] = least if least == most else f"{least} to {most}"

    libraries = set()
    for environment in environments:
        for name, version in environment.get("libraries", {}).items():
            libraries.add(f"{name} {version}")
    facts["Libraries"] = ", ".join(sorted(libraries))
    span = find_time_span(merged.means)
    if span:
        facts["Measured"] = " to ".join(f"{moment:%Y-%m-%d %H:%M}" for moment in span) + " UTC"
    rows = [(name, text) for name, text in facts.items() if text]
    return pd.DataFrame(rows, columns=["This machine", "Fact"])
