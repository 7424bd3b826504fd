"""`benchbook claims`: every claim of the papers and its one result, from a profile's results or the committed run."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchbook import cli, studies
from benchbook.cli import output, selection
from benchbook.digits import estimate, number

if TYPE_CHECKING:
    import pandas as pd

    from benchbook.evidence import Evidence
    from benchbook.evidence.verdicts import Outcome

NARROW: Final = 60
"""Columns of the narrowest text."""
_HERE: Final = "here (repeated 95 % interval)"
_INDENT: Final = 4 * " "
_OF_LANES: Final = ("host", "lane", "verdict", "wording", "stage", "products_judged", "products_missing", "why")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    text = "the claims of a study, or one claim in full (default: all)"
    parser.add_argument("claim", nargs="*", metavar="STUDY|ID", help=text)
    text = "only those with that verdict, such as contradicted or not-testable-here"
    parser.add_argument("--verdict", type=_verdicts, default=[], metavar="V,...", help=text)
    text = "of each also its sentence, what every contrast found, and what it waits for"
    parser.add_argument("--full", action="store_true", help=text)
    text = "judge the claims of this file instead, written as those of data/claims are"
    parser.add_argument("--claims", type=Path, metavar="FILE", help=text)
    output.add_json(parser)
    selection.add_run_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the claims that were asked for with their results."""
    from benchbook import grid  # here, for they are slow to import
    from benchbook.evidence.runs import Run
    from benchbook.evidence.verdicts import Counts, Outcome
    from benchbook.report import ahead

    in_full = asked.json or asked.full or (asked.claim and not {*asked.claim} & {*studies.SLUGS})
    waits: Mapping[str, str] = {}
    nothing_ran = False
    if asked.reference:
        evidence = selection.committed().evidence
    else:
        cells = grid.plan(studies.SLUGS, asked.profile).cells
        output.report_damage(values=True)
        nothing_ran = not any(cell.state == "done" for cell in cells)
        evidence = Run.of_results(asked.profile, grid.keys(cells)).evidence
        if in_full:
            waits = ahead.waits(asked.profile, cells, evidence)
    table = _judged_own(asked.claims, evidence) if asked.claims else evidence.outcomes
    outcomes = _chosen(asked, Outcome.of(table))
    if nothing_ran:  # of which the claims are listed all the same
        print(f"benchbook: {selection.nothing_ran(asked.profile, 'ask for --reference')}", file=sys.stderr)

    def counts(of: Sequence[Outcome]) -> Counts:
        return Counts.of(Outcome.frame(of))

    total = counts(outcomes).decided_by("in the reference run" if asked.reference else "by what ran here")
    if asked.json:
        print(output.as_json([_row(outcome, waits) for outcome in outcomes]))
    elif in_full:
        wide = max(shutil.get_terminal_size().columns, NARROW)
        entries = [_entry(outcome, waits, wide) for outcome in outcomes]
        print("\n\n".join(entries if len(entries) == 1 else [*entries, total]))
    else:
        for study in dict.fromkeys(outcome.study for outcome in outcomes):
            of_study = [outcome for outcome in outcomes if outcome.study == study]
            print(f"{study}: {counts(of_study).listed_with_sittings}\n{_listed(of_study)}\n")
        print(f"benchbook claims ID, or --full: what is claimed, and why the verdict is so\n{total}")
    return cli.DONE


def _judged_own(file: Path, evidence: "Evidence") -> "pd.DataFrame":
    """Return the claims of a user's file with their results, as `benchbook.evidence.outcomes` returns them."""
    from benchbook.evidence import claim_files, judged, outcomes, verdicts  # here, for they are slow to import

    own = claim_files.read(file, is_own=True).claims
    return outcomes(verdicts(judged(evidence.means, own, evidence.controls), own))


def _verdicts(text: str) -> list[str]:
    from benchbook.evidence.judge import VERDICTS  # here, for it is slow to import

    return output.several("verdict", VERDICTS)(text.replace("-", " "))


def _chosen(asked: argparse.Namespace, outcomes: "Sequence[Outcome]") -> "list[Outcome]":
    """Return the outcomes that were asked for, in the papers' order.

    Raises `benchbook.cli.UsageError` when there is no such study or claim.
    """
    # In their files' order: of several that are as near the first is told.
    known = dict.fromkeys([*studies.SLUGS, *(outcome.id for outcome in outcomes)])
    for name in asked.claim:
        if name not in known:
            advice = output.nearest(name, known, "benchbook claims lists them")
            raise cli.UsageError(f"no study and no claim {name!r}: {advice}")
    chosen = []
    for outcome in outcomes:
        is_named = not asked.claim or {outcome.id, outcome.study} & {*asked.claim}
        if is_named and (not asked.verdict or outcome.verdict in asked.verdict):
            chosen.append(outcome)
    return chosen


def _row(outcome: "Outcome", waits: Mapping[str, str]) -> dict[str, object]:
    """Return a claim's result as JSON has it, the verdicts of other lanes and hosts under ``lanes``."""
    row = {name: output.plain(value) for name, value in vars(outcome).items() if name != "others"}
    lanes = [{name: other[name] for name in _OF_LANES} for other in outcome.others]
    return {**row, "waits_for": waits.get(outcome.id), "lanes": lanes}


def _listed(outcomes: "Sequence[Outcome]") -> str:
    """Return a line a claim."""
    rows = []
    for outcome in outcomes:
        verdict = outcome.verdict + _trust(outcome)
        numbers = {_HERE: _ratio(outcome), "published": _published(outcome)}
        rows.append({"verdict": verdict, **numbers, "claim": outcome.id})
    return output.as_text(rows)


def _trust(outcome: "Outcome") -> str:
    return " (untrusted run)" if outcome.untrusted else ""


def _entry(outcome: "Outcome", waits: Mapping[str, str], wide: int) -> str:
    """Return a claim's name and verdict with its numbers; indented, its sentence, and why it has that verdict."""
    from benchbook.evidence import notes  # here, for it is slow to import

    interval = "" if isnan(outcome.low) else ", repeated 95 % interval"
    numbers = [outcome.stage, f"here {ratio}{interval}" if (ratio := _ratio(outcome)) else ""]
    numbers += [f"published {published}" if (published := _published(outcome)) else ""]
    head = "; ".join(filter(None, [f"{outcome.id}: {outcome.wording}{_trust(outcome)}", *numbers]))
    why = "; ".join(filter(None, (waits.get(outcome.id), outcome.why)))
    wrap = textwrap.TextWrapper(wide, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False)
    texts = (head, outcome.says, *notes(vars(outcome)), why)
    return "\n".join(wrap.fill(text) for text in texts if text).removeprefix(_INDENT)


def _ratio(outcome: "Outcome") -> str:
    """Return the ratio with its interval; an open end is that of a wait that ran out."""
    return "" if isnan(outcome.ratio) else estimate(outcome.ratio, outcome.low, outcome.high)


def _published(outcome: "Outcome") -> str:
    return "" if isnan(outcome.published) else number(outcome.published)
