"""Study `tcp`: Tables 1 to 8 in the paper's form."""

import math
from functools import partial
from typing import Any, Final

import pandas as pd

from benchbook import evidence
from benchbook.figures import stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import empty, here, joined, printed, remarks
from benchbook.figures.tables import NOT_PRINTED, NOT_RUN, misprints, number, table
from benchbook.figures.tcp import CODECS, MEASURES, MILLION, SHARES, TRIALS, cells, ran, rows

TIMES: Final = ("Number Of Objects", "Total Time", "Average Time")
FORMATS: Final = ("JSON", "XML")


def _said(points: pd.DataFrame, notes: list[str], *sizes: int) -> list[str]:
    mine = points[points["source"] == "here"]
    ran = set(mine["n"]) if "n" in mine else set()
    absent = [f"n = {n:,}" for n in sizes if n not in ran]
    if len(absent) == len(sizes):
        return [f"not run in this profile: {'; '.join(absent)}"]
    return [*remarks(points, {}), *([f"not run in this profile: {'; '.join(absent)}"] if absent else []), *notes]


def _stacks(
    observations: pd.DataFrame, sizes: tuple[int, ...], measures: tuple[str, ...], kind: str | None, **places: str
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's points, of one format or of both, as `_mine` does, and what must be said of them."""
    mine, said = {}, []
    for stack in ran(observations):
        every, notes = cells(observations, stack)
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


def timing(observations: pd.DataFrame, published: pd.DataFrame, *, scenario: int) -> Exhibit:
    """Set Table 1 or 3: number of objects, total and average time."""
    source, sizes, prefix = (
        ("Table 1", (MILLION,), "") if scenario == 1 else ("Table 3", tuple(TRIALS), "Trial {trial} ")
    )
    paper = rows(published, source)
    places = {"level": prefix + "{row[measure]}", "panel": "{row[Format]}"}
    theirs = printed(paper, unit="", level=paper["row"], panel=paper["column"])
    mine, said = _stacks(observations, sizes, TIMES[1:], None, **places)
    points, sources = stacks.sources(theirs, {stack: joined(some, _counts(some)) for stack, some in mine.items()})
    trials = TRIALS.values() if scenario == 2 else (0,)
    levels = [prefix.format(trial=trial) + measure for trial in trials for measure in TIMES]
    frame = table(points, corner="Measure (times in ms)", rows=levels, columns=FORMATS, sources=sources)
    title = f"tcp, {source}: scenario {scenario}, time on the server's clock, ms"
    return Exhibit(title, frame, (*_said(joined(*mine.values()), said, *sizes), *misprints(paper)))


def resources(observations: pd.DataFrame, published: pd.DataFrame, *, number: int) -> Exhibit:
    """Set Table 2, 4 or 5: the server machine's CPU and memory."""
    paper = rows(published, f"Table {number}")
    sizes: tuple[int, ...]
    levels: tuple[str, ...]
    kind = {4: "JSON", 5: "XML"}.get(number)
    if kind is None:
        sizes, level, levels, about = (MILLION,), "{row[Format]}", FORMATS, "scenario 1"
    else:
        sizes, level, about = tuple(TRIALS), "Trial {trial}", f"scenario 2, {kind}"
        levels = tuple(f"Trial {trial}" for trial in TRIALS.values())
    mine, said = _stacks(observations, sizes, tuple(SHARES), kind, level=level, panel="{row[measure]}")
    points, sources = stacks.sources(printed(paper, unit="%", level=paper["row"], panel=paper["column"]), mine)
    frame = table(
        points, corner="Format" if number == 2 else "Trial", rows=levels, columns=tuple(SHARES), sources=sources
    )
    title = f"tcp, Table {number}: {about}, the server machine's CPU and memory, %"
    return Exhibit(title, frame, (*_said(joined(*mine.values()), said, *sizes), *misprints(paper)))


def overview(observations: pd.DataFrame, published: pd.DataFrame) -> Exhibit:
    """Set Table 6: the results at a glance, ranges over the trials that ran."""
    paper = rows(published, "Table 6")
    paper = paper[~paper["column"].str.endswith(" to")]  # a range is printed once
    every, notes = cells(observations)
    theirs = printed(paper, unit="", level=paper["row"], panel=paper["column"].str.split().str[0])
    levels = list(dict.fromkeys(paper["row"]))
    said = [
        {"level": level, "panel": kind, "source": "here", "printed": text, "n": 0}
        for level in levels
        for kind in FORMATS
        if (text := _glance(every, level, kind))
    ]
    frame = table(
        pd.concat([theirs, pd.DataFrame(said, columns=["level", "panel", "source", "printed", "n"])]),
        corner="Scenario and measure",
        rows=levels,
        columns=FORMATS,
    )
    absent = [f"n = {n:,}" for n in (MILLION, *TRIALS) if every.empty or n not in set(every["n"])]
    missing = [f"not run in this profile: {'; '.join(absent)}"] if absent else []
    return Exhibit("tcp, Table 6: the results at a glance", frame, (*missing, *notes, *misprints(paper)))


def _glance(every: pd.DataFrame, level: str, kind: str) -> str:
    """Return one cell of Table 6 from this machine's block means: a mean, or the range of the trials' means."""
    if every.empty:
        return ""
    scenario, measure = level.removeprefix("Scenario ").split(" ", 1)
    name = next(one for one in MEASURES if measure.startswith(one))
    sizes = [MILLION] if scenario == "1" else [100_000] if "100,000" in measure else list(TRIALS)
    some = every[(every["Format"] == kind) & (every["measure"] == name) & every["n"].isin(sizes)]
    means = some.groupby("n")["drawn"].mean().dropna()
    if means.empty:
        return ""
    low, high, unit = number(means.min()), number(means.max()), some["unit"].iloc[0]
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def distributions(observations: pd.DataFrame, published: pd.DataFrame) -> Exhibit:
    """Set Table 7: the five trials of each measure as the samples of the paper's t-tests."""
    paper = rows(published, "Table 7")
    every, notes = cells(observations)
    body: dict[str, list[str]] = {"Measure": list(MEASURES)}
    for kind in FORMATS:
        texts = paper[paper["column"].str.startswith(kind)].groupby("row")["printed"].agg("; ".join)
        body[f"{kind}, published"] = ["{" + texts.get(measure, "") + "}" for measure in MEASURES]
        body[f"{kind}, here"] = [_sample(every, measure, kind) for measure in MEASURES]
    absent = [f"n = {n:,}" for n in TRIALS if every.empty or n not in set(every["n"])]
    missing = [f"not run in this profile: {'; '.join(absent)}"] if absent else []
    title = "tcp, Table 7: the samples of the t-tests, a value a trial (ms, %)"
    return Exhibit(title, pd.DataFrame(body), (*missing, *notes, *misprints(paper)))


def _sample(every: pd.DataFrame, measure: str, kind: str) -> str:
    if every.empty:
        return NOT_RUN
    some = every[(every["Format"] == kind) & (every["measure"] == measure) & every["n"].isin(list(TRIALS))]
    means = some.groupby("n")["drawn"].mean().dropna().sort_index()
    return "{" + "; ".join(number(mean) for mean in means) + "}" if len(means) else NOT_RUN


def p_values(observations: pd.DataFrame, published: pd.DataFrame) -> Exhibit:
    """Set Table 8: Student's tests as printed, recomputed from the printed samples, and repeated on new data."""
    theirs = evidence.student_as_published()
    mine = evidence.student_here(observations[observations["study"] == "tcp"])
    main = f"{CODECS['xml']} against {CODECS['json']}"
    mine = mine[mine["factors"].str.startswith(main)].drop_duplicates("measure").set_index("measure")
    columns = {"p printed": theirs.drop_duplicates("measure").set_index("measure")["printed"]}
    for reading, some in theirs.groupby("reading", sort=False):
        columns[f"p recomputed ({reading})"] = some.set_index("measure")["p"].map(p_value)
    columns["p here"] = mine["p"].map(p_value)
    frame = pd.DataFrame(columns).reindex(list(MEASURES)).rename_axis("Measure").reset_index()
    frame = frame.fillna({"p here": NOT_RUN}).fillna(NOT_PRINTED)
    sizes = list(mine["levels"].unique())
    said = f"here: n = {sizes[0]}, a value a size (mean of its blocks)" if sizes else "not run in this profile"
    why = "the test takes sizes that differ on purpose for one sample: it is repeated, not recommended"
    title = "tcp, Table 8: Student's unpaired t-tests, JSON against XML"
    return Exhibit(title, frame, (said, why, *misprints(rows(published, "Table 8"))))


def p_value(p: float) -> str:
    """Return a p-value as it is read: two digits, and powers of ten below a ten-thousandth."""
    return "no test" if math.isnan(p) else f"{p:.2g}"


TABLES: Final[dict[str, Maker]] = {
    "tcp_table1_scenario1_time": partial(timing, scenario=1),
    "tcp_table2_scenario1_resources": partial(resources, number=2),
    "tcp_table3_scenario2_time": partial(timing, scenario=2),
    "tcp_table4_json_resources": partial(resources, number=4),
    "tcp_table5_xml_resources": partial(resources, number=5),
    "tcp_table6_overview": overview,
    "tcp_table7_samples": distributions,
    "tcp_table8_p_values": p_values,
}
