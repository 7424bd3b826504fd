"""What the final notebook shows: figures, tables, claims and findings as HTML that loads nothing, study by study."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pandas as pd
from IPython.display import HTML, Markdown, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from benchbook.analysis import Counts, facts
from benchbook.analysis.aa import differ
from benchbook.analysis.comparisons import Comparison
from benchbook.digits import NAN, NOT_PRINTED, apart, difference, estimate, number, p_value, plural
from benchbook.papers import exhibits, recomputed, reference
from benchbook.plots import ratios
from benchbook.plots.names import STACKS
from benchbook.plots.points import NOT_RUN, SOURCES, FrameRow, each, where
from benchbook.plots.provenance import measured_by
from benchbook.plots.ratios import METRICS, sides
from benchbook.plots.save import save
from benchbook.report import words
from benchbook.report.merge import T_TESTS, Merged

Shown = HTML | Markdown

WIDE: Final = 32
"""Characters from which a number's cell may break into lines."""

LONG: Final = 60
"""Characters from which a cell's text gets a wide column."""

CARDS: Final = "Each card below is computed when this page is built; the call beneath it gives it by itself."


def study(merged: Merged, slug: str, *, own: str, also: Sequence[str | Shown] = ()) -> None:
    """Show all of one study: its claims, facts, figures and tables, and the paper's own numbers.

    Parameters
    ----------
    own
        What is said of the paper's own numbers.
    also
        What this paper alone has, shown below its tables.
    """
    verdicts = where(merged.analysis.verdicts, study=slug)
    output(reference_of(slug), f"### Claims of {slug}", f"**{Counts.of(verdicts)}.**")
    of_study = [name for name in exhibits.FIGURES if name.startswith(slug)]
    output(*(exhibit(merged.folder, name) for name in of_study if exhibits.VERDICTS.search(name)))
    output(claims(verdicts, merged.reference.verdicts if merged.reference else None))
    _facts(merged, slug)
    for head, registry in (("Figures", exhibits.FIGURES), ("Tables", exhibits.TABLES)):
        of_study = [name for name in registry if name.startswith(f"{slug}_")]
        shown = [exhibit(merged.folder, name) for name in of_study if not exhibits.VERDICTS.search(name)]
        output(f"### {head} of {slug}", *shown)
    output(*also)
    own_cells(merged, slug)
    checked, follow = recomputed.checks(slug), recomputed.findings(slug)
    output(f"### The paper's own numbers: {slug}\n\n{own} {CARDS}", words.study_recomputed(checked, follow))
    output(findings(follow), checks(checked))


def _facts(merged: Merged, slug: str) -> None:
    """Show what cannot fail here, where a paper says such a thing."""
    of_study = where(facts(merged.analysis.comparisons), study=slug)
    if of_study.empty:
        return
    names = {"says": "The paper says", "where": "Where", "words": "Here", "fact": "Why it cannot fail here"}
    output(f"### Facts of {slug}", frame(of_study[[*names]].rename(columns=names)))


def own_cells(merged: Merged, slug: str) -> None:
    """Show what ran of a study that is in no profile, with other levels or your own records; nothing where none did."""
    table = where(merged.own.tables, study=slug)
    if table.empty:
        return
    name = f"{slug}_own"
    save(ratios.own(merged.own, slug), merged.folder / name, exhibits.measured(merged.own, (slug,), merged.profile))
    rows = [
        {
            "Ratio": sides(row),
            "Quantity": _quantity(row),
            "Levels": row.label,
            "Here": row.words or row.reason,
            "Blocks": row.blocks,
        }
        for row in Comparison.of(table)
    ]
    caption = "Measured with a level or a file that this profile does not have; no claim is judged by them."
    output(f"### Your own cells of {slug}\n\n{caption}", exhibit(merged.folder, name), frame(pd.DataFrame(rows)))


def _quantity(row: FrameRow) -> str:
    """Return what is compared, in words."""
    return f"{METRICS.get(row.metric, row.metric)}, {row.operation}, {row.role}".replace("_", " ")


