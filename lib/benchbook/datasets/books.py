"""The bookstore study's object, in texts of the lengths that give the paper's file sizes.

Case 1. The paper's sizes follow from ids 1..n, titles of 45 and authors of 44 characters, written as a JAXB document
with declaration, four spaces of indent and a root in an 11-character namespace, and as compact JSON: 282, 1,804,
17,105, 171,006 and 1,719,007 B in XML; 134, 1,242, 12,403, 124,904 and 1,258,905 B in JSON. All five printed pairs are
met (283 B is printed for 282; 2 KB for 1,804 B).

Case 2. One length cannot give all five pairs: XML grows by 288 B a book up to n = 100 and by 360 B from n = 1,000, JSON
by 162 and 204. Two regimes do: 20 + 17 characters (title, name) and dates in whole seconds for n <= 100; 45 + 36
characters and dates with milliseconds, which lengthen XML alone, above. Dates are written with ``+01:00`` in XML and as
milliseconds since 1970 in JSON; authors are born between 1940 and 1966, so that these have thirteen characters.
Every printed size is then met within 3 %, but for JSON at n = 10: 1,643 B, printed as a whole 2 KB.
"""

from collections.abc import Callable

import numpy as np

from benchbook.datasets import Dataset, assemble
from benchbook.datasets.streams import Draws, Integers, moments
from benchbook.schemas import AnyBookstore, Author, Book1, Book2, Book3, Bookstore, Field, Schema, Writer

VERSION = 1

KEYS = {
    "short": ("i", "t", "a"),
    "long": ("identifier_of_this_book", "title_of_this_book_as_it_is_printed", "author_of_this_book_as_it_is_printed"),
}
"""Other names of a book's fields, for what their length costs."""

_SMALL = 100
_DAY = 86_400_000
_1940, _2002 = -10_957, 11_688
"""Days from 1970 to the first of January of these years."""


def _texts(draw: Draws, label: str, length: int) -> list[str]:
    return draw.texts(label, np.full(draw.count, length, dtype=np.int64))


def _milliseconds(draw: Draws, label: str, first: int, last: int, *, whole: bool) -> Integers:
    """Return times between two days, in ms since 1970: midnights, or times of which none is a whole second."""
    days = draw.integers(label, first, last)
    seconds = draw.integers(f"{label}.time", 0, 86_399)
    return days * _DAY + (0 if whole else seconds * 1000 + draw.integers(f"{label}.ms", 1, 999))


def _builder1(n: int, seed: int) -> Callable[[], Bookstore[Book1]]:
    draw = Draws(seed, "bookstore", n)
    keys = [str(number) for number in range(1, n + 1)]
    titles, authors = _texts(draw, "title", 45), _texts(draw, "author", 44)
    return lambda: Bookstore(list(map(Book1, keys, titles, authors)))


def _builder2(n: int, seed: int) -> Callable[[], Bookstore[Book2]]:
    draw, small = Draws(seed, "bookstore", n), n <= _SMALL
    keys = [str(number) for number in range(1, n + 1)]
    pages = draw.numbers("pages", 100, 999)
    published = moments(_milliseconds(draw, "published_on", _2002, _2002 + 22 * 365, whole=small))
    titles, names = _texts(draw, "title", 20 if small else 45), _texts(draw, "name", 17 if small else 36)
    born = moments(_milliseconds(draw, "born_on", _1940, _1940 + 26 * 365, whole=small))
    ages = [2024 - day.year for day in born]

    def build() -> Bookstore[Book2]:
        authors = map(Author, keys, names, ages, born)
        return Bookstore(list(map(Book2, keys, pages, published, titles, authors)))

    return build


def bookstore_builder(n: int, seed: int, case: int) -> Callable[[], AnyBookstore]:
    """Return what builds the same bookstore of `n` books anew at each call, from texts made once.

    The books are those of the paper's test case 1 or 2 (see this module); of 3 those of 1, the author's name one level
    deeper.
    """
    if case not in (1, 2, 3):
        raise ValueError(f"the bookstore has case 1, 2 or 3, not {case}")
    if case == 2:
        return _builder2(n, seed)
    first = _builder1(n, seed)
    if case == 1:
        return first
    return lambda: Bookstore([Book3(book.id, book.title, Writer(book.author)) for book in first().books])


def flat(n: int, seed: int, keys: str) -> Dataset:
    """Return the books of case 1 as flat records, their fields named by a letter (``short``) or by many (``long``)."""
    shop = _builder1(n, seed)()
    schema = Schema(f"books_{keys}", tuple(Field(name, "string") for name in KEYS[keys]))
    columns = [[getattr(book, name) for book in shop.books] for name in ("id", "title", "author")]
    return assemble(f"bookstore-{keys}", schema, columns)


def bookstore(n: int, seed: int, case: int) -> AnyBookstore:
    """Return one bookstore of `bookstore_builder`."""
    return bookstore_builder(n, seed, case)()
