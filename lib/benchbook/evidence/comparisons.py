"""Every comparison of the papers tested soundly, and what came out in a sentence."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Final

import numpy as np
import pandas as pd

from benchbook import rooms, stats, studies
from benchbook.digits import detectable, estimate, number
from benchbook.evidence import claim_files
from benchbook.evidence.compared import Comparison
from benchbook.evidence.effects import APART, BY_CAMPAIGN, PAIRED, effect, paired
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.means import Triple, measures
from benchbook.evidence.measured import OF_QUANTITY, Measured, by_study, first_arms
from benchbook.evidence.published import CellSettings, PublishedRatio, Terms, filled, ratio_of
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import ABSENT, Side
from benchbook.studies import SLUGS

MARGIN: Final = 1.1
"""The ratio up to which two sides are called equivalent, where no claim fixes another."""

_OF_A_RUN: Final = ("seed", "repetitions", "format in turn", "topology", "arm")
"""Settings in which runs may differ that are compared with each other."""

CONSTANT: Final = "cannot test: the values do not vary"
A_OVER_B: Final[Terms] = ((1, "a"), (-1, "b"))


def comparisons(observations: pd.DataFrame, wanted: Iterable[Comparison] | None = None) -> pd.DataFrame:
    """Return every comparison of the five papers that these observations allow, a row each.

    The unit of analysis is the block's mean. Sides are compared in the blocks that hold both, paired by block
    (Student's test of the differences), or by campaign where there are enough. Times and
    sizes are compared as ratios, on the logarithms; what can be negative (memory that was freed) as differences. The
    second arms of A/A pairs are left to `benchbook.evidence.controls`.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, or their block means or `measures`; of any of the studies.
    wanted
        What is compared; None for all that the papers compare.

    Returns
    -------
    pandas.DataFrame
        Its columns are the fields of `Compared`; ``p_holm``, p corrected over the study; and ``words``, which say what
        came out.
    """
    if wanted is None:
        wanted = (comparison for study in SLUGS for comparison in claim_files.comparisons(study))
    return compared(wanted, first_arms(measures(observations)))


@dataclass(frozen=True, kw_only=True)
class Compared(Row):
    """What one comparison came to; numbers are NaN where there are none, and `reason` says why."""

    study: str
    comparison: str
    host: str
    operation: str
    role: str
    metric: str
    unit: str  # of means and differences
    factors: str  # the settings that are shown, in words
    settings: CellSettings  # all that both sides have in common
    n: int | None  # records, objects or books; None where the sides differ in it
    a: str  # the sides in words
    b: str
    side_a: str  # and the levels that tell them apart
    side_b: str
    blocks: int  # that both sides have and nothing disturbed: ratio, difference and test are of these
    campaigns: int = 0  # that they are of
    mean_a: float  # in `unit`, over all blocks of the side
    mean_b: float
    ratio: float = nan  # a over b, with its 95 % interval
    low: float = nan
    high: float = nan
    difference: float = nan  # a minus b in `unit`, where there is no ratio
    difference_low: float = nan
    difference_high: float = nan
    test: str = "none"
    p: float = nan  # uncorrected
    hedges_g: float = nan  # of the values tested (logarithms or differences), of unpaired samples
    detectable_ratio: float = nan  # what these blocks would have shown with 80 % power, uncorrected
    reason: str = ""
    censored: bool  # whether a wait ran out on either side
    published_ratio: float  # the paper's own
    published_source: str

    @property
    def key(self) -> tuple[str, ...]:
        """What it has in common with the same comparison of another run."""
        # A study that is given its topology has another comparison at each.
        given = {"topology"} & studies.load(self.study).Parameters.model_fields.keys()
        kept = (name for name in self.settings if name not in _OF_A_RUN or name in given)
        settings = {name: self.settings[name] for name in kept if self.settings[name] is not None}
        about = (self.study, self.comparison, self.operation, self.role, self.metric, self.side_a, self.side_b)
        return (*about, json.dumps(settings, sort_keys=True, default=str))


def compared(wanted: Iterable[Comparison], means: pd.DataFrame) -> pd.DataFrame:
    """Return all rows of some comparisons of `measures`, corrected over each study and in words."""
    measured = by_study(means)
    ran = ((comparison, measured[comparison.study]) for comparison in wanted if comparison.study in measured)
    labelled = (show_differences([*pairs(comparison, of_study)]) for comparison, of_study in ran)
    rows = [tested(pair) for of_comparison in labelled for pair in of_comparison]
    table = Compared.frame(rows)
    families = table.groupby("study")["p"]
    p_holm = families.transform(lambda p: stats.holm(p.to_numpy(dtype=float)))
    table.insert(list(table).index("p") + 1, "p_holm", p_holm)
    corrected = zip(rows, p_holm, families.transform("count"), strict=True)
    return table.assign(words=[sentence(row, p, tests) for row, p, tests in corrected])


@dataclass(frozen=True)
class Pair:
    """Two sides, ``a`` and ``b``, that were measured alike but for what is compared."""

    comparison: Comparison
    quantity: Triple  # operation, role and metric
    host: str
    common: CellSettings  # the settings that both have
    levels: dict[str, str]
    sides: dict[str, Side]  # one may be `ABSENT`
    also: tuple[str, ...] = ()  # settings that are shown beside those of the comparison

    @property
    def factors(self) -> str:
        """The common settings that are shown beside the comparison, in words."""
        shown = [(name, self.common.get(name)) for name in (*self.comparison.shown, *self.also)]
        known = [(name, value) for name, value in shown if value is not None and (name, value) != ("room", rooms.NONE)]
        return ", ".join(
            f"{name}={('no', 'yes')[value] if isinstance(value, bool) else value}" for name, value in known
        )

    @property
    def label(self) -> tuple[object, ...]:
        """What a table says of it, but for its n."""
        shown = [self.common.get(name) for name in self.comparison.shown if name != "n"]
        return (self.host, *self.quantity, *self.levels.values(), *shown)

    def words(self, side: str) -> str:
        """Return a side in words."""
        return self.comparison.words(self.levels[side])


def pairs(comparison: Comparison, measured: Measured) -> Iterator[Pair]:
    """Yield every pair of sides of a comparison, in the order of its quantities."""
    levels = comparison.every_pair()
    for quantity, host, common, sides in measured.every(comparison.by, comparison.loose, comparison.every_quantity()):
        for a, b in levels:
            absent = {a, b} - {*sides}
            stated = comparison.missing and len(absent) == 1 and _could_run(absent, comparison, common)
            if not absent or stated:
                both = {"a": sides.get(a, ABSENT), "b": sides.get(b, ABSENT)}
                yield Pair(comparison, quantity, host, common, {"a": a, "b": b}, both)


def _could_run(levels: Iterable[str], comparison: Comparison, common: CellSettings) -> bool:
    """Return whether cells with those settings could have some levels: they name their two codecs."""
    named = {common.get("json_codec"), common.get("xml_codec")}
    return comparison.by != "codec" or named.issuperset(levels)


def show_differences(several: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the pairs of one comparison, those of the same label with all settings in which they differ.

    Pairs that differ in n show the same settings, so that a table's rows can be read down.
    """
    alike: dict[tuple[object, ...], list[Pair]] = {}
    for pair in several:
        alike.setdefault(pair.label, []).append(pair)
    for pair in several:
        same = alike[pair.label]
        names = {name for other in same for name in other.common} - {*pair.comparison.shown, "n"}
        differ = (name for name in names if len({other.common.get(name) for other in same}) > 1)
        yield replace(pair, also=tuple(sorted(differ)))


def tested(pair: Pair) -> Compared:
    """Return what one comparison came to: on logarithms where all values are positive, else only as a difference."""
    a, b, paper = pair.sides["a"], pair.sides["b"], _published(pair)
    operation, role, metric = pair.quantity
    both = paired(A_OVER_B, pair.sides)
    row = Compared(
        study=pair.comparison.study, comparison=pair.comparison.name, host=pair.host,
        operation=operation, role=role, metric=metric, unit=a.unit or b.unit,
        factors=pair.factors, settings=pair.common, n=pair.common.get("n"),
        a=pair.words("a"), b=pair.words("b"), side_a=pair.levels["a"], side_b=pair.levels["b"],
        blocks=both.blocks, mean_a=_mean(a), mean_b=_mean(b),
        censored=bool(a.censored.any() or b.censored.any()),
        published_ratio=paper.ratio, published_source=paper.source,
    )  # fmt: skip
    if reason := _missing(pair) or ("" if both.blocks else APART):
        return replace(row, reason=reason)
    values = tuple(map(np.log, both.values)) if both.positive else both.values
    test, ratio = stats.paired(*values), effect(A_OVER_B, pair.sides)
    kind = (BY_CAMPAIGN if both.by_campaign else PAIRED) + (", logarithms" if both.positive else ", differences")
    row = replace(
        row,
        campaigns=both.campaigns,
        test="none" if test.reason else kind,
        p=test.p,
        hedges_g=stats.hedges_g(*values),
        reason=test.reason,
    )
    # values that do not vary have no interval
    if both.positive:
        low, high = (nan, nan) if test.reason else (ratio.low, ratio.high)
        seen = stats.detectable_ratio(*both.values)
        return replace(row, ratio=ratio.ratio, low=low, high=high, detectable_ratio=seen)
    difference, *ends = ratio.difference
    low, high = (nan, nan) if test.reason else ends
    return replace(row, difference=difference, difference_low=low, difference_high=high)


def _published(pair: Pair) -> PublishedRatio:
    """Return the paper's own ratio, where it prints both sides' numbers; records of one's own are not the paper's."""
    comparison, keys, notes = pair.comparison, {}, []
    of_quantity = dict(zip(OF_QUANTITY, pair.quantity, strict=True))
    for name, side in pair.sides.items():
        settings = {**side.settings, **pair.common, **of_quantity, comparison.by: pair.levels[name]}
        if settings.get("dataset_file"):
            continue
        if place := next((place for place in comparison.places if place.holds(pair.quantity, settings)), None):
            keys[name] = filled(place.key, comparison.called, settings)
            notes += [place.note] if place.note else []
    paper = ratio_of(comparison.study, A_OVER_B, keys)
    where = ", ".join(dict.fromkeys([paper.source, *notes])) if paper.source else ""
    return replace(paper, source=where)


def _missing(pair: Pair) -> str:
    """Return why two sides cannot be compared; empty when they can."""
    for name, side in pair.sides.items():
        if not len(side.blocks):
            return f"{pair.words(name)} did not run here"
        if ran_out := int(side.censored.sum()):
            blocks = f"{ran_out} of {len(side.blocks)} blocks of {pair.words(name)}"
            return f"a wait for the replica ran out in {blocks}"
    return ""


def _mean(side: Side) -> float:
    return float(side.values.mean()) if len(side.blocks) and not side.censored.any() else nan


_TIME: Final = "took {} times as long as"
_PHRASES: Final = {
    "wall_time": _TIME,
    "elapsed_time": _TIME,
    "catch_up_time": _TIME,
    "time_per_item": "took {} times as long an object as",
    "size": "takes {} times the bytes of",
    "markup_size": "takes {} times the bytes of markup of",
    "markup_percent": "has {} times the share of markup of",
    "bytes_received": "sent {} times the bytes of",
    "bandwidth": "used {} times the bandwidth of",
    "card_bytes_sent": "put {} times the bytes on the network of",
    "card_bytes_received": "took {} times the bytes off the network of",
    "cpu_time": "used {} times the CPU time of",
    "cpu_percent": "had {} times the CPU share of",
    "cpu_user_percent": "had {} times the user CPU share of",
    "cpu_system_percent": "had {} times the system CPU share of",
    "idle_percent": "had {} times the idle share of",
    "memory_percent": "had {} times the memory share of",
    "memory_rss_mb": "held {} times the memory of",
    "memory_change_kb": "took {} times as much new memory as",
}
_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def sentence(row: Compared, p_holm: float, tests: int) -> str:
    """Return what a comparison came to, by its p corrected for so many tests."""
    words = _in_words(row, p_holm, tests)
    if not isnan(row.published_ratio):
        words += f"; the paper's ratio is {number(row.published_ratio)} ({row.published_source})"
    return words + "."


def _in_words(row: Compared, p_holm: float, tests: int) -> str:
    if row.reason == CONSTANT and not isnan(row.ratio):
        return f"{_times(row)}, exactly, in each of {_blocks(row)}"
    if row.reason and not isnan(row.ratio):
        return f"{_times(row)}; {_blocks(row)}, so no test"
    if row.reason:
        return f"{row.a} against {row.b}: {row.reason}"
    if equivalent(row.low, row.high):
        return f"equivalent within ±{MARGIN - 1:.0%}: {_times(row)}; {_power(row)}"
    if not row.p < ALPHA:
        return f"no difference shown, nor that there is none: {_times(row)}; {_power(row)}"
    if not p_holm < ALPHA:
        return f"{_times(row)}, which does not stand when corrected for {tests} tests; {_power(row)}"
    return f"{_times(row)}; {_power(row)}"


def equivalent(low: float, high: float, margin: float = MARGIN) -> bool:
    """Return whether an interval of a ratio lies inside the margin: the only ground to say that nothing differs."""
    return 1 / margin <= low and high <= margin


def _times(row: Compared) -> str:
    """Return how many times the one side the other is, or by how much they differ, in words."""
    if isnan(row.ratio):
        return f"{row.a} differed from {row.b} by {estimated(row)}"
    phrase = _PHRASES.get(row.metric, f"had {{}} times the {row.metric.replace('_', ' ')} of")
    return f"{row.a} {phrase.format(estimated(row))} {row.b}"


def estimated(row: Compared) -> str:
    """Return a comparison's ratio with its interval; where it has a difference instead, that with its unit."""
    if isnan(row.ratio) and not isnan(row.difference):
        return estimate(row.difference, row.difference_low, row.difference_high, row.unit, sign="+")
    return estimate(row.ratio, row.low, row.high)


def _power(row: Compared) -> str:
    if isnan(row.detectable_ratio):
        return _blocks(row)
    return f"{_blocks(row)} could have shown {detectable(row.detectable_ratio)}"


def _blocks(row: Compared) -> str:
    named = _NUMBERS[row.blocks] if row.blocks < len(_NUMBERS) else row.blocks
    return f"{named} block{'' if row.blocks == 1 else 's'}"
