"""What the final notebook shows: figures, tables, claims and findings as HTML that loads nothing, study by study."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan, log
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pandas as pd
from IPython.display import HTML, Markdown, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from benchbook.analysis import VERDICTS, Analysis, Counts, facts
from benchbook.analysis.aa import differ
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import NOT_PRINTED, apart, difference, estimate, number, p_value, plural, short
from benchbook.papers import exhibits, recomputed, reference
from benchbook.plots import claim_lines, ratios
from benchbook.plots.claims_plot import claimed_range, find_limits
from benchbook.plots.names import STACKS
from benchbook.plots.points import NOT_RUN, SOURCES, FrameRow, each, where
from benchbook.plots.provenance import measured_by
from benchbook.plots.ratios import METRICS, sides
from benchbook.plots.save import save, save_for_page
from benchbook.plots.sheet import log_ticks
from benchbook.plots.style import PAGE
from benchbook.report import words
from benchbook.report.long_tables import FIRST, PAGED_FROM, PagedTable, encode_rows
from benchbook.report.merge import T_TESTS, Merged
from benchbook.studies import SLUGS

Shown = HTML | Markdown

WIDE: Final = 32
"""Characters from which a number's cell may break into lines."""

LONG: Final = 60
"""Characters from which a cell's text gets a wide column."""


def study(merged: Merged, slug: str, *, about: str, own: str, also: Sequence[str | Shown] = ()) -> None:
    """Show all of one study: what came out, its claims, facts, figures and tables, and the paper's own numbers.

    Parameters
    ----------
    about
        What is measured, in a few sentences.
    own
        What is said of the paper's own numbers.
    also
        What this paper alone has, shown below its tables.
    """
    output(reference_of(slug), words.answer(merged, slug), f"{about} {words.ran_in(merged, slug)}")
    if slug in merged.analysis.measured:
        verdicts = where(merged.analysis.verdicts, study=slug)
        reference = merged.reference.verdicts if merged.reference else None
        output(f"### Claims of {slug}", claims(verdicts, merged.analysis.comparisons, reference))
        sheets = [name for name in exhibits.FIGURES if name.startswith(slug) and exhibits.VERDICTS.search(name)]
        # a study with few judged claims leaves its last sheets empty
        drawn = [name for name in sheets if len(pd.read_csv(merged.folder / f"{name}.csv"))]
        output(folded("The claims as a figure", [exhibit(merged.folder, name) for name in drawn or sheets[:1]]))
        _facts(merged, slug)
        of_study = [name for name in exhibits.FIGURES if name.startswith(f"{slug}_") and name not in sheets]
        output(f"### Figures of {slug}", *(exhibit(merged.folder, name) for name in of_study))
        of_study = [name for name in exhibits.TABLES if name.startswith(f"{slug}_")]
        output(f"### Tables of {slug}", *(exhibit(merged.folder, name) for name in of_study), *also)
    own_cells(merged, slug)
    output(f"### The paper's own numbers: {slug}", own_numbers(slug, own))


def own_numbers(slug: str, own: str) -> HTML:
    """Show what does not follow from a paper's own numbers, behind its count."""
    checked, follow = recomputed.checks(slug), recomputed.findings(slug)
    parts = [Markup(one.data) for one in (findings(follow), checks(checked))]
    about = {"study": slug, "disagree": int((~checked["agrees"].astype(bool)).sum()), "recomputed": len(checked)}
    return _html("own_numbers", own=own, findings=len(follow), parts=parts, **about)


def folded(summary: str, parts: Sequence[Shown]) -> HTML:
    """Show something behind a line that opens it."""
    shown = Markup("\n").join(Markup(part.data) for part in parts)
    return HTML(Markup('<details class="rest"><summary>{}</summary>{}</details>').format(summary, shown))  # type: ignore[no-untyped-call]


def _facts(merged: Merged, slug: str) -> None:
    """Show what cannot fail here, where a paper says such a thing."""
    of_study = where(facts(merged.analysis.comparisons), study=slug)
    if of_study.empty:
        return
    names = {"says": "The paper says", "where": "Where", "words": "Here", "fact": "Why it cannot fail here"}
    summary = f"{plural(len(of_study), 'fact')}, which cannot fail here: not counted"
    output(folded(summary, [frame(of_study[[*names]].rename(columns=names))]))


def own_cells(merged: Merged, slug: str) -> None:
    """Show what ran of a study that is in no profile, with other levels or your own records; nothing where none did."""
    table = where(merged.own.tables, study=slug)
    if table.empty:
        return
    name = f"{slug}_own"
    drawn = ratios.own(merged.own, slug)
    save(drawn, merged.folder / name, exhibits.measured(merged.own, (slug,), merged.profile))
    save_for_page(drawn, merged.folder / exhibits.PAGE, name)
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
    """Show the overview: a finding of each study, how many claims hold, and A/A checks that differ."""
    checks = merged.analysis.aa
    if len(differ(checks)):
        output(words.aa(checks))
    # the page's first view has the figure's name already
    drawn = Markup(exhibit(merged.folder, "overview").data.replace('id="overview"', 'id="overview-drawn"'))
    holds = Markup(does_it_hold(merged.analysis).data)
    output(_html("leads", leads=words.leads(merged), holds=holds, overview=drawn), what_fails(merged.analysis))


