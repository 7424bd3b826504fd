"""The sections of the final notebook: figures, tables, claims and findings as HTML.

Begin with `show_study`, all of one study, and `show_overview`. Functions that begin with ``show``
display something in the notebook; those that begin with ``render`` return it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, log
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pandas as pd
from IPython.display import HTML, Markdown, display
from markupsafe import Markup

from benchbook.analysis.aa_check import select_differing
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import (
    VERDICTS,
    ClaimVerdict,
    VerdictCounts,
    list_facts,
    list_not_testable,
)
from benchbook.grid.finished_cells import list_current_refusals
from benchbook.papers import exhibits
from benchbook.papers.exhibits import load_citation
from benchbook.papers.findings import PaperFinding, load_checks, load_findings
from benchbook.plots import claim_lines, ratio_plot
from benchbook.plots.claims_plot import find_claimed_range, find_limits
from benchbook.plots.points import iterate_rows, select_rows
from benchbook.plots.ratio_plot import name_a_over_b
from benchbook.plots.save import save_exhibit, save_for_page
from benchbook.plots.sheet import list_log_ticks
from benchbook.plots.style import PAGE_LAYOUTS
from benchbook.report.merged_run import MergedRun
from benchbook.report.tables import NotebookOutput, fill_template, render_table
from benchbook.report.text import (
    describe_aa_checks,
    describe_progress,
    escape_markdown,
    list_point_values,
    name_run,
    write_answer,
    write_counts,
    write_headlines,
    write_languages,
    write_provenance,
)
from benchbook.studies.catalogue import SLUGS
from benchbook.text.names import name_metric
from benchbook.text.number_format import format_count, format_tick
from benchbook.text.sentences import TERMS

_UNJUDGED: Final = ("not comparable", "not run")
"""Verdicts of claims that were not judged."""

_UNCOUNTED_COLUMNS: Final = {
    "says": "The paper says",
    "where": "Where",
    "words": "Here",
    "fact": "Why it cannot fail here",
    "why": "Why nothing that could be measured would speak for or against it",
}
"""The columns of facts and of claims that are not testable."""

_MAX_VALUES: Final = 100
"""Values of a figure that are in its description."""

_NOISY_ROWS: Final = (
    "Hollow, noisy: other programs were busy in some blocks, and fewer than five others ran. "
    "`benchbook run` without `--noisy` measures them again."
)


def show(*parts: str | NotebookOutput) -> None:
    """Show one thing after the other; a text is Markdown, and an empty one is not shown."""
    for part in parts:
        if part == "":
            continue
        display(Markdown(part) if isinstance(part, str) else part)  # type: ignore[no-untyped-call]


def show_overview(merged: MergedRun) -> None:
    """Show whether the run is over, A/A checks that differ, headlines, and how many claims hold."""
    show(describe_progress(merged))
    checks = merged.analysis.aa
    if len(select_differing(checks)):
        show(describe_aa_checks(checks))
    # The first view of the page has the figure's id already.
    overview = render_exhibit(merged.folder, "overview").data
    overview = overview.replace('id="overview"', 'id="overview-drawn"')
    leads = _render(
        "leads",
        counts=write_counts(merged.analysis.verdicts, name_run(merged)),
        leads=write_headlines(merged),
        holds=Markup(render_verdict_counts(merged.analysis).data),
        overview=Markup(overview),
    )
    show(leads, render_failures(merged.analysis))


def show_study(
    merged: MergedRun, slug: str, *, about: str, own: str, also: Sequence[str | NotebookOutput] = ()
) -> None:
    """Show one study: what came out, its claims, facts, figures and tables, the paper's numbers.

    Parameters
    ----------
    merged
        The run.
    slug
        The study's name.
    about
        What is measured, in a few sentences.
    own
        What is said of the paper's own numbers.
    also
        What only this paper has, shown below its tables.
    """
    languages = write_languages(merged, slug)
    show(render_citation(slug), write_answer(merged, slug), f"{about} {languages}")
    if slug in merged.analysis.studies:
        _show_claims(merged, slug)
        facts = list_facts(merged.analysis.comparisons)
        _show_uncounted(facts, slug, "fact", ", which cannot fail here")
        _show_uncounted(list_not_testable(), slug, "claim", " not testable")
        _show_exhibits(merged, slug, also)
    _show_own_cells(merged, slug)
    show(f"### The paper's own numbers: {slug}", render_own_numbers(slug, own))


def _list_verdict_sheets(slug: str) -> list[str]:
    """Return the figures of a study's verdicts."""
    sheets = []
    for name in exhibits.FIGURES:
        if name.startswith(slug) and exhibits.VERDICT_FIGURE.search(name):
            sheets.append(name)
    return sheets


