"""What a lab's machines show each other, as `benchbook run`, `worker` and `scheduler` are told it."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook import cli, paths

if TYPE_CHECKING:
    from distributed import Security


def add_options(parser: argparse.ArgumentParser, *, unprotected: bool = True) -> None:
    """Let a command be told the lab's credentials; and, where it may do without, that it does."""
    text = "the file of the lab's credentials (default: .cache/lab.pem, which benchbook scheduler makes)"
    parser.add_argument("--credentials", metavar="FILE", help=text)
    if unprotected:
        text = "trust whoever reaches a scheduler at tcp://, which asks for no credentials, to run any code here"
        parser.add_argument("--unprotected", action="store_true", help=text)


def file(asked: argparse.Namespace) -> Path:
    """Return the file that was named, else the checkout's."""
    return Path(asked.credentials or paths.credentials())


def secured(scheduler: str, asked: argparse.Namespace) -> tuple[str, "Security"]:
    """Return a scheduler's whole address, and what is shown to it and asked of it, as the options say."""
    from benchbook.hosts import scheduler as hosts

    return hosts.secured(scheduler, file(asked), asked.unprotected)


@contextmanager
def extra() -> Iterator[None]:
    """Say of imports that fail which extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise cli.UsageError(f"{error.name} is missing: pip install 'benchbook[hosts]', or make setup") from error
