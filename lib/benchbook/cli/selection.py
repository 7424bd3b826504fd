"""What `benchbook plan`, `run` and `power` are asked for alike: studies, a profile, and which of its cells."""

import argparse
import os
from typing import Any

from benchbook.servers.containers import LEFT_OUT, VARIABLE


def add_options(parser: argparse.ArgumentParser, *, until_decided: bool = False) -> None:
    """Let a command be asked for some cells; and for the rounds alone that open claims need."""
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    parser.add_argument("--where", action="append", default=[], metavar="K=V,...", help="only cells like that")
    parser.add_argument("--set", action="append", default=[], metavar="K=V,...", help="other values of a parameter")
    if until_decided:
        text = "block by block only what open claims read, until each is decided or more blocks would not decide it"
        parser.add_argument("--until-decided", action="store_true", help=text)
    parser.add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
    text = "leave out what could only run in containers, though their images are here"
    parser.add_argument("--no-containers", action=_NoContainers, nargs=0, help=text)


class _NoContainers(argparse.Action):
    """Says so in the environment, where a plan's cells and their kernels know of it."""

    def __call__(self, *_: Any) -> None:
        """Leave containers out."""
        os.environ[VARIABLE] = LEFT_OUT
