"""What the explorer says, as HTML: every text is escaped here."""

import base64
import io
import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook.digits import estimate, interval, number, p_value, rounded
from benchbook.explorer import documents, own_claims, running
from benchbook.explorer.contrasts import Answer
from benchbook.explorer.sources import HERE, Source
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import each
from benchbook.report.drawings import inline


def refused(why: str) -> str:
    """Return why something is not done."""
    return f'<div class="bb bb-refused" role="alert">{escape(why)}</div>'


def terminal(requests: Iterable[running.Request]) -> str:
    """Return the commands that do the same."""
    commands = ", then ".join(f"<code>{escape(one.command)}</code>" for one in requests)
    return f'<div class="bb bb-terminal">The same in a terminal: {commands}</div>'


def answer(found: Answer) -> str:
    """Return the ratio large, its interval, and the finding in a sentence."""
    row = found.row
    if pd.isna(row["ratio"]):
        return f'<div class="bb bb-answer"><p>{escape(found.words)}</p></div>'
    here = row["ratio"], row["low"], row["high"]
    ends, blocks = interval(*here), f"{len(found.points)} block{'' if len(found.points) == 1 else 's'}"
    between = f"95 % interval {ends}, over {blocks}" if ends else f"no interval, of {blocks}"
    head = f'<p class="bb-ratio"><b>{rounded(*here)[0]} ×</b> <span>{between}</span></p>'
    test = str(row["test"])
    if pd.notna(row["p"]):
        p = p_value(row["p"])
        test += f", p {p}" if p.startswith("<") else f", p = {p}"
    return f'<div class="bb bb-answer">{head}<p>{escape(found.words)}</p><p class="bb-small">{escape(test)}</p></div>'


def figure(drawn: Exhibit, found: Answer) -> str:
    """Return the drawing, with its values for who does not see it."""
    assert drawn.figure is not None
    file = io.StringIO()
    with style.applied():
        drawn.figure.savefig(file, format="svg", metadata={"Date": None})
    blocks = "; ".join(f"block {int(one.block) + 1}: {number(one.ratio)}" for one in each(found.points))
    said = escape(f"{drawn.title}. {found.words} Ratio of each block: {blocks}.", quote=True)
    notes = escape(". ".join(drawn.notes))
    body = inline(file.getvalue(), "explorer")
    image = f'<div role="img" aria-label="{said}">{body}</div>'
    drawing = f'<div class="bb-scroll" tabindex="0" role="region" aria-label="The figure">{image}</div>'
    return f'<figure class="bb bb-figure">{drawing}<figcaption>{notes}</figcaption></figure>'


def _table(
    head: Iterable[str], rows: Iterable[Iterable[str]], caption: str, without: Iterable[tuple[str, str]] = ()
) -> str:
    """Return a table of cells that are HTML already; last stand rows `without` values, in whose place is the reason."""
    names = list(head)
    heads = "".join(f'<th scope="col">{one}</th>' for one in names)
    lines = (zip(names, row, strict=True) for row in rows)
    body = "".join(
        "<tr>" + "".join(f'<td data-head="{name}">{cell}</td>' for name, cell in line) + "</tr>" for line in lines
    )
    for first, why in without:
        body += (
            f'<tr><td data-head="">{first}</td><td data-head="" colspan="{len(names) - 1}">not tried: {why}</td></tr>'
        )
    table = f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="bb bb-scroll" tabindex="0" role="region" aria-label="{caption}">{table}</div>'


def claims(found: pd.DataFrame) -> str:
    """Return the verdicts of the paper's claims."""
    if found.empty:
        return '<p class="bb bb-small">No claim of the paper is about this contrast.</p>'
    rows = [(f"{escape(one.says)}<br><small>{escape(one.id)}{', ' * bool(one.contrast)}{escape(one.contrast)}</small>",
             f"<b>{escape(one.verdict)}</b>", estimate(one.ratio, one.low, one.high), escape(one.why))
            for one in each(found)]  # fmt: skip
    return _table(
        ("claim", "verdict", "ratio, repeated interval", "why"),
        rows,
        "The paper's claims about it, judged on this contrast",
    )


def provenance(head: str, about: Mapping[str, Any]) -> str:
    """Return where a value comes from."""
    machine = json.loads(about.get("environment") or "{}")
    told = {name: value for name, value in about.items() if name != "environment"}
    told |= {name: told[name] + 1 for name in ("block", "position") if name in told}  # people count from 1
    told |= {name: machine[name] for name in ("cpu", "kernel", "python") if name in machine}
    parts = "".join(
        f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in told.items()
        if pd.notna(value)
    )
    return f"<section><h3>{escape(head)}</h3><dl>{parts}</dl></section>"


