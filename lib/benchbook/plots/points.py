"""What figures draw and tables set, one row a mark: a printed number, or the mean of this machine's blocks.

Tables have the papers' form: every printed number beside this machine's, which carries its interval.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from benchbook import studies
from benchbook.analysis import Analysis
from benchbook.analysis.block_means import CHANGES, COUNTED
from benchbook.analysis.intervals import MIN_BLOCKS, Interval, mean_interval, positive_interval
from benchbook.analysis.sides import IN_TURN
from benchbook.digits import NOT_PRINTED, interval, plural, rounded
from benchbook.plots.names import STACKS, caveats, mark

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
    "timed_out",
    "caveat",  # what must be said of the server or its adapter
    "printed",  # a printed number as it stands in the paper
)
"""Columns of the points of every figure, and of its CSV."""

Way: TypeAlias = Mapping[str, str | int]
"""The level of each factor that a figure does not show."""

SOURCES: Final = ("published", "here")
NOT_RUN: Final = "not run"
"""What stands in a table's cell for what this machine has not."""

_PLACE: Final = ["panel", "level", "series"]
OF_A_BLOCK: Final = ("number", "machine_day", "noisy", "timed_out")
"""Columns that `here` reads, besides a point's value and place."""
_UNSAID: Final[dict[str, Any]] = {
    **{"panel": "", "series": "", "blocks": 0},
    **{"timed_out": False, "caveat": "", "printed": ""},
}


FrameRow: TypeAlias = Any
"""A frame's row, as `each` yields it: a named tuple whose fields' types pandas cannot tell."""

Column: TypeAlias = "pd.Series[Any] | str"
"""What each row has, or what all have."""


def each(table: pd.DataFrame) -> Iterator[FrameRow]:
    """Yield a frame's rows as named tuples."""
    yield from table.itertuples()


def where(table: pd.DataFrame, **levels: object) -> pd.DataFrame:
    """Return the rows in which each column has that level, or one of those levels."""
    for name, level in levels.items():
        table = table[table[name].isin(level if isinstance(level, list | tuple) else [level])]
    return table


def paper(analysis: Analysis, study: str, source: str) -> pd.DataFrame:
    """Return the numbers that one table, figure or section of a paper prints."""
    return where(analysis.published, study=study, source=source)


def wide(analysis: Analysis, study: str) -> pd.DataFrame:
    """Return a study's block means as `benchbook.analysis.sides.Measured.table`: not to be changed, figures share it.

    Metrics are those stored and those derived from them, of arm a.
    """
    if study in analysis.measured:
        return analysis.measured[study].table
    columns = [*analysis.means, "number", *studies.load(study).Parameters.model_fields]
    return pd.DataFrame(columns=list(dict.fromkeys(columns)))


def chosen(table: pd.DataFrame, preferred: Way) -> tuple[pd.DataFrame, list[str]]:
    """Keep one level of each factor that a figure does not show: the paper's where it ran, else one that did.

    With a note for every factor whose level is not the paper's.
    """
    notes = []
    for factor, wanted in preferred.items():
        if table.empty or factor not in table:
            continue
        present = table[factor].dropna().unique()
        level = wanted if wanted in present or not len(present) else sorted(present, key=str)[0]
        if level != wanted:
            name = f"{factor.removeprefix('cell_')} in turn" if factor in IN_TURN else factor
            notes.append(f"here {name} = {level}, in the paper {wanted}")
        table = table[table[factor].isna() | (table[factor] == level)]
    return table, notes


