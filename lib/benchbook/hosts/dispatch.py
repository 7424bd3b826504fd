"""A run on several machines: each host gets one block at a time, and the results are kept here.

A block of a study is measured on one host, so that no comparison crosses hosts.
"""

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from distributed import Client, Future, Security

from benchbook import grid
from benchbook.digits import duration, plural
from benchbook.grid import Cell, Kind
from benchbook.hosts import HostsError, describe_suite, worker
from benchbook.hosts.worker import NEWS, RESOURCE, STOPPED, Delivery
from benchbook.results.folder import keep
from benchbook.runner.progress import Summary
from benchbook.runner.run_folder import UnwritableError, writing

StudyBlock: TypeAlias = tuple[int, str]
"""A block of a study."""

ANSWER_S: Final = 10.0
"""How long a scheduler may take to answer."""

PATIENCE_S: Final = 300.0
"""How long a run waits for a worker when there is none."""

_GLANCE_S: Final = 0.5
_STOPPING_S: Final = 40.0
"""How long hosts may take to stop what they measure and deliver what is finished."""


@dataclass(eq=False)
class Host:
    """A machine that measures, by one of its workers."""

    address: str  # of the worker
    name: str  # in the results
    blocks: dict[StudyBlock, list[Cell]] = field(default_factory=dict)
    sent: tuple[StudyBlock, "Future[Any]"] | None = None  # the block that it measures


@contextmanager
def connect(scheduler: str) -> Iterator[Client]:
    """Yield a client of the scheduler, with the certificates that Dask's own configuration names.

    Raises `HostsError` when none answers.
    """
    # A person reads `HostsError` instead.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = Security(require_encryption=scheduler.startswith("tls://"))
    try:
        client = Client(scheduler, security=security, timeout=ANSWER_S, set_as_default=False)
    # A wrong address, a firewall, a certificate: Dask raises different types.
    except Exception as error:
        advice = "Dask's configuration names its certificates, in distributed.comm.tls"
        if not security.require_encryption:
            advice = "dask scheduler starts one"
        raise HostsError(f"no scheduler answers at {scheduler}: {error}: {advice}") from error
    try:
        yield client
    finally:
        # The scheduler may have gone.
        with suppress(Exception):
            client.close(timeout=2)


