"""`benchbook claims`: counts of verdicts, claims, or all comparisons of one claim."""

import argparse
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from benchbook.analysis import claim_files
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import (
    DECIDED,
    VERDICTS,
    ClaimVerdict,
    list_facts,
    list_not_testable,
)
from benchbook.cli import output, selection
from benchbook.cli.claims_since import print_changes_since
from benchbook.cli.command import DONE
from benchbook.plots.claim_lines import ALL_STUDIES, VERDICT_STYLES, count_verdicts, write_line
from benchbook.studies.catalogue import SLUGS
from benchbook.text.names import LANGUAGES, write_settings, write_terms
from benchbook.text.number_format import format_count
from benchbook.text.sentences import (
    VERDICT_MEANINGS,
    write_absence_remedy,
    write_published,
    write_ratio,
)

INTERVAL_COLUMN: Final = "here (99 % interval)"
BAR: Final = " | "
INDENT: Final = 16
"""Columns before a claim's sentence, where the verdict is."""

COMPARISON_FIELDS: Final = (
    "a", "b", "label", "language", "kind", "unit", "estimate", "low", "high", "error", "t", "df",
    "p", "p_holm", "hedges_g", "blocks", "machine_days", "noisy", "published", "published_source",
    "stands", "reason",
)  # fmt: skip
"""The fields of a claim's comparisons in JSON."""


@dataclass(frozen=True)
class JudgedClaims:
    """The verdicts and facts of a run, the comparisons of both, and what is not testable."""

    verdicts: Sequence[ClaimVerdict]
    facts: Sequence[Mapping[Any, Any]]  # as `benchbook.analysis.verdicts.list_facts` returns them
    comparisons: Sequence[Comparison]
    # As `benchbook.analysis.verdicts.list_not_testable` returns them.
    not_testable: Sequence[Mapping[Any, Any]]

    def list_comparisons(self, claim: str, language: str = "") -> list[Comparison]:
        """Return the comparisons of a claim, those in that language first."""
        rows = [row for row in self.comparisons if row.name == claim]
        return sorted(rows, key=lambda row: row.language != language)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options, and what the verdicts mean."""
    text = "list the claims of a study, or show all comparisons of one claim (default: the counts)"
    parser.add_argument("claim", nargs="*", metavar="STUDY|ID", help=text)

    def parse_verdicts(text: str) -> list[str]:
        return output.make_names_parser("verdict", VERDICTS)(text.replace("-", " "))

    text = "list the claims with this verdict, such as holds or does-not-hold"
    parser.add_argument("--verdict", type=parse_verdicts, default=[], metavar="V,...", help=text)
    text = "judge the claims of this file (docs/method.md shows how to write one)"
    parser.add_argument("--claims", type=Path, metavar="FILE", help=text)
    text = "list the verdicts of the reference run that changed since a release, such as 0.3.0"
    parser.add_argument("--since", metavar="VERSION", help=text)
    output.add_json_option(parser)
    selection.add_run_options(parser)
    width = max(map(len, VERDICT_MEANINGS)) + 2
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join([
        "verdicts:",
        *(f"  {verdict.ljust(width)}{meaning}" for verdict, meaning in VERDICT_MEANINGS.items()),
        "",
        "A comparison is for its claim when its 99 % interval lies on the claimed side",
        "and its ratio is beyond the smallest difference that matters (docs/method.md).",
    ])  # fmt: skip


def main(options: argparse.Namespace) -> int:
    """Print whether the papers' claims hold, and the claims that were selected."""
    if options.since:
        return print_changes_since(options)
    with output.show_activity("judging the claims"):
        analysis, run = _load_analysis(options)
        judged = _select_claims(options, _judge_claims(options.claims, analysis))
    if options.json:
        print(output.format_json([_to_json_row(judged, verdict) for verdict in judged.verdicts]))
        return DONE
    # Colours only on a terminal that has them, and not with NO_COLOR.
    console = Console(highlight=False, soft_wrap=True, emoji=False)

    # Single claims, each with all its comparisons.
    if options.claim and not {*options.claim} & {*SLUGS}:
        _print_details(console, judged)
        return DONE

    # How many claims hold, and below them the selected ones, or else those that do not hold.
    print(f"Does it hold? Claims by study and verdict, in {run}:\n\n{_format_counts(judged)}\n")
    is_selected = bool(options.claim or options.verdict or options.claims)
    listed = [row for row in judged.verdicts if is_selected or row.verdict == "does not hold"]
    hides_not_run = console.is_terminal and not options.verdict
    shown = [row for row in listed if row.verdict != "not run" or not hides_not_run]
    if shown:
        _print_lines(console, shown)
        print()
    if len(shown) < len(listed):
        count = format_count(len(listed) - len(shown), "claim")
        print(f"{count} did not run: --verdict not-run lists them\n")
    if is_selected and judged.facts:
        ids = ", ".join(fact["id"] for fact in judged.facts)
        print(f"Facts, which cannot fail here and are not counted: {ids}\n")
    if is_selected and judged.not_testable:
        ids = ", ".join(claim["id"] for claim in judged.not_testable)
        print(f"Not testable, and not counted: {ids}\n")
    more = "ID: all comparisons of a claim" if is_selected else "STUDY: the claims of a study"
    print(f"benchbook claims {more}; --help: what the verdicts mean")
    return DONE


