"""The dispatch of a run to several machines: each host gets one block at a time.

A block of a study is measured on one host, so that no comparison is across hosts. The results are
kept as if they had been measured here.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from distributed import Client, Future, Security

from benchbook.cluster import worker
from benchbook.cluster.block import BlockResults
from benchbook.cluster.child_process import HostsError, describe_suite
from benchbook.cluster.worker import NEWS, RESOURCE
from benchbook.grid import Cell
from benchbook.grid.cells import Combination, find_counted_results, read_states
from benchbook.results.folder import open_results
from benchbook.runner.batch import UnwritableError, report_unwritable
from benchbook.runner.interrupts import record_interrupts
from benchbook.runner.noisy_cells import reopen_noisy_cells
from benchbook.runner.progress import Limits, Summary
from benchbook.text.control_characters import escape_controls
from benchbook.text.number_format import format_count, format_duration

StudyBlock: TypeAlias = tuple[int, str]
"""A block of a study: the block's number and the study."""

ANSWER_S: Final = 10.0
"""Seconds that a scheduler may take to answer."""

WORKER_PATIENCE_S: Final = 300.0
"""Seconds that a run waits for a worker when there is none."""

_POLL_S: Final = 0.5
_STOP_S: Final = 40.0
"""Seconds that hosts may take to stop, and to return what is finished."""


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

    Raises `HostsError` when no scheduler answers.
    """
    # The user reads `HostsError` instead.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = Security(require_encryption=scheduler.startswith("tls://"))
    try:
        client = Client(scheduler, security=security, timeout=ANSWER_S, set_as_default=False)
    # Dask raises different types for a wrong address, a firewall and a certificate.
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
    """Sends the blocks of a plan to the hosts of a scheduler, each to one of them.

    Parameters
    ----------
    client
        The scheduler's client.
    request
        The arguments of `benchbook.grid.make_plan`.
    limits
        Of each block. Noisy cells are measured again by their own host.
    records
        The digests of files of documents in this machine's plan, which are not sent.
    """

    def __init__(
        self,
        client: Client,
        request: Sequence[Any],
        limits: Limits,
        records: Collection[str | None] = (),
    ) -> None:
        self.plan: list[Cell] = []
        """The cells of the first host's plan; those that any host had measured before are done."""
        self._client = client
        self._request = request
        self._limits = limits
        self._records = {*records, None}
        self._planning: dict[str, Future[Any]] = {}
        self._hosts: dict[str, Host] = {}
        self._refused: dict[str, str] = {}
        """Workers that are not used, by address: their host if another worker of it is used."""
        self._assigned: set[StudyBlock] = set()
        """Blocks that are being measured, or done."""
        self._begun_by: dict[StudyBlock, str] = {}
        """The name of the host that has measured part of a block."""
        client.subscribe_topic(NEWS, self._print_news)

    def run(self, summary: Summary) -> None:
        """Measure all blocks that are not done.

        An interrupt stops the hosts; the cells that they have finished are kept.
        Raises `HostsError` when no worker can measure, or the scheduler has gone.
        """
        self._summary = summary
        with record_interrupts() as raise_interrupt:
            try:
                self._measure_blocks(raise_interrupt)
            finally:
                self._stop()
                # A host measures a whole block, also one of which another host had measured a part:
                # a cell that was done before and is measured anew counts once.
                for place, cell in enumerate(self.plan):
                    if (cell.combination, cell.block) in self._summary.finished:
                        self.plan[place] = replace(cell, state="todo")

    def _measure_blocks(self, raise_interrupt: Callable[[], None]) -> None:
        """Join new hosts, send blocks and collect them until all are done."""
        alone_since = time.monotonic()
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
            elif time.monotonic() - alone_since > WORKER_PATIENCE_S:
                waited = format_duration(WORKER_PATIENCE_S)
                raise HostsError(f"no worker for {waited}: dask worker starts one")
            time.sleep(_POLL_S)
            self._collect()
            raise_interrupt()

    def _is_finished(self) -> bool:
        """Return whether there are hosts, and every block that they could measure is done."""
        busy = any(host.sent for host in self._hosts.values())
        return bool(self._hosts) and not busy and not self._count_left()

    def _count_left(self) -> int:
        """Return how many of the hosts' blocks are not assigned."""
        return len(set().union(*(host.blocks for host in self._hosts.values())) - self._assigned)

    def _read_addresses(self) -> set[str]:
        """Return the current addresses of the scheduler's workers."""
        try:
            if self._client.status == "running":
                return {*self._client.nthreads()}
        except (OSError, TimeoutError):
            pass
        raise HostsError("the scheduler has gone")

    def _forget_lost(self, addresses: set[str]) -> None:
        """Drop workers that have gone; the block of such a worker is free for others."""
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
            arguments = describe_suite(), *self._request
            self._planning[address] = self._client.submit(worker.plan_cells, *arguments, **only)

    def _join_planned(self) -> None:
        """Join the hosts that have planned, each with one worker."""
        for address in [address for address, plan in self._planning.items() if plan.done()]:
            future = self._planning.pop(address)
            try:
                name, cells = future.result(timeout=ANSWER_S)
            # Another version of benchbook can raise anything, as can a worker without it.
            except Exception as error:
                if future.status == "error":
                    self._refused[address] = ""
                    _print_now(f"refused: the worker at {address}: {error}")
                continue
            if name in self._hosts:
                self._refused[address] = name
                _print_now(f"not used: the worker at {address}: another one measures on {name}")
            elif {cell.records for cell in cells} - self._records:
                self._refused[address] = ""
                _print_now(f"refused: the worker at {address}: its dataset_file has other contents")
            else:
                self._join(Host(address, name), read_states(cells))

    def _join(self, host: Host, cells: list[Cell]) -> None:
        """Join a host, and note which of its blocks any host has done or begun."""
        # Noisy cells count as missing, but their hosts have begun their blocks.
        results_of_others = [
            result
            for result in find_counted_results(cells, host.name)
            if result.host != host.name and result.operations is None
        ]
        noisy: Collection[str] = ()
        if self._limits.repeats_noisy:
            keys = [cell.key for cell in cells] + [result.key for result in results_of_others]
            noisy = open_results().list_noisy_cells(keys)

        # What the host itself has measured.
        begun = {(cell.block, cell.study) for cell in cells if cell.state == "done"}
        cells = [replace(cell, state="todo") if cell.key in noisy else cell for cell in cells]
        for cell in cells:
            host.blocks.setdefault((cell.block, cell.study), []).append(cell)
        for block, own in host.blocks.items():
            if all(cell.state == "done" for cell in own):
                self._assigned.add(block)
            elif block in begun:
                self._begun_by.setdefault(block, host.name)

        # What other hosts have measured.
        measured: dict[tuple[str, StudyBlock], set[Combination]] = {}
        for result in results_of_others:
            block = result.cell.block, result.cell.study
            kinds = measured.setdefault((result.host, block), set())
            if result.key not in noisy:
                kinds.add(result.cell.combination)
        for (name, block), kinds in measured.items():
            if kinds >= {cell.combination for cell in host.blocks[block] if not cell.missing}:
                self._assigned.add(block)
            else:
                self._begun_by.setdefault(block, name)

        # The first host's plan is the run's.
        if not self._hosts and not self.plan:
            done = {
                (result.cell.combination, result.cell.block)
                for result in results_of_others
                if result.key not in noisy
            }
            for cell in cells:
                is_done = (cell.combination, cell.block) in done
                self.plan.append(replace(cell, state="done") if is_done else cell)
        self._hosts[host.name] = host
        _print_now(f"{host.name} joined")

    def _send_block(self, host: Host) -> None:
        """Send a free host the cells of a block that are not done, if there is one for it."""
        block = None if host.sent else self._choose_block(host)
        if block is None:
            return
        cells = read_states(host.blocks[block])
        if self._limits.repeats_noisy:
            cells = reopen_noisy_cells(cells)
        todo = [cell for cell in cells if cell.state != "done"]
        noisy = open_results().list_noisy_cells(cell.key for cell in todo)
        only = {"workers": [host.address], "resources": {RESOURCE: 1}, "pure": False, "retries": 0}
        arguments = describe_suite(), todo, self._limits, noisy
        future = self._client.submit(worker.measure_block, *arguments, **only)
        host.sent = block, future
        self._assigned.add(block)

    def _choose_block(self, host: Host) -> StudyBlock | None:
        """Return a block that the host has begun, else the first that no other host has."""
        others = []
        for block in host.blocks:
            if block in self._assigned:
                continue
            begun_by = self._hosts.get(self._begun_by.get(block, ""))
            if begun_by is host:
                return block
            if begun_by is None or block not in begun_by.blocks:
                others.append(block)
        return others[0] if others else None

    def _collect(self) -> None:
        """Keep the results that hosts have returned."""
        for host in [*self._hosts.values()]:
            if host.sent is None or not host.sent[1].done():
                continue
            # Keep the files.
            try:
                block_results: BlockResults = host.sent[1].result(timeout=ANSWER_S)
                for name, content in block_results.files.items():
                    with report_unwritable():
                        open_results().receive_file(name, content)
            except UnwritableError:
                raise
            # The task's own error, a damaged file, or Dask's error for a lost worker.
            except Exception as error:
                self._drop(host, f"stopped: {error}")
                continue
            # The host is free again.
            block, host.sent = host.sent[0], None
            self._count_results(host, block, block_results)

    def _count_results(self, host: Host, block: StudyBlock, block_results: BlockResults) -> None:
        """Count what a host measured; a block that is incomplete is free again."""
        summary = block_results.summary
        self._summary.add(summary)
        number, study = block
        done, failed = summary.done, len(summary.failed)
        counts = f"{done} done" + (f", {failed} failed" if failed else "")
        # The block is complete.
        if summary.ended_by is None:
            left = format_count(self._count_left(), "block")
            _print_now(
                f"{host.name}: block {number + 1} of {study} finished: {counts}; {left} not begun"
            )
            return
        # It is not: the host that has begun it is preferred for the rest.
        self._assigned.discard(block)
        self._begun_by[block] = host.name
        _print_now(f"{host.name}: block {number + 1} of {study} ended early: {counts}")
        if not isinstance(summary.ended_by, KeyboardInterrupt):
            self._drop(host, f"stopped: {summary.ended_by}")

    def _drop(self, host: Host, reason: str) -> None:
        """Stop using a host, and print which block it did not finish."""
        del self._hosts[host.name]
        # Ask another worker of this host again.
        for address in [other for other, name in self._refused.items() if name == host.name]:
            del self._refused[address]
        self._refused[host.address] = ""
        if host.sent is None:
            _print_now(f"{host.name} {reason}")
            return
        block, future = host.sent
        self._assigned.discard(block)
        _print_now(
            f"{host.name} {reason}; block {block[0] + 1} of {block[1]} is free for another host"
        )
        with suppress(Exception):
            future.cancel()

    def _stop(self) -> None:
        """Stop the hosts, and keep what they have finished."""
        busy = [host for host in self._hosts.values() if host.sent]
        if not busy or self._client.status != "running":
            return
        keys = {str(host.sent[1].key) for host in busy if host.sent}
        _print_now(f"stopping {format_count(len(busy), 'host')}")
        addresses = [host.address for host in busy]
        # A worker may end meanwhile.
        with suppress(OSError, TimeoutError, ValueError):
            self._client.run(worker.stop_tasks, keys, workers=addresses, on_error="ignore")
        # Keep what they return.
        deadline = time.monotonic() + _STOP_S
        while any(host.sent for host in self._hosts.values()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            self._collect()

    def _print_news(self, event: tuple[float, tuple[str, str]]) -> None:
        """Print a line of a task, if it is one of this run."""
        key, line = event[1]
        for host in [*self._hosts.values()]:
            if host.sent and host.sent[1].key == key:
                _print_now(f"{host.name}: {line}")


def _print_now(line: str) -> None:
    print(escape_controls(line), flush=True)
