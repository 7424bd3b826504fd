"""The bookstore study's object, with texts of the lengths that give the paper's file sizes.

Case 1. The paper's sizes follow from ids 1..n, titles of 45 and authors of 44 characters, written
as a JAXB document (declaration, four spaces of indent, a root in an 11-character namespace) and as
compact JSON: 282, 1,804, 17,105, 171,006 and 1,719,007 B in XML; 134, 1,242, 12,403, 124,904 and
1,258,905 B in JSON. That is all five printed pairs (283 B is printed for 282; 2 KB for 1,804 B).

Case 2. One length cannot give all five pairs: XML grows by 288 B per book up to n = 100 and by
360 B from n = 1,000, JSON by 162 and 204. Two lengths can. Up to n = 100 the title has 20
characters, the name 17, and dates are whole seconds. Above, they have 45 and 36 characters, and
dates have milliseconds, which make only XML longer. Dates are written with ``+01:00`` in XML and as
milliseconds since 1970 in JSON. Authors are born between 1940 and 1966, so that these have thirteen
characters. Every printed size is then met within 3 %, except JSON at n = 10: 1,643 B, printed as a
whole 2 KB.
"""

from collections.abc import Callable

import numpy as np

from benchbook.datasets.dataset import Dataset, build_dataset
from benchbook.datasets.streams import ColumnDraws, Integers, make_moments
from benchbook.schema import (
    AnyBookstore,
    Author,
    Book1,
    Book2,
    Book3,
    Bookstore,
    Field,
    Schema,
    Writer,
)

VERSION = 1

KEYS = {
    "short": ("i", "t", "a"),
    "long": (
        "identifier_of_this_book",
        "title_of_this_book_as_it_is_printed",
        "author_of_this_book_as_it_is_printed",
    ),
}
"""Other names of a book's fields, to measure the cost of their length."""

_MAX_SMALL = 100
_DAY = 86_400_000
_1940, _2002 = -10_957, 11_688
"""Days from 1970 to the first of January of these years."""


def _generate_texts(draw: ColumnDraws, label: str, length: int) -> list[str]:
    return draw.texts(label, np.full(draw.count, length, dtype=np.int64))


def _generate_milliseconds(
    draw: ColumnDraws, label: str, first: int, last: int, *, whole: bool
) -> Integers:
    """Return times between two days, in ms since 1970: midnights, or with milliseconds."""
    days = draw.integers(label, first, last)
    seconds = draw.integers(f"{label}.time", 0, 86_399)
    return days * _DAY + (0 if whole else seconds * 1000 + draw.integers(f"{label}.ms", 1, 999))


def _make_builder1(n: int, seed: int) -> Callable[[], Bookstore[Book1]]:
    draw = ColumnDraws(seed, "bookstore", n)
    keys = [str(number) for number in range(1, n + 1)]
    titles, authors = _generate_texts(draw, "title", 45), _generate_texts(draw, "author", 44)
    return lambda: Bookstore(list(map(Book1, keys, titles, authors)))


def _make_builder2(n: int, seed: int) -> Callable[[], Bookstore[Book2]]:
    draw, small = ColumnDraws(seed, "bookstore", n), n <= _MAX_SMALL
    keys = [str(number) for number in range(1, n + 1)]
    pages = draw.numbers("pages", 100, 999)
    published = make_moments(
        _generate_milliseconds(draw, "published_on", _2002, _2002 + 22 * 365, whole=small)
    )
    titles = _generate_texts(draw, "title", 20 if small else 45)
    names = _generate_texts(draw, "name", 17 if small else 36)
    born = make_moments(
        _generate_milliseconds(draw, "born_on", _1940, _1940 + 26 * 365, whole=small)
    )
    ages = [2024 - day.year for day in born]

    def build() -> Bookstore[Book2]:
        authors = map(Author, keys, names, ages, born)
        return Bookstore(list(map(Book2, keys, pages, published, titles, authors)))

    return build


def make_bookstore_builder(n: int, seed: int, case: int) -> Callable[[], AnyBookstore]:
    """Return a function that builds the same bookstore of `n` books at each call.

    Its texts are generated once. Cases 1 and 2 are the paper's (see this module); case 3 has the
    books of case 1 with the author's name one level deeper.
    """
    if case not in (1, 2, 3):
        raise ValueError(f"the bookstore has case 1, 2 or 3, not {case}")
    if case == 2:
        return _make_builder2(n, seed)
    first = _make_builder1(n, seed)
    if case == 1:
        return first
    return lambda: Bookstore(
        [Book3(book.id, book.title, Writer(book.author)) for book in first().books]
    )


def generate_records(n: int, seed: int, keys: str) -> Dataset:
    """Return the books of case 1 as flat records with ``short`` or ``long`` field names."""
    shop = _make_builder1(n, seed)()
    schema = Schema(f"books_{keys}", tuple(Field(name, "string") for name in KEYS[keys]))
    columns = [[getattr(book, name) for book in shop.books] for name in ("id", "title", "author")]
    return build_dataset(f"bookstore-{keys}", schema, columns)


def generate_bookstore(n: int, seed: int, case: int) -> AnyBookstore:
    """Return a bookstore as `make_bookstore_builder` builds it."""
    return make_bookstore_builder(n, seed, case)()
