"""What the explorer says, as HTML: the words are made here, the page's parts stand in ``template/parts.html.j2``."""

import base64
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any, Final

import pandas as pd
from markupsafe import Markup

from benchbook.datasets import own_records
from benchbook.datasets.inference import KnownField
from benchbook.digits import estimate, interval, number, p_value, plural, rounded
from benchbook.explorer import documents, own_claims, running
from benchbook.explorer.contrasts import Answer
from benchbook.explorer.sources import HERE, Source
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import each
from benchbook.report.builder import inline
from benchbook.report.show import templates

_PARTS: Final[Any] = templates(Path(__file__).parent / "template").get_template("parts.html.j2").module
"""The parts of the page: each escapes what it is given."""


def refused(why: str) -> str:
    """Return why something is not done."""
    return str(_PARTS.refused(why))


def terminal(requests: Iterable[running.Request]) -> str:
    """Return the commands that do the same."""
    return str(_PARTS.terminal([request.command for request in requests]))


@dataclass(frozen=True)
class Headline:
    """What an answer comes to, in words."""

    ratio: str  # empty where there is none
    between: str  # its interval, and of how many blocks
    words: str  # the finding in a sentence
    test: str


def headline(answer: Answer) -> Headline:
    """Return an answer in words."""
    row = answer.row
    if isnan(row.ratio):
        return Headline("", "", answer.words, "")
    here = row.ratio, row.low, row.high
    ends, blocks = interval(*here), plural(row.blocks, "block")
    between = f"95 % interval {ends}, over {blocks}" if ends else f"no interval, of {blocks}"
    test = row.test
    if not isnan(row.p):
        p = p_value(row.p)
        test += f", p {p}" if p.startswith("<") else f", p = {p}"
    return Headline(rounded(*here)[0], between, answer.words, test)


def answer(answer: Answer) -> str:
    """Return the ratio large, its interval, and the finding in a sentence."""
    return str(_PARTS.answer(headline(answer)))


def figure(drawn: Exhibit, answer: Answer) -> str:
    """Return the drawing, with its values for who does not see it."""
    assert drawn.figure is not None
    file = io.StringIO()
    with style.applied():
        drawn.figure.savefig(file, format="svg", metadata={"Date": None})
    blocks = "; ".join(f"block {int(point.block) + 1}: {number(point.ratio)}" for point in each(answer.points))
    values = f"{drawn.title}. {answer.words} Ratio of each block: {blocks}."
    return str(_PARTS.figure(Markup(inline(file.getvalue(), "explorer")), values, ". ".join(drawn.notes)))


def claims(contrasts: pd.DataFrame) -> str:
    """Return the verdicts of the paper's claims."""
    return str(_PARTS.claims(list(each(contrasts))))


def provenance(head: str, origin: Mapping[str, Any]) -> str:
    """Return where a value comes from."""
    machine = json.loads(origin.get("environment") or "{}")
    facts = {name: value for name, value in origin.items() if pd.notna(value)}
    facts.pop("environment", None)
    facts |= {name: facts[name] + 1 for name in ("block", "position") if name in facts}  # people count from 1
    facts |= {name: machine[name] for name in ("cpu", "kernel", "python") if name in machine}
    return str(_PARTS.provenance(head, {name.replace("_", " "): value for name, value in facts.items()}))


def own(sources: Mapping[str, Source], entries: Sequence[own_claims.Entry]) -> str:
    """Return the registered claims with their verdicts, the newest first, and below them what was removed."""
    advice = f"the claims in it are not read. Repair it and call it {own_claims.FILE} again, or delete it."
    aside = [refused(f"{path} was damaged and is set aside: {advice}") for path in own_claims.set_aside()]
    here = sources.get(HERE)
    standing = []
    for entry in reversed(own_claims.standing(entries)):
        source = sources.get(entry.source)
        standing.append(
            _claimed(entry)
            | {
                "margin": f"{entry.claim.margin:g}",
                "why_margin": entry.claim.why_margin,
                "registered": _minute(entry.registered),
                "seen": entry.seen,
                "earlier": [_removal(former) for former in own_claims.earlier(entry, entries)],
                "first": own_claims.judge(source, entry.claim, entry.host) if source else None,
                "since": own_claims.judge(here, entry.claim, entry.host, entry.registered) if here else None,
            }
        )
    removed = [_claimed(entry) | {"removal": _removal(entry)} for entry in entries if entry.removed]
    return "".join([*aside, _PARTS.own(standing, removed)])


def _claimed(entry: own_claims.Entry) -> dict[str, object]:
    """Return what a registered claim says, and at which levels."""
    return {"number": entry.number, "says": entry.claim.says, "levels": own_claims.levels(entry.claim)}


def _removal(entry: own_claims.Entry) -> str:
    """Return what a claim said that was removed, and when it stood."""
    assert entry.removed
    statement = f"{entry.claim.claimed}, margin {entry.claim.margin:g}"
    return f"registered {_minute(entry.registered)} ({statement}), removed {_minute(entry.removed)}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def understood(known: own_records.Understood) -> str:
    """Return what was understood of a file: in a line, its fields, and what was not taken as it stands."""
    rows = [
        (field.path, _type(field), _share(field.absent, field.of), _share(field.null, field.of))
        for field in known.fields[:_SHOWN]
    ]
    return str(_PARTS.understood(known.words, rows, len(known.fields) - len(rows), known.notes))


def _type(field: KnownField) -> str:
    words = _TYPES.get(field.type, field.type)
    return f"{words} of {_TYPES.get(field.item, field.item)}s" if field.item not in (None, "json") else words


def _share(count: int, of: int) -> str:
    """Return a share in percent: one that is not none is not 0 %."""
    if not count:
        return "–"
    percent = 100 * count / of if of else 0
    return "< 1 %" if percent < 1 else f"{percent:.0f} %"


_SHOWN: Final = 200
"""Fields that are listed at most."""

_TYPES: Final = {"json": "differs in kind", "datetime": "moment", "date": "day", "string": "text"}


def reply(reply: documents.Reply) -> str:
    """Return an answer as a part of the page: sentences, then the table, then what could not be tried."""
    question, table = reply.question, reply.table
    untried = [(level, why) for why, levels in reply.untried.items() for level in levels]
    if table.empty:
        return str(_PARTS.answered(question.text, untried=untried))
    named_by = [name for name in ("what", "level") if table[name].ne("").any()]
    heads = [*("" for _ in named_by), *question.operations.values()]
    rows = []
    for names, group in table.groupby(named_by, sort=False):
        times = {}
        for row in each(group):
            fastest = row.ratio == 1 and pd.isna(row.low)
            beside = "the fastest" if fastest else f"× {estimate(row.ratio, row.low, row.high)}"
            times[row.operation] = {"spent": f"{number(row.ms)} ms", "beside": beside}
        rows.append((names, [(head, times.get(name)) for name, head in question.operations.items()]))
    records = plural(reply.records, "record")
    return str(
        _PARTS.answered(question.text, reply.sentences, heads, rows, untried, reply.through, records, question.way)
    )


def link(path: Path) -> str:
    """Return a link that saves a file."""
    kinds = {".svg": "image/svg+xml", ".pdf": "application/pdf", ".csv": "text/csv", ".json": "application/json"}
    data = base64.b64encode(path.read_bytes()).decode()
    words = {".json": "provenance"}.get(path.suffix, path.suffix[1:].upper())
    return str(_PARTS.link(path.name, f"data:{kinds[path.suffix]};base64,{data}", words))
