"""`benchbook ask`: what a file of your own documents costs, measured on this machine and answered in a few lines."""

import argparse
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

from benchbook import cli
from benchbook.cli import output
from benchbook.digits import plural

if TYPE_CHECKING:
    from benchbook.explorer.documents import Reply

DEFAULT: Final = "json-or-xml"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    text = "JSON, CSV or Parquet; export.csv#delimiter=semicolon+decimal=comma states how it is written"
    parser.add_argument("file", metavar="FILE", help=text)
    text = "json-or-xml (the default), which-store, which-driver, replica or arrays; several are answered in turn"
    parser.add_argument("question", nargs="*", type=_question, metavar="QUESTION", help=text)
    parser.add_argument("--records", type=_count, metavar="N", help="how many records (default: all, at most 200)")
    text = "how often each cell is measured (default: 5); what is measured is kept, and more blocks narrow the interval"
    parser.add_argument("--blocks", type=_count, metavar="N", help=text)
    parser.add_argument("--wait", action="store_true", help="wait until the machine is quiet, as benchbook run does")


def main(asked: argparse.Namespace) -> int:
    """Print what is understood of the file, measure, and print the answers.

    Raises `benchbook.inputs.InputError` when the file cannot be taken.
    """
    from benchbook.datasets import own_records  # here, for they are slow to import
    from benchbook.explorer import documents

    # What is understood of the file.
    questions = asked.question or [DEFAULT]
    blocks = asked.blocks or documents.BLOCKS
    known = own_records.understood(asked.file)
    requests = documents.requests(asked.file, questions, asked.records, blocks, noisy=not asked.wait)
    print(f"{known.words}\n{output.as_text(documents.field_rows(known))}")
    for note in known.notes:
        print(note)

    # The cells are measured as by `benchbook run`, whose progress is not part of the answer.
    for request in requests:
        sys.stdout.flush()
        with redirect_stdout(sys.stderr):
            ended = cli.main(request.arguments)
        if ended in (cli.INTERRUPTED, cli.TERMINATED):
            return ended

    # The answers.
    replies = documents.answers(questions, requests)
    for reply in replies:
        print(f"\n{_answer(reply)}")
    return cli.DONE if any(reply.sentences for reply in replies) else cli.NOTHING_RUNS


def _answer(reply: "Reply") -> str:
    """Return an answer: its sentences, of three or more levels their times, and what could not be tried."""
    lines = [reply.question.text]
    if reply.records:
        lines[0] += f" {plural(reply.records, 'record')}, handled {reply.question.way}."
    lines += [f"  {sentence}" for sentence in reply.sentences]
    if not reply.sentences:
        lines.append("  No answer: fewer than two ran.")
    if len({row.a for row in reply.comparisons}) > 1:
        lines += ["", output.as_text(reply.rows()), ""]
    lines += [f"  Not tried: {', '.join(levels)}: {why}" for why, levels in reply.untried.items()]
    if reply.noisy:
        lines.append(f"  {reply.noisy} of {plural(reply.measured, 'cell')} ran while other programs were busy.")
    if reply.through:
        lines.append(f"  Measured through {', '.join(reply.through)}.")
    return "\n".join(lines)


def _question(text: str) -> str:
    from benchbook.explorer.documents import QUESTIONS  # here, for it is slow to import

    return output.several("question", QUESTIONS)(text)[0]


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"a number above 0, not {text}")
    return count
