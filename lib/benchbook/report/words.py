"""Sentences of the final notebook in Markdown, computed from what was measured; texts of results go through `plain`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import pandas as pd

from benchbook import papers, registry, studies
from benchbook.digits import between, estimate, interval, number, plural, rounded
from benchbook.evidence import Counts, claim_files
from benchbook.evidence.claims import in_words, several
from benchbook.evidence.controls import ALIKE, DIFFER, OPEN, TOO_FEW
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.measured import disturbed, parameters
from benchbook.papers import Reference, exhibits, reference
from benchbook.papers.recomputed import Finding
from benchbook.plots.points import FrameRow, each
from benchbook.plots.provenance import environments
from benchbook.plots.ratios import condition
from benchbook.report.merge import Merged, ran
from benchbook.stats.campaigns import FEWEST
from benchbook.stats.sequential import LOOKS

MEANINGS = {
    "reproduced": "here as claimed, and where a size was printed, of that size",
    "reproduced in part": "as claimed in more than half of the contrasts, or among the products that ran here",
    "direction only": "the same way, of another size or one that is still open",
    "equivalent": "no difference that matters",
    "contradicted": "the other way, by more than the margin",
    "other way": "the other way, and whether by more than the margin is open",
    "inconclusive": "the interval leaves it open, or an objection does",
}
"""What each verdict means, in print."""
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
    """What a study comes to, as the report begins with it: a sentence around a ratio, and what is said below."""

    study: str
    reference: Reference
    before: str
    ratio: str = ""
    after: str = ""
    about: str = ""
    verdict: str = ""


def leads(merged: Merged) -> list[Lead]:
    """Return the finding of each study by its contrast that counts; of what could not be judged here, why."""
    return [_lead(merged, study) for study in studies.SLUGS]


def _lead(merged: Merged, study: str) -> Lead:
    if lead := exhibits.lead(merged.evidence, study):
        headline, row = lead
        before, _, after = headline.says.partition("{}")
        here = row.overall, row.overall_low, row.overall_high
        notes = [f"95 % interval {ends}, {row.overall_blocks} blocks"] if (ends := interval(*here)) else []
        notes.append("no ratio is published" if isnan(row.published) else f"published {number(row.published)}")
        notes.append(condition(headline, row))
        ratio = f"{rounded(*here)[0]} times"
        return Lead(study, reference(study), before, ratio, after, "; ".join(notes), row.verdict)
    rows = merged.means[merged.means["study"] == study]
    why = _lacking(study, rows) if len(rows) else "nothing was measured"
    if disturbed(rows).mean() > 0.5:
        why = "too few blocks ran undisturbed"
    sentence = f"Not judged in this profile: {why}."
    if not (lead := exhibits.lead(merged.reference_evidence, study)):
        return Lead(study, reference(study), sentence)
    headline, row = lead
    finding = headline.says.format(f"{estimate(row.overall, row.overall_low, row.overall_high)} times")
    where = condition(headline, row)
    return Lead(study, reference(study), sentence, about=f"The committed reference run ({where}): {finding}")


def _lacking(study: str, rows: pd.DataFrame) -> str:
    """Return which setting of its first claim nothing ran with; where each was run, that blocks are lacking."""
    first = next(headline.claim for headline in papers.load(study).HEADLINES if headline.says)
    (claim,) = (claim for claim in claim_files.claims(study) if claim.id == first)
    ran = [parameters(as_json) for as_json in rows["parameters"].unique()]
    lacking = {
        name: level
        for name, level in getattr(claim, "at", {}).items()
        if not any(of_cell.get(name) in several(level) for of_cell in ran)
    }
    if not lacking:
        return "too few blocks ran of what its first claim compares"
    return f"its first claim asks for {in_words(lacking)}, and what was measured ran otherwise"


def plain(text: str) -> str:
    """Return a text of results for a sentence in Markdown, where each of its signs means itself."""
    return re.sub(r"[^\w\s]|_", lambda sign: f"&#{ord(sign[0])};", text)


def headline(merged: Merged) -> str:
    """Return what ran, in two or three sentences."""
    table = ran(merged).set_index("Study")
    without = [study for study in studies.SLUGS if not table.loc[study, "Done"]]
    total, done, failed = (int(table[name].sum()) for name in ("Cells", "Done", "Failed"))
    sentences = f"Profile `{merged.profile}`: **{done} of {total} cells** are done, {failed} failed; "
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


def compared(table: pd.DataFrame) -> str:
    """Return what a study's comparisons came to."""
    tested = table[table["p"].notna()]
    if tested.empty:
        return "No comparison could be tested: it takes two blocks or more of both sides."
    stands = int((tested["p_holm"] < ALPHA).sum())
    sentences = f"Of **{len(tested)} tested comparisons, {stands} show a difference** that stands "
    sentences += "after Holm's correction. "
    if len(ratios := tested["detectable_ratio"].dropna()):
        sentences += "The smallest effect that these blocks could have shown is a ratio of "
        sentences += f"{number(ratios.median())} in the median, {number(ratios.min())} at best. "
    return sentences + _against_paper(table)