def here(
    table: pd.DataFrame,
    metric: str,
    *,
    unit: str,
    scale: float = 1.0,
    over: str | None = None,
    **places: Column,
) -> pd.DataFrame:
    """Return the points of this machine: geometric mean of the blocks' means with its 99 % interval.

    Of `CHANGES`, which can be negative, it is the arithmetic mean. Blocks that other
    programs disturbed are left out.

    Parameters
    ----------
    table
        Rows from `wide`, already `chosen`.
    metric
        The column that is drawn; it may be missing.
    unit, scale
        The unit drawn, and how many of it one of the column's is.
    over
        A factor whose levels are averaged in each block with equal weight, in blocks that have them all.
    places
        ``panel``, ``level`` and ``series`` of each row, or one for all.
    """
    if metric not in table:
        return joined()
    asked = [name for name in (*OF_A_BLOCK, over) if name in table]
    places = {name: places.get(name, "") for name in _PLACE}
    rows = table[asked].assign(drawn=table[metric] * scale, **places).dropna(subset=["drawn", "level"])
    if metric not in COUNTED:
        rows = rows[~rows["noisy"].fillna(False).astype(bool)]
    make_interval = mean_interval if metric in CHANGES else positive_interval
    ran = table.reindex(columns=["database"])
    caveat_of = caveats(ran)
    points = []
    # what is grouped has no texts: each group copies its rows, and of texts that takes longest
    for place, group in rows[["drawn", *asked]].groupby([rows[name] for name in _PLACE], sort=False):
        databases = ran.loc[group.index, "database"].unique()
        caveat = "; ".join(caveat_of[database] for database in sorted(caveat_of) if database in databases)
        about = dict(zip(_PLACE, place, strict=True))
        points.append({**about, **_point(group, over, make_interval), "unit": unit, "caveat": caveat})
    return pd.DataFrame(points, columns=list(COLUMNS))


def _point(group: pd.DataFrame, over: str | None, make_interval: Callable[..., Interval]) -> dict[str, object]:
    """Return the mean of some blocks with its interval."""
    blocks = group.groupby(["number", over] if over else "number")["drawn"].mean()
    if over:
        blocks = blocks.unstack(over).dropna().mean(axis=1)
    days = group.drop_duplicates("number").set_index("number")["machine_day"]
    found = make_interval(blocks.to_numpy(dtype=float), days[blocks.index].to_numpy())
    return {
        "source": "here",
        "value": found.estimate,
        "low": found.low,
        "high": found.high,
        "blocks": found.blocks,
        "timed_out": bool(group["timed_out"].any()),
        "printed": "",
    }


def printed(rows: pd.DataFrame, *, unit: str, **places: Column) -> pd.DataFrame:
    """Return the points of the paper, of rows as `benchbook.analysis.published` returns them; misprints get a star."""
    points = rows[["value"]].astype(float).assign(low=np.nan, high=np.nan, source="published", unit=unit)
    return points.assign(**_UNSAID | places | {"printed": starred(rows)})[list(COLUMNS)].reset_index(drop=True)


