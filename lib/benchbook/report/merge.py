"""What the final notebook reads: exactly the cells that the plan lists for a profile, or the committed run."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchbook import atomic, grid, paths, results, studies
from benchbook.analysis import Analysis, reference
from benchbook.analysis.runs import Run
from benchbook.analysis.t_tests import t_tests
from benchbook.digits import number
from benchbook.papers import exhibits
from benchbook.plots.points import each
from benchbook.plots.provenance import distinct, environments, memory, software, span
from benchbook.results.spreadsheet import to_csv

T_TESTS: Final = "t_tests.csv"
"""The file beside the figures that has all t-tests."""

COUNTS: Final = ("repetitions", "blocks")
"""What a profile has fewer of, not other ones."""

STATES: Final = {"done": "done", "failed": "failed", "skipped": "skipped", "todo": "not run yet"}

_PLACES: Final = ("port", "bindIp", "keyFile", "path")
"""Settings of a server that say where it is, not how it runs."""

DAMAGED: Final = "what was measured is damaged: it is left out, and measured again by the next run"


@dataclass(frozen=True)
class Merged:
    """A profile's cells, what the finished ones measured, and the folder where its figures go."""

    profile: str
    cells: list[grid.Cell]
    run: Run
    folder: Path
    skipped: Sequence[grid.LeftOut] = ()

    @property
    def means(self) -> pd.DataFrame:
        """Block means of all quantities, stored and derived."""
        return self.run.means

    @property
    def analysis(self) -> Analysis:
        """What follows from the means: figures, tables and sentences are all made of this one object."""
        return self.run.analysis

    @cached_property
    def own(self) -> Analysis:
        """What follows from cells that are in no profile: other levels of a parameter, or your own records."""
        return Run.of_results("own cells", [] if self.run.name == paths.REFERENCE else grid.own()).analysis

    @cached_property
    def reference(self) -> Analysis | None:
        """What follows from the committed reference run; None without one, and where this run is that one."""
        if self.run.name == paths.REFERENCE:
            return None
        committed = Run.of_reference().analysis
        return None if committed.means.empty else committed

    def query(self, sql: str) -> pd.DataFrame:
        """Return what an SQL statement over the profile's ``observations`` gives."""
        with self.run.connect() as connection:
            frame: pd.DataFrame = connection.execute(sql).df()
            return frame

    @cached_property
    def t_tests(self) -> pd.DataFrame:
        """The t-tests of all claims, as `benchbook.analysis.t_tests.t_tests` returns them."""
        return t_tests(self.analysis)

    def draw(self) -> None:
        """Draw every figure, set every table and write the t-tests."""
        exhibits.draw_all(self.analysis, self.folder, self.run.name)
        atomic.write(self.folder / T_TESTS, to_csv(self.t_tests))

    def of(self, study: str) -> list[grid.Cell]:
        """Return one study's cells."""
        return [cell for cell in self.cells if cell.study == study]


def merge(profile: str) -> Merged:
    """Return the cells of a profile with what they measured; of `paths.REFERENCE` those of the committed run's profile.

    Raises
    ------
    benchbook.inputs.InputError
        When a grid is wrong or has no such profile.
    FileNotFoundError
        When there is no committed run and it is asked for.
    """
    folder = paths.figures(profile)
    if profile == paths.REFERENCE:
        run, profile = Run.of_reference(), reference.profile()
        return Merged(profile, _as_it_ran(grid.plan(studies.SLUGS, profile).cells, run.means), run, folder)
    plan = grid.plan(studies.SLUGS, profile)
    run = Run.of_results(profile, grid.keys(plan.cells))
    return Merged(profile, plan.cells, run, folder, plan.skipped)


def _as_it_ran(cells: list[grid.Cell], means: pd.DataFrame) -> list[grid.Cell]:
    """Return a plan's cells, those that a run has as done, whatever was found or has run on this machine."""
    ran = []
    for row in means.drop_duplicates(["cell_id", "block"]).to_dict("records"):
        slug, study = str(row["study"]), studies.load(row["study"])
        parameters = study.Parameters.model_validate(study.Parameters.read_levels(row))
        product, topology = study.deployment(parameters)
        ran.append(grid.Cell(slug, parameters, row["cell_id"], row["block"], 0, product, topology, None, "done"))
    # A plan lacks what cannot be had here, though the run had it, and has once what several hosts ran.
    done = {(cell.kind, cell.block) for cell in ran}
    return [*(replace(cell, state="todo") for cell in cells if (cell.kind, cell.block) not in done), *ran]


def ran(merged: Merged) -> pd.DataFrame:
    """Return how many cells of each study are done, failed, skipped and not run, and how many values they gave."""
    counts = Counter[tuple[str, str]]((cell.study, cell.state) for cell in merged.cells)
    blocks = merged.means.groupby("study")["block"].nunique()
    values = merged.query("SELECT study, count(*) AS many FROM observations GROUP BY study").set_index("study")["many"]
    rows = [
        {
            "Study": study,
            "Cells": sum(counts[study, state] for state in STATES),
            **{name.capitalize(): counts[study, state] for state, name in STATES.items()},
            "Blocks": int(blocks.get(study, 0)),
            "Values": int(values.get(study, 0)),
        }
        for study in studies.SLUGS
    ]
    return pd.DataFrame(rows)


