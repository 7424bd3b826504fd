"""From comparisons to points: which of them are drawn, which side lies below the line, what must be said of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from benchbook.figures import stacks
from benchbook.figures.points import COLUMNS, Row


def by_stack(table: pd.DataFrame, ways: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return each stack's comparisons of one study, settings as columns, settled as `stacks.settled` does."""
    table = table.reset_index(drop=True)
    settings = pd.DataFrame(list(table["settings"]), index=table.index)
    return stacks.settled(table.join(settings.drop(columns=[name for name in settings if name in table])), ways)


def counted(counts: Iterable[float]) -> str:
    """Say of how many blocks a side the ratios are."""
    ends = sorted({int(count) for count in counts})
    blocks = " to ".join(dict.fromkeys(f"{count}" for count in (ends[0], ends[-1])))
    return f"here: ratio of the blocks' means, {blocks} block{', so no interval' if blocks == '1' else 's a side'}"


def of_one_n(rows: list[Row], notes: list[str]) -> tuple[list[Row], list[str]]:
    """Return the rows of one n, the largest of those that most have, and the notes with which it is."""
    if not rows:
        return rows, notes
    counts = Counter(row.n for row in rows)
    n = max(counts, key=lambda one: (counts[one], one))
    others = "; the other n are in the table of comparisons" if len(counts) > 1 else ""
    return [row for row in rows if row.n == n], [*notes, f"all at n = {int(n):,}{others}"]


def has(row: Row, side: str) -> bool:
    """Return whether a comparison has that side; an empty one means any."""
    return not side or side in (row.side_a, row.side_b)


def over(row: Row, side: str) -> Row:
    """Return a comparison with that side below the line; as it stands when it has no such side above it."""
    if row.side_a != side:
        return row
    swapped = {"a": row.b, "b": row.a, "side_a": row.side_b, "side_b": row.side_a, "n_a": row.n_b, "n_b": row.n_a}
    ratios = {"ratio": 1 / row.ratio, "low": 1 / row.high, "high": 1 / row.low}
    return row._replace(**swapped, **ratios, published_ratio=1 / row.published_ratio)


def about(row: Row, said: Mapping[str, str]) -> str:
    """Return what must be said of a comparison's engines, of what is said of all engines."""
    engines = dict.fromkeys((row.side_a, row.side_b, row.settings.get("engine")))
    return "; ".join(said[engine] for engine in engines if engine in said)


def points_of(row: Row, level: str, panel: str = "", series: str = "", caveat: str = "") -> pd.DataFrame:
    """Return a comparison's points: the paper's ratio where it prints one, and this machine's."""
    place = {"panel": panel, "level": level, "series": series, "unit": "ratio", "printed": ""}
    flags = {"censored": bool(row.censored), "stand_in": bool(row.stand_in), "caveat": caveat}
    blocks = min(int(row.n_a), int(row.n_b))
    here = {"source": "here", "value": row.ratio, "low": row.low, "high": row.high, "blocks": blocks}
    nan = float("nan")
    theirs = {"source": "published", "value": row.published_ratio, "low": nan, "high": nan, "blocks": 0}
    rows = [here] if row.published_ratio != row.published_ratio else [theirs, here]
    return pd.DataFrame([place | flags | one for one in rows], columns=list(COLUMNS))
