"""The comparisons of each claim, and whether each is for the claim or against it.

Begin with `compare_claims`. `benchbook.analysis.comparisons.judge_comparison` is the rule for one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import isnan, nan
from typing import NamedTuple

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.block_means import BlockMeans, find_common_settings
from benchbook.analysis.claims import (
    Bound,
    Claim,
    Level,
    MeasuredClaim,
    Settings,
    build_term_settings,
    describe_level,
    find_published_ratio,
    format_levels,
    list_levels,
    list_own_levels,
)
from benchbook.analysis.comparisons import (
    Comparison,
    Outcome,
    add_holm,
    compare_means,
    judge_comparison,
)
from benchbook.analysis.published import Terms
from benchbook.analysis.quantities import MIN_CHANGE, SIGNED_METRICS
from benchbook.analysis.study_means import StudyMeans, select_first_arms, split_by_study
from benchbook.registry.products import parse_name
from benchbook.text.names import name_metric


class ClaimMeans(NamedTuple):
    """One comparison of a claim, with the block means of the terms that ran."""

    levels: dict[str, Level]  # that tell it from the claim's other comparisons
    terms: Terms
    wanted: dict[str, Settings]  # what the claim asks of each term
    means: dict[str, BlockMeans]

    @property
    def is_complete(self) -> bool:
        """Whether all terms ran."""
        return self.means.keys() == self.wanted.keys()


def compare_claims(means: pd.DataFrame, claims: Iterable[Claim] | None = None) -> list[Comparison]:
    """Return every comparison of every claim, also those that did not run.

    Parameters
    ----------
    means
        As `benchbook.analysis.block_means.compute_block_means` returns them.
    claims
        None for all of `data/claims`.

    Returns
    -------
    list of Comparison
        In the order of the claims, the paper's own language first. ``p_holm`` is corrected over all
        comparisons of a paper's claims in that language, whatever ran.
    """
    studies = split_by_study(select_first_arms(means))
    rows: list[Comparison] = []
    for claim in claim_files.load_claims() if claims is None else claims:
        if isinstance(claim, MeasuredClaim):
            study = _prefer_processors(claim, studies.get(claim.study))
            for language in _list_languages(claim, study):
                rows += _compare_claim(claim, study, language)
    # Facts are not tested.
    return add_holm(rows, lambda row: f"{row.study} {row.language}" if row.stands else None)


def choose_claim_means(
    claim: MeasuredClaim, study: StudyMeans | None, language: str
) -> Iterator[ClaimMeans]:
    """Yield each comparison of a claim in one language."""
    for levels in claim.list_combinations(language):
        settings = build_term_settings(claim, levels)
        for terms in claim.list_terms():
            wanted = {name: settings[name] for _, name in terms}
            means = study.choose_means(language, wanted, claim.pooled) if study else {}
            yield ClaimMeans(levels, terms, wanted, means)


def find_sides(row: Comparison, study: StudyMeans) -> list[BlockMeans]:
    """Return the block means of a claim's comparison, one per term that ran."""
    for claim in claim_files.load_claims(row.study):
        if claim.id == row.name and isinstance(claim, MeasuredClaim):
            preferred = _prefer_processors(claim, study)
            for compared in choose_claim_means(claim, preferred, row.language):
                if _describe_comparison(claim, compared, row.language).key == row.key:
                    means = compared.means
                    return [means[name] for name in compared.wanted if name in means]
    return []


def find_claim_cells(claim: MeasuredClaim, study: StudyMeans, language: str) -> set[str]:
    """Return the parameters, as JSON, of the cells that a claim's comparisons read."""
    cells = set[str]()
    for compared in choose_claim_means(claim, _prefer_processors(claim, study), language):
        if compared.is_complete:
            for mean in compared.means.values():
                cells |= mean.cells
    return cells


def _prefer_processors(claim: MeasuredClaim, study: StudyMeans | None) -> StudyMeans | None:
    """Return the study whose cells with own processors come first, if the claim depends on them."""
    if study and any("own_processors" in stated.at for stated in claim.not_comparable):
        return study.preferring_own_processors
    return study


def _list_languages(claim: MeasuredClaim, study: StudyMeans | None) -> list[str]:
    """Return the languages in which a claim is judged, the paper's own first."""
    own = claim_files.find_paper_language(claim.study)
    ran = study.languages if study else []
    chosen = [name for name in ran if not claim.languages or name in claim.languages]
    if not chosen:
        return [claim.languages[0] if claim.languages else own]
    return sorted(chosen, key=lambda language: language != own)


def _compare_claim(
    claim: MeasuredClaim, study: StudyMeans | None, language: str
) -> Iterator[Comparison]:
    """Yield the comparisons of a claim in one language, each with its outcome."""
    for compared in choose_claim_means(claim, study, language):
        row = _describe_comparison(claim, compared, language)
        # What did not run has a reason instead of numbers.
        not_run: Outcome = "" if claim.fact else "not run"
        missing = _explain_missing(claim, study, compared, language)
        if study is None or missing:
            yield replace(row, stands=not_run, reason=missing)
            continue

        numbers = compare_means(
            compared.terms,
            compared.means,
            study.machine_days,
            claim.than,
            difference=claim.quantity.metric in SIGNED_METRICS,
        )
        row = replace(row, **numbers)
        # The smallest difference that matters: a ratio, or a share of the larger mean.
        margin = claim.margin
        if row.kind == "difference":
            margin = (margin - 1) * max(abs(row.mean_a), abs(row.mean_b))
        row = replace(row, margin=margin)

        # The outcome: a fact has none, and an objection comes before the numbers.
        if claim.fact:
            yield row
            continue
        if not row.blocks and not row.noisy:
            yield replace(row, stands="not run")
            continue
        objection = find_objection(claim, compared, study, language) or _find_small_change(row)
        if objection:
            yield replace(row, stands="not comparable", reason=objection)
        else:
            yield replace(row, stands=judge_comparison(row))