def noise(merged: Merged) -> pd.DataFrame:
    """Return the load of other programs beside each finished cell, in processors, and whether the cell is noisy."""
    return merged.query(
        "SELECT study, cell_id, block, any_value(background_load) AS load, "
        "coalesce(bool_or(noisy), false) AS noisy FROM observations GROUP BY ALL ORDER BY ALL"
    )


def unfinished(merged: Merged) -> pd.DataFrame:
    """Return what is not done: a row for the cells of a study that one reason keeps, how many and which."""
    sql = "SELECT cell_id, block, any_value(reason) AS reason FROM all_observations WHERE state <> 'done' GROUP BY ALL"
    reasons = {(row.cell_id, row.block): str(row.reason) for row in each(merged.query(sql))}
    lost = set() if merged.run.name == paths.REFERENCE else results.lost()
    alike: dict[tuple[str, str, str], list[grid.Cell]] = {}
    for cell in merged.cells:
        if cell.state != "done":
            never = DAMAGED if cell.key in lost else "not run yet"
            why = reasons.get((cell.identity, cell.block)) or cell.missing or never
            alike.setdefault((cell.study, STATES[cell.state], why), []).append(cell)
    planned = {study: _levels(merged.of(study)) for study in studies.SLUGS}
    rows = []
    for (study, state, why), cells in alike.items():
        apart = [(name, levels) for name, levels in _levels(cells).items() if levels != planned[study][name]]
        which = "; ".join(f"{name}: {_listed(levels)}" for name, levels in apart) or "all"
        rows.append({"Study": study, "State": state, "Cells": len(cells), "Which": which, "Why": why})
    return pd.DataFrame(rows, columns=["Study", "State", "Cells", "Which", "Why"])


def left_out(merged: Merged) -> pd.DataFrame:
    """Return what the papers' grids have and this profile does not: levels, repetitions, blocks."""
    rows: list[dict[str, str]] = []
    for study in studies.SLUGS:
        of_profile = _levels(merged.of(study))
        of_paper = grid.levels(study, "paper")
        of_paper.pop("arm")
        for name, levels in of_paper.items():
            here, levels = of_profile.get(name, []), _sorted(levels)
            if name in COUNTS:
                absent = levels if max(here, default=0) < max(levels) else []
            else:
                absent = [level for level in levels if level not in here]
            if absent:
                rows.append({"Study": study, "Parameter": name, "Here": _listed(here), "Not here": _listed(absent)})
    return pd.DataFrame(rows, columns=["Study", "Parameter", "Here", "Not here"])


def _levels(cells: list[grid.Cell]) -> dict[str, list[Any]]:
    """Return the levels of each parameter, and of the number of blocks, sorted."""
    levels: dict[str, dict[str, Any]] = {}
    for cell in cells:
        for name, value in cell.parameters.model_dump().items():
            levels.setdefault(name, {})[json.dumps(value)] = value
    levels.pop("arm", None)
    ordered = {name: _sorted(values.values()) for name, values in levels.items()}
    return ordered | {"blocks": [len({cell.block for cell in cells})]}


def _sorted(levels: Iterable[Any]) -> list[Any]:
    return sorted(levels, key=lambda level: (str(type(level)), level))


def _listed(levels: list[Any]) -> str:
    return ", ".join(f"{level:,}" if type(level) is int else str(level) for level in levels) or "none"


def servers(merged: Merged) -> pd.DataFrame:
    """Return the settings that each product's primary ran with, a row a product and number of nodes."""
    rows: dict[tuple[str, int, str], None] = {}
    for environment in environments(merged.means):
        ran_on = environment.get("servers") or {}
        if nodes := ran_on.get("nodes"):
            primary = ran_on.get("settings", {}).get("primary", {})
            (flat,) = pd.json_normalize([primary]).to_dict("records") if primary else ({},)
            known = {str(name): value for name, value in sorted(flat.items()) if value is not None}
            settings = [f"{name} = {value}" for name, value in known.items() if name.rpartition(".")[2] not in _PLACES]
            rows[ran_on["product"], len(nodes), ", ".join(settings)] = None
    return pd.DataFrame(sorted(rows), columns=["Product", "Nodes", "Settings"])


def machine(merged: Merged) -> pd.DataFrame:
    """Return what was measured on: a row a fact."""
    machines = environments(merged.means)
    as_written = [json.loads(text) for text in merged.means["environment"].dropna().unique()]
    rates = [environment["fsyncs_per_s"] for environment in as_written if environment.get("fsyncs_per_s")]
    facts = {name: distinct(machines, key) for key, name in FACTS.items()}
    facts["Memory"] = memory(machines)
    facts |= {name[0].upper() + name[1:]: text for name, text in software(merged.means).items()}
    facts["Forced writes a second"] = f"{number(min(rates))} to {number(max(rates))}" if rates else ""
    installed = [environment.get("libraries", {}) for environment in machines]
    libraries = {f"{name} {version}" for versions in installed for name, version in versions.items()}
    facts["Libraries"] = ", ".join(sorted(libraries))
    measured = span(merged.means)
    facts["Measured"] = " to ".join(f"{moment:%Y-%m-%d %H:%M}" for moment in measured) + " UTC" if measured else ""
    return pd.DataFrame([(name, text) for name, text in facts.items() if text], columns=["This machine", "Fact"])


FACTS: Final = {
    "host": "Name",
    "cpu": "Processor",
    "cores_usable": "Processors usable",
    "governor": "Frequency governor",
    "kernel": "System",
    "clock": "Clock source",
    "file_system": "Data on",
}
"""Keys of a cell's environment, in print."""
