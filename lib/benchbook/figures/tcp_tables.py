"""Study `tcp`: Tables 1 to 5 in the paper's form."""

from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import empty, here, joined, printed, remarks
from benchbook.figures.tables import misprints, table
from benchbook.figures.tcp import FORMATS, MILLION, SHARES, TRIALS, cells, ran, rows

TIMES: Final = ("Number Of Objects", "Total Time", "Average Time")


def _said(points: pd.DataFrame, notes: list[str], *sizes: int) -> list[str]:
    mine = points[points["source"] == "here"]
    ran = set(mine["n"]) if "n" in mine else set()
    absent = [f"n = {n:,}" for n in sizes if n not in ran]
    if len(absent) == len(sizes):
        return [f"not run in this profile: {'; '.join(absent)}"]
    return [*remarks(points, {}), *([f"not run in this profile: {'; '.join(absent)}"] if absent else []), *notes]


def _stacks(
    evidence: Evidence, sizes: tuple[int, ...], measures: tuple[str, ...], kind: str | None, **places: str
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's points, of one format or of both, as `_mine` does, and what must be said of them."""
    mine, said = {}, []
    for stack in ran(evidence):
        every, notes = cells(evidence, stack)
        some = every[every["Format"] == kind] if kind and len(every) else every
        mine[stack] = _mine(some, sizes, measures, **places)
        said += notes
    return mine, said


def _mine(cells_: pd.DataFrame, sizes: tuple[int, ...], measures: tuple[str, ...], **places: str) -> pd.DataFrame:
    """Return this machine's points at those sizes; ``places`` are formats of ``{row.Format}``, ``{row.measure}``."""
    if cells_.empty:
        return empty()
    kept = cells_[cells_["n"].isin(sizes) & cells_["measure"].isin(measures)]
    parts = [
        here(some, some["drawn"], unit=str(some["unit"].iloc[0]), **_places(some.iloc[0], places)).assign(
            n=int(some["n"].iloc[0])
        )
        for _, some in kept.groupby(["n", "Format", "measure"], sort=False)
    ]
    return joined(*parts)


def _places(row: "pd.Series[Any]", places: dict[str, str]) -> dict[str, str]:
    trial = TRIALS.get(int(row["n"]), 0)
    return {name: text.format(row=row, trial=trial) for name, text in places.items()}


def _counts(mine: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the number of objects, which the paper's tables print too."""
    counts = mine[mine["level"].astype(str).str.endswith("Total Time")].copy()
    level = counts["level"].str.replace("Total Time", "Number Of Objects")
    return counts.assign(level=level, unit="objects", printed=counts["n"].map("{:d}".format) if len(counts) else "")


def timing(evidence: Evidence, *, scenario: int) -> Exhibit:
    """Set Table 1 or 3: number of objects, total and average time."""
    source, sizes, prefix = (
        ("Table 1", (MILLION,), "") if scenario == 1 else ("Table 3", tuple(TRIALS), "Trial {trial} ")
    )
    paper = rows(evidence, source)
    places = {"level": prefix + "{row[measure]}", "panel": "{row[Format]}"}
    theirs = printed(paper, unit="", level=paper["row"], panel=paper["column"])
    mine, said = _stacks(evidence, sizes, TIMES[1:], None, **places)
    points, sources = stacks.sources(theirs, {stack: joined(some, _counts(some)) for stack, some in mine.items()})
    trials = TRIALS.values() if scenario == 2 else (0,)
    levels = [prefix.format(trial=trial) + measure for trial in trials for measure in TIMES]
    frame = table(points, corner="Measure (times in ms)", rows=levels, columns=FORMATS, sources=sources)
    title = f"tcp, {source}: scenario {scenario}, time on the server's clock, ms"
    return Exhibit(title, frame, (*_said(joined(*mine.values()), said, *sizes), *misprints(paper)))


def resources(evidence: Evidence, *, number: int) -> Exhibit:
    """Set Table 2, 4 or 5: the server machine's CPU and memory."""
    paper = rows(evidence, f"Table {number}")
    sizes: tuple[int, ...]
    levels: tuple[str, ...]
    kind = {4: "JSON", 5: "XML"}.get(number)
    if kind is None:
        sizes, level, levels, about = (MILLION,), "{row[Format]}", FORMATS, "scenario 1"
    else:
        sizes, level, about = tuple(TRIALS), "Trial {trial}", f"scenario 2, {kind}"
        levels = tuple(f"Trial {trial}" for trial in TRIALS.values())
    mine, said = _stacks(evidence, sizes, tuple(SHARES), kind, level=level, panel="{row[measure]}")
    points, sources = stacks.sources(printed(paper, unit="%", level=paper["row"], panel=paper["column"]), mine)
    frame = table(
        points, corner="Format" if number == 2 else "Trial", rows=levels, columns=tuple(SHARES), sources=sources
    )
    title = f"tcp, Table {number}: {about}, the server machine's CPU and memory, %"
    return Exhibit(title, frame, (*_said(joined(*mine.values()), said, *sizes), *misprints(paper)))


TABLES: Final[dict[str, Maker]] = {
    "tcp_table1_scenario1_time": partial(timing, scenario=1),
    "tcp_table2_scenario1_resources": partial(resources, number=2),
    "tcp_table3_scenario2_time": partial(timing, scenario=2),
    "tcp_table4_json_resources": partial(resources, number=4),
    "tcp_table5_xml_resources": partial(resources, number=5),
}