def does_it_hold(analysis: Analysis) -> HTML:
    """Show how many claims of each study have which verdict."""
    rows = claim_lines.count_verdicts(analysis.verdicts).to_dict("records")
    return _html("holds", rows=rows, verdicts=VERDICTS, all=claim_lines.ALL, ran={*analysis.measured})


def what_fails(analysis: Analysis) -> HTML:
    """Show the claims that do not hold, and how many of the papers' own numbers disagree with one another."""
    failed = [(claim, claim_lines.write_line(claim)) for claim in claim_lines.list_failed(analysis.verdicts)]
    checked = recomputed.checks()
    counts = checked.loc[~checked["agrees"].astype(bool), "study"].value_counts()
    disagree = {study: int(counts[study]) for study in SLUGS if study in counts}
    decided = Counts.of(analysis.verdicts).decided
    return _html("failed", failed=failed, decided=decided, disagree=disagree, recomputed=len(checked))


def tests(table: pd.DataFrame) -> Shown:
    """Show `benchbook.analysis.t_tests.t_tests` in one table."""
    if table.empty:
        return Markdown("")  # type: ignore[no-untyped-call]
    rows = [_test_cells(row) for row in each(table)]
    first = rows if len(rows) <= PAGED_FROM else rows[:FIRST]
    paged = encode_rows(rows) if len(rows) > len(first) else ""
    return PagedTable(_fill("t_tests", columns=_TEST_COLUMNS, rows=first, paged=paged, file=T_TESTS))  # type: ignore[no-untyped-call]


_TEST_COLUMNS: Final = (
    *(("Study", "text select"), ("Claim", "text"), ("Comparison", "text"), ("Here (99 %)", "here")),
    *(("Printed", "published"), ("SE", ""), ("t", ""), ("df", ""), ("p", ""), ("p (Holm)", ""), ("g", "")),
    *(("Stands", "text select"), ("Verdict", "text select")),
)
"""Columns of the t-tests and their classes; a table can be narrowed to one level of a column that is to select."""


def _test_cells(row: FrameRow) -> list[str]:
    """Return the texts of one t-test, by `_TEST_COLUMNS`."""
    place = ", ".join(filter(None, (row.label, STACKS.get(row.language, row.language))))
    link = Markup('<a href="#{}">{}</a>').format(row.claim, row.claim.removeprefix(f"{row.study}."))
    sides_and_place = Markup('{} / {} <span class="interval">{}</span>').format(row.a, row.b, place)
    numbers = [number(row.published), number(row.error, 2), number(row.t), str(row.df)]
    numbers += [p_value(row.p), p_value(row.p_holm), number(row.hedges_g)]
    return [row.study, link, sides_and_place, _estimate(row), *numbers, row.stands, row.verdict]


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


def reference_of(slug: str) -> HTML:
    """Show which paper a study is about."""
    paper = reference(slug)
    return _html("reference", paper=paper, authors=", ".join(paper.authors))


def output(*parts: str | Shown) -> None:
    """Show one thing after the other; a text is Markdown."""
    for part in parts:
        display(Markdown(part) if isinstance(part, str) else part)  # type: ignore[no-untyped-call]


def exhibit(folder: Path, name: str) -> Shown:
    """Show a drawn figure or a saved table; what must be said instead, when there was nothing to draw."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    if rows.empty:
        return _html("figure", wide="", notes=[f"{about['title']}: {note}" for note in about["notes"]])
    own_notes = [note for note in about["notes"] if note != about.get("left_out")]
    if name in exhibits.TABLES:
        return frame(rows, fold=about["title"], notes=own_notes, name=name)
    points = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values={column: [""] for column in _NUMBERS})
    drawings = {screen: folder / exhibits.PAGE / f"{name}.{screen}.svg" for screen in PAGE}
    if not drawings["wide"].is_file():  # the committed run has one drawing of each figure
        drawings = {"wide": folder / f"{name}.svg"}
    shown = dict.fromkeys(PAGE, "")
    for screen, path in drawings.items():
        shown[screen] = embed(path.read_text(encoding="utf-8"))
    notes = ". ".join(note[0].upper() + note[1:] for note in own_notes if note)
    texts = {"values": words.values(points), "provenance": _measured(about), "notes": f"{notes}." if notes else ""}
    half = "_" in name and not exhibits.VERDICTS.search(name)
    return _html("figure", name=name, title=about["title"], half=half, **shown, **texts)


_NUMBERS: Final = ("value", "low", "high")
_PLAIN: Final = "!$&'()*+,-./:;=?@[]_{|}~<>"
"""Characters that mean themselves in the address of a picture."""


def embed(svg: str) -> str:
    """Return a drawing as the address of a picture, for ``src`` and ``srcset``.

    It is a picture, not SVG: JupyterLab leaves SVG out of a notebook that it does not trust.
    """
    return f"data:image/svg+xml,{quote(svg.replace(chr(34), chr(39)), safe=_PLAIN)}"


def _measured(about: Mapping[str, Any]) -> str:
    """Return a figure's provenance in a line."""
    days = list(dict.fromkeys(about["measured"]))
    measured = f"Measured {' to '.join(days)}" if days else ""
    blocks = plural(len(about["blocks"]), "block") if about["blocks"] else ""
    parts = [measured, blocks, about["host_cpu"], measured_by(about["measured_by"])]
    said = ", ".join(filter(None, parts)) + f"; drawn by {about['drawn_by']}."
    left_out = about.get("left_out", "")
    return f"{said} {left_out[:1].upper()}{left_out[1:]}." if left_out else said


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
    first = rows if len(rows) <= PAGED_FROM else rows[:FIRST]
    paged = encode_rows(rows) if len(rows) > len(first) else ""
    about = {"title": title, "notes": notes, "fold": fold, "name": name, "paged": paged}
    return PagedTable(_fill("table", heads=_heads(kinds), kinds=list(kinds.values()), rows=first, **about))  # type: ignore[no-untyped-call]


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


