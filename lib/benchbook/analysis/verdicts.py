"""Verdicts: whether each claim holds, from the outcomes of its comparisons.

Begin with `judge_claims`; `judge_counts` is the rule of `docs/method.md`. `VerdictCounts` counts
verdicts for every page, figure and command.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isnan, log, nan
from typing import Any, Final, Literal, Self, TypeAlias, get_args

import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.claims import (
    Claim,
    Gap,
    MeasuredClaim,
    UnmeasuredClaim,
    describe_level,
    list_own_levels,
)
from benchbook.analysis.comparisons import Comparison, Outcome, TableRow, judge_comparison
from benchbook.analysis.forecast import (
    BLOCKS_PER_DAY,
    MAX_FORECAST_DAYS,
    are_alike,
    forecast_outcomes,
)
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import format_level
from benchbook.text.number_format import format_count
from benchbook.text.sentences import NEAR_PARITY

Verdict: TypeAlias = Literal[
    "holds", "mostly holds", "does not hold", "mixed", "undecided", "not comparable", "not run"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
DECIDED: Final = frozenset(VERDICTS[:4])

T_TEST_COLUMNS: Final = (
    *("claim", "study", "language", "operation", "role", "metric", "a", "b", "label", "kind"),
    *("unit", "estimate", "low", "high", "error", "t", "df", "p", "p_holm", "family", "hedges_g"),
    *("blocks", "machine_days", "than", "margin", "stands", "verdict", "published"),
    *("published_low", "published_high", "published_source"),
)

_RAN: Final[tuple[Outcome, ...]] = ("for", "against", "open")
_DID_NOT_RUN: Final[tuple[Outcome, ...]] = ("not comparable", "not run")


@dataclass(frozen=True)
class ClaimVerdict(TableRow):
    """The verdict on one claim. Numbers that it does not have are NaN."""

    id: str
    study: str
    says: str
    where: str
    claimed: str
    verdict: Verdict
    words: str  # the counts: ``7 of 8 for, 1 against (2 not run)``
    language: str = ""  # in which it is judged: the paper's own, if that ran
    others: str = ""  # verdicts in other languages, in words
    for_: int = 0
    against: int = 0
    open: int = 0
    not_comparable: int = 0
    not_run: int = 0
    headline: str = ""  # the comparison that is shown for the claim
    a: str = ""  # its terms in words; of a gap the ratio at either level
    b: str = ""
    label: str = ""  # its levels, as ``case=1, n=1000``
    n: int = 0  # 0 where the terms differ in it
    metric: str = ""
    operation: str = ""
    kind: str = "ratio"
    unit: str = ""  # of a difference
    estimate: float = nan
    low: float = nan
    high: float = nan
    smallest: float = nan  # over all comparisons that ran
    largest: float = nan
    noisy: int = 0  # comparisons with noisy blocks only, which are open
    noisy_estimate: float = nan  # of these blocks; never judged
    blocks: int = 0
    machine_days: int = 0
    than: float = 1.0
    margin: float = nan
    published: float = nan
    published_source: str = ""
    size: str = ""  # ``as printed``, ``larger`` or ``smaller`` than that
    in_the_paper: str = ""  # what the paper's own numbers say against its sentence
    caveat: str = ""  # what to know beside the claim
    finding: str = ""  # what it shares with claims that are the same event; else its id
    against_it: str = ""  # comparisons against a claim that is not refuted, in words
    turns: str = ""  # blocks in which the sides took turns, where only some did
    why: str = ""  # why it is not comparable or did not run, and what would change that
    needs: str = ""  # what would decide it, if it is undecided
    more_days: float = nan  # these machine-days, of three blocks; infinite beyond the forecast

    @property
    def headline_key(self) -> str:
        """The `Comparison.key` of the headline."""
        return f"{self.id} | {self.language} | {self.headline}"

    @property
    def is_only_noisy(self) -> bool:
        """Whether all its comparisons that ran have noisy blocks only."""
        return 0 < self.noisy == self.for_ + self.against + self.open


@dataclass(frozen=True)
class VerdictCounts:
    """How many claims have which verdict."""

    by_verdict: Mapping[str, int]  # all of `VERDICTS`, in their order
    noisy: int = 0  # claims that are undecided because all their blocks are noisy
    findings: Mapping[str, int] = field(default_factory=dict)  # claims of one event count once

    @classmethod
    def count(cls, verdicts: Iterable[ClaimVerdict]) -> Self:
        """Return the counts of some verdicts."""
        counted = list(verdicts)
        counts = Counter(claim.verdict for claim in counted)
        events = {(claim.verdict, claim.finding) for claim in counted}
        findings = Counter[str](verdict for verdict, _ in events)
        noisy = sum(claim.is_only_noisy for claim in counted)
        return cls({name: counts[name] for name in VERDICTS}, noisy, findings)

    @property
    def claims(self) -> int:
        """The number of all claims."""
        return sum(self.by_verdict.values())

    @property
    def decided(self) -> int:
        """The number of claims that are decided."""
        return sum(count for name, count in self.by_verdict.items() if name in DECIDED)

    def __str__(self) -> str:
        """Return the counts in words: ``32 claims: holds 30, not run 2``."""
        parts = []
        for name, count in self.by_verdict.items():
            findings = self.findings.get(name, count)
            if count and findings < count:
                parts.append(f"{name} {count} ({format_count(findings, 'finding')})")
            elif count:
                parts.append(f"{name} {count}")
        if not parts:
            return "no claims"
        listed = ", ".join(parts)
        if self.noisy:
            listed += f" ({self.noisy} only noisy)"
        return f"{format_count(self.claims, 'claim')}: {listed}"


def judge_claims(
    comparisons: Iterable[Comparison], claims: Iterable[Claim] | None = None
) -> list[ClaimVerdict]:
    """Return every claim with its verdict, without facts and claims that are not testable.

    Parameters
    ----------
    comparisons
        As `benchbook.analysis.claim_comparisons.compare_claims` returns them for the same claims.
    claims
        None for all of `data/claims`.

    Returns
    -------
    list of ClaimVerdict
        In the order of the claims. A claim is judged in the paper's own language if that ran, else
        in the first that did.
    """
    by_claim: dict[str, dict[str, list[Comparison]]] = {}
    for row in comparisons:
        by_claim.setdefault(row.name, {}).setdefault(row.language, []).append(row)
    judged = claim_files.load_claims() if claims is None else claims
    measured = [claim for claim in judged if isinstance(claim, MeasuredClaim)]
    return [_judge_claim(claim, by_claim[claim.id]) for claim in measured if not claim.fact]


def list_not_testable(claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return the claims for which nothing that could be measured would speak.

    Returns
    -------
    pandas.DataFrame
        ``id, study, says, where`` and ``why``.
    """
    rows = []
    for claim in claim_files.load_claims() if claims is None else claims:
        if isinstance(claim, UnmeasuredClaim) and claim.not_testable:
            rows.append((claim.id, claim.study, claim.says, claim.where, claim.not_testable))
    return pd.DataFrame(rows, columns=["id", "study", "says", "where", "why"])


