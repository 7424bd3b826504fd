"""Print what becomes of `benchbook run` when an address is wrong: ``python benchmarks/faults_given.py [ENGINE...]``.

A server of the engine's is kept up by `benchbook servers up`, and one cell is run on it by its address. Then the
address gets a wrong password, or names another version's or product's server, or none, and the cell is asked for again
beside one that needs no server; at last the right address, with a cell more. Each wrong address is a row of a table.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from benchbook import servers
from benchbook.servers.address import variable
from faults_run import HEAD, Folders, Row, Run

NOBODY: Final = "127.0.0.1:1"

WRONG: Final[dict[str, tuple[str, ...]]] = {
    "mongodb": ("postgresql",),
    "postgresql+jsonb": ("postgresql@9.6", "mongodb"),
    "postgresql@9.6+jsonb": ("postgresql",),
    "mysql+json": ("mysql@5.5", "mariadb"),
    "mariadb+json": ("mysql@5.5", "postgresql"),
    "mysql@5.5+relational": ("mariadb",),
    "couchdb": ("postgresql", "rethinkdb"),
    "rethinkdb": ("couchdb", "postgresql"),
    "couchbase": ("couchdb", "postgresql"),
    "sqlserver+relational": ("postgresql", "none"),
    "arangodb": ("couchdb", "none"),
}
"""Each engine, and whose servers its address names in its own's place; none: nothing listens there."""


@contextmanager
def up(product: str, folders: Folders) -> Iterator[str]:
    """Keep a server up, as a user does, and yield its address."""
    command = [sys.executable, "-m", "benchbook.cli", "servers", "up", product]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=folders.environment()) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split("'")[1]
        finally:
            process.send_signal(signal.SIGINT)


def posing(url: str, product: str) -> str:
    """Return a server's address in another product's words."""
    parts = urlsplit(url)
    scheme = {"couchdb": "http"}.get(product, product.partition("@")[0])
    more = f"/benchbook?management={parts.netloc.rpartition(':')[2]}" if product == "couchbase" else parts.path
    return f"{scheme}://{parts.netloc}{more}"


def cells(engine: str, n: str) -> list[str]:
    set_ = {"engine": engine, "topology": "single", "n": n, "repetitions": "1"}
    return [
        "crud",
        "--profile",
        "smoke",
        *(part for key, value in set_.items() for part in ("--set", f"{key}={value}")),
    ]


def row(engine: str, fault: str, wrong: str, right: str | None) -> Row:
    """Run a cell at the right address, if there is one, at the wrong one, and again."""
    name, folders = variable(servers.product_of(engine)), Folders()
    try:
        before: dict[str, str] = {}
        if right is not None:
            assert Run(folders, cells(engine, "50"), **{name: right}).end() == 0
            before = folders.finished()
        run = Run(folders, cells(f"{engine},noop", "50"), **{name: wrong})
        status = run.end()
        lost = [file for file, digest in before.items() if folders.finished().get(file) != digest]
        saw = next((line for line in run.printed.splitlines() if line.startswith(("skipped", "failed"))), run.printed)
        following = f"{len(folders.finished()) - len(before)} done without servers"
        if right is not None:
            again = Run(folders, cells(engine, "50,60"), **{name: right})
            following += (
                f"; at the right address: {['done', 'failed'][again.end() != 0]}, {again.printed.split(';')[0]}"
            )
        assert "s3cret" not in run.printed
        return Row(engine, fault, f"`{saw}`", status, ", ".join(lost) or "nothing", following)
    finally:
        folders.remove()


def rows(engine: str) -> Iterator[Row]:
    """Yield what becomes of every wrong address of an engine's."""
    product, folders = servers.product_of(engine), Folders()
    try:
        if isinstance(servers.find(product), servers.Found):
            with up(product, folders) as url:
                password = urlsplit(url).password or ""
                wrong = url.replace(f":{password}@", ":s3cret@", 1)
                yield row(engine, "wrong password", wrong, url)
        for other in WRONG.get(engine, ()):
            if other == "none":
                yield row(engine, "nothing listens", posing(f"//someone:s3cret@{NOBODY}", product), None)
                continue
            if isinstance(found := servers.find(other), servers.Missing):
                continue
            with up(other, folders) as url:
                yield row(engine, f"wrong version: {other} {found.version}", posing(url, product), None)
    finally:
        folders.remove()


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it, too, stops the servers
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="*", default=WRONG)
    print(HEAD)
    for engine in parser.parse_args().engine:
        for one in rows(engine):
            print(one.markdown(), flush=True)


if __name__ == "__main__":
    main()
