"""What the final notebook shows: figures, tables, claims and findings as HTML that loads nothing, study by study."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pandas as pd
from IPython.display import HTML, Markdown, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from benchbook.digits import NOT_PRINTED, apart, detectable, estimate, number, p_value, plural
from benchbook.evidence import Counts, notes
from benchbook.evidence.comparisons import estimated
from benchbook.evidence.judge import ALPHA, NOT_TESTABLE
from benchbook.papers import exhibits, recomputed, reference
from benchbook.plots import ratios
from benchbook.plots.names import STACKS, mark
from benchbook.plots.points import NOT_RUN, SOURCES, FrameRow, each, where
from benchbook.plots.provenance import measured_by
from benchbook.plots.ratios import METRICS, sides
from benchbook.plots.save import save
from benchbook.plots.verdicts import UNTRUSTED
from benchbook.registry import EXPERIMENTAL, is_experimental
from benchbook.report import words
from benchbook.report.merge import Merged

Shown = HTML | Markdown

WIDE: Final = 32
"""Characters from which a number's cell may break into lines."""

LONG: Final = 60
"""Characters from which a cell's text gets a wide column."""

CARDS: Final = "Each card below is computed when this page is built; the call beneath it gives it by itself."


def study(
    merged: Merged,
    slug: str,
    *,
    own: str,
    tests: str,
    own_tests: Sequence[Shown] = (),
    also: Sequence[str | Shown] = (),
) -> None:
    """Show all of one study: its claims, the paper's own numbers, the sound tests, its figures and its tables.

    Parameters
    ----------
    own, tests
        What is said of the paper's own numbers, and of the tests made here.
    own_tests, also
        What this paper alone has: shown with its own numbers, and below the tests.
    """
    outcomes = where(merged.evidence.outcomes, study=slug)
    tested = merged.evidence.compared(slug)
    checked, follow = recomputed.checks(slug), recomputed.findings(slug)
    output(reference_of(slug), f"### Claims of {slug}", words.study_verdicts(outcomes))
    of_study = [name for name in exhibits.FIGURES if name.startswith(slug)]
    output(*(exhibit(merged.folder, name) for name in of_study if exhibits.VERDICTS.search(name)))
    output(claims(outcomes, merged.evidence.contrasts, merged.waits, merged.reference))
    for head, registry in (("Figures", exhibits.FIGURES), ("Tables", exhibits.TABLES)):
        of_study = [name for name in registry if name.startswith(f"{slug}_")]
        output(
            f"### {head} of {slug}",
            *(exhibit(merged.folder, name) for name in of_study if not exhibits.VERDICTS.search(name)),
        )
    output(f"### Tests of {slug}\n\n{tests}", words.compared(tested))
    output(comparisons(tested, "Nothing to compare in this profile."), *also)
    beside(merged, slug)
    own_cells(merged, slug)
    output(f"### The paper's own numbers: {slug}\n\n{own} {CARDS}", words.study_recomputed(checked, follow))
    output(*own_tests, findings(follow), checks(checked))


def beside(merged: Merged, slug: str) -> None:
    """Show how a study's ratios differ from the reference run's, those that both have; nothing where none is."""
    rows = where(merged.beside, study=slug)
    if rows.empty:
        return
    differs = [bool(p < ALPHA) for p in rows["p_holm"]]
    shown = {
        "Ratio": [what.replace("_", " ") for what in rows["what"]],
        "Settings": list(rows["settings"]),
        "Reference": list(rows["before"]),
        "Here": list(rows["after"]),
        "Here over reference": [estimate(row.change, row.low, row.high) for row in each(rows)],
        "Differs": ["yes" if differ else "" for differ in differs],
    }
    tally = f"Of {len(rows)} ratios that the committed reference run has, too, {sum(differs)} differ beyond noise"
    head = f"### Beside the reference run: {slug}\n\n{tally} (Holm, 5 %)."
    output(head, frame(pd.DataFrame(shown), fold=f"{len(rows)} ratios"))


def own_cells(merged: Merged, slug: str) -> None:
    """Show what ran of a study that is in no profile, with levels or records of one's own; nothing where none did."""
    tested = where(merged.own.comparisons, study=slug)
    if tested.empty:
        return
    name = f"{slug}_own"
    save(ratios.own(merged.own, slug), merged.folder / name, exhibits.measured(merged.own, [slug], merged.profile))
    caption = "Measured with a level or a file that this profile has not; no claim is judged by them."
    output(f"### Your own cells of {slug}\n\n{caption}", exhibit(merged.folder, name), comparisons(tested, ""))


def leads(merged: Merged) -> HTML:
    """Show the first screen: a finding a study with its paper, and the overview figure."""
    drawn = Markup(exhibit(merged.folder, "overview").data)
    counts = Counts.of(merged.evidence.outcomes)
    return _html("findings_first", leads=words.leads(merged), overview=drawn, counts=f"{counts}.")


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


def hosts(folder: Path, means: pd.DataFrame) -> None:
    """Show what is drawn of several hosts, where several ran."""
    if means["host"].nunique() > 1:
        output(*(exhibit(folder, name) for name in exhibits.HOSTS))


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
    numeric = texts.str.fullmatch(r"[-+<> ]*[\d.,]+( \(.*\))?|nan|" + NOT_PRINTED + "|" + NOT_RUN)
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


