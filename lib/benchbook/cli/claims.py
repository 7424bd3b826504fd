"""`benchbook claims`: every claim of the papers with its verdict, from a profile's results or the committed run."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchbook import cli, studies
from benchbook.cli import output, selection
from benchbook.digits import difference, estimate, number, p_value, plural

if TYPE_CHECKING:
    import pandas as pd

    from benchbook.analysis import Analysis
    from benchbook.analysis.verdicts import ClaimVerdict

NARROW: Final = 60
"""Columns of the narrowest text."""

HERE: Final = "here (99 % interval)"

COMPARISON_FIELDS: Final = (
    "a", "b", "label", "language", "kind", "unit", "estimate", "low", "high", "error", "t", "df", "p", "p_holm",
    "hedges_g", "blocks", "machine_days", "noisy", "published", "published_source", "stands", "reason",
)  # fmt: skip
"""What JSON has of a claim's comparisons."""


@dataclass(frozen=True)
class Judged:
    """What a run says of the claims: verdicts, facts, and the comparisons of both."""

    verdicts: "Sequence[ClaimVerdict]"
    facts: Sequence[Mapping[Any, Any]]  # as `benchbook.analysis.facts` returns them
    comparisons: "pd.DataFrame"  # as `benchbook.analysis.claim_comparisons` returns them

    def of(self, claim: str, language: str = "") -> list[dict[str, Any]]:
        """Return the comparisons of a claim, those in that language first."""
        rows = self.comparisons[self.comparisons["name"] == claim].to_dict("records")
        named = [{str(name): row[name] for name in row} for row in rows]
        return sorted(named, key=lambda row: row["language"] != language)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    text = "the claims of a study, or one claim with all its comparisons (default: all)"
    parser.add_argument("claim", nargs="*", metavar="STUDY|ID", help=text)
    text = "only those with that verdict, such as holds or does-not-hold"
    parser.add_argument("--verdict", type=_verdicts, default=[], metavar="V,...", help=text)
    text = "judge the claims of this file instead, written as those of data/claims are"
    parser.add_argument("--claims", type=Path, metavar="FILE", help=text)
    output.add_json(parser)
    selection.add_run_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the claims that were asked for with their verdicts."""
    judged = _chosen(asked, _judge(asked.claims, _analysis(asked)))
    if asked.json:
        print(output.as_json([_as_json(judged, verdict) for verdict in judged.verdicts]))
        return cli.DONE
    if asked.claim and not {*asked.claim} & {*studies.SLUGS}:
        print("\n\n".join(_entries(judged)))
        return cli.DONE
    from benchbook.analysis.verdicts import ClaimVerdict, Counts  # here, for it is slow to import

    for study in dict.fromkeys(verdict.study for verdict in judged.verdicts):
        of_study = [verdict for verdict in judged.verdicts if verdict.study == study]
        counts = Counts.of(ClaimVerdict.frame(of_study))
        print(f"{study}: {counts}\n{output.as_text([_line(verdict) for verdict in of_study])}\n")
    if judged.facts:
        names = ("id", "says", "words", "fact")
        rows = [{name: fact[name] for name in names} for fact in judged.facts]
        print(f"facts, which cannot fail here and are not counted:\n{output.as_text(rows)}\n")
    where = "in the reference run" if asked.reference else f"in the profile {asked.profile}"
    print("benchbook claims ID: all comparisons of one claim")
    print(f"{where}: {Counts.of(ClaimVerdict.frame(judged.verdicts))}")
    return cli.DONE


def _verdicts(text: str) -> list[str]:
    from benchbook.analysis.verdicts import VERDICTS  # here, for it is slow to import

    return output.several("verdict", VERDICTS)(text.replace("-", " "))


def _analysis(asked: argparse.Namespace) -> "Analysis":
    """Return the analysis of the run that was asked for; where nothing ran, say so on stderr."""
    if asked.reference:
        return selection.committed().analysis
    from benchbook import grid  # here, for they are slow to import
    from benchbook.analysis.runs import Run

    cells = grid.plan(studies.SLUGS, asked.profile).cells
    output.report_damage(values=True)
    if not any(cell.state == "done" for cell in cells):
        print(f"benchbook: {selection.nothing_ran(asked.profile, 'ask for --reference')}", file=sys.stderr)
    return Run.of_results(asked.profile, grid.keys(cells)).analysis


def _judge(file: Path | None, analysis: "Analysis") -> Judged:
    """Return the verdicts on the papers' claims, or on those of a user's file."""
    from benchbook.analysis import claim_comparisons, claim_files, facts, verdicts  # here, for they are slow to import
    from benchbook.analysis.verdicts import ClaimVerdict

    claims = claim_files.read(file, is_own=True).claims if file else claim_files.claims()
    comparisons = claim_comparisons(analysis.means, claims) if file else analysis.comparisons
    return Judged(
        ClaimVerdict.of(verdicts(comparisons, claims)),
        facts(comparisons, claims).to_dict("records"),
        comparisons,
    )


def _chosen(asked: argparse.Namespace, judged: Judged) -> Judged:
    """Return what was asked for, in the papers' order.

    Raises `benchbook.cli.UsageError` when there is no such study or claim.
    """
    ids = [*(verdict.id for verdict in judged.verdicts), *(fact["id"] for fact in judged.facts)]
    known = dict.fromkeys([*studies.SLUGS, *ids])
    for name in asked.claim:
        if name not in known:
            advice = output.nearest(name, known, "benchbook claims lists them")
            raise cli.UsageError(f"no study and no claim {name!r}: {advice}")
    names = {*asked.claim} or {*known}
    verdicts = [verdict for verdict in judged.verdicts if {verdict.id, verdict.study} & names]
    facts = [fact for fact in judged.facts if {fact["id"], fact["study"]} & names]
    if asked.verdict:
        verdicts, facts = [verdict for verdict in verdicts if verdict.verdict in asked.verdict], []
    return Judged(verdicts, facts, judged.comparisons)


def _as_json(judged: Judged, verdict: "ClaimVerdict") -> dict[str, object]:
    """Return a claim's verdict as JSON has it, with all its comparisons."""
    about = {"for" if name == "for_" else name: output.plain(value) for name, value in vars(verdict).items()}
    rows = judged.of(verdict.id, verdict.language)
    return {**about, "comparisons": [{name: output.plain(row[name]) for name in COMPARISON_FIELDS} for row in rows]}


