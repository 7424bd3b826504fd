"""`benchbook worker`: this machine measures blocks for runs elsewhere, until Ctrl-C."""

import argparse

from benchbook import cli
from benchbook.hosts.orders import NoLabError


def main(asked: argparse.Namespace) -> int:
    """Offer this machine's timing slot to the scheduler."""
    from benchbook.cli.on_hosts import extra, secured

    with extra():
        from benchbook.hosts import worker
    try:
        worker.serve(*secured(asked.scheduler, asked), asked.listen)
    except NoLabError as error:
        raise cli.UsageError(str(error)) from error
    except KeyboardInterrupt:
        print("stopped")
    return cli.DONE
