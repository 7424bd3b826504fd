"""Which block goes to which host: a plan's blocks shared among them, or each host until it has decided.

Every block of a study is measured on one host, so that no contrast crosses hosts.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from benchbook import results
from benchbook.grid import Cell, elsewhere
from benchbook.hosts.lab import Host
from benchbook.hosts.orders import Delivery
from benchbook.runner.costs import Costs
from benchbook.runner.progress import Progress
from benchbook.runner.readings import Kind
from benchbook.runner.rounds import Look, Rounds
from benchbook.runner.standing import Standing

Part: TypeAlias = tuple[int, str]
"""A block of a study."""


def as_anywhere(cell: Cell) -> tuple[Kind, int]:
    """Return what a cell in a block is on any host."""
    return cell.kind, cell.block


class Shared:
    """The blocks of a plan, each on the host that is free for it; one that a host has begun, it goes on with."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._taken: set[Part] = set()
        self._begun: dict[Part, str] = {}
        """Which host has measured some of a block, and goes on with it."""
        self._plans: dict[Host, dict[Part, list[Cell]]] = {}
        self.plan: list[Cell] = []
        """The cells of the first host's plan, of which those that any host has measured are done."""

    def joined(self, host: Host) -> None:
        """Note that a host has come, with its plan."""
        known = _states(host.plan)
        others = [] if self.plan else elsewhere(host.plan, host.name)
        self._plans[host] = parts = dict[Part, list[Cell]]()
        for cell in host.plan:
            parts.setdefault((cell.block, cell.study), []).append(cell)
        for part in parts:
            self._note(host, part, known)
        if not self.plan:
            whole = {one.host: set[tuple[Kind, int]]() for one in others}
            for one in others:
                whole[one.host].add(as_anywhere(one.cell))
            for part, cells in parts.items():
                wanted = {as_anywhere(cell) for cell in cells if not cell.missing}
                if any(wanted <= done for done in whole.values()):
                    self._taken.add(part)
            self.plan = [
                replace(cell, state="done") if part in self._taken and not cell.missing else cell
                for part, cells in parts.items()
                for cell in cells
            ]
            self._progress.expect(self.plan)

    def left(self, host: Host) -> None:
        """Note that a host has gone: what it has begun is anybody's."""
        del self._plans[host]
        there = {one.name for one in self._plans}
        self._begun = {part: name for part, name in self._begun.items() if name in there}

    def next(self, host: Host) -> Sequence[Cell]:
        """Return what is left of a block: of one that this host has begun, else of the first that nobody has."""
        parts = self._plans[host]
        free = (part for part in parts if part not in self._taken and self._begun.get(part, host.name) == host.name)
        for part in sorted(free, key=lambda one: (one not in self._begun, one[0])):
            if left := [cell for cell in parts[part] if cell.state != "done"]:
                self._taken.add(part)
                return left
        return []

    def returned(self, host: Host, cells: Sequence[Cell], delivery: Delivery | None) -> None:
        """Note what became of a block: what was not run to its end is another's."""
        if delivery is None or delivery.ended:
            self._taken.discard((cells[0].block, cells[0].study))
            self._note(host, (cells[0].block, cells[0].study), _states(cells))

    def finished(self, hosts: Iterable[Host]) -> bool:
        """Return whether every block that these hosts could measure is taken or done."""
        return all(
            part in self._taken or all(cell.state == "done" for cell in cells)
            for host in hosts
            for part, cells in self._plans[host].items()
        )

    def _note(self, host: Host, part: Part, known: Mapping[str, results.State]) -> None:
        """Note what is done of a block on a host."""
        cells = [replace(cell, state=known.get(cell.key, cell.state)) for cell in self._plans[host][part]]
        self._plans[host][part] = cells
        if any(cell.state == "done" for cell in cells):
            self._begun.setdefault(part, host.name)


class UntilDecided:
    """Round after round on each host, until what it can decide is decided there.

    Parameters
    ----------
    look
        Returns what judges a host's cells.
    left_s
        Seconds that are left of the budget.
    known
        How long cells took.
    """

    def __init__(
        self,
        progress: Progress,
        look: Callable[[Sequence[Cell]], Look],
        left_s: Callable[[], float],
        known: Mapping[Kind, float],
    ) -> None:
        self._progress = progress
        self._look = look
        self._left_s = left_s
        self._known = dict(known)
        self._machines: dict[str, _Machine] = {}

    def joined(self, host: Host) -> None:
        """Note that a host has come; a second worker on it shares its rounds."""
        if host.name not in self._machines:
            known = _states(host.plan)
            plan = [replace(cell, state=known.get(cell.key, "todo")) for cell in host.plan]
            rounds = Rounds(plan, Costs(self._known))
            self._machines[host.name] = machine = _Machine(rounds, rounds.rounds(self._look(plan), self._left_s))
            self._draw(machine)

    def left(self, host: Host) -> None:
        """Note that a host has gone: when it comes again, it goes on."""

    def next(self, host: Host) -> Sequence[Cell]:
        """Return a study's cells of the host's round."""
        waiting = self._machines[host.name].waiting
        return waiting.pop(0) if waiting else []

    def returned(self, host: Host, cells: Sequence[Cell], delivery: Delivery | None) -> None:
        """Note what became of a part of the round; the last one begins the next round."""
        machine = self._machines[host.name]
        if delivery is None or delivery.ended:
            known = _states(cells)
            machine.waiting.append([cell for cell in cells if known.get(cell.key) != "done"])
            return
        machine.running -= 1
        machine.failed += [failure.cell for failure in delivery.summary.failed]
        if not machine.running:
            self._draw(machine)

    def finished(self, hosts: Iterable[Host]) -> bool:
        """Return whether all of these have decided what they can."""
        return all(self._machines[host.name].standings is not None for host in hosts)

    @property
    def standings(self) -> Iterator[tuple[str, Sequence[Standing], Rounds]]:
        """Where the claims stand on each host that has ended, and what would be ahead."""
        for name, machine in self._machines.items():
            if machine.standings is not None:
                yield name, machine.standings, machine.plan

    def _draw(self, machine: "_Machine") -> None:
        """Begin the machine's next round."""
        try:
            cells = machine.rounds.send(machine.failed) if machine.begun else next(machine.rounds)
        except StopIteration as end:
            machine.standings = end.value
            return
        machine.begun, machine.failed = True, []
        machine.waiting = [list(some) for _, some in groupby(sorted(cells, key=_study), _study)]
        machine.running = len(machine.waiting)
        self._progress.expect(cells)


class _Machine:
    """One host's rounds, and what of the present one waits for its turn."""

    def __init__(self, plan: Rounds, rounds: Generator[list[Cell], Iterable[Cell], Sequence[Standing]]) -> None:
        self.plan, self.rounds = plan, rounds
        self.begun = False
        self.waiting: list[list[Cell]] = []
        self.running = 0  # parts of the round that have not come back
        self.failed: list[Cell] = []
        self.standings: Sequence[Standing] | None = None


def _states(cells: Iterable[Cell]) -> dict[str, results.State]:
    known: dict[str, results.State] = {}
    for study in {cell.study for cell in cells}:
        known |= results.states(study)
    return known


def _study(cell: Cell) -> str:
    return cell.study
