"""`benchbook claims`: every claim of the papers and its one result, from a profile's results or the committed run."""

import argparse
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from benchbook import cli, strict, studies
from benchbook.cli import output, sources

if TYPE_CHECKING:
    import pandas as pd

    from benchbook.evidence import Counts

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
    output.add_json(parser)
    sources.add_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Print the claims that were asked for with their results."""
    in_full = asked.json or asked.full or (asked.claim and not {*asked.claim} & {*studies.SLUGS})
    rows = _chosen(asked, _committed() if asked.reference else _measured(asked.profile, waits=bool(in_full)))
    print(output.as_json(rows) if asked.json else _text(rows) if in_full else _listed(rows))
    return cli.DONE


def _verdicts(text: str) -> list[str]:
    from benchbook.evidence.judge import VERDICTS  # here, for it is slow to import

    named = [part.strip().replace("-", " ") for part in text.split(",")]
    for name in named:
        if name not in VERDICTS:
            raise argparse.ArgumentTypeError(f"no verdict {name!r}: {strict.nearest(name, VERDICTS)}")
    return named


def _chosen(asked: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that were asked for, in the papers' order.

    Raises
    ------
    benchbook.cli.UsageError
        When there is no such study or claim.
    """
    known = {*studies.SLUGS, *(row["id"] for row in rows)}
    for name in asked.claim:
        if name not in known:
            raise cli.UsageError(
                f"no study and no claim {name!r}: {output.nearest(name, known, 'benchbook claims lists them')}"
            )
    named = [row for row in rows if not asked.claim or {row["id"], row["study"]} & {*asked.claim}]
    return [row for row in named if not asked.verdict or row["verdict"] in asked.verdict]


def _measured(profile: str, *, waits: bool) -> list[dict[str, Any]]:
    """Return a row a claim, from a profile's results; with what it waits for only where that is to be said."""
    from benchbook import grid  # here, for they are slow to import
    from benchbook.evidence.runs import Run
    from benchbook.report import ahead

    cells = grid.plan(studies.SLUGS, profile)
    output.report_damage()
    evidence = Run.of_results(profile, grid.keys(cells)).evidence
    return _rows(evidence.outcomes, ahead.waits(profile, cells, evidence) if waits else {})


def _committed() -> list[dict[str, Any]]:
    """Return the same from the reference run, on a machine where nothing need have run."""
    return _rows(sources.committed().evidence.outcomes, {})


def _rows(outcomes: "pd.DataFrame", waits: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one row a claim, the verdicts of other lanes and hosts under ``lanes``."""
    rows = []
    for row in outcomes.to_dict("records"):
        lanes = [{name: other[name] for name in _OF_LANES} for other in row.pop("others")]
        first = {str(name): output.plain(value) for name, value in row.items()}
        rows.append({**first, "waits_for": waits.get(row["id"]), "lanes": lanes})
    return rows


def _listed(rows: list[dict[str, Any]]) -> str:
    """Return a line a claim, study by study, each with how many have which verdict; then how to see more."""
    parts = []
    for study in dict.fromkeys(row["study"] for row in rows):
        of_study = [row for row in rows if row["study"] == study]
        lines = [
            {"verdict": _verdict(row), _HERE: _ratio(row), "published": _published(row), "claim": row["id"]}
            for row in of_study
        ]
        parts.append(f"{study}: {_counts(of_study).listed_with_sittings}\n{output.as_text(lines)}")
    more = "benchbook claims ID, or --full: what is claimed, and why the verdict is so"
    return "\n\n".join([*parts, f"{more}\n{_counts(rows)}"])


def _text(rows: list[dict[str, Any]]) -> str:
    """Return each claim with its result and why, nothing cut, then how many have which verdict."""
    wide = max(shutil.get_terminal_size().columns, NARROW)
    return "\n\n".join([*(_entry(row, wide) for row in rows), *([str(_counts(rows))] if len(rows) != 1 else [])])


def _counts(rows: Sequence[Mapping[str, Any]]) -> "Counts":
    import pandas as pd  # here, for it is slow to import

    from benchbook.evidence import Counts

    return Counts.of(pd.DataFrame(rows, columns=["verdict", "campaigns"]))


def _verdict(row: Mapping[str, Any], says: str = "verdict") -> str:
    return str(row[says]) + (" (untrusted run)" if row["untrusted"] else "")


def _entry(row: dict[str, Any], wide: int) -> str:
    """Return a claim's name and verdict with its numbers; indented, its sentence, and why it has that verdict."""
    from benchbook.evidence import notes  # here, for it is slow to import

    interval = "" if row["low"] is None else ", repeated 95 % interval"
    numbers = [row["stage"], f"here {ratio}{interval}" if (ratio := _ratio(row)) else ""]
    numbers += [f"published {ratio}" if (ratio := _published(row)) else ""]
    head = "; ".join(filter(None, [f"{row['id']}: {_verdict(row, 'wording')}", *numbers]))
    why = "; ".join(filter(None, (row["waits_for"], row["why"])))
    wrap = textwrap.TextWrapper(wide, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False)
    return "\n".join(wrap.fill(text) for text in (head, row["says"], *notes(row), why) if text).removeprefix(_INDENT)


def _ratio(row: dict[str, Any]) -> str:
    """Return the ratio with its interval; an open end is that of a wait that ran out."""
    from benchbook.digits import estimate

    if row["ratio"] is None:
        return ""
    if row["low"] is None:
        return estimate(row["ratio"])
    high = float("inf") if row["high"] is None else row["high"]
    return estimate(row["ratio"], row["low"], high)


def _published(row: Mapping[str, Any]) -> str:
    from benchbook.digits import number

    return "" if row["published"] is None else number(row["published"])
