"""The papers' own analyses recomputed, as the notebook shows them: cards of findings, and the list of checks."""

from collections.abc import Sequence
from html import escape
from typing import Final

import pandas as pd
from IPython.display import HTML

from benchbook import figures
from benchbook.papers.recomputed import Finding

COLUMNS: Final = {"as_printed": "as printed", "recomputed": "recomputed", "why": "why"}
_KINDS: Final = {"number": "a number", "bound": "a bound", "order": "an order", "likeness": "a likeness"}


def cards(found: Sequence[Finding]) -> HTML:
    """Show findings, a card each: as printed, recomputed, why."""
    return HTML("".join(_card(one) for one in found))  # type: ignore[no-untyped-call]


def _card(one: Finding) -> str:
    parts = "".join(
        f"<div><dt>{name}</dt><dd>{escape(getattr(one, field))}</dd></div>" for field, name in COLUMNS.items()
    )
    kind = f'<span class="kind {one.kind.replace(" ", "-")}">{escape(one.kind)}</span>'
    told = f'<p class="notes">{escape(one.source)}. <code>recomputed.finding("{escape(one.name)}")</code></p>'
    head = f"<h4>{escape(one.title)} {kind}</h4>"
    return f'<section class="finding" id="{escape(one.name)}">{head}<dl>{parts}</dl>{told}</section>'


def checks(table: pd.DataFrame) -> HTML:
    """Show checks: those that disagree at once, those that agree on a click.

    Parameters
    ----------
    table
        As `benchbook.papers.recomputed.checks` returns them, of one study.
    """
    bad, good = table[~table["agrees"]], table[table["agrees"]]
    shown = _list(bad) if len(bad) else ""
    folded = f"<details><summary>{len(good)} that agree</summary>{_list(good)}</details>" if len(good) else ""
    return HTML(shown + folded)  # type: ignore[no-untyped-call]


def _list(table: pd.DataFrame) -> str:
    head = "".join(
        f'<th class="{kind}">{name}</th>'
        for name, kind in (
            ("What", "text"),
            ("Where", "text"),
            ("Printed", ""),
            ("Recomputed", ""),
            ("Tolerance", ""),
            ("", "text"),
        )
    )
    body = "".join(
        f'<tr><td class="text">{escape(row.says)}</td><td class="text">{escape(row.where)}</td>'
        f'<td class="published">{escape(row.printed)}</td><td>{_digits(row.recomputed)}</td><td>{_tolerance(row)}</td>'
        f'<td class="text">{"agrees" if row.agrees else "differs"}</td></tr>'
        for row in figures.each(table)
    )
    return (
        f'<figure><div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>'
    )


def _tolerance(row: "figures.Row") -> str:
    return f"× / {row.tolerance:g}" if row.kind == "likeness" else f"± {row.tolerance:.2g}" if row.tolerance else ""


def _digits(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"