def head(merged: Merged) -> None:
    """Show the first screen: how many claims are decided, a finding of each study, and A/A checks that differ."""
    checks = merged.analysis.aa
    if len(differ(checks)):
        output(words.aa(checks))
    output(words.verdicts(merged.analysis.verdicts))
    drawn = Markup(exhibit(merged.folder, "overview").data)
    output(_html("leads", leads=words.leads(merged), overview=drawn))


def tests(table: pd.DataFrame) -> Shown:
    """Show `benchbook.analysis.t_tests.t_tests` in one table."""
    if table.empty:
        return Markdown("")  # type: ignore[no-untyped-call]
    return _html("t_tests", rows=list(each(table)), file=T_TESTS, languages=STACKS)


def aa(checks: pd.DataFrame) -> Shown:
    """Show `benchbook.analysis.aa_checks`: how many times as much arm b took as arm a."""
    rows = [
        {
            "Study": row.study,
            "Language": STACKS[row.language],
            "Kind": row.metric,
            "Quantities": row.label.split(" ")[0],
            "Blocks": row.blocks,
            "Arm b over arm a": row.words,
        }
        for row in Comparison.of(checks)
    ]
    return frame(pd.DataFrame(rows), otherwise="No A/A check ran.")


def reference_of(slug: str) -> Markdown:
    """Show which paper a study is about."""
    paper = reference(slug)
    link = f" [doi:{paper.doi}]({paper.url})" if paper.doi else ""
    year = f" ({paper.year})" if paper.year else ""
    authors = ", ".join(paper.authors)
    return Markdown(f"{authors}{year}. *{paper.title}*. {paper.venue}.{link}")  # type: ignore[no-untyped-call]


def output(*parts: str | Shown) -> None:
    """Show one thing after the other; a text is Markdown."""
    for part in parts:
        display(Markdown(part) if isinstance(part, str) else part)  # type: ignore[no-untyped-call]


def exhibit(folder: Path, name: str) -> Shown:
    """Show a drawn figure or a saved table; what must be said instead, when there was nothing to draw."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    if rows.empty:
        return _html("figure", picture="", notes=[f"{about['title']}: {note}" for note in about["notes"]])
    if name in exhibits.TABLES:
        return frame(rows, title=about["title"], notes=about["notes"], name=name)
    points = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values={column: [""] for column in _NUMBERS})
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
    # A picture, not SVG: JupyterLab leaves SVG out of a notebook that it does not trust.
    picture = f"data:image/svg+xml,{quote(svg, safe=_PLAIN)}"
    shown = {"picture": picture, "values": words.values(points), "provenance": _measured(about)}
    return _html("figure", name=name, title=about["title"], **shown)


_NUMBERS: Final = ("value", "low", "high")
_PLAIN: Final = " !$&'()*+,-./:;=?@[]_{|}~"
"""Characters that mean themselves in the address of a picture."""


def _measured(about: Mapping[str, Any]) -> str:
    """Return a figure's provenance in a line."""
    days = list(dict.fromkeys(about["measured"]))
    measured = f"Measured {' to '.join(days)}" if days else ""
    blocks = plural(len(about["blocks"]), "block") if about["blocks"] else ""
    parts = [measured, blocks, about["host_cpu"], measured_by(about["measured_by"])]
    return ", ".join(filter(None, parts)) + f"; drawn by {about['drawn_by']}."


def frame(
    table: pd.DataFrame,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    fold: str = "",
    otherwise: str = "",
    name: str = "",
) -> Shown:
    """Show a frame: columns that end in ``, published`` and ``, here`` share a heading.

    Parameters
    ----------
    table
        Texts and numbers.
    title, notes
        What stands above and below it.
    fold
        The name behind which it is hidden until it is clicked; on paper only the name is seen.
    otherwise
        What is said of an empty frame instead.
    name
        Of the files beside the page that hold it, linked below; none when empty.
    """
    if otherwise and table.empty:
        return Markdown(otherwise)  # type: ignore[no-untyped-call]
    kinds = {str(name): _kind(str(name), table[name]) for name in table.columns}
    rows = [[number(value) if isinstance(value, float) else str(value) for value in row]
            for row in table.itertuples(index=False, name=None)]  # fmt: skip
    about = {"title": title, "notes": notes, "fold": fold, "name": name}
    return _html("table", heads=_heads(kinds), kinds=list(kinds.values()), rows=rows, **about)


