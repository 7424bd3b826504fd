"""Labels of databases: the versions of their servers, and the mark of one that was not checked."""

from typing import Final

import pandas as pd

from benchbook.analysis.study_means import find_unchecked
from benchbook.registry import products

UNCHECKED: Final = "not checked"
"""The mark of a plug-in's database whose server was not checked."""


def list_caveats(rows: pd.DataFrame) -> dict[str, str]:
    """Return the caveat of each database in the column ``database`` that has one."""
    caveats = {}
    for name in sorted(rows["database"][find_unchecked(rows)].astype(str).unique()):
        product = products.parse_name(name).product
        remedy = f"benchbook servers check {product}"
        caveats[name] = f"{products.name_database(name)} is {UNCHECKED} on its server ({remedy})"
    return caveats


def list_versions(rows: pd.DataFrame) -> dict[str, str]:
    """Return the versions of each database's servers, those that were not checked marked."""
    rows = rows.dropna(subset=["database", "database_version"])
    rows = rows[rows["database_version"] != ""]
    by_database = {}
    for name, group in rows.groupby("database"):
        text = ", ".join(sorted(set(group["database_version"])))
        if find_unchecked(group).any():
            text = f"{text} ({UNCHECKED})"
        by_database[str(name)] = text
    return by_database
