"""The stack that did the work (a cell's lane) in print: a column of panels, or of a table, for each that ran."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd

from benchbook.figures.points import Row, chosen, joined

NAMES: Final = {"python": "Python", "java": "Java", "node": "Node.js"}


def ran(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each lane that ran, by its name in print; of Python none when nothing ran at all."""
    if table.empty:
        return {NAMES["python"]: table}
    lane = table["lane"].fillna("python") if "lane" in table else pd.Series("python", index=table.index)
    return {name: table[lane == key] for key, name in NAMES.items() if (lane == key).any()}


def settled(table: pd.DataFrame, ways: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Keep of each lane's rows one level of each factor that is not shown, as `points.chosen` does.

    Parameters
    ----------
    table
        Rows from `points.wide`.
    ways
        Each lane's preferred levels.
    """
    kept, notes = {}, []
    for name, rows in ran(table).items():
        way = next(ways[key] for key, printed in NAMES.items() if printed == name)
        kept[name], said = chosen(rows, way)
        notes += said if name == NAMES["python"] else [f"{name}: {note}" for note in said]
    return kept, notes


def panels(
    theirs: pd.DataFrame, mine: Mapping[str, pd.DataFrame], names: tuple[str, ...] = ("",)
) -> tuple[pd.DataFrame, list[str]]:
    """Return the points with a panel for each stack beside the next, the paper's in all of them; and the panels.

    Where Python alone ran, panels keep their names.
    """
    if list(mine) == [NAMES["python"]]:
        return joined(theirs, *mine.values()), list(names)
    label: Callable[[str, str], str] = lambda panel, stack: f"{panel}, {stack}" if panel else stack  # noqa: E731
    parts = [
        part.assign(panel=part["panel"].map(lambda panel, stack=stack: label(str(panel), stack)))
        for stack, some in mine.items()
        for part in (theirs, some)
    ]
    return joined(*parts), [label(panel, stack) for panel in names for stack in mine]


def named(label: str, row: Row) -> str:
    """Return a label with the row's stack, unless that is Python."""
    stack = NAMES[getattr(row, "lane", None) or "python"]
    return label if stack == NAMES["python"] else f"{label}, {stack}"


def labels(mine: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return what each stack's numbers are headed with in a table: ``here`` where Python alone ran."""
    return ["here"] if list(mine) == [NAMES["python"]] else [f"{stack}, here" for stack in mine]


def sources(theirs: pd.DataFrame, mine: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the points for a table, each stack's with a source of its own; and the sources."""
    heads = labels(mine)
    parts = [some.assign(source=head) for head, some in zip(heads, mine.values(), strict=True)]
    return joined(theirs, *parts), ["published", *heads]
