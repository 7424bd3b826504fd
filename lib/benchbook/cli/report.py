"""`benchbook report`, and what a manuscript takes of a run: `benchbook figure` and `number`."""

import argparse
import json
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Column

from benchbook import paths
from benchbook.analysis.runs import Analysis, Run
from benchbook.cli import output, selection
from benchbook.cli.command import DONE, FAILED, UsageError
from benchbook.cli.kept_answers import find_kept_numbers, print_numbers
from benchbook.files import suite_files
from benchbook.grid.grid_file import load_grid
from benchbook.papers import exhibits, numbers
from benchbook.papers.numbers import KeyedNumber, make_key_part
from benchbook.plots import latex
from benchbook.plots.exhibit import DATA_FORMATS, DRAWING_FORMATS
from benchbook.plots.style import Layout
from benchbook.report import artefact
from benchbook.report.build import PAGE, EmptyReportError, ReportError, build_report
from benchbook.sides import answer
from benchbook.studies.catalogue import SLUGS
from benchbook.text.suggestions import suggest_from_many
from benchbook.version import describe_version

MIN_WIDTH: Final = 3.0
MAX_WIDTH: Final = 12.0
"""Widths of a figure, in inches."""


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook report`."""
    text = "write an artefact for reviewers, too: each claim with what tests it, and the data"
    parser.add_argument("--artefact", type=Path, metavar="FOLDER", help=text)
    selection.add_run_options(parser)


def write_report(options: argparse.Namespace) -> int:
    """Build the report that the options name, and print its path.

    Raises `benchbook.cli.command.NoResultsError` when no cell of the profile ran.
    """
    folder = options.artefact
    if folder and folder.exists() and not (folder / artefact.APPENDIX).is_file():
        # A new folder may exist, but it has no files.
        is_new = folder.is_dir() and not any(folder.iterdir())
        if not is_new:
            raise UsageError(f"--artefact: {folder} is not empty: name a new folder")
    if options.reference:
        selection.load_reference()
        return build_named_report(paths.REFERENCE, folder)
    for slug in SLUGS:
        load_grid(slug).profile(options.profile)
    return build_named_report(options.profile, folder)


def build_named_report(name: str, folder: Path | None = None) -> int:
    """Build the report of a profile or of the reference run, and print its path.

    Parameters
    ----------
    folder
        The folder of its artefact, if one is wanted.

    Raises
    ------
    benchbook.cli.command.NoResultsError
        When no cell of the profile ran.
    """
    output.report_damage(values=True)
    try:
        with _show_steps() as show_step:
            page = build_report(name, show_step)
            if folder:
                show_step("writing the artefact")
                artefact.write_artefact(name, page, folder)
    except EmptyReportError as error:
        alternative = f"open the committed run's, {paths.reference() / PAGE}"
        raise selection.make_no_results_error(name, alternative) from error
    except ReportError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return FAILED
    print(folder / artefact.APPENDIX if folder else page)
    return DONE


@contextmanager
def _show_steps() -> Iterator[Callable[[str], object]]:
    """Yield a function that shows a step: a terminal has one moving line, a log one per step."""
    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        text = TextColumn(
            "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)
        )
        spinner = SpinnerColumn()
        with Progress(spinner, text, console=console, transient=True, expand=True) as progress:
            task = progress.add_task("reading the results", total=None)
            yield lambda step: progress.update(task, description=step, refresh=True)
        return
    printed: set[str] = set()

    def print_step(step: str) -> None:
        if step not in printed:
            printed.add(step)
            # If the reader of stderr has ended, the report is built all the same.
            with suppress(OSError):
                print(step, file=sys.stderr, flush=True)

    yield print_step


def add_figure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook figure`."""
    text = "the figures or tables to write (default: list their names)"
    parser.add_argument("name", nargs="*", metavar="NAME", help=text)
    text = (
        "width of the figure, such as 3.5in (one column, the default), 7.2in (two columns) or 89mm"
    )
    parser.add_argument("--width", type=parse_width, default=3.5, metavar="W", help=text)
    text = (
        "pdf, svg, png (figures only), tex, csv, json "
        "(default: pdf for figures, tex,csv for tables)"
    )
    parse_formats = output.make_names_parser("format", (*DRAWING_FORMATS, *DATA_FORMATS))
    parser.add_argument("--format", type=parse_formats, default=[], metavar="F,...", help=text)
    text = "leave out the title and the notes, which --format tex writes as the caption"
    parser.add_argument("--no-title", action="store_true", help=text)
    text = "the folder (default: this one)"
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help=text)
    selection.add_run_options(parser)


def write_figures(options: argparse.Namespace) -> int:
    """Write the named figures and tables and print their files, or list all names."""
    known = {**exhibits.FIGURES, **exhibits.TABLES}
    own = {} if {*options.name} <= {*known} else answer.list_names()
    output.check_names(
        options.name, [*known, *own], "no figure or table", "benchbook figure lists them"
    )
    if not options.name:
        rows = []
        for name in known:
            kind = "table" if name in exhibits.TABLES else "figure"
            rows.append({"name": name, "kind": kind, "title": _read_title(name)})
        print(output.format_table(rows))
        return DONE
    # Here, because matplotlib is slow to import, and numbers do without.
    from benchbook.plots.save import save_exhibit

    # The named ones, each in the formats that it can have.
    layout = Layout(options.width, titled=not options.no_title)
    run = None
    about: Mapping[str, Any]
    for name in options.name:
        if name in own:
            exhibit = answer.read_answer(name).make_exhibit()
            about = {"drawn_by": describe_version()}
        else:
            run = run or selection.load_run(options)
            exhibit = exhibits.make_exhibit(run.analysis, name)
            about = exhibits.describe_exhibit(run.analysis, name, run.name)
        is_table = exhibit.drawing is None
        formats = options.format or (["tex", "csv"] if is_table else ["pdf"])
        if is_table and not {*formats} & {*DATA_FORMATS}:
            raise UsageError(f"{name} is a table: --format takes {', '.join(DATA_FORMATS)}")
        stem = options.output / (make_key_part(name) if name in own else name)
        written = save_exhibit(exhibit, stem, about, formats, layout)
        options.written += written
        print(*written, sep="\n")
    return DONE


def _read_title(name: str) -> str:
    """Return the title of a figure or table without drawing it.

    It is the title in the reference run, or for verdicts one without counts.
    """
    if name == "verdicts":
        return "all studies: claims by verdict"
    if exhibits.VERDICT_FIGURE.search(name):
        study, _, rest = name.partition("_verdicts")
        sheet = f", sheet {rest.removeprefix('_')}" if rest else ""
        return f"{study}: claims and verdicts{sheet}"
    file = paths.reference() / f"{name}.json"
    if not file.is_file():
        return ""
    title = str(json.loads(file.read_text(encoding="utf-8"))["title"])
    return title.partition("; ")[0]


def parse_width(text: str) -> float:
    """Return a width in inches, of a number with its unit (in, cm, mm, pt; inches without one)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(in|cm|mm|pt)?", text.strip())
    inches = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
    width = float(match[1]) * inches[match[2] or "in"] if match else 0.0
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        limits = f"{MIN_WIDTH:g}in to {MAX_WIDTH:g}in"
        raise argparse.ArgumentTypeError(f"must be {limits}, such as 3.5in or 89mm (got {text})")
    return width