def _show_claims(merged: MergedRun, slug: str) -> None:
    """Show the claims of a study in lines, and as a figure behind a fold."""
    verdicts = [claim for claim in merged.analysis.verdicts if claim.study == slug]
    reference = merged.reference.verdicts if merged.reference else None
    claims = render_claims(verdicts, merged.analysis.comparisons, reference)
    show(f"### Claims of {slug}", claims)
    # A study with few judged claims leaves its last sheets empty.
    sheets = _list_verdict_sheets(slug)
    drawn = [name for name in sheets if len(pd.read_csv(merged.folder / f"{name}.csv"))]
    figures = [render_exhibit(merged.folder, name) for name in drawn or sheets[:1]]
    show(render_fold("The claims as a figure", figures))


def _show_uncounted(claims: pd.DataFrame, slug: str, noun: str, remark: str) -> None:
    """Show a paper's facts, or its claims that are not testable; nothing without one."""
    of_study = select_rows(claims, study=slug)
    if not of_study.empty:
        columns = [name for name in _UNCOUNTED_COLUMNS if name in of_study]
        table = render_table(of_study[columns].rename(columns=_UNCOUNTED_COLUMNS))
        summary = f"{format_count(len(of_study), noun)}{remark}: not counted"
        show(render_fold(summary, [table]))


def _show_exhibits(merged: MergedRun, slug: str, also: Sequence[str | NotebookOutput]) -> None:
    """Show a study's other figures and its tables, and then what only this paper has."""
    sheets = _list_verdict_sheets(slug)
    of_study = [name for name in exhibits.FIGURES if name.startswith(f"{slug}_")]
    figures = [name for name in of_study if name not in sheets]
    # Where grids show the paper's own figures at once, those are one click away.
    has_grids = any(name in exhibits.GRIDS for name in figures)
    own = [name for name in figures if has_grids and name.startswith(f"{slug}_fig")]
    drawn = [render_exhibit(merged.folder, name) for name in figures if name not in own]
    show(f"### Figures of {slug}", render_drawings(drawn))
    if own:
        folded = [render_exhibit(merged.folder, name) for name in own]
        show(render_fold("The paper's own figures, one operation each", folded))
    tables = [name for name in exhibits.TABLES if name.startswith(f"{slug}_")]
    rendered = [render_exhibit(merged.folder, name) for name in tables]
    show(f"### Tables of {slug}", *rendered, *also)


def _show_own_cells(merged: MergedRun, slug: str) -> None:
    """Show a study's cells with other levels or your records; nothing without one."""
    rows = [row for row in merged.own_comparisons if row.study == slug]
    refusals = [] if merged.is_reference else list_current_refusals(slug)
    if not rows and not refusals:
        return
    # What was refused.
    heading = f"### Your own cells of {slug}"
    if refusals:
        lines = [f"- skipped: {escape_markdown(reason)}" for reason in refusals]
        heading = "\n".join([heading, "", *lines])
    if not rows:
        show(heading)
        return

    # The ratios as a figure and as a table.
    name = f"{slug}_own"
    drawn = ratio_plot.draw_own_cells(rows, slug)
    provenance = exhibits.get_provenance(merged.own, (slug,), merged.profile)
    save_exhibit(drawn, merged.folder / name, provenance)
    save_for_page(drawn, merged.folder / exhibits.PAGE_FOLDER, name)
    table, shared = _list_own_ratios(rows)
    caption = (
        "Measured with a level or a file that this profile does not have; "
        "no claim is judged by them."
    )
    if shared:
        caption = f"{caption} All rows: {escape_markdown(', '.join(shared))}."
    if any(row.noisy for row in rows):
        caption = f"{caption} {_NOISY_ROWS}"
    show(f"{heading}\n\n{caption}", render_exhibit(merged.folder, name), render_table(table))


