"""Experiments: for each claim the cells that test it, how long they take, and the command.

Begin with `list_experiments`. Claims that the same command tests share an experiment.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from benchbook.analysis.claim_comparisons import find_claim_cells
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import MeasuredClaim
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.published import format_level
from benchbook.analysis.runs import Run
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.grid.cells import read_parameters
from benchbook.grid.expansion import choose_cells
from benchbook.report.answerable_claims import load_durations
from benchbook.studies.cell import CellParameters

Levels: TypeAlias = Mapping[str, str]
"""The level of each parameter of a cell, as an option has it."""

_SHARED: Final = ("arm", "seed", "repetitions")
"""Parameters that choose no cells: A/A checks run with the cells that they check."""


@dataclass(frozen=True)
class Experiment:
    """Cells that test claims, and the command that measures them."""

    number: int
    study: str
    profile: str
    where: tuple[str, ...]  # the command's conditions: ``n=1000,10000``
    claims: tuple[ClaimVerdict, ...]
    durations: Mapping[str, float | None]  # seconds of each cell; None: the run did not time it

    @property
    def command(self) -> str:
        """The command that measures as many blocks as an interval needs, and judges the claims."""
        conditions = "".join(f" --where {condition}" for condition in self.where)
        return (
            f"benchbook run {self.study} --profile {self.profile}{conditions}"
            f" --set blocks={MIN_BLOCKS}"
        )

    @property
    def untimed_cells(self) -> int:
        """How many of its cells the run did not time."""
        return sum(seconds is None for seconds in self.durations.values())


def count_minutes(experiments: Iterable[Experiment]) -> float:
    """Return the minutes of all blocks of experiments; a cell that they share is measured once."""
    durations: dict[tuple[str, str], float] = {}
    for experiment in experiments:
        for cell, seconds in experiment.durations.items():
            durations[experiment.study, cell] = seconds or 0.0
    return MIN_BLOCKS * sum(durations.values()) / 60


def list_experiments(run: Run, profile: str) -> list[Experiment]:
    """Return the experiments that test the claims of a run, in the claims' order.

    Parameters
    ----------
    run
        What was measured. A claim that nothing speaks for or against has no experiment.
    profile
        The profile from which the commands choose cells.
    """
    studies = run.analysis.studies
    measured = {claim.id: claim for claim in load_claims() if isinstance(claim, MeasuredClaim)}
    # The levels of each cell of the profile, by study and the cell's parameters as JSON.
    planned: dict[str, dict[str, Levels]] = {}
    for slug in studies:
        of_profile = [one.parameters for one in choose_cells([slug], profile, [], [])]
        planned[slug] = {one.as_json(): _write_levels(one) for one in of_profile}
    # The claims of each command, by its study, its conditions and the cells that these keep.
    tested: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[ClaimVerdict]] = {}
    for verdict in run.analysis.verdicts:
        if verdict.study not in studies:
            continue
        claim, study = measured[verdict.id], studies[verdict.study]
        read = []
        for cell in find_claim_cells(claim, study, verdict.language):
            parameters = read_parameters(verdict.study, cell)
            if parameters is not None:
                read.append(_write_levels(parameters))
        chosen = choose_conditions(planned[verdict.study], read)
        if chosen is not None:
            tested.setdefault((verdict.study, *chosen), []).append(verdict)

    durations = load_durations(run)
    experiments = []
    for number, ((slug, where, cells), claims) in enumerate(tested.items(), 1):
        of_cells = {cell: durations.get((slug, cell)) for cell in cells}
        experiments.append(Experiment(number, slug, profile, where, tuple(claims), of_cells))
    return experiments


def _write_levels(parameters: CellParameters) -> Levels:
    """Return the levels by which a cell is chosen, as an option has them."""
    levels = {}
    for name, level in parameters.model_dump(mode="json").items():
        if name not in _SHARED:
            levels[name] = format_level(level)
    return levels


def choose_conditions(
    planned: Mapping[str, Levels], read: Collection[Levels]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return few conditions that keep few other cells than those of a claim, and the cells kept.

    Parameters
    ----------
    planned
        The levels of each cell of a profile, by the cell.
    read
        The levels of each cell that the claim reads.

    Returns
    -------
    tuple
        Conditions as of ``--where``, and cells; None when the profile has no cell of the claim.
    """
    known = [levels for levels in planned.values() if levels in read]
    if not known:
        return None
    kept = planned
    conditions: list[str] = []
    while True:
        # The parameter whose levels leave out the most of the cells that are left.
        best, fewest = "", kept
        for name in known[0]:
            wanted = dict.fromkeys(levels[name] for levels in known)
            left = {cell: levels for cell, levels in kept.items() if levels[name] in wanted}
            if len(left) < len(fewest):
                best, fewest = f"{name}={','.join(wanted)}", left
        if not best:
            return tuple(conditions), tuple(kept)
        conditions.append(best)
        kept = fewest
