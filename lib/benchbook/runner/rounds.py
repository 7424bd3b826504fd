"""A run that stops when it has decided: block by block the cells that open claims read, the claims judged at each look.

Looks and their intervals are those of `benchbook.stats.sequential`, so that to stop at one of them errs no more often
than to run all blocks. Nothing is kept beside the results: what is open follows from them, and so a run that was ended
goes on where it was. How long cells take is known of those of the same parameters that ran here, else estimated from
the committed reference run.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, TypeAlias

import pandas as pd
from pydantic import ValidationError

from benchbook import paths, studies
from benchbook.digits import duration
from benchbook.evidence.means import drop_former_parameters
from benchbook.evidence.reference import MEANS
from benchbook.grid import Cell, Kind, Place
from benchbook.results import TIMES
from benchbook.runner.progress import Durations
from benchbook.runner.run_folder import PAUSE_S
from benchbook.runner.standing import Standing
from benchbook.schemas import Document
from benchbook.stats.sequential import LOOKS

Look: TypeAlias = Callable[[], Sequence[Standing]]
"""Judges what has been measured so far."""

Execute: TypeAlias = Callable[[Sequence[Cell]], Iterable[Cell]]
"""Runs cells in their order and returns those that failed."""

GIVEN_UP: Final = 2
"""In how many blocks of one run a cell fails until its contrasts are left alone."""

START_S: Final = {"python": 1.0, "node": 3.0, "java": 4.0}
"""Seconds of a cell beside its repetitions, on each lane: medians of the reference run."""

_SIZES: Final = ("n", "repetitions")
"""Parameters that a cell's time grows with."""


@dataclass(frozen=True)
class Cost:
    """What some cells take together."""

    seconds: float
    cells: int
    estimated: int  # how many of them were not measured here
    unknown: int  # and how many the seconds leave out, for nothing like them was ever measured

    @property
    def about(self) -> str:
        """The time in words."""
        return f"{'more than' if self.unknown else 'about'} {duration(self.seconds)}"

    @property
    def words(self) -> str:
        """The time in words, with where it is from."""
        parts = [f"{self.cells - self.estimated - self.unknown} measured here"]
        parts += [f"{self.estimated} estimated from the reference run"] if self.estimated else []
        parts += [f"{self.unknown} unknown"] if self.unknown else []
        return f"{self.about} ({', '.join(parts)})"


class Costs:
    """Seconds of cells by their kind: what they took here, as `benchbook.results.seconds` has it, or an estimate."""

    def __init__(self, known: Durations) -> None:
        self._known = dict(known)
        self._reference = _committed()
        self._estimates: dict[Kind, float | None] = {}

    def of(self, kinds: Iterable[Kind]) -> Cost:
        """Return what cells take together."""
        cells = list(kinds)
        seconds = [self._known.get(kind, self.estimate(kind)) for kind in cells]
        known = sum(kind in self._known for kind in cells)
        estimates = [estimate for estimate in seconds if estimate is not None]
        return Cost(sum(estimates), len(cells), len(estimates) - known, len(cells) - len(estimates))

    def estimate(self, kind: Kind) -> float | None:
        """Return the seconds of a cell as its nearest in the reference run took, at its number of records and passes.

        The nearest is that of the same study with the fewest other parameters; None when there is none.
        """
        if kind not in self._estimates:
            own = json.loads(kind[1])

            def distance(cell: tuple[Document, float]) -> tuple[int, float]:
                other, _ = cell
                unlike = sum(own[name] != other.get(name) for name in own if name not in (*_SIZES, "arm", "seed"))
                return unlike, abs(own.get("n", 1) - other.get("n", 1))

            self._estimates[kind] = None
            if near := self._reference.get(kind[0]):
                other, seconds = min(near, key=distance)
                scale = 1.0
                for name in _SIZES:
                    scale *= own.get(name, 1) / other.get(name, 1)
                self._estimates[kind] = START_S[own["lane"]] + scale * seconds
        return self._estimates[kind]


def sitting(means: pd.DataFrame) -> str:
    """Return the campaign that what runs now belongs to, of the block means that are there; empty when it begins one.

    It is that of what was measured within the hour.
    """
    now = means[means["last_started_at"] >= datetime.now(UTC) - timedelta(seconds=PAUSE_S)]
    return str(now["campaign"].iloc[now["last_started_at"].argmax()]) if len(now) else ""


