"""Sentences of the final notebook in Markdown, computed from what was measured; texts of results go through `plain`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Final

import pandas as pd

from benchbook import registry, studies
from benchbook.analysis import Counts, claim_files
from benchbook.analysis.aa import differ
from benchbook.analysis.intervals import CONFIDENCE
from benchbook.digits import apart, between, estimate
from benchbook.papers import Reference, exhibits, reference
from benchbook.papers.recomputed import Finding
from benchbook.plots import names
from benchbook.plots.claim_lines import NOISY, write_line
from benchbook.plots.names import STACKS
from benchbook.plots.points import FrameRow, each, where
from benchbook.plots.provenance import environments
from benchbook.report.merge import Merged, ran

FINDINGS = {
    "contradiction": "where two places cannot both be right",
    "unsupported": "sentences that the numbers do not carry",
    "not shown": "of what a reader needs and does not get",
    "implausible": "that no machine could have measured",
    "misprint": "misprints",
}
"""What each kind of finding is, in print."""


@dataclass(frozen=True)
class Lead:
    """What came out of a study, as the report begins with it: a sentence around a ratio, and its evidence below."""

    study: str
    reference: Reference
    asks: str
    before: str
    ratio: str = ""
    after: str = ""
    claim: str = ""  # its id
    verdict: str = ""
    about: str = ""
    command: str = ""  # that measures it, where it did not run


_GAP: Final = "\0"
"""Where a sentence's ratio stands, which is set apart."""


def leads(merged: Merged) -> list[Lead]:
    """Return the headline of each study with the verdict on its claim; where there is none, why."""
    return [_lead(merged, study) for study in studies.SLUGS]


def _lead(merged: Merged, study: str) -> Lead:
    lead = Lead(study, reference(study), exhibits.HEADLINES[study].asks, before="")
    claim = exhibits.judge_headline(merged.analysis, study)
    line = write_line(claim)
    if not line.here:
        why, command = _missing(merged, study)
        return replace(lead, before=why, command=command, about=_elsewhere(merged, study))
    before, _, after = exhibits.say_headline(study, claim, _GAP).partition(_GAP)
    ratio, *interval = apart(line.here)
    printed = f"printed {line.printed}" if line.printed else "the paper prints no ratio"
    evidence = [f"99 % interval {interval[0].strip('()')}" if interval else "", printed, line.measured, line.place]
    return replace(
        lead,
        before=before,
        ratio=f"{ratio} times",
        after=after,
        claim=claim.id,
        verdict=claim.verdict,
        about="; ".join(filter(None, evidence)) + ".",
    )


def answer(merged: Merged, study: str) -> str:
    """Return what a paper asked and what came out, in Markdown; of a study that did not run, its command."""
    asked = f"**The paper asks:** {exhibits.HEADLINES[study].asks}"
    claim = exhibits.judge_headline(merged.analysis, study)
    line = write_line(claim)
    if not line.here:
        why, command = _missing(merged, study)
        return f"{asked}<br>\n**Here:** {why} `{command}`."
    said = exhibits.say_headline(study, claim, f"**{line.here} times**")
    place = line.place if line.measured != NOISY else f"{NOISY}; {line.place}"
    printed = f"The paper prints {line.printed}" if line.printed else "The paper prints no ratio"
    return f"{asked}<br>\n**Here:** {said} {printed}; its claim **{to_be(claim.verdict)}** ({place})."


def to_be(verdict: str) -> str:
    """Return a verdict as what a claim does or is: ``holds``, ``is undecided``."""
    return verdict if verdict.endswith(("holds", "hold")) else f"is {verdict}"


_DEFAULT: Final = "python"
"""The language that counts where a paper's own is none of ours."""


