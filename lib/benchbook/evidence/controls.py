"""Identical arms (A/A): what a machine and its harness make differ where nothing does, and how much they could hide."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import stats
from benchbook.digits import detectable, estimate
from benchbook.evidence import claim_files
from benchbook.evidence.claims import Comparison, Untestable
from benchbook.evidence.comparisons import A_OVER_B, MARGIN, Pair, compared, equivalent, pairs
from benchbook.evidence.effects import effect, paired
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.means import measures
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import Side, both_arms, by_study, disturbed, shared
from benchbook.results import TIMES
from benchbook.stats import sequential
from benchbook.studies import SLUGS

NAN: Final = float("nan")

AMOUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "time": TIMES,
    "processor time": ("cpu_time",),
    "memory": ("memory_rss_mb", "memory_change_kb", "memory_percent"),
    "bytes": ("size", "bytes_received"),
}
"""The kinds of what is measured, and what is put together of each."""

PRIMARY: Final = "time"
_SHARES: Final = {True: 0.8, False: 0.2}
"""Of the 5 % of sound machines that may be called untrusted: those by the primary kind, and by all others."""

RATES: Final[Mapping[str, tuple[str, ...]]] = {
    "time": ("time_per_item",),
    "processor time": (
        *("cpu_user", "cpu_system", "cpu_percent", "cpu_user_percent", "cpu_system_percent", "idle_percent"),
    ),
    "bytes": ("bandwidth",),
}
"""What is a part of amounts or follows from them: as quantities of their own they would count twice."""

KINDS: Final = {metric: kind for table in (AMOUNTS, RATES) for kind, metrics in table.items() for metric in metrics}
"""The kind of each metric."""

DIFFER, ALIKE, OPEN, TOO_FEW = "differ", "alike", "not shown to be alike", "too few blocks"
"""What can be said of identical arms: that they differ, that they do not, or neither."""


@dataclass(frozen=True)
class Control(Row):
    """What the identical arms of one study came to on one host, in one kind of what is measured."""

    study: str
    host: str
    kind: str  # of `AMOUNTS`
    quantities: int  # how many are put together
    left_out: int  # for how many more there is no ratio
    blocks: int  # those that are judged, of the last look; before the first those that both arms have
    ratio: float = NAN  # b over a, with its repeated 95 % interval; NaN before the first look
    low: float = NAN
    high: float = NAN
    margin: float = MARGIN  # the smallest of the study's claims on that kind
    detectable: float = NAN  # the ratio that these blocks find in 80 % of cases, corrected as the test is
    state: str = TOO_FEW

    @property
    def untrusted(self) -> bool:
        """Whether the arms differ: then the study's other differences are in doubt."""
        return self.state == DIFFER

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        of = f"{self.kind} of {self.quantities} quantit{'y' if self.quantities == 1 else 'ies'}"
        of += f" ({self.left_out} more have no ratio)" if self.left_out else ""
        if self.state == TOO_FEW:
            return f"{of}: {self.blocks} blocks, and {sequential.LOOKS[0]} are the first that are looked at"
        within = f"within {100 * (self.margin - 1):.2g} %, the smallest margin of these claims"
        meaning = {
            DIFFER: "identical arms differ",
            ALIKE: f"alike {within}",
            OPEN: f"neither shown to differ nor to be alike {within}",
        }[self.state]
        seen = "" if isnan(self.detectable) else f"; a bias of {detectable(self.detectable)} would have been found"
        ratio = estimate(self.ratio, self.low, self.high)
        return f"{of}: arm b took {ratio} of arm a's in {self.blocks} blocks: {meaning}{seen}"


