"""`benchbook ask`: what a file of your own documents costs, measured on this machine and answered in a few lines."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from benchbook import cli
from benchbook.cli import output

DEFAULT: Final = "json-or-xml"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = "JSON, CSV or Parquet; export.csv#delimiter=semicolon+decimal=comma says how a CSV file is written"
    parser.add_argument("file", metavar="FILE", help=text)
    text = "one or several of json-or-xml (the default), which-store, which-driver, replica, arrays"
    parser.add_argument("question", nargs="*", type=_question, metavar="QUESTION", help=text)
    parser.add_argument(
        "--records", type=_count, metavar="N", help="how many records are used (default: all, at most 200)"
    )
    text = "how often each cell is measured (default: 5); more blocks narrow the intervals"
    parser.add_argument("--blocks", type=_count, metavar="N", help=text)
    parser.add_argument("--wait", action="store_true", help="wait until the machine is quiet")


def main(asked: argparse.Namespace) -> int:
    """Print what is understood of the file, measure, and print the answers.

    Raises `benchbook.inputs.InputError` when the file cannot be taken.
    """
    questions = asked.question or [DEFAULT]
    return answer(asked.file, questions, asked.records, asked.blocks, wait=asked.wait)


def answer(
    file: str,
    questions: Sequence[str],
    records: int | None = None,
    blocks: int | None = None,
    *,
    wait: bool = False,
    show_page: Callable[[Path], None] = lambda page: None,
) -> int:
    """Print what is understood of a file, measure, print the answers and write their page.

    Parameters
    ----------
    show_page
        Called once the page can be looked at; it fills while the cells are measured.

    Raises
    ------
    benchbook.inputs.InputError
        When the file cannot be taken.
    """
    from benchbook.datasets import own_records  # here, because they are slow to import
    from benchbook.explorer import answer_page, asked, documents, replies

    # What is understood of the file.
    known = own_records.understood(file)
    requests = documents.requests(file, questions, records, blocks or documents.BLOCKS, noisy=not wait)
    count, often = int(requests[0].settings["n"]), requests[0].blocks
    print(f"{known.words}\n{output.as_text(documents.field_rows(known))}")
    for note in known.notes:
        print(note)
    print(documents.describe_scope(count, known.records, often))

    # The page, which fills as questions are answered.
    path = str(Path(file).expanduser().resolve())
    kept = asked.remember(asked.Asked(path, tuple(questions), count, often, noisy=not wait))
    status = f"Measuring: {documents.QUESTIONS[questions[0]].text} The answers appear here."
    page = answer_page.write(kept, [], status, measuring=True)
    show_page(page)

    # The cells are measured as by `benchbook run`, whose progress is not part of the answer.
    answers: list[replies.Reply] = []
    for place, request in enumerate(requests):
        sys.stdout.flush()
        with redirect_stdout(sys.stderr):
            ended = cli.main(request.arguments)
        answers += replies.answers(questions[place : place + 1], [request])
        if ended in (cli.INTERRUPTED, cli.TERMINATED):
            answer_page.write(kept, answers, "Stopped: the same command goes on from here.", measuring=False)
            return ended
        for following in questions[place + 1 : place + 2]:
            status = f"Measuring: {documents.QUESTIONS[following].text} Answers so far below."
            answer_page.write(kept, answers, status, measuring=True)

    # The answers; the page has those of earlier questions too.
    for reply in answers:
        print(f"\n{reply.text}")
    earlier = replies.answers(kept.questions[len(answers) :], kept.requests()[len(answers) :])
    answer_page.write(
        kept, [*answers, *(reply for reply in earlier if reply.findings)], "Measured. Answers below.", measuring=False
    )
    print(f"\nAs a page, with bars, text to copy and CSV: {page}")
    return cli.DONE if any(reply.findings for reply in answers) else cli.NOTHING_RUNS


def _question(text: str) -> str:
    from benchbook.explorer.documents import QUESTIONS  # here, because it is slow to import

    return output.several("question", QUESTIONS)(text)[0]


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be above 0 (got {text})")
    return count