def _find_small_change(row: Comparison) -> str:
    """Return why a change of memory is too small to compare; empty if it is not."""
    if row.kind == "ratio":
        return ""
    # Without quiet blocks the means are unknown.
    largest = max(abs(row.mean_a), abs(row.mean_b))
    if isnan(largest) or largest >= MIN_CHANGE[row.unit]:
        return ""
    least = f"{MIN_CHANGE[row.unit]:.0f} {row.unit}"
    return f"both changes are below {least}, the page in which V8 takes memory; more records"


def find_objection(
    claim: MeasuredClaim,
    compared: ClaimMeans,
    study: StudyMeans | None = None,
    language: str = "",
) -> str:
    """Return why means are not comparable with the paper's; empty if they are.

    A reason holds where some term has one of the levels of each of its settings. Without a `study`
    the means are planned: no run has shown yet that a quantity is below its bound.
    """
    for reason in claim.not_comparable:
        for name, term in compared.means.items():
            levels = {**term.settings, "own_processors": term.own_processors}
            if any(levels.get(key) not in list_levels(at) for key, at in reason.at.items()):
                continue
            if reason.unless is None or study is None:
                return f"{reason.why}; {reason.remedy}"
            # The same cells, with another quantity.
            wanted = compared.wanted[name]
            ran = {key: term.settings.get(key, level) for key, level in wanted.items()}
            bound = reason.unless
            value = _measure_bound(bound, study, language, ran)
            if not value < bound.below:
                measured = "was not stored" if isnan(value) else f"was {value:.0f}"
                which = f"{name_metric(bound.metric)} of the {bound.role} {measured}"
                return f"{reason.why} ({which}; below {bound.below:g} counts); {reason.remedy}"
    return ""


def _measure_bound(bound: Bound, study: StudyMeans, language: str, settings: Settings) -> float:
    """Return the mean of a bound's quantity with these settings; NaN where it is not stored."""
    wanted = {"": {**settings, "role": bound.role, "metric": bound.metric}}
    measured = study.choose_means(language, wanted).get("")
    if measured is None or not len(measured.blocks):
        return nan
    return float(measured.values.mean())


def _describe_comparison(claim: MeasuredClaim, compared: ClaimMeans, language: str) -> Comparison:
    """Return a comparison without its numbers: what is compared, and what the paper prints."""
    paper = find_published_ratio(claim, compared.levels, compared.terms)
    first, second = (_name_term(claim, name, compared, language) for _, name in compared.terms[:2])
    # A ratio is tested against `than`; a difference is of so many times b.
    if claim.than != 1 and claim.quantity.metric in SIGNED_METRICS:
        second = f"{claim.than:g} × {second}"
    settings = find_common_settings(compared.means.values()) if compared.means else {}
    size = settings.get("n")
    return Comparison(
        study=claim.study,
        name=claim.id,
        language=language,
        operation=claim.quantity.operation,
        role=claim.quantity.role,
        metric=claim.quantity.metric,
        unit="",
        a=first,
        b=second,
        label=format_levels(compared.levels),
        settings=settings,
        n=size if isinstance(size, int) else None,
        published=paper.ratio,
        published_low=paper.low,
        published_high=paper.high,
        published_source=paper.source,
        claimed=claim.find_direction(compared.terms),
        than=claim.than,
    )


def _list_own_names(claim: MeasuredClaim) -> list[str]:
    """Return the names of the settings that tell a claim's terms apart."""
    names: dict[str, None] = {}
    for settings in claim.name_terms().values():
        names |= dict.fromkeys(settings)
    return list(names)


def _name_term(claim: MeasuredClaim, term: str, compared: ClaimMeans, language: str) -> str:
    """Return a term in words: the levels that tell it from the others, as they ran if it ran.

    Of several drivers or codecs it is the one of that language.
    """
    ran = compared.means[term].settings if term in compared.means else {}
    words = []
    for name in _list_own_names(claim):
        setting = ran.get(name, compared.wanted[term].get(name))
        if setting is None:
            continue
        levels = list_own_levels(setting, language)
        text = " or ".join(describe_level(name, level) for level in levels)
        # A number does not say what it counts.
        is_text = all(isinstance(level, str) for level in levels)
        words.append(text if is_text else f"{name}={text}")
    return ", ".join(dict.fromkeys(words))


def _explain_missing(
    claim: MeasuredClaim, study: StudyMeans | None, compared: ClaimMeans, language: str
) -> str:
    """Return why a comparison did not run; empty if it ran."""
    if study is None:
        return f"nothing of {claim.study} ran in {language}"
    own = _list_own_names(claim)
    for name, wanted in compared.wanted.items():
        if name not in compared.means:
            term = _name_term(claim, name, compared, language)
            missing = study.find_missing(language, own, wanted)
            if missing is None:
                return f"{term} did not run at the levels of the others"
            # It may have run, without this quantity.
            quantities = [name_metric(str(metric)) for metric in missing.pop("metric", ())]
            why = f"{term} did not run"
            if quantities:
                why = f"{' or '.join(quantities)} of {term} was not measured"
            levels = [
                f"{setting}={' or '.join(describe_level(setting, level) for level in levels)}"
                for setting, levels in missing.items()
            ]
            return f"{why} with {', '.join(levels)}" if levels else why
        if compared.means[name].is_unchecked:
            product = parse_name(str(compared.means[name].settings["database"])).product
            return f"measured; run `benchbook servers check {product}` to have it judged"
    return ""
