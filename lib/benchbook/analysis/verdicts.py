"""From the claims and the block means to a verdict for each claim: the rule of `docs/method.md`, in its order."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Final, Literal, Self, TypeAlias, get_args

import numpy as np
import pandas as pd

from benchbook.analysis import claim_files
from benchbook.analysis.block_means import CHANGES
from benchbook.analysis.claims import (
    LANGUAGES,
    Claim,
    Gap,
    Level,
    Settings,
    Tested,
    Unmeasured,
    asked,
    label,
    published_ratio,
    several,
)
from benchbook.analysis.comparisons import Comparison, Stands, compare, with_holm
from benchbook.analysis.published import Terms, text
from benchbook.analysis.rows import Row
from benchbook.analysis.sides import Measured, Side, by_study, common_settings, first_arms
from benchbook.digits import plural
from benchbook.registry import is_experimental, title

Verdict: TypeAlias = Literal[
    "holds", "mostly holds", "does not hold", "mixed", "undecided", "not comparable", "not run"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
DECIDED: Final = frozenset(VERDICTS[:4])


def claim_comparisons(means: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return every comparison of every claim, those that did not run among them.

    Parameters
    ----------
    means
        As `benchbook.analysis.measures` returns them.
    claims
        None for all of `data/claims`.

    Returns
    -------
    pandas.DataFrame
        The fields of `benchbook.analysis.comparisons.Comparison`, in the claims' order and the paper's own language
        first, and ``p_holm``: corrected over all comparisons of a paper's claims in that language, whatever ran.
    """
    measured = by_study(first_arms(means))
    rows: list[Comparison] = []
    for claim in claim_files.claims() if claims is None else claims:
        if isinstance(claim, Tested):
            of_study = measured.get(claim.study)
            for language in _languages(claim, of_study):
                rows += _of_claim(claim, of_study, language)
    table = Comparison.frame(rows)
    return with_holm(table, ["study", "language"], tested=table["stands"] != "")  # facts are not tested


def _languages(claim: Tested, measured: Measured | None) -> list[str]:
    """Return the languages in which a claim is judged: of those asked that ran, the paper's own first."""
    own = claim_files.stack(claim.study)
    ran = measured.languages if measured else []
    chosen = [language for language in ran if not claim.languages or language in claim.languages]
    return sorted(chosen, key=lambda language: language != own) or [(*claim.languages, own)[0]]


def claim_sides(
    claim: Tested, measured: Measured | None, language: str
) -> Iterator[tuple[dict[str, Level], Terms, dict[str, Settings], dict[str, Side]]]:
    """Yield of each comparison of a claim its levels, its terms, what it asks of its sides, and the sides that ran."""
    for levels in claim.combinations(language):
        wanted = asked(claim, levels)
        for terms in claim.terms():
            of_terms = {name: wanted[name] for _, name in terms}
            sides = measured.sides(language, of_terms, claim.pooled) if measured else {}
            yield levels, terms, of_terms, sides


def _of_claim(claim: Tested, measured: Measured | None, language: str) -> Iterator[Comparison]:
    """Yield a claim's comparisons in one language."""
    for levels, terms, wanted, sides in claim_sides(claim, measured, language):
        row = _described(claim, levels, terms, wanted, sides, language)
        yield _judged(claim, row, wanted, sides, measured, terms)


def _described(
    claim: Tested,
    levels: Mapping[str, Level],
    terms: Terms,
    wanted: Mapping[str, Settings],
    sides: Mapping[str, Side],
    language: str,
) -> Comparison:
    """Return a comparison without its numbers: what is compared, and what the paper prints."""
    paper = published_ratio(claim, levels, terms)
    first, second = (name for _, name in terms[:2])
    settings = common_settings(sides.values()) if sides else {}
    size = settings.get("n")
    return Comparison(
        study=claim.study,
        name=claim.id,
        language=language,
        operation=claim.quantity.operation,
        role=claim.quantity.role,
        metric=claim.quantity.metric,
        unit="",
        a=_in_words(claim, first, wanted, sides),
        b=_in_words(claim, second, wanted, sides),
        label=label(levels),
        settings=settings,
        n=size if isinstance(size, int) else None,
        published=paper.ratio,
        published_low=paper.low,
        published_high=paper.high,
        published_source=paper.source,
        claimed=claim.direction(terms),
        than=claim.than,
    )


