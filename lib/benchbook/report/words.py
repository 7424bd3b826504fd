"""Sentences of the final notebook in Markdown, computed from what was measured; texts of results go through `plain`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import pandas as pd

from benchbook import registry, studies
from benchbook.analysis import Counts
from benchbook.analysis.aa import differ
from benchbook.analysis.intervals import CONFIDENCE, MIN_BLOCKS
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.digits import between, estimate, interval, number, plural, rounded
from benchbook.papers import Reference, exhibits, reference
from benchbook.papers.recomputed import Finding
from benchbook.plots.names import STACKS
from benchbook.plots.points import FrameRow, each, where
from benchbook.plots.provenance import environments
from benchbook.plots.ratios import condition
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
    """What a study comes to, as the report begins with it: a sentence around a ratio, and its evidence below."""

    study: str
    reference: Reference
    counts: str
    before: str
    ratio: str = ""
    after: str = ""
    verdict: str = ""
    words: str = ""
    about: str = ""


def leads(merged: Merged) -> list[Lead]:
    """Return the finding of each study with the verdict on its claim; where there is none, why."""
    return [_lead(merged, study) for study in studies.SLUGS]


def _lead(merged: Merged, study: str) -> Lead:
    verdicts = where(merged.analysis.verdicts, study=study)
    counts = str(Counts.of(verdicts))
    lead = exhibits.lead(merged.analysis, study)
    if not lead:
        return Lead(study, reference(study), counts, _missing(merged, study), about=_elsewhere(merged, study))
    headline, row = lead
    before, _, after = headline.says.partition("{}")
    (verdict,) = ClaimVerdict.of(where(verdicts, id=headline.claim))
    ends = interval(row.estimate, row.low, row.high)
    blocks = f"{plural(row.blocks, 'block')}, {plural(row.machine_days, 'machine-day')}"
    printed = "no ratio is printed" if isnan(row.published) else f"printed {number(row.published)}"
    evidence = [f"99 % interval {ends}" if ends else "", blocks, printed, condition(headline, row)]
    ratio = f"{rounded(row.estimate, row.low, row.high)[0]} times"
    about = "; ".join(filter(None, evidence)) + "."
    return Lead(study, reference(study), counts, before, ratio, after, verdict.verdict, verdict.words, about)


def _missing(merged: Merged, study: str) -> str:
    """Return why no comparison of a study stands for it."""
    if study not in set(merged.means["study"]):
        return "Nothing was measured in this profile."
    return f"Fewer than {MIN_BLOCKS} quiet blocks ran of what its claims compare."


def _elsewhere(merged: Merged, study: str) -> str:
    """Return the finding of the reference run; empty where there is none."""
    lead = exhibits.lead(merged.reference, study) if merged.reference else None
    if not lead:
        return ""
    headline, row = lead
    return f"In the reference run: {headline.says.format(f'{row.words} times')}"


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
    engines = sorted(means["engine"].dropna().unique())
    experimental = [engine for engine in engines if registry.is_experimental(engine)]
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


def study_recomputed(checks: pd.DataFrame, findings: Sequence[Finding]) -> str:
    """Return the counts of one study."""
    agree = int(checks["agrees"].sum())
    return f"**{len(checks)} recomputed, {agree} agree, {len(checks) - agree} disagree; {len(findings)} findings.**"


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
