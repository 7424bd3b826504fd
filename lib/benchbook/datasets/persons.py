"""The tcp study's objects: people, small and all different."""

from collections.abc import Sequence
from datetime import date

import numpy as np

from benchbook.datasets.dataset import Dataset, build_dataset
from benchbook.datasets.streams import CITIES, FAMILY, GIVEN, NATIONS, WORDS, ColumnDraws
from benchbook.schema import Field, Schema

VERSION = 1

_FIELDS = (
    *(
        Field(name, "string")
        for name in ("_id", "name", "email", "phone", "street", "city", "country")
    ),
    *(Field("born_on", "date"), Field("age", "integer"), Field("height", "float")),
    *(Field("children", "integer"), Field("active", "boolean")),
)
_ANSWERS = tuple(Field(f"answer_{number}", "string") for number in range(1, 39))
_NEWEST = date(2004, 12, 31)
_TODAY = 2024


def generate_people(n: int, seed: int, fields: int = 12) -> Dataset:
    """Return `n` different people.

    The paper does not describe its object, so the number of fields is a parameter. It is 2 (``_id``
    and ``name``), 12 (ten more, of every type) or 50 (38 more, of one word each). Mean sizes as
    JSON are 0.06, 0.25 and 1.0 KB.
    """
    if fields not in (2, 12, 50):
        raise ValueError(f"people have 2, 12 or 50 fields, not {fields}")
    schema = Schema("people", (*_FIELDS, *_ANSWERS)[:fields])
    draw = ColumnDraws(seed, "people", n)
    given, family = draw.choices("given", GIVEN), draw.choices("family", FAMILY)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    columns: list[Sequence[object]] = [draw.ids(), names]
    if fields > 2:
        columns += _generate_details(draw)
    if fields > 12:
        columns += [draw.choices(field.name, WORDS) for field in _ANSWERS]
    return build_dataset(f"people-{fields}", schema, columns)


def _generate_details(draw: ColumnDraws) -> list[Sequence[object]]:
    """Return the ten columns from email to active."""
    days = np.datetime64(_NEWEST, "D") - draw.integers("born_on", 0, 60 * 365).astype("m8[D]")
    born: list[date] = days.tolist()
    roads = zip(draw.choices("road", WORDS), draw.numbers("house", 1, 250), strict=True)
    return [
        [f"user{number}@example.org" for number in draw.numbers("email", 0, 99_999_999)],
        [f"+351 9{number:08}" for number in draw.numbers("phone", 0, 99_999_999)],
        [f"{road.capitalize()} Street {house}" for road, house in roads],
        draw.choices("city", CITIES),
        draw.choices("country", NATIONS),
        born,
        [_TODAY - day.year for day in born],
        [centimetres / 100 for centimetres in draw.numbers("height", 145, 205)],
        draw.numbers("children", 0, 5),
        [bit == 1 for bit in draw.numbers("active", 0, 1)],
    ]