def _in_words(claim: Tested, name: str, wanted: Mapping[str, Settings], sides: Mapping[str, Side]) -> str:
    """Return a side in words: the levels that tell it from the others, as they ran where it did."""
    own = claim.sides()
    telling = dict.fromkeys(key for side in own.values() for key in side)
    chosen = sides[name].settings if name in sides else {}
    words = []
    for key in telling:
        setting = chosen.get(key, wanted[name].get(key))
        if setting is not None:
            named = [title(str(level)) if key == "database" else text(level) for level in several(setting)]
            alone = all(isinstance(level, str) for level in several(setting))  # a number does not say of what
            words.append(" or ".join(named) if alone else f"{key}={' or '.join(named)}")
    return ", ".join(dict.fromkeys(words))


def _judged(
    claim: Tested,
    row: Comparison,
    wanted: Mapping[str, Settings],
    sides: Mapping[str, Side],
    measured: Measured | None,
    terms: Terms,
) -> Comparison:
    """Return a comparison with its numbers, and where it stands to its claim."""
    not_run: Stands = "" if claim.fact else "not run"
    if measured is None:
        return replace(row, stands=not_run, reason=f"nothing of {claim.study} ran in {row.language}")
    missing = _missing(row, wanted, sides, terms)
    if missing:
        return replace(row, stands=not_run, reason=missing)
    difference = claim.difference or claim.quantity.metric in CHANGES
    row = replace(row, **compare(terms, sides, measured.machine_days, claim.than, difference=difference))
    margin = claim.margin_difference if difference else claim.margin
    row = replace(row, margin=nan if margin is None else margin)
    if claim.fact:
        return row
    if not row.blocks and not row.noisy:
        return replace(row, stands="not run")
    for said in claim.not_comparable:
        if _speaks_of(said.at, sides):
            return replace(row, stands="not comparable", reason=f"{said.why}; {said.remedy}")
    return replace(row, stands=stands(row))


def _missing(row: Comparison, wanted: Mapping[str, Settings], sides: Mapping[str, Side], terms: Terms) -> str:
    """Return why a comparison did not run; empty where it did."""
    first, second = (name for _, name in terms[:2])
    words = {first: row.a, second: row.b}
    for name in wanted:
        if name not in sides:
            return f"{words.get(name, name)} did not run"
        database = str(sides[name].settings.get("database") or "")
        if is_experimental(database):
            return f"{title(database)} ran through an experimental adapter"
    return ""


def _speaks_of(at: Settings, sides: Mapping[str, Side]) -> bool:
    """Return whether some side has one of the levels, of each setting."""
    return all(any(side.settings.get(name) in several(level) for side in sides.values()) for name, level in at.items())


def stands(row: Comparison) -> Stands:
    """Return where a comparison stands to its claim, from its interval and the smallest difference that matters."""
    if isnan(row.low) or isnan(row.margin):
        return "open"
    # On a scale where no difference is 0: logarithms of a ratio over `than`, or amounts.
    if row.kind == "ratio":
        low, high, margin = (float(np.log(value)) for value in (row.low / row.than, row.high / row.than, row.margin))
    else:
        low, high, margin = row.low, row.high, row.margin
    if row.claimed == "equal":
        if -margin <= low and high <= margin:
            return "for"
        return "against" if low > margin or high < -margin else "open"
    if row.claimed == "less" or (row.claimed == "different" and low + high < 0):
        low, high = -high, -low
    if low > 0 and high > margin:
        return "for"
    nothing = -margin <= low and high <= margin if row.claimed == "different" else high < margin
    return "against" if nothing else "open"


