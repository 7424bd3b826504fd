"""Sentences of the final notebook, computed from what was measured."""

import pandas as pd

from benchbook import studies
from benchbook.figures.provenance import environments
from benchbook.figures.tables import number
from benchbook.report.merge import Merged, ran

ALPHA = 0.05


def headline(merged: Merged) -> str:
    """Return what ran, in two or three sentences."""
    table = ran(merged).set_index("Study")
    without = [study for study in studies.SLUGS if not table.loc[study, "Done"]]
    total, done, failed = (int(table[name].sum()) for name in ("Cells", "Done", "Failed"))
    said = [
        f"Profile `{merged.profile}`: **{done} of {total} cells** are done, {failed} failed; "
        f"{merged.means['rows'].sum():,} values."
    ]
    if without:
        said.append(f"Nothing was measured of {', '.join(without)}: there the papers' numbers stand alone.")
    return " ".join([*said, _stand_ins(merged)])


def _stand_ins(merged: Merged) -> str:
    rows = merged.means[merged.means["stand_in"].fillna(False).astype(bool)]
    names = sorted(set(rows["engine"].dropna()))
    return f"Stand-ins, not the products themselves: {', '.join(names)}." if names else "No stand-in was used."


def found(table: pd.DataFrame) -> str:
    """Return what a study's comparisons came to."""
    tested = table[table["p"].notna()]
    if tested.empty:
        return "No comparison could be tested: it takes two blocks or more of both sides."
    stands = int((tested["p_holm"] < ALPHA).sum())
    said = [f"Of **{len(tested)} tested comparisons, {stands} show a difference** that stands after Holm's correction."]
    if len(ratios := tested["detectable_ratio"].dropna()):
        said.append(
            f"The smallest effects that these blocks could have shown are ratios of {number(ratios.min())} to "
            f"{number(ratios.max())} (median {number(ratios.median())})."
        )
    return " ".join([*said, _against_paper(table)])


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
    said = (
        f"Stores ran with durability {', '.join(f'`{level}`' for level in levels)}. "
        "MongoDB's default does not wait for the disk, PostgreSQL's does."
    )
    in_memory = any(one.get("file_system_in_memory") for one in environments(merged.means))
    return said + (" The data lay in memory (tmpfs): nothing is said of durability." if in_memory else "")