def list_facts(
    comparisons: Sequence[Comparison], claims: Iterable[Claim] | None = None
) -> pd.DataFrame:
    """Return the facts, which cannot fail here.

    Returns
    -------
    pandas.DataFrame
        ``id, study, says, where, fact`` (why it cannot fail) and ``words``, what was measured.
    """
    rows = []
    for claim in claim_files.load_claims() if claims is None else claims:
        if not claim.fact:
            continue
        of_claim = [row for row in comparisons if row.name == claim.id]
        ran = [row for row in of_claim if not isnan(row.estimate)]
        words = ""
        if ran:
            head = choose_headline(ran)
            words = f"{head.words} ({head.title})"
        rows.append((claim.id, claim.study, claim.says, claim.where, claim.fact, words))
    return pd.DataFrame(rows, columns=["id", "study", "says", "where", "fact", "words"])


def list_t_tests(
    comparisons: Iterable[Comparison], verdicts: Iterable[ClaimVerdict]
) -> pd.DataFrame:
    """Return the t-tests of a run: every comparison of a claim that has an interval.

    Parameters
    ----------
    comparisons, verdicts
        As `compare_claims` and `judge_claims` return them.

    Returns
    -------
    pandas.DataFrame
        `T_TEST_COLUMNS`, most of them fields of `Comparison`. ``error`` is that of the logarithm of
        a ratio, or in ``unit``. ``t`` and ``p`` test the estimate against ``than`` (a ratio) or
        against no difference; p is NaN where the blocks do not vary. ``p_holm`` is corrected over
        the ``family``: all comparisons of the paper's claims in that language, whatever ran.
        ``verdict`` is that of the claim.
    """
    # Facts are not tested.
    table = Comparison.to_frame(row for row in comparisons if row.stands)
    family = table.groupby(["study", "language"])["name"].transform("size")
    verdict = table["name"].map({claim.id: claim.verdict for claim in verdicts})
    table = table.assign(claim=table["name"], family=family, verdict=verdict)
    return table.loc[table["low"].notna(), [*T_TEST_COLUMNS]].reset_index(drop=True)


