"""Seeded streams of raw 64-bit words, and what is drawn from them by whole-number arithmetic alone.

Only `PCG64.random_raw` is used: its stream is fixed, while numpy's distributions may change between versions. Every
column has a stream of its own, named by a label, so that the first records of a set do not depend on how many follow.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]


def raw(seed: int, label: str, count: int) -> Words:
    """Return `count` uniform 64-bit words of the stream that seed and label name.

    Raises
    ------
    ValueError
        When `count` or `seed` is negative.
    """
    if count < 0 or seed < 0:
        raise ValueError(f"a set needs n >= 0 and seed >= 0, not n={count} and seed={seed}")
    words: Words = np.random.PCG64([seed, crc32(label.encode())]).random_raw(count)
    return words


def integers(seed: int, label: str, count: int, low: int, high: int) -> Integers:
    """Return `count` integers, uniform from `low` to `high`, both included."""
    return (raw(seed, label, count) % np.uint64(high - low + 1)).astype(np.int64) + low


def bell(seed: int, label: str, count: int, low: int, high: int) -> Integers:
    """Return `count` integers from `low` to `high`, both included, most in the middle: means of eight uniform bytes."""
    total = raw(seed, label, count).astype("<u8").view(np.uint8).reshape(count, 8).sum(axis=1, dtype=np.int64)
    scaled: Integers = low + total * (high - low + 1) // (8 * 255 + 1)
    return scaled


def pick(table: Sequence[T], index: Integers) -> list[T]:
    """Return ``table[i]`` for every i; the objects are shared, not copied."""
    column = np.empty(len(table), dtype=object)
    column[:] = list(table)
    picked: list[T] = column[index].tolist()
    return picked


def choices(seed: int, label: str, count: int, table: Sequence[T]) -> list[T]:
    """Return `count` entries of the table, uniformly."""
    return pick(table, integers(seed, label, count, 0, len(table) - 1))


def ids(seed: int, label: str, count: int) -> list[str]:
    """Return `count` distinct identifiers of 24 hexadecimal digits (96 random bits each)."""
    digits = raw(seed, f"{label}._id", (3 * count + 1) // 2).astype("<u8").tobytes().hex()
    return [digits[start : start + 24] for start in range(0, 24 * count, 24)]


def moments(milliseconds: Integers) -> list[datetime]:
    """Return the UTC times that lie so many milliseconds after 1970."""
    return [naive.replace(tzinfo=UTC) for naive in milliseconds.astype("M8[ms]").tolist()]
