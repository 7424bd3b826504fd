"""Sentences of the final notebook, computed from what was measured."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from benchbook import grid, studies
from benchbook.compliance import untested
from benchbook.evidence.judge import ALPHA, NOT_TESTABLE
from benchbook.papers.recomputed import Finding
from benchbook.plots.provenance import environments
from benchbook.plots.tables import number
from benchbook.plots.verdicts import first_judged
from benchbook.report.merge import Merged, ran

MEANINGS = {
    "reproduced": "here as claimed, and where a size was printed, of that size",
    "reproduced in part": "as claimed among the products that ran here, and others are missing",
    "direction only": "the same way, of another size",
    "equivalent": "no difference that matters",
    "contradicted": "the other way",
    "inconclusive": "the interval leaves it open",
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


def headline(merged: Merged) -> str:
    """Return what ran, in two or three sentences, and a line for each product that is not here."""
    table = ran(merged).set_index("Study")
    without = [study for study in studies.SLUGS if not table.loc[study, "Done"]]
    total, done, failed = (int(table[name].sum()) for name in ("Cells", "Done", "Failed"))
    said = f"Profile `{merged.profile}`: **{done} of {total} cells** are done, {failed} failed; "
    said += f"{merged.means['rows'].sum():,} values. "
    if without:
        said += f"Nothing was measured of {', '.join(without)}: there the papers' numbers stand alone. "
    absent = [
        f"- not here, and so left out of {' and '.join(one.studies)}: {one.product} ({one.why})"
        for one in grid.left_out(profile=merged.profile)
    ]
    return "\n".join([said + _stand_ins(merged.means), *absent])


def _stand_ins(means: pd.DataFrame) -> str:
    rows = means[means["stand_in"].fillna(False).astype(bool)]
    names = sorted(set(rows["engine"].dropna()))
    said = f"Stand-ins, not the products themselves: {', '.join(names)}." if names else "No stand-in was used."
    real = means.drop(rows.index)["engine"].dropna().unique()
    if unproven := [engine for engine in sorted(real) if untested(engine)]:
        said += f" Their adapters have not passed the compliance tests on the product itself: {', '.join(unproven)}."
    return said


def found(table: pd.DataFrame) -> str:
    """Return what a study's comparisons came to."""
    tested = table[table["p"].notna()]
    if tested.empty:
        return "No comparison could be tested: it takes two blocks or more of both sides."
    stands = int((tested["p_holm"] < ALPHA).sum())
    said = f"Of **{len(tested)} tested comparisons, {stands} show a difference** that stands after Holm's correction. "
    if len(ratios := tested["detectable_ratio"].dropna()):
        said += "The smallest effect that these blocks could have shown is a ratio of "
        said += f"{number(ratios.median())} in the median, {number(ratios.min())} at best. "
    return said + _against_paper(table)


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


def trust(controls: pd.DataFrame) -> str:
    """Return whether identical arms came out alike."""
    if controls.empty:
        return "No A/A pair ran in this profile: nothing vouches for the machine's steadiness."
    bad = controls[controls["untrusted"].astype(bool)]
    where = ", ".join(f"{study} ({tests} quantities)" for study, tests in controls.groupby("study").size().items())
    if bad.empty:
        return f"Identical arms were compared as if they differed, in {where}: no quantity differs. **Trusted.**"
    names = ", ".join(sorted(set(bad["study"])))
    return (
        f"Identical arms were compared, in {where}: {len(bad)} quantities differ where nothing should. "
        f"**Untrusted: {names}**; doubt the differences found there."
    )


def durability(merged: Merged) -> str:
    """Return which durability the stores ran with, and whether the disk allows a word on it."""
    levels = sorted(set(merged.means["durability"].dropna()))
    if not levels:
        return "No store ran."
    said = f"Stores ran with durability {', '.join(f'`{level}`' for level in levels)}. "
    said += "MongoDB's default does not wait for the disk, PostgreSQL's does."
    in_memory = any(one.get("file_system_in_memory") for one in environments(merged.means))
    return said + (" The data lay in memory (tmpfs): nothing is said of durability." if in_memory else "")


def verdicts(table: pd.DataFrame) -> str:
    """Return how many claims could be judged and what came out, in a few sentences."""
    first = first_judged(table)
    counts = first["verdict"].value_counts()
    able = int(counts.drop(NOT_TESTABLE, errors="ignore").sum())
    said = f"The five papers make **{len(first)} claims** that compare; **{able} could be judged** by what ran here."
    if able:
        listed = [f"**{counts[name]} {name}** ({meaning})" for name, meaning in MEANINGS.items() if name in counts]
        said += f" Of these: {', '.join(listed)}."
    if rest := int(counts.get(NOT_TESTABLE, 0)):
        said += f" {rest} are not testable here; each study's table says why."
    if doubted := sorted(set(first.loc[first["untrusted"].astype(bool), "study"])):
        said += f" **Untrusted: {', '.join(doubted)}**, where identical arms differed; their verdicts are marked †."
    return said


def study_verdicts(table: pd.DataFrame) -> str:
    """Return the same of one study's rows, in a sentence."""
    counts = first_judged(table)["verdict"].value_counts()
    listed = ", ".join(f"{counts[name]} {name}" for name in (*MEANINGS, NOT_TESTABLE) if name in counts)
    return f"**{table['id'].nunique()} claims**: {listed}."


def recomputations(tally: pd.DataFrame, coverage: Mapping[str, int], found: Sequence[Finding]) -> str:
    """Return how many printed numbers and statements were recomputed, how many agree, and what does not follow."""
    total, agree, disagree = (int(tally[name].sum()) for name in ("recomputed", "agree", "disagree"))
    kinds = Counter(one.kind for one in found)
    listed = ", ".join(f"{count} {FINDINGS[kind]}" for kind, count in kinds.most_common())
    return (
        f"Of {coverage['printed']} printed values {coverage['recomputed']} follow from others and "
        f"{coverage['used']} more are what those or an ordering are computed from; {coverage['alone']} stand alone "
        f"and {coverage['texts']} are text. **{total} numbers, bounds and orderings were recomputed: {agree} agree, "
        f"{disagree} disagree.** What does not follow is told in **{len(found)} findings**: {listed}."
    )


def study_recomputed(checks: pd.DataFrame, found: Sequence[Finding]) -> str:
    """Return the counts of one study."""
    agree = int(checks["agrees"].sum())
    return f"**{len(checks)} recomputed, {agree} agree, {len(checks) - agree} disagree; {len(found)} findings.**"
