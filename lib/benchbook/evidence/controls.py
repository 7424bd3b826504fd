"""What vouches for a machine: identical arms (A/A), which should not differ, and how much its blocks' times drifted.

Arms say what a machine and its harness make differ where nothing does, and how much they could hide.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook import stats
from benchbook.digits import detectable, estimate, number
from benchbook.evidence import claim_files
from benchbook.evidence.claims import Untestable
from benchbook.evidence.compared import Comparison
from benchbook.evidence.comparisons import A_OVER_B, MARGIN, Pair, compared, equivalent, pairs
from benchbook.evidence.effects import effect, paired
from benchbook.evidence.judge import ALPHA
from benchbook.evidence.means import measures
from benchbook.evidence.measured import both_arms, by_study, disturbed
from benchbook.evidence.rows import Row
from benchbook.evidence.sides import Side, shared
from benchbook.results import TIMES
from benchbook.stats import sequential
from benchbook.studies import SLUGS

AMOUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "time": TIMES,
    "processor time": ("cpu_time",),
    "memory": ("memory_rss_mb", "memory_change_kb", "memory_percent"),
    "bytes": ("size", "bytes_received", "card_bytes_sent", "card_bytes_received"),
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

_AMOUNT_OF: Final = {metric: kind for kind, metrics in AMOUNTS.items() for metric in metrics}
KINDS: Final = {**_AMOUNT_OF, **{metric: kind for kind, metrics in RATES.items() for metric in metrics}}
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
    ratio: float = nan  # b over a, with its repeated 95 % interval; NaN before the first look
    low: float = nan
    high: float = nan
    margin: float = MARGIN  # the smallest of the study's claims on that kind
    detectable: float = nan  # the ratio that these blocks find in 80 % of cases, corrected as the test is
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
    means = both_arms(measures(observations))
    by_kind: dict[tuple[str, str, str], list[Pair]] = {}
    for study, measured in by_study(means[~disturbed(means)]).items():
        for pair in pairs(_arms(study), measured) if study in SLUGS else ():
            if kind := _AMOUNT_OF.get(pair.quantity[2]):
                by_kind.setdefault((study, pair.host, kind), []).append(pair)
    kinds = [_put_together(*key, of_kind) for key, of_kind in by_kind.items()]
    judged = Counter((together.control.host, together.control.kind == PRIMARY) for together in kinds if together.look)
    rows = []
    for together in kinds:
        primary = together.control.kind == PRIMARY
        rows.append(_judged(together, _SHARES[primary] * ALPHA / max(judged[together.control.host, primary], 1)))
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
    return compared(map(_arms, SLUGS), both_arms(measures(observations)))


def _arms(study: str) -> Comparison:
    """Return the comparison of a study's identical arms, of every quantity that the study compares."""
    of_paper = claim_files.comparisons(study)
    quantities = tuple(quantity for comparison in of_paper for quantity in comparison.quantities)
    shown = tuple(dict.fromkeys(name for comparison in of_paper for name in (comparison.by, *comparison.shown)))
    return Comparison(
        study=study, name="A/A", by="arm", pairs=(("b", "a"),), quantities=quantities, shown=shown,
        labels={"b": "arm b", "a": "arm a"}, published=False,
    )  # fmt: skip


@dataclass(frozen=True)
class Together:
    """The arms of all quantities of one kind, put together block by block."""

    control: Control  # not judged yet
    sides: Mapping[str, Side]  # ``a`` is arm b, as the first named of a pair; empty when nothing has a ratio
    look: int  # units that are judged, blocks or campaigns; 0 before the first look


@dataclass(frozen=True)
class _Logs:
    """The logarithms of what both arms measured in the same blocks, arrays of shape (n,)."""

    blocks: NDArray[np.int64]
    campaigns: NDArray[np.object_]
    values: Mapping[str, NDArray[np.float64]]  # by the side's name


