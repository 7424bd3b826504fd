"""Tables and figures as the notebook shows them: accessible HTML, nothing loaded from elsewhere."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pandas as pd
from IPython.display import HTML, display

from benchbook import figures
from benchbook.figures.caveats import mark
from benchbook.figures.tables import NOT_PRINTED, NOT_RUN, SOURCES, number
from benchbook.registry import untested

WIDE: Final = 32
"""Characters from which a number's cell may break into lines."""

VERDICTS: Final = re.compile("_verdicts(_[0-9]+)?$")
"""Ends of the names of the sheets of verdicts."""

FAR: Final = 1_000
"""Beyond this ratio, and below its inverse, an interval's end is not printed."""

LONG: Final = 60
"""Characters from which a cell's text gets a wide column."""


def _html(text: str) -> HTML:
    return HTML(text)  # type: ignore[no-untyped-call]


def figure(folder: Path, name: str) -> HTML:
    """Show a drawn figure; what must be said instead, when nothing was there to draw."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if pd.read_csv(folder / f"{name}.csv").empty:
        return _html(_said([f"{about['title']}: {note}" for note in about["notes"]]))
    image = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    alternative = escape(f"{about['title']}. {'; '.join(about['notes'])}. Data: {name}.csv")
    return _html(f'<figure id="{name}"><img alt="{alternative}" src="data:image/svg+xml;base64,{image}"></figure>')


def table(folder: Path, name: str) -> HTML:
    """Show a saved table with its title and notes."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    frame = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    if frame.empty:
        return _html(_said([f"{about['title']}: {note}" for note in about["notes"]]))
    return frame_html(frame, about["title"], about["notes"])


def study(folder: Path, slug: str, kind: str) -> None:
    """Show all figures or all tables of a study; the sheets of its verdicts are `verdicts`' to show."""
    registry, one = (figures.FIGURES, figure) if kind == "figures" else (figures.TABLES, table)
    for name in registry:
        if name.startswith(f"{slug}_") and not VERDICTS.search(name):
            display(one(folder, name))  # type: ignore[no-untyped-call]


def verdicts(folder: Path) -> None:
    """Show the sheets of verdicts of every study."""
    for name in figures.FIGURES:
        if VERDICTS.search(name):
            display(figure(folder, name))  # type: ignore[no-untyped-call]


def folded(content: HTML, name: str) -> HTML:
    """Show what is long behind its name, open on a click; on paper only the name."""
    return _html(f"<details><summary>{escape(name)}</summary>{content.data}</details>")


def frame_html(frame: pd.DataFrame, title: str = "", notes: Sequence[str] = ()) -> HTML:
    """Show a frame: columns that end in ``, published`` and ``, here`` share a heading."""
    kinds = {name: _kind(name, frame[name]) for name in frame.columns}
    body = "".join(
        "<tr>" + "".join(_cell(kinds[name], value) for name, value in zip(frame.columns, row, strict=True)) + "</tr>"
        for row in frame.itertuples(index=False, name=None)
    )
    caption = f"<figcaption>{escape(title)}</figcaption>" if title else ""
    head = _head(kinds)
    grid = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return _html(f'<figure>{caption}<div class="scroll">{grid}</div>{_said(notes)}</figure>')


def _said(notes: Sequence[str]) -> str:
    return "".join(f'<p class="notes">{escape(note)}</p>' for note in notes)


def _kind(name: object, values: "pd.Series[Any]") -> str:
    """Return a column's class: whose numbers they are, else text, or nothing for numbers."""
    source = str(name).rpartition(", ")[2]
    if source in SOURCES:
        return source
    texts = values.astype(str)
    numeric = texts.str.fullmatch(r"[-+<> ]*[\d.,]+(e[-+]?\d+)?( \[.*\])?|nan|" + NOT_PRINTED + "|" + NOT_RUN)
    return "" if numeric.all() else "long" if texts.str.len().max() > LONG else "text"


def _head(kinds: Mapping[str, str]) -> str:
    """Return one row of headings, or two where published and here share one."""
    if not set(kinds.values()) & set(SOURCES):
        return "<tr>" + "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in kinds.items()) + "</tr>"
    top, bottom = "", ""
    for name, some in groupby(kinds, key=lambda name: name.rpartition(", ")[0] if kinds[name] in SOURCES else name):
        members = [kinds[member] for member in some]
        single = members[0] not in SOURCES
        spans = f'rowspan="2" class="{members[0]}"' if single else f'colspan="{len(members)}" class="group"'
        top += f"<th {spans}>{escape(name)}</th>"
        bottom += "" if single else "".join(f"<th>{source}</th>" for source in members)
    return f"<tr>{top}</tr><tr>{bottom}</tr>"


