"""`benchbook servers`: keep servers up, pull their images, check or clean servers of yours."""

import argparse
import os
import signal
import sys
import time

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from benchbook.cli import server_check
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, UsageError
from benchbook.databases import catalogue
from benchbook.databases.adapter import AdapterError
from benchbook.registry import products
from benchbook.servers import containers, launcher
from benchbook.servers.deployment import read_day
from benchbook.servers.errors import ServerError
from benchbook.servers.programs import MissingServer, find_startable
from benchbook.text.number_format import format_size


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    verbs = parser.add_subparsers(dest="verb", metavar="up|pull|check|clean", required=True)
    text = "start a database's servers and print their addresses; Ctrl-C stops them"
    up = verbs.add_parser("up", help=text, description=text)
    name_text = "a database, such as mongodb or postgresql+jsonb"
    up.add_argument("database", metavar="DATABASE", help=name_text)
    topologies = ["single", "replicated", "bidirectional"]
    text = "one server, or a pair of which one follows the other (default: single)"
    up.add_argument("--topology", choices=topologies, default="single", help=text)
    text = "fetch images of servers that run in containers"
    pull = verbs.add_parser("pull", help=text, description=text)
    images = ", ".join(products.load_images())
    pull.add_argument("product", nargs="*", metavar="PRODUCT", help=images)
    text = "fetch all images of products that are missing here"
    pull.add_argument("--all", action="store_true", help=text)
    text = "check a product's adapters on its servers: then its cells are judged"
    check = verbs.add_parser("check", help=text, description=text)
    check.add_argument("database", metavar="NAME", help="a product or one of its databases")
    server = "a server's address, or the variable that has it (default: as a run finds it)"
    check.add_argument("address", nargs="?", metavar="ADDRESS", help=server)
    text = "remove what killed runs left in containers or on your servers"
    clean = verbs.add_parser("clean", help=text, description=text)
    address = "a server's address, or the variable that has it (default: clean the containers)"
    clean.add_argument("address", nargs="*", metavar="ADDRESS", help=address)
    clean.add_argument("--yes", action="store_true", help="remove without asking")


def main(options: argparse.Namespace) -> int:
    """Keep servers up, pull images or clean servers."""
    verbs = {
        "up": _keep_up,
        "pull": _pull_images,
        "check": _check_servers,
        "clean": _clean_servers,
    }
    try:
        return verbs[options.verb](options)
    except (ServerError, AdapterError) as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return FAILED


def _keep_up(options: argparse.Namespace) -> int:
    """Start a database's servers, print their addresses, and stop them on Ctrl-C or another signal.

    A user's servers are only looked at.
    """
    # The server that the options name.
    product = _name_product(options.database)
    topologies = launcher.list_topologies(product)
    if options.topology not in topologies:
        raise UsageError(f"{product} runs {' or '.join(topologies)} here, not {options.topology}")
    server = launcher.find_server(product, options.topology)
    if isinstance(server, MissingServer):
        print(f"benchbook: {server.why}", file=sys.stderr)
        return NOTHING_RUNS

    # It runs until a signal comes, or one of its processes ends.
    # A script's background jobs ignore SIGINT, unless it has a handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with launcher.provide_servers(product, options.topology) as running:
            print("\n".join(launcher.format_exports(running.deployment)), flush=True)
            print("# Ctrl-C stops them", flush=True)
            failure = None
            while not failure:
                time.sleep(1.0)
                failure = running.find_failures()
            print(f"benchbook: {failure}", file=sys.stderr)
            return FAILED
    except KeyboardInterrupt:
        return DONE


def _check_servers(options: argparse.Namespace) -> int:
    return server_check.check_servers(_name_product(options.database), options.address)


def _name_product(database: str) -> str:
    """Return a database's product; `UsageError` for an unknown name, or one without servers."""
    try:
        product = launcher.name_product(database)
    except ServerError as error:
        raise UsageError(str(error)) from error
    if product == "none":
        raise UsageError(f"{database} has no server")
    return product


def _pull_images(options: argparse.Namespace) -> int:
    """Print which images are fetched, and under which terms, and fetch them."""
    images = products.load_images()
    selected = options.product
    if not selected and options.all:
        for product in images:
            if isinstance(find_startable(product), MissingServer):
                selected.append(product)
    if not selected:
        raise UsageError(f"name a product ({', '.join(images)}), or add --all")
    unknown = [product for product in selected if product not in images]
    if unknown:
        raise UsageError(f"{', '.join(unknown)} has no image; these have one: {', '.join(images)}")
    engine = containers.find_engine()
    print(f"{engine.name} fetches these images, under their makers' terms:")
    for product in selected:
        print(f"  {product}: {images[product].reference} ({images[product].licence})", flush=True)
    for product in selected:
        _pull_image(engine, product, images[product])
    return DONE


def _pull_image(engine: containers.ContainerEngine, product: str, image: products.Image) -> None:
    """Fetch a product's image, with a progress bar on a terminal.

    The bar's length grows, because a registry tells a layer's size only when the layer begins.
    """
    is_terminal = sys.stdout.isatty()
    columns = (TextColumn("  {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, disable=not is_terminal) as progress:
        bar = progress.add_task(product, total=None)
        total = 0
        for fetched, total in containers.pull_image(engine, image.reference):
            progress.update(bar, completed=fetched, total=total or None)
    present = containers.find_image(image)
    digest = present.digest if present else ""
    print(f"  {product} is here: {format_size(total)}, {digest}", flush=True)


def _clean_servers(options: argparse.Namespace) -> int:
    """Drop the databases of runs from the user's servers; without an address, clean containers."""
    if not options.address:
        removed = containers.remove_orphans(containers.find_engine())
        for name in removed:
            print(f"removed {name}")
        if not removed:
            print("nothing to remove: no killed run left a container")
        return DONE
    for address in options.address:
        url = os.environ.get(address, address)
        if "://" not in url:
            raise UsageError(f"{address} is neither an address nor a variable that is set")
        # Only databases with the name of a run are removed.
        with catalogue.open_address(url) as adapter:
            names = catalogue.list_run_databases(adapter)
            found = "databases of runs:" if names else "no database of a run"
            print(f"{adapter.location}: {found}")
            for name in names:
                print(f"  {name}, made on {read_day(name)}")
            if names and (options.yes or _user_agrees()):
                for name in names:
                    adapter.drop_database(name)
                print(f"  removed {len(names)}")
    return DONE


def _user_agrees() -> bool:
    """Return whether the user agrees; without a terminal the answer is no."""
    try:
        answer = input("Remove them? A run that still uses one fails. [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")
