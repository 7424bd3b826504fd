"""Study `tcp`: Tables 6 to 8 in the paper's form, each over all trials."""

import math
from typing import Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import stacks
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import printed
from benchbook.figures.tables import NOT_PRINTED, NOT_RUN, misprints, number, table
from benchbook.figures.tcp import FORMATS, MEASURES, MILLION, TRIALS, by_stack, rows
from benchbook.papers.tcp import students


def overview(evidence: Evidence) -> Exhibit:
    """Set Table 6: the results at a glance, ranges over the trials that ran."""
    paper = rows(evidence, "Table 6")
    paper = paper[~paper["column"].str.endswith(" to")]  # a range is printed once
    theirs = printed(paper, unit="", level=paper["row"], panel=paper["column"].str.split().str[0])
    levels = list(dict.fromkeys(paper["row"]))
    every, notes = by_stack(evidence, (MILLION, *TRIALS))
    points, sources = stacks.sources(theirs, {stack: _glances(some, levels) for stack, some in every.items()})
    frame = table(points, corner="Scenario and measure", rows=levels, columns=FORMATS, sources=sources)
    return Exhibit("tcp, Table 6: the results at a glance", frame, (*notes, *misprints(paper)))


def _glances(every: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return one stack's column of Table 6 for each format."""
    said = [
        {"level": level, "panel": kind, "printed": text}
        for level in levels
        for kind in FORMATS
        if (text := _glance(every, level, kind))
    ]
    return pd.DataFrame(said, columns=["level", "panel", "printed"])


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


def distributions(evidence: Evidence) -> Exhibit:
    """Set Table 7: the five trials of each measure as the samples of the paper's t-tests."""
    paper = rows(evidence, "Table 7")
    every, notes = by_stack(evidence, TRIALS)
    body: dict[str, list[str]] = {"Measure": list(MEASURES)}
    for kind in FORMATS:
        texts = paper[paper["column"].str.startswith(kind)].groupby("row")["printed"].agg("; ".join)
        body[f"{kind}, published"] = ["{" + texts.get(measure, "") + "}" for measure in MEASURES]
        for head, some in zip(stacks.labels(every), every.values(), strict=True):
            body[f"{kind}, {head}"] = [_sample(some, measure, kind) for measure in MEASURES]
    title = "tcp, Table 7: the samples of the t-tests, a value a trial (ms, %)"
    return Exhibit(title, pd.DataFrame(body), (*notes, *misprints(paper)))


def _sample(every: pd.DataFrame, measure: str, kind: str) -> str:
    if every.empty:
        return NOT_RUN
    some = every[(every["Format"] == kind) & (every["measure"] == measure) & every["n"].isin(list(TRIALS))]
    means = some.groupby("n")["drawn"].mean().dropna().sort_index()
    return "{" + "; ".join(number(mean) for mean in means) + "}" if len(means) else NOT_RUN


def p_values(evidence: Evidence) -> Exhibit:
    """Set Table 8: Student's tests as printed, recomputed from the printed samples, and repeated on new data."""
    theirs = students.as_published()
    columns = {"p printed": theirs.drop_duplicates("measure").set_index("measure")["printed"]}
    for reading, some in theirs.groupby("reading", sort=False):
        columns[f"p recomputed ({reading})"] = some.set_index("measure")["p"].map(p_value)
    every, notes = by_stack(evidence, TRIALS)
    said = []
    for head, some in zip(stacks.labels(every), every.values(), strict=True):
        mine = _tests(evidence, some)
        columns[f"p, {head}"] = mine["p"].map(p_value).reindex(list(MEASURES)).fillna(NOT_RUN)
        said += [f"{head}: n = {sizes}, a value a size (mean of its blocks)" for sizes in mine["levels"].unique()]
    frame = pd.DataFrame(columns).reindex(list(MEASURES)).rename_axis("Measure").reset_index().fillna(NOT_PRINTED)
    why = "the test takes sizes that differ on purpose for one sample: it is repeated, not recommended"
    title = "tcp, Table 8: Student's unpaired t-tests, JSON against XML"
    return Exhibit(title, frame, (*said, *notes, why, *misprints(rows(evidence, "Table 8"))))


def _tests(evidence: Evidence, some: pd.DataFrame) -> pd.DataFrame:
    """Return the tests of those cells alone which the other tables show."""
    shown: set[str] = set(some["cell_id"]) if len(some) else set()
    tests = students.here(evidence.means[evidence.means["cell_id"].isin(shown)])
    return tests.drop_duplicates("measure").set_index("measure")


def p_value(p: float) -> str:
    """Return a p-value as it is read: two digits, and powers of ten below a ten-thousandth."""
    return "no test" if math.isnan(p) else f"{p:.2g}"


TABLES: Final[dict[str, Maker]] = {
    "tcp_table6_overview": overview,
    "tcp_table7_samples": distributions,
    "tcp_table8_p_values": p_values,
}
