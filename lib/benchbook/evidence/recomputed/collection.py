"""All checks and findings, and how they count."""

from dataclasses import asdict
from typing import Final

import pandas as pd

from benchbook.evidence.published import STUDIES, published
from benchbook.evidence.recomputed.checks import bookstore, crud, drivers, replication, tcp, tcp_overview
from benchbook.evidence.recomputed.finding import Finding
from benchbook.evidence.recomputed.findings import bookstore as bookstore_findings
from benchbook.evidence.recomputed.findings import crud_design, crud_text, crud_times, tcp_tests
from benchbook.evidence.recomputed.findings import drivers as drivers_findings
from benchbook.evidence.recomputed.findings import replication as replication_findings
from benchbook.evidence.recomputed.findings import tcp as tcp_findings

_CHECKS: Final = (
    *bookstore.CHECKS,
    *tcp.CHECKS,
    *tcp_overview.CHECKS,
    *drivers.CHECKS,
    *crud.CHECKS,
    *replication.CHECKS,
)
_FINDINGS: Final = (
    *bookstore_findings.FINDINGS,
    *tcp_tests.FINDINGS,
    *tcp_findings.FINDINGS,
    *drivers_findings.FINDINGS,
    *crud_times.FINDINGS,
    *crud_text.FINDINGS,
    *crud_design.FINDINGS,
    *replication_findings.FINDINGS,
)


def checks(study: str | None = None) -> pd.DataFrame:
    """Return every recomputation, a row each.

    Parameters
    ----------
    study
        The slug of one; None for all five.

    Returns
    -------
    pandas.DataFrame
        The fields of `Check`: ``study, kind, says, where, of, printed, recomputed, tolerance, agrees, key, used``.
    """
    rows = [asdict(check) for make in _CHECKS for check in make()]
    table = pd.DataFrame(rows)
    return table[table["study"] == study].reset_index(drop=True) if study else table


def findings(study: str | None = None) -> list[Finding]:
    """Return what does not follow, of one study or of all, computed anew."""
    every = [make() for make in _FINDINGS]
    return [one for one in every if study in (None, one.study)]


def finding(name: str) -> Finding:
    """Return one finding by its name.

    Raises
    ------
    KeyError
        When there is none of that name.
    """
    named = {one.name: one for one in findings()}
    if name not in named:
        raise KeyError(f"no finding {name!r}: there are {', '.join(named)}")
    return named[name]


def tally(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks there are of each study, and how many agree.

    Returns
    -------
    pandas.DataFrame
        ``study, recomputed, agree, disagree``, a row a study that has any, in the order of the studies.
    """
    grouped = (
        table.groupby("study")["agrees"]
        .agg(["size", "sum"])
        .reindex([one for one in STUDIES if one in set(table["study"])])
    )
    counts = pd.DataFrame({"recomputed": grouped["size"], "agree": grouped["sum"]}).astype(int)
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def coverage() -> dict[str, int]:
    """Return how many printed values there are, and what becomes of them.

    Returns
    -------
    dict
        ``printed``: rows of ``data/published``; ``recomputed``: those that other printed numbers give; ``used``:
        further ones that these or an ordering are computed from; ``texts``: versions and other text; ``alone``: numbers
        that nothing else printed leads to or needs, such as a machine's memory.
    """
    table, every = published(), checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(every["key"].dropna())
    used = {key for keys_ in every["used"] for key in keys_} - recomputed
    texts = {key for key, text in zip(keys, table["value"].isna(), strict=True) if text} - recomputed - used
    return {
        "printed": len(table),
        "recomputed": len(recomputed),
        "used": len(used),
        "texts": len(texts),
        "alone": len(table) - len(recomputed) - len(used) - len(texts),
    }