@dataclass(frozen=True)
class ClaimVerdict(Row):
    """The verdict on one claim; numbers are NaN where there are none."""

    id: str
    study: str
    says: str
    where: str
    claimed: str
    verdict: Verdict
    words: str  # the counts: ``7 of 8 for, 1 against (2 not run)``
    language: str = ""  # in which it was judged: the paper's own, where it ran
    others: str = ""  # what other languages say, in words
    for_: int = 0
    against: int = 0
    open: int = 0
    not_comparable: int = 0
    not_run: int = 0
    # The comparison that stands for the claim: the paper's own headline.
    headline: str = ""
    a: str = ""  # its sides in words, of a gap both ratios
    b: str = ""
    label: str = ""  # its levels, as ``case=1, n=1000``
    n: int = 0  # 0 where the sides differ in it
    metric: str = ""
    operation: str = ""
    kind: str = "ratio"
    unit: str = ""  # of a difference
    estimate: float = nan
    low: float = nan
    high: float = nan
    smallest: float = nan  # over all comparisons that ran
    largest: float = nan
    noisy: int = 0  # how many comparisons have noisy blocks only: they are open
    noisy_estimate: float = nan  # of these blocks; shown, never judged
    blocks: int = 0
    machine_days: int = 0
    than: float = 1.0
    margin: float = nan
    published: float = nan
    published_source: str = ""
    size: str = ""  # ``as printed``, ``larger`` or ``smaller`` than that
    in_the_paper: str = ""  # what the paper's own numbers say against its sentence
    why: str = ""  # why it is not comparable or did not run, and what would change that

    @property
    def is_only_noisy(self) -> bool:
        """Whether all that ran of it and could be compared is noisy."""
        return 0 < self.noisy == self.for_ + self.against + self.open