def _put_together(study: str, host: str, kind: str, of_kind: Sequence[Pair]) -> Together:
    logs = list(filter(None, map(_logs, of_kind)))
    left_out, margin = len(of_kind) - len(logs), _margins(study).get(kind, MARGIN)
    control = Control(study, host, kind, len(logs), left_out, 0, margin=margin)
    if not logs:
        return Together(control, {}, 0)
    block = np.concatenate([pair.blocks for pair in logs])
    blocks, first, which = np.unique(block, return_index=True, return_inverse=True)
    campaigns = np.concatenate([pair.campaigns for pair in logs])[first]
    sides = {}
    for name, side in of_kind[0].sides.items():
        mean = np.bincount(which, np.concatenate([pair.values[name] for pair in logs])) / np.bincount(which)
        none = np.zeros(len(mean), bool)
        sides[name] = replace(
            side, blocks=blocks, campaigns=campaigns, values=np.exp(mean), censored=none, resolution=0.0
        )
    look = sequential.look(stats.campaigns.units(campaigns))
    return Together(replace(control, blocks=len(blocks)), sides, look)


def _logs(pair: Pair) -> _Logs | None:
    """Return the logarithms of what both arms measured in the same blocks; None where there is no ratio."""
    blocks = shared(pair.sides.values())
    values = {name: side.of(blocks) for name, side in pair.sides.items()}
    censored = any(side.censored.any() for side in pair.sides.values())
    if not len(blocks) or censored or not all((of_side > 0).all() for of_side in values.values()):
        return None
    campaigns = pair.sides["a"].campaigns_of(blocks)
    return _Logs(blocks, campaigns, {name: np.log(of_side) for name, of_side in values.items()})


def _judged(together: Together, alpha: float) -> Control:
    """Return what one kind of a study's arms came to, tested at that level."""
    control = together.control
    if not together.look:
        return control
    shown, corrected = (
        effect(A_OVER_B, together.sides, confidence=sequential.confidence(together.look, level), first=together.look)
        for level in (ALPHA, alpha)
    )
    judged = paired(A_OVER_B, together.sides, together.look)
    level = 1 - sequential.confidence(together.look, alpha)
    seen = stats.detectable_ratio(*judged.values, alpha=level)
    state = OPEN
    if equivalent(shown.low, shown.high, control.margin):
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


MOVED: Final = 1.1
"""The ratio of the slowest block to the fastest from which a run has drifted."""

_TIMES: Final = ("wall_time", "elapsed_time")


def drift(means: pd.DataFrame) -> pd.DataFrame:
    """Return for each study and host how steady the machine was.

    Parameters
    ----------
    means
        As `benchbook.evidence.measures` returns them.

    Returns
    -------
    pandas.DataFrame
        ``study, host``; ``governor``: of the processors' frequency, all that were seen; ``blocks``; and ``moved``: the
        slowest block's times over the fastest's, geometric mean of all that ran in every block. Pairing by block takes
        that out of the comparisons. NaN and empty where nothing is told.
    """
    rows = []
    for (study, host), group in means.groupby(["study", "host"], sort=False):
        texts = group.drop_duplicates(["cell_id", "block"])["environment"].dropna()
        governors = {str(json.loads(text).get("governor") or "") for text in texts}
        times = group[group["metric"].isin(_TIMES) & (group["value"] > 0)]
        keys = ["cell_id", "operation", "role", "metric", "format"]
        table = times.assign(log=np.log(times["value"])).pivot_table("log", keys, "block", dropna=False)
        whole = table.dropna()
        moods = (whole.sub(whole.mean(axis=1), axis=0)).mean()
        moved = float(np.exp(moods.max() - moods.min())) if len(whole) and len(moods) > 1 else np.nan
        rows.append((study, host, ", ".join(sorted(governors - {""})), group["block"].nunique(), moved))
    return pd.DataFrame(rows, columns=["study", "host", "governor", "blocks", "moved"])


def drift_in_words(table: pd.DataFrame) -> str:
    """Return what `drift` found, in sentences."""
    if table.empty:
        return "Nothing ran, so nothing drifted."
    governors = sorted({name for names in table["governor"] for name in names.split(", ") if name})
    known = f"Frequency governor: {', '.join(governors)}."
    sentences = [known if governors else "The frequency governor is not told."]
    if (moved := table["moved"].dropna()).size:
        study = table["study"].tolist()[int(np.nanargmax(table["moved"]))]
        sentences.append(
            f"The slowest block took {number(moved.max())} times as long as the fastest in {study}, the study "
            f"that moved most" + (": it drifted, which pairing by block takes out." if moved.max() > MOVED else ".")
        )
    return " ".join(sentences)