class Rounds:
    """What a run until all is decided does next, of a plan's cells of all blocks.

    The sides of a contrast share a block when they ran in it in one campaign. One that an earlier campaign left half
    done can be shared no more: later ones take its place.

    Parameters
    ----------
    plan
        The cells of all blocks.
    costs
        What they take.
    means
        Block means of what is done of them, as `benchbook.evidence.stored_means` returns them.
    sitting
        The campaign to which a cell would belong that ran now, as `sitting` has it.
    """

    def __init__(self, plan: Sequence[Cell], costs: Costs, means: pd.DataFrame, sitting: str) -> None:
        self._costs = costs
        self._blocks: dict[int, dict[Kind, Cell]] = {}
        for cell in plan:
            if not cell.missing:
                self._blocks.setdefault(cell.block, {})[cell.kind] = cell
        ran = means.drop_duplicates(["cell_id", "block"])
        ran_in = dict(zip(ran["cell_id"] + "." + ran["block"].astype(str), ran["campaign"], strict=True))
        self._done: dict[tuple[Kind, int], str] = {}  # the campaign of each finished cell; of those of this sitting ""
        for cell in plan:
            if cell.state == "done":
                campaign = ran_in.get(cell.key, "")
                self._done[cell.kind, cell.block] = "" if campaign == sitting else campaign
        self._failures: Counter[Kind] = Counter()

    def run(self, look: Look, execute: Execute, left_s: Callable[[], float]) -> Sequence[Standing]:
        """Run round after round while seconds are left of the budget; return where the claims stand at the end.

        To `execute` a round's cells may end before all of them when time is up.
        """
        now, judged = look(), True
        for block in sorted(self._blocks):
            if not judged and (any(standing.day for standing in now) or self._reaches_a_look(now, block)):
                now, judged = look(), True
            cells = self.round(now, block, left_s()) if left_s() > 0 else []
            if cells:
                failed = {cell.kind for cell in execute(cells)}
                self._failures.update(failed)
                self._done |= {(cell.kind, block): "" for cell in cells if cell.kind not in failed}
                judged = False
        return now if judged else look()

    def _reaches_a_look(self, now: Sequence[Standing], block: int) -> bool:
        """Return whether the block before this one brought an open contrast to a look."""
        contrasts = {reading.cells for standing in now for reading in standing.open}
        return any(self._shares(cells, block - 1) and self._shared(cells) in LOOKS for cells in contrasts)

    def ahead(self, now: Sequence[Standing], until: Callable[[Standing], int]) -> Cost:
        """Return what the cells take that open claims lack, of each claim until its contrasts share so many blocks."""
        due: set[tuple[Kind, int]] = set()
        for standing in now:
            for cells in self.contrasts([replace(standing, day=())]):
                due |= self._due(cells, until(standing) - self._shared(cells))
        return self._costs.of(kind for kind, _ in due)

    def one_round(self, now: Sequence[Standing]) -> Cost:
        """Return what one block of all that is open takes."""
        return self._costs.of(set[Kind]().union(*self.contrasts(now)))

    def next_look(self, now: Sequence[Standing]) -> int | None:
        """Return after how many blocks claims are judged next; None when all blocks of what is open have run."""
        contrasts = {reading.cells for standing in now for reading in standing.open}
        shared = [self._shared(cells) for cells in contrasts if self._due(cells, 1)]
        return next((look for look in LOOKS if look > min(shared)), max(shared) + 1) if shared else None

    def round(self, now: Sequence[Standing], block: int, left_s: float = float("inf")) -> list[Cell]:
        """Return the cells of a block that open contrasts still lack, in the order in which they are to be run.

        Contrasts that would not reach their next look in the time left are put off, those of claims that are decided
        without them and the dearest first; if none would, the cheapest goes on alone.
        """
        of_state: dict[str, set[frozenset[Kind]]] = {"decided": set(), "open": set()}
        for standing in now:
            if standing.state in of_state:
                of_state[standing.state].update(reading.cells for reading in standing.going_on)
        settled = of_state["decided"] - of_state["open"]
        chosen = self._affordable(now, settled, block, left_s)
        wanted = set[Kind]().union(*(self._runnable(contrast, block) for contrast in chosen))
        cells = [self._blocks[block][kind] for kind in sorted(wanted)]
        return self._ordered(cells, chosen, block)

    def contrasts(self, now: Sequence[Standing]) -> list[frozenset[Kind]]:
        """Return the cells of each contrast that is to go on: those of open claims, and their studies' controls."""
        contrasts = {reading.cells for standing in now for reading in standing.going_on}
        kept = {cells for cells in contrasts if all(self._failures[kind] < GIVEN_UP for kind in cells)}
        asked = {study for cells in kept for study, _ in cells}
        return [*kept, *(pair for study, pair in self._controls() if study in asked)]

    def _controls(self) -> Iterable[tuple[str, frozenset[Kind]]]:
        """Yield what shows whether a study can be trusted: the cells of each A/A pair, and loops without a database."""
        for cell in self._blocks.get(0, {}).values():
            parameters = cell.parameters
            if cell.arm != "a":
                twin = replace(cell, parameters=parameters.model_copy(update={"arm": "a"}))
                alone = any(arm.get("arm") == "a" for arm in parameters.identical_arms())
                yield cell.study, frozenset({cell.kind} if alone else {cell.kind, twin.kind})
            elif getattr(parameters, "engine", "") == "noop":
                yield cell.study, frozenset({cell.kind})

    def _shares(self, cells: frozenset[Kind], block: int) -> bool:
        """Return whether the sides of a contrast share a block."""
        campaigns = {self._done.get((kind, block)) for kind in cells & self._blocks[block].keys()}
        return len(campaigns) == 1 and None not in campaigns

    def _shared(self, cells: frozenset[Kind]) -> int:
        """Return how many blocks the sides of a contrast share."""
        return sum(self._shares(cells, block) for block in self._blocks)

    def _runnable(self, cells: frozenset[Kind], block: int) -> set[Kind]:
        """Return the cells of a contrast that a block lacks; none of one that an earlier campaign left half done."""
        if any(self._done.get((kind, block)) for kind in cells):
            return set()
        return {kind for kind in cells & self._blocks[block].keys() if (kind, block) not in self._done}

    def _due(self, cells: frozenset[Kind], blocks: int, first: int = 0) -> set[tuple[Kind, int]]:
        """Return the cells that bring a contrast to so many shared blocks more, from a block on."""
        due: set[tuple[Kind, int]] = set()
        for block in sorted(self._blocks):
            if block >= first and blocks > 0 and (kinds := self._runnable(cells, block)):
                due |= {(kind, block) for kind in kinds}
                blocks -= 1
        return due

    def _affordable(
        self, now: Sequence[Standing], settled: Collection[frozenset[Kind]], block: int, left_s: float
    ) -> list[frozenset[Kind]]:
        """Return the contrasts, the cheapest first, as far as the time left brings them to their next look.

        Those of which a block of this sitting is wanted ask for no more than that.
        """
        by_block = {reading.cells for standing in now for reading in standing.open}
        due = {}
        for cells in self.contrasts(now):
            shared = self._shared(cells)
            to_look = next((look for look in LOOKS if look > shared), shared + 1) - shared
            due[cells] = self._due(cells, to_look if cells in by_block else 1, block)
        cost = {cells: self._costs.of(kind for kind, _ in due[cells]).seconds for cells in due}
        ordered = sorted(due, key=lambda cells: (cells in settled, cost[cells], sorted(cells)))
        chosen: list[frozenset[Kind]] = []
        together: set[tuple[Kind, int]] = set()
        for cells in ordered:
            if chosen and self._costs.of(kind for kind, _ in together | due[cells]).seconds > left_s:
                break
            chosen.append(cells)
            together |= due[cells]
        return chosen

    def _ordered(self, cells: Sequence[Cell], contrasts: Sequence[frozenset[Kind]], block: int) -> list[Cell]:
        """Return the cells deployment after deployment, these in random order; in each a contrast's cells together.

        Cheap contrasts come first, and the cells of one in random order.
        """
        order = random.Random(f"block {block}")
        visits: dict[Place, dict[Kind, Cell]] = {}
        for cell in cells:
            visits.setdefault(cell.place, {})[cell.kind] = cell
        ordered: list[Cell] = []
        for deployment in order.sample(sorted(visits), len(visits)):
            left = visits[deployment]
            for contrast in contrasts:
                kinds = sorted(contrast & left.keys())
                ordered += [left.pop(kind) for kind in order.sample(kinds, len(kinds))]
        return [replace(cell, position=position) for position, cell in enumerate(ordered)]