def _load_analysis(options: argparse.Namespace) -> tuple[Analysis, str]:
    """Return the analysis of the selected run, and its name; print on stderr if no cell ran."""
    if options.reference:
        return selection.load_reference().analysis, "the reference run"
    run, has_cells, beyond = selection.load_profile(options)
    if not has_cells:
        error = selection.make_no_results_error(options.profile, "add --reference")
        print(f"benchbook: {error}", file=sys.stderr)
    name = f"the profile {options.profile}"
    if beyond:
        name += f" and {format_count(beyond, 'finished cell')} beyond it"
    return run.analysis, name


def _judge_claims(file: Path | None, analysis: Analysis) -> JudgedClaims:
    """Return the verdicts on the papers' claims, or on those of a user's file."""
    claims = claim_files.load_claims()
    if file:
        claims = claim_files.read_claims_file(file, is_own=True).claims
        analysis = Analysis(analysis.means, claims)
    return JudgedClaims(
        analysis.verdicts,
        list_facts(analysis.comparisons, claims).to_dict("records"),
        analysis.comparisons,
        list_not_testable(claims).to_dict("records"),
    )


def _select_claims(options: argparse.Namespace, judged: JudgedClaims) -> JudgedClaims:
    """Return the selected claims, in the papers' order.

    Raises `benchbook.cli.command.UsageError` when there is no such study or claim.
    """
    ids = [verdict.id for verdict in judged.verdicts]
    ids += [row["id"] for row in (*judged.facts, *judged.not_testable)]
    known = dict.fromkeys([*SLUGS, *ids])
    output.check_names(options.claim, known, "no study and no claim", "benchbook claims lists them")
    names = {*options.claim} or {*known}
    verdicts = [verdict for verdict in judged.verdicts if {verdict.id, verdict.study} & names]
    facts = [fact for fact in judged.facts if {fact["id"], fact["study"]} & names]
    others = [claim for claim in judged.not_testable if {claim["id"], claim["study"]} & names]
    if options.verdict:
        verdicts = [verdict for verdict in verdicts if verdict.verdict in options.verdict]
        facts, others = [], []
    return JudgedClaims(verdicts, facts, judged.comparisons, others)


def _to_json_row(judged: JudgedClaims, verdict: ClaimVerdict) -> dict[str, object]:
    """Return a claim's verdict for JSON, with all its comparisons."""
    # Without the underscore of ``for_``.
    fields = vars(verdict).items()
    about = {name.rstrip("_"): output.to_json_value(value) for name, value in fields}
    comparisons = []
    for row in judged.list_comparisons(verdict.id, verdict.language):
        values = {name: output.to_json_value(getattr(row, name)) for name in COMPARISON_FIELDS}
        comparisons.append(values)
    return {**about, "comparisons": comparisons}


