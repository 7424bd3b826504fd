"""The cost of an adapter's `insert`, `insert_many` and `find` over bare driver code: at most 3 %.

Both work on the same store of the same live server in short blocks that take turns, on 1 KB
comments, kept as the adapter keeps them; `find` goes by an index. Writes wait for the disk as
little as the database lets one choose, so that the adapter's share is as large as it gets. Before
the clock starts, what either stored is read by the other, and must be equal. All run on one
processor: on several, where the scheduler happens to keep a session's thread and its server's makes
it dearer than the other for the whole run, by more than any adapter does.

Run it on an idle machine: ``python benchmarks/adapters.py [DATABASE...]``, half a minute a
database.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle
from time import monotonic, perf_counter_ns
from typing import Any, Final, Self, get_args

import paired
from bare import BARE, Bare, open_bare
from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter, Durability
from benchbook.datasets import blog
from benchbook.servers import launcher
from benchbook.servers.deployment import Deployment
from benchbook.servers.programs import MissingServer
from benchbook.studies.cell_database import call_each

GOAL: Final = 1.03
"""Largest ratio, adapter's over bare."""

DATA: Final = blog.generate_comments(8000, 20150501, per_article=10)
SIZES: Final = {"insert": 20, "insert_many": 200, "find": 10}
"""Records that a block inserts, or values that it finds: few, to collect little garbage."""

WARM: Final = 4
"""Pairs that do not count."""


def split_blocks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def find_each(adapter: Adapter, field: str, values: Sequence[str]) -> list[Sequence[Any]]:
    find = adapter.find
    return [find(field, value) for value in values]


def time_arm(action: Callable[[Sequence[Any]], object]) -> paired.Arm:
    """Return an action that returns its time in ns."""

    def arm(items: Sequence[Any]) -> int:
        started = perf_counter_ns()
        action(items)
        return perf_counter_ns() - started

    return arm


@dataclass(frozen=True)
class Contest:
    """An adapter and bare code; a third session empties the database, so that both do the same."""

    adapter: Adapter
    emptier: Adapter
    bare: Bare

    @classmethod
    def open(cls, name: str, deployment: Deployment, durability: str, closing: ExitStack) -> Self:
        """Open all three, each with an index on what is looked for."""
        index = () if BARE[name].seeks == "_id" else (BARE[name].seeks,)
        settings: dict[str, Any] = {"durability": durability, "index": index}
        open_ = partial(catalogue.open_adapter, name, deployment, **settings)
        adapter, emptier = closing.enter_context(open_()), closing.enter_context(open_())
        adapter.create(DATA.schema, parents=DATA.parents)
        return cls(adapter, emptier, closing.enter_context(open_bare(name, deployment, durability)))

    def empty(self) -> None:
        """Make the store anew."""
        self.emptier.create(DATA.schema, parents=DATA.parents)

    def arms(self, verb: str) -> tuple[paired.Arm, paired.Arm]:
        """Return the adapter's and the bare way."""
        actions: dict[str, Callable[[Sequence[Any]], object]] = {
            "insert": partial(call_each, self.adapter.insert),
            "insert_many": self.adapter.insert_many,
            "find": partial(find_each, self.adapter, self.bare.seeks),
        }
        return time_arm(actions[verb]), time_arm(getattr(self.bare, verb))

    def work(self, verb: str) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        """Yield pairs of blocks without end: the same values to find, or different records."""
        if verb == "find":
            self.empty()
            self.emptier.insert_many(DATA.records)
            values = list(dict.fromkeys(record[self.bare.seeks] for record in DATA.records))
            yield from ((block, block) for block in cycle(split_blocks(values, SIZES[verb])))
        while True:
            self.empty()
            waiting = iter(split_blocks(DATA.records, SIZES[verb]))
            yield from zip(waiting, waiting, strict=True)

    def check(self) -> None:
        """Raise unless each reads all records that both have stored, unchanged."""
        self.empty()
        first, second, third, last = split_blocks(DATA.records[:80], 20)
        self.bare.insert(first)
        self.bare.insert_many(second)
        call_each(self.adapter.insert, third)
        self.adapter.insert_many(last)
        stored = {record["_id"]: record for record in DATA.records[:80]}
        values = list(dict.fromkeys(record[self.bare.seeks] for record in stored.values()))
        for answers in (find_each(self.adapter, self.bare.seeks, values), self.bare.find(values)):
            plain = map(self.bare.plain, chain.from_iterable(answers))
            if {record["_id"]: record for record in plain} != stored:
                raise AssertionError(f"{self.adapter.name}: what was read is not what was stored")


def compare_pairs(contest: Contest, verb: str, seconds: float) -> paired.Times:
    """Return the times of as many pairs as there is time for."""
    times: paired.Times = []
    begun = monotonic()
    for number, pair in enumerate(contest.work(verb)):
        times += paired.take_pairs(*contest.arms(verb), iter(pair), 1, swapped=number % 2 == 1)
        if number > WARM and monotonic() - begun > seconds:
            break
    return times[WARM:]


def find_least_durability(name: str, deployment: Deployment) -> str:
    """Return the durability that waits for the disk the least."""
    adapter = catalogue.load_adapter(name)
    return "default" if "durability" in adapter.limitations else "relaxed"


def compare_verbs(
    name: str, verbs: Sequence[str], seconds: float, durability: str | None
) -> Iterator[paired.Ratio]:
    """Compare a database's verbs, say what came of it, and yield the ratios."""
    with ExitStack() as closing:
        deployment = closing.enter_context(launcher.open_deployment(name, "single"))
        durability = durability or find_least_durability(name, deployment)
        contest = Contest.open(name, deployment, durability, closing)
        contest.check()
        node = deployment.node()
        print(
            f"{name} ({deployment.product} {node.version}, {contest.adapter.driver}), durability"
            f" {durability}:"
        )
        for verb in verbs:
            size = SIZES[verb]
            times = compare_pairs(contest, verb, seconds)
            ratio = paired.ratio(times)
            adapter, bare = (block / size / 1000 for block in paired.medians_ns(times))
            print(
                f"  {verb}: {adapter:.1f} us, bare {bare:.1f}; {ratio}; goal {GOAL}"
                f" {ratio.verdict(GOAL)}",
                flush=True,
            )
            yield ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "databases", nargs="*", help=f"of {', '.join(BARE)} (default: all that are here)"
    )
    parser.add_argument("--verbs", nargs="+", choices=[*SIZES], default=[*SIZES])
    parser.add_argument("--seconds", type=float, default=10.0, help="for each verb of a database")
    parser.add_argument(
        "--durability", choices=get_args(Durability), help="default: the least there is"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a goal is missed")
    options = parser.parse_args()
    unknown = set(options.databases) - set(BARE)
    if unknown:
        parser.error(f"no such database: {', '.join(unknown)}")
    missed = False
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the servers inherit it
    for name in options.databases or BARE:
        server = launcher.find_server(launcher.name_product(name))
        if isinstance(server, MissingServer):
            print(f"{name}: {server.why}")
            continue
        for ratio in compare_verbs(name, options.verbs, options.seconds, options.durability):
            missed |= ratio.verdict(GOAL) == "missed"
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
