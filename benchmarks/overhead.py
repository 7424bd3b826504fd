"""What a study's timed insert loop costs over the same loop written bare on pymongo, psycopg and PyMySQL.

Both loops fill the same store on the same live server in short blocks and take turns: the study's first in one pair,
the bare one first in the next. Printed is the median of the pairs' ratios with a bootstrap interval over the pairs.
Run it on an idle machine: ``python benchmarks/overhead.py``.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from time import perf_counter_ns
from typing import Any, get_args

import numpy as np
import orjson
import psycopg
import pymongo
import pymysql
from psycopg.types.json import Jsonb, set_json_dumps

from benchbook import datasets, engines, servers
from benchbook.deployment import Deployment, login
from benchbook.measure import timed
from benchbook.studies.store import each

GOAL = 1.02
"""Largest ratio, study's over bare."""

PAIRS, N = 20, 100
"""Pairs of blocks between two emptyings, and inserts a block: short, so that the disk's mood is the same for both."""

JOURNAL: dict[str, dict[str, bool]] = {"default": {}, "relaxed": {"journal": False}, "strict": {"journal": True}}
COMMIT = {"default": (), "relaxed": ("SET synchronous_commit = off",), "strict": ("SET synchronous_commit = on",)}

Loop = Callable[[Sequence[dict[str, Any]]], int]
"""Inserts the records and returns how long that took, in ns."""


def studied(engine: engines.Engine, records: Sequence[dict[str, Any]]) -> int:
    return int(timed(partial(each, engine.insert, records))[1][0].value)


@contextmanager
def on_pymongo(deployment: Deployment, durability: str) -> Iterator[Loop]:
    settings: dict[str, Any] = {"w": 1, "retryWrites": False, **JOURNAL[durability]}
    with pymongo.MongoClient[dict[str, Any]](deployment.node().url, **settings) as client:
        collection = client["benchbook"]["comments"]

        def loop(records: Sequence[dict[str, Any]]) -> int:
            started = perf_counter_ns()
            for record in records:
                collection.insert_one(record)
            return perf_counter_ns() - started

        yield loop