def _format_counts(judged: JudgedClaims) -> str:
    """Return how many claims of each study have each verdict, below a heading of two lines."""
    names = list(dict.fromkeys(row.study for row in judged.verdicts))
    counts = count_verdicts(judged.verdicts, names)
    if len(names) == 1:
        counts = counts[counts["study"] != ALL_STUDIES]
    if not counts["noisy"].any():
        counts = counts.drop(columns="noisy")
    headings = [str(name).rpartition(" ") for name in counts.columns]
    rows = [[first for first, _, _ in headings], [last for _, _, last in headings]]
    rows += [[str(value or "") for value in row] for row in counts.itertuples(index=False)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Narrow gaps where the table would be wider than a usual terminal.
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) < 80 else " "
    lines = []
    for study, *numbers in rows:
        cells = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append(gap.join([study.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def _print_lines(console: Console, verdicts: Sequence[ClaimVerdict]) -> None:
    """Print one line per claim; on a terminal the numbers and the id are below the sentence."""
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
            INTERVAL_COLUMN: line.here,
            "the paper's": line.published,
            "size": line.size,
        }
        rows.append({**about, **numbers, "measured": line.measured, "id": verdict.id})
    print(output.format_table(rows))


def _print_claim(console: Console, verdict: ClaimVerdict) -> None:
    """Print a claim: its verdict in colour, its sentence, and below it its numbers and its id."""
    line = write_line(verdict)
    parts = (line.counts, line.result, line.paper, line.size, line.measured)
    numbers = [part for part in parts if part]
    width = console.width - INDENT
    texts = [*textwrap.wrap(line.says, width), *_join_parts(numbers, width)]
    if len(texts[-1]) + len(BAR) + len(verdict.id) > width:
        texts.append("")
    colour = VERDICT_STYLES[verdict.verdict].colour if verdict.verdict in DECIDED else "dim"
    shown = Text.assemble((line.verdict.ljust(INDENT), f"bold {colour}"))
    shown.append(f"\n{' ' * INDENT}".join(texts))
    shown.append(f"{BAR if texts[-1] else ''}{verdict.id}", style="dim")
    console.print(shown)


def _join_parts(parts: Iterable[str], width: int) -> list[str]:
    """Return parts with bars between them, in lines of at most that width."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}{BAR}{part}" if lines else part
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines += textwrap.wrap(part, width)
    return lines


def _print_details(console: Console, judged: JudgedClaims) -> None:
    """Print claims and facts, each with its explanations and all its comparisons."""
    for verdict in judged.verdicts:
        _print_claim(console, verdict)
        claimed = f" Claimed: {verdict.claimed}." if verdict.claimed else ""
        source = verdict.published_source
        paper = f"The paper's numbers: {source}." if source else ""
        texts = [
            f"In the paper: {verdict.where}.{claimed}",
            f"The numbers are of {write_terms(verdict.headline)}. {paper}"
            if verdict.blocks
            else "",
            f"Other languages: {write_terms(verdict.others)}." if verdict.others else "",
            verdict.in_the_paper,
            f"Beside it: {verdict.caveat}." if verdict.caveat else "",
            f"Against it: {write_terms(verdict.against_it)}." if verdict.against_it else "",
            f"Why: {verdict.why}." if verdict.why else "",
            write_absence_remedy(verdict.study) if verdict.verdict == "not run" else "",
        ]
        _print_explanation(console, texts, judged.list_comparisons(verdict.id, verdict.language))
    # Facts and claims that are not testable have no verdict.
    nothing = "Nothing that could be measured would speak for or against it"
    uncounted = [("fact", fact, f"It cannot fail here: {fact['fact']}.") for fact in judged.facts]
    uncounted += [("not testable", one, f"{nothing}: {one['why']}.") for one in judged.not_testable]
    for kind, claim, why in uncounted:
        print(f"{kind}, not counted")
        texts = [claim["says"], f"In the paper: {claim['where']}.", why, claim["id"]]
        _print_explanation(console, texts, judged.list_comparisons(claim["id"]))


def _print_explanation(
    console: Console, texts: Iterable[str], comparisons: Sequence[Comparison]
) -> None:
    """Print texts, indented and broken into lines, and a table of comparisons."""
    indent = " " * INDENT
    for text in filter(None, texts):
        lines = textwrap.wrap(text, console.width - INDENT, break_long_words=False)
        console.print("\n".join(f"{indent}{line}" for line in lines), markup=False)
    if comparisons:
        print("\n" + output.format_table([_to_table_row(row) for row in comparisons]))
    print()


def _to_table_row(row: Comparison) -> dict[str, object]:
    return {
        "language": LANGUAGES[row.language],
        "comparison": BAR.join(
            filter(None, [write_ratio(row.a, row.b, row.kind), write_settings(row.label)])
        ),
        "stands": row.stands,
        INTERVAL_COLUMN: row.words,
        "the paper's": write_published(row.published),
        "blocks": row.blocks or "",
        "days": row.machine_days or "",
        "why": row.reason,
    }