def _list_own_ratios(comparisons: Sequence[Comparison]) -> tuple[pd.DataFrame, list[str]]:
    """Return one row per comparison, and the levels that all share, which no row repeats."""
    levels, shared = ratio_plot.list_own_levels(comparisons)
    rows = []
    for row, of_row in zip(comparisons, levels, strict=True):
        quantity = f"{name_metric(row.metric)}, {row.operation}, {row.role}"
        rows.append(
            {
                "Ratio": name_a_over_b(row),
                "Quantity": quantity.replace("_", " "),
                "Levels": ", ".join(of_row),
                "Here": (row.words or row.reason) + (", noisy" if row.noisy else ""),
                "Blocks": row.blocks - row.noisy,
                "Noisy blocks": row.noisy,
            }
        )
    table = pd.DataFrame(rows)
    if not table["Noisy blocks"].any():
        table = table.drop(columns="Noisy blocks")
    return table, shared


def render_citation(slug: str) -> HTML:
    """Render which paper a study is about."""
    paper = load_citation(slug)
    return _render("reference", paper=paper, authors=", ".join(paper.authors))


def render_fold(summary: str, parts: Sequence[NotebookOutput]) -> HTML:
    """Render something behind a line that opens it."""
    shown = Markup("\n").join(Markup(part.data) for part in parts)
    fold = Markup('<details class="rest"><summary>{}</summary>{}</details>')
    return HTML(fold.format(summary, shown))  # type: ignore[no-untyped-call]


def render_drawings(figures: Sequence[NotebookOutput]) -> HTML:
    """Render figures in columns; on a narrow screen they are below one another."""
    shown = Markup("\n").join(Markup(figure.data) for figure in figures)
    columns = Markup('<div class="drawings">{}</div>')
    return HTML(columns.format(shown))  # type: ignore[no-untyped-call]


def render_own_numbers(slug: str, own: str) -> HTML:
    """Render what does not follow from a paper's own numbers, behind its count."""
    checks, findings = load_checks(slug), load_findings(slug)
    parts = [render_findings(findings), render_checks(checks)]
    return _render(
        "own_numbers",
        study=slug,
        own=own,
        findings=len(findings),
        parts=[Markup(part.data) for part in parts],
        disagree=int((~checks["agrees"]).sum()),
        recomputed=len(checks),
    )


def render_findings(findings: Sequence[PaperFinding]) -> HTML:
    """Render what does not follow from a paper's own numbers, one card per finding."""
    return _render("findings", findings=findings)


def render_checks(table: pd.DataFrame) -> HTML:
    """Render `benchbook.papers.findings.load_checks`; the checks that agree are folded."""
    differ = list(iterate_rows(table[~table["agrees"].astype(bool)]))
    agree = list(iterate_rows(table[table["agrees"].astype(bool)]))
    return _render("checks", differ=differ, agree=agree)


def render_verdict_counts(analysis: Analysis) -> HTML:
    """Render how many claims of each study have which verdict; without verdicts that none has."""
    counts = claim_lines.count_verdicts(analysis.verdicts).to_dict("records")
    given = [verdict for verdict in VERDICTS if any(row[verdict] for row in counts)]
    return _render(
        "holds",
        rows=counts,
        verdicts=given,
        all=claim_lines.ALL_STUDIES,
        ran={*analysis.studies},
    )


