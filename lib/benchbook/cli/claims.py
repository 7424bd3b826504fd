"""`benchbook claims`: do the papers' claims hold? Counts, lines, or all comparisons of one claim."""

import argparse
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchbook import cli, studies
from benchbook.cli import output, selection
from benchbook.digits import difference, estimate, number, plural

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from benchbook.analysis import Analysis
    from benchbook.analysis.verdicts import ClaimVerdict

HERE: Final = "here (99 % interval)"
BAR: Final = " | "
WIDE: Final = 80
"""Columns of a usual terminal."""

INDENT: Final = 16
"""Columns before a claim's sentence, where the verdict is."""

MEANINGS: Final = {
    "holds": "all comparisons that ran are for it",
    "mostly holds": "at least two thirds are for it",
    "does not hold": "at least two thirds are against it",
    "mixed": "at least a quarter are for it, and at least a quarter against it",
    "undecided": "too few blocks, or intervals too wide, to tell",
    "not comparable": "it ran, but not under the conditions of the paper",
    "not run": "none of its comparisons ran here",
}
"""What each verdict says of a claim."""

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
    """Add the options, and what the verdicts mean."""
    text = "list the claims of a study, or show all comparisons of one claim (default: the counts)"
    parser.add_argument("claim", nargs="*", metavar="STUDY|ID", help=text)
    text = "list the claims with this verdict, such as holds or does-not-hold"
    parser.add_argument("--verdict", type=_verdicts, default=[], metavar="V,...", help=text)
    text = "judge the claims of this file (docs/method.md shows how to write one)"
    parser.add_argument("--claims", type=Path, metavar="FILE", help=text)
    output.add_json(parser)
    selection.add_run_options(parser)
    width = max(map(len, MEANINGS)) + 2
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join([
        "verdicts:",
        *(f"  {verdict.ljust(width)}{meaning}" for verdict, meaning in MEANINGS.items()),
        "",
        "A comparison is for its claim when its 99 % interval lies on the claimed side",
        "and reaches beyond the smallest difference that matters (docs/method.md).",
    ])  # fmt: skip


def main(asked: argparse.Namespace) -> int:
    """Print whether the papers' claims hold, and the claims that were asked for."""
    judged = _chosen(asked, _judge(asked.claims, _analysis(asked)))
    if asked.json:
        print(output.as_json([_as_json(judged, verdict) for verdict in judged.verdicts]))
        return cli.DONE
    console = output.console()

    # Single claims, each with all its comparisons.
    if asked.claim and not {*asked.claim} & {*studies.SLUGS}:
        _print_details(console, judged)
        return cli.DONE

    # How many claims hold; below them those that were asked for, or else those that do not hold.
    run = "the reference run" if asked.reference else f"the profile {asked.profile}"
    print(f"Does it hold? Claims by study and verdict, in {run}:\n\n{_count_table(judged)}\n")
    is_listed = bool(asked.claim or asked.verdict or asked.claims)
    listed = [row for row in judged.verdicts if is_listed or row.verdict == "does not hold"]
    is_folded = console.is_terminal and not asked.verdict
    shown = [row for row in listed if not (is_folded and row.verdict == "not run")]
    if shown:
        _print_lines(console, shown)
        print()
    if len(shown) < len(listed):
        print(f"{plural(len(listed) - len(shown), 'claim')} did not run: --verdict not-run lists them\n")
    if is_listed and judged.facts:
        ids = ", ".join(fact["id"] for fact in judged.facts)
        print(f"Facts, which cannot fail here and are not counted: {ids}\n")
    what = "ID: all comparisons of a claim" if is_listed else "STUDY: the claims of a study"
    print(f"benchbook claims {what}; --help: what the verdicts mean")
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
        print(f"benchbook: {selection.nothing_ran(asked.profile, 'add --reference')}", file=sys.stderr)
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