def ran_in(merged: Merged, study: str) -> str:
    """Return in which languages a study ran, and with what: ``In Java (Jackson, JAXB), as the paper, and in ...``."""
    rows = where(merged.means, study=study)
    if rows.empty:
        return ""
    parts = []
    own = claim_files.stack(study)
    for language in sorted(rows["language"].dropna().unique(), key=lambda language: language != own):
        of_language = rows[rows["language"] == language]
        used = next(kind for kind in ("codec", "driver", "database") if rows[kind].notna().any())
        named = [_printed_name(used, name) for name in sorted(of_language[used].dropna().unique())]
        paper = ", as the paper" if language == own != _DEFAULT else ""
        parts.append(f"{STACKS[language]} ({', '.join(filter(None, named))}){paper}")
    return f"Measured in {', and in '.join(parts)}."


def _printed_name(kind: str, name: str) -> str:
    """Return a codec, driver or database as it is printed; nothing of the loop without a database."""
    if kind == "database":
        return "" if name == "noop" else plain(names.database(name))
    return plain(names.codec(name))


def _missing(merged: Merged, study: str) -> tuple[str, str]:
    """Return why a study has no headline, and the command that measures it or says more."""
    command = f"benchbook run {study} --profile {merged.profile}"
    if study not in merged.analysis.measured:
        return "Not run in this profile:", command
    return "What its main claim compares did not run:", f"benchbook claims {exhibits.HEADLINES[study].claim}"


def _elsewhere(merged: Merged, study: str) -> str:
    """Return the headline of the reference run; empty where there is none."""
    claim = exhibits.judge_headline(merged.reference, study) if merged.reference else None
    if claim is None or isnan(claim.estimate):
        return ""
    return f"In the reference run: {exhibits.say_headline(study, claim)}"


def plain(text: str) -> str:
    """Return a text of results for a sentence in Markdown, where each of its signs means itself."""
    return re.sub(r"[^\w\s]|_", lambda sign: f"&#{ord(sign[0])};", text)


def headline(merged: Merged) -> str:
    """Return what ran, in two or three sentences."""
    table = ran(merged).set_index("Study")
    without = [study for study in studies.SLUGS if not table.loc[study, "Done"]]
    total, done, failed = (int(table[name].sum()) for name in ("Cells", "Done", "Failed"))
    sentences = f"Profile `{merged.profile}`: **{done:,} of {total:,} cells** are done, {failed} failed; "
    sentences += f"{table['Values'].sum():,} values. "
    if without:
        sentences += f"Nothing was measured of {', '.join(without)}: there the papers' numbers stand alone. "
    return sentences + _experimental(merged.means)


def absent(merged: Merged) -> str:
    """Return a line for each product that is not here; of the committed run none, which had others."""
    return "\n".join(
        f"- not here, and so left out of {' and '.join(product.studies)}: {product.product} ({product.why})"
        for product in merged.skipped
    )


def _experimental(means: pd.DataFrame) -> str:
    databases = sorted(means["database"].dropna().unique())
    experimental = [database for database in databases if registry.is_experimental(database)]
    if not experimental:
        return ""
    return f"These adapters are experimental, never run against the product: {plain(', '.join(experimental))}."


def aa(checks: pd.DataFrame) -> str:
    """Return what the A/A checks say, `benchbook.analysis.aa_checks`."""
    tested = checks[checks["low"].notna()]
    if tested.empty:
        return "No A/A check ran on five blocks or more, so we do not know how steady the machine is."
    apart = differ(tested)
    if apart.empty:
        return f"A/A: the same cell, measured twice, agreed in all {len(tested)} checks."
    named = ", ".join(f"{row.study} ({row.metric}, {STACKS[row.language]})" for row in each(apart))
    return (
        f"**A/A: the same cell, measured twice, differed in {len(apart)} of {len(tested)} checks: {named}.** "
        "Among some twenty such intervals one in five runs has one that excludes 1 by chance."
    )


