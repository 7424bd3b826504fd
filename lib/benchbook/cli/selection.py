"""What `benchbook plan`, `run` and `power` are asked for alike: studies, a profile, and which of its cells."""

import argparse


def add_options(parser: argparse.ArgumentParser, *, until_decided: bool = False) -> None:
    """Let a command be asked for some cells; and for the rounds alone that open claims need."""
    parser.add_argument("study", nargs="*", metavar="STUDY", help="the studies (default: all)")
    parser.add_argument("--where", action="append", default=[], metavar="K=V,...", help="only cells like that")
    parser.add_argument("--set", action="append", default=[], metavar="K=V,...", help="other values of a parameter")
    if until_decided:
        text = "block by block only what open claims read, until each is decided or more blocks would not decide it"
        parser.add_argument("--until-decided", action="store_true", help=text)
    parser.add_argument("--profile", default="quick", metavar="P", help="the selection (default: quick)")