@contextmanager
def on_psycopg(deployment: Deployment, durability: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(deployment.node().url, autocommit=True) as connection:
        connection.execute("SET search_path = benchbook")
        for setting in COMMIT[durability]:
            connection.execute(setting)
        set_json_dumps(orjson.dumps, connection)
        yield connection


@contextmanager
def on_jsonb(deployment: Deployment, durability: str) -> Iterator[Loop]:
    with on_psycopg(deployment, durability) as connection, connection.cursor() as cursor:

        def loop(records: Sequence[dict[str, Any]]) -> int:
            started = perf_counter_ns()
            for record in records:
                cursor.execute("INSERT INTO comments (_id, doc) VALUES (%s, %s)", (record["_id"], Jsonb(record)))
            return perf_counter_ns() - started

        yield loop


@contextmanager
def on_tables(deployment: Deployment, durability: str) -> Iterator[Loop]:
    insert = "INSERT INTO comments (_id, article_id, author, email, created_at, title, content) "
    insert += "VALUES (%s, %s, %s, %s, %s, %s, %s)"
    with on_psycopg(deployment, durability) as connection, connection.cursor() as cursor:

        def loop(records: Sequence[dict[str, Any]]) -> int:
            started = perf_counter_ns()
            for record in records:
                cursor.execute(insert, tuple(record.values()))
            return perf_counter_ns() - started

        yield loop


@contextmanager
def on_pymysql(deployment: Deployment) -> Iterator[pymysql.cursors.Cursor]:
    """The durability is the engine's, which sets the whole server's."""
    address = login(deployment.node().url, 3306)
    with closing(pymysql.connect(**address, database="benchbook", charset="utf8mb4", autocommit=True)) as connection:
        yield connection.cursor()


@contextmanager
def on_json(deployment: Deployment, durability: str) -> Iterator[Loop]:
    with on_pymysql(deployment) as cursor:

        def loop(records: Sequence[dict[str, Any]]) -> int:
            cursor.connection.select_db("benchbook")
            started = perf_counter_ns()
            for record in records:
                cursor.execute(
                    "INSERT INTO comments (_id, doc) VALUES (%s, %s)", (record["_id"], orjson.dumps(record).decode())
                )
            return perf_counter_ns() - started

        yield loop


@contextmanager
def on_rows(deployment: Deployment, durability: str) -> Iterator[Loop]:
    insert = "INSERT INTO comments (_id, article_id, author, email, created_at, title, content) "
    insert += "VALUES (%s, %s, %s, %s, %s, %s, %s)"
    with on_pymysql(deployment) as cursor:

        def loop(records: Sequence[dict[str, Any]]) -> int:
            cursor.connection.select_db("benchbook")
            started = perf_counter_ns()
            for record in records:
                cursor.execute(insert, tuple(record.values()))
            return perf_counter_ns() - started

        yield loop


BARE = {
    "mongodb": on_pymongo,
    "postgresql+jsonb": on_jsonb,
    "postgresql+relational": on_tables,
    "mysql+json": on_json,
    "mysql+relational": on_rows,
    "mariadb+json": on_json,
    "mariadb+relational": on_rows,
}


def times(name: str, rounds: int, durability: Any) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the pairs' times in ns, (rounds * PAIRS, 2): the study's and the bare loop's.

    A third session empties the store, so that the two that are compared have done the same work when a round begins.
    """
    data = datasets.comments(2 * PAIRS * N, 20150501, per_article=10)
    blocks = [data.records[start : start + N] for start in range(0, len(data.records), N)]
    taken = []
    with (
        servers.session(name, "single") as deployment,
        engines.open(name, deployment, durability=durability) as engine,
        engines.open(name, deployment, durability=durability) as emptier,
        BARE[name](deployment, durability) as bare,
    ):
        engine.create(data.schema, parents=data.parents)
        loops: list[Loop] = [partial(studied, engine), bare]
        for number in range(rounds + 1):
            emptier.create(data.schema, parents=data.parents)
            turns = [(0, 1) if (pair + number) % 2 else (1, 0) for pair in range(PAIRS)]
            waiting = iter(blocks)
            done = [{arm: loops[arm](next(waiting)) for arm in arms} for arms in turns]
            taken += [(each_pair[0], each_pair[1]) for each_pair in done if number]  # the first round warms both up
    return np.array(taken, np.int64)


def ratio(taken: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """Return the median of the pairs' ratios."""
    return float(np.median(taken[:, 0] / taken[:, 1]))


def interval(taken: np.ndarray[Any, np.dtype[np.int64]], samples: int = 10_000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `ratio` over the pairs."""
    draws = np.random.default_rng(1).integers(0, len(taken), (samples, len(taken)))
    low, high = np.percentile(np.median((taken[:, 0] / taken[:, 1])[draws], axis=1), [2.5, 97.5])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help=f"of {', '.join(BARE)} (default: all)")
    parser.add_argument("--rounds", type=int, default=20, help=f"of {PAIRS} pairs of {N} inserts")
    parser.add_argument("--durability", choices=get_args(engines.Durability), default="default")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 when a ratio is above {GOAL}")
    options = parser.parse_args()
    if unknown := set(options.engines) - set(BARE):
        parser.error(f"no such engine: {', '.join(unknown)}")
    worst = 0.0
    for name in options.engines or BARE:
        if isinstance(found := servers.find(servers.product_of(name)), servers.Missing):
            print(f"{name}: {found.why}")
            continue
        taken = times(name, options.rounds, options.durability)
        low, high = interval(taken)
        study, bare = np.median(taken, axis=0) / N / 1000
        worst = max(worst, ratio(taken))
        print(
            f"{name}: study {study:.1f} us an insert, bare {bare:.1f}; "
            f"ratio {ratio(taken):.4f}, 95 % {low:.4f} to {high:.4f} ({len(taken)} pairs of {N})"
        )
    return int(options.check and worst > GOAL)


if __name__ == "__main__":
    sys.exit(main())