def trust(checks: pd.DataFrame) -> str:
    """Return whether the machine can be trusted, in a first sentence, and what the A/A checks say."""
    tested = checks[checks["low"].notna()]
    answer = "Yes, as far as it was tested." if len(tested) else "We do not know."
    if len(differ(tested)):
        answer = "Not in everything."
    return f"**{answer}** {aa(checks)}"


def noise(cells: pd.DataFrame) -> str:
    """Return how many cells other programs disturbed; of `benchbook.report.merge.noise`."""
    known = cells[cells["load"].notna()]
    if known.empty:
        return "The load of other programs was not measured."
    noisy = int(known["noisy"].sum())
    sentence = f"Other programs used {known['load'].median():.2f} processors in the median, "
    sentence += f"{known['load'].max():.2f} at most. **{noisy} of {len(known)} cells were noisy**"
    return f"{sentence}: they are left out of every comparison." if noisy else f"{sentence}."


def durability(merged: Merged) -> str:
    """Return which durability the stores ran with, and whether the disk allows a word on it."""
    levels = sorted(set(merged.means["durability"].dropna()))
    if not levels:
        return "No store ran."
    sentences = f"Stores ran with durability {plain(', '.join(levels))}. "
    sentences += "MongoDB's default does not wait for the disk, PostgreSQL's does."
    in_memory = any(environment.get("file_system_in_memory") for environment in environments(merged.means))
    return sentences + (" The data lay in memory (tmpfs): nothing is said of durability." if in_memory else "")


def verdicts(table: pd.DataFrame) -> str:
    """Return how many claims are decided, and how; of `benchbook.analysis.verdicts`."""
    counts = Counts.of(table)
    return f"**{counts.decided} of {counts.claims} claims are decided.** {counts}."


def tests(table: pd.DataFrame) -> str:
    """Return how many comparisons were tested and how many differ, of `benchbook.analysis.t_tests.t_tests`."""
    if table.empty:
        return "Nothing was tested: a test takes five blocks of both sides."
    differs = int((table["p_holm"] < 1 - CONFIDENCE).sum())
    exact = int(table["p"].isna().sum())
    sentence = f"**{len(table):,} comparisons were tested; {differs} differ** at 1 % after Holm's correction."
    return f"{sentence} In {exact} the blocks do not vary: they have no p." if exact else sentence


def recomputations(tally: pd.DataFrame, coverage: Mapping[str, int], findings: Sequence[Finding]) -> str:
    """Return how many printed numbers and statements were recomputed, how many agree, and what does not follow."""
    total, agree, disagree = (int(tally[name].sum()) for name in ("recomputed", "agree", "disagree"))
    kinds = Counter(finding.kind for finding in findings)
    listed = ", ".join(f"{count} {FINDINGS[kind]}" for kind, count in kinds.most_common())
    return (
        f"Of {coverage['printed']} printed values {coverage['recomputed']} follow from others and "
        f"{coverage['used']} more are what those or an ordering are computed from; {coverage['alone']} stand alone "
        f"and {coverage['texts']} are text. **{total} numbers, bounds and orderings were recomputed: {agree} agree, "
        f"{disagree} disagree.** What does not follow is told in **{len(findings)} findings**: {listed}."
    )


_MOST_READ = 100
"""Points that are read out; the data has them all."""


def values(points: pd.DataFrame) -> str:
    """Return the values that a figure shows, as text: each published one and each of this machine with its interval."""
    texts = [_value(row) for row in each(points.head(_MOST_READ))]
    if len(points) > _MOST_READ:
        texts.append(f"and {len(points) - _MOST_READ} more, in the data")
    return "; ".join(texts)


def _value(row: FrameRow) -> str:
    where = ", ".join(str(name) for name in (row.panel, row.level, row.series) if name != "")
    unit = "" if row.unit == "ratio" else str(row.unit)
    if isnan(row.value):
        return f"{where}: {row.source} bounds ({between(row.low, row.high)}) {unit}".rstrip()
    return f"{where}: {row.source} {estimate(row.value, row.low, row.high, unit)}"