def _against_paper(table: pd.DataFrame) -> str:
    both = table[table["ratio"].notna() & table["published_ratio"].notna()]
    if both.empty:
        return "The paper prints no ratio to hold these against."
    same = int(((both["ratio"] > 1) == (both["published_ratio"] > 1)).sum())
    inside = int(both["published_ratio"].between(both["low"], both["high"]).sum())
    return (
        f"Of {len(both)} ratios that follow from the paper's numbers too, {same} point the same way here, and "
        f"{inside} lie inside this machine's interval."
    )


def trust(controls: pd.DataFrame, disturbed: pd.DataFrame) -> str:
    """Return whether identical arms came out alike, and of how many cells that says little.

    Parameters
    ----------
    controls
        As `benchbook.evidence.controls` returns them.
    disturbed
        As `benchbook.report.merge.disturbed` returns it: what others used of the machine slows both arms alike.
    """
    sentences = _identical_arms(controls)
    if not (marked := int(disturbed["disturbed"].sum())):
        return sentences
    return (
        f"{sentences} **{marked} of {len(disturbed)} cells ran while other processes used the machine** "
        f"({disturbed['load'].max():.2f} processors at most): that slows both arms alike, so no pair of arms shows it."
    )


def _identical_arms(controls: pd.DataFrame) -> str:
    if controls.empty:
        return "No A/A pair ran in this profile: nothing vouches for the machine's steadiness."
    counts = controls["state"].value_counts()
    tested = {name: int(counts.get(name, 0)) for name in (ALIKE, OPEN, DIFFER)}
    if not any(tested.values()):
        few = f"in {controls['blocks'].max()} blocks, and the first look takes {LOOKS[0]}"
        return f"Identical arms ran {few}: nothing vouches for the machine's steadiness yet."
    tested |= {f"with {TOO_FEW}": count} if (count := int(counts.get(TOO_FEW, 0))) else {}
    listed = ", ".join(f"{count} {name}" for name, count in tested.items())
    sentences = f"Identical arms were compared as if they differed, by study and kind of quantity: {listed}. "
    untrusted = controls[controls["untrusted"]]
    if len(untrusted):
        names = ", ".join(sorted(set(untrusted["study"])))
        sentences += f"**Untrusted: {names}**, where they differ and nothing should; "
        return sentences + "doubt the differences found there."
    if (rest := controls[controls["state"] != ALIKE]).empty:
        return f"{sentences}**All are alike** within the smallest margin of their study's claims."
    sentences += f"**Whether they differ is open** in {', '.join(sorted(set(rest['study'])))}"
    hidden = rest["detectable"].max()
    if isnan(hidden):
        return f"{sentences}."
    return f"{sentences}: a factor of up to {number(hidden)} could have gone unseen there."


def disturbances(disturbed: pd.DataFrame) -> str:
    """Return how many cells ran while others used the machine; of `benchbook.report.merge.disturbed`."""
    known = disturbed[disturbed["load"].notna()]
    if known.empty:
        return "What other processes used meanwhile was not measured."
    marked = int(known["disturbed"].sum())
    sentences = f"Other processes used {known['load'].median():.2f} processors beside a cell in the median, "
    sentences += f"{known['load'].max():.2f} at most. "
    if not marked:
        return sentences + f"None of {len(known)} cells was disturbed."
    return (
        sentences
        + f"**{marked} of {len(known)} cells were disturbed**: figures show them, and no claim is judged on them."
    )


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
    """Return how many claims were decided and what came out, in a few sentences; of `benchbook.evidence.outcomes`."""
    counts = Counts.of(table)
    sentences = f"The five papers make **{counts.claims} claims** that compare; "
    decided = f"**{counts.decided} were decided** by what ran here"
    sentences += f"{', '.join(filter(None, (decided, counts.of_sittings)))}."
    if counts.sittings:
        sentences += f" A sitting speaks of itself; from {FEWEST} campaigns on verdicts speak of sittings like these,"
        sentences += " or of days, if each had its own."
    if counts.testable:
        named = [(name, counts.by_verdict[name], meaning) for name, meaning in MEANINGS.items()]
        listed = ", ".join(f"**{count} {name}** ({meaning})" for name, count, meaning in named if count)
        sentences += f" Judged were: {listed}."
    if rest := counts.claims - counts.testable:
        sentences += f" {rest} are not testable here; each study's table says why."
    if doubted := sorted(set(table.loc[table["untrusted"].astype(bool), "study"])):
        sentences += f" **Untrusted: {', '.join(doubted)}**, where identical arms differed; "
        sentences += "their verdicts are marked †."
    return sentences


def result(row: FrameRow) -> str:
    """Return one row's result in a line: verdict, ratio and interval, and when it was decided."""
    outcome = row if isinstance(row, Mapping) else row._asdict()
    parts = [outcome["wording"], outcome["stage"]]
    if not isnan(outcome["ratio"]):
        parts.insert(1, estimate(outcome["ratio"], outcome["low"], outcome["high"]))
    return ", ".join(filter(None, parts))


def study_verdicts(table: pd.DataFrame) -> str:
    """Return the same of one study's rows, in a sentence."""
    counts = Counts.of(table)
    return f"**{plural(counts.claims, 'claim')}**: {counts.listed_with_sittings}."


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
