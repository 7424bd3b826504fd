"""Seeded data for every study: the same records on every machine and with every library version.

Generators draw from `numpy.random.PCG64`'s raw words alone; shape and size follow the papers. `own` reads a person's
records in their place.
"""

from benchbook.datasets.blog import comments
from benchbook.datasets.books import bookstore, bookstore_builder
from benchbook.datasets.dataset import Dataset, Record
from benchbook.datasets.files import CHANGED, OwnDataError, checked, digest, own
from benchbook.datasets.persons import people
from benchbook.datasets.phones import smartphones
from benchbook.datasets.players import wide
from benchbook.shapes import AnyBookstore, Author, Book1, Book2, Bookstore, Field, Parent, Schema

__all__ = [
    "CHANGED",
    "AnyBookstore",
    "Author",
    "Book1",
    "Book2",
    "Bookstore",
    "Dataset",
    "Field",
    "OwnDataError",
    "Parent",
    "Record",
    "Schema",
    "bookstore",
    "bookstore_builder",
    "checked",
    "comments",
    "digest",
    "own",
    "people",
    "smartphones",
    "wide",
]