def judge_counts(counts: Mapping[Outcome, int]) -> Verdict:
    """Return the verdict on a claim from the number of its comparisons with each outcome."""
    in_favour, against = counts.get("for", 0), counts.get("against", 0)
    ran = in_favour + against + counts.get("open", 0)
    if not ran:
        return "not comparable" if counts.get("not comparable", 0) else "not run"
    if in_favour == ran:
        return "holds"
    if 3 * in_favour >= 2 * ran:
        return "mostly holds"
    if 3 * against >= 2 * ran:
        return "does not hold"
    enough = max(2.0, ran / 4)
    return "mixed" if min(in_favour, against) >= enough else "undecided"


def choose_headline(rows: Sequence[Comparison], verdict: str = "") -> Comparison:
    """Return the comparison to show for a claim: one with a printed number, else the largest.

    One with an interval comes before those with too few blocks for one. Of equal ones, the first
    that stands as the verdict says comes first.
    """
    outcome = {"mostly holds": "for", "does not hold": "against"}.get(verdict)

    def rank(row: Comparison) -> tuple[bool, bool, bool, int, bool]:
        return (
            not isnan(row.estimate),
            not isnan(row.published),
            not isnan(row.low),
            row.n or 0,
            row.stands == outcome,
        )

    return max(rows, key=rank)


def _judge_claim(
    claim: MeasuredClaim, by_language: Mapping[str, Sequence[Comparison]]
) -> ClaimVerdict:
    """Return the verdict on a claim, in the first language that ran."""
    # The first language that ran counts; the others stand beside it in words.
    verdicts = [_judge_language(claim, name, rows) for name, rows in by_language.items()]
    ran = [verdict for verdict in verdicts if verdict.verdict != "not run"]
    if not ran:
        return verdicts[0]
    first, *others = ran
    texts = [f"{other.language}: {other.verdict} ({other.words})" for other in others]
    return replace(first, others="; ".join(texts))


def _judge_language(
    claim: MeasuredClaim, language: str, rows: Sequence[Comparison]
) -> ClaimVerdict:
    """Return the verdict on a claim from its comparisons in one language."""
    counts = Counter(row.stands for row in rows)
    ran = [row for row in rows if row.stands in _RAN]
    # Without a comparison that ran, one that is not comparable is shown.
    shown = ran or [row for row in rows if row.stands == "not comparable"]
    estimates = [row.estimate for row in shown if not isnan(row.estimate)]
    reasons = dict.fromkeys(row.reason for row in rows if row.stands in _DID_NOT_RUN)
    verdict = judge_counts(counts)
    head = choose_headline(shown, verdict) if shown else rows[0]
    more_days, needs = _forecast_need(ran) if verdict == "undecided" else (nan, "")
    return ClaimVerdict(
        id=claim.id,
        study=claim.study,
        says=claim.says,
        where=claim.where,
        claimed=claim.claimed_text,
        verdict=verdict,
        words=_describe_counts(verdict, counts, ran),
        language=language,
        for_=counts["for"],
        against=counts["against"],
        open=counts["open"],
        not_comparable=counts["not comparable"],
        not_run=counts["not run"],
        smallest=min(estimates, default=nan),
        largest=max(estimates, default=nan),
        noisy=sum(row.is_only_noisy for row in ran),
        than=claim.than,
        in_the_paper=claim.in_the_paper,
        caveat="; ".join(claim.caveats) if ran else "",
        finding=claim.finding or claim.id,
        against_it=_name_counter_examples(verdict, ran),
        turns=_describe_turns(head),
        why="; ".join(reasons),
        needs=needs,
        more_days=more_days,
        **_describe_headline(claim, head),
    )


