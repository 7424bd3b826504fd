"""What the explorer says, as HTML: the words are made here, the page's parts stand in ``template/parts.html.j2``."""

import base64
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd
from markupsafe import Markup

from benchbook.digits import estimate, interval, number, p_value, rounded
from benchbook.explorer import documents, own_claims, running
from benchbook.explorer.contrasts import Answer
from benchbook.explorer.sources import HERE, Source
from benchbook.plots import style
from benchbook.plots.exhibit import Exhibit
from benchbook.plots.points import each
from benchbook.report.drawings import inline
from benchbook.report.show import templates

_PARTS: Final[Any] = templates(Path(__file__).parent / "template").get_template("parts.html.j2").module
"""The parts of the page: each escapes what it is given."""


def refused(why: str) -> str:
    """Return why something is not done."""
    return str(_PARTS.refused(why))


def terminal(requests: Iterable[running.Request]) -> str:
    """Return the commands that do the same."""
    return str(_PARTS.terminal([request.command for request in requests]))


def answer(answer: Answer) -> str:
    """Return the ratio large, its interval, and the finding in a sentence."""
    row = answer.row
    if pd.isna(row["ratio"]):
        return str(_PARTS.answer("", "", answer.words, ""))
    here = row["ratio"], row["low"], row["high"]
    ends, blocks = interval(*here), f"{len(answer.points)} block{'' if len(answer.points) == 1 else 's'}"
    between = f"95 % interval {ends}, over {blocks}" if ends else f"no interval, of {blocks}"
    test = str(row["test"])
    if pd.notna(row["p"]):
        p = p_value(row["p"])
        test += f", p {p}" if p.startswith("<") else f", p = {p}"
    return str(_PARTS.answer(rounded(*here)[0], between, answer.words, test))


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


def own(sources: Mapping[str, Source], entries: list[dict[str, Any]]) -> str:
    """Return the registered claims with their verdicts, the newest first, and below them what was removed."""
    advice = f"the claims in it are not read. Repair it and call it {own_claims.FILE} again, or delete it."
    aside = [refused(f"{path} was damaged and is set aside: {advice}") for path in own_claims.set_aside()]
    standing = [_standing(sources, entry, entries) for entry in reversed(own_claims.standing(entries))]
    removed = [_claimed(entry) | {"removal": _removal(entry)} for entry in entries if "removed" in entry]
    return "".join([*aside, _PARTS.own(standing, removed)])


def _standing(sources: Mapping[str, Source], entry: Mapping[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is said of a claim: when it was made, and what it came to then and since."""
    claim, registered = own_claims.read(entry), pd.Timestamp(entry["registered"])
    source, here = sources.get(entry["source"]), sources.get(HERE)
    return _claimed(entry) | {
        "margin": f"{claim.margin:g}",
        "why_margin": claim.why_margin,
        "registered": f"{registered:%Y-%m-%d %H:%M}",
        "seen": entry["seen"],
        "earlier": [_removal(former) for former in own_claims.earlier(entry, entries)],
        "first": own_claims.judge(source, claim) if source else None,
        "since": own_claims.judge(here, claim, registered.to_pydatetime()) if here else None,
    }


def _claimed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a registered claim says, and at which levels."""
    claim = own_claims.read(entry)
    return {"number": own_claims.number(entry), "says": claim.says, "levels": own_claims.levels(claim)}


def _removal(entry: Mapping[str, Any]) -> str:
    """Return what a claim said that was removed, and when it stood."""
    claim = own_claims.read(entry)
    registered, removed = (f"{pd.Timestamp(entry[name]):%Y-%m-%d %H:%M}" for name in ("registered", "removed"))
    return f"registered {registered} ({claim.claimed}, margin {claim.margin:g}), removed {removed}"


def reply(reply: documents.Reply) -> str:
    """Return an answer as a part of the page: sentences, then the table, then what could not be tried."""
    question, table = reply.question, reply.table
    untried = [(level, why) for why, levels in reply.untried.items() for level in levels]
    if table.empty:
        return str(_PARTS.answered(question.text, [], [], [], untried))
    named_by = [name for name in ("what", "level") if table[name].ne("").any()]
    heads = [*("" for _ in named_by), *question.operations.values()]
    rows = []
    for names, group in table.groupby(named_by, sort=False):
        times = {row.operation: {"spent": f"{number(row.ms)} ms", "beside": _beside(row)} for row in each(group)}
        rows.append((names, [(head, times.get(name)) for name, head in question.operations.items()]))
    return str(_PARTS.answered(question.text, reply.sentences, heads, rows, untried))


def _beside(row: Any) -> str:
    """Return how many times the fastest's time a row's is."""
    fastest = row.ratio == 1 and pd.isna(row.low)
    return "the fastest" if fastest else f"× {estimate(row.ratio, row.low, row.high)}"


def link(path: Path) -> str:
    """Return a link that saves a file."""
    kinds = {".svg": "image/svg+xml", ".pdf": "application/pdf", ".csv": "text/csv", ".json": "application/json"}
    data = base64.b64encode(path.read_bytes()).decode()
    words = {".json": "provenance"}.get(path.suffix, path.suffix[1:].upper())
    return str(_PARTS.link(path.name, f"data:{kinds[path.suffix]};base64,{data}", words))