def own(sources: Mapping[str, Source], entries: list[dict[str, Any]]) -> str:
    """Return the registered claims with their verdicts, the newest first, and below them what was removed."""
    advice = f"the claims in it are not read. Repair it and call it {own_claims.FILE} again, or delete it."
    aside = "".join(refused(f"{path} was damaged and is set aside: {advice}") for path in own_claims.set_aside())
    if not entries:
        return f'{aside}<p class="bb bb-small">Nothing registered yet.</p>'
    rows = []
    for entry in reversed(own_claims.standing(entries)):
        own = own_claims.read(entry)
        when = pd.Timestamp(entry["registered"])
        source = sources.get(entry["source"])
        here = sources.get(HERE)
        first = own_claims.judge(source, own) if source else None
        since = own_claims.judge(here, own, when.to_pydatetime()) if here else None
        before = "".join(f"<br><small>not new: {_removed(one)}</small>" for one in own_claims.earlier(entry, entries))
        rows.append((
            f"{_claimed(entry)}<br><small>margin {own.margin:g}: {escape(own.why_margin)}</small>",
            f"{when:%Y-%m-%d %H:%M}<br><small>{entry['seen']} blocks were known</small>{before}",
            _judged(first), _judged(since),
        ))  # fmt: skip
    heads = ("claim", "registered (UTC)", "on what was known: explores", "on blocks measured since: tests")
    table = _table(heads, rows, "Claims of your own") if rows else ""
    taken_off = [entry for entry in entries if "removed" in entry]
    removed = [f"<li>{_claimed(entry)}<br><small>{_removed(entry)}</small></li>" for entry in taken_off]
    summary = f"<summary>Removed: {len(removed)}</summary>"
    return aside + table + (f'<details class="bb">{summary}<ul>{"".join(removed)}</ul></details>' if removed else "")


def _claimed(entry: Mapping[str, Any]) -> str:
    """Return what a registered claim says, and at which levels."""
    own = own_claims.read(entry)
    return f"{own_claims.number(entry)}. {escape(own.says)}<br><small>at {escape(own_claims.levels(own))}</small>"


def _removed(entry: Mapping[str, Any]) -> str:
    """Return what a claim said that was removed, and when it stood."""
    own = own_claims.read(entry)
    registered, removed = (f"{pd.Timestamp(entry[name]):%Y-%m-%d %H:%M}" for name in ("registered", "removed"))
    return f"registered {registered} ({own.claimed}, margin {own.margin:g}), removed {removed}"


def _judged(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "–"
    return f"<b>{escape(str(row['verdict']))}</b><br><small>{escape(str(row['why']))}</small>"


def told(told: documents.Told) -> str:
    """Return an answer as a part of the page: sentences, then the table, then what could not be tried."""
    head = f"<h3>{escape(told.question.text)}</h3>"
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in told.sentences)
    absent = [(escape(level), escape(why)) for why, levels in told.untried.items() for level in levels]
    caption = f"{escape(told.question.text)} Time, and times the fastest with its 95 % interval"
    if told.table.empty:
        table = _table(("", "could not be tried"), absent, escape(told.question.text)) if absent else ""
        return f'<section class="bb bb-told">{head}<p>No answer: nothing ran.</p>{table}</section>'
    rows = []
    of = [name for name in ("what", "level") if told.table[name].ne("").any()]
    for key, group in told.table.groupby(of, sort=False):
        cells = {one.operation: f"{number(one.ms)} ms<br><small>{_times(one)}</small>" for one in each(group)}
        names = [escape(str(one)) for one in (key if isinstance(key, tuple) else (key,))]
        rows.append((*names, *(cells.get(name, "–") for name in told.question.operations)))
    heads = (*("" for _ in of), *told.question.operations.values())
    table = _table(heads, rows, caption, absent)
    return f'<section class="bb bb-told">{head}<ul>{said}</ul>{table}</section>'


def _times(one: Any) -> str:
    return "the fastest" if one.ratio == 1 and pd.isna(one.low) else f"× {estimate(one.ratio, one.low, one.high)}"


def link(path: Path) -> str:
    """Return a link that saves a file."""
    kinds = {".svg": "image/svg+xml", ".pdf": "application/pdf", ".csv": "text/csv", ".json": "application/json"}
    data = base64.b64encode(path.read_bytes()).decode()
    words = {".json": "provenance"}.get(path.suffix, path.suffix[1:].upper())
    return f'<a download="{path.name}" href="data:{kinds[path.suffix]};base64,{data}">{words}</a>'