def _forecast_need(ran: Sequence[Comparison]) -> tuple[float, str]:
    """Return the machine-days that would decide a claim, as `ClaimVerdict` has them, and in words.

    Its estimates and spreads are assumed to stay.
    """
    if all(isnan(row.low) for row in ran):
        missing = _count_missing_blocks(ran)
        if not missing:
            return inf, ""
        days = ceil(missing / BLOCKS_PER_DAY)
        return float(days), f"needs at least {format_count(missing, 'more block')}"
    for days in range(1, MAX_FORECAST_DAYS + 1):
        if judge_counts(Counter(forecast_outcomes(ran, days))) in DECIDED:
            return float(days), f"needs about {format_count(days, 'more machine-day')}"
    limit = f"{MAX_FORECAST_DAYS} more machine-days"
    # A ratio near 1 would decide a claim of likeness.
    is_of_likeness = any(row.claimed == "equal" for row in ran)
    if are_alike(ran) and not is_of_likeness:
        return inf, NEAR_PARITY
    if is_of_likeness:
        return inf, f"its intervals are too wide: needs more than {limit}"
    return inf, f"needs more than {limit}"


def _count_missing_blocks(ran: Sequence[Comparison]) -> int:
    """Return the fewest further blocks with which enough comparisons have an interval to decide.

    Each is taken to stand where its estimate is. Zero if all have enough blocks, and no interval
    for another reason.
    """
    counts = {MIN_BLOCKS - row.blocks for row in ran if row.blocks < MIN_BLOCKS}
    for missing in sorted(counts):
        outcomes = Counter[Outcome]()
        for row in ran:
            stands = row.stands
            if 0 < MIN_BLOCKS - row.blocks <= missing:
                stands = judge_comparison(replace(row, low=row.estimate, high=row.estimate))
            outcomes[stands] += 1
        if judge_counts(outcomes) in DECIDED:
            return missing
    return max(counts, default=0)


def _describe_headline(claim: MeasuredClaim, head: Comparison) -> dict[str, Any]:
    """Return the fields of a verdict that come from the comparison shown for the claim."""
    a, b = _name_terms(claim, head)
    copied = (
        *("label", "metric", "operation", "kind", "estimate", "low", "high", "noisy_estimate"),
        *("blocks", "machine_days", "margin", "published", "published_source"),
    )
    return {
        "headline": head.title,
        "a": a,
        "b": b,
        "n": head.n or 0,
        "unit": head.unit if head.kind == "difference" else "",
        "size": _compare_size(claim, head),
        **{name: getattr(head, name) for name in copied},
    }


def _compare_size(claim: MeasuredClaim, row: Comparison) -> str:
    """Return how the interval compares with the printed ratio; empty where it cannot tell.

    It is ``as printed`` if it contains the ratio and is narrower than the printed effect.
    """
    if claim.fitted or row.kind == "difference" or isnan(row.low) or isnan(row.published):
        return ""
    if row.low > row.published_high:
        return "larger"
    if row.high < row.published_low:
        return "smaller"
    printed_effect = abs(log(row.published / row.than))
    if row.claimed == "equal":
        printed_effect = 2 * log(row.margin)
    is_narrow = log(row.high / row.low) < printed_effect
    return "as printed" if is_narrow and row.stands in ("for", "against") else ""


def _name_counter_examples(verdict: Verdict, ran: Sequence[Comparison]) -> str:
    """Return the comparisons against a claim, in words; empty where the verdict names them."""
    if verdict in ("does not hold", "mixed"):
        return ""
    return "; ".join(row.title for row in ran if row.stands == "against")


