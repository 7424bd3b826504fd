"""`benchbook scheduler`: this machine joins a lab's workers and runs, until Ctrl-C."""

import argparse
from pathlib import Path

from benchbook import cli, paths
from benchbook.hosts.orders import NoLabError


def main(asked: argparse.Namespace) -> int:
    """Be the lab's scheduler."""
    from benchbook.cli.on_hosts import extra

    with extra():
        from benchbook.hosts import scheduler
    try:
        scheduler.serve(asked.address, Path(asked.credentials or paths.credentials()))
    except NoLabError as error:
        raise cli.UsageError(str(error)) from error
    except KeyboardInterrupt:
        print("stopped")
    return cli.DONE