class Dispatch:
    """The blocks of a plan, each measured on one of the hosts behind a scheduler.

    Parameters
    ----------
    client
        Of the scheduler.
    asked
        The arguments of `benchbook.grid.plan`.
    limits
        Seconds until a cell is given up, and seconds to wait for a quiet machine (None: do not).
    records
        The digests of files of documents in this machine's plan, which are not sent.
    """

    def __init__(
        self,
        client: Client,
        asked: Sequence[Any],
        limits: tuple[float, float | None],
        records: Collection[str | None] = (),
    ) -> None:
        self.plan: list[Cell] = []
        """The cells of the first host's plan; those that any host has measured are done."""
        self._client = client
        self._asked = asked
        self._limits = limits
        self._records = {*records, None}
        self._planning: dict[str, Future[Any]] = {}
        self._hosts: dict[str, Host] = {}
        self._refused: dict[str, str] = {}
        """Workers that are not used, by address: the host that another worker is of, or empty."""
        self._taken: set[StudyBlock] = set()
        """Blocks that are being measured, or done."""
        self._begun: dict[StudyBlock, str] = {}
        """The host that has measured part of a block."""
        client.subscribe_topic(NEWS, self._print_news)

    def run(self, summary: Summary) -> None:
        """Have every block measured that is not done.

        An interrupt stops the hosts, and keeps the cells that they have finished.
        Raises `HostsError` when no worker can measure, or the scheduler has gone.
        """
        self._summary = summary
        alone_since = time.monotonic()
        try:
            while not self._is_finished():
                addresses = self._read_addresses()
                self._forget_lost(addresses)
                self._ask_new(addresses)
                self._join_planned()
                for host in self._hosts.values():
                    self._send_block(host)
                # Without a host there is nothing to wait for but another worker.
                if self._hosts or self._planning:
                    alone_since = time.monotonic()
                elif addresses and addresses <= self._refused.keys():
                    raise HostsError("no worker of the scheduler can measure")
                elif time.monotonic() - alone_since > PATIENCE_S:
                    waited = duration(PATIENCE_S)
                    raise HostsError(f"no worker for {waited}: dask worker starts one")
                time.sleep(_GLANCE_S)
                self._collect()
        finally:
            self._stop()

    def _is_finished(self) -> bool:
        """Return whether there are hosts, and every block that they could measure is done."""
        busy = any(host.sent for host in self._hosts.values())
        return bool(self._hosts) and not busy and not self._count_left()

    def _count_left(self) -> int:
        """Return how many blocks of the hosts nobody has taken."""
        return len(set().union(*(host.blocks for host in self._hosts.values())) - self._taken)

    def _read_addresses(self) -> set[str]:
        """Return the addresses of the scheduler's workers now."""
        try:
            if self._client.status == "running":
                return {*self._client.nthreads()}
        except (OSError, TimeoutError):
            pass
        raise HostsError("the scheduler has gone")

    def _forget_lost(self, addresses: set[str]) -> None:
        """Let go of workers that have gone: a block that one measured is free for others."""
        for host in [host for host in self._hosts.values() if host.address not in addresses]:
            self._drop(host, "was lost")
        for address in self._planning.keys() - addresses:
            del self._planning[address]
        for address in self._refused.keys() - addresses:
            del self._refused[address]

    def _ask_new(self, addresses: set[str]) -> None:
        """Ask each new worker for its host's plan."""
        known = {host.address for host in self._hosts.values()} | self._refused.keys()
        for address in sorted(addresses - known - self._planning.keys()):
            only = {"workers": [address], "pure": False, "retries": 0}
            arguments = describe_suite(), *self._asked
            self._planning[address] = self._client.submit(worker.plan_cells, *arguments, **only)

    def _join_planned(self) -> None:
        """Take in the hosts that have planned, one worker of each."""
        for address in [address for address, plan in self._planning.items() if plan.done()]:
            future = self._planning.pop(address)
            try:
                name, cells = future.result(timeout=ANSWER_S)
            # Whatever another benchbook, or none, makes of the task.
            except Exception as error:
                if future.status == "error":
                    self._refused[address] = ""
                    _say(f"refused: the worker at {address}: {error}")
                continue
            if name in self._hosts:
                self._refused[address] = name
                _say(f"not used: the worker at {address}: another one measures on {name}")
            elif {cell.records for cell in cells} - self._records:
                self._refused[address] = ""
                _say(f"refused: the worker at {address}: its dataset_file has other contents")
            else:
                self._join(Host(address, name), grid.in_their_states(cells))

    def _join(self, host: Host, cells: list[Cell]) -> None:
        """Take in a host, and note which of its blocks any host has done or begun."""
        for cell in cells:
            host.blocks.setdefault((cell.block, cell.study), []).append(cell)
        for block, own in host.blocks.items():
            if all(cell.state == "done" for cell in own):
                self._taken.add(block)
            elif any(cell.state == "done" for cell in own):
                self._begun.setdefault(block, host.name)
        measured: dict[tuple[str, StudyBlock], set[Kind]] = {}
        for result in grid.elsewhere(cells, host.name):
            block = result.cell.block, result.cell.study
            measured.setdefault((result.host, block), set()).add(result.cell.kind)
        for (name, block), kinds in measured.items():
            if kinds >= {cell.kind for cell in host.blocks[block] if not cell.missing}:
                self._taken.add(block)
            else:
                self._begun.setdefault(block, name)
        if not self._hosts and not self.plan:
            for cell in cells:
                done = (cell.block, cell.study) in self._taken and not cell.missing
                self.plan.append(replace(cell, state="done") if done else cell)
        self._hosts[host.name] = host
        _say(f"{host.name} takes part")

    def _send_block(self, host: Host) -> None:
        """Send a free host the cells of a block that are not done, if there is one for it."""
        block = None if host.sent else self._choose_block(host)
        if block is None:
            return
        cells = grid.in_their_states(host.blocks[block])
        todo = [cell for cell in cells if cell.state != "done"]
        only = {"workers": [host.address], "resources": {RESOURCE: 1}, "pure": False, "retries": 0}
        arguments = describe_suite(), todo, *self._limits
        future = self._client.submit(worker.measure_block, *arguments, **only)
        host.sent = block, future
        self._taken.add(block)

    def _choose_block(self, host: Host) -> StudyBlock | None:
        """Return a block that the host has begun, else the first that no other host has."""
        others = []
        for block in host.blocks:
            if block in self._taken:
                continue
            begun_by = self._hosts.get(self._begun.get(block, ""))
            if begun_by is host:
                return block
            if begun_by is None or block not in begun_by.blocks:
                others.append(block)
        return others[0] if others else None

    def _collect(self) -> None:
        """Keep what hosts have delivered."""
        for host in [*self._hosts.values()]:
            if host.sent is None or not host.sent[1].done():
                continue
            try:
                delivery: Delivery = host.sent[1].result(timeout=ANSWER_S)
                for name, content in delivery.files.items():
                    with writing():
                        keep(name, content)
            except UnwritableError:
                raise
            # The task's own error, a damaged file, or what Dask makes of a lost worker.
            except Exception as error:
                self._drop(host, f"measures no more: {error}")
                continue
            block, host.sent = host.sent[0], None
            self._take_delivery(host, block, delivery)

    def _take_delivery(self, host: Host, block: StudyBlock, delivery: Delivery) -> None:
        """Count what a host delivered; a block that ended early is free again."""
        self._summary.add(delivery.summary)
        number, study = block
        done, failed = delivery.summary.done, len(delivery.summary.failed)
        counts = f"{done} done" + (f", {failed} failed" if failed else "")
        if delivery.ended is None:
            left = plural(self._count_left(), "block")
            _say(f"{host.name}: block {number + 1} of {study} is here: {counts}; {left} not begun")
            return
        self._taken.discard(block)
        self._begun[block] = host.name
        _say(f"{host.name}: block {number + 1} of {study} ended early: {counts}")
        if delivery.ended != STOPPED:
            self._drop(host, f"measures no more: {delivery.ended}")

    def _drop(self, host: Host, why: str) -> None:
        """Use a host no longer, and say which block it did not deliver."""
        del self._hosts[host.name]
        # Another worker of this host is asked anew.
        for address in [other for other, name in self._refused.items() if name == host.name]:
            del self._refused[address]
        self._refused[host.address] = ""
        if host.sent is None:
            _say(f"{host.name} {why}")
            return
        block, future = host.sent
        self._taken.discard(block)
        _say(f"{host.name} {why}; block {block[0] + 1} of {block[1]} is free for another host")
        with suppress(Exception):
            future.cancel()

    def _stop(self) -> None:
        """Have the hosts stop, and keep what they have finished."""
        busy = [host for host in self._hosts.values() if host.sent]
        if not busy or self._client.status != "running":
            return
        keys = {str(host.sent[1].key) for host in busy if host.sent}
        _say(f"stopping {plural(len(busy), 'host')}")
        addresses = [host.address for host in busy]
        # One of them may go meanwhile.
        with suppress(OSError, TimeoutError, ValueError):
            self._client.run(worker.stop_tasks, keys, workers=addresses, on_error="ignore")
        deadline = time.monotonic() + _STOPPING_S
        while any(host.sent for host in self._hosts.values()) and time.monotonic() < deadline:
            time.sleep(_GLANCE_S)
            self._collect()

    def _print_news(self, event: tuple[float, tuple[str, str]]) -> None:
        """Print a line of a task, if it is one of this run."""
        key, line = event[1]
        for host in [*self._hosts.values()]:
            if host.sent and host.sent[1].key == key:
                _say(f"{host.name}: {line}")


def _say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)