def verdicts(comparisons: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return every claim with its verdict; facts are none.

    Parameters
    ----------
    comparisons
        As `claim_comparisons` returns them of the same claims.

    Returns
    -------
    pandas.DataFrame
        The fields of `ClaimVerdict`, a row a claim, in the claims' order. The paper's own language counts where it ran,
        else the first that did; what others say stands beside.
    """
    by_claim: dict[str, dict[str, list[Comparison]]] = {}
    for row in Comparison.of(comparisons):
        by_claim.setdefault(row.name, {}).setdefault(row.language, []).append(row)
    wanted = claim_files.claims() if claims is None else claims
    return ClaimVerdict.frame(_verdict(claim, by_claim.get(claim.id, {})) for claim in wanted if not claim.fact)


def facts(comparisons: pd.DataFrame, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Return what cannot fail here: ``id, study, says, where, fact`` (why) and ``words``, what was measured of it."""
    wanted = [claim for claim in (claim_files.claims() if claims is None else claims) if claim.fact]
    rows = []
    for claim in wanted:
        ran = [row for row in Comparison.of(comparisons[comparisons["name"] == claim.id]) if not isnan(row.estimate)]
        words = f"{headline(ran).words} ({_named(headline(ran))})" if ran else ""
        rows.append((claim.id, claim.study, claim.says, claim.where, claim.fact, words))
    return pd.DataFrame(rows, columns=["id", "study", "says", "where", "fact", "words"])


def _verdict(claim: Claim, by_language: Mapping[str, Sequence[Comparison]]) -> ClaimVerdict:
    """Return the verdict on a claim, in the first language that says something."""
    if isinstance(claim, Unmeasured):
        return ClaimVerdict(
            claim.id, claim.study, claim.says, claim.where, "", "not comparable", "nothing compared", why=claim.why
        )
    found = [_in_language(claim, language, rows) for language, rows in by_language.items()]
    counted = next((verdict for verdict in found if verdict.verdict != "not run"), found[0])
    others = [
        f"{other.language}: {other.verdict} ({other.words})"
        for other in found
        if other is not counted and other.verdict != "not run"
    ]
    return replace(counted, others="; ".join(others))


def _in_language(claim: Tested, language: str, rows: Sequence[Comparison]) -> ClaimVerdict:
    """Return the verdict on a claim from its comparisons in one language."""
    counts = Counter(row.stands for row in rows)
    verdict = judge(counts)
    ran = [row for row in rows if row.stands in ("for", "against", "open")]
    shown = ran or [row for row in rows if row.stands == "not comparable"]
    estimates = [row.estimate for row in shown if not isnan(row.estimate)]
    head = headline(shown) if shown else rows[0]
    words = _counted(counts)
    if verdict == "does not hold":
        words = f"{_how_it_fails(ran)}; {words}"
    elif verdict == "mixed":
        words = f"{_apart(ran)}; {words}"
    return ClaimVerdict(
        id=claim.id,
        study=claim.study,
        says=claim.says,
        where=claim.where,
        claimed=claim.claimed_in_words,
        verdict=verdict,
        words=words,
        language=language,
        for_=counts["for"],
        against=counts["against"],
        open=counts["open"],
        not_comparable=counts["not comparable"],
        not_run=counts["not run"],
        headline=_named(head),
        **_divided(claim, head),
        label=head.label,
        n=head.n or 0,
        metric=head.metric,
        operation=head.operation,
        kind=head.kind,
        unit=head.unit if head.kind == "difference" else "",
        estimate=head.estimate,
        low=head.low,
        high=head.high,
        smallest=min(estimates, default=nan),
        largest=max(estimates, default=nan),
        noisy=sum(row.is_only_noisy for row in ran),
        noisy_estimate=head.noisy_estimate,
        blocks=head.blocks,
        machine_days=head.machine_days,
        than=claim.than,
        margin=head.margin,
        published=head.published,
        published_source=head.published_source,
        size=_size(head),
        in_the_paper=claim.in_the_paper,
        why="; ".join(dict.fromkeys(row.reason for row in rows if row.stands in ("not comparable", "not run"))),
    )


def judge(counts: Mapping[Stands, int]) -> Verdict:
    """Return the verdict on a claim from how many of its comparisons stand where."""
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


def headline(rows: Sequence[Comparison]) -> Comparison:
    """Return the comparison that stands for a claim: of the largest size, one that the paper prints before others."""
    return max(rows, key=lambda row: (not isnan(row.estimate), not isnan(row.published), row.n or 0))


def _divided(claim: Tested, row: Comparison) -> dict[str, str]:
    """Return what is divided by what; of a gap the one ratio at two levels."""
    if not isinstance(claim, Gap):
        return {"a": row.a, "b": row.b}
    ((factor, levels),) = claim.over.items()
    sides = (", ".join(_level_words(side, row.language)) for side in (claim.a, claim.b))
    last, first = (f"at {factor}={text(levels[end])}" for end in (-1, 0))
    return {"a": f"({' / '.join(sides)}) {last}", "b": first}


def _level_words(side: Settings, language: str) -> list[str]:
    """Return the levels that a claim names for a side, of several the first that a language has."""
    words = []
    for name, setting in side.items():
        levels = several(setting)
        level = next((one for one in levels if LANGUAGES.get(str(one), "python") == language), levels[0])
        words.append(title(str(level)) if name == "database" else text(level))
    return words


def _named(row: Comparison) -> str:
    sides = f"{row.a} against {row.b}"
    return f"{sides}, {row.label}" if row.label else sides


def _counted(counts: Mapping[Stands, int]) -> str:
    """Return the counts in words: ``7 of 8 for, 1 against (2 not run)``."""
    ran = sum(counts.get(name, 0) for name in ("for", "against", "open"))
    parts = [f"{counts.get('for', 0)} of {ran} for"] if ran else []
    parts += [f"{counts[name]} {name}" for name in ("against", "open") if counts.get(name)]
    absent = [f"{counts[name]} {name}" for name in ("not comparable", "not run") if counts.get(name)]
    if not ran:
        return ", ".join(absent)
    return ", ".join(parts) + (f" ({', '.join(absent)})" if absent else "")


def _how_it_fails(ran: Sequence[Comparison]) -> str:
    """Return in which way most comparisons are against a claim."""
    against = [row for row in ran if row.stands == "against"]
    if against[0].claimed == "equal":
        return "a difference that matters"
    ways = Counter(map(_way, against))
    way, count = ways.most_common(1)[0]
    return way if way and 2 * count > len(against) else "no difference that matters, or the opposite"


def _way(row: Comparison) -> str:
    """Return in which way a comparison is against its claim; empty where that is open."""
    null, margin = (row.than, row.margin) if row.kind == "ratio" else (0.0, row.margin)
    if row.claimed != "different" and (row.high < null if row.claimed == "more" else row.low > null):
        return "the opposite"
    least, most = (null / margin, null * margin) if row.kind == "ratio" else (-margin, margin)
    return "no difference that matters" if least <= row.low and row.high <= most else ""


def _apart(ran: Sequence[Comparison]) -> str:
    """Return what tells the comparisons for a claim from those against it: one factor, else those against."""
    parted = {stand: [row for row in ran if row.stands == stand] for stand in ("for", "against")}
    for of in (_side_b, _side_a, *map(_level, dict.fromkeys(name for row in ran for name in _levels(row)))):
        levels = {stand: dict.fromkeys(of(row) for row in rows) for stand, rows in parted.items()}
        if not levels["for"].keys() & levels["against"].keys():
            return f"for with {', '.join(levels['for'])}, against with {', '.join(levels['against'])}"
    return f"against with {', '.join(dict.fromkeys(map(_named, parted['against'])))}"


def _side_a(row: Comparison) -> str:
    return row.a


def _side_b(row: Comparison) -> str:
    return row.b


def _level(name: str) -> Callable[[Comparison], str]:
    """Return what names a level of a comparison: ``n=1000``."""
    return lambda row: f"{name}={_levels(row).get(name, '')}"


def _levels(row: Comparison) -> dict[str, str]:
    """Return the levels of a comparison's label."""
    return dict(part.split("=", 1) for part in row.label.split(", ") if "=" in part)


def _size(row: Comparison) -> str:
    """Return how the interval lies to the ratio that the paper prints; of an open one only that it excludes it."""
    if row.kind == "difference" or isnan(row.low) or isnan(row.published):
        return ""
    if row.low > row.published_high:
        return "larger"
    if row.high < row.published_low:
        return "smaller"
    return "as printed" if row.stands in ("for", "against") else ""


@dataclass(frozen=True)
class Counts:
    """How many claims have which verdict: the one count of pages, figures and commands."""

    by_verdict: Mapping[str, int]  # all of `VERDICTS`, in their order
    noisy: int = 0  # how many of them are undecided because all their blocks are noisy

    @classmethod
    def of(cls, table: pd.DataFrame) -> Self:
        """Return the counts of some claims, as `verdicts` returns them."""
        counts = Counter(table["verdict"])
        noisy = sum(claim.is_only_noisy for claim in ClaimVerdict.of(table))
        return cls({name: counts[name] for name in VERDICTS}, noisy)

    @property
    def claims(self) -> int:
        """How many there are."""
        return sum(self.by_verdict.values())

    @property
    def decided(self) -> int:
        """How many are decided."""
        return sum(count for name, count in self.by_verdict.items() if name in DECIDED)

    def __str__(self) -> str:
        """Return how many have which verdict: ``32 claims: holds 30, not run 2``."""
        listed = ", ".join(f"{name} {count}" for name, count in self.by_verdict.items() if count)
        listed += f" ({self.noisy} only noisy)" if self.noisy else ""
        return f"{plural(self.claims, 'claim')}: {listed}" if listed else "no claims"
