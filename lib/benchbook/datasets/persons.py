"""The tcp study's objects: people, small and all different."""

from collections.abc import Sequence
from datetime import date

import numpy as np

from benchbook.datasets import Dataset, assemble
from benchbook.datasets.streams import CITIES, FAMILY, GIVEN, NATIONS, WORDS, choices, ids, integers, numbers
from benchbook.schemas import Field, Schema

_FIELDS = (
    *(Field(name, "string") for name in ("_id", "name", "email", "phone", "street", "city", "country")),
    *(Field("born_on", "date"), Field("age", "integer"), Field("height", "float")),
    *(Field("children", "integer"), Field("active", "boolean")),
)
_ANSWERS = tuple(Field(f"answer_{number}", "string") for number in range(1, 39))
_NEWEST = date(2004, 12, 31)
_TODAY = 2024


def people(n: int, seed: int, fields: int = 12) -> Dataset:
    """Return `n` people, no two alike.

    The tcp study never describes its object, so its number of fields is a parameter: 2, ``_id`` and ``name``; 12, these
    and ten more, of every type; or 50, these and 38 one-word answers. Mean sizes as JSON: 0.06, 0.25 and 1.0 KB.
    """
    if fields not in (2, 12, 50):
        raise ValueError(f"people have 2, 12 or 50 fields, not {fields}")
    schema = Schema("people", (*_FIELDS, *_ANSWERS)[:fields])
    given, family = choices(seed, "people.given", n, GIVEN), choices(seed, "people.family", n, FAMILY)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    columns: list[Sequence[object]] = [ids(seed, "people", n), names]
    if fields > 2:
        columns += _details(n, seed)
    if fields > 12:
        columns += [choices(seed, f"people.{field.name}", n, WORDS) for field in _ANSWERS]
    return assemble(f"people-{fields}", schema, columns)


def _details(n: int, seed: int) -> list[Sequence[object]]:
    """Return the ten columns from email to active."""

    def draw(label: str, low: int, high: int) -> list[int]:
        return numbers(seed, f"people.{label}", n, low, high)

    days = np.datetime64(_NEWEST, "D") - integers(seed, "people.born_on", n, 0, 60 * 365).astype("m8[D]")
    born: list[date] = days.tolist()
    roads = zip(choices(seed, "people.road", n, WORDS), draw("house", 1, 250), strict=True)
    return [
        [f"user{number}@example.org" for number in draw("email", 0, 99_999_999)],
        [f"+351 9{number:08}" for number in draw("phone", 0, 99_999_999)],
        [f"{road.capitalize()} Street {house}" for road, house in roads],
        choices(seed, "people.city", n, CITIES),
        choices(seed, "people.country", n, NATIONS),
        born,
        [_TODAY - day.year for day in born],
        [centimetres / 100 for centimetres in draw("height", 145, 205)],
        draw("children", 0, 5),
        [bit == 1 for bit in draw("active", 0, 1)],
    ]
