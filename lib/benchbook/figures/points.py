"""What a figure draws, one row a mark: a printed number, or the mean of this machine's blocks with its interval."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from benchbook import stats
from benchbook.evidence import Evidence
from benchbook.figures.caveats import caveats, stood_in

COLUMNS: Final = (
    "panel",  # the part of the figure
    "level",  # the row of a dot plot, the x of a line plot
    "series",
    "source",  # published or here
    "value",  # NaN where the paper prints only a bound: low..high is then a band
    "low",
    "high",
    "blocks",  # 0 for a printed number
    "unit",
    "censored",
    "stand_in",
    "caveat",  # what must be said of the server or its adapter
    "printed",  # a printed number as it stands in the paper
)
"""Columns of the points of every figure, and of its CSV."""

_MARK: Final = ["cell_id", "block", "operation", "role", "format", "codec"]


Row = Any
"""A row as a named tuple, whose fields' types pandas cannot tell."""


def empty() -> pd.DataFrame:
    """Return no points."""
    return pd.DataFrame(columns=list(COLUMNS))


def each(table: pd.DataFrame) -> Iterator[Row]:
    """Yield a frame's rows."""
    yield from table.itertuples()


def of_study(evidence: Evidence, study: str) -> pd.DataFrame:
    """Return the block means of one study."""
    return evidence.means[evidence.means["study"] == study]


def paper_rows(evidence: Evidence, study: str, source: str) -> pd.DataFrame:
    """Return the numbers that one table, figure or section of a paper prints."""
    return evidence.published[(evidence.published["study"] == study) & (evidence.published["source"] == source)]


def wide(evidence: Evidence, study: str) -> pd.DataFrame:
    """Return a study's block means with one row a cell, block, operation and role, and one column a metric.

    Metrics are those stored and those derived from them. The cells' parameters become columns too; the second arms of
    A/A pairs are left out, being controls. A censored wait stands at the time waited, and is marked.
    """
    means = of_study(evidence, study)
    means = means[means["arm"].fillna("a") == "a"]
    if means.empty:
        return pd.DataFrame()
    means = means.fillna({"format": "", "codec": ""})
    marks = means.groupby(_MARK)
    known = marks.first().drop(columns=["metric", "value", "unit", "source"])
    table = known.assign(censored=marks["censored"].any()).join(
        means.pivot(index=_MARK, columns="metric", values="at_least")
    )
    table = table.reset_index()
    parameters = _parameters(table["parameters"])
    for name in parameters.columns.intersection(table.columns):  # what a row says of itself stands
        parameters[name] = table[name].where(table[name].notna() & (table[name] != ""), parameters[name])
    return table.drop(columns=parameters.columns, errors="ignore").join(parameters)


def _parameters(texts: "pd.Series[str]") -> pd.DataFrame:
    parsed = {text: json.loads(text or "{}") for text in texts.fillna("{}").unique()}
    return pd.DataFrame([parsed[text] for text in texts.fillna("{}")], index=texts.index)


def chosen(table: pd.DataFrame, preferred: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """Keep one level of each factor that a figure does not show: the paper's where it ran, else one that did.

    Returns
    -------
    tuple
        The rows kept, and a note for every factor whose level is not the paper's.
    """
    notes = []
    for factor, wanted in preferred.items():
        if table.empty or factor not in table:
            continue
        present = table[factor].dropna().unique()
        level = wanted if wanted in present or not len(present) else sorted(present, key=str)[0]
        if level != wanted:
            notes.append(f"{factor} = {level} here, {wanted} in the paper's way")
        table = table[table[factor].isna() | (table[factor] == level)]
    return table, notes


def here(
    table: pd.DataFrame,
    value: "pd.Series[float] | None",
    *,
    unit: str,
    over: str | None = None,
    **places: "pd.Series[Any] | str",
) -> pd.DataFrame:
    """Return the points of this machine: mean of the blocks' means and its 95 % t interval.

    Parameters
    ----------
    table
        Rows from `wide`, already `chosen`.
    value
        The drawn quantity of each row.
    unit
        Its unit.
    over
        A factor whose levels are averaged in each block with equal weight, in blocks that have them all.
    places
        ``panel``, ``level`` and ``series`` of each row, or one for all.
    """
    columns = ["panel", "level", "series"]
    if table.empty or value is None:
        return empty()
    marked = table.assign(source="here", drawn=value, **{name: places.get(name, "") for name in columns})
    marked = marked.dropna(subset=["drawn", "level"])
    if marked.empty:
        return empty()
    groups = marked.groupby(columns, sort=False)
    rows = [_point(dict(zip(columns, key, strict=True)), group, unit, over) for key, group in groups]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _point(place: dict[str, Any], group: pd.DataFrame, unit: str, over: str | None) -> dict[str, Any]:
    levels = group.pivot_table(index="block", columns=over or "source", values="drawn")
    means = levels.dropna().mean(axis=1).to_numpy(dtype=float)
    low, high = np.nan, np.nan
    if len(means) > 1:
        interval = stats.mean_interval(means)
        low, high = interval.low, interval.high
    stand_in = bool(stood_in(group).any()) if "stand_in" in group else False
    return place | {
        "source": "here",
        "value": float(means.mean()),
        "low": low,
        "high": high,
        "blocks": len(means),
        "unit": unit,
        "censored": bool(group["censored"].any()),
        "stand_in": stand_in,
        "caveat": "; ".join(caveats(group).values()),
        "printed": "",
    }


def printed(rows: pd.DataFrame, *, unit: str, scale: float = 1.0, **places: "pd.Series[Any] | str") -> pd.DataFrame:
    """Return the points of a paper from its published rows; ``places`` as in `here`."""
    if rows.empty:
        return empty()
    points = rows[["value"]].astype(float) * scale
    return points.assign(
        **{name: places.get(name, "") for name in ("panel", "level", "series")},
        source="published",
        low=np.nan,
        high=np.nan,
        blocks=0,
        unit=unit,
        censored=False,
        stand_in=False,
        caveat="",
        printed=rows["printed"].where(rows["note"].fillna("") == "", rows["printed"] + " *"),
    )[list(COLUMNS)].reset_index(drop=True)


def joined(*parts: pd.DataFrame) -> pd.DataFrame:
    """Return all points as one frame, printed ones first."""
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else empty()


def remarks(points: pd.DataFrame, levels: Mapping[str, Any]) -> list[str]:
    """Say what a figure's reader must know: blocks, missing levels, censored values, stand-ins.

    Parameters
    ----------
    points
        What is drawn.
    levels
        The paper's levels, by their names in print, each the ``panel`` or the ``level`` of its points.
    """
    mine = points[points["source"] == "here"]
    if mine.empty:
        return ["not run in this profile: nothing of this machine to show"]
    blocks = sorted({int(count) for count in mine["blocks"]})
    count = " to ".join(f"{one}" for one in dict.fromkeys((blocks[0], blocks[-1])))
    said = f"here: {count} block{'' if blocks == [1] else 's'}" + (", so no interval" if blocks == [1] else "")
    present = {*mine["level"], *mine["panel"]}
    absent = [name for name, level in levels.items() if level not in present]
    return [said, *([f"not run in this profile: {'; '.join(absent)}"] if absent else []), *_warnings(mine)]


def _warnings(mine: pd.DataFrame) -> list[str]:
    notes = []
    if mine["censored"].any():
        notes.append("an arrow marks a wait that ran out: the true value is larger")
    return notes + sorted(set(mine["caveat"]) - {""})