def controls(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison of each study's identical arms, b over a: one test a kind of what is measured.

    Tested one by one, a study's quantities need a correction for all of them and all studies, some ninety, and at a few
    blocks not even an arm that takes twice as long is found. A machine or a harness that favours an arm does so in many
    quantities at once. So the test is of one number a block, the mean of all their logarithms b/a, as O'Brien's test
    of many endpoints; quantities of which a block has fewer than another make it vary more there, under which Student's
    test errs less, never more (Ibragimov & Müller). It is made at the looks at which claims are judged, and corrected
    for these and for all kinds and studies of a host: no sound run is called untrusted in more than 5 % of cases.

    Parameters
    ----------
    observations
        Rows as in `benchbook.results.schema.OBSERVATIONS`, or their block means or `measures`; of any of the studies.

    Returns
    -------
    pandas.DataFrame
        Its columns are the fields and properties of `Control`: a row a study, host and kind. ``state`` is *alike*
        when the 95 % interval lies inside the margin, else *differ* when the corrected one excludes 1, else *not shown
        to be alike*, or *too few blocks* for a look.

    References
    ----------
    O'Brien, Biometrics 40 (1984) 1079-1087; Ibragimov & Müller, Journal of Business & Economic Statistics 28 (2010)
    453-468.
    """
    means = measures(both_arms(observations))
    kinds = [_put_together(*key, some) for key, some in _by_kind(means[~disturbed(means)]).items()]
    judged = Counter((together.host, together.kind == PRIMARY) for together in kinds if together.look)
    rows = []
    for together in kinds:
        primary = together.kind == PRIMARY
        rows.append(_control(together, _SHARES[primary] * ALPHA / max(judged[together.host, primary], 1)))
    table = Control.frame(rows).assign(untrusted=[row.untrusted for row in rows], words=[row.words for row in rows])
    return table.astype({"untrusted": bool})


def untrusted(controls: pd.DataFrame) -> frozenset[tuple[str, str]]:
    """Return the studies and hosts of which identical arms differ."""
    doubted = controls[controls["untrusted"]]
    return frozenset(zip(doubted["study"], doubted["host"], strict=True))


def unseen(controls: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return by study, host and kind the ratio up to which a bias could have gone unseen, where identical arms ran.

    Parameters
    ----------
    controls
        As `controls` returns them.
    """
    known = controls[controls["detectable"].notna()]
    return {(row.study, row.host, row.kind): row.detectable for row in Control.of(known)}


def arms(observations: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison of each pair of identical arms, b against a, in the columns of `comparisons`.

    These say where arms differ, not whether: see `controls`.
    """
    return compared(map(_arms, SLUGS), measures(both_arms(observations)))


def _arms(study: str) -> Comparison:
    """Return the comparison of a study's identical arms, of every quantity that the study compares."""
    every = claim_files.comparisons(study)
    quantities = tuple(quantity for comparison in every for quantity in comparison.quantities)
    shown = tuple(dict.fromkeys(name for comparison in every for name in (comparison.by, *comparison.shown)))
    return Comparison(
        study=study, name="A/A", by="arm", pairs=(("b", "a"),), quantities=quantities, shown=shown,
        labels={"b": "arm b", "a": "arm a"}, published=False,
    )  # fmt: skip


def _by_kind(means: pd.DataFrame) -> dict[tuple[str, str, str], list[Pair]]:
    """Return the pairs of arms by study, host and kind."""
    kinds = {metric: kind for kind, metrics in AMOUNTS.items() for metric in metrics}
    by_kind: dict[tuple[str, str, str], list[Pair]] = {}
    measured = by_study(means)
    for study in [study for study in measured if study in SLUGS]:
        for pair in pairs(_arms(study), measured[study]):
            if kind := kinds.get(pair.quantity[2]):
                by_kind.setdefault((study, pair.host, kind), []).append(pair)
    return by_kind


@dataclass(frozen=True)
class Together:
    """The arms of all quantities of one kind, put together block by block."""

    study: str
    host: str
    kind: str
    quantities: int
    left_out: int
    sides: Mapping[str, Side]  # ``a`` is arm b, as the first named of a pair; empty when nothing has a ratio
    look: int  # units that are judged, blocks or campaigns; 0 before the first look
    blocks: int  # those that both arms have


@dataclass(frozen=True)
class _Logs:
    """The logarithms of what both arms measured in the same blocks, arrays of shape (n,)."""

    blocks: NDArray[np.int64]
    campaigns: NDArray[np.object_]
    values: Mapping[str, NDArray[np.float64]]  # by the side's name


def _put_together(study: str, host: str, kind: str, every: Iterable[Pair]) -> Together:
    every = list(every)
    logs = list(filter(None, map(_logs, every)))
    left_out = len(every) - len(logs)
    if not logs:
        return Together(study, host, kind, 0, left_out, {}, 0, 0)
    block = np.concatenate([pair.blocks for pair in logs])
    blocks, first, which = np.unique(block, return_index=True, return_inverse=True)
    campaigns = np.concatenate([pair.campaigns for pair in logs])[first]
    sides = {}
    for name, side in every[0].sides.items():
        mean = np.bincount(which, np.concatenate([pair.values[name] for pair in logs])) / np.bincount(which)
        known = np.zeros(len(mean), bool)
        sides[name] = replace(
            side, blocks=blocks, campaigns=campaigns, values=np.exp(mean), censored=known, resolution=0.0
        )
    look = sequential.look(stats.campaigns.units(campaigns))
    return Together(study, host, kind, len(logs), left_out, sides, look, len(blocks))


def _logs(pair: Pair) -> _Logs | None:
    """Return the logarithms of what both arms measured in the same blocks; None where there is no ratio."""
    blocks = shared(pair.sides.values())
    values = {name: side.of(blocks) for name, side in pair.sides.items()}
    censored = any(side.censored.any() for side in pair.sides.values())
    if not len(blocks) or censored or not all((of_side > 0).all() for of_side in values.values()):
        return None
    campaigns = pair.sides["a"].campaigns_of(blocks)
    return _Logs(blocks, campaigns, {name: np.log(of_side) for name, of_side in values.items()})


def _control(together: Together, alpha: float) -> Control:
    """Return what one kind of a study's arms came to, tested at that level."""
    kind = together.kind
    margin = _margins(together.study).get(kind, MARGIN)
    control = Control(
        together.study, together.host, kind, together.quantities, together.left_out, together.blocks, margin=margin
    )
    if not together.look:
        return control
    shown, corrected = (
        effect(A_OVER_B, together.sides, confidence=sequential.confidence(together.look, level), first=together.look)
        for level in (ALPHA, alpha)
    )
    judged = paired(A_OVER_B, together.sides, together.look)
    level = 1 - sequential.confidence(together.look, alpha)
    seen = stats.detectable_ratio(*judged.values, pairs=True, alpha=level)
    state = OPEN
    if equivalent(shown.low, shown.high, margin):
        state = ALIKE
    elif corrected.low > 1 or corrected.high < 1:
        state = DIFFER
    return replace(
        control, ratio=shown.ratio, low=shown.low, high=shown.high, detectable=seen, state=state, blocks=judged.blocks
    )


def _margins(study: str) -> dict[str, float]:
    """Return the smallest margin of a study's claims on each kind; where there is none, the smallest of all."""
    margins: dict[str, float] = {}
    for claim in claim_files.claims(study):
        if not isinstance(claim, Untestable):
            kind = KINDS[claim.quantity.metric]
            margins[kind] = min(claim.margin, margins.get(kind, claim.margin))
    return dict.fromkeys(AMOUNTS, min(margins.values(), default=MARGIN)) | margins
