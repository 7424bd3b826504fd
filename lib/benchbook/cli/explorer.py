"""The explorer: `benchbook explore` shows comparisons, `benchbook ask` measures your documents."""

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchbook import paths
from benchbook.analysis.runs import Run
from benchbook.cli import command, execution, output, own_files
from benchbook.cli.command import DONE, NOTHING_RUNS, USAGE, UsageError
from benchbook.cli.kept_answers import KeptAnswer
from benchbook.explorer import your_documents
from benchbook.explorer.documents import (
    DEFAULT_BLOCKS,
    DEFAULT_RECORDS,
    QUESTIONS,
    AskedQuestion,
    Inquiry,
    Request,
    locate_samples,
    request_cells,
)
from benchbook.explorer.replies import Reply, answer_questions
from benchbook.explorer.site import ANSWERS, write_answers, write_explorer_page
from benchbook.explorer.text import describe_scope
from benchbook.files.inputs import InputError
from benchbook.files.suite_files import FolderError
from benchbook.grid.cells import list_judged_results
from benchbook.grid.finished_cells import list_finished_ids
from benchbook.own_data import own_records
from benchbook.runner import load_monitor
from benchbook.runner.progress import Limits
from benchbook.text.control_characters import escape_controls

DEFAULT_QUESTION: Final = "json-or-xml"