def _kind(name: str, values: "pd.Series[Any]") -> str:
    """Return a column's class: whose numbers they are, else text, or nothing for numbers."""
    source = name.rpartition(", ")[2]
    if source in SOURCES:
        return source
    texts = values.astype(str)
    numeric = texts.str.fullmatch(
        r"[-+<> ]*[\d.,]+( \([-+<> \d.,]+(to [-+<> \d.,]+|or \w+)\))?|nan|" + NOT_PRINTED + "|" + NOT_RUN
    )
    if numeric.all():
        return ""
    return "long" if texts.str.len().max() > LONG else "text"


class _Head(NamedTuple):
    """A column's heading with its class, or that of several columns, whose ``sources`` stand beneath."""

    name: str
    kind: str
    sources: list[str]


def _heads(kinds: Mapping[str, str]) -> list[_Head]:
    """Return the headings: columns of one quantity, published and here, share theirs."""
    groups = groupby(kinds, key=lambda name: name.rpartition(", ")[0] if kinds[name] in SOURCES else name)
    classes = [(name, [kinds[column] for column in columns]) for name, columns in groups]
    return [_Head(name, of_group[0], of_group if of_group[0] in SOURCES else []) for name, of_group in classes]


def claims(verdicts: pd.DataFrame, reference: pd.DataFrame | None = None) -> HTML:
    """Show the claims that were judged, and below those that were not, with the reason.

    Parameters
    ----------
    verdicts
        Rows of `benchbook.analysis.verdicts`, of one study.
    reference
        Verdicts of the reference run; None: they are not shown.
    """
    other = {} if reference is None else dict(zip(reference["id"], reference["verdict"], strict=True))
    judged = ~verdicts["verdict"].isin(["not comparable", "not run"])
    parts = {"judged": list(each(verdicts[judged])), "rest": list(each(verdicts[~judged]))}
    return _html("claims", **parts, reference=other)


def _estimate(row: FrameRow) -> str:
    """Return an estimate with its interval; of a difference with its unit and sign."""
    ends = row.estimate, row.low, row.high
    return difference(*ends, row.unit) if row.kind == "difference" else estimate(*ends)


def _range(row: FrameRow) -> str:
    """Return the range over all comparisons of a claim, in the unit of its estimate."""
    ends = row.smallest, row.largest
    written = [difference(end, NAN, NAN, row.unit) if row.kind == "difference" else number(end) for end in ends]
    return " to ".join(written)


def findings(cards: Sequence[recomputed.Finding]) -> HTML:
    """Show what does not follow from a paper's own numbers, a card each: as printed, recomputed, why."""
    return _html("findings", findings=cards)


def checks(table: pd.DataFrame) -> HTML:
    """Show `benchbook.papers.recomputed.checks`: those that disagree at once, those that agree on a click."""
    differ, agree = (list(each(table[table["agrees"] == wanted])) for wanted in (False, True))
    return _html("checks", differ=differ, agree=agree)


def templates(*folders: Path) -> Environment:
    """Return the templates of some folders: all escape what they are given, and write numbers alike."""
    environment = Environment(
        loader=FileSystemLoader(folders), autoescape=select_autoescape(["html.j2"]), undefined=StrictUndefined
    )
    environment.filters |= _FILTERS
    environment.globals |= {"nothing": (NOT_PRINTED, NOT_RUN), "wide": WIDE}
    return environment


_FILTERS: Final = {
    "number": number,
    "p_value": p_value,
    "estimate": _estimate,
    "range": _range,
    "apart": apart,
    "plural": plural,
}
TEMPLATES: Final = templates(Path(__file__).parent / "template")


def _html(template: str, **parts: Any) -> HTML:
    """Return a template filled in; whatever it is given is escaped."""
    html = TEMPLATES.get_template(f"{template}.html.j2").render(parts)
    return HTML(html)  # type: ignore[no-untyped-call]
