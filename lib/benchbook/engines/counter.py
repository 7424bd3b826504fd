"""What an engine can count of a node: bytes."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Counter:
    """A quantity in bytes that only grows; its difference over a window is what counts.

    Parameters
    ----------
    metric
        In the words of the results' schema.
    read
        Returns the present value.
    source
        Where the number comes from.
    resolution
        Its smallest step, in bytes.
    """

    metric: str
    read: Callable[[], float]
    source: str
    resolution: float
