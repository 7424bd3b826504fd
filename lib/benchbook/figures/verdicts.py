"""Each paper's claims that could be judged here, and how many came out how."""

from functools import partial
from typing import Final

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from benchbook.evidence import STUDIES, Evidence, claims
from benchbook.figures import style
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import COLUMNS, each
from benchbook.figures.points import Row as Claim
from benchbook.figures.sheet import settle, sheet
from benchbook.figures.verdict_rows import LOOKS, UNTRUSTED, Row, draw, open_ended

NOT_TESTABLE: Final = "not testable here"
SHEETS: Final = {"bookstore": 1, "tcp": 1, "drivers": 2, "crud": 2, "replication": 1}
"""On how many sheets a paper's claims are drawn, so that each fits a printed page."""

_COLUMNS: Final = [*COLUMNS, "claim", "says", "verdict", "untrusted"]
_BAR_INCHES: Final = 0.3


def first_judged(table: pd.DataFrame) -> pd.DataFrame:
    """Keep one row a claim: of several lanes and hosts the first that could be judged, the paper's own lane before."""
    able = table.assign(_able=table["verdict"] != NOT_TESTABLE).sort_values("_able", ascending=False, kind="stable")
    return able.drop_duplicates("id").sort_index().drop(columns="_able")


def sheet_of(evidence: Evidence, *, study: str, part: int, parts: int) -> Exhibit:
    """Draw one part of a paper's claims, a row each, that have a verdict here."""
    table = first_judged(evidence.verdicts[evidence.verdicts["study"] == study])
    size = -(-len(table) // parts)
    table = table.iloc[(part - 1) * size : part * size]
    able = table[table["verdict"] != NOT_TESTABLE]
    than = {claim.id: getattr(claim, "than", 1.0) for claim in claims(study)}
    rows = [_row(row, several=able["lane"].nunique() > 1, than=than[row.id]) for row in each(able)]
    title = f"{study}: {len(able)} of {len(table)} claims judged" + (f" (sheet {part} of {parts})" if parts > 1 else "")
    ran = study in set(evidence.means["study"])
    nothing = f"{study}: nothing ran that could judge these claims" if ran else "not run in this profile"
    notes = _notes(able, nothing)
    return Exhibit(title, _points(able, rows), tuple(notes), draw(rows, title, notes, nothing))


def _row(row: Claim, *, several: bool, than: float) -> Row:
    where = [*([row.contrast] if row.contrasts > 1 and row.contrast else []), *([row.lane] if several else [])]
    says = f"{str(row.says).rstrip('.')} ({', '.join(where)})" if where else str(row.says).rstrip(".")
    claimed = open_ended(str(row.claimed), row.margin, than)
    return Row(says, claimed, row.ratio, row.low, row.high, row.published, str(row.verdict), bool(row.untrusted))


def _notes(able: pd.DataFrame, nothing: str) -> list[str]:
    if able.empty:
        return [nothing]
    notes = [
        "ratio of the blocks' geometric means, first named over second, with its 95 % interval, wider for the number "
        "of contrasts where one of them contradicts or most of them suffice",
        "of several contrasts the one that decided; of a ranking the smallest lead",
        "beyond the tint's edge a difference is larger than the margin fixed beforehand",
    ]
    notes += ["no mark: only a difference could be had, or no interval"] if able["ratio"].isna().any() else []
    return notes + ([f"{UNTRUSTED.strip()} identical arms differed here: untrusted"] if able["untrusted"].any() else [])


def _points(able: pd.DataFrame, rows: list[Row]) -> pd.DataFrame:
    """Return what is drawn: the published ratios, and those of here."""
    place = {"panel": "", "unit": "ratio", "censored": False, "stand_in": False, "printed": ""}
    points = []
    for row, drawn in zip(each(able), rows, strict=True):
        about = {
            "level": drawn.says,
            "claim": row.id,
            "says": row.says,
            "verdict": row.verdict,
            "untrusted": row.untrusted,
        }
        here = {"source": "here", "value": row.ratio, "low": row.low, "high": row.high, "blocks": row.blocks}
        nan = float("nan")
        theirs = {"source": "published", "value": row.published, "low": nan, "high": nan, "blocks": 0}
        both = [here] if row.published != row.published else [theirs, here]
        points += [{**place, **about, "series": row.verdict, **one} for one in both]
    return pd.DataFrame(points, columns=_COLUMNS)


def counts(evidence: Evidence) -> Exhibit:
    """Draw how many claims of each paper came out how."""
    table = first_judged(evidence.verdicts)
    tally = tallied(table)
    title = f"{int((table['verdict'] != NOT_TESTABLE).sum())} of {len(table)} claims judged here"
    missing = [study for study in STUDIES if study not in set(evidence.means["study"])]
    notes = [f"not run in this profile: {', '.join(missing)}"] if missing else []
    notes += ["of a claim judged on several lanes or hosts the first counts, the paper's own lane before others"]
    return Exhibit(title, _bars(tally), tuple(notes), _drawn(tally, title, notes))


def _drawn(tally: pd.DataFrame, title: str, notes: list[str]) -> Figure:
    looks = {**{name: look.colour for name, look in LOOKS.items()}, NOT_TESTABLE: "#e6e6e6"}
    with style.applied():
        handles = [Patch(fc=looks[name], ec=style.INK, lw=0.4, label=name) for name in looks if tally[name].any()]
        figure = sheet(title, notes, handles, 0.5 + _BAR_INCHES * len(STUDIES))
        axes = figure.subplots()
        left = pd.Series(0, index=tally.index)
        for name, colour in looks.items():
            bars = axes.barh(
                tally.index, tally[name], left=left, color=colour, edgecolor=style.INK, linewidth=0.4, height=0.66
            )
            labels = [str(count) if count else "" for count in tally[name]]
            axes.bar_label(
                bars, labels, label_type="center", fontsize=7.5, color="white" if name in LOOKS else style.INK
            )
            left = left + tally[name]
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.set_xlabel("claims")
        settle(figure)
    return figure


def tallied(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims of each study have each verdict: a row a study, a column a verdict."""
    found = pd.crosstab(table["study"], table["verdict"])
    return found.reindex(index=list(STUDIES), columns=[*LOOKS, NOT_TESTABLE], fill_value=0)


def _bars(tally: pd.DataFrame) -> pd.DataFrame:
    rows = [
        {
            "level": study,
            "series": verdict,
            "value": int(count),
            "unit": "claims",
            "source": "here",
            "panel": "",
            "blocks": 0,
        }
        for study, counted in tally.iterrows()
        for verdict, count in counted.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).fillna({"printed": "", "censored": False, "stand_in": False})


FIGURES: Final[dict[str, Maker]] = {
    "verdicts": counts,
    **{
        f"{study}_verdicts{'' if part == 1 else f'_{part}'}": partial(sheet_of, study=study, part=part, parts=parts)
        for study, parts in SHEETS.items()
        for part in range(1, parts + 1)
    },
}