def add_number_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook number`."""
    text = "the numbers to print (default: list all keys)"
    parser.add_argument("key", nargs="*", metavar="KEY", help=text)
    text = "list the keys that have all of these words, such as: --find mongodb insert"
    parser.add_argument("--find", nargs="+", metavar="WORD", default=[], help=text)
    text = "list or write only the keys that begin with one of these, such as: --only crud tcp_fig3"
    parser.add_argument("--only", nargs="+", metavar="PREFIX", default=[], help=text)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--latex", action="store_true", help="print them as LaTeX takes them")
    text = "print an array of objects with provenance, and nothing else"
    forms.add_argument("--json", action="store_true", help=text)
    text = "write all numbers to a file that defines \\benchbook{KEY}"
    forms.add_argument("--latex-macros", type=Path, metavar="FILE", help=text)
    selection.add_run_options(parser)


def answer_number(options: argparse.Namespace) -> int:
    """Print the named numbers, one per line, and on stderr what each is; or list all keys."""
    if options.key and (options.find or options.only):
        raise UsageError("--find and --only list keys: give keys without them")

    # The papers' own numbers, and the user's questions, need no cells of a profile.
    printed = {number.key: number for number in numbers.list_printed()}
    of_questions = [key for key in options.key if key.startswith("versus.")]
    if of_questions:
        own = {number.key: number for number in answer.list_numbers()}
        output.check_names(of_questions, own, "no number", "benchbook versus NAME shows a question")
        printed |= own
    only_printed = bool(options.key) and {*options.key} <= {*printed}
    run = Run.read_reference() if only_printed else selection.load_run(options)
    analysis = run.analysis
    if options.latex_macros:
        about = exhibits.get_provenance(analysis, SLUGS, run.name)
        macros = numbers.write_macros(_list_numbers(analysis, options.only), about)
        suite_files.write_file(options.latex_macros, macros)
        options.written.append(options.latex_macros)
        print(options.latex_macros)
        return DONE

    # The selected numbers, in the selected form.
    words = dict.fromkeys(key.partition(".")[0] for key in options.key if key not in printed)
    kindred = {word: numbers.list_kindred(analysis, word) for word in words}
    if options.key:
        found = ChainMap(printed, *kindred.values())
        selected = [_find_number(analysis, key, found) for key in options.key]
    else:
        known = _list_numbers(analysis, options.only)
        selected = _search_numbers(known.values(), options.find)
    if options.json:
        described = [numbers.describe_number(analysis, number, run.name) for number in selected]
        print(output.format_json(described))
    elif not options.key:
        rows = [
            {"key": number.key, "number": number.text, "what it is": number.says}
            for number in selected
        ]
        print(output.format_table(rows))
    elif options.latex:
        print("\n".join(latex.escape_text(number.text) for number in selected))
    else:
        print_numbers((number.key, number.text, number.says) for number in selected)
        if options.inputs:
            _keep_kindred(options, kindred)
    return DONE


def _keep_kindred(
    options: argparse.Namespace, kindred: Mapping[str, Mapping[str, KeyedNumber]]
) -> None:
    """Keep numbers by the first word of their keys, for the next command line."""
    run = paths.REFERENCE if options.reference else options.profile
    for word, found in kindred.items():
        texts = {key: [number.text, number.says] for key, number in found.items()}
        find_kept_numbers(word, options.inputs, run).keep(texts, records=options.record_stamps)


def _list_numbers(analysis: Analysis, prefixes: Sequence[str]) -> Mapping[str, KeyedNumber]:
    """Return the numbers whose keys begin with one of the prefixes; without one, all.

    Raises `benchbook.cli.command.UsageError` when there is none.
    """
    known = numbers.list_numbers(analysis, prefixes or [""])
    if not known:
        reason = f"--only: no key begins with {' or '.join(prefixes)}"
        raise UsageError(f"{reason}; benchbook number lists all keys")
    return known


def _search_numbers(known: Iterable[KeyedNumber], words: Sequence[str]) -> list[KeyedNumber]:
    """Return the numbers whose key or description has all words.

    Raises `benchbook.cli.command.UsageError` when no number has.
    """
    found = []
    for number in known:
        text = f"{number.key} {number.says}".lower()
        if all(word.lower() in text for word in words):
            found.append(number)
    if not found:
        reason = f"no key has all of these words: {' '.join(words)}"
        raise UsageError(f"{reason}; benchbook number lists all keys")
    return found


def _find_number(analysis: Analysis, key: str, found: Mapping[str, KeyedNumber]) -> KeyedNumber:
    """Return the number of a key from those beside it.

    Raises `benchbook.cli.command.UsageError` when there is none: for a claim's key it has the
    reason, otherwise the nearest key.
    """
    if key in found:
        return found[key]
    for claim in analysis.verdicts:
        if claim.id == key:
            raise UsageError(f"{key} has no ratio: {claim.verdict} ({claim.words})")
    known = numbers.list_numbers(analysis)
    advice = suggest_from_many(key, known, "benchbook number lists the keys")
    raise UsageError(f"no number {key!r}: {advice}")
