"""`benchbook servers`: keep servers up, pull their images, clean servers of yours."""

import argparse
import os
import signal
import sys
import threading

from benchbook import cli, databases, registry, servers
from benchbook.deployment import day_of
from benchbook.digits import size
from benchbook.servers import containers


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    verbs = parser.add_subparsers(dest="verb", metavar="up|pull|clean", required=True)
    text = "start a database's servers and print their addresses; Ctrl-C stops them"
    up = verbs.add_parser("up", help=text, description=text)
    up.add_argument("database", metavar="DATABASE", help="a database, such as mongodb or postgresql+jsonb")
    topologies = ["single", "replicated", "bidirectional"]
    text = "one server, or a pair of which one follows the other (default: single)"
    up.add_argument("--topology", choices=topologies, default="single", help=text)
    text = "fetch images of servers that run in containers"
    pull = verbs.add_parser("pull", help=text, description=text)
    pull.add_argument("product", nargs="*", metavar="PRODUCT", help=", ".join(registry.images()))
    pull.add_argument("--all", action="store_true", help="fetch all images of products that are missing here")
    text = "remove what killed runs left in containers or on your servers"
    clean = verbs.add_parser("clean", help=text, description=text)
    address = "a server's address, or the variable that has it (default: clean the containers)"
    clean.add_argument("address", nargs="*", metavar="ADDRESS", help=address)
    clean.add_argument("--yes", action="store_true", help="remove without asking")


def main(asked: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs = {"up": _up, "pull": _pull, "clean": _clean}
    try:
        return verbs[asked.verb](asked)
    except (servers.ServerError, databases.AdapterError) as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return cli.FAILED


def _pull(asked: argparse.Namespace) -> int:
    """Say what would be fetched, on whose terms, and fetch it."""
    images = registry.images()
    absent = [product for product in images if isinstance(servers.here(product), servers.Missing)]
    if not (products := asked.product or (asked.all and absent)):
        raise cli.UsageError(f"name a product ({', '.join(images)}), or add --all")
    if unknown := [product for product in products if product not in images]:
        raise cli.UsageError(f"{', '.join(unknown)} has no image; these have one: {', '.join(images)}")
    engine = containers.engine()
    print(f"{engine.name} fetches these images, under their makers' terms:")
    for product in products:
        print(f"  {product}: {images[product].reference} ({images[product].licence})", flush=True)
    for product in products:
        _fetch(engine, product, images[product])
    return cli.DONE


def _fetch(engine: containers.Engine, product: str, image: registry.Image) -> None:
    """Fetch a product's image, and say how much is here: its registry tells each layer's size as it begins."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("  {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, disable=sys.stdout is None or not sys.stdout.isatty()) as progress:
        bar = progress.add_task(product, total=None)
        whole = 0
        for fetched, whole in containers.pull(engine, image.reference):
            progress.update(bar, completed=fetched, total=whole or None)
    present = containers.find(image)
    print(f"  {product} is here: {size(whole)}, {present.digest if present else ''}", flush=True)


def _clean_containers() -> int:
    """Remove the containers and networks of runs that were killed, and name them."""
    removed = containers.sweep(containers.engine())
    print("\n".join(f"removed {name}" for name in removed) or "nothing to remove: no killed run left a container")
    return cli.DONE


def _clean(asked: argparse.Namespace) -> int:
    """List the databases of runs on a user's servers, and drop them once the user agrees; else clean containers."""
    if not asked.address:
        return _clean_containers()
    for address in asked.address:
        url = os.environ.get(address, address)
        if "://" not in url:
            raise cli.UsageError(f"{address} is neither an address nor a variable that is set")
        with databases.open_address(url) as adapter:
            names = databases.list_run_databases(adapter)
            print(f"{adapter.where}: {'databases of runs:' if names else 'no database of a run'}")
            for name in names:
                print(f"  {name}, made on {day_of(name)}")
            if names and (asked.yes or _user_agrees()):
                for name in names:
                    adapter.drop_database(name)
                print(f"  removed {len(names)}")
    return cli.DONE


def _user_agrees() -> bool:
    """Return whether the user says yes; without a terminal there is no answer."""
    try:
        answer = input("Remove them? A run that still uses one fails. [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def _up(asked: argparse.Namespace) -> int:
    """Start a database's servers (given ones are only looked at), print their addresses, stop on Ctrl-C or SIGTERM."""
    try:
        product = servers.product_of(asked.database)
    except servers.ServerError as error:
        raise cli.UsageError(str(error)) from error
    if product == "none":
        raise cli.UsageError(f"{asked.database} has no server")
    if asked.topology not in (ways := servers.topologies(product)):
        raise cli.UsageError(f"{product} runs {' or '.join(ways)} here, not {asked.topology}")
    server = servers.find(product, asked.topology)
    if isinstance(server, servers.Missing):
        print(f"benchbook: {server.why}", file=sys.stderr)
        return cli.NOTHING_RUNS
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with servers.up(product, asked.topology) as running:
        print("\n".join(servers.describe(running.deployment)), flush=True)
        print("# Ctrl-C stops them", flush=True)
        while not ended.wait(1.0):
            if why := running.alive():
                print(f"benchbook: {why}", file=sys.stderr)
                return cli.FAILED
    return cli.DONE