def comparisons(table: pd.DataFrame, otherwise: str) -> Shown:
    """Show rows of `benchbook.evidence.comparisons`, a pair each, or say that there are none."""
    if table.empty:
        return Markdown(otherwise)  # type: ignore[no-untyped-call]
    # those of one quantity together, small n before large
    quantity = table.groupby(["comparison", "metric", "operation", "role"], sort=False).ngroup()
    natural = table["factors"].str.replace(r"\d+", lambda digits: digits[0].zfill(9), regex=True)
    ordered = table.assign(_quantity=quantity, _natural=natural).sort_values(["_quantity", "_natural"], kind="stable")
    # without the factors, and the host, that are the same in every row
    factors = [[row.host, *row.factors.split(", ")] for row in each(ordered)]
    same = set.intersection(*map(set, factors)) if len(factors) > 1 else {ordered["host"].iloc[0]}
    varying = [", ".join(part for part in parts if part and part not in same) for parts in factors]
    return _html("comparisons", rows=list(zip(each(ordered), varying, strict=True)))


def _mark(row: FrameRow) -> str:
    """Return what a comparison's engines are marked with: that an adapter is experimental."""
    engines = {str(row.side_a), str(row.side_b), str(row.settings.get("engine"))}
    experimental = any(map(is_experimental, engines))
    return mark(EXPERIMENTAL if experimental else "")


def _ratio(row: FrameRow) -> str:
    return estimate(row.ratio, row.low, row.high)


def claims(
    outcomes: pd.DataFrame,
    contrasts: pd.DataFrame,
    waits: Mapping[str, str] = MappingProxyType({}),
    reference: pd.DataFrame | None = None,
) -> HTML:
    """Show the claims that could be judged, a result each, and below those that could not, with the reason.

    Parameters
    ----------
    outcomes
        Rows of `benchbook.evidence.outcomes`, of one study.
    contrasts
        As `benchbook.evidence.judged` returns them.
    waits
        What each claim waits for that is not decided, by its id.
    reference
        The outcomes of the reference run; None: they are not shown.
    """
    testable, rest = (outcomes[(outcomes["verdict"] != NOT_TESTABLE) == wanted] for wanted in (True, False))
    by_claim = dict(list(contrasts.groupby(["id", "host", "lane"], sort=False)))
    of_reference = {} if reference is None else {row.id: words.result(row) for row in each(reference) if row.host}
    judged = []
    for row in each(testable):
        confidence = "" if isnan(row.low) else "; repeated 95 % interval"
        stage = f"{row.stage}{confidence}; in {STACKS[row.lane]}"
        judged.append((row, stage, *_why(row, by_claim), notes(row._asdict())))
    return _html(
        "claims", judged=judged, rest=list(each(rest)), waits=waits, of_reference=of_reference, untrusted=UNTRUSTED
    )


def _why(row: FrameRow, by_claim: Mapping[Any, pd.DataFrame]) -> tuple[str, list[str]]:
    """Return the reason, and behind it each of several contrasts, and what the other lanes and hosts found."""
    contrasts = by_claim.get((row.id, row.host, row.lane))
    others = [f"{STACKS[other['lane']]} on {other['host']}: {words.result(other)}" for other in row.others]
    if contrasts is None or len(contrasts) < 2:
        return row.why, others
    judged, rest = (contrasts[(contrasts["verdict"] != NOT_TESTABLE) == wanted] for wanted in (True, False))
    counts = ", ".join(f"{count} {name}" for name, count in judged["verdict"].value_counts().items())
    counted = f"{plural(len(judged), 'contrast')}: {counts}"
    counted += f"; {len(rest)} more could not be judged" if len(rest) else ""
    counted += f"; {row.products_missing}" if row.products_missing else ""
    absent = rest.groupby("why", sort=False)["contrast"].agg("; ".join)
    return counted, [
        *(f"{contrast.contrast}: {contrast.verdict}, {contrast.why}" for contrast in each(judged)),
        *(f"{why}: {labels}" for why, labels in absent.items()),
        *others,
    ]


def controls(table: pd.DataFrame) -> Shown:
    """Show `benchbook.evidence.controls`: the test of each study's identical arms, and how much they could hide."""
    hosts = {"Host": table["host"]} if table["host"].nunique() > 1 else {}
    shown = pd.DataFrame({
        "Study": table["study"],
        **hosts,
        "Kind": table["kind"],
        "Quantities": table["quantities"],
        "Blocks": table["blocks"],
        "Arm b over arm a": [*map(_ratio, each(table))],
        "Smallest margin": table["margin"],
        "Bias that would be found": [detectable(value) for value in table["detectable"]],
        "Identical arms": table["state"],
    })  # fmt: skip
    return frame(shown, otherwise="No pair to show.")


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
    environment.globals |= {"nothing": (NOT_PRINTED, NOT_RUN), "wide": WIDE, "metrics": METRICS}
    return environment


_FILTERS: Final = {"number": number, "detectable": detectable, "p_value": p_value, "estimate": estimated,
                   "ratio": _ratio, "apart": apart, "mark": _mark, "pair": sides}  # fmt: skip
TEMPLATES: Final = templates(Path(__file__).parent / "template")


def _html(template: str, **parts: Any) -> HTML:
    """Return a template filled in; whatever it is given is escaped."""
    html = TEMPLATES.get_template(f"{template}.html.j2").render(parts)
    return HTML(html)  # type: ignore[no-untyped-call]
