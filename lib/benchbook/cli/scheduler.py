"""`benchbook scheduler`: this machine joins a lab's workers and runs, until Ctrl-C."""

import argparse

from benchbook import cli
from benchbook.cli import credentials
from benchbook.hosts.orders import NoLabError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    text = "this machine's address for the lab (default: 127.0.0.1:8786, which no other machine reaches)"
    parser.add_argument("address", metavar="ADDRESS", nargs="?", default="127.0.0.1", help=text)
    credentials.add_options(parser, unprotected=False)


def main(asked: argparse.Namespace) -> int:
    """Be the lab's scheduler."""
    with credentials.extra():
        from benchbook.hosts import scheduler
    try:
        scheduler.serve(asked.address, credentials.file(asked))
    except NoLabError as error:
        raise cli.UsageError(str(error)) from error
    except KeyboardInterrupt:
        print("stopped")
    return cli.DONE
