"""What a manuscript takes: `benchbook figure`, laid out for its page, and `benchbook number`, with its interval."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchbook import atomic, cli, paths, studies
from benchbook.cli import output, selection

if TYPE_CHECKING:
    from benchbook.analysis import Analysis
    from benchbook.papers.numbers import Number

ONE_COLUMN: Final = 3.5
NARROWEST, WIDEST = 3.0, 12.0
"""Inches that a figure can be laid out for."""

FORMATS: Final = ("pdf", "svg", "png", "tex", "csv", "json")

_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def add_figure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook figure`."""
    parser.add_argument(
        "name", nargs="*", metavar="NAME", help="the figures or tables to write (default: list their names)"
    )
    text = "width of the figure, such as 3.5in (one column, the default), 7.2in (two columns) or 89mm"
    parser.add_argument("--width", type=inches, default=ONE_COLUMN, metavar="W", help=text)
    text = "pdf, svg, png (figures only), tex, csv, json (default: pdf for figures, tex,csv for tables)"
    parser.add_argument("--format", type=output.several("format", FORMATS), default=[], metavar="F,...", help=text)
    text = "leave out the title and the notes, which --format tex writes as the caption"
    parser.add_argument("--no-title", action="store_true", help=text)
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="the folder (default: this one)")
    selection.add_run_options(parser)


def figure(asked: argparse.Namespace) -> int:
    """Write what was asked for and print its files, or list what there is."""
    from benchbook.papers import exhibits  # here, for it is slow to import
    from benchbook.plots.save import WRITTEN, save
    from benchbook.plots.style import Layout

    known = {**exhibits.FIGURES, **exhibits.TABLES}
    for name in asked.name:
        if name not in known:
            advice = output.nearest(name, known, "benchbook figure lists them")
            raise cli.UsageError(f"no figure or table {name!r}: {advice}")
    if not asked.name:
        kinds = dict.fromkeys(exhibits.TABLES, "table")
        rows = [{"name": name, "kind": kinds.get(name, "figure"), "title": _title(name)} for name in known]
        print(output.as_text(rows))
        return cli.DONE
    run = selection.run(asked)
    layout = Layout(asked.width, titled=not asked.no_title)
    for name in asked.name:
        made = exhibits.made(run.analysis, name)
        is_table = made.drawing is None
        formats = asked.format or (["tex", "csv"] if is_table else ["pdf"])
        if is_table and not {*formats} & {*WRITTEN}:
            raise cli.UsageError(f"{name} is a table: --format takes {', '.join(WRITTEN)}")
        about = exhibits.about(run.analysis, name, run.name)
        for path in save(made, asked.output / name, about, formats, layout):
            print(path)
    return cli.DONE


def _title(name: str) -> str:
    """Return what a figure or table shows, without drawing it: the committed run's title, unless that has counts."""
    from benchbook.papers import exhibits  # here, for it is slow to import

    if exhibits.VERDICTS.search(name):
        study, _, rest = name.partition("_verdicts")
        sheet = f", sheet {rest.removeprefix('_')}" if rest else ""
        return "all studies: claims by verdict" if name == "verdicts" else f"{study}: claims and verdicts{sheet}"
    file = paths.reference() / f"{name}.json"
    title = str(json.loads(file.read_text(encoding="utf-8"))["title"]) if file.is_file() else ""
    return title.partition("; ")[0]


def inches(text: str) -> float:
    """Return a width in inches, of a number with its unit (in, cm, mm, pt; inches without one)."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(in|cm|mm|pt)?", text.strip())
    width = float(parts[1]) * _INCHES[parts[2] or "in"] if parts else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise argparse.ArgumentTypeError(f"must be {NARROWEST:g}in to {WIDEST:g}in, such as 3.5in or 89mm (got {text})")
    return width


def add_number_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook number`."""
    parser.add_argument("key", nargs="*", metavar="KEY", help="the numbers to print (default: list all keys)")
    text = "list the keys that have all of these words, such as: --find mongodb insert"
    parser.add_argument("--find", nargs="+", metavar="WORD", default=[], help=text)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--latex", action="store_true", help="print them as LaTeX takes them")
    text = "print an array of objects with provenance, and nothing else"
    forms.add_argument("--json", action="store_true", help=text)
    text = "write all numbers to a file that defines \\benchbook{KEY}"
    forms.add_argument("--latex-macros", type=Path, metavar="FILE", help=text)
    selection.add_run_options(parser)


def number(asked: argparse.Namespace) -> int:
    """Print the numbers that were asked for, one per line, and on stderr what each is."""
    from benchbook.analysis.runs import Run
    from benchbook.papers import exhibits, numbers
    from benchbook.plots import latex

    if asked.key and asked.find:
        raise cli.UsageError("--find lists keys: give it words, or give keys without it")
    printed = {number.key: number for number in numbers.printed()}
    of_papers_alone = bool(asked.key) and {*asked.key} <= {*printed}  # for these nothing need have run
    run = Run.of_reference() if of_papers_alone else selection.run(asked)
    analysis = run.analysis
    if asked.latex_macros:
        about = exhibits.measured(analysis, studies.SLUGS, run.name)
        atomic.write(asked.latex_macros, numbers.macros(numbers.numbers(analysis), about))
        print(asked.latex_macros)
        return cli.DONE
    if asked.key:
        chosen = [printed.get(key) or _keyed(analysis, key) for key in asked.key]
    else:
        chosen = _find(numbers.numbers(analysis).values(), asked.find)
    if asked.json:
        print(output.as_json([numbers.provenance(analysis, number, run.name) for number in chosen]))
    elif not asked.key:
        rows = [{"key": number.key, "number": number.text, "what it is": number.says} for number in chosen]
        print(output.as_text(rows))
    elif asked.latex:
        print("\n".join(latex.escaped(number.text) for number in chosen))
    else:
        for number in chosen:
            print(number.text)
            print(f"{number.key}: {number.says}", file=sys.stderr)  # a script may take the number alone
    return cli.DONE


def _find(known: "Iterable[Number]", words: Sequence[str]) -> "list[Number]":
    """Return the numbers whose key or description has all words.

    Raises `benchbook.cli.UsageError` when none has.
    """
    found = []
    for number in known:
        text = f"{number.key} {number.says}".lower()
        if all(word.lower() in text for word in words):
            found.append(number)
    if not found:
        raise cli.UsageError(f"no key has all of these words: {' '.join(words)}; benchbook number lists all keys")
    return found


def _keyed(analysis: "Analysis", key: str) -> "Number":
    """Return the number of a key.

    Raises `benchbook.cli.UsageError` when there is none: with the reason where it is a claim's, else with the nearest
    key.
    """
    from benchbook.papers import numbers

    if (number := numbers.number(analysis, key)) is not None:
        return number
    claims = {row["id"]: row for row in analysis.verdicts.to_dict("records")}
    if key in claims:
        raise cli.UsageError(f"{key} has no ratio: {claims[key]['verdict']} ({claims[key]['words']})")
    advice = output.nearest(key, numbers.numbers(analysis), "benchbook number lists the keys")
    raise cli.UsageError(f"no number {key!r}: {advice}")
