"""Study `tcp`: every codec that ran, over its stack's own JSON codec, and which comes nearest to the paper's ratio."""

import math
from typing import Final

import pandas as pd

from benchbook import stats
from benchbook.evidence import Evidence
from benchbook.evidence import number as printed_number
from benchbook.figures import libraries, names, stacks
from benchbook.figures.compared import counted
from benchbook.figures.exhibit import Exhibit, Maker
from benchbook.figures.points import Row, chosen, each, wide
from benchbook.figures.tables import estimate, number
from benchbook.figures.tcp import MILLION, PAPERS_WAY, STACKS, TRIALS

CODECS: Final = {
    "Java": ("jaxb", "jaxb_context", "dom", "xmldecoder", "jackson"),
    "Python": ("lxml", "etree", "xsdata", "pydantic_xml", "orjson", "json", "msgspec", "pydantic"),
}
"""What each stack can decode with, XML before JSON."""

COLUMNS: Final = (
    *("Objects", "Format", "Codec", "Stack", "Over"),
    *("Elapsed time, published", "Elapsed time, here", "Here / published", "Nearest"),
)


def decoders(evidence: Evidence) -> Exhibit:
    """Set each codec's elapsed time on the server's clock over that of its stack's own JSON codec, for each n."""
    title = "tcp, decoders: elapsed time on the server's clock over that of the stack's own JSON codec, 95 % intervals"
    lanes = stacks.ran(wide(evidence, "tcp"))
    parts, said = [], []
    for stack, codecs in CODECS.items():
        every, notes = chosen(lanes.get(stack, pd.DataFrame()), PAPERS_WAY)
        present = set(every["codec"]) if len(every) else set()
        absent = [libraries.CODECS.get(codec, codec) for codec in codecs if codec not in present]
        parts += [_over_json(every, stack)] if present else []
        said += [f"{stack}: {note}" for note in notes]
        said += [f"{stack}: not run in this profile: {'; '.join(absent)}"] if absent else []
    ratios = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if ratios.empty:
        return Exhibit(title, pd.DataFrame(columns=list(COLUMNS)), tuple(said))
    ratios["nearest"] = ratios.index.isin(ratios.dropna(subset=["distance"]).groupby("n")["distance"].idxmin())
    order = ratios.sort_values(["n", "format", "ratio"], ascending=[True, False, False], kind="stable")
    heads = (
        counted(ratios["blocks"]),
        "nearest: the XML codec whose ratio is the least factor away from the published one at that n",
    )
    return Exhibit(title, pd.DataFrame([_row(row) for row in each(order)], columns=list(COLUMNS)), (*heads, *said))


def _over_json(every: pd.DataFrame, stack: str) -> pd.DataFrame:
    """Return one stack's ratios, a row an n and codec; none where its own JSON codec did not run."""
    base = STACKS[stack]["json"]
    mine = every[every["role"] == "server"]
    kinds = mine.groupby("codec")["format"].first()
    rows = []
    for n in map(int, mine["n"].unique()):
        times = mine[mine["n"] == n].pivot_table(index="block", columns="codec", values="wall_time")
        for codec in times.columns.drop(base) if base in times else ():
            over, under = times[codec].dropna(), times[base].dropna()
            shared = over.index.intersection(under.index)
            paired = len(shared) > 1
            a, b = (over[shared], under[shared]) if paired else (over, under)
            ratio = stats.ratio_interval(a.to_numpy(), b.to_numpy(), pairs=paired)  # as `evidence.comparisons`
            theirs = _printed(n) if kinds[codec] == "xml" else math.nan
            rows.append(
                {
                    **{"n": n, "format": kinds[codec], "codec": codec, "stack": stack, "base": base},
                    **{"ratio": ratio.estimate, "low": ratio.low, "high": ratio.high, "published": theirs},
                    **{"distance": abs(math.log(ratio.estimate / theirs)), "blocks": min(len(a), len(b))},
                }
            )
    return pd.DataFrame(rows)


def _printed(n: int) -> float:
    """Return the paper's ratio of total times at that number of objects; NaN when it has none."""
    source, trial = ("Table 1", "") if n == MILLION else ("Table 7", f" {TRIALS.get(n, 0)}")
    xml, json = (printed_number("tcp", source, "Total Time", kind + trial) for kind in ("XML", "JSON"))
    return xml / json


def _row(row: Row) -> tuple[str, ...]:
    codec, base = (libraries.CODECS.get(name, name) for name in (row.codec, row.base))
    here = estimate(row.ratio, row.low, row.high)
    kind, far = names.FORMATS[row.format], number(row.ratio / row.published)
    return (
        f"{row.n:,}",
        kind,
        codec,
        row.stack,
        base,
        number(row.published),
        here,
        far,
        "nearest" if row.nearest else "",
    )


TABLES: Final[dict[str, Maker]] = {"tcp_decoders": decoders}
