"""The block means of one side of a claim or a comparison, and those of several side by side, block by block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from benchbook.evidence.published import CellSettings


@dataclass(frozen=True)
class Side:
    """The block means of one side, arrays of shape (n,); n may be 0."""

    settings: CellSettings  # what it ran with: parameters and columns
    blocks: NDArray[np.int64]  # the blocks' numbers, ascending
    campaigns: NDArray[np.object_]  # each block's
    cells: NDArray[np.object_]  # which cell each was measured in; the first, of several
    values: NDArray[np.float64]  # in `unit`; of a censored mean what it exceeds, NaN when nothing is known
    typical: NDArray[np.float64]  # the blocks' median repetitions, in `unit`; NaN where it is not known
    censored: NDArray[np.bool_]  # where a wait ran out
    disturbed: NDArray[np.bool_]  # where other processes used the machine
    resolution: float  # the counters', of a mean, in `unit`
    unit: str  # empty without blocks
    repetitions: float  # of the block that has the fewest
    levels: tuple[object, ...] = ()  # of a factor, over whose mean it is taken

    def of(self, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values in some of its blocks."""
        return self.values[np.searchsorted(self.blocks, blocks)]

    def campaigns_of(self, blocks: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the campaigns of some of its blocks."""
        return self.campaigns[np.searchsorted(self.blocks, blocks)]

    @property
    def undisturbed(self) -> Self:
        """The same side in the blocks that nothing disturbed."""
        return self._where(~self.disturbed) if self.disturbed.any() else self

    def only(self, blocks: NDArray[np.int64]) -> Self:
        """Return the same side in those of its blocks alone."""
        return self if np.array_equal(self.blocks, blocks) else self._where(np.isin(self.blocks, blocks))

    def _where(self, chosen: NDArray[np.bool_]) -> Self:
        return replace(self, **{name: getattr(self, name)[chosen] for name in _OF_BLOCKS})


_OF_BLOCKS: Final = ("blocks", "campaigns", "cells", "values", "typical", "censored", "disturbed")
_NO_TEXTS: Final = np.array([], object)
ABSENT: Final = Side(
    {}, np.array([], np.int64), _NO_TEXTS, _NO_TEXTS, np.array([], np.float64), np.array([], np.float64),
    np.array([], np.bool_), np.array([], np.bool_), resolution=0.0, unit="", repetitions=0,
)  # fmt: skip
"""A side that did not run."""


def pooled(parts: Sequence[Side], factor: str | None) -> Side:
    """Return the side whose value is the mean of those of several, in the blocks that all of them have.

    Its settings are those that are alike; `levels` are those of the factor over which it is taken.
    """
    if factor is None:
        return parts[0]
    blocks = shared(parts)
    parts = [part.only(blocks) for part in parts]
    first = parts[0]
    alike = first.settings
    for part in parts:
        alike = {name: value for name, value in alike.items() if part.settings.get(name) == value}
    return replace(
        first,
        settings=alike,
        values=np.mean([part.values for part in parts], axis=0),
        typical=np.mean([part.typical for part in parts], axis=0),
        censored=np.any([part.censored for part in parts], axis=0),
        disturbed=np.any([part.disturbed for part in parts], axis=0),
        resolution=float(np.mean([part.resolution for part in parts])),
        repetitions=min(part.repetitions for part in parts),
        levels=tuple(part.settings[factor] for part in parts),
    )


def shared(sides: Iterable[Side]) -> NDArray[np.int64]:
    """Return the blocks that all sides have from the same campaign, ascending: mostly all of them."""
    first, *others = sides
    blocks = first.blocks
    if not all(np.array_equal(blocks, other.blocks) for other in others):
        blocks = reduce(partial(np.intersect1d, assume_unique=True), (other.blocks for other in others), blocks)
    campaigns = first.campaigns_of(blocks)
    of_one = np.logical_and.reduce([campaigns == other.campaigns_of(blocks) for other in others] or [blocks == blocks])
    return blocks[of_one]


def undisturbed_blocks(sides: Sequence[Side]) -> NDArray[np.int64]:
    """Return the blocks that all sides have and nothing disturbed; where each was disturbed, all of them."""
    blocks = shared(sides)
    if not any(side.disturbed.any() for side in sides):
        return blocks
    quiet = shared([side.undisturbed for side in sides])
    return quiet if len(quiet) else blocks