def _count_table(judged: Judged) -> str:
    """Return how many claims of each study have which verdict; headings of several words take two lines."""
    from benchbook.analysis.verdicts import ClaimVerdict  # here, for they are slow to import
    from benchbook.plots.claim_lines import ALL, count_verdicts

    names = list(dict.fromkeys(row.study for row in judged.verdicts))
    counts = count_verdicts(ClaimVerdict.frame(judged.verdicts), names)
    if len(names) == 1:
        counts = counts[counts["study"] != ALL]
    if not counts["noisy"].any():
        counts = counts.drop(columns="noisy")
    headings = [str(name).rpartition(" ") for name in counts.columns]
    rows = [[first for first, _, _ in headings], [last for _, _, last in headings]]
    rows += [[str(value or "") for value in row] for row in counts.itertuples(index=False)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) < WIDE else " "
    lines = []
    for study, *numbers in rows:
        cells = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append(gap.join([study.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def _print_lines(console: "Console", verdicts: "Sequence[ClaimVerdict]") -> None:
    """Print one line per claim; on a terminal the numbers and the id are below the sentence."""
    from benchbook.plots.claim_lines import write_line  # here, for it is slow to import

    if console.is_terminal:
        for verdict in verdicts:
            _print_claim(console, verdict)
        return
    rows = []
    for verdict in verdicts:
        line = write_line(verdict)
        about = {"verdict": line.verdict, "counts": line.counts, "claim": line.says}
        numbers = {
            "ratio of": line.divided if line.here else "",
            HERE: line.here,
            "printed": line.printed,
            "size": line.size,
        }
        rows.append({**about, **numbers, "measured": line.measured, "id": verdict.id})
    print(output.as_text(rows))


def _print_claim(console: "Console", verdict: "ClaimVerdict") -> None:
    """Print a claim: its verdict in colour, its sentence, and below it its numbers and its id."""
    from rich.text import Text

    from benchbook.analysis.verdicts import DECIDED  # here, for they are slow to import
    from benchbook.plots.claim_lines import write_line
    from benchbook.plots.verdicts import LOOKS

    line = write_line(verdict)
    printed = f"printed {line.printed}" if line.printed else ""
    here = f"{line.divided}: {line.here}" if line.here and line.divided else line.here
    numbers = [part for part in (line.counts, here, printed, line.size, line.measured) if part]
    width = console.width - INDENT
    texts = [*textwrap.wrap(line.says, width), *_join_parts(numbers, width)]
    if len(texts[-1]) + len(BAR) + len(verdict.id) > width:
        texts.append("")
    colour = LOOKS[verdict.verdict].colour if verdict.verdict in DECIDED else "dim"
    shown = Text.assemble((line.verdict.ljust(INDENT), f"bold {colour}"))
    shown.append(f"\n{' ' * INDENT}".join(texts))
    shown.append(f"{BAR if texts[-1] else ''}{verdict.id}", style="dim")
    console.print(shown)


def _join_parts(parts: Iterable[str], width: int) -> list[str]:
    """Return parts with bars between them, in lines of that width."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}{BAR}{part}" if lines else part
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines += textwrap.wrap(part, width)
    return lines


def _print_details(console: "Console", judged: Judged) -> None:
    """Print claims and facts, each with what is known of it and with all its comparisons."""
    for verdict in judged.verdicts:
        _print_claim(console, verdict)
        claimed = f" Claimed: {verdict.claimed}." if verdict.claimed else ""
        printed = f"Printed in {verdict.published_source}." if verdict.published_source else ""
        texts = [
            f"In the paper: {verdict.where}.{claimed}",
            f"The numbers are of {verdict.headline}. {printed}" if verdict.blocks else "",
            f"Other languages: {verdict.others}." if verdict.others else "",
            verdict.in_the_paper,
            f"Why: {verdict.why}." if verdict.why else "",
        ]
        _print_below(console, texts, judged.of(verdict.id, verdict.language))
    for fact in judged.facts:
        print("fact, not counted")
        texts = [fact["says"], f"In the paper: {fact['where']}.", f"It cannot fail here: {fact['fact']}.", fact["id"]]
        _print_below(console, texts, judged.of(fact["id"]))


def _print_below(console: "Console", texts: Iterable[str], comparisons: Sequence[Mapping[str, Any]]) -> None:
    """Print texts, indented and broken into lines, and a table of comparisons."""
    indent = " " * INDENT
    for text in filter(None, texts):
        lines = textwrap.wrap(text, console.width - INDENT, break_long_words=False)
        console.print("\n".join(f"{indent}{line}" for line in lines), markup=False)
    if comparisons:
        print("\n" + output.as_text([_comparison(row) for row in comparisons]))
    print()


def _comparison(row: Mapping[str, Any]) -> dict[str, object]:
    """Return a comparison's line."""
    here = ""
    if not isnan(row["estimate"]):
        ends = row["estimate"], row["low"], row["high"]
        here = difference(*ends, row["unit"]) if row["kind"] == "difference" else estimate(*ends)
    return {
        "language": row["language"],
        "comparison": BAR.join(filter(None, [f"{row['a']} / {row['b']}", row["label"]])),
        "stands": row["stands"],
        HERE: here,
        "printed": "" if isnan(row["published"]) else number(row["published"]),
        "blocks": row["blocks"] or "",
        "days": row["machine_days"] or "",
        "why": row["reason"],
    }
