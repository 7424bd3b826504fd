"""`benchbook number`: one number with its interval and provenance, or all of them as macros for LaTeX."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook import cli, studies
from benchbook.cli import output, sources

if TYPE_CHECKING:
    from benchbook.evidence import Evidence
    from benchbook.papers.numbers import Number


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("key", nargs="*", metavar="KEY", help="the numbers; without any all keys are listed")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--latex", action="store_true", help="as LaTeX prints it")
    forms.add_argument("--json", action="store_true", help="an array of objects, with provenance, and nothing else")
    text = "write all numbers to a file that defines \\benchbook{KEY}"
    forms.add_argument("--latex-macros", type=Path, metavar="FILE", help=text)
    sources.add_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Print what was asked for, a line each, and beside it what it is."""
    from benchbook.evidence.runs import Run
    from benchbook.papers import exhibits, numbers
    from benchbook.plots import latex

    printed = {number.key: number for number in numbers.printed()}
    of_papers_alone = bool(asked.key) and {*asked.key} <= {*printed}  # for these nothing need have run
    run = Run.of_reference() if of_papers_alone else sources.run(asked)
    evidence = run.evidence
    if asked.latex_macros:
        about = exhibits.measured(evidence, studies.SLUGS, run.name)
        asked.latex_macros.write_text(numbers.macros(numbers.numbers(evidence), about), encoding="utf-8")
        print(asked.latex_macros)
        return cli.DONE
    if asked.key:
        chosen = [printed.get(key) or _found(evidence, key) for key in asked.key]
    else:
        chosen = [*numbers.numbers(evidence).values()]
    if asked.json:
        print(output.as_json([numbers.provenance(evidence, number, run.name) for number in chosen]))
    elif not asked.key:
        rows = [{"key": number.key, "number": number.text, "what it is": number.says} for number in chosen]
        print(output.as_text(rows))
    elif asked.latex:
        print("\n".join(latex.escaped(number.text) for number in chosen))
    else:
        for number in chosen:
            print(number.text)
            print(f"{number.key}: {number.says}", file=sys.stderr)  # beside the number, which a script may take alone
    return cli.DONE


def _found(evidence: "Evidence", key: str) -> "Number":
    """Return the number of a key.

    Raises
    ------
    benchbook.cli.UsageError
        When there is none: with the reason where it is a claim's, else with the nearest key.
    """
    from benchbook.papers import numbers

    if (number := numbers.number(evidence, key)) is not None:
        return number
    claims = {row["id"]: row for row in evidence.outcomes.to_dict("records")}
    if key in claims:
        raise cli.UsageError(f"{key} has no ratio: {claims[key]['wording']}; {claims[key]['why']}")
    advice = output.nearest(key, numbers.numbers(evidence), "benchbook number lists the keys")
    raise cli.UsageError(f"no number {key!r}: {advice}")
