"""Study `bookstore`: what the choice of library is worth beside the choice of format."""

from typing import Any, Final

import pandas as pd

from benchbook.evidence import Evidence
from benchbook.figures import names, stacks
from benchbook.figures.dots import dots
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import chosen, empty, here, joined, remarks, wide

N: Final = 1000
WAY: Final[dict[str, Any]] = {"process": "together", "sink": "file", "binding": "once"}
CODECS: Final = {
    "json": "json (standard library)",
    "etree": "etree (standard library)",
    "pydantic_xml": "pydantic-xml",
    "jackson": "Jackson",
    "jaxb": "JAXB",
    "jaxb_context": "JAXB, a context an object",
    "dom": "DOM",
    "xmldecoder": "XMLDecoder",
}
"""Libraries whose names in print are not those of their codecs."""


def drawn(evidence: Evidence) -> tuple[pd.DataFrame, list[str]]:
    """Return each library's round trip, a book, over the fastest one's of the same case; and what must be said."""
    every, notes = chosen(wide(evidence, "bookstore"), WAY)
    every = every[every["operation"] == "round_trip"] if len(every) else every
    if every.empty or "wall_time" not in every:
        return empty(), remarks(empty(), {})
    n = N if N in set(every["n"]) else int(every["n"].max())
    cases = [_over_the_fastest(case, some) for case, some in every[every["n"] == n].groupby("case")]
    points = joined(*(part for part, _ in cases))
    said = [
        f"{n:,} books: time to a file and back, over the fastest library's of the same case",
        "each interval is the library's own; the fastest one's stands around 1",
    ]
    return points, [*remarks(points, {}), *said, *(words for _, words in cases), *notes]


def _over_the_fastest(case: Any, rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    lane = rows["lane"].fillna("python") if "lane" in rows else "python"
    level = (
        rows["codec"].map(lambda codec: CODECS.get(codec, codec))
        + ", "
        + rows.assign(lane=lane)["lane"].map(stacks.NAMES)
    )
    series = rows["format"].map(names.FORMATS)
    points = here(rows, rows["wall_time"], unit="ratio", panel=f"case {case}", level=level, series=series)
    fastest = points["value"].min()
    points = points.assign(**{name: points[name] / fastest for name in ("value", "low", "high")})
    return points, _in_words(f"case {case}", points)


def _in_words(case: str, points: pd.DataFrame) -> str:
    """Say what each of the two choices is worth."""
    ratios = points.groupby("series")["value"].agg(["min", "max"])
    said = [
        f"the slowest {kind} library took {row['max'] / row['min']:.2g} times the fastest one's time"
        for kind, row in ratios.iterrows()
    ]
    if {"JSON", "XML"} <= set(ratios.index):
        said.append(f"the fastest XML {ratios['min']['XML'] / ratios['min']['JSON']:.2g} times the fastest JSON's")
    return f"{case}: {', '.join(said)}"


def figure(evidence: Evidence) -> Exhibit:
    """Draw every library of every stack, JSON and XML told apart; the papers print nothing of the kind."""
    points, notes = drawn(evidence)
    rows = points.sort_values(["series", "value"], kind="stable")["level"].drop_duplicates().tolist()
    panels = sorted(set(points["panel"])) or ["case 1", "case 2"]
    title = "bookstore: what the choice of library is worth beside the choice of format"
    axis = "time, times the fastest"
    return Exhibit(
        title,
        points,
        tuple(notes),
        dots(points, title=title, axis=axis, rows=rows, panels=panels, notes=notes, reference=1.0),
    )


FIGURES: Final[dict[str, Maker]] = {"bookstore_libraries": figure}
