"""`benchbook worker`: this machine measures blocks for runs elsewhere, until Ctrl-C."""

import argparse

from benchbook import cli


def main(asked: argparse.Namespace) -> int:
    """Offer this machine's timing slot to the scheduler."""
    from benchbook.cli.on_hosts import extra

    with extra():
        from benchbook.hosts import worker
    try:
        worker.serve(asked.scheduler, asked.listen)
    except KeyboardInterrupt:
        print("stopped")
    return cli.DONE