def add_ask_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook ask`."""
    text = (
        "JSON, CSV, Parquet or XML; "
        "export.csv#delimiter=semicolon+decimal=comma says how a CSV file is written"
    )
    parser.add_argument("file", metavar="FILE", help=text)
    text = f"one or several of {', '.join(QUESTIONS)} (default: {DEFAULT_QUESTION})"
    parser.add_argument("question", nargs="*", type=_parse_question, metavar="QUESTION", help=text)
    text = "how many records are used (default: all, at most 200)"
    parser.add_argument("--records", type=_parse_count, metavar="N", help=text)
    text = "draw the records by chance from the whole file, instead of its first ones"
    parser.add_argument("--sample", action="store_true", help=text)
    text = "how often each cell is measured (default: 5); more blocks narrow the intervals"
    parser.add_argument("--blocks", type=_parse_count, metavar="N", help=text)
    text = "wait until the machine is quiet, and measure noisy cells again"
    parser.add_argument("--wait", action="store_true", help=text)
    text = "measure noisy cells again without waiting; the less noisy values stay"
    parser.add_argument("--again", action="store_true", help=text)


def ask_questions(options: argparse.Namespace) -> int:
    """Print how a file is read, measure, and print the answers.

    Raises `benchbook.files.inputs.InputError` when the file cannot be read.
    """
    questions = options.question or [DEFAULT_QUESTION]
    patience_s = load_monitor.QUIET_PATIENCE_S if options.wait else None
    limits = Limits(patience_s=patience_s, repeats_noisy=options.wait or options.again)
    file = options.file
    if options.sample:
        # Here, because DuckDB is slow to import.
        from benchbook.own_data.samples import draw_sample

        count = options.records or DEFAULT_RECORDS
        file = draw_sample(file, count, locate_samples(file))
        print(escape_controls(f"Drawn by chance from {options.file}, into a file of its own:"))
    return ask_about_file(file, questions, limits, options.records, options.blocks)


def ask_about_file(
    file: str,
    questions: Sequence[str],
    limits: Limits,
    records: int | None = None,
    blocks: int | None = None,
    show_page: Callable[[Path], None] = lambda page: None,
) -> int:
    """Print how a file is read, measure, print the answers and write their page.

    Parameters
    ----------
    limits
        Of the cells of each question.
    records, blocks
        How many are used; None for the default.
    show_page
        Called once the page exists; answers appear on it while the cells are measured.

    Raises
    ------
    benchbook.files.inputs.InputError
        When the file cannot be read.
    """
    # How the file is read.
    requests = request_cells(file, questions, records, blocks or DEFAULT_BLOCKS)
    count, block_count = int(requests[0].settings["n"]), requests[0].blocks
    known = own_records.describe_file(file, count)
    own_files.print_file(file, known, [count] if count > 1 else [])
    print(describe_scope(count, known, block_count))

    # The page, on which answers appear below those of before.
    path = str(Path(file).expanduser().resolve())
    asked = [AskedQuestion(name, count, block_count) for name in questions]
    page = your_documents.AnswerPage(path, asked)
    status = f"Measuring: {QUESTIONS[questions[0]].text} The answers appear here."
    page.write([], status, measuring=True)
    show_page(page.path)

    # Measure the cells of each question, and write its answer to the page.
    replies: list[Reply] = []
    for name, request in zip(questions, requests, strict=True):
        if replies:
            status = f"Measuring: {QUESTIONS[name].text} Answers so far below."
            page.write(replies, status, measuring=True)
        interrupt = _measure_cells(name, request, limits)
        replies += answer_questions([name], [request])
        if interrupt:
            status = "Stopped: the same command goes on from here."
            page.write(replies, status, measuring=False)
            return command.find_stop_status(interrupt)

    # The answers.
    print(escape_controls(f"\n{your_documents.write_text(replies)}"))
    commands = your_documents.suggest_commands(Inquiry(path, tuple(asked)), replies)
    print(escape_controls("\n".join(["\nNext:", *(f"  {one}: {why}" for one, why in commands)])))
    page.write(replies, "Measured. Answers below.", measuring=False)
    print(escape_controls(f"\nAs a page, with bars, text to copy and CSV: {page.path}"))
    return DONE if any(reply.answers for reply in replies) else NOTHING_RUNS


def _measure_cells(name: str, request: Request, limits: Limits) -> KeyboardInterrupt | None:
    """Measure the cells of a question that are not done; return the interrupt that stopped it.

    Progress is printed on stderr, because it is not part of the answer. After an error the
    question is answered by the cells that are done.
    """
    sys.stdout.flush()
    _print_step(f"Measuring: {QUESTIONS[name].text}")
    try:
        plan = execution.prepare_plan(request.plan(), limits)
        output.report_damage(values=False)
        ended_by = execution.run_plan(plan, limits, sys.stderr).ended_by
    except (UsageError, InputError, FolderError) as error:
        command.print_error(error, USAGE)
        return None
    except KeyboardInterrupt as interrupt:
        print("benchbook: stopped", file=sys.stderr)
        return interrupt
    return ended_by if isinstance(ended_by, KeyboardInterrupt) else None


def _parse_question(text: str) -> str:
    return output.make_names_parser("question", QUESTIONS)(text)[0]


def _parse_count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be above 0 (got {text})")
    return count


def add_explore_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `benchbook explore`."""
    text = (
        "a file of your own documents: measures JSON or XML? of it, "
        "and opens the page of its answers"
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help=text)
    text = "print the page's path, and open no browser"
    parser.add_argument("--no-open", action="store_true", help=text)


def explore_results(options: argparse.Namespace) -> int:
    """Write the explorer's page and open it; it shows answers as they are computed.

    Raises `benchbook.cli.command.UsageError` when nothing ran here and there is no reference
    run.
    """
    # Whether a browser can open a window here, or the user has named one.
    is_named = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    opens = not options.no_open and (is_named or sys.platform in ("darwin", "win32"))
    if options.file:
        _print_step("reading the file ...")
        return ask_about_file(
            options.file,
            [DEFAULT_QUESTION],
            Limits(),
            show_page=lambda path: _show_page(path, opens),
        )

    # The page comes first, because to read the results takes seconds.
    ran = paths.results().is_dir() and next(paths.results().glob("*/*.parquet"), None)
    if not ran and not any(paths.reference().glob("*.parquet")):
        raise _make_no_run_error()
    folder = paths.figures("explorer")
    documents = your_documents.list_pages()
    # All answers are written already, where nothing changed since.
    linked = [str(folder / link.href) for link in documents]
    kept = KeptAnswer(["explore", str(folder), *linked]) if options.arguments is not None else None
    if kept and kept.repeat():
        _show_page(folder / "index.html", opens)
        return DONE
    _show_page(write_explorer_page(folder), opens)
    _print_step("reading this machine's results ...")
    output.report_damage(values=True)
    cells = {**dict.fromkeys(list_finished_ids()), **list_judged_results([])}
    runs = {"this machine's results": Run.read_results("here", cells).analysis}
    _print_step("reading the reference run ...")
    runs["the reference run"] = Run.read_reference().analysis
    runs = {name: analysis for name, analysis in runs.items() if analysis.studies}
    if not runs:
        raise _make_no_run_error()
    _print_step("comparing; the page fills meanwhile ...")
    for _ in write_answers(folder / ANSWERS, runs, documents=documents):
        pass
    if kept:
        kept.keep(file for file in folder.rglob("*") if file.is_file())
    _print_step("all answers are written")
    return DONE


def _make_no_run_error() -> UsageError:
    reason = f"nothing ran here, and there is no reference run in {paths.reference()}"
    return UsageError(f"{reason}: benchbook run, or {paths.suggest_restore()}")


def _print_step(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


def _show_page(path: Path, opens: bool) -> None:
    """Print a page's path, and open it in a browser."""
    print(escape_controls(str(path)), flush=True)
    if opens:
        # In a thread, because a browser in the foreground would delay the answers.
        threading.Thread(
            target=webbrowser.open, args=[path.resolve().as_uri()], daemon=True
        ).start()
