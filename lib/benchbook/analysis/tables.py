"""Every comparison that the papers' tables make, level by level of all else: tested, not judged."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from benchbook import networks
from benchbook.analysis import claim_files
from benchbook.analysis.block_means import CHANGES, Triple
from benchbook.analysis.comparisons import A_OVER_B, Comparison, compare, with_holm
from benchbook.analysis.pairs import Pairs
from benchbook.analysis.published import CellSettings, PublishedRatio, filled, ratio_of, text
from benchbook.analysis.sides import OF_QUANTITY, Measured, Side, by_study, first_arms
from benchbook.studies import SLUGS


def paper_comparisons(means: pd.DataFrame, wanted: Iterable[Pairs] | None = None) -> pd.DataFrame:
    """Return every comparison that the papers make and these means allow.

    Parameters
    ----------
    means
        As `benchbook.analysis.measures` returns them.
    wanted
        What is compared; None for all that the papers compare.

    Returns
    -------
    pandas.DataFrame
        The fields of `benchbook.analysis.comparisons.Comparison`, and ``p_holm``, corrected over the study.
    """
    measured = by_study(first_arms(means))
    if wanted is None:
        wanted = (pairs for study in measured if study in SLUGS for pairs in claim_files.pairs(study))
    rows = [row for pairs in wanted if pairs.study in measured for row in compared(pairs, measured[pairs.study])]
    return with_holm(Comparison.frame(rows), ["study"])


def compared(pairs: Pairs, measured: Measured) -> list[Comparison]:
    """Return every pair of sides that were measured alike, those that look the same with all in which they differ."""
    rows = []
    for quantity, language, common, sides in measured.alike(pairs.by, pairs.loose, pairs.every_quantity()):
        for a, b in pairs.every_pair():
            present = {name: sides[level] for name, level in (("a", a), ("b", b)) if level in sides}
            if len(present) == 2 or (pairs.missing and present and _could_run({a, b} - {*sides}, pairs, common)):
                levels = {"a": a, "b": b}
                rows.append(compare_levels(pairs, measured, quantity, language, common, levels, present))
    return _told_apart(rows, pairs)


def _could_run(levels: Iterable[str], pairs: Pairs, common: CellSettings) -> bool:
    """Return whether cells with those settings could have some levels: they name their two codecs."""
    named = {common.get("json_codec"), common.get("xml_codec")}
    return pairs.by != "codec" or named.issuperset(levels)


def compare_levels(
    pairs: Pairs,
    measured: Measured,
    quantity: Triple,
    language: str,
    common: CellSettings,
    levels: Mapping[str, str],
    sides: Mapping[str, Side],
) -> Comparison:
    """Return the comparison of one pair, with the paper's own ratio.

    Parameters
    ----------
    pairs
        What is compared.
    measured
        The study's block means.
    quantity
        Operation, role and metric.
    language, common
        In which language and with which settings both sides ran, as `Measured.alike` yields them.
    levels
        Of sides ``a`` and ``b``.
    sides
        Those that ran.
    """
    paper = _published(pairs, quantity, {name: {**side.settings, **common} for name, side in sides.items()}, levels)
    operation, role, metric = quantity
    numbers: dict[str, Any] = {"unit": next(iter(sides.values())).unit}
    absent = [pairs.words(level) for name, level in levels.items() if name not in sides]
    if absent:
        numbers["reason"] = f"{absent[0]} did not run here"
    else:
        numbers = compare(A_OVER_B, sides, measured.machine_days, difference=metric in CHANGES)
    return Comparison(
        study=pairs.study,
        name=pairs.name,
        language=language,
        operation=operation,
        role=role,
        metric=metric,
        a=pairs.words(levels["a"]),
        b=pairs.words(levels["b"]),
        label="",
        settings=common,
        n=common.get("n"),
        published=paper.ratio,
        published_low=paper.low,
        published_high=paper.high,
        published_source=paper.source,
        **numbers,
    )


def _told_apart(rows: list[Comparison], pairs: Pairs) -> list[Comparison]:
    """Return comparisons with the settings that are shown: those of the paper, and those in which equal ones differ."""
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for row in rows:
        shown = [row.settings.get(name) for name in pairs.shown if name != "n"]
        key = (row.language, row.operation, row.role, row.metric, row.a, row.b, *map(str, shown))
        alike.setdefault(key, []).append(row)
    told = {}
    for same in alike.values():
        names = {name for row in same for name in row.settings} - {*pairs.shown, "n"}
        differ = sorted(name for name in names if len({str(row.settings.get(name)) for row in same}) > 1)
        for row in same:
            told[id(row)] = replace(row, label=_shown(row.settings, (*pairs.shown, *differ)))
    return [told[id(row)] for row in rows]


def _shown(settings: CellSettings, names: Iterable[str]) -> str:
    known = {name: settings[name] for name in names if settings.get(name) is not None}
    return ", ".join(
        f"{name}={text(level)}" for name, level in known.items() if (name, level) != ("network", networks.NONE)
    )


def _published(
    pairs: Pairs, quantity: Triple, settings: Mapping[str, CellSettings], levels: Mapping[str, str]
) -> PublishedRatio:
    """Return the paper's own ratio, where it prints both sides' numbers; records of one's own are not the paper's."""
    keys, notes = {}, []
    of_quantity = dict(zip(OF_QUANTITY, quantity, strict=True))
    for name, of_side in settings.items():
        known = {**of_side, **of_quantity, pairs.by: levels[name]}
        place = next((place for place in pairs.places if place.holds(quantity, known)), None)
        if place and not known.get("dataset_file"):
            keys[name] = filled(place.key, pairs.called, known)
            notes += [place.note] if place.note else []
    paper = ratio_of(pairs.study, A_OVER_B, keys)
    where = ", ".join(dict.fromkeys([paper.source, *notes])) if paper.source else ""
    return replace(paper, source=where)
