"""`benchbook servers up`: servers that stay up until Ctrl-C."""

import argparse
import signal
import sys
import threading

from benchbook import cli, servers


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    verbs = parser.add_subparsers(dest="verb", metavar="up", required=True)
    up = verbs.add_parser("up", help=cli.COMMANDS["servers"])
    up.add_argument("engine", metavar="ENGINE")
    up.add_argument("--topology", choices=["single", "replicated", "bidirectional"], default="single")


def main(asked: argparse.Namespace) -> int:
    """Start an engine's servers (given ones are only looked at), print their addresses, stop on Ctrl-C or SIGTERM."""
    try:
        product = servers.product_of(asked.engine)
    except servers.ServerError as error:
        raise cli.UsageError(str(error)) from error
    if product == "none":
        raise cli.UsageError(f"{asked.engine} has no server")
    if asked.topology not in (ways := servers.topologies(product)):
        raise cli.UsageError(f"{product} runs {' or '.join(ways)} here, not {asked.topology}")
    found = servers.find(product, asked.topology)
    if isinstance(found, servers.Missing):
        print(f"benchbook: {found.why}", file=sys.stderr)
        return cli.NOTHING_RUNS
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with servers.up(product, asked.topology) as running:
            print("\n".join(servers.describe(running.deployment)), flush=True)
            print("# Ctrl-C stops them", flush=True)
            while not ended.wait(1.0):
                if why := running.alive():
                    print(f"benchbook: {why}", file=sys.stderr)
                    return cli.FAILED
    except servers.ServerError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return cli.FAILED
    return cli.DONE