def claims(verdicts: pd.DataFrame, comparisons: pd.DataFrame, reference: pd.DataFrame | None = None) -> HTML:
    """Show a study's claims, a line each by verdict; those that were not judged are folded.

    Parameters
    ----------
    verdicts
        Rows of `benchbook.analysis.verdicts`, of one study.
    comparisons
        As `benchbook.analysis.claim_comparisons` returns them.
    reference
        Verdicts of the reference run, which stand beside; None: they are not shown.
    """
    rows = ClaimVerdict.of(verdicts)
    notes = claim_lines.number_notes(comparisons, rows)
    lines = {row.id: claim_lines.write_line(row, claim_lines.notes_of(row, notes)) for row in rows}
    by_verdict: dict[str, list[ClaimVerdict]] = {}
    for row in claim_lines.sort_by_verdict(rows):
        by_verdict.setdefault(row.verdict, []).append(row)

    # what was judged, on one scale
    judged = [row for row in rows if row.verdict not in _UNJUDGED]
    ends = find_limits(judged)
    groups = [
        (verdict, [(row, lines[row.id], _strip(row, ends)) for row in of_verdict])
        for verdict, of_verdict in by_verdict.items()
    ]
    named = Counter(lines[row.id].divided for row in judged)
    other = {} if reference is None else dict(zip(reference["id"], reference["verdict"], strict=True))
    return _html(
        "claims",
        study=rows[0].study,
        counts=Counts.of(verdicts),
        judged=[group for group in groups if group[0] not in _UNJUDGED],
        rest=[group for group in groups if group[0] in _UNJUDGED],
        notes=[*notes],
        axis=named.most_common(1)[0][0] if named else "",
        differs=len(named) > 1,
        ticks=[(_percent(tick, ends), short(tick)) for tick in log_ticks(*ends, _TICK_GAP)],
        reference=other,
    )


_UNJUDGED: Final = ("not comparable", "not run")
_TICK_GAP: Final = 0.2
"""How far ticks are apart at least, a share of a strip's width."""


def _strip(row: ClaimVerdict, ends: tuple[float, float]) -> dict[str, object] | None:
    """Return where the marks of a claim's ratio lie on the scale, in percent; None where it is no ratio."""
    value = row.noisy_estimate if isnan(row.estimate) else row.estimate
    if row.kind == "difference" or isnan(value):
        return None
    claimed = claimed_range(row)
    return {
        "one": _percent(1.0, ends),
        "claimed": claimed and _span(*claimed, ends),
        "range": _span(row.smallest, row.largest, ends) if row.smallest < row.largest else None,
        "interval": None if isnan(row.low) else _span(row.low, row.high, ends),
        "printed": None if isnan(row.published) else _percent(row.published, ends),
        "dot": _percent(value, ends),
        "noisy": isnan(row.estimate),
    }


def _percent(value: float, ends: tuple[float, float]) -> float:
    """Return where a ratio lies on a logarithmic scale, in percent of its length; at an end what lies beyond it."""
    low, high = ends
    inside = min(max(value, low), high)
    return round(100 * log(inside / low) / log(high / low), 1)


def _span(first: float, last: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return where a range begins and how long it is, in percent."""
    start = _percent(first, ends)
    return start, round(_percent(last, ends) - start, 1)


def _estimate(row: FrameRow) -> str:
    """Return an estimate with its interval; of a difference with its unit and sign."""
    ends = row.estimate, row.low, row.high
    return difference(*ends, row.unit) if row.kind == "difference" else estimate(*ends)


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
    "to_be": words.to_be,
    "apart": apart,
    "plural": plural,
}
TEMPLATES: Final = templates(Path(__file__).parent / "template")


def _html(template: str, **parts: Any) -> HTML:
    """Return a template filled in; whatever it is given is escaped."""
    return HTML(_fill(template, **parts))  # type: ignore[no-untyped-call]


def _fill(template: str, **parts: Any) -> str:
    return TEMPLATES.get_template(f"{template}.html.j2").render(parts)
