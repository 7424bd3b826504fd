"""What must be said of an engine wherever it is shown: that a stand-in ran, or that its adapter met no real server."""

from collections.abc import Iterable, Mapping
from typing import Final

import pandas as pd

from benchbook.figures import names
from benchbook.registry import untested

STAND_IN: Final = "stand-in"
UNTESTED: Final = "untested adapter"
"""The marks in a table's cells."""


def caveat(engine: str, versions: Iterable[str], *, stand_in: bool) -> str:
    """Return what must be said of an engine's numbers; empty when nothing must.

    Parameters
    ----------
    engine
        As the results name it.
    versions
        As its servers stated them.
    stand_in
        Whether something stood in for the product.
    """
    if stand_in:
        told = ", ".join(sorted({text.removesuffix(" (stand-in)") for text in versions})) or "of unknown version"
        return f"a stand-in ran, {told}, not {names.engine(engine)} itself"
    if why := untested(engine):
        return f"{UNTESTED}, {names.engine(engine)}: its adapter met no real server while it was written: {why}"
    return ""


def caveats(observations: pd.DataFrame) -> dict[str, str]:
    """Return what must be said of each engine that these rows (columns ``engine, engine_version, stand_in``) hold."""
    if "engine" not in observations:
        return {}
    known = observations.dropna(subset=["engine"]).groupby("engine", sort=True)
    return {
        str(engine): said
        for engine, rows in known
        if (said := caveat(str(engine), rows["engine_version"].dropna().unique(), stand_in=bool(stood_in(rows).any())))
    }


def stood_in(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are a stand-in's."""
    return rows["stand_in"].fillna(False).astype(bool)


def mark(said: str, *, stand_in: bool) -> str:
    """Return the mark of a number, to stand behind it in a table; empty when nothing must be said of it."""
    return STAND_IN if stand_in else UNTESTED if said else ""


def marked(versions: Mapping[str, str], observations: pd.DataFrame) -> dict[str, str]:
    """Return engines' versions, those of stand-ins and of untested adapters marked as such."""
    standing = set(observations.loc[stood_in(observations), "engine"].dropna())
    found = {}
    for engine, text in versions.items():
        word = STAND_IN if engine in standing else UNTESTED if untested(engine) else ""
        found[engine] = text if not word or word in text else f"{text} ({word})"
    return found