def _describe_turns(row: Comparison) -> str:
    """Return in how many blocks the sides took turns; empty where all or none did."""
    if row.in_turn in (0, row.blocks):
        return ""
    counts = f"{row.in_turn} of {format_count(row.blocks, 'block')} in turns"
    return f"{counts} ({row.parts})" if row.parts else counts


def _name_terms(claim: MeasuredClaim, row: Comparison) -> tuple[str, str]:
    """Return a and b in words; of a gap the one ratio at its last and at its first level."""
    if not isinstance(claim, Gap):
        return row.a, row.b
    names = []
    for settings in (claim.a, claim.b):
        words = []
        for name, setting in settings.items():
            # Of several levels, the first of the language.
            level, *_ = list_own_levels(setting, row.language)
            words.append(describe_level(name, level))
        names.append(", ".join(words))
    ((factor, ends),) = claim.over.items()
    last, first = (f"at {factor}={format_level(ends[end])}" for end in (-1, 0))
    return f"({' / '.join(names)}) {last}", first


def _describe_counts(verdict: Verdict, counts: Counter[Outcome], ran: Sequence[Comparison]) -> str:
    """Return the counts in words, after where or in which way comparisons are against the claim."""
    absent = ", ".join(f"{counts[name]} {name}" for name in _DID_NOT_RUN if counts.get(name))
    if not ran:
        return absent
    parts = [f"{counts.get('for', 0)} of {len(ran)} for"]
    parts += [f"{counts[name]} {name}" for name in _RAN[1:] if counts.get(name)]
    words = ", ".join(parts)
    if verdict in DECIDED and 2 * len(ran) < counts.total():
        words += " where it ran"
    if absent:
        words += f" ({absent})"
    if verdict in DECIDED and max(row.machine_days for row in ran) == 1:
        words += ", on one machine-day"
    if verdict == "does not hold":
        # In the way in which most comparisons are against it.
        against = [row for row in ran if row.stands == "against"]
        way, count = Counter(map(_name_failure, against)).most_common(1)[0]
        if not way or 2 * count <= len(against):
            way = "no difference that matters, or the opposite"
        return f"{way}; {words}"
    if verdict in ("mixed", "mostly holds") and counts.get("against"):
        return f"{_describe_mix(ran)}; {words}"
    return words


def _name_failure(row: Comparison) -> str:
    """Return in which way a comparison is against its claim; empty where that is open."""
    if row.claimed == "equal":
        return "a difference that matters"
    is_ratio = row.kind == "ratio"
    null = row.than if is_ratio else 0.0
    is_opposite = row.high < null if row.claimed == "more" else row.low > null
    if is_opposite and row.claimed != "different":
        return "the opposite"
    least = null / row.margin if is_ratio else -row.margin
    most = null * row.margin if is_ratio else row.margin
    is_within = least <= row.low and row.high <= most
    return "no difference that matters" if is_within else ""


def _describe_mix(ran: Sequence[Comparison]) -> str:
    """Return the factor in which comparisons for and against a claim differ, or their names."""
    outcomes = ("for", "against")
    parts = {name: [row for row in ran if row.stands == name] for name in outcomes}
    factors: dict[str, str] = {}
    for row in ran:
        factors |= _read_factors(row)
    for factor in factors:
        levels: dict[str, dict[str, None]] = {}
        for outcome, rows in parts.items():
            texts = (_read_factors(row).get(factor, f"{factor}=") for row in rows)
            levels[outcome] = dict.fromkeys(texts)
        if not levels["for"].keys() & levels["against"].keys():
            for_levels, against_levels = (", ".join(levels[name]) for name in outcomes)
            return f"for with {for_levels}, against with {against_levels}"
    has_one_pair = len({(row.a, row.b) for row in ran}) == 1
    names = dict.fromkeys((has_one_pair and row.label) or row.title for row in parts["against"])
    return f"against with {'; '.join(names)}"


def _read_factors(row: Comparison) -> dict[str, str]:
    """Return b, a and the levels in a comparison's label in words, by factor: ``n=1000``."""
    levels = {part.split("=", 1)[0]: part for part in row.label.split(", ") if "=" in part}
    return {"b": row.b, "a": row.a, **levels}
