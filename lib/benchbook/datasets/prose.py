"""Running text of real words, generated as fast as memory can be written, and about as compressible as English.

Text is laid in cells of eight characters: one word of seven letters, or two short ones, each with its space. A table
of 65,536 such cells turns every 16 random bits into eight characters in one numpy lookup.
"""

from collections.abc import Iterable
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from benchbook.datasets.streams import Integers, raw
from benchbook.datasets.vocabulary import WORDS

CELL = 8
"""Characters a cell."""


@cache
def _cells() -> npt.NDArray[np.uint64]:
    """Return the 65,536 cells, each eight ASCII characters seen as one word."""
    words = {size: [word for word in WORDS if len(word) == size] for size in range(2, 8)}

    def pairs(first: int) -> list[str]:
        return [f"{one} {two} " for one, two in product(words[first], words[6 - first])]

    def spread(cells: list[str], count: int) -> Iterable[str]:
        return (cells[i * len(cells) // count] for i in range(count))

    articles = [f"a {word} " for word in words[5]]
    shares = (
        ([f"{word} " for word in words[7]], 16384),
        (pairs(3), 24576),
        (pairs(2), 12288),
        (pairs(4), 8192),
        (articles, 4096),
    )
    joined = "".join(cell for cells, count in shares for cell in spread(cells, count))
    return np.frombuffer(joined.encode("ascii"), dtype="<u8")


def texts(seed: int, label: str, lengths: Integers) -> list[str]:
    """Return one text for every length; each begins with a word and is exactly so many characters long.

    Parameters
    ----------
    seed, label
        Name the stream.
    lengths
        In characters, each at least 1; shape (n,).
    """
    ends = np.cumsum(-(-lengths // CELL)) * CELL
    starts = ends - (-(-lengths // CELL)) * CELL
    count = int(ends[-1]) // CELL if len(ends) else 0
    draws = raw(seed, label, -(-count // 4)).astype("<u8").view("<u2")[:count]
    text = _cells()[draws].tobytes().decode("ascii")
    pieces = (text[start:end] for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True))
    return [piece[:-1] + "." if piece.endswith(" ") else piece for piece in pieces]
