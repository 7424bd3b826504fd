"""How long cells take: as cells of the same parameters took here; else an estimate from the committed reference run."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import pandas as pd
from pydantic import ValidationError

from benchbook import paths, studies
from benchbook.digits import duration
from benchbook.evidence.reference import MEANS
from benchbook.grid import Kind
from benchbook.results import TIMES
from benchbook.runner.summary import Durations
from benchbook.schemas import Document

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
    """Seconds of cells by their kind.

    Parameters
    ----------
    known
        What cells took here, as `benchbook.results.seconds` returns it.
    reference
        The reference run's block means; None for the committed ones.
    """

    def __init__(self, known: Durations, reference: pd.DataFrame | None = None) -> None:
        self._known = dict(known)
        self._reference = _committed() if reference is None else _known_today(reference)
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


def spans(means: pd.DataFrame) -> dict[Kind, float]:
    """Return for each cell the seconds from its first clock to its last, the mean of its blocks."""
    times = means[means["metric"].isin(TIMES) & means["value"].notna()]
    ends = times["last_started_at"] + pd.to_timedelta(times["value"], unit="ns")
    blocks = times.assign(ended=ends).groupby(["study", "parameters", "block"], sort=False)
    seconds = (blocks["ended"].max() - blocks["started_at"].min()).dt.total_seconds()
    by_cell = seconds.groupby(["study", "parameters"]).mean().rename("seconds").reset_index()
    return {(row["study"], row["parameters"]): row["seconds"] for row in by_cell.to_dict("records")}


@cache
def _committed() -> dict[str, list[tuple[Document, float]]]:
    file = paths.reference() / MEANS
    return _known_today(pd.read_parquet(file)) if file.exists() else {}


def _known_today(means: pd.DataFrame) -> dict[str, list[tuple[Document, float]]]:
    """Return by study the parameters and seconds of each cell that ran.

    Parameters that the study had no name for yet stand at today's default; what it does not know any more is left out.
    """
    cells: dict[str, list[tuple[Document, float]]] = {}
    for (study, text), seconds in spans(means).items():
        try:
            parameters = studies.load(study).Parameters.model_validate_json(text)
        except (KeyError, ValidationError):
            continue
        cells.setdefault(study, []).append((parameters.model_dump(mode="json"), seconds))
    return cells