def _line(verdict: "ClaimVerdict") -> dict[str, object]:
    """Return a claim's line: its verdict, the headline with its interval, what was printed, and the counts."""
    return {
        "verdict": verdict.verdict,
        HERE: _measured(vars(verdict)),
        "printed": _printed(verdict),
        "claim": verdict.id,
        "comparisons": verdict.words,
    }


def _measured(row: Mapping[str, Any]) -> str:
    """Return an estimate with its interval, a difference with its unit; empty where there is none."""
    if isnan(row["estimate"]):
        return ""
    ends = row["estimate"], row["low"], row["high"]
    return difference(*ends, row["unit"]) if row["kind"] == "difference" else estimate(*ends)


def _printed(verdict: "ClaimVerdict") -> str:
    """Return the printed ratio and how the measured one lies to it; empty where none is printed."""
    if isnan(verdict.published):
        return ""
    return ", ".join(filter(None, [number(verdict.published), verdict.size]))


def _entries(judged: Judged) -> Iterable[str]:
    """Yield of each claim and fact its sentence, its verdict and every comparison."""
    for verdict in judged.verdicts:
        texts = [
            f"{verdict.id}: {verdict.verdict} ({verdict.words})",
            f"{verdict.says} ({verdict.where}; claimed: {verdict.claimed})",
            _headline(verdict),
            verdict.others,
            verdict.in_the_paper,
            verdict.why,
        ]
        yield _entry(texts, judged.of(verdict.id, verdict.language))
    for fact in judged.facts:
        texts = [f"{fact['id']}: a fact, counted nowhere: {fact['fact']}", f"{fact['says']} ({fact['where']})"]
        yield _entry(texts, judged.of(fact["id"]))


def _headline(verdict: "ClaimVerdict") -> str:
    """Return the comparison that stands for a claim in words; empty where it was not measured."""
    measured = _measured(vars(verdict))
    if not measured:
        return ""
    blocks = f"{plural(verdict.blocks, 'block')} of {plural(verdict.machine_days, 'machine-day')}"
    printed = _printed(verdict)
    interval = ", 99 % interval" if verdict.low < verdict.high else ""
    parts = [f"{verdict.headline}: {measured}{interval}", blocks]
    parts += [f"printed {printed} ({verdict.published_source})"] if printed else []
    return "; ".join(parts)


def _entry(texts: Iterable[str], comparisons: Iterable[Mapping[str, Any]]) -> str:
    """Return texts, each broken into lines and indented but for the first, above the table of comparisons."""
    wide = max(shutil.get_terminal_size().columns, NARROW)
    wrap = textwrap.TextWrapper(wide, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    lines = [wrap.fill(text) for text in texts if text]
    rows = [_comparison(row) for row in comparisons]
    return "\n".join([lines[0].lstrip(), *lines[1:], *([output.as_text(rows)] if rows else [])])


def _comparison(row: Mapping[str, Any]) -> dict[str, object]:
    """Return a comparison's line."""
    tested = not isnan(row["t"])
    return {
        "language": row["language"],
        "comparison": ", ".join(filter(None, [f"{row['a']} against {row['b']}", row["label"]])),
        "stands": row["stands"],
        HERE: _measured(row),
        "printed": "" if isnan(row["published"]) else number(row["published"]),
        "blocks": row["blocks"] or "",
        "days": row["machine_days"] or "",
        "t": number(row["t"]) if tested else "",
        "p (Holm)": p_value(row["p_holm"]) if tested and not isnan(row["p_holm"]) else "",
        "why": row["reason"],
    }