def render_failures(analysis: Analysis) -> HTML:
    """Render the claims that do not hold, and how many of the papers' own numbers disagree."""
    failed = [
        (claim, claim_lines.write_line(claim))
        for claim in claim_lines.list_failed(analysis.verdicts)
    ]
    checks = load_checks()
    counts = checks.loc[~checks["agrees"], "study"].value_counts()
    return _render(
        "failed",
        failed=failed,
        findings=len({claim.finding for claim, _ in failed}),
        disagree={study: int(counts[study]) for study in SLUGS if study in counts},
        recomputed=len(checks),
    )


def render_claims(
    claims: Sequence[ClaimVerdict],
    comparisons: Iterable[Comparison],
    reference: Iterable[ClaimVerdict] | None = None,
) -> HTML:
    """Render a study's claims, one line per claim, by verdict; those not judged are folded.

    Parameters
    ----------
    claims
        Those of one study.
    comparisons
        Of all claims.
    reference
        Verdicts of the reference run, shown where they differ; None: they are not shown.
    """
    # A line per claim, by verdict. Where a claim has no interval yet, its line is folded.
    notes = claim_lines.number_notes(comparisons, claims)
    lines = {claim.id: claim_lines.write_line(claim, notes.values()) for claim in claims}
    by_verdict: dict[str, list[ClaimVerdict]] = {}
    early = []
    for claim in claim_lines.sort_by_verdict(claims):
        if claim.verdict == "undecided" and 0 < claim.blocks < MIN_BLOCKS:
            early.append(claim)
        else:
            by_verdict.setdefault(claim.verdict, []).append(claim)

    # The most frequent ratio above the fold is named once, over the scale that all judged share.
    judged = [claim for claim in claims if claim.verdict not in _UNJUDGED]
    shown = [claim for claim in judged if claim not in early] or judged
    drawn = [claim for claim in shown if claim.kind != "difference"]
    ratios = Counter(lines[claim.id].divided for claim in drawn)
    axis = max(drawn, key=lambda claim: ratios[lines[claim.id].divided], default=None)
    named = {claim.id: _name_beside_axis(claim, axis) for claim in claims}
    ends = find_limits(judged)
    # Two ticks are a fifth of the scale apart, or more.
    ticks = [(_place_ratio(tick, ends), format_tick(tick)) for tick in list_log_ticks(*ends, 0.2)]
    rows = {
        claim.id: (claim, lines[claim.id], _place_marks(claim, ends), named[claim.id])
        for claim in claims
    }
    groups = []
    for verdict, of_verdict in by_verdict.items():
        groups.append((verdict, [rows[claim.id] for claim in of_verdict]))
    in_reference = {claim.id: claim.verdict for claim in reference or ()}
    return _render(
        "claims",
        study=claims[0].study,
        counts=VerdictCounts.count(claims),
        judged=[group for group in groups if group[0] not in _UNJUDGED],
        early=[rows[claim.id] for claim in early],
        least=MIN_BLOCKS,
        rest=[group for group in groups if group[0] in _UNJUDGED],
        notes=[*notes],
        # Not every paper prints numbers that a ratio can be made of.
        published=any(lines[claim.id].published for claim in judged),
        axis=claim_lines.name_ratio(axis) if axis else "",
        differs=len({lines[claim.id].divided for claim in shown}) > 1,
        ticks=ticks,
        terms=TERMS,
        reference=in_reference,
    )


def _name_beside_axis(claim: ClaimVerdict, axis: ClaimVerdict | None) -> str:
    """Return of a claim's ratio what the claim of the scale's heading does not have."""
    if axis is None or (claim.a, claim.b, claim.kind) != (axis.a, axis.b, axis.kind):
        return claim_lines.name_ratio(claim)
    return "" if claim.metric == axis.metric else name_metric(claim.metric)