def starred(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return published numbers as printed, with a star behind each that has a note, as `misprints` lists them."""
    return rows["printed"].where(rows["note"].fillna("") == "", rows["printed"] + " *")


def framed(rows: Iterable[Mapping[str, object]], **about: object) -> pd.DataFrame:
    """Return points of which each row says what is its own, and `about` what all have; of the rest nothing is said."""
    points = pd.DataFrame([{**_UNSAID, **about, **row} for row in rows])
    return points.reindex(columns=[*dict.fromkeys([*COLUMNS, *points])])


def joined(*parts: pd.DataFrame) -> pd.DataFrame:
    """Return all points as one frame, in the order given."""
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=list(COLUMNS))


def remarks(points: pd.DataFrame, levels: Mapping[str, object]) -> list[str]:
    """Say what a figure's reader must know: blocks, missing levels, timed-out values.

    The paper's levels are given by their names in print, each the ``panel`` or the ``level`` of its points.
    """
    measured = points[points["source"] == "here"]
    if measured.empty:
        return ["not run in this profile: nothing of this machine to show"]
    present = {*measured["level"], *measured["panel"]}
    absent = [name for name, level in levels.items() if level not in present]
    sentences = [f"here: {counted(measured['blocks'])}", *not_run(absent)]
    sentences += ["an arrow marks a wait that ran out: the true value is larger"] if measured["timed_out"].any() else []
    return sentences + sorted(set(measured["caveat"]) - {""})


def counted(blocks: Iterable[float]) -> str:
    """Say of how many blocks values are, the fewest and the most, and how many an interval needs."""
    counts = [int(count) for count in blocks]
    fewest, most = min(counts), max(counts)
    text = plural(most, "block") if fewest == most else f"{fewest} to {most} blocks"
    return text + (f" (an interval needs {MIN_BLOCKS})" if fewest < MIN_BLOCKS else "")


def not_run(absent: Sequence[str]) -> list[str]:
    """Say what did not run; nothing when all did."""
    return [f"not run in this profile: {'; '.join(absent)}"] if absent else []


def not_run_of(analysis: Analysis) -> list[str]:
    """Say which studies did not run; nothing when all did."""
    missing = [study for study in studies.SLUGS if study not in set(analysis.means["study"])]
    return not_run([", ".join(missing)] if missing else [])


def ran(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each stack that ran, by its name in print; of Python none when nothing ran at all."""
    by_stack = {name: table[table["language"] == language] for language, name in STACKS.items()}
    return {name: rows for name, rows in by_stack.items() if len(rows)} or {STACKS["python"]: table}


def settled(
    table: pd.DataFrame, way: Way, own: Mapping[str, Way] | None = None
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Keep of each stack's rows one level of each factor not shown (`own`: a stack's), as `chosen` does."""
    kept, notes = {}, []
    for stack, rows in ran(table).items():
        kept[stack], stack_notes = chosen(rows, {**way, **(own or {}).get(stack, {})})
        notes += stack_notes if stack == STACKS["python"] else [f"{stack}: {note}" for note in stack_notes]
    return kept, notes


def side_by_side(
    published: pd.DataFrame, by_stack: Mapping[str, pd.DataFrame], panels: Sequence[str] = ("",)
) -> tuple[pd.DataFrame, list[str]]:
    """Return the points with a panel for each stack beside the next, the paper's in all of them; and the panels.

    Where Python alone ran, panels keep their names.
    """
    if list(by_stack) == [STACKS["python"]]:
        return joined(published, *by_stack.values()), list(panels)

    def named(panel: str, stack: str) -> str:
        return f"{panel}, {stack}" if panel else stack

    parts = [
        part.assign(panel=[named(panel, stack) for panel in part["panel"]])
        for stack, measured in by_stack.items()
        for part in (published, measured)
    ]
    return joined(*parts), [named(panel, stack) for panel in panels for stack in by_stack]


def headed(by_stack: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return each stack's part by what it is headed with in a table: ``here`` where Python alone ran."""
    alone = list(by_stack) == [STACKS["python"]]
    return {"here" if alone else f"{stack}, here": measured for stack, measured in by_stack.items()}


def by_source(published: pd.DataFrame, by_stack: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the points for a table, each stack's with a source of its own; and the sources."""
    heads = headed(by_stack)
    return joined(published, *(measured.assign(source=head) for head, measured in heads.items())), ["published", *heads]


def table(
    points: pd.DataFrame, *, corner: str, rows: Sequence[str], columns: Sequence[str], sources: Sequence[str] = SOURCES
) -> pd.DataFrame:
    """Return points as a table of text: a row a level, a column a source (published, here) of each panel.

    Rows are levels and columns are panels, in order; the corner is the first column's name.
    """
    cells = {(str(p.level), str(p.panel), str(p.source)): _text(p) for p in each(points)}
    body = {
        f"{column}, {source}": [
            cells.get((row, column, source), NOT_PRINTED if source == "published" else NOT_RUN) for row in rows
        ]
        for column, source in product(columns, sources)
    }
    return pd.DataFrame({corner: list(rows), **body})


def _text(point: FrameRow) -> str:
    """Return a point as text: as printed, with separators, or the mean with its 99 % interval."""
    if point.printed:
        return group_digits(str(point.printed))
    text = ("> " if point.timed_out else "") + rounded(point.value, point.low, point.high)[0]
    ends = interval(point.value, point.low, point.high, point.unit)
    text += f" ({ends})" if ends else ""
    return f"{text} {mark(point.caveat)}".rstrip()


def group_digits(printed: str) -> str:
    """Return a printed number with a separator every three digits, as ours have; any other text as it is."""
    parts = re.fullmatch(r"(-?)(\d{4,})(\.\d+)?( \*)?", printed)
    return f"{parts[1]}{int(parts[2]):,}{parts[3] or ''}{parts[4] or ''}" if parts else printed


def misprints(rows: pd.DataFrame) -> list[str]:
    """Return what the published numbers' notes say, one sentence a note, for the asterisks of a table."""
    places: dict[str, list[str]] = {}
    for row, column, note in zip(rows["row"], rows["column"], rows["note"], strict=True):
        if note:
            places.setdefault(str(note), []).append(f"{row}, {column}")
    return [f"* {'; '.join(where)}: {note}" for note, where in places.items()]
