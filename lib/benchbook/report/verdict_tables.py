"""Verdicts as the notebook shows them: a table of one paper's claims with what decided each."""

from html import escape
from typing import Final

import pandas as pd
from IPython.display import HTML

from benchbook import figures
from benchbook.figures.tables import NOT_PRINTED, number
from benchbook.figures.verdict_rows import UNTRUSTED
from benchbook.figures.verdicts import NOT_TESTABLE
from benchbook.report.show import end

NOTHING: Final = "None of this paper's claims could be judged by what ran."
PLACE: Final = ["id", "host", "lane"]
HEADS: Final = {"Claim": "text", "Verdict": "text", "Here": "here", "Published": "published", "Contrasts": ""}


def claims(verdicts: pd.DataFrame, contrasts: pd.DataFrame) -> HTML:
    """Show the claims that could be judged, two lines each, and below those that could not, with the reason.

    Parameters
    ----------
    verdicts
        Rows of `benchbook.evidence.verdicts`, of one study.
    contrasts
        As `benchbook.evidence.judged` returns them.
    """
    able, rest = (verdicts[(verdicts["verdict"] != NOT_TESTABLE) == wanted] for wanted in (True, False))
    parts = [_judged(able, contrasts) if len(able) else f"<p>{NOTHING}</p>"]
    if len(rest):
        name = f"{len(rest)} claims not testable here, and why"
        parts.append(f'<details class="paper"><summary>{name}</summary>{_untestable(rest)}</details>')
    return HTML("".join(parts))  # type: ignore[no-untyped-call]


def _judged(able: pd.DataFrame, contrasts: pd.DataFrame) -> str:
    mine = dict(list(contrasts.groupby(PLACE, sort=False)))
    several = able["id"].duplicated().any()
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in HEADS.items())
    found = [(row, mine.get((row.id, row.host, row.lane), able.iloc[:0])) for row in figures.each(able)]
    body = "".join(_rows(row, its, several=bool(several)) for row, its in found)
    return (
        f'<figure><div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead>{body}</table></div></figure>'
    )


def _rows(row: "figures.Row", mine: pd.DataFrame, *, several: bool) -> str:
    where = "; ".join(filter(None, [row.where, f"{row.lane} lane" if several else ""]))
    said = f'<td class="text">{escape(row.says)} <span class="interval">{escape(where)}</span></td>'
    mark = UNTRUSTED if row.untrusted else ""
    verdict = f'<td class="text verdict {row.verdict.replace(" ", "-")}">{escape(row.verdict + mark)}</td>'
    here = f'<td class="here">{_ratio(row)}</td><td class="published">{number(row.published)}</td>'
    count = f"<td>{row.judged} of {row.contrasts}</td>"
    why = f'<td colspan="{len(HEADS)}" class="words">{_why(row, mine)}</td>'
    return f'<tbody><tr class="numbers">{said}{verdict}{here}{count}</tr><tr>{why}</tr></tbody>'


def _ratio(row: "figures.Row") -> str:
    if row.ratio != row.ratio:
        return NOT_PRINTED
    if row.low != row.low:
        return number(row.ratio)
    ends = (end(row.low), end(row.high))
    return f'{number(row.ratio)} <span class="interval">[{ends[0]}, {ends[1]}]</span>'


def _why(row: "figures.Row", mine: pd.DataFrame) -> str:
    """Return the reason; of several contrasts how many came out how, and each of them on a click."""
    if len(mine) < 2:
        return escape(row.why)
    able = mine[mine["verdict"] != NOT_TESTABLE]
    counts = ", ".join(f"{count} {name}" for name, count in able["verdict"].value_counts().items())
    rest = len(mine) - len(able)
    told = f"{len(able)} contrast{'' if len(able) == 1 else 's'}: {counts}" + (
        f"; {rest} more could not be judged" if rest else ""
    )
    items = [f"{one.contrast}: {one.verdict}, {one.why}" for one in figures.each(able)]
    absent = mine[mine["verdict"] == NOT_TESTABLE].groupby("why", sort=False)["contrast"].agg("; ".join)
    items += [f"{why}: {where}" for why, where in absent.items()]
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<details><summary>{escape(told)}</summary><ul>{listed}</ul></details>"


def _untestable(rest: pd.DataFrame) -> str:
    body = "".join(
        f'<tr><td class="text">{escape(row.says)} <span class="interval">{escape(row.where)}</span></td>'
        f'<td class="text">{escape(row.why)}</td></tr>'
        for row in figures.each(rest)
    )
    head = '<thead><tr><th class="text">Claim</th><th class="text">Why not</th></tr></thead>'
    return f'<figure><div class="scroll"><table>{head}<tbody>{body}</tbody></table></div></figure>'