def _place_marks(claim: ClaimVerdict, ends: tuple[float, float]) -> dict[str, object] | None:
    """Return where the marks of a claim's ratio are on the scale, in percent; None without one."""
    value = claim.noisy_estimate if isnan(claim.estimate) else claim.estimate
    if claim.kind == "difference" or isnan(value):
        return None
    claimed = find_claimed_range(claim)
    has_range = claim.smallest < claim.largest
    return {
        "one": _place_ratio(1.0, ends),
        "claimed": claimed and _place_range(*claimed, ends),
        "range": _place_range(claim.smallest, claim.largest, ends) if has_range else None,
        "interval": None if isnan(claim.low) else _place_range(claim.low, claim.high, ends),
        "printed": None if isnan(claim.published) else _place_ratio(claim.published, ends),
        "dot": _place_ratio(value, ends),
        "noisy": isnan(claim.estimate),
    }


def _place_ratio(value: float, ends: tuple[float, float]) -> float:
    """Return where a ratio is on a logarithmic scale, in percent; beyond an end, at the end."""
    low, high = ends
    inside = min(max(value, low), high)
    return round(100 * log(inside / low) / log(high / low), 1)


def _place_range(first: float, last: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return where a range begins and how long it is, in percent."""
    start = _place_ratio(first, ends)
    return start, round(_place_ratio(last, ends) - start, 1)


def render_exhibit(folder: Path, name: str) -> NotebookOutput:
    """Render a drawn figure or a saved table; its notes, where there was nothing to draw."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    if rows.empty:
        notes = [f"{about['title']}: {note}" for note in about["notes"]]
        return _render("figure", wide="", notes=notes)
    notes = [note for note in about["notes"] if note != about.get("left_out")]
    if name in exhibits.TABLES:
        return render_table(rows, fold=about["title"], notes=notes, name=name)

    missing = {column: [""] for column in ("value", "low", "high")}
    points = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=missing)
    notes.append(about.get("after", ""))
    sentences = ". ".join(note[0].upper() + note[1:].rstrip(".") for note in notes if note)

    # A drawing for each layout of the page. The committed run has one of each figure.
    page = folder / exhibits.PAGE_FOLDER
    paths = {layout: page / f"{name}.{layout}.svg" for layout in PAGE_LAYOUTS}
    if not paths["wide"].is_file():
        paths = {"wide": folder / f"{name}.svg"}
    drawings = dict.fromkeys(PAGE_LAYOUTS, "")
    for layout, path in paths.items():
        drawings[layout] = encode_drawing(path.read_text(encoding="utf-8"))
    return _render(
        "figure",
        name=name,
        title=about["title"],
        result=about.get("result", ""),
        whole="_" not in name or name in exhibits.GRIDS or exhibits.VERDICT_FIGURE.search(name),
        values=list_point_values(points),
        most=_MAX_VALUES,
        command=_write_figure_command(name, about) if name in exhibits.FIGURES else "",
        provenance=write_provenance(about),
        notes=f"{sentences}." if sentences else "",
        **drawings,
    )


def _write_figure_command(name: str, about: Mapping[str, Any]) -> str:
    """Return the command that writes a figure for a manuscript."""
    run = "--reference" if about["reference"] else f"--profile {about['profile']}"
    return f"benchbook figure {name} {run}"


def encode_drawing(svg: str) -> str:
    """Return a drawing as the address of a picture, for ``src`` and ``srcset``.

    It is a picture, because JupyterLab leaves SVG out of a notebook that it does not trust.
    """
    # These characters mean themselves in an address.
    safe = "!$&'()*+,-./:;=?@[]_{|}~<>"
    return f"data:image/svg+xml,{quote(svg.replace(chr(34), chr(39)), safe=safe)}"


def _render(template: str, **parts: Any) -> HTML:
    """Return a template filled in; it escapes what it is given."""
    return HTML(fill_template(template, **parts))  # type: ignore[no-untyped-call]
