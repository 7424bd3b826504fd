"""The comparisons that the papers' tables make: tested, not judged.

Begin with `compare_tables`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.block_means import BlockMeans
from benchbook.analysis.claims import PaperComparisons, PublishedPlace
from benchbook.analysis.comparisons import (
    A_OVER_B,
    Comparison,
    add_holm,
    add_noisy_blocks,
    compare_means,
)
from benchbook.analysis.published import (
    CellSettings,
    PublishedRatio,
    compute_published_ratio,
    fill_key,
    format_level,
)
from benchbook.analysis.quantities import QUANTITY_COLUMNS, SIGNED_METRICS, QuantityKey
from benchbook.analysis.study_means import (
    MatchedMeans,
    StudyMeans,
    select_first_arms,
    split_by_study,
)
from benchbook.servers import networks
from benchbook.studies.catalogue import SLUGS


def compare_tables(
    means: pd.DataFrame,
    wanted: Iterable[PaperComparisons] | None = None,
    *,
    counts_noisy: bool = False,
) -> list[Comparison]:
    """Return every comparison of the papers' tables that some block means allow.

    Parameters
    ----------
    means
        As `benchbook.analysis.block_means.compute_block_means` returns them.
    wanted
        What is compared; None: all that the papers compare.
    counts_noisy
        Whether noisy blocks count where there are too few others, as in your own cells.

    Returns
    -------
    list of Comparison
        ``p_holm`` is corrected over the study.
    """
    studies = split_by_study(select_first_arms(means))
    if wanted is None:
        wanted = []
        for slug in studies:
            if slug in SLUGS:
                wanted += claim_files.load_paper_comparisons(slug)
    rows: list[Comparison] = []
    for pairs in wanted:
        if pairs.study in studies:
            rows += compare_pairs(pairs, studies[pairs.study], counts_noisy=counts_noisy)
    return add_holm(rows, lambda row: row.study)


def compare_pairs(
    pairs: PaperComparisons, study: StudyMeans, *, counts_noisy: bool = False
) -> list[Comparison]:
    """Return the comparison of every pair of levels that ran with all else equal."""
    rows = []
    for match in study.match_levels(pairs.by, pairs.loose, pairs.list_quantities()):
        for a, b in pairs.list_pairs():
            levels = {"a": a, "b": b}
            terms = {}
            for name, level in levels.items():
                if level in match.by_level:
                    terms[name] = match.by_level[level]
            missing = {a, b} - {*match.by_level}
            # Cells name their codecs: with these settings they can have no others.
            named = {match.settings.get("json_codec"), match.settings.get("xml_codec")}
            can_run = pairs.by != "codec" or named.issuperset(missing)
            if counts_noisy and not missing:
                terms = add_noisy_blocks(terms)
            if not missing or (pairs.missing and terms and can_run):
                rows.append(compare_levels(pairs, study, match, levels, terms))
    return _label_rows(rows, pairs)


def compare_levels(
    pairs: PaperComparisons,
    study: StudyMeans,
    match: MatchedMeans,
    levels: Mapping[str, str],
    terms: Mapping[str, BlockMeans],
) -> Comparison:
    """Return the comparison of one pair of levels, with the paper's own ratio.

    Parameters
    ----------
    pairs
        What is compared.
    study
        The block means of its study.
    match
        Quantity, language and settings that both levels share.
    levels
        The levels of ``a`` and ``b``.
    terms
        The means of those that ran, by ``a`` and ``b``.
    """
    operation, role, metric = match.quantity
    # Its numbers, or which level did not run.
    numbers: dict[str, Any] = {"unit": next(iter(terms.values())).unit}
    absent = [pairs.words(level) for name, level in levels.items() if name not in terms]
    if absent:
        numbers["reason"] = f"{absent[0]} did not run here"
    else:
        is_difference = metric in SIGNED_METRICS
        numbers = compare_means(A_OVER_B, terms, study.machine_days, difference=is_difference)
    # What the paper prints for the same levels.
    settings = {name: {**means.settings, **match.settings} for name, means in terms.items()}
    paper = _find_published_ratio(pairs, match.quantity, settings, levels)
    return Comparison(
        study=pairs.study,
        name=pairs.name,
        language=match.language,
        operation=operation,
        role=role,
        metric=metric,
        a=pairs.words(levels["a"]),
        b=pairs.words(levels["b"]),
        label="",
        settings=match.settings,
        n=match.settings.get("n"),
        published=paper.ratio,
        published_low=paper.low,
        published_high=paper.high,
        published_source=paper.source,
        **numbers,
    )


def _label_rows(rows: list[Comparison], pairs: PaperComparisons) -> list[Comparison]:
    """Return comparisons labelled by what the paper shows, and by what tells equal ones apart."""
    equals: dict[tuple[object, ...], list[int]] = {}
    for index, row in enumerate(rows):
        shown = [str(row.settings.get(name)) for name in pairs.shown if name != "n"]
        key = (row.language, row.operation, row.role, row.metric, row.a, row.b, *shown)
        equals.setdefault(key, []).append(index)
    labelled = list(rows)
    for indices in equals.values():
        settings = [rows[index].settings for index in indices]
        # Without a user's file, whose name may have any characters.
        names = sorted(set().union(*settings) - {*pairs.shown, "n", "dataset_file"})
        differing = [name for name in names if len({str(one.get(name)) for one in settings}) > 1]
        for index in indices:
            label = _format_settings(rows[index].settings, (*pairs.shown, *differing))
            labelled[index] = replace(rows[index], label=label)
    return labelled


def _format_settings(settings: CellSettings, names: Iterable[str]) -> str:
    """Return named settings as ``n=1000, case=1``, without those that are not set."""
    words = {}
    for name in names:
        level = settings.get(name)
        if level is not None and (name, level) != ("network", networks.NO_NETWORK):
            words[name] = f"{name}={format_level(level)}"
    return ", ".join(words.values())


def _find_published_ratio(
    pairs: PaperComparisons,
    quantity: QuantityKey,
    settings: Mapping[str, CellSettings],
    levels: Mapping[str, str],
) -> PublishedRatio:
    """Return the paper's own ratio, if it prints both numbers; it has none of a user's records."""
    keys = {}
    notes: dict[str, None] = {}
    for name, of_term in settings.items():
        place = find_published_place(pairs, quantity, of_term, levels[name])
        if place:
            keys[name] = place.key
            notes[place.note] = None
    paper = compute_published_ratio(pairs.study, A_OVER_B, keys)
    if not paper.source:
        return paper
    return replace(paper, source=", ".join(filter(None, [paper.source, *notes])))


def find_published_place(
    pairs: PaperComparisons, quantity: QuantityKey, settings: CellSettings, level: str
) -> PublishedPlace | None:
    """Return where the paper prints a quantity of one side, with the levels in its key filled in.

    A paper prints nothing of a user's records.
    """
    known = {**settings, **dict(zip(QUANTITY_COLUMNS, quantity, strict=True)), pairs.by: level}
    if known.get("dataset_file"):
        return None
    for place in pairs.places:
        if place.holds(quantity, known):
            return place.model_copy(update={"key": fill_key(place.key, pairs.called, known)})
    return None
