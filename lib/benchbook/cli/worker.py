"""`benchbook worker`: this machine measures blocks for runs elsewhere, until Ctrl-C."""

import argparse

from benchbook import cli
from benchbook.cli import credentials
from benchbook.cli.credentials import extra, secured
from benchbook.hosts.orders import NoLabError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("--listen", metavar="ADDRESS", help="this machine's address for the lab")
    parser.add_argument("scheduler", metavar="SCHEDULER", help="its address, such as tls://lab:8786")
    credentials.add_options(parser)


def main(asked: argparse.Namespace) -> int:
    """Offer this machine's timing slot to the scheduler."""
    with extra():
        from benchbook.hosts import worker
    try:
        worker.serve(*secured(asked.scheduler, asked), asked.listen)
    except NoLabError as error:
        raise cli.UsageError(str(error)) from error
    except KeyboardInterrupt:
        print("stopped")
    return cli.DONE