def _cell(kind: str, value: object) -> str:
    text = number(value) if isinstance(value, float) else str(value)
    classes = [kind, "none" if text in (NOT_PRINTED, NOT_RUN) else "wide" if len(text) > WIDE else ""]
    mean, bracket, interval = text.partition(" [") if kind == "here" else (text, "", "")
    below = f'<br><span class="interval">[{escape(interval)}</span>' if bracket else ""
    return f'<td class="{" ".join(filter(None, classes))}">{escape(mean)}{below}</td>'


def comparisons(found: pd.DataFrame) -> HTML:
    """Show the sound tests, two lines each: the numbers, and what came out in words."""
    ordered = _ordered(found)
    columns = ["Quantity", "Ratio, published", "Ratio, here", "p", "p (Holm)", "Hedges g", "Detectable ratio"]
    kinds = dict.fromkeys(columns, "") | {"Quantity": "text", "Ratio, published": "published", "Ratio, here": "here"}
    body = ""
    for row, where in zip(figures.each(ordered), _varying(ordered["factors"]), strict=True):
        quantity = f"{figures.METRICS.get(row.metric, row.metric)}, {row.operation.replace('_', ' ')}, {row.role}"
        numbers = [number(row.published_ratio), _estimate(row), _p(row.p), _p(row.p_holm)]
        numbers += [
            number(row.hedges_g),
            end(row.detectable_ratio) if row.detectable_ratio == row.detectable_ratio else NOT_PRINTED,
        ]
        cells = "".join(_cell(kinds[name], text) for name, text in zip(columns[1:], numbers, strict=True))
        badge = f' <span class="mark">{said}</span>' if (said := _mark(row)) else ""
        named = f'<td class="text">{escape(quantity)}{badge}<br><span class="interval">{escape(where)}</span></td>'
        body += (
            f'<tr class="numbers">{named}{cells}</tr><tr><td colspan="7" class="words">{escape(row.words)}</td></tr>'
        )
    table_ = f"<table><thead>{_head(kinds)}</thead><tbody>{body}</tbody></table>"
    return _html(f'<figure><div class="scroll">{table_}</div></figure>')


def _mark(row: "figures.Row") -> str:
    """Return what a comparison's engines are marked with: that a stand-in ran, or that an adapter is untested."""
    engines = {str(row.side_a), str(row.side_b), str(row.settings.get("engine"))}
    return mark("".join(map(untested, sorted(engines))), stand_in=row.stand_in)


def students(tests: pd.DataFrame) -> HTML:
    """Show the papers' own tests, recomputed from their printed samples."""
    shown = pd.DataFrame(
        {
            "Measure": tests["measure"],
            "Commas": tests["reading"],
            "Values, JSON": tests["n_json"],
            "Values, XML": tests["n_xml"],
            "t": tests["t"].map(number),
            "p (Student)": tests["p"].map(_p),
            "p (Welch)": tests["p_welch"].map(_p),
            "p printed": tests["printed"],
            "": tests["agrees"].map({True: "agrees", False: "differs"}),
        }
    )
    return frame_html(shown)


def _ordered(found: pd.DataFrame) -> pd.DataFrame:
    """Bring comparisons of one quantity together, small n before large."""
    quantity = found.groupby(["comparison", "metric", "operation", "role"], sort=False).ngroup()
    natural = found["factors"].str.replace(r"\d+", lambda digits: digits[0].zfill(9), regex=True)
    return found.assign(_quantity=quantity, _natural=natural).sort_values(["_quantity", "_natural"], kind="stable")


def _estimate(row: "figures.Row") -> str:
    if row.ratio == row.ratio:
        return number(row.ratio) + (f" [{end(row.low)}, {end(row.high)}]" if row.low == row.low else "")
    if row.difference == row.difference:
        return f"{number(row.difference)} {row.unit} [{number(row.difference_low)}, {number(row.difference_high)}]"
    return NOT_PRINTED


def end(value: float) -> str:
    """Return an interval's end; far out its digits say nothing, as with two blocks."""
    if value == float("inf"):
        return "∞"
    return (
        f"> {FAR:,}" if value > FAR else "0" if value == 0 else f"< {1 / FAR:g}" if value < 1 / FAR else number(value)
    )


def _p(p: float) -> str:
    return NOT_PRINTED if p != p else "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def _varying(factors: "pd.Series[str]") -> list[str]:
    """Drop the factors that are the same in every row."""
    rows = [text.split(", ") for text in factors]
    same = set.intersection(*map(set, rows)) if len(rows) > 1 else set()
    return [", ".join(part for part in parts if part not in same) for parts in rows]
