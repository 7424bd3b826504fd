"""Sentences of the final notebook, in Markdown, from what was measured.

Begin with `write_answer` and `write_headlines`, what came out of a study. Texts that results bring
go through `escape_markdown`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, Final

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.aa_check import select_differing
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.forecast import compute_detectable_ratio
from benchbook.analysis.intervals import CONFIDENCE, MIN_BLOCKS
from benchbook.analysis.runs import Analysis
from benchbook.analysis.study_means import find_unchecked
from benchbook.analysis.verdicts import DECIDED, VERDICTS, ClaimVerdict, VerdictCounts
from benchbook.papers import exhibits
from benchbook.papers.exhibits import Citation, load_citation
from benchbook.papers.findings import PaperFinding
from benchbook.plots.claim_lines import write_line
from benchbook.plots.points import iterate_rows, select_rows
from benchbook.plots.provenance import describe_suites, list_environments
from benchbook.registry.products import name_level
from benchbook.report.merged_run import MergedRun, count_cells
from benchbook.studies.catalogue import SLUGS
from benchbook.text.names import LANGUAGES
from benchbook.text.number_format import (
    format_bounds,
    format_count,
    format_estimate,
    format_number,
    split_interval,
)
from benchbook.text.sentences import phrase_verdict

_RATIO_MARK: Final = "\0"
"""Stands for the ratio of a headline's sentence, which the page sets apart."""

_FINDING_KINDS: Final = {
    "contradiction": "where two places cannot both be right",
    "unsupported": "sentences that the numbers do not carry",
    "not shown": "of what a reader needs and does not get",
    "implausible": "that no machine could have measured",
    "misprint": "misprints",
}


def escape_markdown(text: str) -> str:
    """Return a text for a sentence in Markdown, where each of its signs means itself."""
    return re.sub(r"[^\w\s]|_", lambda sign: f"&#{ord(sign[0])};", text)


@dataclass(frozen=True)
class StudyHeadline:
    """What came out of a study: a sentence around a ratio, and its evidence below."""

    study: str
    reference: Citation
    asks: str
    before: str
    ratio: str = ""
    after: str = ""
    claim: str = ""  # its id
    says: str = ""  # what the claim says
    verdict: str = ""
    about: str = ""
    measured: str = ""  # how, and where
    command: str = ""  # that measures it, where it did not run


def write_headlines(merged: MergedRun) -> list[StudyHeadline]:
    """Return the headline of each study with the verdict on its claim; without one, why."""
    return [_write_headline(merged, study) for study in SLUGS]


def _write_headline(merged: MergedRun, study: str) -> StudyHeadline:
    asks = exhibits.HEADLINES[study].asks
    headline = StudyHeadline(study, load_citation(study), asks, before="")
    claim = exhibits.judge_headline(merged.analysis, study)
    line = write_line(claim)
    if not line.here:
        why = "What its main claim compares did not run:"
        command = f"benchbook claims {exhibits.HEADLINES[study].claim}"
        if study not in merged.analysis.studies:
            why = "Not run in this profile:"
            command = f"benchbook run {study} --profile {merged.profile}"
        about = ""
        if merged.reference:
            in_reference = exhibits.judge_headline(merged.reference, study)
            if not isnan(in_reference.estimate):
                says = exhibits.write_headline(study, in_reference)
                about = f"In the reference run: {says}"
        return replace(headline, before=why, command=command, about=about)

    # The sentence in two parts, around the ratio.
    sentence = exhibits.write_headline(study, claim, _RATIO_MARK)
    before, _, after = sentence.partition(_RATIO_MARK)
    ratio, *interval = split_interval(line.here)
    evidence = [
        claim.words,
        line.paper or "the paper prints no such numbers",
        line.size,
    ]
    if merged.reference:
        reference = write_line(exhibits.judge_headline(merged.reference, study))
        place = f" at {reference.place}" if reference.place != line.place else ""
        if reference.here:
            evidence.append(f"in the reference run {reference.here}{place}")
    return replace(
        headline,
        before=before,
        ratio=ratio,
        after=" ".join(["", *interval, f"times{after}"]),
        claim=claim.id,
        says=line.says,
        verdict=claim.verdict,
        about="; ".join(filter(None, evidence)),
        measured="; ".join(filter(None, [line.measured, line.place])),
    )


