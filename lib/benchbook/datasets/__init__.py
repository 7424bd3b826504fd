"""Seeded data for every study: the same records on every machine and with every library version.

Generators draw from `numpy.random.PCG64`'s raw words alone; shape and size follow the papers. Each has a module of its
own, which is imported where it is used: another set changes no study's code but its own. `own` reads a person's records
in their place.
"""

from benchbook.datasets.dataset import Dataset
from benchbook.datasets.files import CHANGED, OwnDataError, checked, digest, own

__all__ = [
    "CHANGED",
    "Dataset",
    "OwnDataError",
    "checked",
    "digest",
    "own",
]
