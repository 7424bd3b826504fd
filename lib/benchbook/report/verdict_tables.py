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

HEADS: Final = {"Claim": "text", "Verdict": "text", "Here": "here", "Published": "published", "Contrasts": ""}
ABSENT: Final = "did not run"
"""What the reason of a contrast ends in that has nothing to tell."""

SHORT: Final = 120
"""Characters of an explanation that stand open; longer ones open on a click."""


def claims(verdicts: pd.DataFrame) -> HTML:
    """Show the claims that could be judged, two lines each, and below those that could not, with the reason.

    Parameters
    ----------
    verdicts
        Rows of `benchbook.evidence.verdicts`, of one study.
    """
    able, rest = (verdicts[(verdicts["verdict"] != NOT_TESTABLE) == wanted] for wanted in (True, False))
    parts = [_judged(able)] if len(able) else ["<p>None of this paper's claims could be judged by what ran.</p>"]
    if len(rest):
        name = f"{len(rest)} claims not testable here, and why"
        parts.append(f'<details class="paper"><summary>{name}</summary>{_untestable(rest)}</details>')
    return HTML("".join(parts))  # type: ignore[no-untyped-call]


def _judged(able: pd.DataFrame) -> str:
    several = able["id"].duplicated().any()
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in HEADS.items())
    body = "".join(_rows(row, several=bool(several)) for row in figures.each(able))
    return (
        f'<figure><div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead>{body}</table></div></figure>'
    )


def _rows(row: "figures.Row", *, several: bool) -> str:
    where = "; ".join(filter(None, [row.where, f"{row.lane} lane" if several else ""]))
    said = f'<td class="text">{escape(row.says)} <span class="interval">{escape(where)}</span></td>'
    mark = UNTRUSTED if row.untrusted else ""
    verdict = f'<td class="text verdict {row.verdict.replace(" ", "-")}">{escape(row.verdict + mark)}</td>'
    here = f'<td class="here">{_ratio(row)}</td><td class="published">{number(row.published)}</td>'
    count = f"<td>{row.judged} of {row.contrasts}</td>"
    why = f'<td colspan="{len(HEADS)}" class="words">{_why(row.why)}</td>'
    return f'<tbody><tr class="numbers">{said}{verdict}{here}{count}</tr><tr>{why}</tr></tbody>'


def _ratio(row: "figures.Row") -> str:
    if row.ratio != row.ratio:
        return NOT_PRINTED
    if row.low != row.low:
        return number(row.ratio)
    ends = (end(row.low), end(row.high))
    return f'{number(row.ratio)} <span class="interval">[{ends[0]}, {ends[1]}]</span>'


def _why(text: str) -> str:
    """Return the reason; of a long one the counts, the contrasts on a click."""
    start, bracket, rest = text.partition(" (")
    if len(text) <= SHORT or not bracket:
        return escape(text)
    contrasts = _contrasts(rest.removesuffix(")"))
    absent = [part.partition(": ")[0] for part in contrasts if part.endswith(ABSENT)]
    told = [part for part in contrasts if not part.endswith(ABSENT)]
    told += [f"{ABSENT}: {'; '.join(absent)}"] if absent else []
    listed = "".join(f"<li>{escape(part)}</li>" for part in told)
    return f"<details><summary>{escape(start)}</summary><ul>{listed}</ul></details>"


def _contrasts(text: str) -> list[str]:
    """Split a list of contrasts, each of which begins with its levels and a colon."""
    parts: list[str] = []
    for part in text.split("; "):
        levels, colon, _ = part.partition(": ")
        if parts and not (colon and "=" in levels):
            parts[-1] += f"; {part}"
        else:
            parts.append(part)
    return parts


def _untestable(rest: pd.DataFrame) -> str:
    body = "".join(
        f'<tr><td class="text">{escape(row.says)} <span class="interval">{escape(row.where)}</span></td>'
        f'<td class="text">{escape(row.why)}</td></tr>'
        for row in figures.each(rest)
    )
    head = '<thead><tr><th class="text">Claim</th><th class="text">Why not</th></tr></thead>'
    return f'<figure><div class="scroll"><table>{head}<tbody>{body}</tbody></table></div></figure>'