def write_counts(verdicts: Iterable[ClaimVerdict], run: str) -> str:
    """Return in a sentence how many claims a run decides, and how."""
    counts = VerdictCounts.count(verdicts)
    held = counts.by_verdict["holds"] + counts.by_verdict["mostly holds"]
    failed, mixed = counts.by_verdict["does not hold"], counts.by_verdict["mixed"]
    parts = [f"In {run} {held} of the papers' {counts.claims} claims hold or mostly hold"]
    if failed:
        parts.append(f"{failed} {'does' if failed == 1 else 'do'} not")
    if mixed:
        parts.append(f"and {mixed} {'is' if mixed == 1 else 'are'} mixed")
    others = [f"{name}: {counts.by_verdict[name]}" for name in VERDICTS if name not in DECIDED]
    return f"{', '.join(parts)}. {'; '.join(others).capitalize()}."


def write_answer(merged: MergedRun, study: str) -> str:
    """Return a paper's question and its answer, or the command of a study that did not run."""
    headline = _write_headline(merged, study)
    asked = f"**The paper asks:** {headline.asks}"
    if not headline.claim:
        return f"{asked}<br>\n**Here:** {headline.before} `{headline.command}`."
    sentence = f"{headline.before}**{headline.ratio}**{headline.after}"
    verdict = f'The claim "{headline.says}" **{phrase_verdict(headline.verdict)}**'
    return (
        f"{asked}<br>\n**Here:** {sentence}<br>\n{verdict}: {headline.about}; {headline.measured}."
    )


def write_languages(merged: MergedRun, study: str) -> str:
    """Return in which languages a study ran, and with which codecs, drivers or databases.

    ``Measured in Java (Jackson, JAXB), as the paper, and in Python (lxml, orjson).``
    """
    rows = select_rows(merged.means, study=study)
    if rows.empty:
        return ""
    # The paper's own language comes first.
    own = claim_files.find_paper_language(study)
    languages = sorted(rows["language"].dropna().unique(), key=lambda language: language != own)
    parts = []
    for language in languages:
        of_language = rows[rows["language"] == language]
        used = next(kind for kind in ("codec", "driver", "database") if rows[kind].notna().any())
        levels = sorted({*of_language[used].dropna()} - {"noop"})
        names = ", ".join(escape_markdown(name_level(used, level)) for level in levels)
        paper = ", as the paper" if language == own != "python" else ""
        parts.append(f"{LANGUAGES[language]} ({names}){paper}")
    return f"Measured in {', and in '.join(parts)}."


def describe_cells(merged: MergedRun) -> str:
    """Describe the run in two or three sentences."""
    table = count_cells(merged).set_index("Study")
    total, done, failed = (int(table[name].sum()) for name in ("Cells", "Done", "Failed"))
    values = f"{table['Values'].sum():,} values"
    if merged.is_reference:
        text = (
            f"**{done:,} cells** of the profile `{merged.profile}` were measured: {values}. It "
            f"plans {total:,}, and adds a block only where a claim is undecided. Several versions "
            "of the code measured them. A cell has the version number of all that times it, and "
            "blocks of different numbers count together only where `grid/pooled.yaml` says why "
            "the same is timed. "
        )
    else:
        cells = f"**{done:,} of {total:,} cells** are done, {failed} failed"
        text = f"Profile `{merged.profile}`: {cells}; {values}. "
    if merged.beyond:
        verb = "is" if merged.beyond == 1 else "are"
        cells = format_count(merged.beyond, "finished cell")
        text += f"{cells} beyond this profile {verb} judged, too. "
    without = [study for study in SLUGS if not table.loc[study, "Done"]]
    if without:
        missing = f"Nothing was measured of {', '.join(without)}"
        text += f"{missing}: there the papers' numbers stand alone. "
    unchecked = sorted(merged.means["database"][find_unchecked(merged.means)].unique())
    if unchecked:
        names = escape_markdown(", ".join(unchecked))
        text += f"These databases were not checked on their servers, and decide no claim: {names}."
    return text