def spans(means: pd.DataFrame) -> dict[Kind, float]:
    """Return for each cell the seconds from its first clock to its last, the mean of its blocks."""
    times = means[means["metric"].isin(TIMES) & means["value"].notna()]
    ends = times["last_started_at"] + pd.to_timedelta(times["value"], unit="ns")
    blocks = times.assign(ended=ends).groupby(["study", "parameters", "cell_id", "block"], sort=False)
    seconds = (blocks["ended"].max() - blocks["started_at"].min()).dt.total_seconds()
    by_cell = seconds.groupby(["study", "parameters"]).mean().rename("seconds").reset_index()
    return {(row["study"], row["parameters"]): row["seconds"] for row in by_cell.to_dict("records")}


@cache
def _committed() -> dict[str, list[tuple[Document, float]]]:
    """Return by study the parameters and seconds of each cell of the reference run.

    Parameters that the study had no name for yet stand at today's default; what it does not know any more is left out.
    """
    cells: dict[str, list[tuple[Document, float]]] = {}
    file = paths.reference() / MEANS
    for (study, text), seconds in spans(drop_former_parameters(pd.read_parquet(file))).items() if file.exists() else ():
        try:
            parameters = studies.load(study).Parameters.model_validate_json(text)
        except (KeyError, ValidationError):
            continue
        cells.setdefault(study, []).append((parameters.model_dump(mode="json"), seconds))
    return cells
