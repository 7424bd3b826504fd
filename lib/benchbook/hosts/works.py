"""Which block goes to which host: a plan's blocks shared among them, or each host until it has decided.

Every block of a study is measured on one host, so that no contrast crosses hosts.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from typing_extensions import override

from benchbook import evidence, results
from benchbook.grid import Cell, Kind, elsewhere, in_their_states
from benchbook.hosts.dispatch import Host, Work
from benchbook.hosts.orders import Delivery, StudyBlock
from benchbook.runner.progress import Progress
from benchbook.runner.rounds import Costs, Look, Rounds, sitting
from benchbook.runner.standing import Standing


def as_anywhere(cell: Cell) -> tuple[Kind, int]:
    """Return what a cell in a block is on any host."""
    return cell.kind, cell.block


class Shared(Work):
    """The blocks of a plan, each on the host that is free for it; one that a host has begun, it goes on with."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._hosts: set[Host] = set()
        self._taken: set[StudyBlock] = set()
        """What is on its way, or done."""
        self._begun: dict[StudyBlock, str] = {}
        """Which host has measured some of a block, and goes on with it."""
        self._done: dict[str, set[int]] = {}
        """In which blocks a cell is done, by its identity."""
        self.plan: list[Cell] = []
        """The cells of the first host's plan, of which those that any host has measured are done."""

    @override
    def joined(self, host: Host) -> None:
        if not self.plan:
            self._begin(host)
        self._hosts.add(host)
        for cell in host.plan.kinds:
            for block in self._done.get(cell.identity, ()):
                self._begun.setdefault((block, cell.study), host.name)

    @override
    def left(self, host: Host) -> None:
        """Note that a host has gone: what it has begun is anybody's."""
        self._hosts.discard(host)
        names = {remaining.name for remaining in self._hosts}
        self._begun = {part: name for part, name in self._begun.items() if name in names}

    @override
    def next(self, host: Host) -> Sequence[Cell]:
        """Return what is left of a block: of one that this host has begun, else of the first that nobody has."""
        free = [part for part in host.plan.parts if part not in self._taken]
        free = [part for part in free if self._begun.get(part, host.name) == host.name]
        for part in sorted(free, key=lambda part: (part not in self._begun, part[0])):
            self._taken.add(part)
            if left := [cell for cell in host.plan.cells(part) if cell.block not in self._done.get(cell.identity, ())]:
                return left
        return []

    @override
    def returned(self, host: Host, cells: Sequence[Cell], delivery: Delivery | None) -> None:
        """Note what became of a block: what was not run to its end is another's."""
        if delivery is None or delivery.ended:
            part = cells[0].block, cells[0].study
            self._taken.discard(part)
            for cell in in_their_states(cells):
                if cell.state == "done":
                    self._done.setdefault(cell.identity, set()).add(cell.block)
                    self._begun[part] = host.name

    @override
    def finished(self, hosts: Iterable[Host]) -> bool:
        """Return whether every block that these hosts could measure is taken or done."""
        return all(part in self._taken for host in hosts for part in host.plan.parts)

    def _begin(self, host: Host) -> None:
        """Note what has been done of the plan, by whomever."""
        cells = host.plan.cells()
        for study in {cell.study for cell in cells}:
            for key, state in results.states(study).items():
                identity, _, block = key.partition(".")
                if state == "done":
                    self._done.setdefault(identity, set()).add(int(block))
        on_host: dict[str, set[tuple[Kind, int]]] = {}
        for result in elsewhere(cells, host.name):
            on_host.setdefault(result.host, set()).add(as_anywhere(result.cell))
        for part in host.plan.parts if on_host else ():
            wanted = {as_anywhere(cell) for cell in host.plan.cells(part) if not cell.missing}
            if any(wanted <= measured for measured in on_host.values()):
                self._taken.add(part)
        for cell in cells:
            measured = cell.block in self._done.get(cell.identity, ())
            if measured or ((cell.block, cell.study) in self._taken and not cell.missing):
                cell = replace(cell, state="done")
            self.plan.append(cell)
        self._progress.expect(self.plan)


class UntilDecided(Work):
    """Round after round on each host, until what it can decide is decided there, as `look` judges its cells."""

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

    @override
    def joined(self, host: Host) -> None:
        """Note that a host has come; a second worker on it shares its rounds."""
        if host.name not in self._machines:
            plan = in_their_states(host.plan.cells())
            means = evidence.stored_means(cell.key for cell in plan)
            rounds = Rounds(plan, Costs(self._known), means, sitting(means))
            self._machines[host.name] = machine = _Machine(rounds, rounds.rounds(self._look(plan), self._left_s))
            self._draw(machine)

    @override
    def left(self, host: Host) -> None:
        """Note that a host has gone: when it comes again, it goes on."""

    @override
    def next(self, host: Host) -> Sequence[Cell]:
        """Return a study's cells of the host's round."""
        waiting = self._machines[host.name].waiting
        return waiting.pop(0) if waiting else []

    @override
    def returned(self, host: Host, cells: Sequence[Cell], delivery: Delivery | None) -> None:
        """Note what became of a part of the round; the last one begins the next round."""
        machine = self._machines[host.name]
        broken_off = delivery is None or delivery.ended
        if broken_off and (left := [cell for cell in in_their_states(cells) if cell.state != "done"]):
            machine.waiting.append(left)
            return
        machine.running -= 1
        machine.failed += [failure.cell for failure in delivery.summary.failed] if delivery else []
        if not machine.running:
            self._draw(machine)

    @override
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
        study = attrgetter("study")
        machine.waiting = [list(of_study) for _, of_study in groupby(sorted(cells, key=study), study)]
        machine.running = len(machine.waiting)
        self._progress.expect(cells)


@dataclass
class _Machine:
    """One host's rounds, and what of the present one waits for its turn."""

    plan: Rounds
    rounds: Generator[list[Cell], Iterable[Cell], Sequence[Standing]]
    begun: bool = False
    waiting: list[list[Cell]] = field(default_factory=list)
    running: int = 0  # parts of the round that have not come back
    failed: list[Cell] = field(default_factory=list)
    standings: Sequence[Standing] | None = None