def describe_progress(merged: MergedRun) -> str:
    """Say that a run is not over and what its intervals are; empty when it is."""
    left = [cell for cell in merged.cells if cell.state == "todo" and not cell.missing]
    if not left or merged.is_reference:
        return ""
    done = sum(cell.state == "done" for cell in merged.cells)
    return (
        f"**This run is not over:** {done:,} of {len(merged.cells):,} cells are done. An interval "
        f"needs {MIN_BLOCKS} blocks; where there are fewer, what is shown is the mean so far, and "
        "no claim is judged on it."
    )


def name_run(merged: MergedRun) -> str:
    """Return the run in a sentence: ``the reference run``, ``a run of the profile quick``."""
    return "the reference run" if merged.is_reference else f"a run of the profile {merged.profile}"


def list_absent_products(merged: MergedRun) -> str:
    """Return a line per product that is not on this machine; none for the committed run."""
    lines = []
    for skipped in merged.skipped:
        left_out = f"left out of {' and '.join(skipped.studies)}: {skipped.what} ({skipped.why})"
        lines.append(f"- not here, and so {left_out}")
    return "\n".join(lines)


def describe_trust(checks: list[Comparison]) -> str:
    """Return whether the machine can be trusted, and what the A/A checks say."""
    answer = "We do not know."
    if not all(isnan(row.low) for row in checks):
        answer = "Yes, as far as it was tested."
    if select_differing(checks):
        answer = "Not in everything."
    return f"**{answer}** {describe_aa_checks(checks)}"


def describe_hosts(analysis: Analysis) -> str:
    """Return in how many decided comparisons all hosts agree; empty for a single host."""
    agreeing, shared = analysis.count_agreeing_hosts()
    if not shared:
        return ""
    count = f"{agreeing:,} of the {format_count(shared, 'decided comparison')}"
    return f"In {count} that ran on several hosts, all hosts have a on the same side of b."


def describe_aa_checks(checks: Iterable[Comparison]) -> str:
    """Describe the A/A checks of `benchbook.analysis.Analysis.aa`."""
    tested = [row for row in checks if not isnan(row.low)]
    if not tested:
        few = "No A/A check ran on five blocks or more"
        return f"{few}, so we do not know how steady the machine is."
    different = select_differing(tested)
    if not different:
        agreed = f"A/A: the same cell, measured twice, agreed in all {len(tested)} checks"
        ratios = [compute_detectable_ratio(row) for row in tested]
        least_precise = pd.Series(ratios).max()
        if isnan(least_precise):
            return f"{agreed}."
        shown = format_number(least_precise, digits=2)
        return f"{agreed}; the least precise of them would show a ratio beyond {shown}."
    names = ", ".join(f"{row.study} ({row.metric}, {LANGUAGES[row.language]})" for row in different)
    counts = f"differed in {len(different)} of {len(tested)} checks"
    return (
        f"**A/A: the same cell, measured twice, {counts}: {names}.** "
        "Among some twenty such intervals one in five runs has one that excludes 1 by chance."
    )


def describe_noise(cells: pd.DataFrame) -> str:
    """Return how many cells were noisy, of `benchbook.report.merged_run.list_loads`."""
    known = cells[cells["load"].notna()]
    if known.empty:
        return "The load of other programs was not measured."
    load = known["load"]
    noisy = int(known["noisy"].sum())
    sentence = f"Other programs used {load.median():.2f} processors in the median, "
    sentence += f"{load.max():.2f} at most. **{noisy} of {len(known)} cells were noisy**"
    return f"{sentence}: they are left out of every comparison." if noisy else f"{sentence}."


def describe_durability(merged: MergedRun) -> str:
    """Return with which durability the databases ran, and whether the disk allows a statement."""
    levels = sorted(set(merged.means["durability"].dropna()))
    if not levels:
        return "No store ran."
    text = f"Stores ran with durability {escape_markdown(', '.join(levels))}. "
    text += "MongoDB's default does not wait for the disk, PostgreSQL's does."
    environments = list_environments(merged.means)
    if any(environment.get("file_system_in_memory") for environment in environments):
        text += " The data lay in memory (tmpfs): nothing is said of durability."
    return text


def describe_null_baseline(shares: pd.DataFrame) -> str:
    """Describe the harness's own time, of `benchbook.papers.crud.compute_null_baseline`."""
    if shares.empty:
        missing = "No database ran beside the one that stores nothing"
        return f"{missing}, so the harness's own cost is not known."
    most = next(iterate_rows(shares.sort_values("share", ascending=False)))
    share = f"{format_number(100 * most.share, digits=2)} %"
    return (
        f"The loop that calls no database took at most {share} of a database's time on a single "
        f"node ({most.database}, {most.operation}, n = {most.n:,}). It is the harness's own cost."
    )


def describe_t_tests(table: pd.DataFrame) -> str:
    """Return how many comparisons were tested and how many differ.

    ``table`` is that of `benchbook.analysis.verdicts.list_t_tests`.
    """
    if table.empty:
        return "Nothing was tested: a test takes five blocks of both sides."
    different = int((table["p_holm"] < 1 - CONFIDENCE).sum())
    counts = f"**{len(table):,} comparisons were tested; {different} differ**"
    sentence = f"{counts} at 1 % after Holm's correction."
    exact = int(table["p"].isna().sum())
    return f"{sentence} In {exact} the blocks do not vary: they have no p." if exact else sentence


def describe_recomputations(
    tally: pd.DataFrame, coverage: pd.DataFrame, findings: Sequence[PaperFinding]
) -> str:
    """Return how many printed numbers were recomputed, how many agree, and what does not follow.

    Parameters
    ----------
    tally
        As `benchbook.papers.findings.count_checks` returns it.
    coverage
        As `benchbook.papers.findings.load_coverage` returns it.
    findings
        What does not follow from the papers' own numbers.
    """
    total, agree, disagree = (
        int(tally[name].sum()) for name in ("recomputed", "agree", "disagree")
    )
    values = coverage.sum(numeric_only=True)
    kinds = Counter(finding.kind for finding in findings)
    listed = ", ".join(f"{count} {_FINDING_KINDS[kind]}" for kind, count in kinds.most_common())
    return (
        f"Of {values['printed']} printed values {values['recomputed']} follow from others, "
        f"{values['used']} more serve to compute them or an ordering, "
        f"{values['alone']} stand alone and {values['texts']} are text. "
        f"**{total} numbers, bounds and orderings were recomputed: {agree} agree, "
        f"{disagree} disagree.** What does not follow is told in **{len(findings)} findings**: "
        f"{listed}."
    )


def write_provenance(about: Mapping[str, Any]) -> str:
    """Return a figure's provenance in a line."""
    days = list(dict.fromkeys(about["measured"]))
    parts = [
        f"Measured {' to '.join(days)}" if days else "",
        format_count(len(about["blocks"]), "block") if about["blocks"] else "",
        about["host_cpu"],
        describe_suites(about["measured_by"]),
    ]
    line = f"{', '.join(filter(None, parts))}; drawn by {about['drawn_by']}."
    left_out = about.get("left_out", "")
    return f"{line} {left_out[:1].upper()}{left_out[1:]}." if left_out else line


def list_point_values(points: pd.DataFrame) -> list[tuple[str, str]]:
    """Return each point of a figure in words: where it is, and its value.

    This machine's has its interval and its blocks.
    """
    texts = []
    for row in iterate_rows(points):
        where = ", ".join(str(name) for name in (row.panel, row.level, row.series) if name != "")
        unit = "" if row.unit == "ratio" else str(row.unit)
        if isnan(row.value):
            value = f"bounds ({format_bounds(row.low, row.high)}) {unit}".rstrip()
        else:
            value = format_estimate(row.value, row.low, row.high, unit)
        if row.blocks:
            value = f"{value}, {format_count(int(row.blocks), 'block')}"
        texts.append((where, f"{row.source} {value}"))
    return texts
